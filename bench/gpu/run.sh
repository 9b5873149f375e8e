#!/usr/bin/env bash
# Checks and times a folder that pack.sh made, on a machine with a GPU. Takes less than 8 minutes and needs no
# other files.
#
#     run.sh [FOLDER]          by default the folder of this script
#
# Writes result.json into the folder (or into the current one, or to RESULT), then prints a table. Parts that
# cannot run are reported and skipped. The exit status is 1 if margins are wrong, a call fails, or a tool of
# compute-sanitizer finds something.
#
# Variables: ROWS, the number of drawn rows (1000000); LIMIT, seconds for the whole run (450); SEED;
# SCHEDC_CUDA_DRIVER, the driver's library; SANITIZER and NCU, paths of these programs, by default from the
# search path and CUDA's folders.
set -uo pipefail

folder=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
if [ ! -f "$folder/models.txt" ]; then
    echo "error: $folder has no models.txt: name a folder that pack.sh made" >&2
    exit 2
fi
folder=$(cd "$folder" && pwd)
result=${RESULT:-$folder/result.json}
if ! : 2>/dev/null >>"$result"; then result=$PWD/result.json; fi
rows=${ROWS:-1000000}
seed=${SEED:-1}
limit=${LIMIT:-450}
start=$(date +%s)
failures=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lines=$work/lines
: >"$lines"

# Deadline after a percentage of the whole time, in seconds since 1970.
after() { echo $((start + limit * $1 / 100)); }
left() { echo $(($1 - $(date +%s))); }

# A text as a JSON string.
quoted() {
    printf '"%s"' "$(tr -d '\000-\011\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g' |
        awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')"
}

# left_out PART WHY [MORE]: reports a skipped part.
left_out() {
    echo "left out: $1${3:+ of $3}: $2" >&2
    printf '{"part":"%s","of":"%s","left_out":%s}\n' "$1" "${3:-}" "$(printf %s "$2" | quoted)" >>"$lines"
}

# attempt PART MODEL SCHEDULE DEADLINE COMMAND...: adds the lines that a command prints; an error becomes a
# line, too.
attempt() {
    local part=$1 model=$2 schedule=$3 deadline=$4 status
    shift 4
    if [ "$(left "$deadline")" -lt 2 ]; then
        left_out "$part" "no time" "$model $schedule"
        return
    fi
    timeout -k 5 "$(($(left "$deadline") + 10))" "$@" >"$work/out" 2>"$work/err"
    status=$?
    grep '^{.*}$' "$work/out" >>"$lines"
    if [ $status -ne 0 ]; then
        failures=$((failures + 1))
        printf '{"part":"%s","model":"%s","schedule":"%s","failed":%d,"why":%s}\n' \
            "$part" "$model" "$schedule" "$status" \
            "$(tail -c 2000 "$work/err" | quoted)" >>"$lines"
        echo "failed: $part of $model $schedule: status $status: $(tail -n 1 "$work/err")" >&2
    fi
    return $status
}

find_tool() {
    if [ -n "$1" ]; then command -v "$1"; return; fi
    shift
    local tool
    for tool in "$@"; do
        command -v "$tool" && return
    done
    return 1
}

# The harness, compiled anew if the packed one does not run on this machine.
harness=$work/harness
cp "$folder/harness" "$harness"
chmod +x "$harness"
"$harness" >/dev/null 2>&1
if [ $? -ne 1 ]; then
    if ! "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -pthread -o "$harness" \
        "$folder"/source/*.c -ldl -lm; then
        echo "error: the harness does not run with this C library, and there is no C compiler" >&2
        exit 2
    fi
fi
cp -r "$folder"/. "$work/packed"
archive=$work/packed/models.tar.xz
if [ -f "$archive" ] && ! xz -dc "$archive" 2>/dev/null | tar -x -C "$work/packed" 2>/dev/null &&
    ! python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
        "$archive" "$work/packed"; then
    echo "error: $archive cannot be unpacked: it needs xz or python3" >&2
    exit 2
fi

