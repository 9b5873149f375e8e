# shellcheck shell=bash
# Sourced in the extension's folder: puts schedc on the PATH, packages the extension, builds its tests, and
# sets `vscode`.

schedc=$(command -v "${SCHEDC:-schedc}") || {
    echo 'error: schedc is not on the PATH; set SCHEDC' >&2
    exit 2
}
# The extension looks for schedc on the PATH, as for users.
PATH=$(dirname "$(realpath "$schedc")"):$PATH
export PATH

vscode=$(test/editor/install.sh)
[ -d node_modules ] || npm ci
npm run --silent package
node build.mjs tests
