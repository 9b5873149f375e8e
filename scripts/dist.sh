#!/usr/bin/env bash
# Builds all files of a release from a clean checkout and package registries: a tarball of static programs
# with manual pages and completions, the wheels, the VS Code extension with the programs, and checksums.
#
#     scripts/dist.sh OUT
#
# Installs missing Debian packages. The extension needs Node 20. The build is reproducible: the same commit
# gives the same bytes.
set -euo pipefail

say() { printf 'dist: %s\n' "$1" >&2; }
fail() {
    printf 'dist: error: %s\n' "$1" >&2
    exit 1
}
if [ $# -ne 1 ] || [[ $1 == -* ]]; then
    echo 'usage: scripts/dist.sh OUT' >&2
    exit 2
fi
command -v npm >/dev/null || fail 'Node 20 with npm is needed for the extension'
mkdir -p "$1"
out=$(realpath "$1")
cd "$(dirname "$0")/.."
scripts/setup.sh --static
# shellcheck source=scripts/reproducible.sh
. scripts/reproducible.sh
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
platform=linux-x64

say 'programs'
build_static_programs
stage=$(mktemp -d)
trap 'rm -rf "$stage" editors/vscode/bin' EXIT
tree=$stage/schedc-$version-$platform
mkdir -p "$tree/bin"
for program in schedc schedc-lsp; do
    strip -o "$tree/bin/$program" "$CARGO_TARGET_DIR/dist/$program"
    scripts/check-static.sh "$tree/bin/$program"
done

say 'manual pages, completions, documents, examples'
mkdir -p "$tree"/share/{man/man1,bash-completion/completions,zsh/site-functions,doc/schedc}
mkdir -p "$tree"/share/fish/vendor_completions.d
schedc=$tree/bin/schedc
"$schedc" manual -o "$tree/share/man/man1"
"$schedc" completions bash >"$tree/share/bash-completion/completions/schedc"
"$schedc" completions zsh >"$tree/share/zsh/site-functions/_schedc"
"$schedc" completions fish >"$tree/share/fish/vendor_completions.d/schedc.fish"
# With everything that the README links to, so that its commands run there.
git archive HEAD ./*.md LICENSE-* docs examples bench/README.md editors/*/README.md editors/vscode/images |
    tar --extract --directory "$tree/share/doc/schedc"
scripts/licences.py cli/Cargo.toml >"$tree/share/doc/schedc/THIRD-PARTY.txt"

say 'tarball'
tar --create --directory "$stage" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner \
    --mode=u+w,go+rX,go-w "${tree##*/}" | xz -9 --threads=1 >"$out/${tree##*/}.tar.xz"

say 'extension'
mkdir -p editors/vscode/bin
cp "$tree"/bin/* "$tree/share/doc/schedc/THIRD-PARTY.txt" editors/vscode/bin/
(
    cd editors/vscode
    npm ci --silent
    npm run --silent package -- --target "$platform" --out "$out/schedc-$version-$platform.vsix" >&2
)

say 'wheels'
scripts/wheels.sh "$out"

(cd "$out" && rm -f SHA256SUMS && sha256sum -- *.tar.xz *.vsix *.whl >SHA256SUMS)
say 'done'
cat "$out/SHA256SUMS"
