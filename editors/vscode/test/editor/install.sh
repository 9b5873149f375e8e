#!/usr/bin/env bash
# Installs a real VS Code, to be used from a browser, and a browser on this machine if they are missing.
# Prints the folder of VS Code. Takes about half a minute the first time.
#
# The package code-server contains VS Code's own server, the only part that is used. Nothing is compiled:
# without native modules there is no terminal, which tests of an extension do not need.
set -euo pipefail

version=4.100.3
integrity=q/Fh2DOxCRNhC/WiG/6sAhSKnj7ZACTVBaeeZ+rWjol//0FCbl/qg1ln5ecZ99jYcfqMxZZAyWcN+YBIo0DgpA==
folder=${XDG_CACHE_HOME:-$HOME/.cache}/schedc-editors/code-server-$version

say() { printf 'install: %s\n' "$1" >&2; }

if ! command -v chromium >/dev/null && [ -z "${CHROMIUM:-}" ]; then
    say 'installing chromium'
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    apt() {
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null
    }
    apt update || say 'the lists of packages could not be updated: trying those that are there'
    apt install -y --no-install-recommends chromium >/dev/null
fi

if [ ! -f "$folder/out/server-main.js" ]; then
    say "installing VS Code of code-server $version"
    mkdir -p "$(dirname "$folder")"
    new=$(mktemp -d "$folder.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    archive=$(cd "$new" && npm pack --silent "code-server@$version")
    found=$(openssl dgst -sha512 -binary "$new/$archive" | base64 -w0)
    [ "$found" = "$integrity" ] || { say "$archive is not the one that was tested with"; exit 1; }
    tar -xzf "$new/$archive" -C "$new" package/lib/vscode
    (cd "$new/package/lib/vscode" &&
        npm install --omit=dev --ignore-scripts --no-audit --no-fund --legacy-peer-deps --loglevel=error >&2)
    # Moves the folder only when it is complete, so that an interrupted installation starts anew.
    rm -rf "$folder"
    mv "$new/package/lib/vscode" "$folder"
fi
echo "$folder"
