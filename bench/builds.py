"""Compares this compiler with an earlier one: times libraries of the same model from both in turns.

Shows whether a change keeps the speed, and the gain of single changes
(docs/performance/figures/changes.json).

"""

import json
import statistics
import tempfile
from pathlib import Path

import compare
from tools import Failed, HARNESS, SCHEDC, markdown, micros, run, say, write

HEADER = ["model", "batch", "threads", "before, µs/row", "after, µs/row", "after/before",
          "size, after/before"]


def sample(model, options, library):
    """Microseconds per row of a library at each number of threads and rows."""
    text = run([HARNESS, "--rows", model.rows, "--outputs", model.outputs, "--batches", options.batches,
                "--threads", options.threads, "--repetitions", options.repetitions, "--artefact", library,
                *compare.peers(model, options)])
    lines = [json.loads(line) for line in text.splitlines()]
    compare.check_margins(model, lines)
    return {(line["threads"], line["batch"]): line["us_per_row"] for line in lines
            if line.get("who") == "schedc" and "us_per_row" in line}


def rows(model, options):
    """The rows of the table for a model, and the largest ratio among them."""
    with tempfile.TemporaryDirectory() as work:
        libraries = [Path(work) / name for name in ("before.so", "after.so")]
        schedule = ["-s", options.schedule] if options.schedule else []
        for program, library in zip((options.before, SCHEDC), libraries):
            run([program, "build", model.path, "-o", library, "--cpu", options.cpu, *schedule])
        size = libraries[1].stat().st_size / libraries[0].stat().st_size
        rounds = [[sample(model, options, library) for library in libraries] for _ in range(options.rounds)]
    table, worst = [], 0
    for threads, batch in rounds[0][0]:
        before, after = (statistics.median(pair[which][threads, batch] for pair in rounds)
                         for which in (0, 1))
        # The libraries of a round ran one after the other, so that their ratio cancels changes in the
        # machine's speed.
        ratio = statistics.median(new[threads, batch] / old[threads, batch] for old, new in rounds)
        worst = max(worst, ratio)
        table.append([model.name, batch, threads, micros(before), micros(after), f"{ratio:.3f}",
                      f"{size:.3f}"])
    return table, worst


def builds(found, options):
    """Prints speed-ups and slow-downs; returns whether no slow-down exceeds the limit."""
    table, well = [], True
    for model in found:
        try:
            measured, worst = rows(model, options)
        except Failed as error:
            say(f"{model.name}: {error}")
            well = False
            continue
        table += measured
        if worst > options.most:
            say(f"{model.name}: {worst:.3f} of the time at one point, more than {options.most}")
            well = False
    text = markdown(HEADER, table)
    print(text, end="")
    write(options.out / "builds.md", text)
    return well
