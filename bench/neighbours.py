"""Cost of small changes to a fast schedule, and a comparison of sharing rows or trees among many cores in
small calls."""

import json
import math
import os
import tempfile
from pathlib import Path

import models
import pages
from tools import Failed, SCHEDC, cpu_features, machine, markdown, micros, run, say, write

TREES, DEPTH = 100, 8
# The layouts of fast schedules, with lanes and vectors, and a number of features at which bins fit a byte.
FAST = {"levels": (16, 8, 28), "quantized": (64, 2, 128)}
# Ratio to the neighbouring schedule, in time per level, above which a schedule counts as slow.
LIMIT = 1.5
FEW_ROWS = 32


def vectorized(rows=256, vectors=None, layout="levels"):
    """`examples/vectorized.sched` or `examples/quantized.sched` with other numbers."""
    lanes, usual, _ = FAST[layout]
    return "\n".join([f"tile(batch, b0, b1, {rows})", "reorder(b0, tree, b1)", "parallel(b0)", "cache(b0)",
                      f"representation({layout})", f"vectorize(b1, {lanes})",
                      f"interleave(b1, {vectors or usual})", "unrollAndJam(tree)"]) + "\n"


def race(model, texts, batch, threads):
    """Microseconds per row of schedules given as texts, measured in one run."""
    with tempfile.TemporaryDirectory() as work:
        paths = [Path(work) / f"{number}.sched" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        words = [word for path in paths for word in ("-s", path)]
        text = run([SCHEDC, "bench", model.path, "-i", model.rows, "--batch", batch, "--threads", threads,
                    "--json", *words])
    return [point["us_per_row"] for point in json.loads(text)["points"]]


def neighbours(options):
    """Prints nanoseconds per level for neighbours of the fast schedules; returns whether all ratios are below
    the limit."""
    batch = options.batches.split(",")[-1]
    changes = {"as it is": {}, "blocks of 200 rows": {"rows": 200}, "5 vectors together": {"vectors": 5},
               "both": {"rows": 200, "vectors": 5}}
    table, well = [], True
    for layout, (_, _, features) in FAST.items():
        texts, base = [vectorized(**change, layout=layout) for change in changes.values()], None
        for depth in (DEPTH, DEPTH - 1):
            model = models.synthetic(TREES, features, depth)
            for name, figure in zip(changes, race(model, texts, batch, 1)):
                level = figure * 1000 / TREES / depth
                base = base or level
                well = well and level <= LIMIT * base
                table.append([layout, name, depth, batch, micros(figure), f"{level:.3f}",
                              f"{level / base:.2f}x"])
    header = ["layout", "schedule", "depth", "rows a call", "µs/row", "ns/level",
              "against the first of its layout"]
    text = markdown(header, table)
    print(text, end="")
    write(options.out / "neighbours.md", text)
    pages.save(options.out / "figures", "neighbours", "bench/run.sh neighbours",
               machine(cpu_features(model, options.cpu)), header, [("README", row) for row in table])
    return well


# Variants of vector walks of few rows: layouts, lanes and vectors.
VECTORS = [("levels", 16, 2), ("levels", 16, 8), ("quantized", 16, 2), ("quantized", 32, 1)]


def together(vectors, trees):
    """Several vectors of rows together; vectors of several trees if a block has few rows."""
    return [f"interleave(b1, {vectors})", f"unrollAndJam({trees})"] if vectors > 1 else []


def over_rows(threads):
    """Schedules whose threads share the rows of a small call."""
    for rows in (FEW_ROWS // threads, 16, FEW_ROWS):
        for layout, lanes, vectors in VECTORS:
            yield "\n".join([f"tile(batch, b0, b1, {max(rows, 1)})", "reorder(b0, tree, b1)", "parallel(b0)",
                             "cache(b0)", f"representation({layout})", f"vectorize(b1, {lanes})",
                             *together(vectors, "tree")]) + "\n"
    yield "parallel(batch)\nrepresentation(levels)\nvectorize(tree, 16)\ninterleave(tree, 8)\n"


def over_trees(threads):
    """Schedules whose threads share the trees."""
    share = [f"tile(tree, t0, t1, ceildiv(num_trees, {threads}))", f"tile(batch, b0, b1, {FEW_ROWS})"]
    for layout, lanes, vectors in VECTORS:
        yield "\n".join([*share, "reorder(t0, b0, t1, b1)", "parallel(t0)", "cache(b0)",
                         f"representation({layout})",
                         f"vectorize(b1, {lanes})", *together(vectors, "t1")]) + "\n"
    yield "\n".join([share[0], "reorder(t0, batch, t1)", "parallel(t0)", "representation(levels)",
                     "vectorize(t1, 16)", "interleave(t1, 8)"]) + "\n"


def cores(found, options):
    """Prints the best schedules of both kinds for small calls on all cores."""
    threads = len(os.sched_getaffinity(0))
    table, gains = [], []
    for model in found:
        try:
            single = race(model, list(over_rows(1)), FEW_ROWS, 1)
            rows = race(model, list(over_rows(threads)), FEW_ROWS, threads)
            trees = race(model, list(over_trees(threads)), FEW_ROWS, threads)
        except Failed as error:
            say(f"{model.name}: {error}")
            continue
        gains.append(min(rows) / min(trees))
        table.append([model.name, threads, *map(micros, (min(single), min(rows), min(trees))),
                      f"{gains[-1]:.2f}x"])
    if gains:
        mean = math.exp(sum(map(math.log, gains)) / len(gains))
        table.append(["geometric mean", threads, "", "", "", f"{mean:.2f}x"])
    header = ["model", "threads", "one thread, µs/row", "rows shared, µs/row", "trees shared, µs/row", "gain"]
    text = markdown(header, table)
    print(text, end="")
    write(options.out / "cores.md", text)
    if table:
        pages.save(options.out / "figures", "cores", "bench/run.sh cores MODELS_DIR",
                   machine(cpu_features(found[0], options.cpu)), header, [("parallel", row) for row in table])
    return bool(gains)
