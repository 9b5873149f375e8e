"""Cost of a call from Python, and rows per second, compared with other packages in the same run.

    python bench/python.py MODELS [--names higgs,lgb_reg_500x63] [--most 1000000] [--frames] [--json]
    python bench/python.py --pipelines [--json]

MODELS is a folder of models as for bench/run.sh. Needs the packages schedc, schedc-runtime and NumPy.
XGBoost, LightGBM, ONNX Runtime (with onnxmltools) and lleaves are compared if they are installed; missing
packages are reported. All use one thread, read an existing contiguous array of floats, and create a new array
of predictions. Contenders take turns (turns.py), and the best of several samples counts, as `timeit` advises.

--frames measures rows in frames of pandas, Polars and pyarrow, dicts and lists of dicts, and compares with
the trainer's own calls on the frames that it accepts. The least processor time counts. The calls find columns
by name. Needs pandas, Polars, pyarrow and the trainer.

--pipelines measures two fitted pipelines of scikit-learn: a scaled logistic regression of 20 numbers, and one
of 8 numbers and 4 texts. It compares with the pipelines themselves and with ONNX Runtime, which reads the
file that schedc exports; taking columns out of the frame is part of its call. Needs scikit-learn, ONNX and
the packages of --frames.

"""

import argparse
import importlib.util
import json
import tempfile
import time
from pathlib import Path

from engines import onnx_session  # sets the number of threads

import numpy
import schedc
import schedc_runtime
from turns import Contender, Program, race

ROUNDS = 15  # number of samples of a contender at each size
#: Rows of calls on frames, and the most rows of a list of dicts.
FRAME_SIZES, MOST_RECORDS = (1, 10, 1_000, 100_000), 1_000
PIPELINE_SIZES = (1, 1_000)
SIZES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


def installed(name):
    return importlib.util.find_spec(name) is not None


