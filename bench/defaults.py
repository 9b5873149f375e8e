"""Compares automatic schedules with the best of many."""

import json
import statistics
import tempfile
from pathlib import Path

from tools import EXAMPLES, Failed, SCHEDC, markdown, micros, run, say, write

# Number of contenders in the second round, which separates close ones.
FINALISTS = 5
# Samples per schedule in the first round, which selects the finalists, and in the second.
ROUGHLY, WELL = 2, 21


def blocks(rows):
    return [f"tile(batch, b0, b1, {rows})", "reorder(b0, tree, b1)", "parallel(b0)"]


def over_rows(model):
    """Schedules whose vectors, or groups of walks, have one row of the block per lane or walk."""
    depth = model.depth
    for rows in (16, 64, 256, 512):
        for layout, widths in (("sparse", (1, 8, 16)), ("levels", (8, 16)), ("quantized", (16, 32, 64)),
                               ("preorder", (16, 32, 64))):
            for width in widths:
                for interleave in (1, 2, 4, 8):
                    quantized = layout in ("quantized", "preorder")
                    # Eight vectors of bytes need blocks of their own.
                    eight = quantized and interleave == 8
                    if width * interleave > rows or eight != (rows == 512) or eight and width < 64:
                        continue
                    for cache in (True,) if quantized else (False, True):
                        if not quantized and cache and (width == 1 or model.features > 512):
                            continue
                        lines = blocks(rows) + ["cache(b0)"] * cache + [f"representation({layout})"]
                        lines += [f"vectorize(b1, {width})"] * (width > 1)
                        lines += [f"interleave(b1, {interleave})"] * (interleave > 1)
                        lines += ["unrollAndJam(tree)"] * (width > 1 and interleave > 1)
                        lines += [f"unrollWalk(b1, {depth})"] * (layout == "sparse" and 0 < depth <= 10)
                        name = f"{layout} block {rows} width {width} interleave {interleave}"
                        yield name + " cache" * cache, "\n".join(lines) + "\n"
        for interleave in (4, 8) if rows < 512 else ():
            lines = [*blocks(rows), "representation(sparse)", "tileTrees(8)", f"interleave(b1, {interleave})"]
            yield f"tiles block {rows} interleave {interleave}", "\n".join(lines) + "\n"


def over_trees(model):
    """Schedules for small batches: test masks, trees in lanes, or interleaved trees."""
    for layout in ("quantized", "preorder", "oblivious"):
        for interleave in (2, 4, 8):
            lines = ["cache(batch)", f"representation({layout})", f"interleave(tree, {interleave})"]
            yield f"{layout} trees, interleave {interleave}", "\n".join(lines) + "\n"
    for layout, width in (("array", 1), ("sparse", 1), ("sparse", 8), ("sparse", 16), ("levels", 8),
                          ("levels", 16)):
        for interleave in (1, 2, 4, 8):
            if width * interleave > model.trees or width == interleave == 1:
                continue
            lines = ["reorder(batch, tree)", f"representation({layout})"]
            lines += [f"vectorize(tree, {width})"] * (width > 1)
            lines += [f"interleave(tree, {interleave})"] * (interleave > 1)
            yield f"{layout} trees, width {width} interleave {interleave}", "\n".join(lines) + "\n"


def chosen(model, folder):
    """The automatic schedule of a model, with its variants for small batches."""
    text = run(["sh", "-c", '"$0" build "$1" --rows f32 --emit header -o /dev/null --explain-schedule 2>&1',
                SCHEDC, model.path])
    path = folder / "chosen.sched"
    # Lines of a schedule begin differently from messages.
    path.write_text("\n".join(line for line in text.splitlines()
                              if not line.startswith(("wrote ", "note: "))) + "\n")
    return path


def candidates(model, folder):
    """Files with the schedules that compile for a model."""
    texts = [(path.stem, path.read_text())
             for path in sorted(EXAMPLES.glob("*.sched"))] + [*over_rows(model), *over_trees(model)]
    usable = []
    for name, text in texts:
        path = folder / f"{name}.sched"
        path.write_text(text)
        try:
            run([SCHEDC, "ir", path, "--model", model.path, "--stage", "mir"])
            usable.append(path)
        except Failed:
            continue
    return usable


def race(model, schedules, batches, threads, samples):
    """Microseconds per row of each schedule, by batch size and number of threads. One process compiles each
    schedule once."""
    arguments = [word for path in schedules for word in ("-s", path)]
    text = run([SCHEDC, "bench", model.path, "-i", model.rows, "--batch", batches, "--threads", threads,
                "--json", "--samples", samples, *arguments])
    points = iter(json.loads(text)["points"])
    return {(threads, batch): {path: next(points)["us_per_row"] for path in schedules}
            for threads in threads.split(",") for batch in batches.split(",")}


def regrets(model, options):
    """For each number of threads and rows: the time of the automatic schedule, the best time, and the best
    schedule."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        usable = candidates(model, folder)
        if len(usable) < options.least:
            say(f"{model.name}: only {len(usable)} schedules can be compiled, {options.least} are wanted")
        own = chosen(model, folder)
        for (threads, batch), first in race(model, usable, options.batches, options.threads, ROUGHLY).items():
            finalists = sorted(first, key=first.get)[:FINALISTS]
            final = race(model, [own, *finalists], batch, threads, WELL)[threads, batch]
            best = min(finalists, key=final.get)
            if final[own] / final[best] > options.limit:
                # Measures again: on a shared machine single figures are sometimes off by a factor of two.
                again = race(model, [own, *finalists], batch, threads, WELL)[threads, batch]
                final = {path: min(figure, again[path]) for path, figure in final.items()}
                best = min(finalists, key=final.get)
            yield threads, batch, len(usable), final[own], final[best], best.stem


def defaults(found, options):
    """Prints the ratios of automatic to best schedules. Returns whether all are below the limit and most are
    close to 1."""
    table, ratios = [], []
    header = ["model", "batch", "threads", "tried", "chosen, µs/row", "best, µs/row", "chosen/best",
              "best schedule"]
    print(markdown(header, []), end="", flush=True)
    for model in found:
        try:
            for threads, batch, tried, own, best, name in regrets(model, options):
                ratios.append(own / best)
                mark = "" if own / best <= options.limit else "**"
                row = [model.name, batch, threads, tried, micros(own), micros(best),
                       f"{mark}{own / best:.2f}{mark}", name]
                table.append(row)
                print("".join(markdown([], [row]).split("\n", 2)[2]), end="", flush=True)
        except Failed as error:
            say(f"{model.name}: {error}")
            ratios.append(float("inf"))
    median, worst = (statistics.median(ratios), max(ratios)) if ratios else (1.0, 1.0)
    summary = (f"\nmedian {median:.3f} (at most {options.median}), "
               f"worst {worst:.2f} (at most {options.limit})\n")
    print(summary, end="", flush=True)
    write(options.out / "defaults.md", markdown(header, table) + summary)
    return median <= options.median and worst <= options.limit
