#!/usr/bin/env bash
# Tests of the editors' extensions, with what they need of Debian installed where it is missing: unit tests, the package,
# Neovim without a screen, and a real VS Code driven through a browser. Says how long each part took.
#
# The program is $SCHEDC, or else it is built here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'editors: %s\n' "$1" >&2; }
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

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

if [ -z "${SCHEDC:-}" ]; then
    scripts/setup.sh
    cargo build --locked -p schedc
    SCHEDC=${CARGO_TARGET_DIR:-target}/debug/schedc
fi
SCHEDC=$(realpath "$(command -v "$SCHEDC")")
export SCHEDC

times=()
# Runs a part and remembers how long it took.
part() {
    local name=$1 since=$SECONDS
    shift
    say "$name"
    "$@"
    times+=("$(printf '%4d s  %s' $((SECONDS - since)) "$name")")
}
in_vscode() { (cd editors/vscode && "$@"); }

part 'VS Code: what the extension is built with' in_vscode npm ci --silent
part 'VS Code: unit tests' in_vscode npm test --silent
part "Neovim as it comes with the system" editors/neovim/test/run.sh
part 'Neovim, a current one' env NEOVIM="$(editors/neovim/test/install.sh)" editors/neovim/test/run.sh
part 'VS Code: the browser and the editor' in_vscode test/editor/install.sh
part 'VS Code: the package, driven in the editor' in_vscode test/run-in-vscode.sh
printf '\nthe editors work:\n'
printf '%s\n' "${times[@]}"
