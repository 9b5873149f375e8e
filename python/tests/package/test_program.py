"""The command line of the Python package behaves like the program `schedc`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(os.environ["EXAMPLES"])
SCHEDC = os.environ["SCHEDC"]


@pytest.mark.parametrize("arguments", [
    ["predict", EXAMPLES / "model/breast_cancer.json", "-i", EXAMPLES / "model/rows.csv", "-q"],
    ["--version"],
    ["inspect", EXAMPLES / "model/breast_cancer.json"],
    ["build", "nothing.json"],
    ["no-such-command"],
    ["check", "-"],
])
def test_same_as_the_program(arguments):
    """Output, messages and exit status are equal."""
    programs = ([SCHEDC], [sys.executable, "-m", "schedc"])
    text = "tile(batch, b0, b1)\n"
    runs = [subprocess.run([*program, *arguments], input=text, capture_output=True, text=True)
            for program in programs]
    assert runs[0].stdout == runs[1].stdout and runs[0].returncode == runs[1].returncode
    assert runs[0].stderr == runs[1].stderr


def test_peers_are_built_with_the_program(tmp_path):
    """`bench --peers` names this program to the script that times peers, not the interpreter that runs it."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\n[ "$2" = --schedc ] && printf %s "$3" > "{tmp_path}/named"\nexit 0\n')
    script.chmod(0o755)
    arguments = ["bench", EXAMPLES / "model/breast_cancer.json", "-i", EXAMPLES / "model/rows.csv",
                 "--batch", "1", "--samples", "1", "--peers"]
    subprocess.run([sys.executable, "-m", "schedc", *arguments], capture_output=True, check=True,
                   cwd=tmp_path, env={**os.environ, "PYTHON": str(script)})
    assert Path((tmp_path / "named").read_text()).name == "schedc"


def test_needs_no_numpy():
    """The program starts without NumPy and without the modules that predict."""
    code = ("import sys\nsys.argv[1:] = ['explain', 'S0021']\n"
            "from schedc.program import main\nstatus = main()\n"
            "loaded = [name for name in ('numpy', 'schedc_runtime', 'schedc.model') if name in sys.modules]\n"
            "sys.exit(f'{status} {loaded}' if status or loaded else 23)")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 23 and run.stdout.startswith("# S0021"), run.stderr
