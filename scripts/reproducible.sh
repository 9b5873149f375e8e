# shellcheck shell=bash
# Sourced by other scripts: makes builds independent of the time and of the folder of the checkout. Sets the
# variables that compilers, archivers and packagers read.

# The timestamp in packages: the time of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
SCHEDC_COMMIT=${SCHEDC_COMMIT:-$(git rev-parse HEAD)}
export SOURCE_DATE_EPOCH SCHEDC_COMMIT
export TZ=UTC LC_ALL=C.UTF-8

# Keeps paths of this machine out of programs. These builds use a separate target folder.
cargo_home=$(realpath "${CARGO_HOME:-$HOME/.cargo}")
rust_home=$(rustc --print sysroot)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# If one script with this file calls another, both use the same folder.
[[ $target == */dist ]] || target+=/dist
export CARGO_TARGET_DIR=$target
export CARGO_INCREMENTAL=0
export CARGO_ENCODED_RUSTFLAGS
printf -v CARGO_ENCODED_RUSTFLAGS '%s\x1f%s\x1f%s\x1f%s' \
    "--remap-path-prefix=$target=/target" \
    "--remap-path-prefix=$PWD=/schedc" \
    "--remap-path-prefix=$cargo_home=/cargo" \
    "--remap-path-prefix=$rust_home=/rust"
CFLAGS="-ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$target=/target"
export CFLAGS="$CFLAGS -ffile-prefix-map=$PWD=/schedc"
export CXXFLAGS=$CFLAGS

# The programs of a release, with LLVM and LLD in them: $CARGO_TARGET_DIR/dist/schedc and schedc-lsp. Needs
# the packages of `scripts/setup.sh --static`.
build_static_programs() {
    cargo build --locked --profile dist -p schedc --no-default-features --features llvm-static,lld
}
