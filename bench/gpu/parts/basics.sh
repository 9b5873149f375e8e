# shellcheck shell=bash disable=SC2154
# Sourced by run.sh: the machine, the main command of the README, margins and times.

describe_machine() {
    if command -v nvidia-smi >/dev/null; then
        printf '{"part":"nvidia-smi","text":%s}\n' "$(nvidia-smi 2>&1 | quoted)" >>"$lines"
    else
        left_out nvidia-smi "it is not installed"
    fi
    printf '{"part":"host","processors":%s,"name":%s}\n' "$(nproc)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | quoted)" >>"$lines"
    if ! attempt device "" "" "$1" "$harness" device --rows "$rows"; then
        echo "error: this machine has no GPU or no driver" >&2
        cat "$work/err" >&2
        return 1
    fi
    local for_gpu this
    for_gpu=$(fact packed gpu)
    this=sm_$(fact device capability | tr -d .)
    if [ -n "$for_gpu" ] && [ "$for_gpu" != "$this" ]; then
        echo "note: this is an $this; schedules and predictions are for the $for_gpu" >&2
    fi
}

# `schedc predict MODEL --target gpu -i ROWS` for each model. The predictions must be those that the packing
# machine's processor computed, to the last digit.
run_main_command() {
    local model file began seconds
    for model in $(models); do
        file=$(echo "$packed/$model"/model.*)
        if [ -z "$schedc" ] || [ ! -f "$file" ]; then
            left_out predict "there is no program, or no model" "$model"
            continue
        fi
        began=$(date +%s%N)
        attempt predict "$model" chosen "$1" "$schedc" predict "$file" --target gpu \
            -i "$packed/$model/sample.npy" -o "$work/predictions.csv" -q || continue
        seconds=$(awk -v ns="$(($(date +%s%N) - began))" 'BEGIN { printf "%.2f", ns / 1e9 }')
        # One argument is the file that was written, the other the one that was packed.
        awk -v model="$model" -v seconds="$seconds" '
            FNR == NR { expected[FNR] = $0; count = FNR; next }
            { found = FNR; different += $0 != expected[FNR] }
            END { printf "{\"part\":\"predict\",\"model\":\"%s\",\"rows\":%d,\"different\":%d,", model,
                      count - 1, different + (found < count ? count - found : 0)
                  printf "\"seconds\":%s,\"ok\":%s}\n", seconds,
                      found == count && !different ? "true" : "false" }
        ' "$packed/$model/expected.csv" "$work/predictions.csv" >"$work/verdict"
        cat "$work/verdict" >>"$lines"
        grep -q '"ok":true' "$work/verdict" ||
            failed predict "$model" chosen 1 "predictions differ: $(cat "$work/verdict")"
    done
}

check_margins() {
    local model schedule
    for model in $(models); do
        # shellcheck disable=SC2046 # options without blanks
        attempt expect "$model" cpu "$1" "$harness" expect $(given "$model") --rows "$rows" \
            --artefact "$packed/$model/cpu.so" --out "$work/$model.expected" || rm -f "$work/$model.expected"
    done
    while read -r model schedule; do
        [ -f "$work/$model.expected" ] || continue
        # shellcheck disable=SC2046
        attempt check "$model" "$schedule" "$1" "$harness" check $(given "$model") --rows "$rows" \
            --artefact "$packed/$model/$schedule.so" --schedule "$schedule" \
            --expected "$work/$model.expected" --magnitude "$(magnitude "$model")" --until "$1"
    done < <(pairs)
    rm -f "$work"/*.expected
}

measure_times() {
    local model schedule
    while read -r model schedule; do
        # shellcheck disable=SC2046
        attempt time "$model" "$schedule" "$1" "$harness" time $(given "$model") --rows "$rows" \
            --artefact "$packed/$model/$schedule.so" --schedule "$schedule" --until "$1"
    done < <(pairs)
}
