#!/usr/bin/env bash
# Tests the Python packages: builds their wheels, installs them into a separate environment, and runs the
# tests there. Installs missing Debian packages.
#
# The program is $SCHEDC; if it is not set, the script builds it. SCHEDC_PROFILE selects a Cargo profile, by
# default dev.
#
#     scripts/test-python.sh              the tests
#     scripts/test-python.sh --nightly    all cases of all lists, also with the files of skl2onnx and older
#                                         releases of scikit-learn
#     scripts/test-python.sh --install    only installs the packages that the tests need
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'python: %s\n' "$1" >&2; }
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
# shellcheck source=scripts/steps.sh
. scripts/steps.sh
profile=${SCHEDC_PROFILE:-dev}
case ${1:-} in
    '' | --nightly | --install) option=${1:-} ;;
    *)
        echo "error: there is no option \`$1\`; the options are --nightly and --install" >&2
        exit 2
        ;;
esac

shared=$(realpath -m "${CARGO_TARGET_DIR:-target}")
target=$shared/python
install_python() { python_environment "$target/venv" python/requirements-test.txt --no-deps; }
install_trainers() {
    python_environment "$target/venv-package" python/requirements-package.txt --no-deps
    if [ "$option" = --nightly ]; then
        "$target/venv-package/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
            -r python/requirements-nightly.txt
    fi
}
[ "$option" != --nightly ] || export SCHEDC_NIGHTLY=yes
if [ "$option" = --install ]; then
    install_python
    install_trainers
    exit
fi

if [ -z "${SCHEDC:-}" ]; then
    scripts/setup.sh
    cargo build --locked --profile "$profile" -p schedc
    SCHEDC=${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}/schedc
fi
SCHEDC=$(realpath "$(command -v "$SCHEDC")")
EXAMPLES=$PWD/examples
export SCHEDC EXAMPLES CARGO_TARGET_DIR=$shared

make_runtime() {
    install_python
    rm -rf "$target/wheels"
    (cd python/runtime && "$target/venv/bin/maturin" build --quiet --release --locked --out "$target/wheels")
    local size
    size=$(stat -c %s "$target"/wheels/schedc_runtime-*.whl)
    [ "$size" -lt 1000000 ] || { say "the wheel has $size bytes, more than a megabyte"; exit 1; }
    install_runtime "$target/venv"
}
install_runtime() {
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
        "$target"/wheels/schedc_runtime-*.whl
}
make_compiler() {
    cargo build --quiet --locked --profile "$profile" -p schedc-python-compiler
    rm -rf "$target/site"
    mkdir -p "$target/site"
    cp -r python/compiler/schedc "$target/site/schedc"
    cp "$shared/${profile/#dev/debug}/libschedc_compiler.so" "$target/site/schedc/_native.abi3.so"
}
# Tests with another release of scikit-learn: its list replaces lines of the trainers' list.
test_release() {
    local list=$target/sklearn-$1.txt venv=$target/venv-sklearn-$1
    awk -F== '!seen[$1]++' "python/requirements-sklearn-$1.txt" python/requirements-package.txt >"$list"
    python_environment "$venv" "$list" --no-deps
    install_runtime "$venv"
    test_package "$venv/bin/python"
}
make_kernels() {
    # Without -p, the crates have the same features as in the tests, and are not compiled again.
    cargo build --quiet --locked --profile "$profile" --example host_kernels
    export HOST_KERNELS=$shared/${profile/#dev/debug}/examples/host_kernels
}
make_trainers() {
    install_trainers
    install_runtime "$target/venv-package"
}
python=$target/venv/bin/python
trainers=$target/venv-package/bin/python
check_types() {
    MYPYPATH=$target/site:python/runtime "$trainers" -m mypy --strict --ignore-missing-imports \
        --no-error-summary \
        --exclude mlserver --cache-dir "$target/mypy" "$target/site/schedc" python/runtime/schedc_runtime
}
run_tests() { "$1" -m pytest --quiet -p no:cacheprovider "${@:2}"; }
test_package() { run_tests "$1" --numprocesses logical --dist worksteal python/tests/package; }

trap print_steps EXIT
step 'schedc-runtime: its wheel' make_runtime
step 'schedc-runtime: tests' run_tests "$python" --ignore python/tests/scale --ignore python/tests/package \
    python/tests
step 'schedc: its module' make_compiler
step 'schedc: kernels without a GPU' make_kernels
step 'schedc: the trainers for comparison' make_trainers
step 'schedc: types' check_types
export PYTHONPATH=$target/site
# Tests run in parallel, one on each processor, so each uses one thread.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
step 'schedc: tests' test_package "$trainers"
if [ "$option" = --nightly ]; then
    for release in 1.3 1.5; do
        step "schedc: tests with scikit-learn $release" test_release "$release"
    done
fi
