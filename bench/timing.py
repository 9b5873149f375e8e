"""Times the contenders of a case in turns: schedules with `schedc bench`, libraries and peers with the
harness. A run has the form of `schedc bench --save`."""

import functools
import itertools
import json
import tempfile
from pathlib import Path

import convert
import schedules
from tools import CACHE, EXAMPLES, Failed, HARNESS, SCHEDC, run, say

# Largest difference between sums of thousands of floats in different orders.
TOLERANCE = 1e-4
# Samples per schedule in a first round that selects the finalists.
ROUGHLY = 2


@functools.cache
def processor(cpu):
    """The processor and the instruction sets in use, in the wording of `schedc bench`."""
    text = run([SCHEDC, "bench", EXAMPLES / "model" / "breast_cancer.json", "--batch", "1", "--samples", "1",
                "--cpu", cpu, "--json"])
    return json.loads(text)["cpu"]


def timed(case, options):
    """A run with the points of all contenders: each has a schedule, threads, a batch, a time and a round."""
    points = (of_schedules if "schedules" in case.spec else of_libraries)(case, options)
    model = case.model
    return {"format": 1, "model": model.name, "fingerprint": model.fingerprint, "trees": model.trees,
            "features": model.features, "threads": max(case.threads), "cpu": processor(options.cpu),
            "points": points}


def race(case, options, files, batches, threads, samples):
    """Points of schedules; one process compiles each of them once."""
    text = run([SCHEDC, "bench", case.model.path, "-i", case.model.rows, "--batch", comma(batches),
                "--threads", comma(threads), "--samples", samples, "--cpu", options.cpu, "--json",
                *(word for path in files.values() for word in ("-s", path))])
    points = json.loads(text)["points"]
    return [point | {"schedule": name} for name, point in zip(itertools.cycle(files), points)]


def of_schedules(case, options):
    """Points of a case's schedules, in all rounds or in the final one."""
    with tempfile.TemporaryDirectory() as work:
        files = schedules.files(case, Path(work))
        if "finalists" in case.spec:
            return list(finals(case, options, files, {"chosen": schedules.chosen(case.model, Path(work))}))
        return [point | {"round": turn} for turn in range(case.spec.get("rounds", 1))
                for point in race(case, options, files, case.batches, case.threads, case.repetitions)]


def finals(case, options, files, own):
    """Points of the automatic schedule and of the fastest of many. They run again together, so that the best
    is not just the luckiest."""
    if len(files) < options.least:
        say(f"{case.model.name}: only {len(files)} schedules can be compiled, {options.least} are wanted")
    first = race(case, options, files, case.batches, case.threads, ROUGHLY)
    for threads, batch in itertools.product(case.threads, case.batches):
        fastest = sorted((point for point in first if (point["threads"], point["batch"]) == (threads, batch)),
                         key=lambda point: point["us_per_row"])[: case.spec["finalists"]]
        field = own | {point["schedule"]: files[point["schedule"]] for point in fastest}
        for turn in range(2):
            points = race(case, options, field, [batch], [threads], case.repetitions)
            yield from (point | {"round": turn, "tried": len(files)} for point in points)
            chosen, *others = (point["us_per_row"] for point in points)
            # Measures again: on a shared machine single figures are sometimes off by a factor of two.
            if chosen <= options.limit * min(others):
                break


def library(name):
    """A peer's shared library."""
    return next((CACHE / "venv").glob(f"lib/python*/site-packages/{name}"))


