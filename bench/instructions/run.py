#!/usr/bin/env python3
"""Counts the instructions of ten kernels under Valgrind, for one compiler or for two.

    bench/instructions/run.py --schedc AFTER [--before BEFORE] [--most 1.03]

Prints a table in Markdown: instructions of one call, before and after. The exit status is 1 if a kernel
executes more than `--most` times as many instructions as before. Counts do not depend on the load of the
machine. Kernels are built for x86-64-v3, the highest level that Valgrind runs.

"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIXTURES = Path("forest/tests/fixtures")
EXAMPLE = Path("examples/model/breast_cancer.json")

# Name, model, schedule (None: the automatic one), rows per call.
KERNELS = [
    ("one row, chosen", EXAMPLE, None, 1),
    ("64 rows, chosen", EXAMPLE, None, 64),
    ("1000 rows, chosen", EXAMPLE, None, 1000),
    ("64 rows, trainer's order", EXAMPLE, "xgboost.sched", 64),
    ("64 rows, row vectors", EXAMPLE, "vectorized.sched", 64),
    ("64 rows, quantized", EXAMPLE, "quantized.sched", 64),
    ("64 rows, tiled nodes", EXAMPLE, "tiled_nodes.sched", 64),
    ("one row, tree vectors", EXAMPLE, "trees_in_lanes.sched", 1),
    ("64 rows, interleaved", EXAMPLE, "interleaved.sched", 64),
    ("64 rows, leaf vectors", FIXTURES / "catboost/multi-class.json", None, 64),
]


def run(*command):
    """Runs a command and returns its standard error; ends the program if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"instructions: {' '.join(map(str, command))}\n{done.stderr}")
    return done.stderr


def executed(caller, library, n_rows, calls):
    """The number of instructions of a whole process that makes `calls` calls."""
    with tempfile.NamedTemporaryFile() as log:
        run("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
            f"--log-file={log.name}", caller, library, n_rows, calls)
        found = re.search(r"I\s+refs:\s+([\d,]+)", Path(log.name).read_text())
    if not found:
        sys.exit("instructions: Valgrind gave no count")
    return int(found.group(1).replace(",", ""))


def instructions(schedc, caller, folder, kernel):
    """The number of instructions of one call of a kernel."""
    _, model, schedule, n_rows = kernel
    library = folder / "kernel.so"
    words = ["--schedule", ROOT / "examples" / schedule] if schedule else ["--frozen"]
    run(schedc, "build", ROOT / model, *words, "--cpu", "x86-64-v3", "--name", "schedc", "-o", library)
    few, more = 5, 25
    return (executed(caller, library, n_rows, more) - executed(caller, library, n_rows, few)) // (more - few)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedc", type=Path, required=True, help="the compiler to measure")
    parser.add_argument("--before", type=Path, help="an earlier compiler to compare with")
    parser.add_argument("--most", type=float, default=1.03,
                        help="fail above this ratio (%(default)s)")
    options = parser.parse_args()
    compilers = [each for each in (options.before, options.schedc) if each]
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        caller = folder / "call"
        run("cc", "-O1", "-Wall", "-Wextra", "-o", caller, HERE / "call.c", "-ldl")
        print("| kernel | " + ("before | after | ratio |" if options.before else "instructions |"))
        print("|---|" + "---:|" * (3 if options.before else 1))
        for kernel in KERNELS:
            counts = [instructions(schedc, caller, folder, kernel) for schedc in compilers]
            columns = [f"{count:,}" for count in counts]
            if options.before:
                ratio = counts[1] / counts[0]
                worst = max(worst, ratio)
                columns.append(f"**{ratio:.3f}**" if ratio > options.most else f"{ratio:.3f}")
            print(f"| {kernel[0]} | {' | '.join(columns)} |", flush=True)
    return 1 if worst > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
