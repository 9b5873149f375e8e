"""Checks the margins and measures the speed of the papers' grid of synthetic models."""

import time

import compare
import models
from tools import Failed, cpu_features, markdown, say, write

TREES = [100, 300, 1000]
FEATURES = [8, 64, 256, 1024]
DEPTHS = [6, 7, 8]


def sweep(options):
    """Prints one grid for each batch size. A model with wrong margins makes the sweep fail."""
    end = time.monotonic() + options.seconds
    # The corners first, so that an interrupted run has covered the extremes.
    grid = [(trees, features, depth) for trees in TREES for features in FEATURES for depth in DEPTHS]
    extremes = [{min(axis), max(axis)} for axis in (TREES, FEATURES, DEPTHS)]
    grid.sort(key=lambda cell: -sum(value in ends for value, ends in zip(cell, extremes)))
    cells, left, wrong, cpu = {}, [], [], None
    for trees, features, depth in grid:
        if time.monotonic() > end:
            left.append((trees, features, depth))
            continue
        model = models.synthetic(trees, features, depth)
        try:
            cpu = cpu or cpu_features(model, options.cpu)
            measured = compare.to_run(model, compare.measure(model, options, compare.peers(model, options)),
                                      cpu)
        except Failed as error:
            say(f"{model.name}: {error}")
            wrong.append(model.name)
            cells[trees, depth, features] = {}
            continue
        found = {(point["batch"], point["schedule"]): point for point in measured["points"]}
        cells[trees, depth, features] = {
            batch: (ours["ns_per_walk"], found[batch, "XGBoost"]["us_per_row"] / ours["us_per_row"])
            for (batch, who), ours in found.items() if who == "schedc"
        }
    text = "".join(grid_of(batch, cells)
                   for batch in sorted({batch for cell in cells.values() for batch in cell}))
    print(text)
    write(options.out / "sweep.md", text)
    right = sum(bool(cell) for cell in cells.values())
    say(f"bench: margins of {right} models are right, of {len(wrong)} wrong; {len(left)} were left out for "
        "want of time")
    return not wrong


def grid_of(batch, cells):
    """Nanoseconds per walk, and the speed-up over XGBoost."""
    header = ["trees", "depth", *(f"{features} features" for features in FEATURES)]
    rows = []
    for trees in TREES:
        for depth in DEPTHS:
            found = [cells.get((trees, depth, features)) for features in FEATURES]
            text = ["-" if cell is None else "failed" if batch not in cell else
                    f"{cell[batch][0]:.2f} ns, {cell[batch][1]:.1f}x" for cell in found]
            rows.append([trees, depth, *text])
    return f"{batch} rows a call, ns per walk and ratio to XGBoost\n\n{markdown(header, rows)}\n"
