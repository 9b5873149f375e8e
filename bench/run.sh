#!/usr/bin/env bash
# Compares schedc's artefacts with XGBoost's C library. README.md says how to run this and what the figures mean.
set -euo pipefail

usage() {
    echo "usage: bench/run.sh [--json] MODELS_DIR [MODEL...]" >&2
    exit 2
}

json=()
if [[ ${1:-} == --json ]]; then
    json=(--json)
    shift
fi
[[ $# -ge 1 && -d $1 ]] || usage
models=$(cd "$1" && pwd)
shift

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# XGBoost's shared library, in a virtual environment of our own.
if ! cmp -s "$bench/requirements.txt" "$bench/.venv/installed.txt"; then
    python3 -m venv "$bench/.venv"
    "$bench/.venv/bin/pip" install --quiet --no-deps -r "$bench/requirements.txt"
    cp "$bench/requirements.txt" "$bench/.venv/installed.txt"
fi
xgboost=$(find "$bench/.venv" -name libxgboost.so -print -quit)
[[ $xgboost ]] || { echo "bench: there is no libxgboost.so in $bench/.venv" >&2; exit 1; }

# The compiler under test, unless SCHEDC names one.
if [[ ! ${SCHEDC:-} ]]; then
    cargo build --quiet --release --package schedc --manifest-path "$bench/../Cargo.toml"
    target=${CARGO_TARGET_DIR:-$bench/../target}
    SCHEDC=$target/release/schedc
fi

"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -o "$work/harness" \
    "$bench/harness.c" "$bench/input.c" -ldl -lm

if [[ $# -eq 0 ]]; then
    # Folders with a model of XGBoost and rows for it.
    for folder in "$models"/*/; do
        if [[ -f $folder/model.json && -f $folder/X_test.npy ]]; then
            set -- "$@" "$(basename "$folder")"
        fi
    done
fi
[[ $# -gt 0 ]] || { echo "bench: there is no folder with model.json and X_test.npy in $models" >&2; exit 1; }

[[ ${#json[@]} -gt 0 ]] || "$work/harness" --header
failed=0
for model in "$@"; do
    folder=$models/$model
    artefact=$work/$model.so
    schedule=()
    [[ ! ${SCHEDULE:-} ]] || schedule=(-s "$SCHEDULE")
    # One model that fails must not cost the others' results.
    "$SCHEDC" build "$folder/model.json" -o "$artefact" "${schedule[@]}" &&
        "$work/harness" "${json[@]}" --name "$model" \
            --batches "${BATCHES:-1,64,1024,16384}" --threads "${THREADS:-1,2}" \
            --repetitions "${REPETITIONS:-21}" \
            "$xgboost" "$folder/model.json" "$folder/X_test.npy" "$artefact" || failed=1
    rm -f "$artefact"
done
exit "$failed"
