#!/usr/bin/env bash
# Everything that must hold before a change goes in: all tests, the format, lints, and documentation without warnings.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
for tool in fmt clippy; do
    cargo "$tool" --version >/dev/null 2>&1 && continue
    command -v rustup >/dev/null || { echo "error: cargo $tool is missing; install it with Rust's packages" >&2; exit 2; }
    rustup component add "${tool/#fmt/rustfmt}"
done

cargo fmt --all --check
cargo test --workspace --locked
cargo clippy --workspace --all-targets --locked -- -D warnings
RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked
printf '\nall tests passed; format, lints and documentation are clean\n'
