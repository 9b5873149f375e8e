"""Speed of fitted pipelines: schedc, scikit-learn, its Intel extension and ONNX Runtime.

    python bench/pipelines.py [--names a,b] [--sizes 1,64,1024,16384] [--json FILE]
    python bench/pipelines.py --grid 1000 [--all-blocks] [--seed 0] [--seconds 2400] [--effort fast] \\
        [--json FILE]
    python bench/pipelines.py --publish FILE.. --machine "one thread of a Zen 4"

Needs the packages schedc, scikit-learn, onnx and pandas. The Intel extension and ONNX Runtime (with skl2onnx)
are compared if they are installed. ONNX Runtime reads the single-precision file of skl2onnx, or schedc's file
if skl2onnx cannot convert the pipeline. All use one thread. Each contender is called from Python with the
same rows, frames or arrays; a frame is converted for ONNX Runtime within the call. Contenders take turns, and
the median of the processor time counts. With SCHEDC, the path of the program, the table also has the time of
a call from C.

--grid draws pipelines from `forest/pipeline/tests/fixtures/grid.py`. It reports the speed-up of schedc over
the best other engine at each size, and each pipeline where another engine is faster. The order of pipelines
is spread over the whole grid, so a run that --seconds ends has a sample of all kinds. FILE gets a line for
each pipeline; a later run skips the pipelines in it. --publish writes the table of docs/pipelines.md from
such files.

"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from engines import onnx_session  # sets the number of threads

import numpy
import pandas
import schedc
from sklearn import (
    compose,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    neural_network,
    pipeline,
    preprocessing,
    svm,
)
from turns import Contender, race

ROUNDS = 7  # number of samples of a contender
LEAST = 0.002  # seconds of a sample
LIMIT = 0.3  # seconds for the samples of a pipeline of the grid; slower pipelines get fewer samples
FIXTURES = Path(__file__).parent.parent / "forest/pipeline/tests/fixtures"


def numbers():
    """Rows of 20 numbers."""
    return numpy.random.default_rng(0).normal(size=(16384, 20))


def mixed():
    """Rows of 10 numbers, 5 % of them missing, and 6 categories."""
    source = numpy.random.default_rng(0)
    values = source.normal(size=(16384, 10))
    values[source.random(values.shape) < 0.05] = numpy.nan
    columns = {f"n{at}": values[:, at] for at in range(10)}
    sizes = enumerate([2, 5, 8, 12, 18, 42])
    columns |= {f"c{at}": source.integers(0, size, 16384).astype(float) for at, size in sizes}
    return pandas.DataFrame(columns)


def prepared(model, *more):
    """A pipeline of imputer, scaler and one-hot encoder before a model."""
    names = list(mixed().columns)
    scaled = pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler())
    encoded = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = compose.ColumnTransformer([("n", scaled, names[:10]), ("c", encoded, names[10:])])
    return pipeline.make_pipeline(columns, *more, model)


def scaled(*steps):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), *steps)


#: Rows, classes and the pipeline of each line of the table, by its name in docs/pipelines.md.
CASES = {
    "a": (mixed, 2, lambda: prepared(ensemble.GradientBoostingClassifier(max_depth=5))),
    "a'": (mixed, 2, lambda: prepared(ensemble.HistGradientBoostingClassifier())),
    "b": (mixed, 2, lambda: prepared(ensemble.RandomForestClassifier(max_depth=12, random_state=0))),
    "a''": (mixed, 2, lambda: prepared(linear_model.LogisticRegression(max_iter=300))),
    "scale": (numbers, 2, lambda: scaled(linear_model.LogisticRegression())),
    "c": (numbers, 2, lambda: scaled(preprocessing.PolynomialFeatures(2),
                                     linear_model.LogisticRegression(max_iter=200))),
    "d": (numbers, 2, lambda: scaled(svm.SVC())),
    "e": (numbers, 2, lambda: pipeline.make_pipeline(preprocessing.KBinsDiscretizer(10), svm.LinearSVC())),
    "f": (numbers, 3, lambda: scaled(neural_network.MLPClassifier((64, 32), max_iter=20))),
    "g": (mixed, 2, lambda: prepared(linear_model.LogisticRegression(max_iter=300),
                                     feature_selection.SelectKBest(k=20))),
    "h": (numbers, 2, lambda: pipeline.make_pipeline(ensemble.RandomTreesEmbedding(random_state=0),
                                                     linear_model.LogisticRegression())),
    "h'": (numbers, 3, lambda: pipeline.make_pipeline(ensemble.RandomTreesEmbedding(random_state=0),
                                                      linear_model.LogisticRegression())),
    "h''": (numbers, 2, lambda: pipeline.make_pipeline(ensemble.RandomTreesEmbedding(random_state=0),
                                                       neural_network.MLPClassifier((64, 32), max_iter=3))),
}


def target(rows, classes):
    """Classes that depend on some columns."""
    score = numpy.nan_to_num(numpy.asarray(rows)[:, :5]).sum(axis=1)
    score = score + numpy.random.default_rng(1).normal(size=len(score))
    return numpy.digitize(score, numpy.quantile(score, numpy.arange(1, classes) / classes))


def exported(fitted, check):
    """The bytes of a pipeline's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.onnx"
        schedc.export(fitted, str(path), check=check)
        return path.read_bytes()


