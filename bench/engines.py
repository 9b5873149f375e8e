"""The engines that Python calls: a function for each, which loads a model.

Each is imported only when its function is called. requirements.txt beside this file has the versions of their
packages.

"""

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before any engine is imported
import numpy  # noqa: E402

import turns  # noqa: E402
from turns import Program  # noqa: E402

# Most leaves of a tree in YDF's fast engine, which has a bit of a register for each.
YDF_LEAVES = 64


class Unfit(Exception):
    """The reason why a program cannot predict a model."""


class Call(ctypes.Structure):
    """The call structure of a built library."""

    _fields_ = [("size", ctypes.c_uint32), ("kind", ctypes.c_int32), ("rows", ctypes.c_void_p),
                ("n_rows", ctypes.c_int64), ("out", ctypes.c_void_p), ("dtype", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("row_stride", ctypes.c_int64), ("scratch", ctypes.c_void_p),
                ("scratch_size", ctypes.c_int64)]


def schedc(model, kind="margins"):
    """schedc's built library, as a program to time."""
    library, number = ctypes.CDLL(str(model.artefact)), int(kind == "margins")
    kept = "float64" if library.schedc_output_type(number) else "float32"

    def convert(rows):
        out = numpy.zeros(len(rows) * model.outputs, kept)
        call = Call(ctypes.sizeof(Call), number, rows.ctypes.data, len(rows), out.ctypes.data,
                    int(rows.itemsize == 8), model.threads)
        return ctypes.byref(call), rows, out

    def predict(given):
        if library.schedc_predict_ex(given[0]):
            raise Unfit("the library refuses a call")
        return given[2]

    return Program("schedc", kind).way("library", predict, convert, single=False)


def doubles(rows):
    return numpy.ascontiguousarray(rows, "float64")


def quiet(function, *arguments, **named):
    """Calls a function without its warnings, such as those about old formats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **named)


def xgboost_booster(model):
    import xgboost

    return quiet(xgboost.Booster, {"nthread": 1}, model_file=str(model.path))


def xgboost(model):
    import xgboost

    booster = xgboost_booster(model)
    return Program("XGBoost").way(
        "inplace", lambda rows: booster.inplace_predict(rows, predict_type="margin", validate_features=False)
    ).way(
        "DMatrix of the call", lambda rows: booster.predict(
            xgboost.DMatrix(rows, nthread=1), output_margin=True, validate_features=False))


def lightgbm(model):
    import lightgbm

    booster = lightgbm.Booster(model_file=str(model.path))
    return Program("LightGBM").way("predict",
                                   lambda rows: booster.predict(rows, raw_score=True, num_threads=1))


def lleaves(model):
    import lleaves

    made = lleaves.Model(model_file=str(model.path))
    kept = model.work / "lleaves.bin"
    made.compile(cache=str(kept), raw_score=True)
    program = Program("lleaves").way("predict", lambda rows: made.predict(rows, n_jobs=1), doubles)
    program.size = lambda: kept.stat().st_size
    return program


def catboost_model(model):
    import catboost

    made = catboost.CatBoost()
    made.load_model(str(model.path), format="json" if model.path.suffix == ".json" else "cbm")
    return made


def catboost(model):
    import catboost

    made = catboost_model(model)
    return Program("CatBoost").way(
        "Pool", lambda pool: made.predict(pool, prediction_type="RawFormulaVal", thread_count=1),
        catboost.Pool
    ).way("predict", lambda rows: made.predict(rows, prediction_type="RawFormulaVal", thread_count=1))


def onnx_session(source):
    """A session of ONNX Runtime with one thread, for a file or its bytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def onnxruntime(model):
    session = onnx_session(str(model.path))
    rows_name, results = session.get_inputs()[0].name, [session.get_outputs()[-1].name]
    return Program("ONNX Runtime", "predictions").way(
        "run", lambda rows: session.run(results, {rows_name: rows})[0])


def as_regression(model):
    """The trainer's booster with the objective of a regression, so that its predictions are the margins."""
    if model.trainer == "LightGBM":
        import lightgbm

        text = re.sub(r"^objective=.*$", "objective=regression", model.path.read_text(), flags=re.M)
        return lightgbm.Booster(model_str=text)
    import xgboost

    document = json.loads(bytes(xgboost_booster(model).save_raw("json")))
    document["learner"]["objective"] = {"name": "reg:squarederror",
                                        "reg_loss_param": {"scale_pos_weight": "1"}}
    document["learner"]["learner_model_param"]["base_score"] = f"[{model.base[0]!r}]"
    return xgboost.Booster({"nthread": 1}, model_file=bytearray(json.dumps(document).encode()))


def onedal(model):
    """oneDAL, by the conversion of daal4py. For several classes, the results are probabilities."""
    import daal4py

    daal4py.daalinit(1)
    if model.trainer == "CatBoost":
        booster = catboost_model(model)
    else:
        several = model.trainer == "XGBoost" and model.outputs > 1
        booster = xgboost_booster(model) if several else as_regression(model)
    made = daal4py.mb.convert_model(booster)
    kept, single = made.daal_model_, "float" if model.element == 4 else "double"
    if made.is_regressor_:
        algorithm = daal4py.gbt_regression_prediction
        return Program("oneDAL").way(
            "compute", lambda rows: algorithm(fptype=single).compute(rows, kept).prediction)
    algorithm, classes = daal4py.gbt_classification_prediction, made.n_classes_
    return Program("oneDAL", "probabilities").way(
        "compute", lambda rows: algorithm(nClasses=classes, fptype=single, resultsToEvaluate=
                                          "computeClassProbabilities").compute(rows, kept).probabilities)


def lignum(model):
    import lignum

    made = lignum.load(str(model.path))
    program = Program("lignum").way(
        "predict", lambda rows: made.predict(rows, raw_score=True, n_jobs=1), doubles)
    program.size = lambda: saved(model, made.save)
    return program


def saved(model, save):
    """The size of the file that the function `save` writes, in bytes."""
    path = model.work / "saved"
    save(str(path))
    return path.stat().st_size


def lignum_compiled(model):
    """lignum's C code of the trees, compiled by the system's compiler once for each work folder."""
    import lignum

    library = model.work / "lignum.so"
    if not library.exists():
        compile_it = ("import lignum, sys\n"
                      "lignum.load(sys.argv[1]).compile(library=sys.argv[2], work_dir=sys.argv[3])")
        with tempfile.TemporaryDirectory() as made:
            limited([sys.executable, "-c", compile_it, model.path, f"{made}/lignum.so", made],
                    model.seconds, model.work / "lignum.limit")
            library.write_bytes(Path(made, "lignum.so").read_bytes())
    made = lignum.load(str(model.path), compiled=library)
    program = Program("lignum compiled").way(
        "predict", lambda rows: made.predict(rows, raw_score=True, n_jobs=1), doubles)
    program.size = lambda: saved(model, made.save) + library.stat().st_size
    return program


def reason_of(error):
    """The first line of an error's text, or the last one of a traceback."""
    lines = [*filter(None, map(str.strip, str(error).splitlines()))] or [type(error).__name__]
    return lines[-1 if lines[0].startswith("Traceback") else 0][:200]


def limited(command, seconds, note):
    """Runs a compiler with a time limit. The file `note` records a limit that was too short."""
    if note.exists() and float(note.read_text()) >= seconds:
        raise Unfit(f"compiling took more than {note.read_text()} s before")
    # The program `timeout` also ends the compiler's own processes; its status is then 124.
    done = subprocess.run(["timeout", f"{seconds}", *map(str, command)], capture_output=True, text=True,
                          errors="replace")
    if done.returncode == 124:
        note.write_text(str(seconds))
        raise Unfit(f"compiling took more than {seconds} s")
    if done.returncode:
        raise Unfit(reason_of(done.stderr))


def hessboost(model):
    """hessboost. Files of older releases of XGBoost are first rewritten by the installed release."""
    import hessboost

    try:
        made = hessboost.Booster(str(model.path))
    except Exception:
        if model.trainer != "XGBoost":
            raise
        made = hessboost.Booster(bytes(xgboost_booster(model).save_raw("json")))
    out = numpy.zeros(model.outputs, "float32")
    program = Program("hessboost").way(
        "predict", lambda rows: made.predict(rows, output_margin=True, validate_features=False)
    ).way("predict_row", lambda row: made.predict_row(row, output_margin=True, out=out),
          lambda rows: rows[0], row_limit=1)
    program.size = lambda: len(made.save_raw("binary"))
    return program


def ydf(model):
    """YDF's QuickScorer, timed by YDF's own benchmark in C++, since calls from Python would convert rows."""
    import ydf

    ydf.verbose(0)
    learner = json.loads(model.path.read_text())["learner"]
    trees = learner["gradient_booster"]["model"]["trees"]
    if model.outputs > 1 or max(tree["left_children"].count(-1) for tree in trees) > YDF_LEAVES:
        raise Unfit(f"its fast engine is for one output and {YDF_LEAVES} leaves a tree")
    if any(any(tree.get("split_type", [])) for tree in trees):
        raise Unfit("categories are not converted")
    names = [f"f{at}" for at in range(model.features)]
    few = {name: numpy.arange(12, dtype="float32") for name in [*names, "label"]}
    made = ydf.GradientBoostedTreesLearner(
        label="label", task=ydf.Task.REGRESSION, num_trees=1, validation_ratio=0.0, min_examples=1,
        features=[ydf.Feature(name, ydf.Semantic.NUMERICAL) for name in names]).train(few, verbose=0)
    made.remove_tree(0)
    columns = {column.name: at for at, column in enumerate(made.data_spec().columns)}
    for tree in trees:
        made.add_tree(ydf.tree.Tree(root=ydf_node(ydf.tree, tree, 0, columns)))
    made.set_initial_predictions([float(model.base[0])])
    engine = made.list_compatible_engines()[0]
    made.force_engine(engine)

    def dataset(rows):
        named = {name: numpy.ascontiguousarray(rows[:, at]) for at, name in enumerate(names)}
        return ydf.create_vertical_dataset(named | {"label": numpy.zeros(len(rows), "float32")},
                                           data_spec=made.data_spec())

    return Ydf(made, engine, dataset)


def ydf_node(kinds, tree, node, columns):
    """A node with its subtree. YDF replaces missing values by the feature's mean, so they go where the mean
    goes."""
    left, right = tree["left_children"][node], tree["right_children"][node]
    value = tree["split_conditions"][node]
    if left < 0:
        return kinds.Leaf(value=kinds.RegressionValue(value=value, num_examples=1))
    condition = kinds.NumericalHigherThanCondition(
        missing=5.5 >= value, score=0, threshold=value, attribute=columns[f"f{tree['split_indices'][node]}"])
    return kinds.NonLeaf(condition=condition, pos_child=ydf_node(kinds, tree, right, columns),
                         neg_child=ydf_node(kinds, tree, left, columns))


class Ydf(Program):
    """YDF: a sample is a run of its own benchmark."""

    def __init__(self, made, engine, dataset):
        super().__init__("YDF")
        self.made, self.dataset = made, dataset
        self.engine = engine.removeprefix("GradientBoostedTrees")

    def results(self, rows):
        return self.made.predict(self.dataset(rows), num_threads=1).reshape(-1).astype("float64")

    def ways(self, rows, batch, threads):
        given = self.dataset(rows[:max(batch, 1024)])

        def sample(calls, clock):
            # YDF reports wall time, which other processes lengthen. Scales it by processor time over wall
            # time.
            used, begun = clock(), time.perf_counter()
            taken = self.made.benchmark(given, benchmark_duration=turns.SAMPLE, batch_size=batch,
                                        warmup_duration=turns.SAMPLE / 4, num_threads=1)
            share = (clock() - used) / (time.perf_counter() - begun)
            return taken.duration_per_example * share * batch * calls

        way = turns.Contender(self.name, self.engine, None, [])
        way.sample, way.most = sample, 1
        return [way]


# Name, package, trainers whose models it reads, and the function that loads one.
PEERS = [
    ("XGBoost", "xgboost", "XGBoost", xgboost),
    ("LightGBM", "lightgbm", "LightGBM", lightgbm),
    ("CatBoost", "catboost", "CatBoost", catboost),
    ("oneDAL", "scikit-learn-intelex", "XGBoost LightGBM CatBoost", onedal),
    ("lignum", "pylignum", "XGBoost LightGBM CatBoost", lignum),
    ("lignum compiled", "pylignum", "XGBoost LightGBM", lignum_compiled),
    ("hessboost", "hessboost", "XGBoost LightGBM", hessboost),
    ("YDF", "ydf", "XGBoost", ydf),
    ("lleaves", "lleaves", "LightGBM", lleaves),
    ("ONNX Runtime", "onnxruntime", "ONNX", onnxruntime),
]
