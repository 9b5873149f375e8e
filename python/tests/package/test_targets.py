"""Classifiers of several targets return the results of the fitted objects, both compiled and exported."""

import os
import pathlib
import pickle
import runpy
import subprocess
import sys
import types

import numpy
import pytest

onnx = pytest.importorskip("onnx")
pandas = pytest.importorskip("pandas")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")

import schedc  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from pipelines import NUMBERS, TABLE, columns, forest, imputed, make, one_hot  # noqa: E402
from releases import has, since  # noqa: E402
from sklearn import (  # noqa: E402
    compose,
    cross_decomposition,
    ensemble,
    impute,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    neural_network,
    preprocessing,
    svm,
    tree,
)

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
RANDOM = numpy.random.default_rng(4)
ROWS = RANDOM.normal(size=(150, 4))
SIGNS = (ROWS[:, :3] + 0.5 * RANDOM.normal(size=(150, 3)) > 0).astype(int)
COUNTS = SIGNS.sum(axis=1)
WORDS = numpy.array(["none", "one", "two", "all"])[COUNTS]
#: Labels of several targets by name.
LABELS = {
    "bits": SIGNS,
    "numbers": numpy.column_stack([SIGNS[:, 0] * 5 - 2, COUNTS]),
    "words": numpy.column_stack([numpy.where(SIGNS[:, 0] > 0, "yes", "no"), WORDS]),
    "objects": numpy.column_stack([WORDS, WORDS[::-1]]).astype(object),
    "empty": numpy.column_stack([numpy.where(SIGNS[:, 0] > 0, "", "no"), numpy.where(COUNTS > 1, "b", "")]),
    "one": SIGNS[:, :1] * 3,
    "same": numpy.column_stack([SIGNS[:, 0], numpy.full(150, 7)]),
    "wholes": SIGNS.astype(float),
    "truths": SIGNS[:, :2] > 0,
    "always": numpy.column_stack([SIGNS[:, 0], numpy.ones(150, int), numpy.zeros(150, int)]),
    "noise": numpy.column_stack([numpy.where(SIGNS[:, 0] > 0, "yes", "no"), ["low", "high", "high"] * 50]),
}


QUIET = {"verbose": 0, "allow_writing_files": False}


def logistic():
    return linear_model.LogisticRegression()


def cases():
    """Models, their labels, and whether the results are equal in all bits."""
    each = multioutput.MultiOutputClassifier
    for labels in ("bits", "numbers", "words", "objects", "empty", "one", "wholes"):
        yield each(logistic()), labels, False
    yield each(linear_model.RidgeClassifier()), "words", False
    yield each(linear_model.Perceptron()), "bits", False
    yield each(svm.LinearSVC(random_state=0)), "numbers", False
    yield each(forest()), "words", True
    yield each(ensemble.HistGradientBoostingClassifier(max_iter=3)), "numbers", False
    for method in ("predict", "predict_proba", "decision_function"):
        yield since("1.5", lambda: multioutput.ClassifierChain(
            logistic(), order=[2, 0, 1], chain_method=method)), "bits", False
    yield multioutput.ClassifierChain(linear_model.RidgeClassifier()), "bits", False
    yield multioutput.ClassifierChain(logistic(), order="random", random_state=0, cv=3), "wholes", False
    yield multioutput.ClassifierChain(logistic()), "one", False
    # If a target does not depend on the rows, the model always predicts the same label.
    yield each(linear_model.LogisticRegression(penalty="l1", solver="liblinear", C=0.05)), "noise", False
    yield each(tree.DecisionTreeClassifier(min_impurity_decrease=0.1)), "noise", True
    yield multiclass.OneVsRestClassifier(forest()), "always", True
    for labels in LABELS:
        if labels != "one":
            yield tree.DecisionTreeClassifier(max_depth=4, random_state=0), labels, True
            yield forest(), labels, True
    yield tree.ExtraTreeClassifier(max_depth=4, random_state=0), "objects", True
    yield forest(ensemble.ExtraTreesClassifier), "words", True
    yield linear_model.RidgeClassifier(), "bits", False
    yield linear_model.RidgeClassifierCV(), "bits", False
    yield multiclass.OneVsRestClassifier(logistic()), "bits", False
    yield multiclass.OneVsRestClassifier(svm.LinearSVC(random_state=0)), "bits", False
    yield multiclass.OneVsRestClassifier(forest()), "bits", True
    yield neural_network.MLPClassifier((4,), max_iter=20, random_state=0), "bits", False
    yield imputed(preprocessing.StandardScaler(), forest()), "words", True
    yield make(preprocessing.StandardScaler(), each(logistic())), "words", False
    yield model_selection.GridSearchCV(forest(), {"max_depth": [2, 3]}, cv=2), "bits", True
    for model in (xgboost.XGBClassifier(n_estimators=4), xgboost.XGBRFClassifier(n_estimators=4)):
        yield make(preprocessing.StandardScaler(), model), "bits", False
    for loss in ("MultiLogloss", "MultiCrossEntropy"):
        model = catboost.CatBoostClassifier(iterations=4, loss_function=loss, **QUIET)
        yield make(preprocessing.StandardScaler(), model), "bits", False