models() { awk '{ print $1 }' "$work/packed/models.txt"; }
magnitude() { awk -v name="$1" '$1 == name { print $2 }' "$work/packed/models.txt"; }
schedules() { find "$work/packed/$1" -name '*.so' ! -name cpu.so -exec basename {} .so \; | sort; }

# The machine.
if command -v nvidia-smi >/dev/null; then
    printf '{"part":"nvidia-smi","text":%s}\n' "$(nvidia-smi 2>&1 | quoted)" >>"$lines"
else
    left_out nvidia-smi "it is not installed"
fi
printf '{"part":"host","processors":%s,"name":%s}\n' "$(nproc)" \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | quoted)" >>"$lines"
if ! attempt device "" "" "$(after 20)" "$harness" device --rows "$rows"; then
    echo "error: this machine has no GPU or no driver" >&2
    cat "$work/err" >&2
    exit 1
fi

given() { echo --sample "$work/packed/$1/sample.npy" --seed "$seed" --model "$1"; }

# Margins.
for model in $(models); do
    # shellcheck disable=SC2046  # options without blanks
    attempt expect "$model" cpu "$(after 45)" "$harness" expect $(given "$model") --rows "$rows" \
        --artefact "$work/packed/$model/cpu.so" --out "$work/$model.expected" || continue
    for schedule in $(schedules "$model"); do
        attempt check "$model" "$schedule" "$(after 45)" "$harness" check $(given "$model") --rows "$rows" \
            --artefact "$work/packed/$model/$schedule.so" --schedule "$schedule" \
            --expected "$work/$model.expected" \
            --magnitude "$(magnitude "$model")" --until "$(after 45)"
    done
    rm -f "$work/$model.expected"
done

# Times.
for model in $(models); do
    for schedule in $(schedules "$model"); do
        attempt time "$model" "$schedule" "$(after 75)" "$harness" time $(given "$model") --rows "$rows" \
            --artefact "$work/packed/$model/$schedule.so" --schedule "$schedule" --until "$(after 75)"
    done
done

# Cost of one call on the sample, predicted and counted by the device.
metrics=l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,smsp__inst_executed.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,gpu__time_duration.sum
metrics=$metrics,launch__registers_per_thread
ncu=$(find_tool "${NCU:-}" ncu /usr/local/cuda*/bin/ncu /opt/nvidia/nsight-compute/*/ncu) || ncu=
[ -n "$ncu" ] || left_out ncu "it is not installed"
for model in $(models); do
    for schedule in $(schedules "$model"); do
        text=$work/packed/$model/$schedule.predicted.txt
        if [ -f "$text" ]; then
            awk -v model="$model" -v schedule="$schedule" '$1 == "sum" {
                printf "{\"part\":\"predicted\",\"model\":\"%s\",\"schedule\":\"%s\",", model, schedule
                printf "\"shared_wavefronts\":%d,\"global_sectors\":%d,\"not_counted\":%d}\n", $3, $6, $9
            }' "$text" >>"$lines"
        fi
        [ -n "$ncu" ] || continue
        if [ "$(left "$(after 85)")" -lt 5 ]; then left_out ncu "no time" "$model $schedule"; continue; fi
        sampled=$(od -An -c -N128 "$work/packed/$model/sample.npy" | tr -d ' \n' |
            sed "s/.*shape':(\([0-9]*\),.*/\1/")
        timeout 60 "$ncu" --csv --page raw --metrics "$metrics" "$harness" once \
            $(given "$model") --rows "$sampled" \
            --artefact "$work/packed/$model/$schedule.so" >"$work/ncu" 2>&1
        if grep -q ERR_NVGPUCTRPERM "$work/ncu"; then
            left_out ncu "this user may not read the device's counters"
            ncu=
            continue
        fi
        # The first line of quoted fields is the header, the second one has units; then one line per kernel.
        awk -v model="$model" -v schedule="$schedule" -v metrics="$metrics" '
            /^"/ { gsub(/^"|"$/, ""); count = split($0, field, /","/); row++
                   if (row == 1) { for (i = 1; i <= count; i++) at[field[i]] = i; next }
                   if (row == 2) next
                   printf "{\"part\":\"ncu\",\"model\":\"%s\",\"schedule\":\"%s\",\"kernel\":\"%s\"",
                       model, schedule, field[at["Kernel Name"]]
                   wanted = split(metrics, metric, ",")
                   for (i = 1; i <= wanted; i++) { value = field[at[metric[i]]]; gsub(/,/, "", value)
                       if (value ~ /^[0-9.]+$/) printf ",\"%s\":%s", metric[i], value }
                   print "}" }' "$work/ncu" >"$work/counted"
        if [ -s "$work/counted" ]; then cat "$work/counted" >>"$lines"
        else left_out ncu "$(tail -c 300 "$work/ncu")" "$model $schedule"; fi
    done
