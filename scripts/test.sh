#!/usr/bin/env bash
# Checks that must pass before a change is merged: format, all tests, lints, and the rules of deny.toml for
# dependencies. scripts/test-python.sh tests the Python packages.
#
#     scripts/test.sh                    all of these
#     scripts/test.sh --fast             the format, and the short tests with fewer random cases
#     scripts/test.sh --nightly tests    the tests with many more random cases, and all cases of all lists
#     scripts/test.sh PART...            single parts: format, tests, lints, docs (links), dependencies
#
# SCHEDC_PROFILE selects a Cargo profile, by default dev.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/steps.sh
. scripts/steps.sh
profile=${SCHEDC_PROFILE:-dev}

all=(format tests lints dependencies)
parts=()
fast=
for word in "$@"; do
    case $word in
        --fast) fast=yes ;;
        --nightly) export SCHEDC_NIGHTLY=yes SCHEDC_CASES=${SCHEDC_CASES:-20000} ;;
        format | tests | lints | docs | dependencies) parts+=("$word") ;;
        *)
            echo "error: there is no part \`$word\`; parts are ${all[*]} docs" >&2
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
    command -v rustup >/dev/null || {
        echo "error: cargo $1 is missing; install it with Rust's packages" >&2
        exit 2
    }
    rustup component add "${1/#fmt/rustfmt}"
}

run_format() {
    needs_tool fmt
    cargo fmt --all --check
}
run_tests() {
    if [ -n "$fast" ]; then
        # Slow tests: each seeded fault searches for a case that detects it, and every width of bins is
        # compiled.
        SCHEDC_CASES=${SCHEDC_CASES:-60} cargo test --locked --profile "$profile" -- \
            --skip seeded_faults_are_seen --skip bins_of_all_widths_are_exact
    else
        cargo test --locked --profile "$profile"
    fi
}
run_lints() {
    needs_tool clippy
    cargo clippy --workspace --all-targets --locked --profile "$profile" -- -D warnings
}
run_docs() {
    RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --locked
}
run_dependencies() {
    if ! cargo deny --version >/dev/null 2>&1; then
        echo 'note: dependencies are not checked, since cargo-deny is not installed' >&2
        return
    fi
    # The database of vulnerabilities needs the network; hosted continuous integration checks it.
    cargo deny --offline check bans licenses sources
}

for part in "${parts[@]}"; do
    step "$part" "run_$part"
done
print_steps
if [ -n "$fast" ]; then
    printf '\nthe fast tests passed: %s\n' "${parts[*]}"
elif [ ${#parts[@]} -eq ${#all[@]} ]; then
    printf '\nall tests passed; format and lints are clean\n'
else
    printf '\npassed: %s\n' "${parts[*]}"
fi
