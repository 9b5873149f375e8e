"""Times the schedules of families.json for models on a machine with a GPU: builds artefacts on its processor,
checks their margins against code for the processor, and times their kernels.

    sweep.py FOLDER OUT.jsonl [--seconds 240] [--share 1.0] [--seed 1] [--families a,b] [--models a,b]
             [--gpu sm_90]

FOLDER holds `schedc`, `harness` and a folder for each model, with `model.json`, `model.txt` or `model.onnx`,
and `X_test.npy`. `--share` is the fraction of a model's schedules to build, drawn with a fixed seed. The
schedule that schedc chooses is always built; with `--families ''` it is the only one.
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
import time

HERE = pathlib.Path(__file__).resolve().parent


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
    """A run over all models on one machine."""

    def __init__(self, arguments, work):
        self.folder = pathlib.Path(arguments.folder).resolve()
        self.arguments = arguments
        self.work = pathlib.Path(work)
        self.schedc = self.folder / "schedc"
        self.lines = []

    def build(self, model, name, text, target):
        """Builds an artefact and returns its path. If that fails, prints the reason and returns None."""
        out = self.work / f"{model.parent.name}.{name}.so"
        command = [self.schedc, "build", model, "-o", out, "--color", "never", "--target", target]
        if text is not None:
            schedule = self.work / f"{model.parent.name}.{name}.sched"
            schedule.write_text(text)
            self.lines.append({"part": "text", "model": model.parent.name, "schedule": name, "text": text})
            command += ["-s", schedule]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return out
        error = re.search(r"^\[.*", done.stderr, re.M)
        self.lines.append(
            {"part": "left_out", "model": model.parent.name, "schedule": name,
             "why": error.group(0) if error else done.stderr[-300:]}
        )
        return None

    def model(self, model, until):
        """Builds and times one model's schedules, until the deadline `until`."""
        name = model.parent.name
        command = [self.schedc, "inspect", model, "--color", "never"]
        inspected = subprocess.run(command, capture_output=True, text=True)
        trees = int(re.search(r"^\s*trees\s+(\d+)", inspected.stdout, re.M).group(1))
        low, high = re.search(r"^\s*leaves\s+(\S+) \S+ ([^\s,]+)", inspected.stdout, re.M).groups()
        magnitude = trees * max(abs(float(low)), abs(float(high)))
        cpu = self.build(model, "cpu", None, "cpu")
        classes = int(re.search(r"(\d+) margins", inspected.stdout).group(1))
        drawn = (self.arguments.share, self.arguments.seed, self.arguments.families.split(","))
        jobs = list(schedules(trees, classes, *drawn)) if self.arguments.families else []
        random.Random(2).shuffle(jobs)
        jobs.insert(0, ("chosen", None))
        harness = subprocess.Popen(
            [self.folder / "harness", "sweep", "--sample", model.parent / "X_test.npy", "--rows", "1000000",
             "--artefact", cpu, "--model", name, "--magnitude", repr(magnitude), "--until", str(until)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with concurrent.futures.ThreadPoolExecutor() as others, concurrent.futures.ThreadPoolExecutor(
            max_workers=max(1, (os.cpu_count() or 2) - 2)
        ) as builders:
            output = others.submit(harness.stdout.read)
            errors = others.submit(harness.stderr.read)

            def build(job):
                if time.time() < until:
                    return job[0], self.build(model, *job, f"gpu({self.arguments.gpu})")
                return job[0], None

            for label, path in builders.map(build, jobs):
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
            self.lines += [json.loads(line) for line in output.result().splitlines() if line.startswith("{")]
            if status != 0:
                why = errors.result()[-500:]
                self.lines.append({"part": "failed", "model": name, "status": status, "why": why})


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
    arguments = parser.parse_args()
    end = time.time() + arguments.seconds
    models = pathlib.Path(arguments.folder).glob("*/model.*")
    found = sorted(path for path in models if (path.parent / "X_test.npy").exists())
    wanted = [name for name in arguments.models.split(",") if name]
    if wanted:
        found = [model for model in found if model.parent.name in wanted]
    with open(arguments.out, "w") as out:
        for number, model in enumerate(found):
            with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as work:
                sweep = Sweep(arguments, work)
                start = time.time()
                try:
                    sweep.model(model, start + (end - start) / (len(found) - number))
                except Exception as error:  # if a model fails, the others are still measured
                    sweep.lines.append({"part": "failed", "model": model.parent.name, "why": repr(error)})
                for line in sweep.lines:
                    out.write(json.dumps(line) + "\n")
                out.flush()
                timed = {line["schedule"] for line in sweep.lines if line.get("part") == "sweep"}
                wrong = [line for line in sweep.lines if line.get("part") == "check" and not line["ok"]]
                failed = [line for line in sweep.lines if line.get("part") == "failed"]
                took = f"{time.time() - start:.0f} s"
                print(f"{model.parent.name}: {len(timed)} timed, {len(wrong)} wrong, {took}", *failed,
                      file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
