"""Compiled pipelines return the results of the fitted objects for raw rows."""

import itertools
import os
import pickle
import re
import subprocess
import sys
import warnings

import numpy
import pytest

onnx = pytest.importorskip("onnx")
pandas = pytest.importorskip("pandas")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

import schedc  # noqa: E402
import schedc_runtime  # noqa: E402
from pipelines import (  # noqa: E402
    GOALS,
    NUMBERS,
    TABLE,
    boosted,
    columns,
    forest,
    histogram,
    imputed,
    make,
    one_hot,
    results,
)
from releases import frozen, has, needs, since  # noqa: E402
from shares import combined  # noqa: E402
from sklearn import (  # noqa: E402
    calibration,
    cluster,
    compose,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import clone  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402

METHODS = ("predict", "predict_proba", "decision_function")
#: Allowed difference of probabilities, since exponentials of C libraries differ.
CLOSE = {"float32": 1e-6, "float64": 1e-12}


def prepared(model, encoder=None):
    return make(columns(encoder or one_hot(), impute.SimpleImputer(), preprocessing.StandardScaler()), model)


def rows():
    """The table with an unseen city, and with numbers beside the thresholds."""
    table = TABLE.copy()
    table.loc[:20, "city"] = "Kyiv"
    table.loc[20:40, NUMBERS] = numpy.nextafter(table.loc[20:40, NUMBERS], numpy.inf)
    return table


def check(ours, theirs, given, equal=METHODS):
    """Results of all methods that the object has, in all bits for those in ``equal``."""
    for method in METHODS:
        assert hasattr(ours, method) >= hasattr(theirs, method)
        if not hasattr(theirs, method):
            continue
        expected, found = (numpy.asarray(getattr(model, method)(given)) for model in (theirs, ours))
        assert found.shape == expected.shape and found.dtype == expected.dtype, method
        if method in equal or found.dtype.kind != "f":
            numpy.testing.assert_array_equal(found, expected, method)
        else:
            numpy.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE[str(found.dtype)])


def models():
    """Models, their goals, and the methods that are equal in all bits."""
    light = {"n_estimators": 5, "num_leaves": 7, "verbose": -1}
    equal = ("predict", "decision_function")
    for goal in ("words", "three"):
        yield forest(), goal, METHODS
        yield forest(ensemble.ExtraTreesClassifier), goal, METHODS
        yield boosted(), goal, equal
        yield histogram(), goal, equal
        yield lightgbm.LGBMClassifier(**light), goal, equal
    for goal in ("two", "three"):
        yield xgboost.XGBClassifier(n_estimators=5, max_depth=4), goal, equal
    for goal in ("words", "three"):
        yield ensemble.AdaBoostClassifier(n_estimators=4, random_state=0), goal, METHODS
        yield ensemble.BaggingClassifier(
            tree.DecisionTreeClassifier(max_depth=4), 3, max_features=4, random_state=0), goal, METHODS
    yield ensemble.IsolationForest(n_estimators=5, random_state=0), "number", METHODS
    yield tree.DecisionTreeClassifier(max_depth=4, random_state=0), "words", METHODS
    for model in (forest(ensemble.RandomForestRegressor), boosted(ensemble.GradientBoostingRegressor),
                  histogram(ensemble.HistGradientBoostingRegressor), lightgbm.LGBMRegressor(**light),
                  xgboost.XGBRegressor(n_estimators=5, max_depth=4)):
        yield model, "number", METHODS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "goal", "equal"), list(models()), ids=lambda value: str(value).partition("(")[0])
def test_same_answers(model, goal, equal):
    theirs = prepared(model).fit(TABLE, GOALS[goal])
    ours = schedc.compile(theirs)
    check(ours, theirs, rows(), equal)
    for few in (rows()[:1], rows()[3:10]):
        numpy.testing.assert_array_equal(ours.predict(few), theirs.predict(few))


UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("encoder", [
    one_hot(min_frequency=30, handle_unknown="infrequent_if_exist"), one_hot(max_categories=3),
    preprocessing.OrdinalEncoder(**UNKNOWN),
    preprocessing.OrdinalEncoder(**UNKNOWN, encoded_missing_value=-2),
    preprocessing.TargetEncoder(random_state=0),
], ids=lambda encoder: type(encoder).__name__)
def test_encoders(encoder):
    theirs = prepared(forest(), encoder).fit(TABLE, GOALS["two"])
    check(schedc.compile(theirs), theirs, rows())


#: Texts, some of which are rare.
CODES = ["01234"] * 50 + ["10001"] * 40 + ["99999"] * 30 + ["007"] * 8


def codes(missing, count):
    """A frame of texts with ``count`` missing ones, and a target that depends on the texts."""
    cells = CODES + [missing] * count
    goal = numpy.array([len(cell) + int(cell[0]) if isinstance(cell, str) else 9 for cell in cells]) % 2
    goal[::9] ^= 1
    return pandas.DataFrame({"zip": pandas.Series(cells, dtype=object)}), goal


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("rule", "options", "missing"), combined(
    ["ignore", "infrequent_if_exist", "error"],
    [{"max_categories": 4}, {"min_frequency": 10}, {"min_frequency": 6},
     {"max_categories": 4, "drop": "first"}],
    [numpy.nan, None],
), ids=str)
def test_missing_texts_in_a_group(rule, options, missing):
    """Missing texts that share a column with rare categories, or have the column of rare ones alone."""
    table, goal = codes(missing, 5)
    encoder = preprocessing.OneHotEncoder(handle_unknown=rule, **options)
    theirs = make(compose.ColumnTransformer([("words", encoder, ["zip"])]), linear_model.LogisticRegression())
    ours = schedc.compile(theirs.fit(table, goal))
    check(ours, theirs, table, ("predict",))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("known", "other"), [(numpy.nan, None), (None, numpy.nan)])
def test_markers_of_missing_texts(known, other, tmp_path):
    """An encoder distinguishes None and NaN; compiled models refuse a marker that it was not fitted with."""
    table, goal = codes(known, 25)
    encoder = preprocessing.OneHotEncoder(handle_unknown="ignore")
    theirs = make(compose.ColumnTransformer([("words", encoder, ["zip"])]), linear_model.LogisticRegression())
    ours = schedc.compile(theirs.fit(table, goal))
    ours.save(tmp_path / "m.so")
    rows = table[-30:].reset_index(drop=True)
    wrong = rows.copy()
    wrong["zip"] = pandas.Series([*rows.zip[:7], other], dtype=object)
    names = ("NaN", "None") if known is None else ("None", "NaN")
    message = 'column "(zip|0)", row 8: {} marks .* replace {} by {}'.format(names[0], *names)
    for model in (ours, schedc.load(tmp_path / "m.so"), pickle.loads(pickle.dumps(ours))):
        check(model, theirs, rows, ("predict",))
        # Records have one kind of missing text.
        numpy.testing.assert_array_equal(model.predict([{"zip": None}, {"zip": "007"}]),
                                         model.predict(rows.iloc[[10, 4]]))
        for given in (wrong, wrong.to_numpy(), {"zip": wrong.zip.to_numpy()}):
            with pytest.raises(ValueError, match=message) as caught:
                model.predict_proba(given)
        way = str(caught.value).rpartition("as in ")[2]
        mended = eval(way, {"rows": wrong, "numpy": numpy})
        check(model, theirs, mended, ("predict",))
    texts = rows.astype("string" if known is None else "str")
    if known is None:
        with pytest.raises(ValueError, match="row 6: pandas.NA marks"):
            ours.predict(texts)
    elif texts.zip.isna().any():
        check(ours, theirs, texts, ("predict",))


