"""The gain of each technique: compares schedules with and without it, and the fast ones with each other."""

import json
import subprocess

import models
import pages
from tools import BENCH, EXAMPLES, Failed, Model, SCHEDC, machine, markdown, micros, run, say, write

HEADER = ["technique", "model", "rows a call", "before, µs/row", "after, µs/row", "gain", "ns/walk", "after"]
# The steps to the fastest schedule of a balanced model.
LADDER = ["block_unroll.sched", "vector_array.sched", "vector_levels.sched", "vectorized.sched",
          "quantized.sched"]


def place(name):
    """A schedule of `examples/`, or of `bench/schedules/` if it exists only for comparisons."""
    return next((folder / name for folder in (EXAMPLES, BENCH / "schedules") if (folder / name).exists()),
                None)


def link(schedule):
    """A schedule as a link in the pages of docs/performance."""
    return f"[{schedule.name}](../../{schedule.relative_to(BENCH.parent)})"


def model_called(name, folder):
    if name.startswith("lossguide_"):
        return models.lossguide(int(name.removeprefix("lossguide_")))
    if folder is None or not (folder / name / "model.json").exists():
        raise Failed(f"there is no model {name}: name the folder that has it")
    return Model(folder / name)


def techniques(folder, options):
    """Measures the comparisons in techniques.json; returns whether all succeeded."""
    table, rows, well, cpu = [], [], True, None
    for entry in json.loads((BENCH / "techniques.json").read_text()):
        before, after = place(entry["before"]), place(entry["after"])
        name = entry["technique"]
        try:
            if not before or not after:
                raise Failed(f"there is no schedule {entry['before']} or {entry['after']}")
            model = model_called(entry["model"], folder)
            text = run([SCHEDC, "bench", model.path, "-i", model.rows, "-s", before, "-s", after, "--threads",
                        entry.get("threads", 1), "--batch", ",".join(map(str, entry["batches"])), "--json"])
        except Failed as error:
            say(f"{name}: {error}")
            well = False
            continue
        saved = options.out / "techniques" / f"{name.replace(' ', '_')}.json"
        write(saved, text)
        subprocess.run([SCHEDC, "bench", "--load", saved, "--plot", saved.with_suffix(".svg")], check=True,
                       stdout=subprocess.DEVNULL)
        points, cpu = json.loads(text)["points"], json.loads(text)["cpu"]
        for old, new in zip(points[::2], points[1::2]):
            table.append([name, model.name, new["batch"], micros(old["us_per_row"]),
                          micros(new["us_per_row"]), f"{old['us_per_row'] / new['us_per_row']:.2f}x",
                          f"{new['ns_per_walk']:.2f}", link(after)])
            rows.append((entry["page"], table[-1]))
    text = markdown(HEADER, table)
    print(text, end="")
    write(options.out / "techniques.md", text)
    if rows:
        pages.save(options.out / "figures", "techniques", "bench/run.sh techniques MODELS_DIR", machine(cpu),
                   HEADER, rows)
    return ladder(folder, options) and well


def ladder(folder, options):
    """Times the steps from a plain to the fastest schedule of a model in turns; returns whether all
    succeeded."""
    try:
        model = model_called("higgs", folder)
        schedules = [place(name) for name in LADDER]
        text = run([SCHEDC, "bench", model.path, "-i", model.rows, "--threads", 1, "--batch", 1024, "--json",
                    *(word for schedule in schedules for word in ("-s", schedule))])
    except Failed as error:
        say(f"ladder: {error}")
        return False
    run_of = json.loads(text)
    rows = [("README", [link(schedule), model.name, point["batch"], f"{point['ns_per_walk']:.2f}"])
            for schedule, point in zip(schedules, run_of["points"])]
    pages.save(options.out / "figures", "ladder", "bench/run.sh techniques MODELS_DIR",
               machine(run_of["cpu"]), ["schedule", "model", "rows a call", "ns/walk"], rows)
    return True
