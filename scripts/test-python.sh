#!/usr/bin/env bash
# Tests of the Python packages: builds their wheels, installs them into an environment of their own, and calls them. What is
# needed of Debian is installed where it is missing.
#
# The program is $SCHEDC, or else it is built here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'python: %s\n' "$1" >&2; }
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

if [ -z "${SCHEDC:-}" ]; then
    scripts/setup.sh
    cargo build --locked -p schedc
    SCHEDC=${CARGO_TARGET_DIR:-target}/debug/schedc
fi
SCHEDC=$(realpath "$(command -v "$SCHEDC")")
EXAMPLES=$PWD/examples
export SCHEDC EXAMPLES
shared=$(realpath "${CARGO_TARGET_DIR:-target}")
target=$shared/python
export CARGO_TARGET_DIR=$target

python_environment "$target/venv" python/requirements-test.txt --no-deps
python=$target/venv/bin/python

say 'the wheel of schedc-runtime'
rm -rf "$target/wheels"
(cd python/runtime && "$target/venv/bin/maturin" build --quiet --release --locked --out "$target/wheels")
size=$(stat -c %s "$target"/wheels/schedc_runtime-*.whl)
[ "$size" -lt 1000000 ] || { say "the wheel has $size bytes, more than a megabyte"; exit 1; }
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$target"/wheels/schedc_runtime-*.whl

say 'lints'
cargo clippy --quiet --locked --release -p schedc-python -- -D warnings
say 'tests of schedc-runtime'
"$python" -m pytest --quiet -p no:cacheprovider --ignore python/tests/scale --ignore python/tests/package python/tests

say 'the package schedc, and the trainers that it is compared with'
venv=$target/venv-package
python_environment "$venv" python/requirements-package.txt --no-deps
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$target"/wheels/schedc_runtime-*.whl
# In the folder of the program's tests, where much of what the compiler is built on is built already.
CARGO_TARGET_DIR=$shared cargo clippy --quiet --locked -p schedc-python-compiler -- -D warnings
CARGO_TARGET_DIR=$shared cargo build --quiet --locked -p schedc-python-compiler
rm -rf "$target/site"
mkdir -p "$target/site"
cp -r python/compiler/schedc "$target/site/schedc"
cp "$shared/debug/libschedc_compiler.so" "$target/site/schedc/_native.abi3.so"
say 'types'
MYPYPATH=$target/site:python/runtime "$venv/bin/python" -m mypy --strict --ignore-missing-imports --no-error-summary \
    --exclude mlserver --cache-dir "$target/mypy" "$target/site/schedc" python/runtime/schedc_runtime
say 'tests of schedc'
PYTHONPATH=$target/site "$venv/bin/python" -m pytest --quiet -p no:cacheprovider python/tests/package
