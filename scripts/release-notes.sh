#!/usr/bin/env bash
# Prints the notes of a release from CHANGELOG.md. Fails if the version of a manifest differs, or if there are
# no notes.
#
#     scripts/release-notes.sh VERSION
set -euo pipefail

fail() {
    printf 'release-notes: error: %s\n' "$1" >&2
    exit 1
}
if [ $# -ne 1 ] || [[ $1 == -* ]]; then
    echo 'usage: scripts/release-notes.sh VERSION' >&2
    exit 2
fi
cd "$(dirname "$0")/.."
version=$1

for manifest in Cargo.toml python/*/pyproject.toml editors/vscode/package.json; do
    # The first version in a manifest is the package's own.
    found=$(sed -nE 's/^ *"?version"?( =|:) "([^"]*)".*/\2/p' "$manifest" | head -n 1)
    [ "$found" = "$version" ] || fail "$manifest has version $found, not $version"
done
notes=$(awk -v heading="## $version" '/^## /{ inside = $0 == heading; next } inside' CHANGELOG.md)
[ -n "$(tr -d '[:space:]' <<<"$notes")" ] || fail "CHANGELOG.md has no notes for $version"
printf '%s\n' "$notes" | sed -e '/./,$!d'
