"""Times of calls of all sizes, compared with larger calls and with the best of many schedules."""

import json
import tempfile
from pathlib import Path

from defaults import chosen, regrets
from tools import Failed, SCHEDC, markdown, run, say, write

# All small call sizes, and some larger ones, which could be cheaper than the largest small one.
SIZES = [*range(1, 521), 528, 544, 576, 640, 768, 1024]
SMALL = 520


# Runs per size; the fastest counts. If rows come from memory, neighbours on the machine disturb single runs.
RUNS = 3


def times(model, schedule, samples):
    """Microseconds per call for each size."""
    least = dict.fromkeys(SIZES, float("inf"))
    for _ in range(RUNS):
        text = run([SCHEDC, "bench", model.path, "-i", model.rows, "-s", schedule, "--batch",
                    ",".join(map(str, SIZES)),
                    "--threads", "1", "--samples", samples, "--json"])
        for rows, point in zip(SIZES, json.loads(text)["points"], strict=True):
            least[rows] = min(least[rows], point["us_per_row"] * rows)
    return least


def steps(costs):
    """For each small size, the cheapest size that is not smaller, and the ratio of the two calls' times."""
    least, found = None, {}
    for rows in reversed(SIZES):
        if least is None or costs[rows] <= costs[least]:
            least = rows
        found[rows] = (least, costs[rows] / costs[least])
    return {rows: found[rows] for rows in SIZES if rows <= SMALL}


def calls(models, options):
    """Prints the worst ratios of each model, and the ratio of some sizes to their best schedules."""
    highest, furthest, table = 1.0, 1.0, []
    for model in models:
        try:
            with tempfile.TemporaryDirectory() as work:
                found = steps(times(model, chosen(model, Path(work)), options.repetitions))
            rows = max(found, key=lambda rows: found[rows][1])
            over = sum(ratio > options.step for _, ratio in found.values())
            others = [(own / best, int(batch), name)
                      for _, batch, _, own, best, name in regrets(model, options)]
        except Failed as error:
            say(f"{model.name}: {error}")
            highest = float("inf")
            continue
        ratio, batch, name = max(others)
        highest, furthest = max(highest, found[rows][1]), max(furthest, ratio)
        table.append([model.name, f"{found[rows][1]:.2f}", rows, found[rows][0], over, f"{ratio:.2f}", batch,
                      name])
        print("  ".join(map(str, table[-1])), flush=True)
    header = ["model", "highest step", "at rows", "beside rows", f"steps above {options.step}",
              "furthest from the best", "at rows",
              "best schedule"]
    summary = (f"\nhighest step {highest:.2f} (at most {options.step}), "
               f"furthest {furthest:.2f} (at most {options.limit})\n")
    print(markdown(header, table) + summary, end="", flush=True)
    write(options.out / "calls.md", markdown(header, table) + summary)
    return highest <= options.step and furthest <= options.limit
