"""The tables of results: a class for each word of run.sh, which converts runs to rows and checks limits."""

import json
import math
import statistics

from tools import BENCH, Failed, markdown, micros, say

PEERS = ["XGBoost", "LightGBM", "CatBoost", "ONNX Runtime", "lleaves", "tl2cgen", "oneDAL", "lignum",
         "lignum compiled", "hessboost", "YDF"]


def times(run, **wanted):
    """Microseconds per row at each number of threads and of rows, by schedule: the least of all rounds. Other
    arguments select points by their values."""
    found = {}
    for point in run["points"]:
        if all(point[key] == value for key, value in wanted.items()):
            at = found.setdefault((point["threads"], point["batch"]), {})
            at[point["schedule"]] = min(point["us_per_row"], at.get(point["schedule"], math.inf))
    return found


class Summary:
    """A table to which each run adds rows. `pages` has the page of docs/performance of each row."""

    header = ()

    def __init__(self, options):
        self.options, self.table, self.pages, self.well = options, [], [], True
        if self.header:
            print(markdown(self.header, []), end="", flush=True)

    def add(self, row, page):
        self.table.append(row)
        self.pages.append(page)
        print(markdown([], [row]).split("\n", 2)[2], end="", flush=True)

    def take(self, case, run):
        """Adds the rows of a run."""
        for row in self.rows(case, run):
            self.add(row, case.spec.get("page"))

    def fail(self, model):
        """Notes that a model could not be measured."""
        self.well = False

    def end(self):
        """Checks the limits of the whole table, and returns the text below it."""
        return ""


class Compare(Summary):
    """The comparison with all peers. `about` describes the models, for the table of the README."""

    header = ("model", "batch", "threads", "schedc, µs/row", "quartiles", "ns/walk", "best peer",
              "best peer/schedc", "target", *(f"{peer}, µs/row" for peer in PEERS))

    def __init__(self, options):
        super().__init__(options)
        self.about = {}

    def rows(self, case, run):
        model = case.model
        self.about[model.name] = (f"{model.name}: {model.trees} trees of depth {model.depth}, "
                                  f"{model.features} features" +
                                  (f", {model.outputs} classes" if model.outputs > 1 else ""))
        ours = {(point["threads"], point["batch"]): point for point in run["points"]
                if point["schedule"] == "schedc"}
        for (threads, batch), all_times in times(run).items():
            point = ours[threads, batch]
            theirs = {peer: all_times[peer] for peer in PEERS if peer in all_times}
            if not theirs:
                raise Failed("no peer could be measured")
            ratio, walk = min(theirs.values()) / point["us_per_row"], point["ns_per_walk"]
            yield [case.model.name, batch, threads, micros(point["us_per_row"]),
                   " to ".join(map(micros, point["spread"])), f"{walk:.2f}", min(theirs, key=theirs.get),
                   f"{ratio:.1f}", self.target(case.model.name, batch, ratio, walk) if threads == 1 else "",
                   *(micros(theirs[peer]) if peer in theirs else "-" for peer in PEERS)]

    def end(self):
        """Leaves out the columns of peers that could not be measured for any model."""
        kept = [at for at, name in enumerate(self.header)
                if at < len(Compare.header) - len(PEERS) or any(row[at] != "-" for row in self.table)]
        self.header = [self.header[at] for at in kept]
        self.table = [[row[at] for at in kept] for row in self.table]
        return ""

    @staticmethod
    def target(name, batch, ratio, walk):
        """The target, in bold if it is missed. Only calls with one thread have targets."""
        for group in json.loads((BENCH / "targets.json").read_text()):
            if not any(name == model or (model.endswith("*") and name.startswith(model[:-1]))
                       for model in group["models"]):
                continue
            least = group["ratio"].get(str(min(batch, 1024)))
            if least is None:
                return ""
            most = group.get("ns_per_walk", math.inf) if batch >= 1024 else math.inf
            text = f">= {least}" + (f", <= {most} ns" if most < math.inf else "")
            return text if ratio >= least and walk <= most else f"**{text}**"
        return ""


class Footprint(Summary):
    names = {"schedc": "schedc build", "built library": "schedc, built before"}
    header = ("model", "program", "first prediction, ms of processor time", "memory, MiB", "artefact, KiB",
              "install, MiB")

    def rows(self, case, run):
        for name in dict.fromkeys(point["schedule"] for point in run["points"]):
            points = [point for point in run["points"] if point["schedule"] == name]
            least = {key: min(point[key] for point in points)
                     for key in ("seconds", "mib", "bytes", "install")}
            yield [case.model.name, self.names.get(name, name),
                   f"{least['seconds'] * 1e3:.1f}", f"{least['mib']:.0f}", f"{least['bytes'] / 1024:.0f}",
                   f"{least['install'] / 2**20:.0f}" if name != "built library" else "-"]