def answers(fitted, *others):
    """The methods to time, of a pipeline and of other objects with the same methods."""
    names = ("predict_proba", "decision_function", "predict")
    name = next(name for name in names if hasattr(fitted, name))
    return [getattr(each, name) for each in (fitted, *others)]


def onnx_call(fitted, rows, made, sizes):
    """A function that runs a pipeline in ONNX Runtime, and the program that exported the file."""
    types = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(int64)": "i8", "tensor(string)": object}

    def opened(data, origin):
        session = onnx_session(data)
        inputs = {put.name: types[put.type] for put in session.get_inputs()}
        firsts = {size: rows[:size] for size in {1, *sizes}}

        def call(count):
            given = firsts[count]
            return session.run(None, {name: column(given, name).astype(kind, copy=False)
                                      for name, kind in inputs.items()})

        call(1)
        return call, origin

    def column(rows, name):
        if isinstance(rows, pandas.DataFrame) and name in rows:
            return rows[name].to_numpy().reshape(-1, 1)
        return numpy.asarray(rows)

    try:
        from skl2onnx import to_onnx

        few = in_single(rows[:1])
        zipmap = {id(fitted): {"zipmap": False}} if hasattr(fitted, "predict_proba") else None
        return opened(to_onnx(fitted, few, options=zipmap).SerializeToString(), "skl2onnx")
    except Exception:  # any error of the converter, or of the engine on its file
        return opened(made, "schedc.export")


def in_single(rows):
    """Rows whose numbers are in single precision."""
    if not isinstance(rows, pandas.DataFrame):
        return rows.astype("f4")
    return rows.astype({name: "f4" for name in rows if rows[name].dtype.kind in "fi"})


def on_first(method, rows, sizes):
    """A function of a number of rows, which calls a method with the first rows. They are sliced
    beforehand."""
    firsts = {size: rows[:size] for size in {1, *sizes}}
    return lambda count: method(firsts[count])


def contenders(build, rows, classes, sizes, effort):
    """The calls to time, by contender: each takes a number of rows."""
    fitted = build().fit(rows[:4000], classes[:4000])
    made = exported(fitted, rows[:200])
    model = schedc.compile(fitted, effort=effort)
    peer, own = answers(fitted, model)
    calls = {"schedc": on_first(own, rows, sizes), "scikit-learn": on_first(peer, rows, sizes)}
    try:
        calls["ONNX Runtime"], origin = onnx_call(fitted, rows, made, sizes)
        calls[f"ONNX Runtime, {origin}"] = calls.pop("ONNX Runtime")
    except Exception as error:  # any error of the engine
        print(f"   ONNX Runtime is left out: {str(error).splitlines()[0][:100]}", file=sys.stderr)
    return made, calls