CASES = list(cases())


def named(case):
    return "".join(str(case[0]).split())[:90] + "-" + case[1]


def pieces(answer):
    """The arrays of an answer."""
    return answer if isinstance(answer, list) else [answer]


def check(ours, theirs, rows, is_equal):
    for method in METHODS:
        # A chain has logarithms of probabilities even if its parts have none.
        is_there = hasattr(theirs, method.replace("_log", ""))
        assert hasattr(ours, method) == (is_there and hasattr(theirs, method)), method
        if not hasattr(ours, method):
            continue
        with numpy.errstate(divide="ignore"):
            expected, found = getattr(theirs, method)(rows), getattr(ours, method)(rows)
        assert isinstance(found, list) == isinstance(expected, list), method
        for one, empty in zip(pieces(found), pieces(getattr(ours, method)(rows[:0])), strict=True):
            assert (empty.dtype, empty.shape) == (one.dtype, (0, *one.shape[1:])), method
        for one, other in zip(pieces(found), pieces(expected), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), method
            if is_equal or one.dtype.kind != "f" or method == "predict":
                numpy.testing.assert_array_equal(one, other, method)
            else:
                numpy.testing.assert_allclose(one, other, rtol=0, atol=1e-9 if one.itemsize == 8 else 1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=map(named, CASES))
def test_same_answers(case, tmp_path):
    model, labels, is_equal = case
    theirs = model.fit(ROWS, LABELS[labels])
    ours = schedc.compile(theirs, effort="fast")
    ours.save(tmp_path / "m.so")
    for one in (ours, schedc.load(tmp_path / "m.so"), pickle.loads(pickle.dumps(ours))):
        check(one, theirs, ROWS, is_equal)
        check(one, theirs, ROWS[:1], is_equal)
        assert type(one.classes_) is type(theirs.classes_)
        for found, expected in zip(pieces(one.classes_), pieces(theirs.classes_), strict=True):
            numpy.testing.assert_array_equal(found, expected)
        right = (theirs.predict(ROWS) == LABELS[labels]).all(axis=1)
        assert one.score(ROWS, LABELS[labels]) == right.mean()
        weights = numpy.arange(150.0)
        assert one.score(ROWS, LABELS[labels], weights) == numpy.average(right, weights=weights)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES[::2], ids=map(named, CASES[::2]))
