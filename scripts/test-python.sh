#!/usr/bin/env bash
# Tests of the Python packages: builds their wheels, installs them into an environment of their own, and calls them. What is
# needed of Debian is installed where it is missing.
#
# The program is $SCHEDC, or else it is built here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'python: %s\n' "$1" >&2; }

if ! python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    say 'installing python3-venv'
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null; }
    apt update || say 'the lists of packages could not be updated: trying those that are there'
    apt install -y --no-install-recommends python3-venv >/dev/null
fi

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

if ! cmp -s python/requirements-test.txt "$target/installed.txt"; then
    rm -rf "$target/venv"
    mkdir -p "$target"
    python3 -m venv "$target/venv"
    "$target/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r python/requirements-test.txt
    cp python/requirements-test.txt "$target/installed.txt"
fi
python=$target/venv/bin/python

say 'the wheel of schedc-runtime'
rm -rf "$target/wheels"
(cd python/runtime && "$target/venv/bin/maturin" build --quiet --release --locked --out "$target/wheels")
size=$(stat -c %s "$target"/wheels/schedc_runtime-*.whl)
[ "$size" -lt 1000000 ] || { say "the wheel has $size bytes, more than a megabyte"; exit 1; }
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$target"/wheels/schedc_runtime-*.whl

say 'lints'
(cd python && cargo fmt --all --check && cargo clippy --quiet --locked --release -p schedc-python -- -D warnings)
say 'tests of schedc-runtime'
"$python" -m pytest --quiet -p no:cacheprovider --ignore python/tests/scale --ignore python/tests/package python/tests

say 'the package schedc, and the trainers that it is compared with'
venv=$target/venv-package
if ! cmp -s python/requirements-package.txt "$venv/installed.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r python/requirements-package.txt
    cp python/requirements-package.txt "$venv/installed.txt"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$target"/wheels/schedc_runtime-*.whl
# The compiler's crates are those of the program's tests, which are built already.
(cd python && CARGO_TARGET_DIR=$shared cargo clippy --quiet --locked -p schedc-python-compiler -- -D warnings)
(cd python && CARGO_TARGET_DIR=$shared cargo build --quiet --locked -p schedc-python-compiler)
rm -rf "$target/site"
mkdir -p "$target/site"
cp -r python/compiler/schedc "$target/site/schedc"
cp "$shared/debug/libschedc_compiler.so" "$target/site/schedc/_native.abi3.so"
say 'types'
MYPYPATH=$target/site:python/runtime "$venv/bin/python" -m mypy --strict --ignore-missing-imports --no-error-summary \
    --exclude mlserver --cache-dir "$target/mypy" "$target/site/schedc" python/runtime/schedc_runtime
say 'tests of schedc'
PYTHONPATH=$target/site "$venv/bin/python" -m pytest --quiet -p no:cacheprovider python/tests/package
