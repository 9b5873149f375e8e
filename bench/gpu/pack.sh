#!/usr/bin/env bash
# Packs everything for measuring schedc on a machine with a GPU, without a compiler or network: the program,
# models with rows and expected predictions, artefacts, and the programs that check and time them.
#
#     bench/gpu/pack.sh OUT [MODEL ROWS.npy]...      models with rows: float32, two-dimensional, C order
#     bench/gpu/pack.sh OUT MODELS_DIR               every folder there that holds model.json and X_test.npy
#
# Without models the example is packed. run.sh in the folder measures; docs/gpu/measuring.md describes it.
#
# Variables: SCHEDC names the compiler, which is also packed (else the static one of scripts/dist.sh is
# built), CC the C compiler, PTXAS NVIDIA's assembler, GPU the device (sm_80), SCHEDULES the schedules (else
# all of examples/gpu), SAMPLE the largest number of rows packed for a model, MOST_MIB the largest size of the
# folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
most_mib=${MOST_MIB:-64}
sample=${SAMPLE:-4096}
sample_bytes=$((4 * 1024 * 1024))
# Rows of a simulated call, and their bytes.
counted=$((sample < 256 ? sample : 256))
counted_bytes=$((512 * 1024))
# Rows of the calls whose time is predicted: those that harness.c and sweep.c time.
batches=(1 64 1024 16384 131072 1000000)
gpu=${GPU:-sm_80}

usage() {
    sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
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
    SCHEDC=$(
        cd "$root"
        # shellcheck source=scripts/reproducible.sh
        . scripts/reproducible.sh
        build_static_programs >&2
        echo "$CARGO_TARGET_DIR/dist/schedc"
    )
fi
SCHEDC=$(command -v "$SCHEDC") || { echo "error: SCHEDC names no program" >&2; exit 2; }

rm -rf "$out"
mkdir -p "$out"
facts=$out/facts.jsonl
cp -r "$here"/run.sh "$here"/parts "$here"/{sweep,peers}.py "$here/families.json" "$out/"
# The other machine's C library may be too old for the harness, so its source is packed, too.
mkdir -p "$out/source"
cp "$here"/*.[ch] "$out/source/"
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -pthread \
    -o "$out/harness" "$here"/*.c -ldl -lm
printf '{"part":"packed","gpu":"%s","date":"%s","version":"%s"}\n' \
    "$gpu" "$(date -u +%F)" "$("$SCHEDC" --version)" >"$facts"

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

# The trees, largest depth, features and margins of a model, as a fact.
describe() {
    "$SCHEDC" inspect "$2" --color never | awk -v name="$1" '
        $1 == "trees" && !trees { trees = $2 }
        $1 == "rows" && !features { features = $2; margins = $4 }
        /^depth of trees/ { depths = 1; next }
        /^depth of leaves/ { depths = 0 }
        depths && $1 ~ /^[0-9]+$/ { depth = $1 }
        END { printf "{\"part\":\"model\",\"model\":\"%s\",\"trees\":%d,\"depth\":%d,", name, trees, depth
              printf "\"features\":%d,\"margins\":%d}\n", features, margins }'
}

# The times of calls that the cost model predicts for a schedule, as facts. Without figures for the device
# there are none.
predict_times() {
    local batch us
    for batch in "${batches[@]}"; do
        us=$("$SCHEDC" explain-speed "$2" "${@:4}" --static --json --batch "$batch" 2>/dev/null |
            sed -n 's/^ *"us": *\([0-9.e+-]*\),\{0,1\}$/\1/p') || return 0
        [ -n "$us" ] || return 0
        printf '{"part":"predicted_time","model":"%s","schedule":"%s","batch":%d,"us":%s}\n' \
            "$1" "$3" "$batch" "$us"
    done >>"$facts"
}

# The simulator's result for one call: for each launch, its accesses to memory, the most expensive first, and
# their total; then the sum of the totals.
predict_counts() {
    timeout "${SIMULATE_SECONDS:-60}" "$SCHEDC" predict "$1" "${@:3}" --simulate -i "$2" \
        --color never 2>&1 >"$scratch/predicted" |
        awk '$1 == "launch" || $1 == "shared" || $1 == "global" { print }
             $1 == "total:" { print; shared += $2; global += $5; launches++ }
             END { if (!launches) exit 1
                   printf "sum shared %.0f wavefronts, global %.0f sectors\n", shared, global }'
}

# pick ROWS.npy OUT.npy ROWS BYTES: the first rows of an array, at most ROWS rows of together BYTES bytes.
pick() {
    local most=$(($4 / (columns * 4)))
    most=$((most < $3 ? most : $3))
    "$out/harness" pick --sample "$1" --rows "$((most < 32 ? 32 : most))" --out "$2"
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
    pick "${rows[i]}" "$folder/sample.npy" "$sample" "$sample_bytes"
    pick "${rows[i]}" "$scratch/counted.npy" "$counted" "$counted_bytes"
    simulated=$(head -c 128 "$scratch/counted.npy" | tr -d '\000\n' |
        LC_ALL=C sed "s/.*'shape': (\([0-9]*\),.*/\1/")
    cp "$model" "$folder/model.${model##*.}"
    predict=("$SCHEDC" predict "$folder/model.${model##*.}" -i "$folder/sample.npy" -q)
    "${predict[@]}" -o "$folder/expected.csv"
    "${predict[@]}" -o "$folder/predictions.npy"
    "${predict[@]}" -o "$folder/margins.npy" --output raw
    describe "$name" "$model" >>"$facts"
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
        predict_times "$name" "$model" "$label" "${how[@]}"
        if predict_counts "$model" "$scratch/counted.npy" "${how[@]}" >"$folder/$label.counts.txt"; then
            awk -v head="\"model\":\"$name\",\"schedule\":\"$label\"" -v rows="$simulated" '$1 == "sum" {
                printf "{\"part\":\"predicted\",%s,\"rows\":%d,\"shared_wavefronts\":%d,", head, rows, $3
                printf "\"global_sectors\":%d}\n", $6
            }' "$folder/$label.counts.txt" >>"$facts"
        else
            rm -f "$folder/$label.counts.txt"
            echo "$name: the simulator has not counted $label" | tee -a "$out/left_out.txt" >&2
        fi
    done