def test_files(case, tmp_path):
    """A file has the labels of all targets, and `schedc predict` prints them."""
    model, labels, _ = case
    theirs, path = model.fit(ROWS, LABELS[labels]), tmp_path / "p.onnx"
    schedc.export(theirs, path)
    evaluator = ReferenceEvaluator(str(path))
    found = evaluator.run(["label"], {"X": ROWS})[0]
    expected = theirs.predict(ROWS)
    numpy.testing.assert_array_equal(found.astype(str), expected.astype(found.dtype).astype(str))
    assert found.shape == LABELS[labels].shape
    printed = predicted(path, "class", tmp_path)
    words = expected.astype(found.dtype).astype(str)
    numpy.testing.assert_array_equal(printed.to_numpy(), words)
    count = words.shape[1]
    assert list(printed.columns) == (["class"] if count == 1 else [f"class_{at}" for at in range(count)])


def predicted(path, output, folder):
    """The rows as a file of this output, which `schedc predict` prints."""
    rows = folder / "rows.csv"
    pandas.DataFrame(ROWS).to_csv(rows, index=False, float_format="%.17g")
    command = [os.environ["SCHEDC"], "predict", "-q", path, "-i", rows, "--by-position"]
    subprocess.run([*command, "--output", output, "-o", folder / "out.csv"], check=True)
    return pandas.read_csv(folder / "out.csv", dtype=str, keep_default_na=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("labels", "heads"), [
    ("words", ["P_0(no)", "P_0(yes)", "P_1(all)", "P_1(none)", "P_1(one)", "P_1(two)"]),
    ("one", ["P(0)", "P(3)"]),
])
def test_headings_of_probabilities(labels, heads, tmp_path):
    theirs = multioutput.MultiOutputClassifier(logistic()).fit(ROWS, LABELS[labels])
    schedc.export(theirs, tmp_path / "p.onnx")
    printed = predicted(tmp_path / "p.onnx", "value", tmp_path)
    assert list(printed.columns) == heads
    shares = numpy.concatenate(theirs.predict_proba(ROWS), axis=1)
    numpy.testing.assert_allclose(printed.to_numpy(float), shares, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "labels", "heads"), [
    (multiclass.OneVsRestClassifier(logistic()), "bits", ["P_0(1)", "P_1(1)", "P_2(1)"]),
    (linear_model.RidgeClassifier(), "bits", ["score_0(1)", "score_1(1)", "score_2(1)"]),
    (multioutput.MultiOutputClassifier(linear_model.RidgeClassifier()), "words", ["class_0", "class_1"]),
    (multioutput.MultiOutputClassifier(linear_model.RidgeClassifier()), "numbers", ["class_0", "class_1"]),
], ids=str)
def test_main_output(model, labels, heads, tmp_path):
    """The columns that `schedc predict` prints by default."""
    theirs = model.fit(ROWS, LABELS[labels])
    schedc.export(theirs, tmp_path / "p.onnx")
    printed = predicted(tmp_path / "p.onnx", "value", tmp_path)
    assert list(printed.columns) == heads
    if heads[0] == "class_0":
        numpy.testing.assert_array_equal(printed.to_numpy(), theirs.predict(ROWS).astype(str))


@pytest.mark.filterwarnings("ignore")
def test_tables():
    """A table with texts, in single and in double precision."""
    theirs = make(columns(one_hot(), impute.SimpleImputer()), multioutput.MultiOutputClassifier(logistic()))
    goal = pandas.DataFrame({"a": TABLE.age > 40, "b": TABLE.floor})
    theirs.fit(TABLE, goal)
    check(schedc.compile(theirs, effort="fast"), theirs, TABLE, False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [
    multioutput.ClassifierChain(logistic(), order=[1, 2, 0]),
    multioutput.MultiOutputClassifier(logistic()),
    multioutput.RegressorChain(linear_model.Ridge(), order=[1, 2, 0]),
], ids=lambda model: type(model).__name__)
def test_single_precision(model):
    """A chain computes in double precision, since it appends its results to the rows."""
    theirs = model.fit(ROWS, SIGNS)
    ours, rows = schedc.compile(theirs, effort="fast"), ROWS.astype("float32")
    if hasattr(theirs, "predict_proba"):
        return check(ours, theirs, rows, False)
    found = ours.predict(rows)
    assert found.dtype == theirs.predict(rows).dtype
    numpy.testing.assert_allclose(found, theirs.predict(rows), rtol=0, atol=1e-12)


