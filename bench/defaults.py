"""How far the schedule that schedc chooses is from the best of many."""

import json
import tempfile
from pathlib import Path

from tools import EXAMPLES, Failed, SCHEDC, markdown, micros, run, say, write

# Contenders of the second round, which tells close ones apart.
FINALISTS = 6
# Samples per schedule in the first round, which has to find the finalists among many, and in the second.
ROUGHLY, WELL = 2, 15


def blocks(rows):
    return [f"tile(batch, b0, b1, {rows})", "reorder(b0, tree, b1)", "parallel(b0)"]


def generated(model):
    """Schedules over representations, blocks, widths and interleaving; not all are legal for all models."""
    depth = model.depth
    for layout in ("array", "sparse", "levels"):
        for rows in (16, 64, 256):
            for width in (1, 8, 16):
                for interleave in (1, 4, 8):
                    if width * interleave > rows:
                        continue
                    for cache in (False, True):
                        if cache and (width == 1 or model.features > 512):
                            continue
                        lines = blocks(rows) + ["cache(b0)"] * cache + [f"representation({layout})"]
                        lines += [f"vectorize(b1, {width})"] * (width > 1)
                        lines += [f"interleave(b1, {interleave})"] * (interleave > 1)
                        lines += ["unrollAndJam(tree)"] * (width > 1 and interleave > 1)
                        lines += [f"unrollWalk(b1, {depth})"] * (layout != "levels" and 0 < depth <= 10)
                        name = f"{layout} block {rows} width {width} interleave {interleave}"
                        name += " cache" if cache else ""
                        yield name, "\n".join(lines) + "\n"
                        if layout == "sparse" and cache:
                            yield f"{name} speculate 3", "\n".join([*lines, "speculateWalk(b1, 3)"]) + "\n"
    # Quantized rows, and tiles of nodes.
    for rows in (16, 64, 256):
        for width in (16, 32, 64):
            for interleave in (1, 2, 4):
                if width * interleave > rows:
                    continue
                for layout in ("quantized", "preorder"):
                    lines = [*blocks(rows), "cache(b0)", f"representation({layout})", f"vectorize(b1, {width})"]
                    lines += [f"interleave(b1, {interleave})", "unrollAndJam(tree)"] * (interleave > 1)
                    yield f"{layout} block {rows} width {width} interleave {interleave}", "\n".join(lines) + "\n"
        for interleave in (4, 8):
            lines = [*blocks(rows), "representation(sparse)", "tileTrees(8)", f"interleave(b1, {interleave})"]
            yield f"tiles block {rows} interleave {interleave}", "\n".join(lines) + "\n"
    # All tests of a tree at once, for few rows.
    for layout in ("quantized", "preorder"):
        for interleave in (2, 4, 8):
            lines = ["cache(batch)", f"representation({layout})", f"interleave(tree, {interleave})"]
            yield f"{layout} trees, interleave {interleave}", "\n".join(lines) + "\n"
    # Trees in lanes or side by side, for few rows.
    for layout in ("array", "sparse", "levels"):
        for width in (1, 8, 16):
            for interleave in (1, 2, 4, 8):
                if width * interleave > model.trees or width == interleave == 1:
                    continue
                lines = ["reorder(batch, tree)", f"representation({layout})"]
                lines += [f"vectorize(tree, {width})"] * (width > 1)
                lines += [f"interleave(tree, {interleave})"] * (interleave > 1)
                yield f"{layout} trees, width {width} interleave {interleave}", "\n".join(lines) + "\n"


def chosen(model, folder):
    """The schedule that schedc chooses for a model, with its blocks for calls of few rows."""
    text = run(["sh", "-c", '"$0" build "$1" --emit header -o /dev/null --explain-schedule 2>&1', SCHEDC, model.path])
    path = folder / "chosen.sched"
    # Messages that are no part of a schedule begin otherwise.
    path.write_text("\n".join(line for line in text.splitlines() if not line.startswith(("wrote ", "note: "))) + "\n")
    return path


def candidates(model, folder):
    """Files with the schedules that can be compiled for a model."""
    texts = [(path.stem, path.read_text()) for path in sorted(EXAMPLES.glob("*.sched"))] + list(generated(model))
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
    """Microseconds per row of each schedule, by batch size and number of threads. One process compiles each schedule once."""
    arguments = [word for path in schedules for word in ("-s", path)]
    text = run([SCHEDC, "bench", model.path, "-i", model.rows, "--batch", batches, "--threads", threads, "--json",
                "--samples", samples, *arguments])
    points = iter(json.loads(text)["points"])
    return {(threads, batch): {path: next(points)["us_per_row"] for path in schedules}
            for threads in threads.split(",") for batch in batches.split(",")}


def defaults(found, options):
    """Prints how far the chosen schedule is from the best one; whether it is always near enough."""
    table, well = [], True
    header = ["model", "batch", "threads", "tried", "chosen, µs/row", "best, µs/row", "chosen/best", "best schedule"]
    print(markdown(header, []), end="", flush=True)
    for model in found:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            usable = candidates(model, folder)
            if len(usable) < options.least:
                say(f"{model.name}: only {len(usable)} schedules can be compiled, {options.least} are wanted")
                well = False
            try:
                firsts = race(model, usable, options.batches, options.threads, ROUGHLY)
            except Failed as error:
                say(f"{model.name}: {error}")
                well = False
                continue
            for (threads, batch), first in firsts.items():
                try:
                    own = chosen(model, folder)
                    finalists = sorted(first, key=first.get)[:FINALISTS]
                    final = race(model, [own, *finalists], batch, threads, WELL)[threads, batch]
                except Failed as error:
                    say(f"{model.name}: {error}")
                    well = False
                    continue
                best = min(finalists, key=final.get)
                ratio = final[own] / final[best]
                well = well and ratio <= options.limit
                mark = "" if ratio <= options.limit else "**"
                row = [model.name, batch, threads, len(usable), micros(final[own]), micros(final[best]),
                       f"{mark}{ratio:.2f}{mark}", best.stem]
                table.append(row)
                print("".join(markdown([], [row]).split("\n", 2)[2]), end="", flush=True)
    write(options.out / "defaults.md", markdown(header, table))
    return well
