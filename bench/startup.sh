#!/usr/bin/env bash
# Time of `schedc predict` from the start of the process to its first prediction. README.md explains how to
# run this.
set -euo pipefail

if [[ $# -lt 1 || ! -d $1 ]]; then
    echo "usage: bench/startup.sh MODELS_DIR [MODEL...]" >&2
    exit 2
fi
models=$(cd "$1" && pwd)
shift
[[ $# -gt 0 ]] || set -- higgs airline epsilon
runs=${REPETITIONS:-21}
limit=${LIMIT:-150}

# The compiler under test, unless SCHEDC is set.
if [[ ! ${SCHEDC:-} ]]; then
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    cargo build --quiet --profile dist --package schedc --manifest-path "$root/Cargo.toml"
    SCHEDC=${CARGO_TARGET_DIR:-$root/target}/dist/schedc
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The time of a command in milliseconds.
milliseconds() {
    local since=${EPOCHREALTIME/[.,]/}
    "$@" > "$work/output" 2> "$work/messages"
    local micro=$((${EPOCHREALTIME/[.,]/} - since))
    echo "$((micro / 1000)).$(printf %03d $((micro % 1000)))"
}

# The median of the numbers in a file.
median() {
    sort -g "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

for model in "$@"; do
    # One row of zeros.
    "$SCHEDC" inspect --json "$models/$model/model.json" |
        awk -F'[:,]' '/"num_features"/ { for (i = 1; i <= $2; i++) printf "%s0", (i > 1 ? "," : "")
            print "" }' \
            > "$work/$model.csv"
done

# Commands take turns, so that a change in the machine's speed affects all of them.
for ((run = 0; run < runs; run++)); do
    milliseconds "$SCHEDC" --version >> "$work/start"
    for model in "$@"; do
        file=$models/$model/model.json
        milliseconds "$SCHEDC" inspect --json "$file" >> "$work/$model.read"
        milliseconds "$SCHEDC" predict "$file" -i "$work/$model.csv" >> "$work/$model.total"
        sed -n 's/.*compiled in \([0-9]*\) ms.*/\1/p' "$work/messages" >> "$work/$model.compile"
    done
done

start=$(median "$work/start")
slow=0
printf '%-16s %9s %9s %9s %9s   medians of %d, ms\n' model start read compile total "$runs"
for model in "$@"; do
    total=$(median "$work/$model.total")
    awk -v model="$model" -v start="$start" -v read="$(median "$work/$model.read")" -v total="$total" \
        -v compile="$(median "$work/$model.compile")" \
        'BEGIN { printf "%-16s %9.1f %9.1f %9.1f %9.1f\n", model, start, read - start, compile, total }'
    awk -v total="$total" -v limit="$limit" 'BEGIN { exit !(total >= limit) }' && slow=1
done
if [[ $slow -eq 1 ]]; then
    echo "startup: slower than $limit ms" >&2
    exit 1
fi
