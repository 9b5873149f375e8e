# shellcheck shell=bash
# Sourced by other scripts: runs steps, and prints the seconds of each. Scripts with `set -e` end at the first
# failing step; a trap on EXIT that calls print_steps shows the seconds up to there.

step_times=()
step_open=

# step NAME COMMAND...: runs a command.
step() {
    step_open=$1 step_since=$SECONDS
    shift
    printf '\n[%s]\n' "$step_open" >&2
    "$@"
    step_times+=("$(printf '%6d s  %s' $((SECONDS - step_since)) "$step_open")")
    step_open=
}

# Prints the seconds of all steps so far to standard error.
print_steps() {
    if [ -n "$step_open" ]; then
        step_times+=("$(printf '%6d s  %s, which failed' $((SECONDS - step_since)) "$step_open")")
    fi
    {
        printf '\nseconds by step:\n'
        printf '%s\n' "${step_times[@]}"
        printf '%6d s  in all\n' "$SECONDS"
    } >&2
}
