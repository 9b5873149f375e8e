#!/usr/bin/env bash
# A new user's first schedules in a real VS Code, from an empty file by completions and the ledger alone:
# trial.sh MODEL... The program is $SCHEDC, or schedc on the PATH; build it with --release. Screenshots go to
# artefacts/.
set -euo pipefail
[ $# -gt 0 ] || { echo 'usage: trial.sh MODEL...' >&2; exit 2; }
models=()
for model in "$@"; do models+=("$(realpath "$model")"); done
cd "$(dirname "$0")/.."

# shellcheck source=editors/vscode/test/prepare.sh
. test/prepare.sh
node out/trial.cjs "$vscode" schedc.vsix "${models[@]}"
