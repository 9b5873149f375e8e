#!/usr/bin/env bash
# Builds the wheels of the Python packages from a clean checkout and package registries: schedc-runtime, which
# loads libraries, and schedc, the compiler with its programs and LLVM. Checks the systems that they support,
# and their sizes.
#
#     scripts/wheels.sh OUT                          both
#     scripts/wheels.sh OUT schedc-runtime           one of them
#
# Installs missing Debian packages. The build is reproducible: the same commit gives the same bytes.
set -euo pipefail

say() { printf 'wheels: %s\n' "$1" >&2; }
fail() {
    printf 'wheels: error: %s\n' "$1" >&2
    exit 1
}
if [ $# -lt 1 ] || [[ $1 == -* ]]; then
    echo 'usage: scripts/wheels.sh OUT [schedc-runtime|schedc]...' >&2
    exit 2
fi
out=$(realpath -m "$1")
shift
cd "$(dirname "$0")/.."
packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(schedc-runtime schedc)
for package in "${packages[@]}"; do
    case $package in
        schedc-runtime | schedc) ;;
        *) fail "there is no package $package: there are schedc-runtime and schedc" ;;
    esac
done
mkdir -p "$out"

scripts/setup.sh --static
# shellcheck source=scripts/reproducible.sh
. scripts/reproducible.sh
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
venv=$CARGO_TARGET_DIR/venv
python_environment "$venv" python/requirements-dist.txt --no-deps

# Temporary files beside pyproject.toml during the build: Maturin looks there for licences, and for programs
# in the folder of the module `schedc._native`.
data=python/compiler/schedc._native.data
placed=(python/{runtime,compiler}/LICENSE-{APACHE,MIT,THIRD-PARTY.txt} "$data")
trap 'rm -rf "${placed[@]}"' EXIT

# Builds the wheel of a folder of python/, of at most a given number of bytes, with the licences of the given
# crates' dependencies. Further arguments are Maturin's.
wheel() {
    local folder=$1 most=$2 crates=$3 made size name
    shift 3
    cp LICENSE-APACHE LICENSE-MIT "python/$folder/"
    # shellcheck disable=SC2086 # several words
    scripts/licences.py $crates >"python/$folder/LICENSE-THIRD-PARTY.txt"
    made=$(mktemp -d)
    # Maturin determines the oldest system that the module supports.
    (cd "python/$folder" && "$venv/bin/maturin" build --quiet --profile dist --locked --compatibility pypi \
        --compression-level 9 --out "$made" "$@")
    name=$(cd "$made" && echo ./*.whl)
    size=$(stat -c %s "$made/$name")
    [ "$size" -le "$most" ] || fail "$name has $size bytes, more than $most"
    # The programs must support that system, too.
    "$venv/bin/python" scripts/check-wheel.py "$made/$name"
    contains "$made/$name" '\.dist-info/licenses/LICENSE-THIRD-PARTY.txt '
    mv "$made/$name" "$out/"
    rmdir "$made"
    say "${name#./}: $((size / 1024)) KiB"
}

# Fails if no file of a wheel ends in this name.
contains() {
    "$venv/bin/python" -m zipfile --list "$1" | grep "$2" >/dev/null || fail "$1 lacks $2"
}

for package in "${packages[@]}"; do
    case $package in
        schedc-runtime)
            wheel runtime 1000000 python/Cargo.toml
            ;;
        schedc)
            cargo build --locked --profile dist -p schedc --bin schedc-lsp --no-default-features \
                --features llvm-static,lld
            # The module contains the command line `schedc`. The language server contains no LLVM.
            rm -rf "$data"
            mkdir -p "$data/scripts"
            strip -o "$data/scripts/schedc-lsp" "$CARGO_TARGET_DIR/dist/schedc-lsp"
            # The linker folds equal functions, of which LLVM's templates make many.
            wheel compiler 35000000 'cli/Cargo.toml python/compiler/Cargo.toml' --features llvm-static,lld \
                -- -C link-arg=-Wl,--icf=all
            contains "$out"/schedc-*.whl '\.data/scripts/schedc-lsp '
            ;;
    esac
done
