#!/usr/bin/env bash
# Installs missing requirements for building schedc on Debian and Ubuntu: LLVM 19 and a C/C++ compiler.
# Changes nothing if all are present. Rust is only checked, not installed.
#
#     scripts/setup.sh             for cargo build
#     scripts/setup.sh --static    also for --features llvm-static,lld: static libraries of LLVM, LLD and
#                                  compression
set -euo pipefail
cd "$(dirname "$0")/.."

static=
case "${1:-}" in
    '') ;;
    --static) static=yes ;;
    *)
        printf 'usage: scripts/setup.sh [--static]\n' >&2
        exit 2
        ;;
esac

say() { printf 'setup: %s\n' "$1" >&2; }
# shellcheck source=scripts/packages.sh
. scripts/packages.sh
fail() {
    printf 'setup: error: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '  help: %s\n' "$@" >&2
    exit 2
}

# Rust: at least the oldest release that the workspace supports.
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
install_rust='install Rust as https://rustup.rs says, open a new shell, and run this again'
[ "$(uname -sm)" = 'Linux x86_64' ] ||
    fail "schedc builds on Linux on x86-64 only, and this is $(uname -sm)"
if ! command -v cargo >/dev/null && [ -x "${HOME:-}/.cargo/bin/cargo" ]; then
    fail 'cargo is installed but not on the PATH' "run . \"\$HOME/.cargo/env\", and then this again"
fi
command -v cargo >/dev/null || fail 'cargo, the build tool of Rust, is missing' "$install_rust"
# With these options the linker accepts archives in any order.
[ -z "$static" ] || rust_needed=1.90
rust_found=$(rustc --version | cut -d' ' -f2)
if [ "$(printf '%s\n' "$rust_needed" "$rust_found" | sort -V | head -n 1)" != "$rust_needed" ]; then
    fail "Rust $rust_needed or newer is needed, and this is $rust_found" \
        'with rustup: rustup update' "without: $install_rust"
fi

# The folder in LLVM_SYS_191_PREFIX comes first, as in the build.
llvm_config() {
    local config=${LLVM_SYS_191_PREFIX:+$LLVM_SYS_191_PREFIX/bin/llvm-config} candidate
    for candidate in ${config:-llvm-config-19 llvm-config}; do
        case "$("$candidate" --version 2>/dev/null)" in
            19.1.*) "$candidate" "$@" 2>/dev/null && return ;;
        esac
    done
    return 1
}
has_llvm() {
    [ -f "$(llvm_config --includedir)/llvm-c/Core.h" ]
}
has_llvm_archives() {
    llvm_config --link-static --libnames >/dev/null
}
has_lld() {
    [ -f "$(llvm_config --includedir)/lld/Common/Driver.h" ] && [ -f "$(llvm_config --libdir)/liblldELF.a" ]
}
# Whether the compiler finds a static library. It prints the path if so, and only the name if not.
has_archive() {
    case "$(c++ -print-file-name="$1" 2>/dev/null)" in
        /*) ;;
        *) return 1 ;;
    esac
}
# LLVM's libraries need the C++ libraries.
has_cc() {
    local folder status=0
    command -v cc >/dev/null || return 1
    folder=$(mktemp -d)
    printf '#include <pthread.h>\n#include <linux/futex.h>\nint main(void) { return 0; }\n' >"$folder/try.c"
    cc "$folder/try.c" -o "$folder/try" -lstdc++ 2>/dev/null || status=1
    rm -r "$folder"
    return "$status"
}

packages=()
has_llvm || packages+=(llvm-19-dev)
has_cc || packages+=(g++)
if [ -n "$static" ]; then
    has_lld || packages+=(liblld-19-dev)
    has_archive libz.a || packages+=(zlib1g-dev)
    has_archive libzstd.a || packages+=(libzstd-dev)
fi
if [ ${#packages[@]} -eq 0 ] && [ -n "$static" ] && ! has_llvm_archives; then
    fail 'LLVM is installed without its static libraries' 'as root: apt-get install --reinstall llvm-19-dev'
fi
if [ ${#packages[@]} -eq 0 ]; then
    say 'nothing is missing'
    exit 0
fi

[ -z "${LLVM_SYS_191_PREFIX:-}" ] || has_llvm ||
    fail "LLVM_SYS_191_PREFIX is $LLVM_SYS_191_PREFIX, which lacks LLVM 19.1 with headers" \
        'correct or unset it'
by_hand='install LLVM 19.1 with headers and a C++ compiler, and set LLVM_SYS_191_PREFIX to its folder'
command -v apt-get >/dev/null || fail "missing: ${packages[*]}, and this system has no apt-get" "$by_hand"
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    fail "missing: ${packages[*]}" "as root: apt-get install --no-install-recommends ${packages[*]}"
fi

say "installing ${packages[*]}"
apt_update
for package in "${packages[@]}"; do
    [ -n "$(apt-cache madison "$package" 2>/dev/null)" ] ||
        fail "this system has no package $package; Debian 12, Ubuntu 24.04 and later ones have" "$by_hand"
done
apt_install "${packages[@]}" ||
    fail "${packages[*]} could not be installed" 'apt-get says why above'
{ has_llvm && has_cc; } ||
    fail 'the packages are installed, and LLVM 19.1 or the C compiler still does not work' "$by_hand"
# A build before LLVM was installed has cached that there is none.
for profile in dev release dist; do
    cargo clean --quiet --locked --profile "$profile" --package llvm-sys ||
        fail 'a build from before LLVM was installed could not be removed' 'cargo clean'
done
say 'done'
