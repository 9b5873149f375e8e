"""Times the schedules of families.json for models on a machine with a GPU: builds artefacts on its processor,
checks their margins against code for the processor, and times their kernels. run.sh calls it.

    sweep.py FOLDER OUT.jsonl [--seconds 240] [--share 1.0] [--seed 1] [--families a,b] [--models a,b]
             [--gpu sm_90]

FOLDER holds `schedc`, `harness` and a folder for each model, with `model.json`, `model.txt` or `model.onnx`,
and `sample.npy` or `X_test.npy`. Artefacts that lie there (`cpu.so`, and others for the GPU) are used and
timed first. `--share` is the fraction of a model's schedules to build, drawn with a fixed seed. The schedule
that schedc chooses is always timed; with `--families ''` it is the only one that is built.

Each line of OUT.jsonl is written at once, so a run that is ended leaves what it has measured.
"""

import argparse
import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROWS = "sample.npy", "X_test.npy"


def rows_of(model):
    """The path of the rows beside a model, or None."""
    return next((model.parent / name for name in ROWS if (model.parent / name).exists()), None)


def schedules(trees, classes=1, share=1.0, seed=1, families=()):
    """Names and texts of the families' schedules for a model. `share` is the fraction of each family."""
    drawn = random.Random(seed)
    for family, entry in json.loads((HERE / "families.json").read_text()).items():
        if families and family not in families:
            continue
        over = entry["over"]
        every = list(itertools.product(*over.values()))
        drawn.shuffle(every)
        if entry.get("classes") and classes == 1:
            continue
        for values in every if entry.get("whole") else every[: math.ceil(len(every) * share)]:
            words = dict(zip(over, values))
            if words.get("P", 0) >= 1000000:
                words["P"] = trees
            if "Y" in words:
                most = words["Y"]
                words["divisor_Y"] = max(y for y in range(1, most + 1) if trees % y == 0 or y == most // 2)
                words["trees_per_Y"] = -(-trees // words["Y"])
                words["iterations_per_Y"] = -(-trees // classes // words["Y"]) * classes
                words["classes"] = classes
            lines = [line.format(**words) for line in entry["lines"]]
            lines = [line for line in lines if not (line.startswith("interleave") and line.endswith(", 1)"))]
            yield "-".join([family, *map(str, values)]), "target gpu\n" + "\n".join(lines) + "\n"


class Sweep:
    """A run over all models on one machine. Writes the lines of its results to `out`."""

    def __init__(self, arguments, work, out):
        self.folder = pathlib.Path(arguments.folder).resolve()
        self.arguments = arguments
        self.work = pathlib.Path(work)
        self.schedc = self.folder / "schedc"
        self.out = out
        self.lines = []
        self.writing = threading.Lock()

    def add(self, line):
        """Keeps a line and writes it. Several threads call this."""
        with self.writing:
            self.lines.append(line)
            self.out.write(json.dumps(line, separators=(",", ":")) + "\n")
            self.out.flush()

    def build(self, model, name, text, target):
        """Builds an artefact and returns its path. If that fails, prints the reason and returns None."""
        out = self.work / f"{model.parent.name}.{name}.so"
        command = [self.schedc, "build", model, "-o", out, "--color", "never", "--target", target]
        if text is not None:
            schedule = self.work / f"{model.parent.name}.{name}.sched"
            schedule.write_text(text)
            self.add({"part": "text", "model": model.parent.name, "schedule": name, "text": text})
            command += ["-s", schedule]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return out
        error = re.search(r"^\[.*", done.stderr, re.M)
        self.add({"part": "not_built", "model": model.parent.name, "schedule": name,
                  "why": error.group(0) if error else done.stderr[-300:]})
        return None

    def model(self, model, until):
        """Builds and times one model's schedules, until the deadline `until`."""
        name = model.parent.name
        command = [self.schedc, "inspect", model, "--color", "never"]
        inspected = subprocess.run(command, capture_output=True, text=True)
        trees = int(re.search(r"^\s*trees\s+(\d+)", inspected.stdout, re.M).group(1))
        low, high = re.search(r"^\s*leaves\s+(\S+) \S+ ([^\s,]+)", inspected.stdout, re.M).groups()
        magnitude = trees * max(abs(float(low)), abs(float(high)))
        packed = {path.stem: path for path in sorted(model.parent.glob("*.so"))}
        cpu = packed.pop("cpu", None) or self.build(model, "cpu", None, "cpu")
        if cpu is None:
            return
        classes = int(re.search(r"(\d+) margins?", inspected.stdout).group(1))
        drawn = (self.arguments.share, self.arguments.seed, self.arguments.families.split(","))
        jobs = list(schedules(trees, classes, *drawn)) if self.arguments.families else []
        random.Random(2).shuffle(jobs)
        if "chosen" not in packed:
            jobs.insert(0, ("chosen", None))
        ready = sorted(packed.items(), key=lambda entry: entry[0] != "chosen")
        harness = subprocess.Popen(
            [self.folder / "harness", "sweep", "--sample", rows_of(model), "--rows", str(self.arguments.rows),
             "--artefact", cpu, "--model", name, "--magnitude", repr(magnitude), "--until", str(until)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with concurrent.futures.ThreadPoolExecutor() as others, concurrent.futures.ThreadPoolExecutor(
            max_workers=max(1, (os.cpu_count() or 2) - 2)
        ) as builders:
            output = others.submit(self.read, harness.stdout)
            errors = others.submit(harness.stderr.read)

            def build(job):
                if time.time() < until:
                    return job[0], self.build(model, *job, f"gpu({self.arguments.gpu})")
                return job[0], None

            for label, path in itertools.chain(ready, builders.map(build, jobs)):
                if path is not None:
                    try:
                        harness.stdin.write(f"{label} {path}\n")
                        harness.stdin.flush()
                    except BrokenPipeError:
                        break
            try:
                harness.stdin.close()
            except BrokenPipeError:
                pass
            status = harness.wait()
            output.result()
            if status != 0:
                why = errors.result()[-500:]
                self.add({"part": "sweep", "model": name, "failed": status, "why": why})

    def read(self, stream):
        """Adds the lines that the harness prints."""
        for line in stream:
            if line.startswith("{"):
                self.add(json.loads(line))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--families", default=",".join(json.loads((HERE / "families.json").read_text())))
    parser.add_argument("--models", default="")
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--rows", type=int, default=1000000, help="rows to draw")
    arguments = parser.parse_args()
    end = time.time() + arguments.seconds
    models = pathlib.Path(arguments.folder).glob("*/model.*")
    found = sorted(path for path in models if rows_of(path))
    wanted = [name for name in arguments.models.split(",") if name]
    if wanted:
        found = [model for model in found if model.parent.name in wanted]
    bad = 0
    with open(arguments.out, "w") as out:
        for number, model in enumerate(found):
            with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as work:
                sweep = Sweep(arguments, work, out)
                start = time.time()
                try:
                    sweep.model(model, start + (end - start) / (len(found) - number))
                except Exception as error:  # if a model fails, the others are still measured
                    sweep.add({"part": "sweep", "model": model.parent.name, "failed": 1, "why": repr(error)})
                timed = {line["schedule"] for line in sweep.lines if "us" in line}
                wrong = [line for line in sweep.lines if line.get("ok") is False]
                failed = [line for line in sweep.lines if "failed" in line]
                took = f"{time.time() - start:.0f} s"
                bad += len(wrong) + len(failed)
                print(f"{model.parent.name}: {len(timed)} timed, {len(wrong)} wrong, {took}", *failed,
                      file=sys.stderr, flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
