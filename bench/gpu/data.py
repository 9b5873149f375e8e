"""Converts the times that sweep.py measured to the data of the cost model's test.

    data.py OUT.json SWEEP.jsonl... --stats FOLDER [--held-out a,b]

A SWEEP.jsonl may also be the result.json of run.sh, whose lines include those of the sweep.
FOLDER has the output of `schedc inspect --json` for each model, as `stats_MODEL.json`, and that of
`schedc inspect --facts`, as `facts_MODEL.json`. Held-out models are those that were not used for fitting.
"""

import argparse
import collections
import json
import pathlib

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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("sweeps", nargs="+")
    parser.add_argument("--stats", required=True)
    parser.add_argument("--held-out", default="")
    arguments = parser.parse_args()
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
        us = " ".join(f"{rows}:{of_key[rows]:.4g}" for rows in sorted(of_key))
        lines[key[0]].append(f"{numbers[texts[key]]} {'exact' if key in exact else 'any'} {us}")
    data = {"gpu": "sm_90", "models": models, "schedules": schedules, "times": lines}
    pathlib.Path(arguments.out).write_text(json.dumps(data, indent=0) + "\n")


if __name__ == "__main__":
    main()
