"""Programs that predict a model, called from Python and timed in turns with schedc's library.

    python bench/peers.py --schedc SCHEDC --model MODEL --rows ROWS.npy [--peers oneDAL,lignum]
    python bench/peers.py --schedc SCHEDC --model MODEL --rows ROWS.npy --cost lignum

`schedc bench --peers` and bench/run.sh run this program. It prints JSON, one object per line. The first lines
have, for each program, the comparison of its results with schedc's, or the reason why it is left out. Then
come the figures of each way of prediction at each point. `--cost` prints the time to the first prediction and
the memory of one program. Only NumPy is required; requirements.txt beside this file has the versions of the
other packages.

"""

import argparse
import contextlib
import ctypes
import importlib.metadata
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import date
from pathlib import Path
from types import SimpleNamespace

for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before any peer is imported
import numpy  # noqa: E402

import turns  # noqa: E402
from turns import Program  # noqa: E402

# Largest difference between sums of thousands of floats in different orders.
TOLERANCE = 1e-4
# Age of a pin in months above which a newer release probably exists.
OLD = 6
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


def catboost(model):
    import catboost

    made = catboost.CatBoost()
    made.load_model(str(model.path), format="json" if model.path.suffix == ".json" else "cbm")
    return Program("CatBoost").way(
        "Pool", lambda pool: made.predict(pool, prediction_type="RawFormulaVal", thread_count=1),
        catboost.Pool
    ).way("predict", lambda rows: made.predict(rows, prediction_type="RawFormulaVal", thread_count=1))


def onnxruntime(model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model.path), options, providers=["CPUExecutionProvider"])
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
    if model.outputs == 1 and model.trainer != "CatBoost":
        made = daal4py.mb.convert_model(as_regression(model))
    elif model.trainer == "CatBoost":
        import catboost

        booster = catboost.CatBoost()
        booster.load_model(str(model.path), format="json" if model.path.suffix == ".json" else "cbm")
        made = daal4py.mb.convert_model(booster)
    else:
        made = daal4py.mb.convert_model(
            xgboost_booster(model) if model.trainer == "XGBoost" else as_regression(model))
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


def limited(command, seconds, note):
    """Runs a compiler with a time limit. The file `note` records a limit that was too short."""
    if note.exists() and float(note.read_text()) >= seconds:
        raise Unfit(f"compiling took more than {note.read_text()} s before")
    try:
        subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        note.write_text(str(seconds))
        raise Unfit(f"compiling took more than {seconds} s") from None
    except subprocess.CalledProcessError as error:
        raise Unfit(reason_of(error.stderr.decode(errors="replace"))) from None


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


@contextlib.contextmanager
def no_output():
    """A context that discards the messages that a library's C code prints."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


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


def pins():
    """The pinned versions of packages, each with the month of its release if it is a peer."""
    lines = re.findall(r"^([\w.-]+)==(\S+)(?:\s*# (\d{4}-\d\d))?",
                       (Path(__file__).parent / "requirements.txt").read_text(), re.M)
    return {package: (version, month) for package, version, month in lines}


def old_pins(today=None):
    """Sentences about pins that are older than `OLD` months."""
    today = today or date.today()
    for package, (version, month) in pins().items():
        if month:
            age = (today.year - int(month[:4])) * 12 + today.month - int(month[5:])
            if age > OLD:
                yield f"the pin {package}=={version} is {age} months old: look for a newer release"


def reason_of(error):
    """The first line of an error's text."""
    return ([*filter(None, map(str.strip, str(error).splitlines()))] or [type(error).__name__])[0][:200]


def remark(who, **facts):
    print(json.dumps({"who": who, **facts}), flush=True)


def loaded(name, package, load, model):
    """Loads a model into a peer. If that fails, prints the reason and returns None."""
    try:
        with no_output():
            return load(model)
    except ModuleNotFoundError:
        remark(name, missing=f"pip install {package}=={pins()[package][0]}")
        return None
    except Exception as error:  # any error of a peer leaves it out
        remark(name, left_out=reason_of(error))
        return None


def wanted(model, names):
    """The peers that read a model's format."""
    return [peer for peer in PEERS
            if model.trainer in peer[2].split() and (names is None or peer[0] in names)]


def agree(program, expected, rows):
    """Whether a program's results agree with schedc's. Prints the comparison as a line of the output."""
    try:
        with no_output():
            found = program.results(rows)
    except Exception as error:
        remark(program.name, left_out=reason_of(error))
        return False
    equal, largest = turns.compare(expected[program.kind], found)
    remark(program.name, margins=len(found), bit_equal=equal, largest_relative_difference=min(largest, 1e300))
    return largest <= TOLERANCE