def with_extension(build, rows, calls, sizes):
    """Adds the Intel extension, whose estimators replace those of scikit-learn. `build` returns a fitted
    pipeline, or None if the extension replaces none of its estimators."""
    try:
        import sklearnex
    except ImportError:
        return
    sklearnex.patch_sklearn(verbose=False)
    try:
        patched = build()
        if patched is not None:
            calls["Intel extension"] = on_first(answers(patched)[0], rows, sizes)
            calls["Intel extension"](1)
    except Exception as error:  # any error of the extension
        calls.pop("Intel extension", None)
        print(f"   the Intel extension is left out: {str(error).splitlines()[0][:100]}", file=sys.stderr)
    finally:
        sklearnex.unpatch_sklearn()


def times(calls, sizes, limit=math.inf):
    """Microseconds per row of each contender at each size: the median of samples in turns. A size gets fewer
    samples after `limit` seconds."""
    results = {name: [] for name in calls}
    for size in sizes:
        ways = [Contender(name, "call", call, [size]) for name, call in calls.items()]
        race(ways, ROUNDS, seconds=LEAST, limit=limit)
        for way in ways:
            results[way.who].append(statistics.median(way.samples) / size * 1e6)
    return results


def from_c(program, made, sizes):
    """Microseconds per row of the chosen schedule, called from C."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.onnx"
        path.write_bytes(made)
        command = [program, "bench", path, "--batch", ",".join(map(str, sizes)), "--json"]
        points = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["points"]
    return [point["us_per_row"] for point in points]


def table(names, sizes, effort):
    """Prints a line for each contender of each case."""
    program = os.environ.get("SCHEDC")
    results = {}
    for name in names:
        make_rows, classes, build = CASES[name]
        rows = make_rows()
        wanted = target(rows, classes)
        made, calls = contenders(build, rows, wanted, sizes, effort)
        with_extension(lambda: build().fit(rows[:4000], wanted[:4000]), rows, calls, sizes)
        results[name] = times(calls, sizes)
        if program:
            results[name] = {"schedc from C": from_c(program, made, sizes), **results[name]}
        for contender, found in results[name].items():
            print(f"| {name} | {contender} | {' / '.join(f'{each:.3g}' for each in found)} |", flush=True)
    return results


def spread(count):
    """The numbers below `count`, in an order in which every beginning is spread over the whole range."""
    step = next(step for step in range(int(count * 0.618) + 1, 0, -1) if math.gcd(step, count) == 1)
    return [at * step % count for at in range(count)]


def is_replaced(fitted):
    """Whether the Intel extension replaces an estimator of a pipeline."""
    kinds = (type(part).__module__ for part in fitted.get_params().values())
    return any(kind.startswith(("sklearnex", "daal4py")) for kind in kinds)


def of_grid(number, sizes, effort, all_blocks):
    """The times of a pipeline of the grid, or the reason why there are none. None if fitting it fails."""
    from grid import drawn
    from make import fit

    made, form, kind = drawn(number, all_blocks)
    try:
        rows = fit(made, form, kind)
    except (ValueError, RuntimeError, TypeError):
        return None
    content = exported(made, False)
    more = 16384 // len(rows) + 1
    rows = pandas.concat([rows] * more) if form == "table" else numpy.concatenate([rows] * more)
    about = {"number": number, "all_blocks": all_blocks, "pipeline": " ".join(str(made).split())}
    try:
        model = schedc.compile(made, effort=effort, rows="f32" if form == "f4" else "f64")
    except schedc.Difference as error:
        return about | {"wrong": str(error).splitlines()[0]}
    except (schedc.SchedcError, TypeError, ValueError) as error:
        return about | {"refused": str(error).splitlines()[0]}
    peer, own = answers(made, model)
    calls = {"schedc": on_first(own, rows, sizes), "scikit-learn": on_first(peer, rows, sizes)}

    def patched():
        other = drawn(number, all_blocks)[0]
        if is_replaced(other):
            fit(other, form, kind)
            return other
        return None

    with_extension(patched, rows, calls, sizes)
    try:
        calls["ONNX Runtime"] = onnx_call(made, rows, content, sizes)[0]
    except Exception:  # any error of the engine
        pass
    found = times(calls, sizes, LIMIT)
    best = [min(of) for of in zip(*(of for name, of in found.items() if name != "schedc"), strict=True)]
    ratios = [peer / own for peer, own in zip(best, found["schedc"], strict=True)]
    return about | {"ratios": ratios, "times": found}


def grid(count, seed, sizes, effort, all_blocks, seconds, path):
    """Times pipelines of the grid, and prints those where another engine is faster."""
    sys.path.insert(0, str(FIXTURES))
    lines = path.read_text().splitlines() if path and path.exists() else []
    results, unfitted, began = [json.loads(line) for line in lines], 0, time.monotonic()
    known = {result["number"] - seed for result in results}
    for number in spread(count):
        if time.monotonic() - began > seconds:
            break
        if number in known:
            continue
        result = of_grid(seed + number, sizes, effort, all_blocks)
        if result is None:
            unfitted += 1
            continue
        results.append(result)
        if path:
            with path.open("a") as file:
                file.write(json.dumps(result) + "\n")
        if min(result.get("ratios", [0])) < 1:
            shown = [f"{ratio:.2f}" for ratio in result.get("ratios", ())]
            reason = result.get("refused") or result.get("wrong") or shown
            print(result["number"], result["pipeline"][:300], reason, flush=True)
    summary(results, unfitted, sizes)


def summary(results, unfitted, sizes):
    """Prints a summary of the ratios of all pipelines."""
    timed = [result["ratios"] for result in results if "ratios" in result]
    for size, ratios in zip(sizes, zip(*timed, strict=True), strict=True):
        cut = sorted(ratios)
        print(f"{size} rows: least {cut[0]:.2f}, median {statistics.median(cut):.1f}, most {cut[-1]:.0f}")
    lost = sum(min(ratios) < 1 for ratios in timed)
    counts = [sum(word in result for result in results) for word in ("refused", "wrong")]
    extended = sum("Intel extension" in result.get("times", ()) for result in results)
    print(f"{len(timed)} timed, {extended} with the Intel extension, {lost} slower than the best somewhere; "
          f"{counts[0]} refused, {counts[1]} wrong, {unfitted} cannot be fitted")


def publish(paths, machine):
    """Writes the table of the grids: the least and the median speed-up over each peer and the fastest
    peer."""
    import pages

    results = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    timed = [result for result in results if "ratios" in result]
    rows = []
    for all_blocks in sorted({result["all_blocks"] for result in timed}):
        of_grid = [result for result in timed if result["all_blocks"] == all_blocks]
        ratios = {"the fastest": [result["ratios"] for result in of_grid]}
        for peer in ("scikit-learn", "Intel extension", "ONNX Runtime"):
            ratios[peer] = [[theirs / ours for theirs, ours in zip(found[peer], found["schedc"], strict=True)]
                            for found in (result["times"] for result in of_grid) if peer in found]
        for peer, found in ratios.items():
            cells = [f"{min(of):.2f} / {statistics.median(of):.1f}" for of in zip(*found, strict=True)]
            name = "all blocks" if all_blocks else "without projections, kernels and distances"
            rows.append(("../pipelines", [name, peer, len(found), *cells]))
    header = ["grid", "peer", "pipelines", "1 row a call", "64 rows", "1,024 rows", "16,384 rows"]
    command = "python bench/pipelines.py --grid 1000 [--all-blocks] --effort fast"
    pages.save(pages.FIGURES, "grid", command, machine, header, rows, {})
    pages.write_pages()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default=",".join(CASES))
    parser.add_argument("--sizes", default="1,64,1024,16384")
    parser.add_argument("--effort", default="full")
    parser.add_argument("--grid", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all-blocks", action="store_true",
                        help="of projections, kernels and distances, too")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time for the grid")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--publish", type=Path, nargs="+")
    parser.add_argument("--machine", default="")
    given = parser.parse_args()
    if given.publish:
        publish(given.publish, given.machine)
        return
    warnings.simplefilter("ignore")
    sizes = [int(size) for size in given.sizes.split(",")]
    if given.grid is not None:
        grid(given.grid, given.seed, sizes, given.effort, given.all_blocks, given.seconds, given.json)
        return
    results = table(given.names.split(","), sizes, given.effort)
    if given.json:
        given.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
