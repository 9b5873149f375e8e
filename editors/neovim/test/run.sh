#!/usr/bin/env bash
# Drives the configuration in a headless Neovim. The program is $SCHEDC, or schedc on the PATH; Neovim is
# $NEOVIM, or nvim on the PATH.
set -euo pipefail
cd "$(dirname "$0")"

SCHEDC=$(command -v "${SCHEDC:-schedc}") && SCHEDC=$(realpath "$SCHEDC") || {
    echo 'error: schedc is not on the PATH; set SCHEDC' >&2
    exit 2
}
export SCHEDC
neovim=$(command -v "${NEOVIM:-nvim}") || { echo 'error: nvim is not on the PATH; set NEOVIM' >&2; exit 2; }
MODEL=$PWD/../../../examples/model/breast_cancer.json
export MODEL
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
init=$PWD/init.lua test=$PWD/test.lua

cat >"$home/fast.sched" <<END
model "$MODEL"
tile(batch, block, row, 64)
reorder(block, tree, row)
parallel(batch)
interleave(row, 8)
END
printf 'model "late.json"\n' >"$home/late.sched"
printf 'tile(\n' >"$home/none.sched"
cd "$home"
"$neovim" --version | head -1
# The test neither reads nor writes this user's own Neovim configuration.
XDG_CONFIG_HOME=$home XDG_DATA_HOME=$home XDG_CACHE_HOME=$home XDG_STATE_HOME=$home \
    timeout 300 "$neovim" --headless -i NONE -u "$init" -c "luafile $test" </dev/null 2>&1
