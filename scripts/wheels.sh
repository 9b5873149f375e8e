#!/usr/bin/env bash
# Makes the wheels of the Python packages from a clean checkout, with nothing but package registries: schedc-runtime, which loads
# libraries, and schedc, the compiler with its programs and LLVM inside. Checks which systems they run on, and their sizes.
#
#     scripts/wheels.sh OUT                          both
#     scripts/wheels.sh OUT schedc-runtime           one of them
#
# What is needed of Debian is installed where it is missing. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'wheels: %s\n' "$1" >&2; }
fail() {
    printf 'wheels: error: %s\n' "$1" >&2
    exit 1
}
if [ $# -lt 1 ] || [[ $1 == -* ]]; then
    echo 'usage: scripts/wheels.sh OUT [schedc-runtime|schedc]...' >&2
    exit 2
fi
mkdir -p "$1"
out=$(realpath "$1")
shift
packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(schedc-runtime schedc)

scripts/setup.sh --static
if ! python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    say 'installing python3-venv'
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null; }
    apt update || say 'the lists of packages could not be updated: trying those that are there'
    apt install -y --no-install-recommends python3-venv >/dev/null
fi

# shellcheck source=scripts/reproducible.sh
. scripts/reproducible.sh
venv=$CARGO_TARGET_DIR/venv
if ! cmp -s python/requirements-dist.txt "$venv/installed.txt"; then
    rm -rf "$venv"
    mkdir -p "$CARGO_TARGET_DIR"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r python/requirements-dist.txt
    cp python/requirements-dist.txt "$venv/installed.txt"
fi

# Builds the wheel of a folder of python/, which may have so many bytes.
wheel() {
    local folder=$1 most=$2 made size name
    shift 2
    made=$(mktemp -d)
    # Maturin finds the oldest system that the module runs on.
    (cd "python/$folder" && "$venv/bin/maturin" build --quiet --release --locked --compatibility pypi --out "$made" "$@")
    name=$(cd "$made" && echo ./*.whl)
    size=$(stat -c %s "$made/$name")
    [ "$size" -le "$most" ] || fail "$name has $size bytes, more than $most"
    # That holds for the programs, too.
    "$venv/bin/python" scripts/check-wheel.py "$made/$name"
    mv "$made/$name" "$out/"
    rmdir "$made"
    say "${name#./}: $((size / 1024)) KiB"
}

for package in "${packages[@]}"; do
    case $package in
        schedc-runtime)
            wheel runtime 1000000
            ;;
        schedc)
            [ -d python/compiler ] || fail 'there is no folder python/compiler'
            cargo build --locked --release -p schedc --no-default-features --features llvm-static,lld
            # The folder that Maturin looks for beside the module `schedc._native`.
            data=python/compiler/schedc._native.data
            programs=$data/scripts
            rm -rf "$data"
            mkdir -p "$programs"
            for program in schedc schedc-lsp; do
                strip -o "$programs/$program" "$CARGO_TARGET_DIR/release/$program"
            done
            wheel compiler 60000000 --features llvm-static,lld
            rm -r "$data"
            "$venv/bin/python" -m zipfile --list "$out"/schedc-*.whl | grep -q '\.data/scripts/schedc-lsp ' ||
                fail 'the wheel lacks the programs'
            ;;
        *) fail "there is no package $package: there are schedc-runtime and schedc" ;;
    esac
done
