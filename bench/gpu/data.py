"""Converts the times that sweep.py measured to the data of the cost model's test.

    data.py OUT.json SWEEP.jsonl... --stats FOLDER [--held-out a,b]
    data.py OUT.json --examples RESULT --schedules FOLDER...

A SWEEP.jsonl may also be the result.json of run.sh, whose lines include those of the sweep.
The FOLDER of --stats has the output of `schedc inspect --json` for each model, as `stats_MODEL.json`, and
that of `schedc inspect --facts`, as `facts_MODEL.json`. Held-out models are those that were not used for
fitting.

The second form adds times of named schedules to OUT.json, which exists already. RESULT has the lines of
run.sh that time kernels. The text of a schedule is in `NAME.sched` of a FOLDER of --schedules.
"""

import argparse
import collections
import json
import pathlib
import re

BATCHES = [1, 64, 1024, 16384, 131072, 1000000]


def model(folder, name, held_out):
    """The properties of a model that the cost model uses."""
    stats = json.loads((folder / f"stats_{name}.json").read_text())
    facts = json.loads((folder / f"facts_{name}.json").read_text())
    wide = stats["input"] == "f64"
    return {
        "trees": stats["trees"],
        "depths": stats["depths"],
        "leaf_depths": stats["leaf_depths"],
        "features": stats["num_features"],
        "tested_features": sum(feature["nodes"] > 0 for feature in stats["features"]),
        "margins": stats["num_margins"],
        "value_bytes": 8 if wide else 4,
        "sum_bytes": 8 if stats["accumulator"] == "f64" else 4,
        "bin_bytes": facts["bin_bytes"],
        "bins": facts["bins"],
        "search_steps": facts["search_steps"],
        "leaf_vectors": facts["leaf_vectors"],
        "held_out": held_out,
    }


def lines_of(path):
    """The lines of a sweep, or of the result of run.sh."""
    text = pathlib.Path(path).read_text()
    if text.startswith('{"format":'):
        return json.loads(text)["lines"]
    return [json.loads(line) for line in text.splitlines()]


def line_of(number, is_exact, us):
    """The times `us` of a schedule by rows of a call, as a line."""
    times = " ".join(f"{rows}:{us[rows]:.4g}" for rows in sorted(us))
    return f"{number} {'exact' if is_exact else 'any'} {times}"


def examples(result, folders, models):
    """The times of named schedules: their texts without comments, and lines for each of the `models`."""
    files = {path.stem: path for folder in folders for path in pathlib.Path(folder).glob("*.sched")}
    exact, times = set(), collections.defaultdict(dict)
    for one in lines_of(result):
        key = one.get("model"), one.get("schedule")
        if one["part"] == "check" and one.get("exact"):
            exact.add(key)
        if one["part"] == "time" and one.get("what") == "kernel" and key[0] in models and key[1] in files:
            times[key][one["batch"]] = one["us"]
    names = sorted({schedule for _, schedule in times})
    code = {name: re.sub(r"//.*\n|\n(?=\n)", "", files[name].read_text()).lstrip() for name in names}
    lines = collections.defaultdict(list)
    for (model, schedule), us in sorted(times.items()):
        lines[model].append(line_of(names.index(schedule), (model, schedule) in exact, us))
    return {"names": names, "schedules": [code[name] for name in names], "times": lines}


def write(data, out):
    """Writes the data with a value on each line."""
    pathlib.Path(out).write_text(json.dumps(data, indent=0) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("sweeps", nargs="*")
    parser.add_argument("--stats")
    parser.add_argument("--held-out", default="")
    parser.add_argument("--examples")
    parser.add_argument("--schedules", nargs="+", default=[])
    arguments = parser.parse_args()
    if arguments.examples:
        data = json.loads(pathlib.Path(arguments.out).read_text())
        data["examples"] = examples(arguments.examples, arguments.schedules, data["models"])
        return write(data, arguments.out)
    if not arguments.sweeps or not arguments.stats:
        parser.error("SWEEP.jsonl and --stats are missing")
    exact, times, texts = set(), collections.defaultdict(dict), {}
    for sweep in arguments.sweeps:
        for one in lines_of(sweep):
            key = one.get("model"), one.get("schedule")
            if one["part"] == "text":
                texts[key] = one["text"]
            elif one["part"] == "sweep_check" and one.get("exact"):
                exact.add(key)
            elif one["part"] == "sweep" and "us" in one and key in texts:
                times[key][one["batch"]] = one["us"]
    names = sorted({name for name, _ in times})
    held_out = arguments.held_out.split(",")
    stats = pathlib.Path(arguments.stats)
    models = {name: model(stats, name, name in held_out) for name in names}
    schedules = sorted({texts[key] for key in times})
    numbers = {text: number for number, text in enumerate(schedules)}
    lines = collections.defaultdict(list)
    for key, of_key in sorted(times.items()):
        lines[key[0]].append(line_of(numbers[texts[key]], key in exact, of_key))
    data = {"gpu": "sm_90", "models": models, "schedules": schedules, "times": lines}
    write(data, arguments.out)


if __name__ == "__main__":
    main()
