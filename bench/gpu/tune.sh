#!/usr/bin/env bash
# Packs an evaluation of `schedc tune` for a machine with a GPU: the schedules that its two strategies find
# with the cost model, and a grid of other schedules. run.sh in the folder times all of them, and prints a
# table that compares the found schedules with the best of the grid.
#
#     bench/gpu/tune.sh OUT MODEL ROWS.npy      a model, and rows for it: float32, two-dimensional, C order
#
# Variables: SCHEDC names the compiler (else a release build is made), GPU the device (sm_80), BATCHES the
# call sizes (1024,16384), BUDGET the time of each search (20s for each batch), and those of pack.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
gpu=${GPU:-sm_80}
batches=${BATCHES:-1024,16384}
[ $# -eq 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
out=$1
model=$2
rows=$3
commas=${batches//[^,]/}
budget=${BUDGET:-$((20 * (${#commas} + 1)))s}

if [ -z "${SCHEDC:-}" ]; then
    cargo build --quiet --release --package schedc --manifest-path "$root/Cargo.toml"
    SCHEDC=${CARGO_TARGET_DIR:-$root/target}/release/schedc
fi
export SCHEDC GPU=$gpu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Results of both strategies.
for strategy in neighbours silvanforge; do
    "$SCHEDC" tune "$model" -i "$rows" --target "gpu($gpu)" --by-counts --allow-slower \
        --batch "$batches" --budget "$budget" \
        --strategy "$strategy" --json -o "$scratch/tuned_$strategy.sched" >"$scratch/$strategy.json"
    # A line for each batch: strategy, rows, seconds of the search, predicted microseconds of a call.
    awk -v strategy="$strategy" '
        /"seconds":/ { seconds = $2 + 0 }
        /"us_per_row":/ { us = $2 + 0 }
        /"rows":/ { rows = $2 + 0 }
        /"tried":/ { printf "%s %d %.1f %.3f\n", strategy, rows, seconds, us * rows }' \
        "$scratch/$strategy.json" >>"$scratch/tuned.txt"
done

# The grid: SilvanForge's template, and one or four rows per thread, each with suitable layouts.
grid=$scratch/grid
mkdir "$grid"
template() {
    local block=$1 threads=$2 layout=$3 together=$4 shared=$5
    cat <<END
target gpu
tile(batch, b0, b1, $block)
tile(tree, t0, t1, (num_trees + $((threads - 1))) / $threads)
reorder(b0, b1, t0, t1)
gpuDimension(b0, grid.x)
gpuDimension(b1, block.x)
gpuDimension(t0, block.y)
cache(b0)
representation($layout)
END
    [ "$together" -eq 1 ] || echo "interleave(t1, $together)"
    [ "$shared" = no ] || echo "sharedReduce(t0)"
}
for layout in array reorg quantized; do
    for shape in "8 20" "32 8" "64 2"; do
        for together in 1 4; do
            read -r block threads <<<"$shape"
            template "$block" "$threads" "$layout" "$together" yes \
                >"$grid/grid_${block}_${threads}_${layout}_$together.sched"
        done
    done
done
for block in 64 128 256; do
    for layout in array sparse quantized; do
        cat >"$grid/grid_rows_${block}_$layout.sched" <<END
target gpu
tile(batch, b0, b1, $block)
gpuDimension(b0, grid.x)
gpuDimension(b1, block.x)
cache(b0)
representation($layout)
END
    done
done
examples=("$root"/examples/gpu/{four_rows,tree_groups}.sched)
schedules=("$scratch"/tuned_*.sched "$grid"/*.sched "${examples[@]}")
SCHEDULES="${schedules[*]}" SIMULATE_SECONDS=${SIMULATE_SECONDS:-10} "$here/pack.sh" "$out" "$model" "$rows"
awk '{ printf "{\"part\":\"tuned\",\"strategy\":\"%s\",\"batch\":%d,", $1, $2
       printf "\"seconds\":%s,\"predicted_us\":%s}\n", $3, $4 }' "$scratch/tuned.txt" >>"$out/facts.jsonl"
cp "$scratch"/tuned_*.sched "$out/"
echo "$out/run.sh compares them on a machine with a GPU"