class Scaling(Summary):
    header = ("model", "batch", "one thread, µs/row", "two threads, µs/row", "gain", "trainer's gain")

    def rows(self, case, run):
        one, two = ({batch: found for (_, batch), found in times(run, threads=threads).items()}
                    for threads in (1, 2))
        for batch in one:
            trainer = next((name for name in one[batch] if name != "schedc"), None)
            yield [case.model.name, batch, micros(one[batch]["schedc"]), micros(two[batch]["schedc"]),
                   f"{one[batch]['schedc'] / two[batch]['schedc']:.2f}x",
                   f"{one[batch][trainer] / two[batch][trainer]:.2f}x" if trainer else "-"]


class Sweep(Summary):
    """One grid for each batch size: nanoseconds per walk, and the speed-up over XGBoost."""

    def __init__(self, options):
        super().__init__(options)
        self.cells = {}

    def take(self, case, run):
        trees = case.model.trees
        if not any(point["schedule"] == "XGBoost" for point in run["points"]):
            raise Failed("XGBoost, which checks the predictions, could not be measured")
        self.cells[case.model.name] = {
            batch: f"{found['schedc'] * 1e3 / trees:.2f} ns, {found['XGBoost'] / found['schedc']:.1f}x"
            for (_, batch), found in times(run).items()}

    def fail(self, model):
        super().fail(model)
        self.cells[model] = {}

    def end(self):
        grid, text = self.options.word["cases"][0]["models"], ""
        header = ["trees", "depth", *(f"{features} features" for features in grid["features"])]
        for batch in sorted({batch for cell in self.cells.values() for batch in cell}):
            rows = [[trees, depth, *(self.cells.get(f"synthetic_{trees}x{depth}_{features}", {batch: "-"})
                                     .get(batch, "failed") for features in grid["features"])]
                    for trees in grid["trees"] for depth in grid["depth"]]
            text += f"{batch} rows a call, ns per walk and ratio to XGBoost\n\n{markdown(header, rows)}\n"
        right = sum(map(bool, self.cells.values()))
        left = math.prod(map(len, grid.values())) - len(self.cells)
        say(f"bench: margins of {right} models are right, of {len(self.cells) - right} wrong; {left} "
            "were not measured before the time limit")
        return text


class Defaults(Summary):
    header = ("model", "batch", "threads", "tried", "chosen, µs/row", "best, µs/row", "chosen/best",
              "best schedule")

    def rows(self, case, run):
        for own, best, row in regrets(case, run):
            mark = "" if own / best <= self.options.limit else "**"
            yield [*row[:-1], f"{mark}{own / best:.2f}{mark}", row[-1]]
            self.ratios.append(own / best)

    def __init__(self, options):
        super().__init__(options)
        self.ratios = []

    def end(self):
        median, worst = (statistics.median(self.ratios), max(self.ratios)) if self.ratios else (1.0, 1.0)
        self.well &= median <= self.options.median and worst <= self.options.limit
        return (f"\nmedian {median:.3f} (at most {self.options.median}), "
                f"worst {worst:.2f} (at most {self.options.limit})\n")


def regrets(case, run):
    """At each number of threads and of rows: the automatic schedule's time, the best time, and a row of the
    table with both."""
    tried = run["points"][0]["tried"]
    for (threads, batch), found in times(run).items():
        own = found.pop("chosen")
        name = min(found, key=found.get)
        yield own, found[name], [case.model.name, batch, threads, tried, micros(own), micros(found[name]),
                                 name]


