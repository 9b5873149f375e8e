#!/usr/bin/env bash
# Tests wheels as users install them. For each Python, installs them into a separate environment and compiles
# the example model, with no compiler on the path. Compares predictions with those of XGBoost, which trained
# the model.
#
#     scripts/test-wheels.sh WHEELS...
#
# Needs Python with venv, and pip's registry for NumPy, but neither Rust nor a C compiler, so it runs on a
# bare system, too. PYTHONS lists the Pythons; by default, one of each version from 3.10 on, from the path and
# from pyenv.
set -euo pipefail

say() { printf 'wheels: %s\n' "$1" >&2; }
fail() {
    printf 'wheels: error: %s\n' "$1" >&2
    exit 1
}
if [ $# -eq 0 ] || [[ $1 == -* ]]; then
    echo 'usage: scripts/test-wheels.sh WHEELS...' >&2
    exit 2
fi
wheels=()
for wheel in "$@"; do
    [ -f "$wheel" ] || fail "there is no wheel $wheel"
    wheels+=("$(realpath "$wheel")")
done

cd "$(dirname "$0")/.."

# The version of a Python that can create environments.
version() {
    "$1" -c 'import ensurepip, sys
assert sys.version_info >= (3, 10)
print("%d.%d" % sys.version_info[:2])' \
        2>/dev/null
}
pythons=()
if [ -n "${PYTHONS:-}" ]; then
    read -ra pythons <<<"$PYTHONS"
else
    declare -A of
    for candidate in python3 python3.1{0..9} "${PYENV_ROOT:-${HOME:-/root}/.pyenv}"/versions/*/bin/python3; do
        found=$(version "$candidate") || continue
        [ -z "${of[$found]:-}" ] || continue
        of[$found]=$candidate
        pythons+=("$candidate")
    done
fi
[ ${#pythons[@]} -gt 0 ] || fail 'no Python of version 3.10 or later, with venv, is found'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The program is the example in README.md.
awk '/^```/ { inside = $0 == "```python"; next } inside' README.md >"$work/first.py"
grep -q 'schedc.compile' "$work/first.py" || fail 'README.md has no program that compiles a model'
cat >"$work/again.py" <<'END'
import numpy, schedc_runtime

model = schedc_runtime.load("model.so")
expected = numpy.loadtxt("predictions.csv", skiprows=1, dtype="float32")
found = model.predict(numpy.load("examples/model/rows.npy"))
assert len(expected) == 171 and (found == expected).all()
END

for python in "${pythons[@]}"; do
    of_python=$(version "$python") || fail "$python is older than 3.10, or cannot make environments"
    venv=$work/$of_python
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${wheels[@]}"
    mkdir "$venv/here"
    ln -s "$PWD/examples" "$venv/here/examples"
    # From here on, the path has only the environment's programs.
    bare() (cd "$venv/here" && env -i HOME="$venv/here" PATH="$venv/bin" "$@")

    bare "$venv/bin/python" "$work/first.py" >&2 || fail "Python $of_python: the program of README.md fails"
    for program in schedc schedc-lsp; do
        bare "$venv/bin/$program" --version >/dev/null || fail "Python $of_python: $program does not run"
    done
    bare schedc --help | grep '^Usage: schedc' >/dev/null || fail "Python $of_python: schedc has no help"
    bare schedc predict examples/model/breast_cancer.json -i examples/model/rows.csv -o predictions.csv -q
    # A library that the program builds runs without a compiler.
    said=$(bare schedc build examples/model/breast_cancer.json -o model.so --cpu x86-64-v2 2>&1) ||
        fail "Python $of_python: schedc builds no library: $said"
    "$venv/bin/python" -m pip uninstall --quiet --yes schedc
    [ ! -e "$venv/bin/schedc" ] || fail "Python $of_python: uninstalling schedc leaves its program"
    bare "$venv/bin/python" "$work/again.py" ||
        fail "Python $of_python: schedc_runtime and schedc predict different values"
    say "Python $of_python: all checks passed"
done
