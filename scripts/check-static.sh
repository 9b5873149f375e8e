#!/usr/bin/env bash
# Checks that programs need only the C library, in a version that recent systems have, and `libgcc_s.so.1`.
# The latter unwinds the stack and is on every system with programs in C++ or Python.
#
#     scripts/check-static.sh PROGRAM...
set -euo pipefail

newest=2.34
status=0
for program in "$@"; do
    libraries=$(readelf --dynamic --wide "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    for library in $libraries; do
        case $library in
            ld-linux-x86-64.so.2 | libc.so.6 | libgcc_s.so.1 | libm.so.6) ;;
            *)
                echo "$program is linked with $library" >&2
                status=1
                ;;
        esac
    done
    version=$(readelf --version-info --wide "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    version=${version#GLIBC_}
    if [ "$(printf '%s\n' "$version" "$newest" | sort -V | tail -n 1)" != "$newest" ]; then
        echo "$program needs version $version of the C library, but may need at most $newest" >&2
        status=1
    fi
done
exit "$status"
