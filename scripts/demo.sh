#!/usr/bin/env bash
# From a fresh clone to predictions of a real model: installs what is missing, builds, predicts.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cargo build --release --locked
schedc=${CARGO_TARGET_DIR:-target}/release/schedc
model=examples/model/breast_cancer.json
rows=examples/model/rows.csv

# Prints a command as the user would type it, then runs it.
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
run "$schedc" predict "$model" -i "$rows" -o "$out/predictions.csv"
printf '\nthe first predictions of schedc, and those of XGBoost, which trained the model:\n\n'
printf '%14s %14s\n' schedc XGBoost
paste -d' ' "$out/predictions.csv" examples/model/expected.csv |
    sed -n '2,6p' | while read -r ours theirs; do printf '%14s %14s\n' "$ours" "$theirs"; done
paste -d' ' "$out/predictions.csv" examples/model/expected.csv | awk '
    NR > 1 { d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d }
    END { printf "\nlargest difference in %d rows: %g\n", NR - 1, worst; exit NR < 2 || worst > 1e-6 }'

run "$schedc" show nest "$model" -s examples/xgboost.sched