class Calls(Summary):
    """Steps: the time of each small call, divided by that of the cheapest call of at least its size."""

    # Largest size for which steps are computed. Larger calls are only measured for comparison.
    SMALL = 520

    def __init__(self, options):
        self.header = ("model", "highest step", "at rows", "beside rows", f"steps above {options.step}",
                       "furthest from the best", "at rows", "best schedule")
        super().__init__(options)
        self.steps, self.highest, self.furthest = {}, 1.0, 1.0

    def rows(self, case, run):
        if "finalists" not in case.spec:
            costs = {batch: found["chosen"] * batch for (_, batch), found in times(run).items()}
            self.steps[case.model.name] = self.steps_of(costs)
            return
        if case.model.name not in self.steps:
            raise Failed("its calls of all sizes could not be timed")
        steps = self.steps[case.model.name]
        rows = max(steps, key=lambda rows: steps[rows][1])
        beside, step = steps[rows]
        over = sum(ratio > self.options.step for _, ratio in steps.values())
        ratio, batch, name = max((own / best, row[1], row[-1]) for own, best, row in regrets(case, run))
        self.highest, self.furthest = max(self.highest, step), max(self.furthest, ratio)
        yield [case.model.name, f"{step:.2f}", rows, beside, over, f"{ratio:.2f}", batch, name]

    def steps_of(self, costs):
        """For each small size, the cheapest call size that is not smaller, and the ratio of the calls'
        times."""
        least, found = None, {}
        for rows in sorted(costs, reverse=True):
            if least is None or costs[rows] <= costs[least]:
                least = rows
            if rows <= self.SMALL:
                found[rows] = (least, costs[rows] / costs[least])
        return dict(reversed(found.items()))

    def end(self):
        self.well &= self.highest <= self.options.step and self.furthest <= self.options.limit
        return (f"\nhighest step {self.highest:.2f} (at most {self.options.step}), "
                f"furthest {self.furthest:.2f} (at most {self.options.limit})\n")


def link(name):
    """A schedule as a link in the pages of docs/performance."""
    folder = "bench/schedules" if (BENCH / "schedules" / name).exists() else "examples"
    return f"[{name}](../../{folder}/{name})"


class Techniques(Summary):
    header = ("technique", "model", "rows a call", "before, µs/row", "after, µs/row", "gain", "ns/walk",
              "schedule after")

    def rows(self, case, run):
        for (_, batch), found in times(run).items():
            before, after = (found[name] for name in case.spec["schedules"])
            yield [case.spec["technique"], case.model.name, batch, micros(before), micros(after),
                   f"{before / after:.2f}x", f"{after * 1e3 / case.model.trees:.2f}",
                   link(case.spec["schedules"][1])]


class Ladder(Summary):
    header = ("schedule", "model", "rows a call", "ns/walk")

    def rows(self, case, run):
        for (_, batch), found in times(run).items():
            for name, time in found.items():
                yield [link(name), case.model.name, batch, f"{time * 1e3 / case.model.trees:.2f}"]


class Neighbours(Summary):
    header = ("layout", "schedule", "depth", "rows a call", "µs/row", "ns/level",
              "against the first of its layout")

    def __init__(self, options):
        super().__init__(options)
        self.first = {}

    def rows(self, case, run):
        layout, depth = case.spec["values"]["layout"], case.model.depth
        for (_, batch), found in times(run).items():
            for name, time in found.items():
                level = time * 1e3 / case.model.trees / depth
                ratio = level / self.first.setdefault((layout, batch), level)
                self.well &= ratio <= self.options.limit
                yield [layout, name, depth, batch, micros(time), f"{level:.3f}", f"{ratio:.2f}x"]


class Cores(Summary):
    header = ("model", "threads", "one thread, µs/row", "rows shared, µs/row", "trees shared, µs/row", "gain")

    def __init__(self, options):
        super().__init__(options)
        self.gains = []

    def rows(self, case, run):
        def best(threads, sort):
            at = next(found for key, found in times(run, threads=threads).items())
            return min(time for name, time in at.items() if name.startswith(sort))

        threads = max(case.threads)
        single, rows, trees = best(1, "rows"), best(threads, "rows"), best(threads, "trees")
        self.gains.append(rows / trees)
        yield [case.model.name, threads, *map(micros, (single, rows, trees)), f"{rows / trees:.2f}x"]

    def end(self):
        if self.gains:
            self.add(["geometric mean", self.table[-1][1], "", "", "",
                      f"{statistics.geometric_mean(self.gains):.2f}x"], self.pages[-1])
        return ""


class Builds(Summary):
    header = ("model", "batch", "threads", "before, µs/row", "after, µs/row", "after/before",
              "size, after/before")

    def rows(self, case, run):
        at, size = {}, {}
        for point in run["points"]:
            at.setdefault((point["threads"], point["batch"]), {}).setdefault(point["schedule"], []).append(
                point["us_per_row"])
            size[point["schedule"]] = point["bytes"]
        for (threads, batch), found in at.items():
            # The libraries of a round run one after the other, so their ratio cancels changes in the
            # machine's speed.
            ratio = statistics.median(new / old for old, new in zip(found["before"], found["after"]))
            if ratio > self.options.most:
                say(f"{case.model.name}: {ratio:.3f} of the time at one point, more than {self.options.most}")
                self.well = False
            yield [case.model.name, batch, threads, micros(statistics.median(found["before"])),
                   micros(statistics.median(found["after"])), f"{ratio:.3f}",
                   f"{size['after'] / size['before']:.3f}"]