#: Ordinal numbers, with one for unknown categories.
ORDINAL = preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)


def filled(text, encoder=ORDINAL, **options):
    return make(impute.SimpleImputer(strategy="constant", fill_value=text, **options), encoder)


#: Steps that read empty and missing texts, and whether their files are refused for training texts with empty
#: ones, with missing ones and with both.
BLANKS = [
    (one_hot(), (False, False, True)), (ORDINAL, (False, False, True)),
    (one_hot(handle_unknown="infrequent_if_exist", max_categories=2), (False, False, True)),
    (preprocessing.TargetEncoder(), (False, False, True)), (filled(""), (False, False, False)),
    (filled("x", one_hot()), (True, False, True)), (filled("", add_indicator=True), (False, False, False)),
    (pipeline.make_union(ORDINAL, filled("")), (False, False, True)),
    (make(impute.SimpleImputer(strategy="most_frequent"), ORDINAL), (False, False, False)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize(("step", "refused"), BLANKS, ids=lambda value: "".join(str(value).split()))
def test_empty_and_missing_texts(step, refused, at, tmp_path):
    """Compiled models distinguish empty and missing texts in every kind of rows. Files cannot: those that
    would have to are refused, and so are such rows for the check."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    texts = [["", "Kyiv", "Lviv"], ["Kyiv", numpy.nan, "Lviv"], ["Kyiv", numpy.nan, "Lviv", ""]][at]
    numbers = numpy.arange(8.0 * len(texts))
    table = pandas.DataFrame({"city": pandas.Series(texts * 8, dtype=object), "x": numbers})
    theirs = compose.ColumnTransformer([("c", step, ["city"]), ("x", "passthrough", ["x"])])
    theirs.fit(table, table.city == texts[-1])
    cells = ["", "Kyiv", numpy.nan, "unseen", "Lviv", ""]
    rows = pandas.DataFrame({"city": pandas.Series(cells, dtype=object), "x": numpy.zeros(6)})
    expected = theirs.transform(rows)
    ours = schedc.compile(theirs, effort="fast")
    ours.save(tmp_path / "m.so")
    arrays = {name: rows[name].to_numpy() for name in rows}
    forms = [rows, rows.astype({"city": "category"}), polars.from_pandas(rows), rows.to_dict("records"),
             pyarrow.Table.from_pandas(rows), arrays, {name: one.tolist() for name, one in arrays.items()}]
    for model in (ours, schedc.load(tmp_path / "m.so")):
        for given in forms:
            numpy.testing.assert_array_equal(model.transform(given), expected)
        numpy.testing.assert_array_equal(model.transform(rows[:1]), expected[:1])
    served = schedc_runtime.BatchPredictor(ours.library)
    numpy.testing.assert_array_equal(served.values(rows), expected)
    path = str(tmp_path / "p.onnx")
    if refused[at]:
        with pytest.raises(schedc.Refused, match="empty text and missing values in column 'city'.*compile"):
            schedc.export(theirs, path)
        return
    schedc.export(theirs, path)
    # The empty text of the file is the one that the object knows.
    known = rows[rows.city != ""] if at else rows.dropna()
    schedc.export(theirs, path, check=known)
    numpy.testing.assert_array_equal(results(path, known)["variable"], expected[known.index])
    read = schedc.compile(path, effort="fast", cache=False)
    numpy.testing.assert_array_equal(read.predict(known), expected[known.index])


@pytest.mark.filterwarnings("ignore")
def test_rows_with_both_empty_and_missing_texts(tmp_path):
    """The check of a file refuses rows whose texts the file cannot distinguish. Steps with different markers
    of missing text are refused."""
    for known, other, kind in (("", numpy.nan, "missing"), (numpy.nan, "", "empty")):
        table = pandas.DataFrame({"city": pandas.Series([known, "Kyiv"] * 4, dtype=object)})
        theirs = make(one_hot()).fit(table)
        schedc.export(theirs, tmp_path / "p.onnx", check=table)
        with pytest.raises(ValueError, match=f"'city' has {kind} text, which a step.*schedc.compile"):
            schedc.export(theirs, tmp_path / "p.onnx", check=table.assign(city=["Kyiv", other] * 4))
    table = pandas.DataFrame({"city": pandas.Series([None, "Kyiv"] * 4, dtype=object)})
    for step in (filled("x"), pipeline.make_union(ORDINAL, filled("x"))):
        theirs = step.fit(table)
        with pytest.raises(schedc.Refused, match="distinguishes None and NaN in column '(city|x0)'.*fillna"):
            schedc.compile(theirs)
    table = pandas.DataFrame({"city": pandas.Series(["", "Kyiv", "Lviv"] * 4, dtype=object)})
    theirs = filled("x", missing_values="").fit(table)
    schedc.export(theirs, tmp_path / "p.onnx", check=table)
    check(schedc.compile(theirs, effort="fast"), theirs, table, ["transform"])


def sums():
    """Linear models, nets and compound models, with their goals."""
    tree_and_sum = [("a", linear_model.LogisticRegression()), ("b", forest())]
    for goal in ("words", "three"):
        yield linear_model.LogisticRegression(), goal
        yield linear_model.RidgeClassifier(), goal
        yield linear_model.SGDClassifier(loss="log_loss", random_state=0), goal
        yield svm.LinearSVC(random_state=0), goal
        yield discriminant_analysis.LinearDiscriminantAnalysis(), goal
        yield naive_bayes.GaussianNB(), goal
        yield naive_bayes.BernoulliNB(), goal
        yield neural_network.MLPClassifier((6, 4), max_iter=20, random_state=0), goal
        yield multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), goal
        yield calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2), goal
        yield ensemble.VotingClassifier(tree_and_sum, voting="soft"), goal
        yield ensemble.StackingClassifier(tree_and_sum, cv=2), goal
    yield linear_model.Ridge(), "number"
    yield linear_model.PoissonRegressor(), "number"
    yield neural_network.MLPRegressor(hidden_layer_sizes=(6,), max_iter=20, random_state=0), "number"
    yield ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", boosted_regressor())]), "number"


def boosted_regressor():
    return ensemble.GradientBoostingRegressor(n_estimators=4, random_state=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "goal"), list(sums()), ids=lambda value: str(value).partition("(")[0])
def test_sums(model, goal):
    """Labels are equal, and numbers within the rounding of sums."""
    theirs = prepared(model).fit(TABLE, numpy.abs(GOALS[goal]) if goal == "number" else GOALS[goal])
    ours = schedc.compile(theirs)
    for given in (rows(), rows()[:1], rows()[3:10]):
        for method in METHODS:
            if not hasattr(theirs, method) or not hasattr(ours, method):
                continue
            expected, found = (numpy.asarray(getattr(one, method)(given)) for one in (theirs, ours))
            assert found.shape == expected.shape and found.dtype == expected.dtype, method
            if expected.dtype.kind == "f":
                numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
            else:
                numpy.testing.assert_array_equal(found, expected, method)
    is_linear = isinstance(model, (linear_model.LogisticRegression, linear_model.RidgeClassifier))
    assert hasattr(ours, "decision_function") or not is_linear


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [naive_bayes.BernoulliNB(), naive_bayes.MultinomialNB(),
                                   linear_model.LogisticRegression()], ids=lambda model: type(model).__name__)
def test_scores_of_bins(model):
    """Scores of three classes over bins compile to a tree for each feature."""
    bins = preprocessing.KBinsDiscretizer(12)
    rows = TABLE[NUMBERS].fillna(7.5).to_numpy()
    theirs = make(bins, model).fit(rows, GOALS["three"])
    edges = [edge for edges in theirs[0].bin_edges_ for edge in edges]
    near = numpy.array([numpy.nextafter(edge, edge + side) for edge in edges for side in (-1, 0, 1)])
    rows = numpy.concatenate([rows, numpy.resize(near, (len(near), len(NUMBERS)))])
    ours = schedc.compile(theirs)
    assert ours._about["model"]["trees"] == len(NUMBERS)
    for some in (rows, rows[:1], rows[3:10]):
        numpy.testing.assert_array_equal(ours.predict(some), theirs.predict(some))
        numpy.testing.assert_allclose(ours.predict_proba(some), theirs.predict_proba(some), rtol=1e-11)


@pytest.mark.filterwarnings("ignore")
def test_computed_columns():
    """Columns that depend on several features, or have too many pieces to become tests, are computed."""
    for step in (preprocessing.PolynomialFeatures(2),
                 preprocessing.PolynomialFeatures(3, interaction_only=True),
                 preprocessing.SplineTransformer(n_knots=4), preprocessing.Normalizer("max")):
        for model, goal in ((forest(), "words"), (histogram(), "two"),
                            (xgboost.XGBRegressor(n_estimators=5), "number")):
            theirs = imputed(step, model).fit(TABLE[NUMBERS], GOALS[goal])
            check(schedc.compile(theirs), theirs, rows()[NUMBERS], ("predict", "decision_function"))


@pytest.mark.filterwarnings("ignore")
def test_arrays():
    """A pipeline that was fitted on an array: numbers in both precisions, and categories that are numbers."""
    numbers = TABLE[[*NUMBERS, "floor"]].to_numpy()
    place = compose.ColumnTransformer([("n", imputed(preprocessing.MinMaxScaler()), [0, 1, 2, 3]),
                                       ("c", one_hot(), [4])])
    for model, kind in ((forest(), "float64"), (histogram(), "float32")):
        theirs = make(place, model).fit(numbers.astype(kind), GOALS["words"])
        ours = schedc.compile(theirs)
        assert not hasattr(ours, "feature_names_in_") and ours.n_features_in_ == 5
        for given in (numbers, numbers.astype("float32"), numpy.asfortranarray(numbers),
                      numbers[:7].tolist()):
            check(ours, theirs, given, ("predict", "decision_function"))
        given = rows()[[*NUMBERS, "floor"]].to_numpy()
        check(ours, theirs, given, ("predict", "decision_function"))


@pytest.mark.filterwarnings("ignore")
def test_arrays_of_texts():
    words = TABLE[["city"]].fillna("none")
    theirs = make(one_hot(), forest()).fit(words.to_numpy(), GOALS["words"])
    ours, rows = schedc.compile(theirs), words.to_numpy().astype(str)
    assert rows.dtype.kind == "U"
    for given in (rows, rows.astype(object), rows.tolist(), numpy.asfortranarray(rows)[::2]):
        numpy.testing.assert_array_equal(ours.predict_proba(given), theirs.predict_proba(given))
    numbers = schedc.compile(forest().fit(TABLE[["floor"]].to_numpy(), GOALS["two"]))
    with pytest.raises(TypeError, match="the model needs numbers"):
        numbers.predict(rows)


@pytest.mark.filterwarnings("ignore")
def test_single_precision(tmp_path):
    """scikit-learn scales rows of single precision in single precision."""
    numbers = TABLE[NUMBERS].to_numpy()
    theirs = imputed(preprocessing.StandardScaler(), forest()).fit(numbers, GOALS["words"])
    ours = schedc.compile(theirs)
    source = numpy.random.default_rng(0)
    given = numpy.repeat(numbers, 10, axis=0)
    given = given + numpy.round(source.normal(0, 2, given.shape), 1)
    for kind in ("float64", "float32"):
        check(ours, theirs, given.astype(kind))
    with pytest.warns(UserWarning, match='double precision.*rows="f32"'):
        ours.save(tmp_path / "p.so")
    loaded = schedc.load(tmp_path / "p.so")
    check(loaded, theirs, given)
    with pytest.raises(ValueError, match=r'single precision[^:]*: compile .*rows="f32".*, or give float64'):
        loaded.predict(given.astype("float32"))
    with pytest.raises(ValueError, match=r'single precision[^:]*: compile .*rows="f32"'):
        pickle.loads(pickle.dumps(ours)).predict(given.astype("float32"))
    with pytest.raises(ValueError, match="half precision"):
        ours.predict(given.astype("float16"))
    narrow = schedc.compile(theirs, rows="f32")
    check(narrow, theirs, given.astype("float32"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow.save(tmp_path / "f32.so")
    for model in (narrow, schedc.load(tmp_path / "f32.so")):
        check(model, theirs, given.astype("float32"))
        for kind in ("float64", "int64"):
            with pytest.raises(ValueError, match=r"not in single precision.*rows.astype"):
                model.predict(numpy.nan_to_num(given).astype(kind))
        with pytest.raises(ValueError, match="half precision"):
            model.predict(given.astype("float16"))
    table = prepared(forest()).fit(TABLE, GOALS["words"])
    mixed = rows().astype({"age": "float32", "hours": "float32"})
    ours = schedc.compile(table)
    check(ours, table, mixed)
    ours.save(tmp_path / "mixed.so")
    with pytest.raises(ValueError, match=r"single precision \(age, hours\).*rows.astype"):
        schedc.load(tmp_path / "mixed.so").predict(mixed)


#: Parts that add in single precision, beside parts that add in double precision.
BOOSTERS = {
    "xgboost": (xgboost, "XGB", {"n_estimators": 12, "max_depth": 4, "n_jobs": 1}),
    "lightgbm": (lightgbm, "LGBM", {"n_estimators": 8, "verbose": -1, "n_jobs": 1}),
}


def boosters(kind, names=tuple(BOOSTERS)):
    made = []
    for name in names:
        library, prefix, options = BOOSTERS[name]
        made.append((name, getattr(library, prefix + kind)(**options)))
    return made


@pytest.mark.parametrize(
    ("combine", "goal"),
    combined([
        lambda parts: ensemble.VotingClassifier(parts, voting="soft", weights=[2, 1, 1]),
        lambda parts: ensemble.VotingClassifier(parts, voting="hard"),
        lambda parts: ensemble.StackingClassifier(parts, linear_model.LogisticRegression(), cv=2),
        lambda parts: calibration.CalibratedClassifierCV(parts[0][1], cv=2, method="isotonic"),
        lambda parts: calibration.CalibratedClassifierCV(parts[0][1], cv=2),
    ], ["two", "three"]),
)
def test_classifiers_of_several_libraries(combine, goal):
    """XGBoost adds in single precision, also as a part of a combined estimator."""
    numbers, labels = TABLE[NUMBERS].fillna(0).to_numpy(), GOALS[goal]
    theirs = combine([*boosters("Classifier"), ("forest", forest())]).fit(numbers, labels)
    ours = schedc.compile(theirs)
    assert numpy.array_equal(ours.predict(numbers), theirs.predict(numbers))
    if hasattr(theirs, "predict_proba"):
        apart = numpy.abs(ours.predict_proba(numbers) - theirs.predict_proba(numbers))
        # The C library does not round one of some thousand exponentials to the nearest number.
        assert numpy.median(apart) <= 1e-15 and numpy.mean(apart > 1e-12) < 0.02, apart.max()


@pytest.mark.parametrize("steps", ["Cast Mul Cast", "Cast Mul", "Cast"])
def test_double_precision_behind_single_trees(steps, tmp_path):
    """Arithmetic behind a cast to double precision is in double precision, even if the trees are in single
    precision."""
    rows = numpy.random.default_rng(0).normal(size=(500, 4)).astype("float32")
    fitted = xgboost.XGBRegressor(n_estimators=5).fit(rows, rows[:, 0] * 3.7 + rows[:, 1])
    place = str(tmp_path / "trees.onnx")
    schedc.export(fitted, place, check=False, types="float32")
    model = onnx.load(place)
    graph, name = model.graph, model.graph.output[0].name
    graph.initializer.append(onnx.numpy_helper.from_array(numpy.array([1.1]), "factor"))
    wanted, types = fitted.predict(rows), itertools.cycle(("float64", "float32"))
    for at, op in enumerate(steps.split()):
        made = f"behind{at}"
        if op == "Cast":
            wanted = wanted.astype(next(types))
            element = onnx.helper.np_dtype_to_tensor_dtype(wanted.dtype)
            node = onnx.helper.make_node(op, [name], [made], to=element)
        else:
            node = onnx.helper.make_node(op, [name, "factor"], [made])
            wanted = wanted * 1.1
        graph.node.append(node)
        name = made
    graph.output[0].name = name
    graph.output[0].type.tensor_type.elem_type = element
    onnx.save(model, place)
    found = schedc.compile(place, cache=False).predict(rows).ravel()
    assert numpy.array_equal(found, wanted.ravel()), numpy.abs(found - wanted.ravel()).max()


def test_trees_behind_scores():
    """The last model of a stacking has margins, but the stacking has no method that returns them."""
    numbers, labels = TABLE[NUMBERS].fillna(0).to_numpy(), GOALS["two"]
    parts = [("linear", linear_model.LogisticRegression()), ("ridge", linear_model.RidgeClassifier())]
    theirs = ensemble.StackingClassifier(parts, boosters("Classifier")[0][1], cv=2).fit(numbers, labels)
    ours = schedc.compile(theirs)
    assert numpy.array_equal(ours.predict(numbers), theirs.predict(numbers))


def trees_over_trees():
    """Models whose last trees read results of other trees, with their goals."""
    def regressor(**options):
        return forest(ensemble.RandomForestRegressor, **options)

    last = ensemble.GradientBoostingRegressor(n_estimators=10, random_state=0)
    some = [("forest", regressor()), ("ridge", linear_model.Ridge())]
    few = [("forest", forest()), ("linear", linear_model.LogisticRegression())]
    yield ensemble.StackingRegressor(some, last, cv=2), "number"
    yield ensemble.StackingRegressor(some, regressor(), cv=2, passthrough=True), "number"
    yield ensemble.StackingRegressor(boosters("Regressor"), regressor(), cv=2), "number"
    yield ensemble.StackingRegressor(some, boosters("Regressor", ["xgboost"])[0][1], cv=2), "number"
    yield ensemble.StackingRegressor(
        [("stack", ensemble.StackingRegressor(some, last, cv=2)), *some], regressor(), cv=2), "number"
    yield multioutput.RegressorChain(regressor(), order=[2, 0, 1]), "numbers"
    yield multioutput.RegressorChain(ensemble.HistGradientBoostingRegressor(max_iter=5)), "numbers"
    for goal in ("two", "three"):
        yield ensemble.StackingClassifier(few, forest(), cv=2), goal
        yield ensemble.StackingClassifier(few, forest(), cv=2, passthrough=True), goal
        yield ensemble.StackingClassifier(
            [("all", tree.DecisionTreeClassifier(random_state=0)), *few],
            tree.DecisionTreeClassifier(max_depth=3), cv=2), goal
        yield ensemble.StackingClassifier(few, forest(), cv=2, stack_method="predict"), goal
        last = ensemble.GradientBoostingClassifier(n_estimators=5)
        yield ensemble.StackingClassifier(few, last, cv=2), goal


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "goal"), list(trees_over_trees()),
                         ids=lambda value: str(value).partition("(")[0])
def test_trees_over_trees(model, goal):
    """Trees whose results other trees read have the bits of their library, under every schedule."""
    numbers = TABLE[NUMBERS].fillna(0).to_numpy()
    if goal == "numbers":
        goals = numpy.column_stack([GOALS["number"], numbers[:, 0] ** 2, numbers[:, 1] - numbers[:, 2]])
    else:
        goals = GOALS[goal]
    theirs = model.fit(numbers, goals)
    expected = theirs.predict(numbers)
    vectors = "tile(batch, b0, b1, 16)\nreorder(b0, tree, b1)\ncache(b0)\nvectorize(b1, 16)"
    for schedule in (None, "", vectors):
        ours = schedc.compile(theirs) if schedule is None else schedc.compile(theirs, schedule)
        for count in (1, 7, len(numbers)):
            found = ours.predict(numbers[:count])
            numpy.testing.assert_array_equal(found, expected[:count], f"{schedule} {count}")
    # Probabilities of boosting pass through an exponential of another library.
    if hasattr(theirs, "predict_proba"):
        exact = not isinstance(model.final_estimator, ensemble.GradientBoostingClassifier)
        apart = numpy.abs(ours.predict_proba(numbers) - theirs.predict_proba(numbers)).max()
        assert apart == 0 if exact else apart <= 1e-12


def test_schedules_of_several_libraries():
    numbers, labels = TABLE[NUMBERS].fillna(0).to_numpy(), GOALS["three"]
    parts = [("x", xgboost.XGBClassifier(n_estimators=60, max_depth=3, n_jobs=1)),
             ("linear", linear_model.LogisticRegression())]
    theirs = ensemble.VotingClassifier(parts, voting="soft").fit(numbers, labels)
    ours = schedc.compile(theirs, "tile(tree, a, b, 4)\nparallel(a)")
    assert numpy.abs(ours.predict_proba(numbers) - theirs.predict_proba(numbers)).max() <= 1e-6


def test_splits_near_zero():
    """LightGBM treats values within 1e-35 of zero as zeros."""
    source = numpy.random.default_rng(0)
    numbers = source.integers(-3, 4, (500, 3)).astype(float)
    labels = (numbers.sum(1) + source.normal(size=500) > 0).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1)
    theirs = make(preprocessing.FunctionTransformer(), model).fit(numbers, labels)
    edge = float(numpy.float32(1e-35))
    near = numpy.array([-edge, numpy.nextafter(-edge, -1), edge, numpy.nextafter(edge, 1), -0.0, 1e-36])
    for column in range(3):
        rows = numpy.repeat(numbers[:1], len(near), axis=0)
        rows[:, column] = near
        numbers = numpy.concatenate([numbers, rows])
    ours = schedc.compile(theirs)
    assert numpy.abs(ours.predict_proba(numbers) - theirs.predict_proba(numbers)).max() <= 1e-15


def test_markers_of_pandas():
    """scikit-learn treats pandas.NA and NaN as different categories."""
    words = pandas.DataFrame({"c": pandas.Series(["a", "b", numpy.nan] * 20, dtype=object)})
    theirs = make(preprocessing.OneHotEncoder(handle_unknown="ignore"), linear_model.LogisticRegression())
    ours = schedc.compile(theirs.fit(words, [0, 1, 1] * 20))
    given = ["a", None, "zz"]
    for kind in ("string", object):
        column = pandas.Series(given, dtype="string").astype(kind)
        with pytest.raises(ValueError, match="row 2: pandas.NA marks a missing text"):
            ours.predict(pandas.DataFrame({"c": column}))
    plain = pandas.DataFrame({"c": pandas.Series(["a", numpy.nan, "zz"], dtype=object)})
    assert numpy.abs(ours.predict_proba(plain) - theirs.predict_proba(plain)).max() <= 1e-15


def as_tables(*parts, rest="drop"):
    """A transformer of columns whose results are tables."""
    return compose.ColumnTransformer(list(parts), remainder=rest).set_output(transform="pandas")


FIRST = {
    "function": preprocessing.FunctionTransformer(),
    "columns": as_tables(("c", "passthrough", ["city"]), ("n", preprocessing.StandardScaler(), NUMBERS)),
    "remainder": as_tables(("n", preprocessing.StandardScaler(), NUMBERS), rest="passthrough"),
    "nested": as_tables(("n", make(impute.SimpleImputer(), preprocessing.StandardScaler()), NUMBERS[2:]),
                        ("c", make(preprocessing.FunctionTransformer(), "passthrough"), ["age", "city"])),
    "union": pipeline.make_union(as_tables(("n", impute.SimpleImputer(add_indicator=True), NUMBERS)),
                                 "passthrough").set_output(transform="pandas"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("words", [pytest.param("category", marks=needs("1.4")), "object"])
def test_texts_behind_steps(first, words):
    """Categories of a column that earlier steps pass on, in types of pandas or of an encoder's results."""
    table = TABLE[[*NUMBERS, "city"]].astype({"city": words})
    last = histogram(categorical_features="from_dtype" if words == "category" else None)
    if words == "object":
        encoder = preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        texts = compose.make_column_selector(dtype_exclude="number")
        last = make(compose.ColumnTransformer([("c", encoder, texts)], remainder="passthrough"), last)
    theirs = make(FIRST[first], last).fit(table, GOALS["two"])
    ours = schedc.compile(theirs, effort="fast")
    check(ours, theirs, table, ("predict", "decision_function"))


@pytest.mark.parametrize("goal", ["two", "three"])
def test_bags_of_floats(goal):
    """Bagging adds up probabilities in double precision, even if XGBoost's are in single precision."""
    numbers = TABLE[NUMBERS].fillna(0).to_numpy()
    bag = ensemble.BaggingClassifier(xgboost.XGBClassifier(n_estimators=2, n_jobs=1), 3, random_state=0)
    theirs = bag.fit(numbers, GOALS[goal])
    expected, found = theirs.predict_proba(numbers), schedc.compile(theirs).predict_proba(numbers)
    assert found.dtype == expected.dtype == numpy.float64
    # Exponentials in single precision differ by this much.
    assert numpy.abs(found - expected).max() <= 1e-7


def test_regressors_of_several_libraries():
    numbers, goal = TABLE[NUMBERS].fillna(0).to_numpy(), GOALS["number"]
    two = boosters("Regressor", ["xgboost"] * 2)
    for parts, weights in [(boosters("Regressor"), None), (two, [0.3, 0.7])]:
        named = [(f"{name}{at}", part) for at, (name, part) in enumerate(parts)]
        theirs = ensemble.VotingRegressor(named, weights=weights).fit(numbers, goal)
        apart = numpy.abs(schedc.compile(theirs).predict(numbers) - theirs.predict(numbers))
        assert apart.max() <= 1e-14


@pytest.mark.filterwarnings("ignore")
def test_types_that_change():
    """Each call examines the types of its own rows, even if names or types equal those of the last call."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    numbers = TABLE[NUMBERS].fillna(1)
    scale = {name: 1 / 3 + at for at, name in enumerate(NUMBERS)}
    parts = [(name, preprocessing.StandardScaler(), [name]) for name in NUMBERS]
    columns = compose.ColumnTransformer(parts)
    theirs = make(columns, linear_model.LogisticRegression()).fit(numbers * scale, GOALS["two"])
    ours, given = schedc.compile(theirs, effort="fast"), numbers * scale
    all_single = dict.fromkeys(NUMBERS, "float32")
    kinds = [{}, {"age": "float32"}, {**all_single, "age": "float64"}, {"hours": "float32"}, all_single,
             {"age": "int64"}]
    frames = [given.astype(kind) for kind in kinds]
    frames += [frame[NUMBERS[::-1]] for frame in frames]
    frames += [given.assign(more=given["age"].astype("float32"))]
    for frame in [each for frame in frames for each in (frame, frame[:1], frames[1], frame)]:
        of_polars = polars.from_pandas(frame)
        # scikit-learn reads the types of pandas alone, and its ColumnTransformer takes no table of pyarrow,
        # and frames of Polars 2 since 1.6.
        others = [(of_polars, of_polars), (pyarrow.Table.from_pandas(frame), of_polars)]
        for rows, read in [(frame, frame), *(others if has("1.6") else [])]:
            expected = theirs.predict_proba(read)
            numpy.testing.assert_allclose(ours.predict_proba(rows), expected, rtol=1e-13, atol=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step", [
    preprocessing.StandardScaler(), preprocessing.RobustScaler(), impute.SimpleImputer(),
    imputed(preprocessing.PolynomialFeatures())], ids=str)
def test_single_precision_of_pandas(step):
    """scikit-learn converts columns of pandas' own types, and all columns beside them, to double
    precision."""
    pytest.importorskip("pyarrow")
    numbers = TABLE[NUMBERS] / 3
    theirs = compose.ColumnTransformer([("a", step, NUMBERS[:2]), ("b", step, NUMBERS[2:])]).fit(numbers)
    ours = schedc.compile(theirs, effort="fast")
    kinds = ["float32", "Float32", "float32[pyarrow]", "Float64"]
    for first, second, third in itertools.product(kinds, kinds, kinds[:2]):
        rows = numbers.astype(dict(zip(NUMBERS, (first, second, third, third))))
        found, expected = ours.transform(rows), theirs.transform(rows)
        numpy.testing.assert_array_equal(found, expected.astype(float), err_msg=f"{first}, {second}, {third}")
    with pytest.raises(ValueError, match="not in single precision"):
        schedc.compile(theirs, rows="f32").transform(numbers.astype("Float32"))


@pytest.mark.filterwarnings("ignore")
def test_kinds_of_tables():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    theirs = prepared(forest()).fit(TABLE, GOALS["words"])
    ours = schedc.compile(theirs)
    assert ours.feature_names_in_.tolist() == list(TABLE.columns)
    assert ours.classes_.tolist() == ["no", "yes"] and ours.n_features_in_ == len(TABLE.columns)
    given = rows()
    expected = theirs.predict_proba(given)
    shuffled = given[[*reversed(TABLE.columns)]].assign(other=1)
    records = given.astype(object).where(given.notna(), None).to_dict("records")
    for table in (given, shuffled, polars.from_pandas(given), pyarrow.Table.from_pandas(given), records,
                  {name: given[name].to_numpy() for name in given}, given.astype({"city": "category"})):
        numpy.testing.assert_array_equal(ours.predict_proba(table), expected)
    numpy.testing.assert_array_equal(ours.predict(given.iloc[7].to_dict()), theirs.predict(given[7:8]))
    with pytest.raises(ValueError, match="hours"):
        ours.predict(given.drop(columns="hours"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("read", [["age", "hours", "city"], ["age", "hours"]])
def test_dropped_columns(read, tmp_path):
    """Tables may lack the columns that the pipeline drops, or hold anything there, as in scikit-learn. A file
    has an input for each column if there are texts, else a single one."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    parts = [("n", imputed(), ["age", "hours"]), ("w", one_hot(), ["city"])]
    place = compose.ColumnTransformer(parts if "city" in read else parts[:1])
    theirs = make(place, forest()).fit(TABLE if "city" in read else TABLE[NUMBERS], GOALS["two"])
    ours = schedc.compile(theirs)
    ours.save(tmp_path / "p.so")
    schedc.export(theirs, tmp_path / "p.onnx", check=False)
    others = rows().assign(floor="ground", income=pandas.Timestamp(0))
    forms = rows(), rows()[[*reversed(read)]], rows().drop(columns="distance"), others
    of_file = schedc.compile(tmp_path / "p.onnx")
    for given in (rows()[read], others):
        for dates in (given, given.assign(income=pandas.Timestamp(0))):
            schedc.export(theirs, tmp_path / "checked.onnx", check=dates)
            check(schedc.compile(theirs, check=dates), theirs, dates)
        numpy.testing.assert_array_equal(
            schedc.compile(tmp_path / "checked.onnx").predict_proba(given), theirs.predict_proba(given))
    for given in forms:
        for table in (given, polars.from_pandas(given), pyarrow.Table.from_pandas(given)):
            numpy.testing.assert_array_equal(of_file.predict_proba(table), theirs.predict_proba(given))
    for model in (ours, schedc.load(tmp_path / "p.so")):
        for given in forms:
            check(model, theirs, given)
        one = {name: value for name, value in {"age": 40.0, "hours": 38.5, "city": "Oslo"}.items()
               if name in read}
        numpy.testing.assert_array_equal(model.predict(one), theirs.predict(pandas.DataFrame([one])))
        with pytest.raises(ValueError, match=read[-1]):
            model.predict(rows()[read[:-1]])


@pytest.mark.filterwarnings("ignore")
def test_saved(tmp_path):
    """A loaded library and a pickle return the pipeline's results, without the exporter."""
    for model in (boosted(), forest(), xgboost.XGBClassifier(n_estimators=3)):
        theirs = prepared(model).fit(TABLE, GOALS["two"])
        ours = schedc.compile(theirs)
        ours.save(tmp_path / "p.so")
        for again in (schedc.load(tmp_path / "p.so"), pickle.loads(pickle.dumps(ours))):
            for method in METHODS:
                assert hasattr(again, method) == hasattr(ours, method)
                if hasattr(ours, method):
                    numpy.testing.assert_array_equal(
                        getattr(again, method)(rows()), getattr(ours, method)(rows()))
            assert again.feature_names_in_.tolist() == list(TABLE.columns)
            assert not hasattr(again, "apply") or pytest.raises(AttributeError, again.apply, rows())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.filterwarnings("ignore")
def test_texts_that_look_like_numbers(tmp_path):
    """Known and unknown postcodes are texts in frames, in records and in a CSV file. Numbers are refused, as
    by scikit-learn, unless unknown names are accepted."""
    codes = numpy.random.default_rng(1).choice(["01234", "7", "1e3"], len(TABLE))
    table = pandas.DataFrame({"postcode": codes, "age": TABLE["age"].fillna(40)})
    encode = compose.ColumnTransformer([("w", preprocessing.OneHotEncoder(handle_unknown="ignore"), [0])],
                                       remainder="passthrough")
    theirs = make(encode, forest()).fit(table, GOALS["two"])
    new = pandas.DataFrame({"postcode": ["01234", "7", "8", "1234", "1000", "7.0"], "age": 30.0})
    expected = theirs.predict_proba(new)
    ours = schedc.compile(theirs)
    for some in (new, new.astype({"postcode": "category"}), new.astype({"postcode": object}),
                 new.to_dict("records")):
        numpy.testing.assert_array_equal(ours.predict_proba(some), expected)
    new.to_csv(tmp_path / "rows.csv", index=False)
    schedc.export(theirs, tmp_path / "p.onnx")
    command = [os.environ["SCHEDC"], "predict", "-q", tmp_path / "p.onnx", "-i", tmp_path / "rows.csv"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    numpy.testing.assert_array_equal(numpy.loadtxt(found.splitlines()[1:], delimiter=","), expected)
    numbers = new.assign(postcode=7)
    with pytest.raises(ValueError, match='"7" is a number, and the model reads texts.*unseen="other"'):
        ours.predict_proba(numbers)
    unknown = new.assign(postcode="8")
    found = ours.predict_proba(numbers, unseen="other")
    numpy.testing.assert_array_equal(found, theirs.predict_proba(unknown))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("goal", ["words", "three"])
def test_a_hard_vote_prints_labels(goal, tmp_path):
    theirs = imputed(ensemble.VotingClassifier([("a", forest()), ("b", boosted()), ("c", histogram())]))
    theirs.fit(TABLE[NUMBERS].to_numpy(), GOALS[goal])
    rows = TABLE[NUMBERS][:50]
    rows.to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    schedc.export(theirs, tmp_path / "p.onnx")
    schedc.compile(theirs, effort="fast").save(tmp_path / "p.so")
    for file in ("p.onnx", "p.so"):
        command = [os.environ["SCHEDC"], "predict", "-q", tmp_path / file, "-i", tmp_path / "rows.csv",
                   "--by-position"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert printed.split() == ["class", *map(str, theirs.predict(rows.to_numpy()))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("goal", ["two", "three"])
def test_margins_of_votes(goal):
    """A one-vs-one classifier has margins but no probabilities, also if its parts are trees."""
    theirs = multiclass.OneVsOneClassifier(forest()).fit(TABLE[NUMBERS].fillna(0), GOALS[goal])
    check(schedc.compile(theirs, effort="fast"), theirs, TABLE[NUMBERS].fillna(1), ("predict",))
    assert hasattr(schedc.compile(theirs, effort="fast"), "decision_function")


NAMES = numpy.array(["ant", "bee", "cat"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "goal"), combined([
    xgboost.XGBClassifier(n_estimators=3), prepared(xgboost.XGBClassifier(n_estimators=3)),
    prepared(forest()), prepared(linear_model.LogisticRegression()), forest(),
    xgboost.XGBClassifier(n_estimators=3, objective="multi:softmax", num_class=3),
], ["two", "three"]), ids=lambda value: "".join(str(value).split())[-40:])
def test_labels(model, goal, tmp_path):
    """A classifier that was trained on the numbers of a LabelEncoder predicts the labels."""
    is_exported = getattr(model, "objective", None) != "multi:softmax"
    if goal == "two" and not is_exported:
        pytest.skip("three classes")
    table = TABLE if hasattr(model, "steps") else TABLE[NUMBERS].fillna(0)
    encoder = preprocessing.LabelEncoder().fit(NAMES[GOALS[goal]])
    theirs = model.fit(table, encoder.transform(NAMES[GOALS[goal]]))
    expected = encoder.inverse_transform(theirs.predict(table))
    assert len(set(expected)) > 1
    ours = schedc.compile(theirs, labels=encoder, effort="fast")
    ours.save(tmp_path / "m.so")
    for one in (ours, schedc.load(tmp_path / "m.so")):
        numpy.testing.assert_array_equal(one.predict(table), expected)
        assert list(one.classes_) == list(encoder.classes_)
    if not is_exported:
        return
    schedc.export(theirs, tmp_path / "p.onnx", labels=encoder, check=table)
    schedc.export(theirs, tmp_path / "p.onnx", labels=encoder)
    found = results(str(tmp_path / "p.onnx"), table.astype({"floor": float} if "floor" in table else {}))
    numpy.testing.assert_array_equal(found["label"], expected)


def test_labels_of_outputs():
    """The output ``class`` stays numbers of classes. A model that is compiled in the background has labels at
    once."""
    table = TABLE[NUMBERS].fillna(0)
    theirs = forest().fit(table, GOALS["three"])
    expected = theirs.predict(table)
    for effort in ("fast", "background"):
        ours = schedc.compile(theirs, labels=list(NAMES), effort=effort)
        numpy.testing.assert_array_equal(ours.predict(table), NAMES[expected])
        numpy.testing.assert_array_equal(ours.predict(table, output="class"), expected)


@pytest.mark.filterwarnings("ignore")
def test_labels_that_do_not_fit(tmp_path):
    table = TABLE[NUMBERS].fillna(0)
    numbers = forest().fit(table, GOALS["three"])
    texts = forest().fit(table, NAMES[GOALS["three"]])
    regressor = forest(ensemble.RandomForestRegressor).fit(table, GOALS["number"])
    scaler = preprocessing.StandardScaler().fit(table)
    cases = [
        (numbers, NAMES[:2], "by the numbers 0 to 1, and the model has the classes 0, 1, 2"),
        (numbers, [*NAMES, "dog"], "has 4 labels, and the last class of the model is 2"),
        (numbers, preprocessing.LabelEncoder(), "takes a fitted LabelEncoder"),
        (numbers, NAMES[:, None], "one label for each class"),
        (texts, NAMES, "the model has the classes ant, bee, cat"),
        (regressor, NAMES, "labels= is for"), (scaler, NAMES, "labels= is for"),
    ]
    for model, labels, message in cases:
        with pytest.raises(ValueError, match=message):
            schedc.compile(model, labels=labels)
        with pytest.raises(ValueError, match=message):
            schedc.export(model, tmp_path / "p.onnx", labels=labels)
    encoder = preprocessing.LabelEncoder().fit([*NAMES, "dog"])
    found = schedc.compile(numbers, labels=encoder, effort="fast").predict(table)
    numpy.testing.assert_array_equal(found, NAMES[numbers.predict(table)])
    for kind in (preprocessing.LabelEncoder, preprocessing.LabelBinarizer):
        with pytest.raises(TypeError, match="is no model; compile and export take it as labels="):
            schedc.compile(kind().fit(NAMES))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "kind", "goal"), [(*case, goal) for case, goal in combined([
    (lambda part: calibration.CalibratedClassifierCV(part, cv=2), "float64"),
    (lambda part: calibration.CalibratedClassifierCV(part, method="isotonic", cv=2), "float64"),
    (lambda part: ensemble.VotingClassifier([("a", part), ("b", part)], voting="soft"), "float32"),
    (lambda part: ensemble.VotingClassifier([("a", part), ("b", part)], voting="soft", weights=[1, 2]),
     "float64"),
    (lambda part: multiclass.OneVsRestClassifier(part), "float32"),
], ["two", "three"])])
def test_types_of_probabilities(model, kind, goal, tmp_path):
    """Probabilities behind trees in single precision have the object's type."""
    given = TABLE[NUMBERS].to_numpy()
    theirs = model(xgboost.XGBClassifier(n_estimators=3, max_depth=3)).fit(given, GOALS[goal])
    ours = schedc.compile(theirs)
    ours.save(tmp_path / "m.so")
    for compiled, types in ((ours, ("float64", "float32")), (schedc.load(tmp_path / "m.so"), ("float64",))):
        for one in types:
            found, expected = (each.predict_proba(given.astype(one)) for each in (compiled, theirs))
            assert found.dtype == expected.dtype == kind
            # The curve of an isotonic calibration is steep.
            numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def of_pipelines():
    """Estimators around pipelines that encode texts, with their goals."""
    words, number = prepared(linear_model.LogisticRegression()), prepared(linear_model.Ridge())
    pair = [("a", words), ("b", prepared(forest()))]
    yield calibration.CalibratedClassifierCV(words, cv=2), "words"
    yield ensemble.VotingClassifier(pair, voting="soft"), "words"
    yield ensemble.VotingRegressor([("a", number), ("b", prepared(linear_model.Lasso()))]), "number"
    sums = [("a", words), ("b", prepared(linear_model.RidgeClassifier()))]
    yield ensemble.StackingClassifier(sums, cv=2), "words"
    yield multiclass.OneVsRestClassifier(words), "three"
    yield since("1.5", lambda: model_selection.FixedThresholdClassifier(
        words, threshold=0.3, pos_label="no")), "words"
    yield multioutput.MultiOutputRegressor(number), "two numbers"
    yield compose.TransformedTargetRegressor(number, transformer=preprocessing.StandardScaler()), "number"
    yield model_selection.GridSearchCV(
        ensemble.VotingClassifier(pair, voting="soft"), {"weights": [[1, 2], [2, 1]]}, cv=2), "words"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "goal"), list(of_pipelines()), ids=lambda value: str(value).partition("(")[0])
def test_texts_of_inner_pipelines(model, goal):
    """Columns are text if a pipeline inside the estimator has categories of text."""
    goals = {**GOALS, "two numbers": numpy.column_stack([GOALS["number"], GOALS["two"] * 2.5])}
    theirs = model.fit(TABLE, goals[goal])
    check(schedc.compile(theirs), theirs, rows(), ())


@pytest.mark.filterwarnings("ignore")
def test_rows_of_the_check(monkeypatch):
    """The check compares on the rows of check=; only pipelines accept rows there."""
    table, goal = codes(None, 25)
    encoder = preprocessing.OneHotEncoder(handle_unknown="ignore")
    theirs = make(compose.ColumnTransformer([("words", encoder, ["zip"])]), linear_model.LogisticRegression())
    theirs.fit(table, goal)
    check(schedc.compile(theirs, check=table), theirs, table, ())
    with pytest.raises(ValueError, match="'zip' has NaN for missing text.*replace NaN by None"):
        schedc.compile(theirs, check=table.fillna(numpy.nan))
    with pytest.raises(ValueError, match="the rows given by check lack the column 'zip'"):
        schedc.compile(theirs, check=table.rename(columns={"zip": "code"}))
    seen = []
    predict = type(theirs).predict_proba
    monkeypatch.setattr(type(theirs), "predict_proba",
                        lambda model, X: seen.append(len(X)) or predict(model, X))
    schedc.compile(theirs, check=table[:7])
    assert set(seen) == {7}
    for wrong in ("rows.csv", None, 1):
        with pytest.raises(TypeError, match="check is True, False, or rows such as a frame, not"):
            schedc.compile(theirs, check=wrong)
    numbers = forest().fit(table[["zip"]].isna(), goal)
    with pytest.raises(ValueError, match="which only pipelines take; for .*, check is True or False"):
        schedc.compile(numbers, check=table)


@pytest.mark.filterwarnings("ignore")
def test_parts_that_compile():
    """A refusal names each part that compiles alone, the largest ones first."""
    code = preprocessing.FunctionTransformer(numpy.cbrt)
    given, goal = TABLE[NUMBERS].fillna(1.0), GOALS["words"]
    logarithmic = make(code, linear_model.LogisticRegression())
    scaled = make(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    vote = ensemble.VotingClassifier([("a", logarithmic), ("b", scaled)])
    calibrated = make(preprocessing.StandardScaler(), calibration.CalibratedClassifierCV(logarithmic, cv=2))
    inner = "model[-1].calibrated_classifiers_[{}].estimator"
    rows_of_inner = inner.format(0) + "[:-1].transform(model[:-1].transform(X)) computes its rows"
    cases = [
        (logarithmic, ["model[-1]"], ["model[:-1].transform(X) computes its rows"]),
        (vote, ["model.estimators_[0][-1]", "model.estimators_[1]"], ["combines their predictions"]),
        (calibrated, [inner.format(0) + "[-1]", inner.format(1) + "[-1]"],
         [rows_of_inner, "calibration of its probabilities stays"]),
    ]
    for model, calls, more in cases:
        model.fit(given, goal)
        with pytest.raises(TypeError, match="calls cbrt, which schedc does not export") as caught:
            schedc.compile(model)
        found = re.findall(r"schedc\.compile\((.*?)\)", str(caught.value))
        assert found == calls and all(text in str(caught.value) for text in more)
        for call in found:
            schedc.compile(eval(call, {"model": model}))


def test_models_without_a_fitted_estimator(tmp_path):
    """The message says what to do: it is not always a call of fit."""
    given, goal, depths = TABLE[NUMBERS], GOALS["two"], {"max_depth": [2]}
    search = model_selection.GridSearchCV(tree.DecisionTreeClassifier(), depths, cv=2, refit=False)
    for theirs, kind, message in (
        (search, ValueError, "is not fitted yet: call its fit first"),
        (clone(search).fit(given, goal), ValueError, "has refit=False, .*: fit it with refit=True"),
        (make("passthrough").fit(given), schedc.Refused, "has no fitted step, .*: give rows by check=X"),
    ):
        with pytest.raises(kind, match=message):
            schedc.compile(theirs)
        with pytest.raises(kind, match=message):
            schedc.export(theirs, tmp_path / "p.onnx")
    numbers = given.fillna(0.0).to_numpy()
    assert (schedc.compile(theirs, check=numbers).transform(numbers) == numbers).all()
    # A fitted object that keeps no estimator.
    chosen = feature_selection.SequentialFeatureSelector(tree.DecisionTreeClassifier(max_depth=2), cv=2)
    chosen.fit(numbers, goal)
    assert (schedc.compile(chosen).transform(numbers) == chosen.transform(numbers)).all()


@pytest.mark.filterwarnings("ignore")
def test_parts_that_the_compiler_refuses():
    """A refusal does not name a part whose file is exported but refused by the compiler."""
    theirs = make(preprocessing.StandardScaler(), cluster.MeanShift(bandwidth=1e6))
    theirs.fit(TABLE[["floor"]].fillna(0))
    with pytest.raises(schedc.Refused, match="neither the Pipeline nor its parts, which are MeanShift"):
        schedc.compile(theirs)


def test_searches():
    search = model_selection.GridSearchCV(
        prepared(forest()), {"randomforestclassifier__max_depth": [2, 3]}, cv=2).fit(TABLE, GOALS["words"])
    for theirs in (search, *frozen(search.best_estimator_)):
        check(schedc.compile(theirs), theirs, rows())
    boosting = prepared(xgboost.XGBClassifier(n_estimators=3))
    search = model_selection.GridSearchCV(boosting, {"xgbclassifier__max_depth": [2]}, cv=2)
    search.fit(TABLE, GOALS["two"])
    check(schedc.compile(search), search, rows(), ("predict",))


@pytest.mark.filterwarnings("ignore")
def test_refusals():
    """The message names the step, the column, a correction and the part that compiles."""
    part = r"\nthe Pipeline is not compiled as a whole, but its part can be: schedc.compile\(model\[-1\]\)"
    words = [("w", CountVectorizer(), "contract"), ("n", "passthrough", NUMBERS)]
    text = TABLE.assign(contract="of one year")
    theirs = make(compose.ColumnTransformer(words), histogram()).fit(text, GOALS["two"])
    step = r"(?s)CountVectorizer \(step columntransformer\.w\).*outside.*"
    with pytest.raises(TypeError, match=step + part):
        schedc.compile(theirs)
    with pytest.raises(ValueError, match="the Pipeline is not fitted yet: call its fit first"):
        schedc.compile(prepared(forest()))


def test_without_onnx(monkeypatch):
    theirs = imputed(forest()).fit(TABLE[NUMBERS], GOALS["two"])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"onnx is not installed: pip install 'schedc\[export\]'\n.*model"):
        schedc.compile(theirs)


@pytest.mark.filterwarnings("ignore")
def test_check_of_pipelines(monkeypatch):
    """The check compares with the pipeline, and its message shows a row with the names of columns."""
    theirs = prepared(forest()).fit(TABLE, GOALS["two"])
    predict = type(theirs).predict_proba
    monkeypatch.setattr(type(theirs), "predict_proba", lambda self, X: predict(self, X)[:, ::-1])
    with pytest.raises(schedc.Difference, match="(?s)predict_proba of the Pipeline.*the row is age=.*city="):
        schedc.compile(theirs)
    schedc.compile(theirs, check=False)


@pytest.mark.filterwarnings("ignore")
def test_names_of_other_letters():
    """XGBoost behind steps that hand on frames, whose names have letters beyond ASCII."""
    rows = TABLE[NUMBERS].fillna(0.0).set_axis(["größe", "naïve", "東京", "d"], axis=1)
    scaler = preprocessing.StandardScaler().set_output(transform="pandas")
    theirs = make(scaler, xgboost.XGBClassifier(n_estimators=3)).fit(rows, GOALS["two"])
    found = schedc.compile(theirs, effort="fast").predict_proba(rows)
    numpy.testing.assert_array_equal(found, theirs.predict_proba(rows))
