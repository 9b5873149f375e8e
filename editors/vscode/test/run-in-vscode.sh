#!/usr/bin/env bash
# Packages the extension and drives it in a real VS Code. The program is $SCHEDC, or schedc on the PATH; screenshots go
# to artefacts/.
set -euo pipefail
cd "$(dirname "$0")/.."

schedc=$(command -v "${SCHEDC:-schedc}") || { echo 'error: schedc is not on the PATH; set SCHEDC' >&2; exit 2; }
# The extension looks for it on the PATH, as users have it.
PATH=$(dirname "$(realpath "$schedc")"):$PATH
export PATH

vscode=$(test/editor/install.sh)
[ -d node_modules ] || npm ci
npm run --silent package
node build.mjs tests
node out/main.cjs "$vscode" schedc.vsix ../../examples/model
