#!/usr/bin/env bash
# Packages the extension and drives it in a real VS Code. The program is $SCHEDC, or schedc on the PATH;
# screenshots go to artefacts/.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=editors/vscode/test/prepare.sh
. test/prepare.sh
node out/main.cjs "$vscode" schedc.vsix ../../examples/model
