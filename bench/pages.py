"""Writes the tables of docs/performance, which are stored as JSON, into the pages that their rows name, and
the table of the README.

    python3 bench/pages.py

A page has its rows between `<!-- TABLE -->` and `<!-- end of TABLE -->`. Measurements write the JSON; this
program writes the pages, and needs only Python.

"""

import json
from datetime import date
from pathlib import Path

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


def write_pages():
    """Writes all tables into their pages. Returns a message for each page that lacks the marks of a table."""
    homeless = []
    for path in sorted(FIGURES.glob("*.json")):
        figures = json.loads(path.read_text())
        for name in sorted({row["page"] for row in figures["rows"]}):
            page = PERFORMANCE / f"{name}.md"
            if not page.exists() or f"<!-- {path.stem} -->\n" not in page.read_text():
                homeless.append(f"{page.name} has no place for {path.stem}")
                continue
            page.write_text(insert(page.read_text(), path.stem, table(figures, name)))
    readme = PERFORMANCE.parent.parent / "README.md"
    readme.write_text(insert(readme.read_text(), "best peers",
                             best_of(json.loads((FIGURES / "peers.json").read_text()))))
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


if __name__ == "__main__":
    problems = write_pages()
    if problems:
        raise SystemExit("\n".join(problems))
