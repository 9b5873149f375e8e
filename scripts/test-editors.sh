#!/usr/bin/env bash
# Tests the editors' extensions: unit tests, the package, a headless Neovim, and a real VS Code in a browser.
# Installs missing Debian packages. Prints the seconds of each part.
#
#     scripts/test-editors.sh              the tests
#     scripts/test-editors.sh --install    only installs the editors and the packages of their extensions
#
# The program is $SCHEDC; if it is not set, the script builds it.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'editors: %s\n' "$1" >&2; }
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
# shellcheck source=scripts/steps.sh
. scripts/steps.sh

case ${1:-} in
    '' | --install) option=${1:-} ;;
    *)
        echo "error: there is no option \`$1\`; the only option is --install" >&2
        exit 2
        ;;
esac

packages=()
command -v nvim >/dev/null || packages+=(neovim)
python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
command -v chromium >/dev/null || [ -n "${CHROMIUM:-}" ] || packages+=(chromium)
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    packages+=(nodejs npm)
fi
if [ ${#packages[@]} -gt 0 ]; then
    say "installing ${packages[*]}"
    apt_update
    apt_install "${packages[@]}"
fi
node_found=$(node --version)
node_major=${node_found#v}
[ "${node_major%%.*}" -ge 20 ] || { say "Node 20 or newer is needed, and this is $node_found"; exit 2; }

in_vscode() { (cd editors/vscode && "$@"); }
# npm writes the list of installed packages to node_modules/.package-lock.json.
install_modules() { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent; }

step 'VS Code: packages of the extension' in_vscode install_modules
neovim=$(editors/neovim/test/install.sh)
step 'VS Code: the browser and the editor' in_vscode test/editor/install.sh
[ -z "$option" ] || exit 0

if [ -z "${SCHEDC:-}" ]; then
    scripts/setup.sh
    cargo build --locked -p schedc
    SCHEDC=${CARGO_TARGET_DIR:-target}/debug/schedc
fi
SCHEDC=$(realpath "$(command -v "$SCHEDC")")
export SCHEDC

step 'VS Code: unit tests' in_vscode npm test --silent
step "Neovim of the system" editors/neovim/test/run.sh
step 'current Neovim' env NEOVIM="$neovim" editors/neovim/test/run.sh
step 'VS Code: the packaged extension in the editor' in_vscode test/run-in-vscode.sh
print_steps
printf '\nthe editors work\n'
