#!/usr/bin/env bash
# Everything that must hold before a change goes in: all tests, the format, lints, documentation without warnings, and what
# dependencies may be. The modules of Python have scripts/test-python.sh.
#
#     scripts/test.sh                    everything
#     scripts/test.sh --fast             the format, and all tests but the long ones with fewer random cases
#     scripts/test.sh PART...            parts of it: format, tests, lints, docs, dependencies
set -euo pipefail
cd "$(dirname "$0")/.."

all=(format tests lints docs dependencies)
parts=()
fast=
for word in "$@"; do
    case $word in
        --fast) fast=yes ;;
        format | tests | lints | docs | dependencies) parts+=("$word") ;;
        *)
            echo "error: there is no part \`$word\`; parts are ${all[*]}" >&2
            exit 2
            ;;
    esac
done
if [ ${#parts[@]} -eq 0 ]; then
    if [ -n "$fast" ]; then parts=(format tests); else parts=("${all[@]}"); fi
fi

scripts/setup.sh
needs_tool() {
    cargo "$1" --version >/dev/null 2>&1 && return
    command -v rustup >/dev/null || { echo "error: cargo $1 is missing; install it with Rust's packages" >&2; exit 2; }
    rustup component add "${1/#fmt/rustfmt}"
}

run_format() {
    needs_tool fmt
    cargo fmt --all --check
}
run_tests() {
    if [ -n "$fast" ]; then
        # The long ones: each seeded fault looks for a case that sees it, and every width of codes is compiled.
        SCHEDC_CASES=${SCHEDC_CASES:-60} cargo test --locked -- \
            --skip seeded_faults_are_seen --skip codes_of_all_widths_are_exact
    else
        cargo test --locked
    fi
}
run_lints() {
    needs_tool clippy
    cargo clippy --all-targets --locked -- -D warnings
}
run_docs() {
    RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --locked
}
run_dependencies() {
    if ! cargo deny --version >/dev/null 2>&1; then
        echo 'note: dependencies are not checked, since cargo-deny is not installed' >&2
        return
    fi
    # What is known of faults needs the network: hosted continuous integration looks for it.
    cargo deny --offline check bans licenses sources
}

for part in "${parts[@]}"; do
    "run_$part"
done
if [ -n "$fast" ]; then
    printf '\nthe fast tests passed: %s\n' "${parts[*]}"
elif [ ${#parts[@]} -eq ${#all[@]} ]; then
    printf '\nall tests passed; format, lints and documentation are clean\n'
else
    printf '\npassed: %s\n' "${parts[*]}"
fi
