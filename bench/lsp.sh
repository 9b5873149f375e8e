#!/usr/bin/env bash
# How long an editor waits for the language server, and how much memory that has: prints the table of docs/lsp.md.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --locked -p schedc --bins
cargo build --release --locked -p sched-lsp --example latency
programs=${CARGO_TARGET_DIR:-target}/release
exec "$programs/examples/latency" "$programs/schedc-lsp" -- "${1:-examples/model/breast_cancer.json}"
