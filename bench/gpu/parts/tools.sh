# shellcheck shell=bash disable=SC2154
# Sourced by run.sh: the counters of the GPU, and the findings of compute-sanitizer.

metrics=l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,smsp__inst_executed.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,gpu__time_duration.sum
metrics=$metrics,launch__registers_per_thread,sm__warps_active.avg.pct_of_peak_sustained_active
metrics=$metrics,smsp__issue_active.avg.pct_of_peak_sustained_active
metrics=$metrics,l1tex__throughput.avg.pct_of_peak_sustained_elapsed

# The pairs of model and schedule that are counted, at most six: the chosen schedules, then for each model
# the packed schedules in the order of their times for the most rows.
counted_pairs() {
    {
        pairs | awk '$2 == "chosen"'
        awk -f "$parts/json.awk" -f <(echo '
            get("part") == "time" && get("what") == "kernel" && get("us") && get("schedule") != "chosen" {
                print get("batch"), get("us"), get("model"), get("schedule")
            }') "$lines" | sort -k 1,1nr -k 2,2n | cut -d ' ' -f 3-
        pairs
    } | awk '!seen[$0]++' | head -n 6
}

# count_once PART MODEL SCHEDULE ROWS DEADLINE: the counters of the kernels of one call.
count_once() {
    # shellcheck disable=SC2046 # options without blanks
    timeout -k 5 "$(($(left "$5") + 5))" "$ncu" --csv --page raw --print-units base --metrics "$metrics" \
        "$harness" once $(given "$2") --rows "$4" --artefact "$packed/$2/$3.so" >"$work/ncu" 2>&1
    if grep -q ERR_NVGPUCTRPERM "$work/ncu"; then
        left_out "$1" "this user may not read the device's counters"
        return 1
    fi
    awk -v head="\"part\":\"$1\",\"model\":\"$2\",\"schedule\":\"$3\",\"batch\":$4" -v metrics="$metrics" \
        -f "$parts/ncu.awk" "$work/ncu" >"$work/counted"
    if [ -s "$work/counted" ]; then
        cat "$work/counted" >>"$lines"
    else
        left_out "$1" "$(tail -c 300 "$work/ncu")" "$2 $3"
    fi
}

# Counts large calls, and then the calls whose wavefronts the simulator has predicted.
count_kernels() {
    local ncu model schedule sampled most=131072
    ncu=$(find_tool "${NCU:-}" ncu /usr/local/cuda*/bin/ncu /opt/nvidia/nsight-compute/*/ncu) ||
        { left_out ncu "it is not installed"; return; }
    counted_pairs >"$work/pairs"
    while read -r model schedule; do
        if [ "$(left "$1")" -lt 5 ]; then left_out ncu "no time" "$model $schedule"; continue; fi
        count_once ncu "$model" "$schedule" "$((rows < most ? rows : most))" "$1" || return
    done <"$work/pairs"
    while read -r model schedule; do
        sampled=$(awk -f "$parts/json.awk" -f <(echo '
            get("part") == "predicted" && get("model") == model && get("schedule") == schedule {
                print get("rows")
            }') -v model="$model" -v schedule="$schedule" "$lines")
        [ -n "$sampled" ] && [ "$(left "$1")" -ge 5 ] || continue
        count_once ncu_sample "$model" "$schedule" "$sampled" "$1" || return
    done <"$work/pairs"
}

# Small calls under the tools of compute-sanitizer; the chosen schedules first.
sanitize() {
    local sanitizer model schedule tool small
    sanitizer=$(find_tool "${SANITIZER:-}" compute-sanitizer /usr/local/cuda*/bin/compute-sanitizer) ||
        { left_out compute-sanitizer "it is not installed"; return; }
    for model in $(models); do
        # shellcheck disable=SC2046 # options without blanks
        attempt expect "$model" cpu "$1" "$harness" expect $(given "$model") --rows 150 \
            --artefact "$packed/$model/cpu.so" --out "$work/$model.small" || rm -f "$work/$model.small"
    done
    while read -r model schedule tool; do
        [ -f "$work/$model.small" ] || continue
        if [ "$(left "$1")" -lt 5 ]; then
            left_out compute-sanitizer "no time" "$tool $model $schedule"
            continue
        fi
        small="$(given "$model") --rows 150"
        # The tool also prints the program's output; only its verdict is kept.
        # shellcheck disable=SC2016,SC2086 # the inner shell expands; options without blanks
        grace=0 attempt "$tool" "$model" "$schedule" "$1" sh -c \
            '"$@" >"$0" 2>&1 || { tail -n 20 "$0" >&2; exit 1; }' \
            "$work/tool" "$sanitizer" --tool "$tool" --error-exitcode 9 "$harness" check $small \
            --schedule "$schedule" \
            --artefact "$packed/$model/$schedule.so" --expected "$work/$model.small" \
            --magnitude "$(magnitude "$model")" &&
            printf '{"part":"%s","model":"%s","schedule":"%s","ok":true}\n' \
                "$tool" "$model" "$schedule" >>"$lines"
    done < <(
        tools=(racecheck memcheck initcheck synccheck)
        for tool in "${tools[@]}"; do pairs | sed -n "/ chosen\$/s/\$/ $tool/p"; done
        for tool in "${tools[@]}"; do pairs | sed -n "/ chosen\$/!s/\$/ $tool/p"; done
    )
}