done

# Results of the searches by tune.sh.
if [ -f "$work/packed/tuned.txt" ]; then
    awk '{ printf "{\"part\":\"tuned\",\"strategy\":\"%s\",\"batch\":%d,", $1, $2
           printf "\"seconds\":%s,\"predicted_us\":%s}\n", $3, $4 }' \
        "$work/packed/tuned.txt" >>"$lines"
fi

# Findings of compute-sanitizer in small calls.
sanitizer=$(find_tool "${SANITIZER:-}" compute-sanitizer /usr/local/cuda*/bin/compute-sanitizer) || sanitizer=
[ -n "$sanitizer" ] || left_out compute-sanitizer "it is not installed"
for model in $([ -z "$sanitizer" ] || models); do
    small="$(given "$model") --rows 150"
    attempt expect "$model" cpu "$(after 100)" "$harness" expect $small \
        --artefact "$work/packed/$model/cpu.so" \
        --out "$work/small" || continue
    for tool in memcheck racecheck initcheck synccheck; do
        for schedule in $(schedules "$model"); do
            if [ "$(left "$(after 100)")" -lt 10 ]; then
                left_out compute-sanitizer "no time" "$tool $model $schedule"
                continue
            fi
            before=$failures
            # The tool also prints the program's output; only its verdict is kept.
            attempt "$tool" "$model" "$schedule" "$(($(date +%s) + 20))" sh -c \
                '"$@" >"$0" 2>&1 || { tail -n 20 "$0" >&2; exit 1; }' \
                "$work/tool" "$sanitizer" --tool "$tool" --error-exitcode 9 "$harness" check $small \
                --schedule "$schedule" \
                --artefact "$work/packed/$model/$schedule.so" --expected "$work/small" \
                --magnitude "$(magnitude "$model")"
            [ "$before" -ne "$failures" ] ||
                printf '{"part":"%s","model":"%s","schedule":"%s","ok":true}\n' \
                    "$tool" "$model" "$schedule" >>"$lines"
        done
    done
done

{
    printf '{"format":1,"date":"%s","rows":%s,"seed":%s,"seconds":%s,"failures":%s,"lines":[\n' \
        "$(date -u +%FT%TZ)" "$rows" "$seed" "$(($(date +%s) - start))" "$failures"
    sed '$!s/$/,/' "$lines"
    echo ']}'
} >"$result"

