"""Times the contenders of a case in turns: schedules with `schedc bench`, libraries and peers with
peers.py. A run has the form of `schedc bench --save`."""

import functools
import itertools
import json
import sys
import tempfile
from pathlib import Path

import convert
import schedules
from engines import PEERS, Unfit
from peers import TOLERANCE
from tools import BENCH, EXAMPLES, Failed, HARNESS, SCHEDC, run, say

# Samples of a schedule in the first round, which selects the finalists.
ROUGHLY = 2


@functools.cache
def processor(cpu):
    """The processor and the instruction sets in use, in the wording of `schedc bench`."""
    text = run([SCHEDC, "bench", EXAMPLES / "model" / "breast_cancer.json", "--batch", "1", "--samples", "1",
                "--cpu", cpu, "--json"])
    return json.loads(text)["cpu"]


def timed(case, options):
    """A run with the points of all contenders. A point has a schedule, threads, rows per call, a time and a
    round."""
    points = next((of for word, of in KINDS.items() if word in case.spec), of_libraries)(case, options)
    model = case.model
    return {"format": 1, "model": model.name, "fingerprint": model.fingerprint, "trees": model.trees,
            "features": model.features, "threads": max(case.threads), "cpu": processor(options.cpu),
            "points": points}


def race(case, options, files, batches, threads, samples):
    """Points of schedules. One process compiles each schedule once, and times all of them in turns."""
    text = run([SCHEDC, "bench", case.model.path, "-i", case.model.rows, "--batch", comma(batches),
                "--threads", comma(threads), "--samples", samples, "--cpu", options.cpu, "--json",
                *(word for path in files.values() for word in ("-s", path))])
    points = json.loads(text)["points"]
    return [point | {"schedule": name} for name, point in zip(itertools.cycle(files), points)]


def of_schedules(case, options):
    """Points of a case's schedules: of all rounds, or of the final round if the case has finalists."""
    with tempfile.TemporaryDirectory() as work:
        files = schedules.files(case, Path(work))
        if "finalists" in case.spec:
            return list(finals(case, options, files, {"chosen": schedules.chosen(case.model, Path(work))}))
        return [point | {"round": turn} for turn in range(case.spec.get("rounds", 1))
                for point in race(case, options, files, case.batches, case.threads, case.repetitions)]


def finals(case, options, files, own):
    """Points of the automatic schedule and of the fastest of many. These run again together, since the best
    of many single measurements may be noise."""
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
            # Stops once the limit is met: on a shared machine, single figures are sometimes off by a factor
            # of two.
            if chosen <= options.limit * min(others):
                break


def peers(model, options):
    """The programs of native.py on a model, each with the files that it reads; the trainer is the first.
    Prints the reasons why programs are left out."""
    own, found = (model.trainer or "onnxruntime").lower(), []
    known = [
        ("xgboost", ["XGBoost"], lambda: [model.path]),
        ("lightgbm", ["LightGBM"], lambda: [model.path]),
        ("onnxruntime", ["XGBoost", None], lambda: [convert.to_onnx(model)]),
        ("lleaves", ["LightGBM"], lambda: [convert.to_lleaves(model, options.compile_seconds)]),
        ("tl2cgen", ["XGBoost", "LightGBM"], lambda: [
            convert.to_c(model, options.compile_seconds), "float64" if own == "lightgbm" else "float32"]),
    ]
    for name, trainers, files in known:
        if model.trainer in trainers and (own == name or name in options.peers.split(",")):
            try:
                found.append([name, *map(str, files())])
            except (Failed, Unfit) as error:
                say(f"{model.name}: {name} is left out: {error}")
    return found


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
                           for point in ways(case, name, contenders(case, options, path))]
    return points


def called(model, options):
    """The selected programs that Python calls: those without a C interface in the harness that read the
    model."""
    listed = set(options.peers.split(",")) - {"lleaves"} | {"CatBoost"}
    return [name for name, _, trainers, _ in PEERS if name in listed and model.trainer in trainers.split()]


