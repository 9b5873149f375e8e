# shellcheck shell=bash
# To be read by other scripts: the same sources give the same bytes, wherever the checkout lies and whenever it is built. Sets
# what compilers, archivers and packagers look at.

# The time that packages carry: that of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
SCHEDC_COMMIT=${SCHEDC_COMMIT:-$(git rev-parse HEAD)}
export SOURCE_DATE_EPOCH SCHEDC_COMMIT
export TZ=UTC LC_ALL=C.UTF-8

# Paths of this machine stay out of programs. What is built so lies apart from what is built without.
cargo_home=$(realpath "${CARGO_HOME:-$HOME/.cargo}")
rust_home=$(rustc --print sysroot)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Scripts that call each other share it.
[[ $target == */dist ]] || target+=/dist
export CARGO_TARGET_DIR=$target
export CARGO_INCREMENTAL=0
export CARGO_ENCODED_RUSTFLAGS
printf -v CARGO_ENCODED_RUSTFLAGS '%s\x1f%s\x1f%s\x1f%s' \
    "--remap-path-prefix=$target=/target" \
    "--remap-path-prefix=$PWD=/schedc" \
    "--remap-path-prefix=$cargo_home=/cargo" \
    "--remap-path-prefix=$rust_home=/rust"
export CFLAGS="-ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$target=/target -ffile-prefix-map=$PWD=/schedc"
export CXXFLAGS=$CFLAGS
