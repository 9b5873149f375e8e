"""The subcommands of run.sh, called words. words.json has the cases, options and defaults of each word, and
summaries.py its table."""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import models
import pages
import summaries
import timing
from peers import old_pins
from tools import BENCH, Failed, Model, SCHEDC, folders, markdown, say, write

LISTS = json.loads((BENCH / "words.json").read_text())
MADE = {"unbalanced": models.LOSSGUIDE, "large": models.LARGE}
WORDS, DEFAULTS = LISTS["words"], LISTS["defaults"] | {"out": str(BENCH.parent / "target" / "bench")}


def parser():
    """The parser of the command line. Options that are not on the command line get no value."""
    top = argparse.ArgumentParser(prog="bench/run.sh",
                                  description="Measures schedc against its peers and itself.")
    commands = top.add_subparsers(dest="command", required=True)
    for name, word in WORDS.items():
        made = commands.add_parser(name, help=word["help"], argument_default=argparse.SUPPRESS)
        if word.get("folder"):
            made.add_argument("folder", nargs="?", type=Path, default=None,
                              help="folders with a model and X_test.npy")
            made.add_argument("names", nargs="*", default=[], help="only these models")
        for option, default in (DEFAULTS | word["defaults"]).items():
            kind = {"action": "store_true"} if isinstance(default, bool) else {"type": type(default or "")}
            note = f" ({default})" if default else ""
            made.add_argument("--" + option.replace("_", "-"), required=default is None,
                              help=LISTS["options"][option] + note, **kind)
    return top


def options_of(name, given):
    """The options of a word: from the command line, or else the defaults."""
    values = {"folder": None, "names": [], **DEFAULTS, **WORDS[name]["defaults"], **given}
    return SimpleNamespace(**values | {"word": WORDS[name], "out": Path(values["out"])})


@dataclass
class Case:
    """The contenders to time on one model, from an entry of a word's cases."""

    spec: dict
    model: Model
    batches: list
    threads: list
    repetitions: int
    peers: list


def numbers(text):
    """The numbers of a list such as `1-3,8`; `all` is the number of cores."""
    found = []
    for word in text.replace("all", str(len(os.sched_getaffinity(0)))).split(","):
        first, _, last = word.partition("-")
        found += range(int(first), int(last or first) + 1)
    return list(dict.fromkeys(found))


def named(name, folder):
    """The model with a name: trained here, or in a folder."""
    if name in models.LOSSGUIDE | models.LARGE:
        return models.trained(name)
    if folder is None or not (folder / name / "model.json").exists():
        raise Failed(f"there is no model {name}: name the folder that has it")
    return Model(folder / name)


def makers(wanted, options):
    """Names of the models of a case, each with a function that reads or generates the model."""
    if getattr(options, "synthetic", False):
        wanted = options.word["shapes"]
    elif isinstance(wanted, dict):
        wanted = models.grid(**wanted)
    for each in wanted:
        if isinstance(each, (list, tuple)):
            yield "synthetic_{}x{}_{}".format(each[0], each[2], each[1]), partial(models.synthetic, *each)
        elif each == "folder":
            for place in folders(options.folder, options.names):
                yield place.name, partial(Model, place)
        elif each not in MADE:
            yield each, partial(named, each, options.folder)
        elif not getattr(options, f"no_{each}"):
            for name in MADE[each]:
                if not options.names or name in options.names:
                    yield name, partial(models.trained, name)


def case_of(spec, model, options):
    """Prepares a case for timing, and compiles its peers."""
    # Values of the entry override those of the command line.
    values = {key: spec.get(key, getattr(options, key, None))
              for key in ("batches", "threads", "repetitions")}
    peers = [] if any(word in spec for word in timing.KINDS) else timing.peers(model, options)
    return Case(spec, model, numbers(values["batches"]), numbers(values["threads"]), values["repetitions"],
                peers)


def cases(options, fail):
    """The cases of a word."""
    specs = options.word.get("cases", [])
    for spec in json.loads((BENCH / specs).read_text()) if isinstance(specs, str) else specs:
        for name, make in makers(spec["models"], options):
            try:
                yield case_of(spec, make(), options)
            except Failed as error:
                fail(name, error)


def measure(name, options):
    """Times the cases of a word one by one. If a case fails, the others still run. Returns whether all cases
    succeeded within the limits."""
    summary, out = getattr(summaries, name.capitalize())(options), options.out

    def fail(model, error):
        say(f"{model}: {error}")
        summary.fail(model)

    found, until = cases(options, fail), time.monotonic() + getattr(options, "seconds", float("inf"))
    if not hasattr(options, "seconds"):
        # All compilations come first, so that they do not disturb the measurements.
        found = list(found)
        if not found and summary.well:
            raise Failed("there is no model to measure: name a folder whose subfolders have a model and "
                         "X_test.npy")
    points = []
    for case in found:
        try:
            run = timing.timed(case, options)
            summary.take(case, run)
        except Failed as error:
            fail(case.model.name, error)
            continue
        points += [json.dumps({"model": case.model.name, **point}) + "\n" for point in run["points"]]
        if "save" in options.word:
            save(run, out / options.word["save"].format(model=case.model.name, **case.spec).replace(" ", "_"))
        if time.monotonic() > until:
            break
    text = summary.end()
    print(text, end="", flush=True)
    title = options.word.get("figure", name)
    write(out / f"{title}.md", (markdown(summary.header, summary.table) if summary.header else "") + text)
    write(out / f"{title}.jsonl", "".join(points))
    if any(summary.pages):
        cpu = timing.processor(options.cpu)
        command = f"bench/run.sh {name}" + (" MODELS_DIR" if "folder" in options.word else "")
        pages.save(out / "figures", title, command,
                   f"{cpu['name']} ({' '.join(cpu['features'])})", summary.header,
                   zip(summary.pages, summary.table), getattr(summary, "about", {}))
    return summary.well


def save(run, path):
    """Writes a run in the form that `schedc bench --load` reads, and its plot."""
    write(path.with_name(f"{path.name}.json"), json.dumps(run, indent=1) + "\n")
    subprocess.run([SCHEDC, "bench", "--load", f"{path}.json", "--plot", f"{path}.svg"], check=True,
                   stdout=subprocess.DEVNULL)


def publish(out):
    """Writes all tables and plots into docs/performance."""
    for table in (out / "figures").glob("*.json"):
        (pages.FIGURES / table.name).write_bytes(table.read_bytes())
    pages.write_plots(out.glob("*.svg"))
    homeless = pages.write_pages()
    for problem in homeless:
        say(f"bench: {problem}")
    return not homeless


def run_word(name, given):
    """Runs a word, and the further words that its entry lists."""
    options, well = options_of(name, given), True
    if "cases" in options.word:
        well = measure(name, options)
    for other, values in options.word.get("also", {}).items():
        well = run_word(other, given | values) and well
    return well


def main():
    given = vars(parser().parse_args())
    for sentence in old_pins():
        say(f"bench: {sentence}")
    try:
        name = given.pop("command")
        options, well = options_of(name, given), run_word(name, given)
        return 0 if (publish(options.out) and well if options.publish else well) else 1
    except (Failed, OSError) as error:
        say(f"bench: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
