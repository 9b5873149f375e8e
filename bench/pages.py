"""Writes the tables of docs/performance, which are stored as JSON, into the pages that their rows name, and
the tables of the README and of docs/gpu/measuring.md.

    python3 bench/pages.py
    python3 bench/pages.py --gpu RESULT.json    stores a result of bench/gpu/run.sh first
    python3 bench/pages.py --check              writes nothing, and fails if a page would change

A page has its rows between `<!-- TABLE -->` and `<!-- end of TABLE -->`. Measurements write the JSON; this
program writes the pages, and needs only Python. gpu/tables.py makes the tables of docs/gpu/measuring.md.

"""

import argparse
import json
import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "gpu"))
import tables  # noqa: E402  it lies in the folder gpu

PERFORMANCE = Path(__file__).resolve().parent.parent / "docs" / "performance"
FIGURES = PERFORMANCE / "figures"
README_MODELS = ("higgs", "airline", "abalone", "covtype", "airline-ohe", "epsilon", "depth_10", "depth_12",
                 "trees_3000", "lightgbm_63", "catboost_6")
WIDTH = 110  # the longest line of a page, in characters


def save(folder, name, command, machine, header, rows, about):
    """Stores a table. Each row is a pair of a page and the cells to show there. `about` describes models."""
    kept = {"command": command, "as_of": date.today().strftime("%B %Y"), "machine": machine, "about": about,
            "header": header}
    lines = ",\n".join("  " + json.dumps({"page": page, "cells": [str(cell) for cell in cells]},
                                         ensure_ascii=False)
                       for page, cells in rows)
    head = json.dumps(kept, ensure_ascii=False, indent=1).removesuffix("\n}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')


def table(figures, page):
    """The rows for a page as Markdown: one table for each machine, with the machine, month and command."""
    machines = {}
    for row in figures["rows"]:
        if row["page"] == page:
            machines.setdefault(row.get("machine", figures["machine"]), []).append(row["cells"])
    parts = []
    for machine, rows in machines.items():
        lines = ["| " + " | ".join(cells) + " |" for cells in [figures["header"], *rows]]
        lines.insert(1, "|" + "---|" * len(figures["header"]))
        origin, command = f"{figures['as_of']}, {machine};", f"`{figures['command']}`."
        between = " " if len(f"{origin} {command}") <= WIDTH else "\n"
        parts.append("\n".join(lines) + f"\n\n{origin}{between}{command}\n")
    return "\n".join(parts)


def insert(text, mark, content):
    """Replaces the content between the marks of a table. Without such marks, returns the text unchanged."""
    start, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    return f"{before}{start}\n{content}\n{end}{after}" if found and closed else text


def best_of(figures):
    """The table of the README: for each of its models, the best peer and schedc at each point."""
    points, header = {}, figures["header"]
    for row in figures["rows"]:
        point = dict(zip(header, row["cells"]))
        point["best, µs/row"] = point[f"{point['best peer']}, µs/row"]
        points.setdefault(point["model"], []).append(point)
    keys = ("batch", "best peer", "best, µs/row", "schedc, µs/row", "best peer/schedc")
    lines = ["| model | rows per call | best peer | its µs/row | schedc, µs/row | ratio |",
             "|---|---|---|---|---|---|"]
    for model, found in points.items():
        if model in README_MODELS:
            cells = [[point[key] for point in found] for key in keys]
            cells = [" / ".join(cell if len(set(cell)) > 1 else cell[:1]) for cell in cells]
            lines.append(f"| {figures['about'][model]} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + f"\n\n{figures['as_of']}, {figures['machine']}.\n"


class Pages:
    """The texts of pages. Changes are written at the end."""

    def __init__(self):
        self.before, self.after = {}, {}

    def text(self, path):
        if path not in self.after:
            self.before[path] = self.after[path] = path.read_text()
        return self.after[path]

    def insert(self, path, mark, content):
        """Puts a table between its marks. Returns whether the page has such marks."""
        has_marks = f"<!-- {mark} -->\n" in self.text(path)
        self.after[path] = insert(self.text(path), mark, content)
        return has_marks

    def changed(self):
        return [path for path, text in self.after.items() if text != self.before[path]]

    def write(self):
        for path in self.changed():
            path.write_text(self.after[path])


def fill_pages(pages):
    """Puts all tables into their pages. Returns a message for each page that lacks the marks of a table."""
    homeless = []
    for path in sorted(FIGURES.glob("*.json")):
        figures = json.loads(path.read_text())
        for name in sorted({row["page"] for row in figures["rows"]}):
            page = PERFORMANCE / f"{name}.md"
            if not page.exists() or not pages.insert(page, path.stem, table(figures, name)):
                homeless.append(f"{page.name} has no place for {path.stem}")
    pages.insert(PERFORMANCE.parent.parent / "README.md", "best peers",
                 best_of(json.loads((FIGURES / "peers.json").read_text())))
    page = PERFORMANCE.parent / "gpu" / "measuring.md"
    for mark, content in tables.sections(tables.stored()).items():
        if not pages.insert(page, mark, content):
            homeless.append(f"{page.name} has no place for {mark}")
    return homeless


def write_pages():
    """Writes all tables into their pages. Returns a message for each page that lacks the marks of a table."""
    pages = Pages()
    homeless = fill_pages(pages)
    pages.write()
    return homeless


def write_plots(plots):
    """Copies plots to the folder of their page, and links them there."""
    page, folder = PERFORMANCE / "peers.md", PERFORMANCE / "plots"
    folder.mkdir(exist_ok=True)
    links = []
    for plot in sorted(plots):
        (folder / plot.name).write_bytes(plot.read_bytes())
        links.append(f"![{plot.stem}](plots/{plot.name})")
    page.write_text(insert(page.read_text(), "plots", "\n".join(links) + "\n"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpu", metavar="RESULT.json", help="a result of bench/gpu/run.sh to store first")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a page would change")
    arguments = parser.parse_args()
    if arguments.gpu:
        print(f"stored as {tables.keep(arguments.gpu)}")
    if not arguments.check:
        return write_pages()
    pages = Pages()
    problems = fill_pages(pages)
    return problems + [f"{path.name} has other tables than the stored ones" for path in pages.changed()]


if __name__ == "__main__":
    problems = main()
    if problems:
        raise SystemExit("\n".join(problems))
