# shellcheck shell=bash disable=SC2154
# Sourced by run.sh: chosen schedules compared with the fastest ones, and with peers.

# Times other schedules, if the program and Python run here, and compares the chosen ones with the fastest.
compare_schedules() {
    local seconds for_gpu status
    seconds=$(($(left "$1") - 1))
    for_gpu=$(fact packed gpu)
    if [ -z "$schedc" ]; then
        left_out sweep "there is no program: only packed schedules are compared"
    elif [ "$seconds" -lt 2 ]; then
        left_out sweep "no time: only packed schedules are compared"
    elif ! command -v python3 >/dev/null; then
        left_out sweep "there is no python3: only packed schedules are compared"
    else
        timeout -k 5 $((seconds + 10)) python3 "$parts/../sweep.py" "$packed" "$work/sweep.jsonl" \
            --seconds "$seconds" --rows "$rows" --gpu "${for_gpu:-sm_80}" 2>"$work/err"
        status=$?
        # A run that was ended may leave part of a line.
        grep '^{.*}$' "$work/sweep.jsonl" >>"$lines"
        # A build that outlasts the deadline is ended, which is no failure.
        case $status in
            0 | 124) ;;
            *) failed sweep "" "" $status "$(tail -c 2000 "$work/err")" ;;
        esac
    fi
    awk -f "$parts/json.awk" -f "$parts/regret.awk" "$lines" >"$work/regret"
    cat "$work/regret" >>"$lines"
}

# Times the peers that Python can import, or whose wheels lie in the folder `peers`.
compare_peers() {
    local wheel site=$work/site
    if ! command -v python3 >/dev/null; then
        left_out peers "there is no python3"
        return
    fi
    mkdir -p "$site"
    for wheel in "$folder"/peers/*.whl; do
        [ -f "$wheel" ] || continue
        python3 -m zipfile -e "$wheel" "$site" 2>"$work/err" ||
            left_out peers "$(tail -n 1 "$work/err")" "$(basename "$wheel")"
    done
    grace=0 PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} attempt peers "" "" "$1" \
        python3 "$parts/../peers.py" "$packed" --until "$1" --rows "$rows" --seed "$seed"
}
