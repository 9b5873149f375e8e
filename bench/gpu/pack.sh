#!/usr/bin/env bash
# Packs everything for checking and timing schedc's kernels on a machine with a GPU, without a compiler or
# network. At most 8 MB.
#
#     bench/gpu/pack.sh OUT [MODEL ROWS.npy]...      models with rows: float32, two-dimensional, C order
#     bench/gpu/pack.sh OUT MODELS_DIR               every folder there that holds model.json and X_test.npy
#
# Without models the example is packed. README.md describes the next steps.
#
# Variables: SCHEDC names the compiler (else a release build is made), CC the C compiler, PTXAS NVIDIA's
# assembler, GPU the device (sm_80), SCHEDULES the schedules (else all of examples/gpu), SAMPLE the largest
# number of rows packed for a model.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
most_bytes=$((8 * 1024 * 1024))
sample=${SAMPLE:-256}
sample_bytes=$((512 * 1024))
gpu=${GPU:-sm_80}

usage() {
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
[ $# -ge 1 ] || usage
out=$1
shift
if [ -e "$out" ] && [ ! -e "$out/models.txt" ] && [ -n "$(ls -A "$out" 2>/dev/null)" ]; then
    echo "error: $out exists, and this script has not made it: name a new folder" >&2
    exit 2
fi

models=()
rows=()
if [ $# -eq 0 ]; then
    set -- "$root/examples/model/breast_cancer.json" "$root/examples/model/rows.npy"
fi
if [ $# -eq 1 ] && [ -d "$1" ]; then
    for model in "$1"/*/model.json; do
        [ -f "${model%model.json}X_test.npy" ] || continue
        models+=("$model")
        rows+=("${model%model.json}X_test.npy")
    done
    [ ${#models[@]} -gt 0 ] || { echo "error: $1 has no folder with model.json and X_test.npy" >&2; exit 2; }
else
    [ $(($# % 2)) -eq 0 ] || usage
    while [ $# -gt 0 ]; do
        models+=("$1")
        rows+=("$2")
        shift 2
    done
fi

if [ -z "${SCHEDC:-}" ]; then
    cargo build --quiet --release --package schedc --manifest-path "$root/Cargo.toml"
    SCHEDC=${CARGO_TARGET_DIR:-$root/target}/release/schedc
fi

rm -rf "$out"
mkdir -p "$out"
cp "$here/run.sh" "$out/run.sh"
# The other machine's C library may be too old for the program, so the source is packed, too.
mkdir -p "$out/source"
cp "$here"/*.[ch] "$out/source/"
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -pthread \
    -o "$out/harness" "$here"/*.c -ldl -lm

# The name of a model: that of its file, or of its folder if nothing else is in there.
name_of() {
    case $(basename "$1") in
        model.*) basename "$(dirname "$1")" ;;
        *) basename "$1" | sed 's/\.[^.]*$//' ;;
    esac | tr -c 'A-Za-z0-9_.\n-' _
}

# A bound of the sum of a row's leaves: number of trees times the largest leaf.
magnitude_of() {
    "$SCHEDC" inspect "$1" --color never | awk '
        $1 == "trees" && !trees { trees = $2 }
        $1 == "leaves" { low = $2 + 0; high = $4 + 0; if (low < 0) low = -low; if (high < 0) high = -high
                         largest = low > high ? low : high }
        END { if (!trees) exit 1; printf "%.9g\n", trees * largest }'
}

# The simulator's result for one call on the sample: for each launch, its most expensive memory accesses and
# the total of all.
predict_counts() {
    timeout "${SIMULATE_SECONDS:-60}" "$SCHEDC" predict "$1" "${@:3}" --simulate -i "$2" \
        --color never 2>&1 >"$scratch/predicted" |
        awk '$1 == "launch" || $1 == "shared" || $1 == "global" { print }
             $1 == "in" && $2 == "all" { print; shared += $3; global += $6; launches++ }
             END { if (!launches) exit 1
                   printf "sum shared %.0f wavefronts, global %.0f sectors, without %d\n",
                       shared, global, 0 }'
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Most GPU schedules have the same tables, so the chosen schedule adds little to the archive.
cat >"$scratch/cpu.sched" <<'EOF'
tile(batch, b0, b1, 64)
reorder(b0, tree, b1)
parallel(b0)
interleave(b1, 8)
representation(array)
EOF
read -r -a schedules <<<"${SCHEDULES:-$(echo "$root"/examples/gpu/*.sched)}"

for i in "${!models[@]}"; do
    model=${models[i]}
    name=$(name_of "$model")
    folder=$out/$name
    [ ! -e "$folder" ] || { echo "error: two models are called $name" >&2; exit 2; }
    mkdir -p "$folder"
    columns=$("$SCHEDC" inspect "$model" --color never | awk '$1 == "rows" { print $2; exit }')
    packed=$((sample_bytes / (columns * 4)))
    packed=$((packed < sample ? packed : sample))
    "$out/harness" pick --sample "${rows[i]}" --rows "$((packed < 32 ? 32 : packed))" \
        --out "$folder/sample.npy"
    printf '%s %s\n' "$name" "$(magnitude_of "$model")" >>"$out/models.txt"
    on_cpu=(--target cpu --cpu x86-64-v3 -o "$scratch/cpu.so")
    # Complete trees may be too large; then another schedule is used.
    "$SCHEDC" build "$model" -s "$scratch/cpu.sched" "${on_cpu[@]}" >"$scratch/log" 2>&1 ||
        "$SCHEDC" build "$model" "${on_cpu[@]}" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
    cp "$scratch/cpu.so" "$folder/cpu.so"
    for schedule in "${schedules[@]}" chosen; do
        label=$(basename "$schedule" .sched)
        how=(-s "$schedule" --target "gpu($gpu)")
        [ "$schedule" != chosen ] || how=(--target "gpu($gpu)")
        if ! "$SCHEDC" build "$model" "${how[@]}" --cpu x86-64-v3 -o "$scratch/$label.so" \
            >"$scratch/log" 2>&1; then
            # A schedule may not suit a model, for example if its rows do not fit into shared memory.
            printf '%s: %s is left out: %s\n' "$name" "$label" "$(grep -m1 -i 'error' "$scratch/log")" |
                tee -a "$out/left_out.txt" >&2
            continue
        fi
        cp "$scratch/$label.so" "$folder/$label.so"
        if ! predict_counts "$model" "$folder/sample.npy" "${how[@]}" >"$folder/$label.predicted.txt"; then
            rm -f "$folder/$label.predicted.txt"
            echo "$name: the simulator has not counted $label" | tee -a "$out/left_out.txt" >&2
        fi
    done
done

# Tables consist of words of 32 bits.
compress() { xz --lzma2=preset=9e,lc=2,lp=2,pb=2; }

# A single archive, since artefacts of a model share most of their tables.
(cd "$out" && tar -c -- */*.so */*.npy | compress >models.tar.xz)

bytes=$(find "$out" -type f ! -name '*.so' ! -name '*.npy' -printf '%s\n' |
    awk '{ sum += $1 } END { print sum }')
if [ "$bytes" -gt "$most_bytes" ]; then
    for model in "${models[@]}"; do
        name=$(name_of "$model")
        echo "$name: $(cd "$out" && tar -c -- "$name"/*.so "$name"/*.npy | compress | wc -c) bytes" >&2
    done
    rm -- "$out"/*/*.so "$out"/*/*.npy
    echo "error: $out has $bytes bytes, and $most_bytes are the most: pack fewer models or schedules" >&2
    exit 1
fi
rm -- "$out"/*/*.so "$out"/*/*.npy
echo "$out: $bytes bytes, ${#models[@]} models"