def softmax(margins):
    """The probabilities of classes."""
    powers = numpy.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def measure(options, model, rows):
    """Compares the results of all programs with schedc's, and times those that agree."""
    expected = {kind: schedc(model, kind).results(rows) for kind in ("margins", "predictions")}
    expected["probabilities"] = softmax(expected["margins"].reshape(-1, model.outputs)).reshape(-1)
    programs = [schedc(model)]
    if options.harness:
        import native

        harness = native.Harness(options.harness, rows, model.outputs, options.kind)
        programs = [native.Native(harness, *words) for words in json.loads(options.programs)]
    for name, package, _, load in wanted(model, options.peers):
        peer = loaded(name, package, load, model)
        programs += [peer] if peer else []
    right = [programs[0], *(program for program in programs[1:] if agree(program, expected, rows))]
    for point in turns.points(right, rows, options.batches, options.threads, options.repetitions):
        print(json.dumps(point), flush=True)


def status(field):
    """A field of the process's status, in MiB."""
    return int(re.search(rf"{field}:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def spent():
    """The processor time of this process and of its children, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def largest_child():
    """The largest peak memory of a child process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def cost(name, options, rows):
    """Prints the cost of a program's first prediction: processor time, including the package's import and
    compilers; memory, of this process or of its largest compiler; and the sizes of the loaded model and of
    the installed package."""
    package, load = next((peer[1:4:2] for peer in PEERS if peer[0] == name), (None, schedc))
    model = model_of(options, rows.itemsize)
    before, begun, compilers = status("VmRSS"), spent(), largest_child()
    try:
        with no_output():
            if load is schedc and not model.artefact:
                model.artefact = build(options)
            program = load(model)
            program.results(rows[:1])
    except ModuleNotFoundError:
        return remark(name, missing=f"pip install {package}=={pins()[package][0]}")
    except Exception as error:  # any error of a peer leaves it out
        return remark(name, left_out=reason_of(error))
    seconds, own = spent() - begun, status("VmHWM") - before
    compiler = largest_child()
    size = program.size() if program.size else (model.artefact or model.path).stat().st_size
    return remark(name, seconds=seconds, mib=max(own, compiler if compiler > compilers else 0),
                  bytes=size, install=install_size(package) if package else 0)


def install_size(package, seen=None):
    """The size of a package and of its installed dependencies, in bytes."""
    seen = set() if seen is None else seen
    try:
        found = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return 0
    if package.lower() in seen:
        return 0
    seen.add(package.lower())
    own = sum(path.stat().st_size for path in map(found.locate_file, found.files or []) if path.is_file())
    needed = [re.match(r"[\w.-]+", word)[0] for word in found.requires or [] if "extra ==" not in word]
    return own + sum(install_size(name, seen) for name in needed)


def build(options):
    """Builds schedc's library of the model."""
    library = options.work / "schedc.so"
    subprocess.run([options.schedc, "build", options.model, "-o", library, *options.build], check=True,
                   capture_output=True)
    return library


def model_of(options, element):
    """The properties of the model that peers need."""
    text = subprocess.run([options.schedc, "inspect", options.model, "--json"], check=True,
                          capture_output=True, text=True).stdout
    about = json.loads(text)
    trainer = "ONNX" if options.model.suffix == ".onnx" else about["trainer"] or ""
    return SimpleNamespace(path=options.model, trainer=trainer, outputs=about["num_margins"],
                           features=about["num_features"], base=about["base"], work=options.work,
                           seconds=options.compile_seconds, artefact=options.artefact, element=element,
                           threads=1)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedc", required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--artefact", type=Path)
    parser.add_argument("--build", action="append", default=[])
    parser.add_argument("--harness", type=Path)
    parser.add_argument("--programs", default="[]")
    parser.add_argument("--peers", type=lambda text: text.split(","))
    parser.add_argument("--batches", type=numbers, default=[1, 64, 1024, 16384])
    parser.add_argument("--threads", type=numbers, default=[1])
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--compile-seconds", type=float, default=60)
    parser.add_argument("--doubles", action="store_true")
    parser.add_argument("--kind", default="margins")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--cost")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        options.work = options.work or Path(work)
        options.work.mkdir(parents=True, exist_ok=True)
        rows = numpy.load(options.rows).astype("float64" if options.doubles else "float32", copy=False)
        most = max(options.batches)
        rows = numpy.ascontiguousarray(numpy.tile(rows, (max(-(-most // len(rows)), 1), 1)))
        if options.cost:
            return cost(options.cost, options, rows)
        options.artefact = options.artefact or build(options)
        measure(options, model_of(options, rows.itemsize), rows)


if __name__ == "__main__":
    main()