def peers(model, options):
    """The harness's arguments for the peers of a model. Remarks say why others are left out."""
    trainer, arguments = model.path.suffix, []

    def onnxruntime():
        return [library("onnxruntime/capi/libonnxruntime.so.*"), convert.to_onnx(model)]

    def tl2cgen():
        compiled = convert.to_c(model, options.compile_seconds)
        return compiled and [compiled, "float64" if trainer == ".txt" else "float32"]

    known = [
        ("xgboost", ".json", lambda: [library("xgboost/lib/libxgboost.so"), model.path]),
        ("lightgbm", ".txt", lambda: [library("lightgbm/lib/lib_lightgbm.so"), model.path]),
        ("onnxruntime", ".json .onnx", onnxruntime),
        ("lleaves", ".txt", lambda: [convert.to_lleaves(model, options.compile_seconds)]),
        ("tl2cgen", ".json .txt", tl2cgen),
    ]
    trainers = {".json": "xgboost", ".txt": "lightgbm", ".onnx": "onnxruntime"}
    for name, endings, words in known:
        if trainer in endings.split() and name in [trainers[trainer], *options.peers.split(",")]:
            try:
                found = words()
            except Failed as error:
                say(f"{model.name}: {name} is left out: {error}")
                continue
            arguments += [f"--{name}", *found] if found else []
    return arguments


def of_libraries(case, options):
    """Points of a model's libraries, and of its peers, in turns."""
    before = getattr(options, "before", None)
    programs = {"before": before, "after": SCHEDC} if before else {"schedc": SCHEDC}
    schedule, points = ["-s", options.schedule] if options.schedule else [], []
    with tempfile.TemporaryDirectory() as work:
        libraries = {name: Path(work) / f"{name}.so" for name in programs}
        for name, program in programs.items():
            run([program, "build", case.model.path, "-o", libraries[name], "--cpu", options.cpu, *schedule])
        for turn in range(getattr(options, "rounds", 1)):
            for name, path in libraries.items():
                size = path.stat().st_size
                points += [point | {"round": turn, "bytes": size}
                           for point in ways(case, name, harness(case, options, path))]
    return points


def harness(case, options, artefact):
    """The harness's output by lines: the differences of margins, and the time of each way at each point."""
    text = run([HARNESS, "--rows", case.model.rows, "--outputs", case.model.outputs, "--batches",
                comma(case.batches), "--threads", comma(case.threads), "--repetitions", case.repetitions,
                "--artefact", artefact, "--doubles", "yes" if getattr(options, "doubles", False) else "no",
                # The only results of an ONNX model are its predictions.
                "--values", "yes" if case.model.path.suffix == ".onnx" else "no", *case.peers])
    return [json.loads(line) for line in text.splitlines()]


def check_margins(model, lines):
    """Programs with wrong margins; raises an error if schedc is among them."""
    wrong = set()
    for line in lines:
        if "margins" not in line:
            continue
        share = f"{line['bit_equal']} of {line['margins']} margins bit-equal to the trainer's"
        say(f"{model.name}: {line['who']}: {share}, largest relative difference "
            f"{line['largest_relative_difference']:.2g}")
        if not line["largest_relative_difference"] <= TOLERANCE:
            wrong.add(line["who"])
    if "schedc" in wrong:
        raise Failed(f"the margins of {model.name} are wrong")
    for who in wrong:
        say(f"{model.name}: {who} is left out: its margins are wrong")
    return wrong


def ways(case, name, lines):
    """Points with the best way of each program; those of schedc's library have the given name."""
    best, wrong = {}, check_margins(case.model, lines)
    for line in lines:
        if "us_per_row" in line and line["who"] not in wrong:
            key = (line["threads"], line["batch"], line["who"])
            best[key] = min(line, best.get(key, line), key=lambda each: each["us_per_row"])
    for (threads, batch, who), line in best.items():
        time = line["us_per_row"]
        peer = {"peer": True, "way": line["way"], "used_threads": line["used_threads"]}
        yield {"schedule": name if who == "schedc" else who, "threads": threads, "batch": batch,
               "us_per_row": time, "ns_per_walk": time * 1e3 / case.model.trees, "rows_per_s": 1e6 / time,
               "spread": line["spread"], **({} if who == "schedc" else peer)}


def comma(numbers):
    return ",".join(map(str, numbers))
