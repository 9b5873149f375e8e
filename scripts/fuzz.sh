#!/usr/bin/env bash
# Runs a fuzz target of fuzz/ on its seeds and on the corpus of earlier runs in fuzz/corpus.
#
#     scripts/fuzz.sh TARGET SECONDS
#
# A nightly Rust and cargo-fuzz must be installed. Inputs that crash the target are stored in fuzz/artifacts.
set -euo pipefail

if [ $# -ne 2 ] || ! [[ $2 =~ ^[0-9]+$ ]]; then
    echo 'usage: scripts/fuzz.sh TARGET SECONDS' >&2
    exit 2
fi
target=$1 seconds=$2
cd "$(dirname "$0")/../fuzz"
[ -f "fuzz_targets/$target.rs" ] || {
    targets=(fuzz_targets/*.rs)
    targets=("${targets[@]##*/}")
    echo "error: there is no target \`$target\`; targets are ${targets[*]%.rs}" >&2
    exit 2
}
seeds=()
words=("-max_total_time=$seconds" -timeout=25 -rss_limit_mb=4096)
case $target in
    parse | check | format) words+=(-dict=sched.dict) ;;
    # All readers of models: four processes, and the models of the tests.
    model) words+=(-dict=model.dict -fork=4) seeds=(../forest/tests/fixtures) ;;
esac
mkdir -p "corpus/$target"
[ ! -d "seeds/$target" ] || seeds+=("seeds/$target")
cargo +nightly fuzz run "$target" "corpus/$target" "${seeds[@]}" -- "${words[@]}"
