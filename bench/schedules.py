"""Finds the schedules that a case names: files of examples/ and schedules/, and the sets of
schedules.json."""

import itertools
import json

from tools import BENCH, EXAMPLES, Failed, SCHEDC, run

LISTS = json.loads((BENCH / "schedules.json").read_text())


def place(name):
    """The path of a schedule: in `examples/`, or in `bench/schedules/` if it is only for comparisons."""
    for folder in (EXAMPLES, BENCH / "schedules"):
        if (folder / name).exists():
            return folder / name
    raise Failed(f"there is no schedule {name}")


def expand(entry, given):
    """Names and texts of the schedules of a set's entry: one for each combination of the values that it
    lists. A value may be a key of `given`."""
    axes = [[(key, given.get(value, value)) for value in (values if isinstance(values, list) else [values])]
            for key, values in entry.items()]
    for values in itertools.product(*axes):
        scope = {"cache": "", "tiles": False, "width": 1, "group": 1, "when": "True"} | given | dict(values)
        if eval(scope["when"], {}, scope):
            lines = [(line, "True") if isinstance(line, str) else line
                     for line in LISTS["lines"][scope["lines"]]]
            text = "".join(f"{line.format(**scope)}\n" for line, when in lines if eval(when, {}, scope))
            yield scope["name"].format(**scope), text


def chosen(model, folder):
    """The automatic schedule of a model, with its variants for small batches."""
    build = '"$0" build "$1" --row-type f32 --emit header -o /dev/null --explain-schedule 2>&1'
    text = run(["sh", "-c", build, SCHEDC, model.path])
    path = folder / "chosen.sched"
    # Keeps the lines of the schedule among the messages, by their beginnings.
    path.write_text("\n".join(line for line in text.splitlines()
                              if not line.startswith(("wrote ", "note: "))) + "\n")
    return path


def is_legal(model, path):
    """Whether a schedule compiles for a model."""
    try:
        run([SCHEDC, "ir", model.path, "-s", path, "--stage", "mir"])
        return True
    except Failed:
        return False


def files(case, folder):
    """The paths of a case's schedules, by name. Writes the schedules of sets to the folder."""
    model, threads, found = case.model, max(case.threads), {}
    given = {"trees": model.trees, "depth": model.depth, "features": model.features, "threads": threads,
             "share": max(32 // threads, 1), **case.spec.get("values", {})}
    for name in case.spec["schedules"]:
        if name == "chosen":
            found[name] = chosen(model, folder)
        elif name == "examples":
            found |= {path.stem: path for path in sorted(EXAMPLES.glob("*.sched"))}
        elif name in LISTS["sets"]:
            for entry in LISTS["sets"][name]:
                for label, text in expand(entry, given):
                    found[label] = folder / f"{label}.sched"
                    found[label].write_text(text)
        else:
            found[name] = place(name)
    if case.spec.get("legal"):
        found = {name: path for name, path in found.items() if is_legal(model, path)}
    return found
