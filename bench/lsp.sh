#!/usr/bin/env bash
# Measures how long an editor waits for the language server, and the server's memory. Prints the table of
# docs/lsp.md.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --profile dist --locked -p schedc --bins
# Benchmarks run in their crate's folder.
programs=$(realpath "${CARGO_TARGET_DIR:-target}")/dist
model=$(realpath "${1:-examples/model/breast_cancer.json}")
exec cargo bench --locked -p schedc --bench latency -- "$programs/schedc-lsp" -- "$model"