# The table.
awk '
function get(key,    found) {
    if (!match($0, "\"" key "\":(\"[^\"]*\"|[^,}]*)")) return ""
    found = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
    gsub(/"/, "", found)
    return found
}
{ part = get("part"); key = get("model") " " get("schedule"); batch = get("batch") }
part == "device" && get("name") {
    printf "%s, sm_%s, driver %s\n", get("name"), get("capability"), get("driver")
}
part == "bandwidth" {
    printf "GB/s: device %s, fill %s, up %s, down %s\n",
        get("device_gb_s"), get("fill_gb_s"), get("up_gb_s"), get("down_gb_s")
}
part == "launch" && get("us_back_to_back") {
    printf "launch: %s us in a row, %s us with a wait\n", get("us_back_to_back"), get("us_with_wait")
}
get("schedule") && !(key in seen) { seen[key] = 1; keys[++count] = key; verdict[key] = "not checked" }
get("left_out") && part != "check" && part != "time" { out[++outs] = part " " get("of") ": " get("left_out") }
part == "check" && get("ok") == "true" && verdict[key] != "WRONG" {
    verdict[key] = get("exact") == "true" ? "equal" : "close" }
part == "check" && get("ok") == "false" { verdict[key] = "WRONG" }
get("failed") && key in seen {
    if (verdict[key] != "WRONG") verdict[key] = "FAILED"
    failed[key] = failed[key] " " part
}
part == "time" && get("us") {
    time[key, get("what"), batch] = get("us")
    if (!(batch in known)) { known[batch] = 1; batches[++num] = batch }
}
part == "tuned" {
    searched[get("strategy"), batch] = get("seconds")
    counted[get("strategy"), batch] = get("predicted_us")
    searches++
}
part == "predicted" { predicted[key] = (get("not_counted") + 0 ? ">=" : "") get("shared_wavefronts") }
part == "ncu" && get("kernel") { measured[key] += get("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
    issued[key] += get("smsp__inst_executed.sum") }
END {
    for (i = 2; i <= num; i++) for (j = i; j > 1 && batches[j] + 0 < batches[j - 1] + 0; j--) {
        t = batches[j]; batches[j] = batches[j - 1]; batches[j - 1] = t }
    split("kernel resident host", whats, " ")
    for (w = 1; w <= 3; w++) {
        printf "\nmicroseconds of a call, %s\n%-44s %-11s",
            whats[w] == "kernel" ? "kernels alone" : \
            whats[w] == "resident" ? "rows on the device, with a wait" : "host to host",
            "model schedule", "margins"
        for (b = 1; b <= num; b++) printf " %11s", batches[b]
        print ""
        for (i = 1; i <= count; i++) {
            printf "%-44s %-11s", keys[i], verdict[keys[i]]
            for (b = 1; b <= num; b++) { v = time[keys[i], whats[w], batches[b]]; printf " %11s",
                v == "" ? "-" : sprintf("%.2f", v) }
            print ""
        }
    }
    printf "\none call on the sample\n%-44s %14s %14s %14s\n", "model schedule", "predicted", "measured",
        "instructions"
    for (i = 1; i <= count; i++) printf "%-44s %14s %14s %14s\n", keys[i],
        predicted[keys[i]] == "" ? "-" : predicted[keys[i]],
        measured[keys[i]] == "" ? "-" : measured[keys[i]], issued[keys[i]] == "" ? "-" : issued[keys[i]]
    print "(shared-memory wavefronts, simulated and counted by the device; instructions of warps;"
    print ">= where the simulator lists only the dearest accesses)"
    if (searches) {
        print "\nmicroseconds of kernels: schedules of schedc tune by counts, and the fastest one here"
        printf "%9s  %-12s %10s %10s %10s %8s %9s  %s\n", "rows", "strategy", "predicted", "measured",
            "fastest", "slower", "search s", "fastest schedule"
        split("neighbours silvanforge", strategies, " ")
        for (b = 1; b <= num; b++) for (s = 1; s <= 2; s++) {
            strategy = strategies[s]; found = ""; least = ""
            if (!((strategy, batches[b]) in searched)) continue
            for (i = 1; i <= count; i++) {
                v = time[keys[i], "kernel", batches[b]]
                if (v != "" && (least == "" || v + 0 < least + 0)) { least = v; fastest = keys[i] }
                if (v != "" && keys[i] ~ (" tuned_" strategy "$")) found = v
            }
            if (found == "") continue
            printf "%9s  %-12s %10.2f %10.2f %10.2f %7.1f%% %9s  %s\n", batches[b], strategy,
                counted[strategy, batches[b]], found, least, 100 * (found / least - 1),
                searched[strategy, batches[b]], fastest
        }
    }
    for (key in failed) printf "FAILED: %s:%s\n", key, failed[key]
    for (i = 1; i <= outs; i++) print "left out: " out[i]
}' "$lines"
echo "written to $result"
[ "$failures" -eq 0 ]
