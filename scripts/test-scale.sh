#!/usr/bin/env bash
# Tests distributed predictions with Spark, Dask and Ray, and also MLflow and MLServer. Workers are separate
# processes; ten million rows are in shards. One test kills a worker, another mixes processor levels. Takes
# some minutes and a gigabyte of packages, so test.sh does not run it. SCALE_ROWS sets the number of rows.
#
# Spark needs Java 17 or later. The program is $SCHEDC; if it is not set, the script builds it.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'scale: %s\n' "$1" >&2; }
# shellcheck source=scripts/packages.sh
. scripts/packages.sh

if [ -z "${SCHEDC:-}" ]; then
    scripts/setup.sh
    cargo build --locked --release -p schedc
    SCHEDC=${CARGO_TARGET_DIR:-target}/release/schedc
fi
SCHEDC=$(realpath "$(command -v "$SCHEDC")")
EXAMPLES=$PWD/examples
export SCHEDC EXAMPLES
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(realpath "${CARGO_TARGET_DIR:-target}")/python

python_environment "$target/scale" python/requirements-scale.txt
python_environment "$target/served" python/requirements-mlserver.txt

say 'the wheel of schedc-runtime'
rm -rf "$target/wheels-scale"
(cd python/runtime && CARGO_TARGET_DIR=$target "$target/scale/bin/maturin" build --quiet --release --locked \
    --out "$target/wheels-scale")
for name in scale served; do
    "$target/$name/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        --force-reinstall \
        "$target"/wheels-scale/schedc_runtime-*.whl
done

say 'tables, with pyarrow, pandas and Polars'
"$target/scale/bin/python" -m pytest --quiet -p no:cacheprovider python/tests/test_batch.py
for engine in mlflow dask spark ray deploy; do
    say "$engine"
    "$target/scale/bin/python" -m pytest --quiet -p no:cacheprovider --durations=0 \
        "python/tests/scale/test_$engine.py"
done
say 'mlserver'
"$target/served/bin/python" -m pytest --quiet -p no:cacheprovider python/tests/scale/test_mlserver.py
