"""Functions that all commands share: they run programs, list folders with models, and format tables."""

import json
import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
EXAMPLES = BENCH.parent / "examples"
CACHE = Path(os.environ["BENCH_CACHE"])
SCHEDC = os.environ["SCHEDC"]
HARNESS = os.environ["HARNESS"]


def say(text):
    """Prints a message that is not part of the results."""
    print(text, file=sys.stderr, flush=True)


class Failed(Exception):
    """A program that ended with an error, and its output."""


def run(command, seconds=None):
    """The standard output of a command."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{Path(words[0]).name} took more than {seconds:.0f} s") from None
    if done.returncode != 0:
        # The first lines of the output, or the last one, describe the error.
        lines = done.stderr.strip().splitlines()
        reason = "\n  ".join(lines[:4] + lines[4:][-1:])
        raise Failed(f"{' '.join(words)}\n  {reason}")
    return done.stdout


class Model:
    """A folder with a model and rows for it, `X_test.npy`."""

    # Formats of XGBoost or CatBoost, LightGBM, and ONNX.
    FILES = ["model.json", "model.txt", "model.onnx"]

    def __init__(self, folder):
        self.name = folder.name
        self.path = next(path for path in (folder / name for name in self.FILES) if path.is_file())
        self.rows = folder / "X_test.npy"
        about = json.loads(run([SCHEDC, "inspect", self.path, "--json"]))
        self.trees = about["trees"]
        self.trainer = about["trainer"]
        self.features = about["num_features"]
        self.outputs = about["num_margins"]
        self.fingerprint = about["fingerprint"]
        self.depth = max((int(depth) for depth in about["depths"]), default=0)


def folders(folder, names):
    """The subfolders of a folder that have a model and rows: those with the given names, or all."""
    for place in sorted(Path(folder).iterdir()) if folder else []:
        known = any((place / name).is_file() for name in Model.FILES) and (place / "X_test.npy").is_file()
        if known and (not names or place.name in names):
            yield place
        elif place.name in names:
            say(f"bench: {place} has no {' or '.join(Model.FILES)} with X_test.npy")


def markdown(header, rows):
    """A table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def micros(value):
    """A time in microseconds as text, with about three significant digits."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def write(path, content):
    """Writes text or bytes to a temporary file and renames it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    beside.replace(path)
