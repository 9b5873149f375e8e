"""What each technique gains: schedules with and without it, one against the other."""

import json
import subprocess

import models
from tools import BENCH, EXAMPLES, Failed, Model, SCHEDC, markdown, micros, run, say, write

HEADER = ["technique", "model", "rows a call", "before, µs/row", "after, µs/row", "gain", "ns/walk", "after"]


def place(name):
    """A schedule of `examples/`, or of `bench/schedules/` if it is there only to compare with."""
    return next((folder / name for folder in (EXAMPLES, BENCH / "schedules") if (folder / name).exists()), None)


def model_called(name, folder):
    if name.startswith("lossguide_"):
        return models.lossguide(int(name.removeprefix("lossguide_")))
    if folder is None or not (folder / name / "model.json").exists():
        raise Failed(f"there is no model {name}: name the folder that has it")
    return Model(folder / name)


def techniques(folder, options):
    """Measures what techniques.json lists; whether all went well."""
    table, well = [], True
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
        points = json.loads(text)["points"]
        for old, new in zip(points[::2], points[1::2]):
            link = f"[{after.name}](../{after.relative_to(BENCH.parent)})"
            table.append([name, model.name, new["batch"], micros(old["us_per_row"]), micros(new["us_per_row"]),
                          f"{old['us_per_row'] / new['us_per_row']:.2f}x", f"{new['ns_per_walk']:.2f}", link])
    text = markdown(HEADER, table)
    print(text, end="")
    write(options.out / "techniques.md", text)
    return well