def test_without_positives():
    """A label that no row, or each row, of the training data has."""
    goal = numpy.column_stack([SIGNS, numpy.ones(150, int), numpy.zeros(150, int)])
    with pytest.warns(UserWarning, match="Label"):
        theirs = multiclass.OneVsRestClassifier(logistic()).fit(ROWS, goal)
    ours = schedc.compile(theirs, effort="fast")
    assert not hasattr(ours, "decision_function")
    numpy.testing.assert_array_equal(ours.predict(ROWS), theirs.predict(ROWS))
    numpy.testing.assert_allclose(ours.predict_proba(ROWS), theirs.predict_proba(ROWS), rtol=0, atol=1e-9)


@pytest.mark.parametrize("labels", [SIGNS, SIGNS[:, 0]], ids=["several", "one"])
def test_rows_on_the_threshold(labels):
    """The check has rows whose sums of whole numbers are 0 in the object's order of additions, and not in
    another order."""
    rows = numpy.round(ROWS * 2)
    theirs = linear_model.Perceptron().fit(rows, SIGNS[:, 0])
    if labels.ndim > 1:
        theirs = multioutput.MultiOutputClassifier(linear_model.Perceptron()).fit(rows, labels)
    found = schedc.compile(theirs, effort="fast").predict(rows)
    assert numpy.mean(found == theirs.predict(rows)) > 0.98


def test_onnx_runtime_has_one_thread():
    """The script of ``schedc verify --trainer`` runs ONNX Runtime with one thread, which adds in order."""
    place = pathlib.Path(__file__).parents[3] / "engine/verify/src/trainer.py"
    script = runpy.run_path(str(place))
    seen = []

    class Library:
        SessionOptions = types.SimpleNamespace

        @staticmethod
        def InferenceSession(model, options, providers):
            seen.append((model, options.intra_op_num_threads))

    assert next(script["onnxruntime"](numpy, Library, "model.onnx", None))[0] == "value"
    assert seen == [("model.onnx", 1)]


@pytest.mark.skipif("SCHEDC" not in os.environ, reason="SCHEDC names no program")
def test_verified_with_onnx_runtime(tmp_path):
    """The program compares a file of several outputs with ONNX Runtime by its probabilities."""
    pytest.importorskip("onnxruntime")
    theirs = multioutput.MultiOutputClassifier(logistic()).fit(ROWS, LABELS["words"])
    schedc.export(theirs, tmp_path / "targets.onnx")
    verify = [os.environ["SCHEDC"], "verify", tmp_path / "targets.onnx", "--trainer", "--budget", "10s"]
    run = subprocess.run(verify, capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})
    assert run.returncode == 0, run.stderr
    assert "onnxruntime" in run.stdout and run.stdout.splitlines()[-1] == "equal", run.stdout


def regressors():
    """Regressors of several targets behind a scaler, or below an object for each target."""
    scale = preprocessing.StandardScaler
    for kind in (xgboost.XGBRegressor, xgboost.XGBRFRegressor):
        yield make(scale(), kind(n_estimators=4))
    yield make(scale(), xgboost.XGBRegressor(n_estimators=4, objective="count:poisson", base_score=0.4))
    yield make(scale(), catboost.CatBoostRegressor(iterations=4, loss_function="MultiRMSE", **QUIET))
    for scaler in (None, scale(), scale(with_mean=False), scale(with_std=False)):
        part = compose.TransformedTargetRegressor(xgboost.XGBRegressor(n_estimators=4), transformer=scaler)
        yield multioutput.MultiOutputRegressor(part)
        yield multioutput.RegressorChain(part)
        yield part


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", list(regressors()), ids=lambda model: "".join(str(model).split())[:90])
def test_numbers_of_several_targets(model, tmp_path):
    """XGBoost predicts in single precision, and scikit-learn scales the predictions back in this type."""
    theirs = model.fit(ROWS, COUNTS[:, None] + numpy.abs(ROWS[:, 1:3]) / 3)
    expected, found = theirs.predict(ROWS), schedc.compile(theirs, effort="fast").predict(ROWS)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(found, expected, rtol=1e-6 if "poisson" in str(model) else 0)
    schedc.export(theirs, tmp_path / "p.onnx", check=ROWS)


