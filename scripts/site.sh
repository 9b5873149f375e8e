#!/usr/bin/env bash
# Builds the website: the book, and the API documents of the crates below api/.
#
#     scripts/site.sh OUT
#
# mdBook must be installed: cargo install mdbook
set -euo pipefail

if [ $# -ne 1 ] || [[ $1 == -* ]]; then
    echo 'usage: scripts/site.sh OUT' >&2
    exit 2
fi
command -v mdbook >/dev/null || {
    echo 'site: error: mdbook is missing: cargo install mdbook' >&2
    exit 1
}
out=$(realpath -m "$1")
cd "$(dirname "$0")/.."
[ ! -e "$out" ] || {
    echo "site: error: $out exists" >&2
    exit 1
}
scripts/setup.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --locked
mkdir -p "$(dirname "$out")"
stage=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mdbook build docs/book --dest-dir "$stage"
cp -r "$target/doc" "$stage/api"
cat >"$stage/api/index.html" <<'PAGE'
<!doctype html><meta http-equiv="refresh" content="0; url=schedc/index.html"><title>schedc</title>
PAGE
chmod 755 "$stage"
mv "$stage" "$out"
