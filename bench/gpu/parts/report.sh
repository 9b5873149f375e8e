# shellcheck shell=bash disable=SC2154
# Sourced by run.sh: the lines of the result, deadlines, and commands whose errors become lines.

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
    local of
    of=$(xargs <<<"${3:-}") # without blanks around it
    echo "left out: $1${of:+ of $of}: $2" >&2
    printf '{"part":"%s","of":"%s","left_out":%s}\n' "$1" "$of" "$(printf %s "$2" | quoted)" >>"$lines"
}

# failed PART MODEL SCHEDULE STATUS WHY: reports an error.
failed() {
    failures=$((failures + 1))
    printf '{"part":"%s","model":"%s","schedule":"%s","failed":%d,"why":%s}\n' \
        "$1" "$2" "$3" "$4" "$(printf %s "$5" | quoted)" >>"$lines"
    echo "failed: $1 of $2 $3: status $4: $(tail -n 1 <<<"$5")" >&2
}

# attempt PART MODEL SCHEDULE DEADLINE COMMAND...: adds the lines that a command prints; an error becomes a
# line, too. A command may take 10 s longer than the deadline; then it hangs, which is an error. With
# `grace=0` the command is ended at the deadline instead, and reported as skipped.
attempt() {
    local part=$1 model=$2 schedule=$3 deadline=$4 status
    shift 4
    if [ "$(left "$deadline")" -lt 2 ]; then
        left_out "$part" "no time" "$model $schedule"
        return 1
    fi
    timeout -k 5 "$(($(left "$deadline") + ${grace:-10}))" "$@" >"$work/out" 2>"$work/err"
    status=$?
    grep '^{.*}$' "$work/out" >>"$lines"
    if [ "${grace:-10}" -eq 0 ] && { [ $status -eq 124 ] || [ $status -eq 137 ]; }; then
        left_out "$part" "no time for all of it" "$model $schedule"
        return 1
    fi
    [ $status -eq 0 ] || failed "$part" "$model" "$schedule" $status "$(tail -c 2000 "$work/err")"
    return $status
}

# The first of some programs that is installed; with a first argument that is not empty, only that one.
find_tool() {
    if [ -n "$1" ]; then command -v "$1"; return; fi
    shift
    local tool
    for tool in "$@"; do
        command -v "$tool" && return
    done
    return 1
}

# The value of a key in the first line of the result that has a part: fact PART KEY.
fact() { awk -f "$parts/json.awk" -f <(echo 'get("part") == part { print get(key); exit }') \
    -v part="$1" -v key="$2" "$lines"; }
