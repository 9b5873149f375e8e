"""Speed of fitted pipelines: schedc beside scikit-learn, its Intel extension and ONNX Runtime.

    python bench/pipelines.py [--names a,b] [--sizes 1,64,1024,16384] [--json FILE]
    python bench/pipelines.py --grid 1000 [--all-blocks] [--seed 0] [--effort fast] [--json FILE]

Needs the packages schedc, scikit-learn, onnx and pandas. The Intel extension and ONNX Runtime (with skl2onnx)
are compared if they are installed. ONNX Runtime reads the single-precision file of skl2onnx, or schedc's file
if skl2onnx cannot convert the pipeline. All use one thread. Each contender is called from Python with the
same rows, frames or arrays; a frame is converted for ONNX Runtime within the call. Contenders take turns, and
the median of the processor time counts. With SCHEDC, the path of the program, the table also has the time of
a call from C.

--grid draws pipelines from `forest/pipeline/tests/fixtures/grid.py`. It reports how many times as fast schedc
is as the best of the others at each size, and each pipeline where it is not the first.

"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy  # noqa: E402
import pandas  # noqa: E402
import schedc  # noqa: E402
from sklearn import (  # noqa: E402
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

ROUNDS = 7  # samples of a contender
LEAST = 0.002  # seconds of a sample, at least, once its calls are counted
FIXTURES = Path(__file__).parent.parent / "forest/pipeline/tests/fixtures"


def numbers():
    """Rows of 20 numbers."""
    return numpy.random.default_rng(0).normal(size=(16384, 20))


def mixed():
    """Rows of 10 numbers, of which 5 in 100 are missing, and of 6 categories."""
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
    """The methods of a pipeline, and of objects like it, that are timed."""
    names = ("predict_proba", "decision_function", "predict")
    name = next(name for name in names if hasattr(fitted, name))
    return [getattr(each, name) for each in (fitted, *others)]


def onnx_call(fitted, rows, made, sizes):
    """A function that runs a pipeline in ONNX Runtime, and the origin of its file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    types = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(int64)": "i8", "tensor(string)": object}

    def opened(data, origin):
        session = onnxruntime.InferenceSession(data, options)
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

        few = rows[:1].astype("f4")
        zipmap = {id(fitted): {"zipmap": False}} if hasattr(fitted, "predict_proba") else None
        return opened(to_onnx(fitted, few, options=zipmap).SerializeToString(), "skl2onnx")
    except Exception:  # any error of the converter, or of the engine on its file
        return opened(made, "schedc.export")


def on_first(method, rows, sizes):
    """A function that calls a method with the first rows, which exist before the call."""
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


def with_extension(build, rows, classes, calls, sizes):
    """Adds the Intel extension of scikit-learn, whose estimators replace those of scikit-learn."""
    try:
        import sklearnex
    except ImportError:
        return
    sklearnex.patch_sklearn(verbose=False)
    try:
        [patched] = answers(build().fit(rows[:4000], classes[:4000]))
        calls["Intel extension"] = on_first(patched, rows, sizes)
        calls["Intel extension"](1)
    except Exception as error:  # any error of the extension
        calls.pop("Intel extension", None)
        print(f"   the Intel extension is left out: {str(error).splitlines()[0][:100]}", file=sys.stderr)
    finally:
        sklearnex.unpatch_sklearn()


def times(calls, sizes):
    """Microseconds a row of each call at each size: the median of samples in turns."""
    results = {name: [] for name in calls}
    for size in sizes:
        repeats = {}
        for name, call in calls.items():
            call(size)
            call(size)
            began = time.process_time()
            call(size)
            repeats[name] = max(1, int(LEAST / max(time.process_time() - began, 1e-6)))
        samples = {name: [] for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                began = time.process_time()
                for _ in range(repeats[name]):
                    call(size)
                samples[name].append((time.process_time() - began) / repeats[name] / size * 1e6)
        for name in calls:
            results[name].append(statistics.median(samples[name]))
    return results


def from_c(program, made, sizes):
    """Microseconds a row of the chosen schedule from C."""
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
        with_extension(build, rows, wanted, calls, sizes)
        results[name] = times(calls, sizes)
        if program:
            results[name] = {"schedc from C": from_c(program, made, sizes), **results[name]}
        for contender, found in results[name].items():
            print(f"| {name} | {contender} | {' / '.join(f'{each:.3g}' for each in found)} |", flush=True)
    return results


def grid(count, seed, sizes, effort, all_blocks):
    """Times pipelines of the grid, and prints those where another engine is faster."""
    sys.path.insert(0, str(FIXTURES))
    from grid import drawn
    from make import fit

    results, lost = {}, 0
    for number in range(seed, seed + count):
        made, form, kind = drawn(number, all_blocks)
        try:
            rows = fit(made, form, kind)
        except (ValueError, RuntimeError, TypeError):
            continue
        rows = pandas.concat([rows] * (16384 // len(rows) + 1)) if form == "table" else numpy.concatenate(
            [rows] * (16384 // len(rows) + 1))
        try:
            model = schedc.compile(made, effort=effort)
        except (schedc.SchedcError, TypeError, ValueError) as error:
            results[number] = {"refused": str(error).splitlines()[0]}
            continue
        peer, own = answers(made, model)
        calls = {"schedc": on_first(own, rows, sizes), "scikit-learn": on_first(peer, rows, sizes)}
        try:
            calls["ONNX Runtime"] = onnx_call(made, rows, exported(made, False), sizes)[0]
        except Exception:  # any error of the engine
            pass
        found = times(calls, sizes)
        best = [min(of) for of in zip(*(of for name, of in found.items() if name != "schedc"), strict=True)]
        ratios = [peer / own for peer, own in zip(best, found["schedc"], strict=True)]
        results[number] = {"ratios": ratios, "times": found}
        if min(ratios) < 1:
            lost += 1
            print(number, " ".join(str(made).split())[:300], [f"{ratio:.2f}" for ratio in ratios], flush=True)
        if number % 50 == 0:
            print(number, [f"{ratio:.1f}" for ratio in ratios], flush=True)
    timed = [result["ratios"] for result in results.values() if "ratios" in result]
    for size, ratios in zip(sizes, zip(*timed, strict=True), strict=True):
        cut = sorted(ratios)
        print(f"{size} rows: least {cut[0]:.2f}, median {statistics.median(cut):.1f}, most {cut[-1]:.0f}")
    print(f"{len(timed)} timed, {len(results) - len(timed)} refused, {lost} slower than the best somewhere")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default=",".join(CASES))
    parser.add_argument("--sizes", default="1,64,1024,16384")
    parser.add_argument("--effort", default="full")
    parser.add_argument("--grid", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all-blocks", action="store_true",
                        help="of projections, kernels and distances, too")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = [int(size) for size in given.sizes.split(",")]
    if given.grid is None:
        results = table(given.names.split(","), sizes, given.effort)
    else:
        results = grid(given.grid, given.seed, sizes, given.effort, given.all_blocks)
    if given.json:
        given.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