def contenders(folder):
    """Functions that predict rows, by name, and the packages that are missing."""
    path = next(path for path in (folder / "model.json", folder / "model.txt") if path.exists())
    model = schedc.compile(path)
    runtime = schedc_runtime.load(model.library)
    found = {
        "schedc": lambda rows: model.predict(rows, threads=1),
        "schedc_runtime": lambda rows: runtime.predict(rows, threads=1),
    }
    if path.suffix == ".json":
        import xgboost

        booster = xgboost.Booster({"nthread": 1}, model_file=str(path))
        found["XGBoost, inplace_predict"] = booster.inplace_predict
        found[
            "XGBoost, predict of a DMatrix"
        ] = lambda rows: booster.predict(xgboost.DMatrix(rows, nthread=1), validate_features=False)
        source, convert = booster, "convert_xgboost"
    else:
        import lightgbm

        light = lightgbm.Booster(model_file=str(path))
        found["LightGBM"] = lambda rows: light.predict(rows, num_threads=1)
        source, convert = light, "convert_lightgbm"
        if installed("lleaves"):
            import lleaves

            lean = lleaves.Model(model_file=str(path))
            lean.compile()
            found["lleaves"] = lambda rows: lean.predict(rows, n_jobs=1)
    if installed("onnxruntime") and installed("onnxmltools"):
        try:
            found["ONNX Runtime"] = onnx_call(source, convert, runtime.num_features)
        except Exception as error:  # any error of its converter
            print(f"ONNX Runtime is left out: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
    return found


def onnx_call(source, convert, features):
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    named = convert == "convert_xgboost"
    if named:  # The converter requires names of this form.
        source.feature_names = [f"f{at}" for at in range(features)]
    model = getattr(onnxmltools, convert)(source, initial_types=[("rows", FloatTensorType([None, features]))])
    if named:
        source.feature_names = None
    session = onnx_session(model.SerializeToString())
    name = session.get_outputs()[-1].name
    return lambda rows: session.run([name], {"rows": rows})[0]


def measure(folder, most):
    rows = numpy.load(folder / "X_test.npy").astype("float32")
    programs = [Program(name).way("call", call) for name, call in contenders(folder).items()]
    figures = {program.name: {} for program in programs}
    for size in (size for size in SIZES if size <= most):
        given = numpy.ascontiguousarray(numpy.tile(rows, (-(-size // len(rows)), 1))[:size])
        ways = [way for program in programs for way in program.ways(given, size, 1)]
        race(ways, ROUNDS if size < 100_000 else 2, seconds=0.02, clock=time.perf_counter)
        for way in ways:
            figures[way.who][size] = way.samples[0]
    return figures


def frames_of(rows, names):
    """The rows in every kind of frame, by name."""
    import pandas
    import polars
    import pyarrow

    columns = {name: rows[:, at].copy() for at, name in enumerate(names)}
    table = pyarrow.table(columns)
    made = {
        "array": rows,
        "pandas": pandas.DataFrame(rows, columns=names),
        "pandas, nullable columns": pandas.DataFrame(rows, columns=names).astype("Float32"),
        "pandas, columns of pyarrow": table.to_pandas(types_mapper=pandas.ArrowDtype),
        "Polars": polars.DataFrame(columns),
        "pyarrow Table": table,
        "pyarrow RecordBatch": table.combine_chunks().to_batches()[0],
        "dict of arrays": columns,
    }
    if len(rows) <= MOST_RECORDS:
        made["list of dicts"] = pandas.DataFrame(rows, columns=names).to_dict("records")
    return made


def frame_contenders(folder):
    """Functions that predict frames, by name, and the names of the features."""
    path = next(path for path in (folder / "model.json", folder / "model.txt") if path.exists())
    count = numpy.load(folder / "X_test.npy", mmap_mode="r").shape[1]
    names = [f"feature_{at}" for at in range(count)]
    if path.suffix == ".json":
        import xgboost

        booster = xgboost.Booster({"nthread": 1}, model_file=str(path))
        booster.feature_names = names
        theirs = {
            "XGBoost, inplace_predict": lambda rows: booster.inplace_predict(rows),
            "XGBoost, predict of a DMatrix": lambda rows: booster.predict(
                xgboost.DMatrix(rows, nthread=1, feature_names=names)),
        }
        model = schedc.compile(booster)
    else:
        import lightgbm

        # Replaces the names of an array's columns in the model's file.
        text = path.read_text()
        line = next(line for line in text.splitlines() if line.startswith("feature_names="))
        light = lightgbm.Booster(model_str=text.replace(line, "feature_names=" + " ".join(names)))
        theirs = {"LightGBM": lambda rows: light.predict(rows, num_threads=1)}
        model = schedc.compile(light)
    return {"schedc": lambda rows: model.predict(rows, threads=1), **theirs}, names


def takes(call, frame):
    """Whether a contender predicts a kind of frame."""
    try:
        call(frame)
    except Exception:  # any error of another package
        return False
    return True


def measure_frames(folder, most):
    rows = numpy.load(folder / "X_test.npy").astype("float32")
    found, names = frame_contenders(folder)
    figures = {}
    for size in (size for size in FRAME_SIZES if size <= most):
        given = frames_of(numpy.ascontiguousarray(numpy.tile(rows, (-(-size // len(rows)), 1))[:size]), names)
        ways = [Contender(contender, kind, call, [frame]) for contender, call in found.items()
                for kind, frame in given.items() if takes(call, frame)]
        race(ways, 4 * ROUNDS if size < 100_000 else 4)
        for way in ways:
            figures.setdefault(f"{way.who}, {way.way}", {})[size] = way.samples[0]
    return figures


def texts_and_numbers(count):
    """A frame of 8 columns of numbers and 4 of texts with 2 to 12 values."""
    import pandas

    source = numpy.random.default_rng(0)
    columns = {f"number_{at}": source.normal(size=count) for at in range(8)}
    for at, values in enumerate((2, 5, 8, 12)):
        known = numpy.array([f"value {value} of {at}" for value in range(values)], dtype=object)
        columns[f"text_{at}"] = known[source.integers(0, values, count)]
    return pandas.DataFrame(columns)


def pipelines():
    """The fitted pipelines by name, each with its rows in several kinds of arrays and frames."""
    import polars
    import pyarrow
    from sklearn import compose, impute, linear_model, preprocessing
    from sklearn.pipeline import make_pipeline

    numbers = numpy.random.default_rng(1).normal(size=(4_000, 20))
    model = make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    model.fit(numbers, numbers[:, 0] > 0)
    yield "Pipeline of 20 numbers", model, {"array": numbers, "array of float32": numbers.astype("float32")}
    frame = texts_and_numbers(4_000)
    texts = [name for name in frame if name.startswith("text")]
    scaled = make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler())
    encoded = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [("numbers", scaled, [name for name in frame if name not in texts]), ("texts", encoded, texts)]
    model = make_pipeline(compose.ColumnTransformer(parts), linear_model.LogisticRegression(max_iter=300))
    model.fit(frame, frame["number_0"] > 0)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    yield "Pipeline of 8 numbers and 4 texts", model, {
        "pandas": frame,
        "pandas, columns of objects": frame.astype(dict.fromkeys(texts, object)),
        "pandas, categories": frame.astype(dict.fromkeys(texts, "category")),
        "Polars": polars.from_arrow(table),
        "pyarrow Table": table,
    }


def exported_call(model):
    """A call of ONNX Runtime with the exported file of a pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        schedc.export(model, f"{folder}/p.onnx")
        session = onnx_session(f"{folder}/p.onnx")
    names = [put.name for put in session.get_inputs()]
    if names == ["X"]:
        return lambda rows: session.run(None, {"X": rows})
    return lambda rows: session.run(None, {name: rows[name].to_numpy().reshape(-1, 1) for name in names})


def measure_pipelines(most):
    figures = {}
    for name, model, kinds in pipelines():
        calls = {"schedc": schedc.compile(model).predict_proba, "scikit-learn": model.predict_proba}
        if installed("onnxruntime"):
            calls["ONNX Runtime"] = exported_call(model)
        for size in (size for size in PIPELINE_SIZES if size <= most):
            ways = [Contender(who, f"{name}, {kind}", call, [rows[:size]]) for who, call in calls.items()
                    for kind, rows in kinds.items() if takes(call, rows[:size])]
            race(ways, ROUNDS)
            for way in ways:
                figures.setdefault(f"{way.way}: {way.who}", {})[size] = way.samples[len(way.samples) // 2]
    return figures


def table(name, figures):
    sizes = list(next(iter(figures.values())))
    yield f"### {name}, microseconds a call"
    yield ""
    yield "| rows a call | " + " | ".join(f"{size:,}" for size in sizes) + " |"
    yield "|---|" + "---:|" * len(sizes)
    for contender, times in figures.items():
        cells = (f"{times[size] * 1e6:,.{1 if times[size] < 1e-3 else 0}f}" if size in times else ""
                 for size in sizes)
        yield f"| {contender} | " + " | ".join(cells) + " |"
    yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="?")
    parser.add_argument("--names", default="higgs,lgb_reg_500x63")
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--frames", action="store_true")
    parser.add_argument("--pipelines", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.pipelines:
        all_figures = {"Fitted pipelines": measure_pipelines(arguments.most)}
    elif arguments.models is None:
        parser.error("give the folder of models, or --pipelines")
    else:
        of_model = measure_frames if arguments.frames else measure
        all_figures = {name: of_model(arguments.models / name, arguments.most)
                       for name in arguments.names.split(",")}
    if arguments.json:
        print(json.dumps(all_figures))
        return
    for name, figures in all_figures.items():
        print("\n".join(table(name, figures)))


main()
