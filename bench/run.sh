#!/usr/bin/env bash
# Measures schedc in comparison with peers and with itself. README.md explains how to run this, and the
# figures.
set -euo pipefail

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export BENCH_CACHE=${BENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/schedc-bench}
mkdir -p "$BENCH_CACHE"

# The peers, in a virtual environment that is created again when their versions change.
python=$BENCH_CACHE/venv/bin/python
if ! cmp -s "$bench/requirements.txt" "$BENCH_CACHE/installed.txt"; then
    rm -rf "$BENCH_CACHE/venv"
    "${PYTHON:-python3}" -m venv "$BENCH_CACHE/venv"
    "$python" -m pip install --quiet --no-deps -r "$bench/requirements.txt"
    cp "$bench/requirements.txt" "$BENCH_CACHE/installed.txt"
fi

# The compiler under test, unless SCHEDC is set.
if [[ ! ${SCHEDC:-} ]]; then
    cargo build --quiet --release --package schedc --manifest-path "$bench/../Cargo.toml"
    SCHEDC=${CARGO_TARGET_DIR:-$bench/../target}/release/schedc
fi
SCHEDC=$(realpath "$SCHEDC")
export SCHEDC

export HARNESS=$BENCH_CACHE/harness.so
"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -shared -fPIC -o "$HARNESS.$$" "$bench"/*.c -ldl -lm
mv "$HARNESS.$$" "$HARNESS"

exec "$python" "$bench/main.py" "$@"
