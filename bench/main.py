"""The commands of run.sh."""

import argparse
import sys
from pathlib import Path

import builds
import calls
import compare
import defaults
import models
import neighbours
import pages
import sweep
import techniques
from tools import BENCH, Failed, models as models_in, say


def parser():
    """The command line."""
    top = argparse.ArgumentParser(prog="bench/run.sh",
                                  description="Measures schedc against its peers and itself.")
    commands = top.add_subparsers(dest="command", required=True)

    def command(name, help, batches, repetitions=21, folder=True):
        made = commands.add_parser(name, help=help)
        if folder:
            made.add_argument("folder", nargs="?", type=Path, help="folders with a model and X_test.npy")
            made.add_argument("names", nargs="*", help="only these models")
        made.add_argument("--out", type=Path, default=BENCH.parent / "target" / "bench",
                          help="where results go")
        made.add_argument("--batches", default=batches, help="rows per call (%(default)s)")
        made.add_argument("--threads", default="1", help="threads per call (%(default)s)")
        made.add_argument("--repetitions", type=int, default=repetitions,
                          help="samples per figure (%(default)s)")
        made.add_argument("--schedule", type=Path,
                          help="a schedule for all models, instead of schedc's choice")
        made.add_argument("--cpu", default="native", help="the processor to build for (%(default)s)")
        made.add_argument("--compile-seconds", type=int, default=900,
                          help="time for compiling a model's C, once (%(default)s)")
        made.set_defaults(peers=["onnxruntime", "lleaves", "tl2cgen"], doubles=False)
        return made

    points = "1,64,1024,16384"
    against = command("compare", "schedc against trainers, ONNX Runtime, lleaves and tl2cgen", points)
    against.add_argument(
        "--peers", type=lambda text: text.split(","), help="besides the trainer (onnxruntime,lleaves,tl2cgen)"
    )
    against.add_argument("--doubles", action="store_true", help="rows in double precision")
    against.add_argument("--no-unbalanced", action="store_true",
                         help="without the leaf-wise models trained here")
    grid = command("sweep", "the papers' grid of synthetic models", "64,1024", repetitions=9, folder=False)
    grid.add_argument("--seconds", type=int, default=900, help="no new model after this time (%(default)s)")
    grid.set_defaults(peers=[])
    chosen = command("defaults", "the schedule that schedc chooses against the best of many",
                     "1,8,24,64,100,1024,16384")
    chosen.add_argument("--limit", type=float, default=1.1, help="how far off it may be (%(default)s)")
    chosen.add_argument("--median", type=float, default=1.02,
                        help="how far off it may be mostly (%(default)s)")
    chosen.add_argument("--synthetic", action="store_true", help="only made models, of many shapes")
    chosen.add_argument("--least", type=int, default=60, help="schedules to try at least (%(default)s)")
    chosen.add_argument("--no-unbalanced", action="store_true",
                        help="without the leaf-wise models trained here")
    sizes = command("calls", "calls of 1 to 520 rows: high steps, and how far from the best of many",
                    "3,7,15,20,33,65,129,257,400", repetitions=5)
    sizes.add_argument("--step", type=float, default=1.15,
                       help="how much more a call may cost than one of more rows (%(default)s)")
    sizes.add_argument("--limit", type=float, default=1.25,
                       help="how far off the best schedule it may be (%(default)s)")
    sizes.set_defaults(no_unbalanced=True, least=60)
    command("techniques", "what each technique gains", points)
    command("neighbours", "what small changes to a fast schedule cost", "1024", folder=False)
    many = command("cores", "whether many cores rather share rows or trees of a call of few rows", "32")
    many.add_argument("--no-unbalanced", action="store_true",
                      help="without the leaf-wise models trained here")
    builds = command("builds", "this compiler against an earlier one, library against library", points,
                     repetitions=5)
    builds.add_argument("--before", type=Path, required=True, help="the earlier program `schedc`")
    builds.add_argument("--rounds", type=int, default=5,
                        help="how often the libraries take turns (%(default)s)")
    builds.add_argument("--most", type=float, default=1.03,
                        help="no point may take longer than this (%(default)s)")
    builds.add_argument("--no-unbalanced", action="store_true",
                        help="without the leaf-wise models trained here")
    builds.set_defaults(peers=[])
    everything = command("figures", "all but sweep and defaults, written into docs/performance with plots",
                         points)
    everything.add_argument("--no-unbalanced", action="store_true",
                            help="without the leaf-wise models trained here")
    return top


def chosen_models(options):
    """The models of the folder, and those trained here unless some are named."""
    if getattr(options, "synthetic", False):
        return [models.synthetic(*shape) for shape in models.SHAPES]
    found = models_in(options.folder, options.names)
    trained = [] if options.no_unbalanced else models.LOSSGUIDE
    for leaves in trained:
        if not options.names or f"lossguide_{leaves}" in options.names:
            found.append(models.lossguide(leaves))
    if not found:
        raise Failed("there is no model to measure: name a folder of folders with a model and X_test.npy")
    return found


def figures(options):
    """All measurements of docs/performance, except for the gains of single changes to the compiler."""
    well = compare.compare(chosen_models(options), options)
    well = techniques.techniques(options.folder, options) and well
    well = neighbours.neighbours(options) and well
    well = neighbours.cores(models_in(options.folder, options.names), options) and well
    for table in (options.out / "figures").glob("*.json"):
        (pages.FIGURES / table.name).write_bytes(table.read_bytes())
    pages.write_plots(options.out.glob("*.svg"))
    homeless = pages.write_pages()
    for problem in homeless:
        say(f"bench: {problem}")
    return well and not homeless


def main():
    options = parser().parse_args()
    actions = {
        "compare": lambda: compare.compare(chosen_models(options), options),
        "sweep": lambda: sweep.sweep(options),
        "defaults": lambda: defaults.defaults(chosen_models(options), options),
        "calls": lambda: calls.calls(chosen_models(options), options),
        "techniques": lambda: techniques.techniques(options.folder, options),
        "neighbours": lambda: neighbours.neighbours(options),
        "cores": lambda: neighbours.cores(chosen_models(options), options),
        "builds": lambda: builds.builds(chosen_models(options), options),
        "figures": lambda: figures(options),
    }
    try:
        return 0 if actions[options.command]() else 1
    except (Failed, OSError) as error:
        say(f"bench: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