done

# Tables consist of words of 32 bits.
compress() { xz --lzma2=preset=9e,lc=2,lp=2,pb=2; }

# A single archive, since artefacts of a model share most of their tables.
in_archive=(-name '*.so' -o -name '*.npy' -o -name '*.csv' -o -name 'model.*')
archived() {
    (cd "$out" && find "${1:-.}" -mindepth "${2:-2}" -type f \( "${in_archive[@]}" \) -print0 | sort -z)
}
archived | tar -c -C "$out" --null -T - | compress >"$out/models.tar.xz"
# A script that starts the program has nothing to strip.
strip -o "$scratch/schedc" "$SCHEDC" 2>"$scratch/log" || cp "$SCHEDC" "$scratch/schedc"
xz -6 <"$scratch/schedc" >"$out/schedc.xz"
if ! lacking=$("$root/scripts/check-static.sh" "$scratch/schedc" 2>&1); then
    {
        echo "note: the packed program may not start on another machine; scripts/dist.sh makes one that does"
        echo "${lacking//$scratch\/schedc/  it}"
    } | tee -a "$out/left_out.txt" >&2
fi

bytes_of() { find "$@" -type f -printf '%s\n' | awk '{ sum += $1 } END { printf "%d", sum }'; }
loose=$(archived | (cd "$out" && xargs -0 stat -c %s --) | awk '{ sum += $1 } END { printf "%d", sum }')
bytes=$(($(bytes_of "$out") - loose))
if [ "$bytes" -gt $((most_mib * 1024 * 1024)) ]; then
    printf '%10d bytes: the program\n' "$(bytes_of "$out/schedc.xz")" >&2
    for model in "${models[@]}"; do
        name=$(name_of "$model")
        printf '%10d bytes: the model %s\n' \
            "$(archived "$name" 1 | tar -c -C "$out" --null -T - | compress | wc -c)" "$name" >&2
    done
    archived | (cd "$out" && xargs -0 rm --)
    echo "error: $out has $bytes bytes, and MOST_MIB allows $most_mib MiB: pack fewer models or schedules" >&2
    exit 1
fi
archived | (cd "$out" && xargs -0 rm --)
echo "$out: $bytes bytes, ${#models[@]} models"
