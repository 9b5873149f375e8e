#!/usr/bin/env bash
# Checks and times a folder that pack.sh made, on a machine with a GPU. Takes at most 4 minutes and needs no
# other files.
#
#     run.sh [FOLDER]          by default the folder of this script
#
# Writes result.json into the folder (or into the current one, or to RESULT), then prints tables. The parts,
# most telling first: the device; the main command of the README on it; margins; times; the chosen schedules
# compared with the fastest; peers; the counters of ncu; compute-sanitizer. Each part has a deadline. Parts
# that cannot run are reported and skipped. The exit status is 1 if predictions are wrong, a call fails, or a
# tool of compute-sanitizer finds something.
#
# The first four parts need no Python. Peers are measured if Python can import them, or if their wheels lie in
# the subfolder `peers`.
#
# Variables: ROWS, the number of drawn rows (1000000); LIMIT, seconds for the whole run (240); SEED;
# SCHEDC_CUDA_DRIVER, the driver's library; SANITIZER and NCU, paths of these programs, by default from the
# search path and CUDA's folders.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$here}
if [ ! -f "$folder/models.txt" ]; then
    echo "error: $folder has no models.txt: name a folder that pack.sh made" >&2
    exit 2
fi
folder=$(cd "$folder" && pwd)
result=${RESULT:-$folder/result.json}
if ! : 2>/dev/null >>"$result"; then result=$PWD/result.json; fi
rows=${ROWS:-1000000}
seed=${SEED:-1}
# Deadlines leave time for the last call.
limit=$((${LIMIT:-240} * 95 / 100))
start=$(date +%s)
failures=0
parts=$here/parts

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lines=$work/lines
packed=$work/packed
: >"$lines"
[ ! -f "$folder/facts.jsonl" ] || cat "$folder/facts.jsonl" >"$lines"

# shellcheck source=bench/gpu/parts/report.sh
. "$parts/report.sh"
# shellcheck source=bench/gpu/parts/unpack.sh
. "$parts/unpack.sh"
# shellcheck source=bench/gpu/parts/basics.sh
. "$parts/basics.sh"
# shellcheck source=bench/gpu/parts/comparisons.sh
. "$parts/comparisons.sh"
# shellcheck source=bench/gpu/parts/tools.sh
. "$parts/tools.sh"

# Each part with its deadline. Deadlines are percentages of the whole time, except that of the first part,
# which the others need.
describe_machine "$((start + 30))" || exit 1
run_main_command "$(after 25)"
check_margins "$(after 45)"
measure_times "$(after 62)"
compare_schedules "$(after 82)"
compare_peers "$(after 92)"
count_kernels "$(after 96)"
sanitize "$(after 100)"

{
    printf '{"format":2,"date":"%s","rows":%s,"seed":%s,"seconds":%s,"failures":%s,"lines":[\n' \
        "$(date -u +%FT%TZ)" "$rows" "$seed" "$(($(date +%s) - start))" "$failures"
    sed '$!s/$/,/' "$lines"
    echo ']}'
} >"$result"
awk -f "$parts/json.awk" -f "$parts/summary.awk" "$lines"
echo "written to $result"
[ "$failures" -eq 0 ]
