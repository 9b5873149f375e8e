#!/usr/bin/env bash
# Takes the pictures of the documents in a real VS Code and writes them into images/. The program is $SCHEDC,
# or schedc on the PATH; build it with --release, since pictures show times.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=editors/vscode/test/prepare.sh
. test/prepare.sh
node out/main.cjs "$vscode" schedc.vsix ../../examples/model pictures
for picture in artefacts/readme-*.png; do
    cp "$picture" "images/${picture#artefacts/readme-}"
done