def test_refused():
    sparse = pytest.importorskip("scipy.sparse")
    theirs = multiclass.OneVsRestClassifier(logistic()).fit(ROWS, sparse.csr_matrix(SIGNS))
    with pytest.raises(schedc.Refused, match="fit it on y.toarray"):
        schedc.compile(theirs)
    several = imputed(multioutput.MultiOutputClassifier(forest())).fit(TABLE[NUMBERS], TABLE[["floor"]])
    with pytest.raises(ValueError, match="labels= is for fitted classifiers of one label"):
        schedc.compile(several, labels=list("abcdef"))
    shares = numpy.empty((150, 5))
    theirs = forest().fit(ROWS, LABELS["numbers"])
    with pytest.raises(ValueError, match="a list with an array for each target"):
        schedc.compile(theirs, effort="fast").predict_proba(ROWS, out=shares)


NUMBER = ROWS[:, :1] + 0.1 * RANDOM.normal(size=(150, 1)) + 5.0


def regressors():
    """Regressors, and whether they predict a column if they were fitted on one."""
    log = {"func": numpy.log, "inverse_func": numpy.exp}
    scaler, transformed = preprocessing.StandardScaler(), compose.TransformedTargetRegressor
    for model in (
        linear_model.LinearRegression(), make(scaler, linear_model.LinearRegression()),
        cross_decomposition.PLSRegression(1), cross_decomposition.CCA(1), linear_model.MultiTaskLasso(),
        multioutput.MultiOutputRegressor(tree.DecisionTreeRegressor(max_depth=3)),
        multioutput.MultiOutputRegressor(linear_model.Ridge()),
        multioutput.RegressorChain(linear_model.Ridge()),
        transformed(linear_model.LinearRegression()), transformed(linear_model.Ridge(), **log),
        transformed(tree.DecisionTreeRegressor(max_depth=3), transformer=scaler),
        model_selection.GridSearchCV(linear_model.LinearRegression(), {"positive": [False, True]}, cv=2),
    ):
        yield model, True
    yield linear_model.Ridge(), not has("1.6")
    for model in (linear_model.Lasso(), linear_model.Lars(),
                  ensemble.RandomForestRegressor(3), tree.DecisionTreeRegressor(max_depth=3),
                  ensemble.BaggingRegressor(linear_model.LinearRegression(), 2),
                  ensemble.StackingRegressor([("a", linear_model.LinearRegression())], cv=2),
                  neural_network.MLPRegressor(hidden_layer_sizes=(3,), max_iter=5)):
        yield model, False


REGRESSORS = list(regressors())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "is_column"), REGRESSORS, ids=str)
def test_number_of_one_target(model, is_column):
    """A regressor that was fitted on a column predicts a column where its object does."""
    theirs = model.fit(ROWS, NUMBER)
    ours = schedc.compile(theirs, effort="fast")
    for one in (ours, pickle.loads(pickle.dumps(ours)), schedc.load(ours.library)):
        for rows in (ROWS, ROWS[:1], ROWS[:0]):
            found = one.predict(rows)
            shape = (len(rows), 1) if is_column else (len(rows),)
            assert found.shape == shape
            if len(rows):
                expected = theirs.predict(rows)
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
                numpy.testing.assert_array_equal(one.predict(rows, out=numpy.empty_like(found)), found)