def contenders(case, options, artefact):
    """The output of peers.py by lines: the differences of results, and the time of each way at each point."""
    text = run([sys.executable, BENCH / "peers.py", "--schedc", SCHEDC, "--model", case.model.path, "--rows",
                case.model.rows, "--artefact", artefact, "--harness", HARNESS, "--programs",
                json.dumps(case.peers), "--peers", ",".join(called(case.model, options)), "--batches",
                comma(case.batches), "--threads", comma(case.threads), "--repetitions", case.repetitions,
                "--work", convert.cached(case.model, ""), "--compile-seconds",
                getattr(options, "compile_seconds", 0),
                *(["--doubles"] if getattr(options, "doubles", False) else []),
                # The only results of an ONNX model are its predictions.
                *(["--kind", "predictions"] if case.model.path.suffix == ".onnx" else [])])
    return [json.loads(line) for line in text.splitlines()]


def check_results(model, lines):
    """Prints the comparison of results. Raises an error if the trainer's results differ from schedc's."""
    trainer = model.trainer or "ONNX Runtime"
    for line in lines:
        who = line["who"]
        if "margins" in line:
            largest = line["largest_relative_difference"]
            say(f"{model.name}: {who}: {line['bit_equal']} of {line['margins']} results bit-equal to "
                f"schedc's, largest relative difference {largest:.2g}")
            if not largest <= TOLERANCE:
                if who == trainer:
                    raise Failed(f"the margins of {model.name} are wrong")
                say(f"{model.name}: {who} disagrees, and is left out")
        elif "left_out" in line:
            say(f"{model.name}: {who} is left out: {line['left_out']}")
        elif "missing" in line:
            say(f"{model.name}: {who} is not installed: {line['missing']}")


def ways(case, name, lines):
    """Points of the fastest way of each program. Points of schedc's library get the given name."""
    check_results(case.model, lines)
    best = {}
    for line in lines:
        if "us_per_row" in line:
            key = (line["threads"], line["batch"], line["who"])
            best[key] = min(line, best.get(key, line), key=lambda each: each["us_per_row"])
    for (threads, batch, who), line in best.items():
        time = line["us_per_row"]
        peer = {"peer": True, "way": line["way"], "used_threads": line["used_threads"]}
        yield {"schedule": name if who == "schedc" else who, "threads": threads, "batch": batch,
               "us_per_row": time, "ns_per_walk": time * 1e3 / case.model.trees, "rows_per_s": 1e6 / time,
               "spread": line["spread"], **({} if who == "schedc" else peer)}


# Programs of a footprint that are the command itself.
COMMANDS = ("schedc predict", "schedc")


def footprint(name, model, options, library):
    """Starts a process that loads a model with a program and predicts a row. Returns its output, or the
    reason why there is none."""
    command = [sys.executable, BENCH / "peers.py", "--schedc", SCHEDC, "--model", model.path, "--rows",
               model.rows, "--cost", name, "--compile-seconds", options.compile_seconds]
    try:
        line = json.loads(run(command + ["--artefact", library] * (name == "built library"),
                              2 * options.compile_seconds))
    except Failed as error:
        return {"left_out": error}
    return line | {"install": Path(SCHEDC).stat().st_size} if name in COMMANDS else line


def of_footprint(case, options):
    """Time, memory and sizes for the first prediction of `schedc predict`, of a library that is built for it,
    of one that was built before, of the trainer and of peers. Each repetition is a process."""
    model, points = case.model, []
    with tempfile.TemporaryDirectory() as work:
        library = Path(work) / "schedc.so"
        run([SCHEDC, "build", model.path, "-o", library, "--cpu", options.cpu])
        names = [*COMMANDS, "built library", model.trainer, *called(model, options)]
        for name in dict.fromkeys(names + ["lleaves"] * (model.trainer == "LightGBM")):
            for turn in range(case.repetitions):
                line = footprint(name, model, options, library)
                if "seconds" not in line:
                    say(f"{model.name}: {name} is left out: {line.get('left_out') or line.get('missing')}")
                    break
                points.append({"schedule": name, "round": turn, **line})
    return points


# The functions that time a case, by a key of its entry. Cases without such a key compare libraries.
KINDS = {"schedules": of_schedules, "footprint": of_footprint}


def comma(numbers):
    return ",".join(map(str, numbers))
