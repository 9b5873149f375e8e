"""Compiled models predict the same values as their objects."""

import os
import pickle

import numpy
import pytest

import schedc
import schedc_runtime

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")
pytest.importorskip("sklearn")
pytest.importorskip("treelite")
from releases import needs  # noqa: E402
from sklearn import ensemble  # noqa: E402

SMALL = {"n_estimators": 12, "random_state": 1}
LIGHT = {**SMALL, "verbose": -1, "min_child_samples": 5}


def two(classes):
    return (classes == "bee").astype(int)


def three(classes):
    return numpy.searchsorted(["ant", "bee", "cat"], classes)


#: By name: an estimator, its target, and whether the values are equal in all bits.
CASES = {
    "XGBRegressor": (lambda: xgboost.XGBRegressor(**SMALL), "target", True),
    "XGBClassifier-2": (lambda: xgboost.XGBClassifier(**SMALL), "two", True),
    "XGBClassifier-3": (lambda: xgboost.XGBClassifier(**SMALL), "three", True),
    "XGBRFRegressor": (lambda: xgboost.XGBRFRegressor(**SMALL), "target", True),
    "XGBRanker": (lambda: xgboost.XGBRanker(**SMALL), "grades", True),
    "LGBMRegressor": (lambda: lightgbm.LGBMRegressor(**LIGHT), "target", True),
    "LGBMClassifier-2": (lambda: lightgbm.LGBMClassifier(**LIGHT), "two", True),
    "LGBMClassifier-3": (lambda: lightgbm.LGBMClassifier(**LIGHT), "texts", True),
    "LGBMRanker": (lambda: lightgbm.LGBMRanker(**LIGHT), "grades", True),
    "RandomForestRegressor": (lambda: ensemble.RandomForestRegressor(**SMALL), "target", False),
    "RandomForestClassifier-2": (lambda: ensemble.RandomForestClassifier(**SMALL), "two", False),
    "RandomForestClassifier-3": (lambda: ensemble.RandomForestClassifier(**SMALL), "texts", False),
    "ExtraTreesRegressor": (lambda: ensemble.ExtraTreesRegressor(**SMALL), "target", False),
    "ExtraTreesClassifier": (lambda: ensemble.ExtraTreesClassifier(**SMALL), "texts", False),
    "GradientBoostingRegressor": (lambda: ensemble.GradientBoostingRegressor(**SMALL), "target-full", False),
    "GradientBoostingClassifier-2": (lambda: ensemble.GradientBoostingClassifier(**SMALL), "two-full", False),
    "GradientBoostingClassifier-3": (
        lambda: ensemble.GradientBoostingClassifier(**SMALL), "texts-full", False
    ),
    "HistGradientBoostingRegressor": (
        lambda: ensemble.HistGradientBoostingRegressor(max_iter=12), "target", False
    ),
    "HistGradientBoostingClassifier-2": (
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=12), "two", False
    ),
    "HistGradientBoostingClassifier-3": (
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=12), "texts", False
    ),
    "HistGradientBoostingRegressor-poisson": (
        lambda: ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=12), "positive", False),
    "HistGradientBoostingRegressor-gamma": (
        lambda: ensemble.HistGradientBoostingRegressor(loss="gamma", max_iter=12), "positive", False),
    "GradientBoostingClassifier-exponential": (
        lambda: ensemble.GradientBoostingClassifier(loss="exponential", **SMALL), "two-full", False),
    "RandomForestClassifier-1": (lambda: ensemble.RandomForestClassifier(**SMALL), "one", False),
    "ExtraTreesClassifier-1": (lambda: ensemble.ExtraTreesClassifier(**SMALL), "one", False),
    "HistGradientBoostingClassifier-1": (
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=12), "one", False
    ),
    "IsolationForest": (lambda: ensemble.IsolationForest(**SMALL), "none-full", False),
}


def fitted(name, rows, target, classes):
    make, learns, exact = CASES[name]
    learns, _, full = learns.partition("-")
    X = numpy.nan_to_num(rows) if full else rows
    what = {"target": target, "two": two(classes), "three": three(classes), "texts": classes, "none": None,
            "positive": numpy.abs(target) + 0.1, "one": numpy.array(["bee"] * len(target))}
    if learns == "grades":
        return make().fit(X, three(classes), group=[100] * 4), X, exact
    return make().fit(X, what[learns]), X, exact


def same(ours, theirs, exact):
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    if exact or ours.dtype.kind not in "f":
        numpy.testing.assert_array_equal(ours, theirs)
    else:
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_all_methods(name, rows, target, classes):
    theirs, X, exact = fitted(name, rows, target, classes)
    ours = schedc.compile(theirs)
    for method in ("predict", "predict_proba", "apply", "decision_function", "score_samples"):
        if not hasattr(theirs, method) or (method == "decision_function" and name != "IsolationForest"):
            continue
        for some in (X, X[:1], X[:0]):
            if len(some):
                same(getattr(ours, method)(some), getattr(theirs, method)(some), exact)
            else:
                # scikit-learn accepts zero rows; the result has the same type.
                assert getattr(ours, method)(some).shape == (0, *getattr(ours, method)(X).shape[1:])
    # Rows of any memory layout, writable or not.
    expected = ours.predict(X)
    frozen = X.copy()
    frozen.setflags(write=False)
    doubled = numpy.repeat(X, 2, axis=0)[::2]
    for rows_of_other_form in (numpy.asfortranarray(X), frozen, doubled, X.tolist(), X[::-1][::-1]):
        numpy.testing.assert_array_equal(ours.predict(rows_of_other_form), expected)
    numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).predict(X), expected)
    if hasattr(theirs, "classes_"):
        numpy.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.n_features_in_ == 8


@pytest.mark.filterwarnings("ignore")
def test_doubles(rows, target):
    """Rows in double precision are rounded exactly where the trainer rounds them."""
    X = rows.astype("float64") + numpy.random.default_rng(3).normal(size=rows.shape) * 1e-9
    for theirs in (
        lightgbm.LGBMRegressor(**LIGHT),
        xgboost.XGBRegressor(**SMALL),
        ensemble.HistGradientBoostingRegressor(max_iter=12),
        ensemble.RandomForestRegressor(**SMALL),
    ):
        theirs.fit(X, target)
        numpy.testing.assert_allclose(schedc.compile(theirs).predict(X), theirs.predict(X), rtol=1e-6)


def test_exponential_loss():
    """The probability is the sigmoid of twice the margin."""
    rows, labels = numpy.arange(4.0).reshape(4, 1), [0, 0, 1, 1]
    theirs = ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=1, max_depth=1).fit(rows,
                                                                                                      labels)
    ours = schedc.compile(theirs, "")
    numpy.testing.assert_allclose(ours.predict_proba(rows)[:, 1], [0.450166] * 2 + [0.549834] * 2, atol=5e-7)
    same(ours.predict_proba(rows), theirs.predict_proba(rows), False)
    # The library has it, too.
    numpy.testing.assert_array_equal(schedc_runtime.load(ours.library).predict(rows.astype("float32")),
                                     ours.predict_proba(rows)[:, 1])


def test_one_class(rows):
    theirs = ensemble.RandomForestClassifier(**SMALL).fit(rows, ["bee"] * len(rows))
    ours = schedc.compile(theirs, "")
    assert list(ours.predict(rows)) == ["bee"] * len(rows)
    same(ours.predict_proba(rows), numpy.ones((len(rows), 1)), True)


#: Categories of a feature that histogram gradient boosting encodes.
CATEGORIES = {
    "codes": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    "gaps": [0.0, 2.0, 7.0, 30.0, 31.0, 500.0],
    "large": [1.0, 5000.0, 70000.0, 70001.0, 70002.0, 90000.0],
}


@needs("1.4")
@pytest.mark.parametrize("kind", CATEGORIES)
@pytest.mark.parametrize("missing", [False, True])
def test_histogram_codes(kind, missing, rows, target):
    """Numbers outside of the categories, with a fraction or negative, count as missing."""
    codes = numpy.array(CATEGORIES[kind])[numpy.random.default_rng(4).integers(6, size=len(rows))]
    learns = target + 20 * numpy.isin(codes, CATEGORIES[kind][::2])
    X = numpy.column_stack((rows[:, 0], codes, rows[:, 1])).astype("float64")
    if missing:
        X[::9, 1] = numpy.nan
        learns = learns - 30 * numpy.isnan(X[:, 1])
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=12, categorical_features=[1],
                                                    min_samples_leaf=5).fit(X, learns)
    ours = schedc.compile(theirs, "")
    odd = X.copy()
    for first, number in enumerate([99.0, -1.0, -0.5, 2.5, numpy.nan, 1e9, -7.0, -0.0]):
        odd[first::16, 1] = number
    for some in (X, odd):
        same(ours.predict(some), theirs.predict(some), False)
    numpy.testing.assert_array_equal(schedc.load(ours.library).predict(odd), ours.predict(odd))


@needs("1.4")
@pytest.mark.parametrize("names", [["red", "green", "blue", "grey"], [10, 20, 30, 40], [3, 0, 2, 1]])
def test_histogram_names(names, rows, target):
    pandas = pytest.importorskip("pandas")
    values = numpy.array([*names, None], dtype=object)[numpy.arange(len(rows)) % 5]
    frame = pandas.DataFrame({"a": rows[:, 0], "name": pandas.Categorical(values, categories=names),
                              "c": rows[:, 1]})
    learns = target + 20 * (values == names[2]) - 40 * (values == None)  # noqa: E711
    # Releases from 1.6 on take the categories of frames by default.
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=12, categorical_features="from_dtype",
                                                    min_samples_leaf=5).fit(frame, learns)
    ours = schedc.compile(theirs, "")
    other = pandas.Categorical(frame["name"].astype(object),
                               categories=[*names[::-1], "new" if names[0] == "red" else 77])
    for some in (frame, frame.assign(name=other),
                 frame.assign(name=other.add_categories([5]).fillna(other.categories[-1]))):
        same(ours.predict(some), theirs.predict(some), False)


@needs("1.4")
@pytest.mark.parametrize("values", [[-3.0, 0.0, 1.0], [0.5, 1.0, 2.0]])
def test_histogram_codes_that_are_refused(values, rows, target):
    """The remedy in the message leads to a model that compiles."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    X = numpy.array(values)[numpy.arange(len(rows)) % 3].reshape(-1, 1)
    make = lambda: ensemble.HistGradientBoostingRegressor(max_iter=4, categorical_features=[0])  # noqa: E731
    with pytest.raises(ValueError, match="put sklearn.preprocessing.OrdinalEncoder before it"):
        schedc.compile(make().fit(X, target))
    encoder, theirs = (both := make_pipeline(OrdinalEncoder(), make()).fit(X, target))[0], both[1]
    same(schedc.compile(theirs, "").predict(encoder.transform(X)), both.predict(X), False)


@pytest.mark.parametrize("call", [schedc.compile, lambda one: schedc.export(one, os.devnull)])
def test_histogram_codes_without_an_encoder(call, rows, target):
    """Releases before 1.4 fit no encoder."""
    X = numpy.nan_to_num(rows[:, :1].round().clip(0))
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=4, categorical_features=[0]).fit(X, target)
    vars(theirs).pop("_preprocessor", None)
    with pytest.raises((TypeError, ValueError), match="has categories, and .*; fit it with scikit-learn 1.4"):
        call(theirs)


def test_early_stopping(rows, target):
    theirs = xgboost.XGBRegressor(n_estimators=60, early_stopping_rounds=2, learning_rate=0.9)
    theirs.fit(rows[:200], target[:200], eval_set=[(rows[200:], target[200:])], verbose=False)
    assert theirs.best_iteration < 59
    ours = schedc.compile(theirs)
    same(ours.predict(rows), theirs.predict(rows), True)
    same(ours.predict(rows, iteration_range=(0, 3)), theirs.predict(rows, iteration_range=(0, 3)), True)
    booster = theirs.get_booster()
    same(schedc.compile(booster).predict(rows), booster.predict(xgboost.DMatrix(rows)), True)

    light = lightgbm.LGBMRegressor(n_estimators=60, learning_rate=0.9, verbose=-1)
    light.fit(rows[:200], target[:200], eval_set=[(rows[200:], target[200:])],
              callbacks=[lightgbm.early_stopping(2, verbose=False)])
    assert 0 < light.best_iteration_ < 60
    same(schedc.compile(light).predict(rows), light.predict(rows), True)
    same(schedc.compile(light.booster_).predict(rows), light.booster_.predict(rows), True)


def test_missing_and_base_margin(rows, target):
    X = numpy.nan_to_num(rows, nan=-9.0)
    theirs = xgboost.XGBRegressor(missing=-9.0, **SMALL).fit(X, target)
    ours = schedc.compile(theirs)
    same(ours.predict(X), theirs.predict(X), True)
    margin = numpy.linspace(-1, 1, len(X)).astype("float32")
    same(ours.predict(X, base_margin=margin), theirs.predict(X, base_margin=margin), True)
    with pytest.raises(ValueError, match="base_margin has 3 numbers"):
        ours.predict(X, base_margin=margin[:3])


def test_sparse(rows, target):
    scipy = pytest.importorskip("scipy.sparse")
    X = numpy.where(numpy.abs(numpy.nan_to_num(rows)) < 0.7, 0, numpy.nan_to_num(rows))
    for theirs in (xgboost.XGBRegressor(**SMALL), lightgbm.LGBMRegressor(**LIGHT),
                   ensemble.RandomForestRegressor(**SMALL)):
        sparse = scipy.csr_matrix(X)
        theirs.fit(sparse, target)
        ours = schedc.compile(theirs)
        numpy.testing.assert_allclose(ours.predict(sparse), theirs.predict(sparse), rtol=1e-6)
        numpy.testing.assert_array_equal(ours.predict(sparse.tocsc()), ours.predict(sparse))
        assert len(ours.predict(sparse[:0])) == 0


def test_catboost(rows, target, classes):
    catboost = pytest.importorskip("catboost")
    options = {"iterations": 12, "depth": 4, "verbose": False, "allow_writing_files": False}
    signs = (numpy.nan_to_num(rows)[:, :3] > 0).astype(int)
    for theirs, what in (
        (catboost.CatBoostRegressor(**options), target),
        (catboost.CatBoostClassifier(**options), two(classes)),
        (catboost.CatBoostClassifier(**options), classes),
        (catboost.CatBoostClassifier(loss_function="MultiClass", **options), two(classes)),
        (catboost.CatBoostClassifier(loss_function="MultiLogloss", **options), signs),
        (catboost.CatBoostClassifier(loss_function="MultiCrossEntropy", **options), signs),
        (catboost.CatBoost({**options, "loss_function": "RMSE"}), target),
    ):
        theirs.fit(rows, what)
        ours = schedc.compile(theirs)
        same(ours.predict(rows), numpy.asarray(theirs.predict(rows)), False)
        if hasattr(theirs, "predict_proba"):
            same(ours.predict_proba(rows), theirs.predict_proba(rows), False)


def test_tables(rows, target):
    pandas = pytest.importorskip("pandas")
    names = list("abcdefgh")
    frame = pandas.DataFrame(rows, columns=names)
    theirs = xgboost.XGBRegressor(**SMALL).fit(frame, target)
    ours = schedc.compile(theirs)
    expected = theirs.predict(frame)
    assert list(ours.feature_names_in_) == names
    same(ours.predict(frame[names[::-1]].assign(other=1)), expected, True)
    with pytest.raises(ValueError, match='lacks features of the model: "c"'):
        ours.predict(frame.drop(columns="c"))
    same(ours.predict(frame.set_axis(range(8), axis=1), by_position=True), expected, True)
    arrow = pytest.importorskip("pyarrow")
    table = arrow.Table.from_pandas(frame)
    same(ours.predict(table), expected, True)
    same(ours.predict(arrow.concat_tables([table[:100], table[100:]])), expected, True)
    polars = pytest.importorskip("polars")
    same(ours.predict(polars.from_arrow(table)), expected, True)


@pytest.mark.filterwarnings("ignore")
def test_names_that_files_lack(rows, target):
    """A model of scikit-learn that was trained on a frame finds columns by name. One that was trained without
    names takes them in their order, unless the table has the generated names."""
    pandas = pytest.importorskip("pandas")
    X = numpy.nan_to_num(rows)
    names = list("abcdefgh")
    frame = pandas.DataFrame(X, columns=names)
    named = ensemble.RandomForestRegressor(**SMALL).fit(frame, target)
    ours = schedc.compile(named)
    assert list(ours.feature_names_in_) == names
    for table in (frame, frame[names[::-1]].assign(more=1)):
        same(ours.predict(table), named.predict(frame), False)
        same(pickle.loads(pickle.dumps(ours)).predict(table), named.predict(frame), False)
    same(ours.predict(frame.rename(columns={"a": "A"}), columns={"a": "A"}), named.predict(frame), False)
    with pytest.raises(ValueError, match='lacks features of the model: "a"'):
        ours.predict(frame.rename(columns={"a": "x"}))
    light = lightgbm.LGBMRegressor(**LIGHT).fit(X, target)
    ours = schedc.compile(light)
    same(ours.predict(frame), light.predict(X), True)
    made_up = pandas.DataFrame(X, columns=light.booster_.feature_name())
    same(ours.predict(made_up[made_up.columns[::-1]]), light.predict(X), True)


def test_what_is_not_fitted():
    for theirs in (xgboost.XGBRegressor(), lightgbm.LGBMRegressor(), ensemble.RandomForestRegressor()):
        with pytest.raises(ValueError, match="is not fitted yet"):
            schedc.compile(theirs)


class Capsule:
    """A table with no interface but Arrow's C interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrow_without_pyarrow(rows, target, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    colors = numpy.array(["red", "green", None, "grey"])[numpy.arange(len(rows)) % 4]
    frame = pandas.DataFrame({"color": pandas.Categorical(colors), "size": rows[:, 0],
                              "flag": rows[:, 1] > 0})
    theirs = lightgbm.LGBMRegressor(**LIGHT).fit(frame, target + 20 * (colors == "grey"))
    ours = schedc.compile(theirs)
    expected = theirs.predict(frame)
    plain = arrow.table({
        "flag": arrow.array(frame["flag"]), "size": arrow.array(rows[:, 0], from_pandas=True),
        "color": arrow.array(colors.tolist()),
        "more": arrow.array([None] * len(rows)),
    })
    encoded = plain.set_column(2, "color", plain["color"].dictionary_encode())
    large = plain.set_column(2, "color", plain["color"].cast("large_string"))
    chunked = arrow.concat_tables([encoded[:130], encoded[130:131], encoded[131:131], encoded[131:]])
    sliced = arrow.concat_tables([plain[:7], plain])[7:]
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for table in (plain, encoded, large, chunked, sliced):
        same(ours.predict(Capsule(table)), expected, True)
    same(ours.predict(Capsule(plain[:0])), expected[:0], True)
    with pytest.raises(ValueError, match='lacks features of the model: "size"'):
        ours.predict(Capsule(plain.drop_columns(["size"])))
    with pytest.raises(TypeError, match='column "size" holds values of Arrow'):
        ours.predict(Capsule(plain.set_column(1, "size", arrow.array([[1.0]] * len(rows)))))


def test_categories(rows, target):
    pandas = pytest.importorskip("pandas")
    colors = numpy.array(["red", "green", "blue", "grey"])[numpy.arange(len(rows)) % 4]
    frame = pandas.DataFrame({"color": pandas.Categorical(colors), "size": rows[:, 0]})
    learns = target + 20 * (colors == "blue")
    for theirs in (
        xgboost.XGBRegressor(enable_categorical=True, tree_method="hist", **SMALL),
        lightgbm.LGBMRegressor(**LIGHT),
    ):
        theirs.fit(frame, learns)
        ours = schedc.compile(theirs)
        same(ours.predict(frame), theirs.predict(frame), True)
        # Codes of a frame with other categories are mapped to those of training.
        other = frame[::-1].assign(color=lambda made: pandas.Categorical(made["color"].astype(str),
                                                                         ["grey", "blue", "green", "red"]))
        same(ours.predict(other), theirs.predict(frame)[::-1], True)
        assert len(ours.predict(frame.assign(color="blue"))) == len(frame)
    unknown = frame[:1].assign(color=pandas.Categorical(["black"]))
    with pytest.raises(ValueError, match='"black" is not a category of the model'):
        ours_of_xgboost = schedc.compile(
            xgboost.XGBRegressor(enable_categorical=True, tree_method="hist", **SMALL).fit(frame, learns))
        ours_of_xgboost.predict(unknown)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(rows, target, classes):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.validation import check_is_fitted

    X = numpy.nan_to_num(rows)
    scaler = StandardScaler().fit(X)
    theirs = xgboost.XGBClassifier(**SMALL).fit(scaler.transform(X), two(classes))
    ours = schedc.compile(theirs)
    check_is_fitted(ours)
    assert ours.get_params() == {}
    pipeline = make_pipeline(scaler, ours)
    numpy.testing.assert_array_equal(pipeline.predict(X), theirs.predict(scaler.transform(X)))
    assert pipeline.score(X, two(classes)) == theirs.score(scaler.transform(X), two(classes))


def test_files(rows, target, tmp_path):
    theirs = xgboost.XGBRegressor(**SMALL).fit(rows, target)
    theirs.save_model(tmp_path / "model.json")
    ours = schedc.compile(tmp_path / "model.json", cpu=["x86-64-v2", "x86-64-v3"])
    same(ours.predict(rows), theirs.predict(rows), True)
    assert {cpu for cpu, _ in ours.schedules} == {"x86-64-v2", "x86-64-v3"}
    ours.save(tmp_path / "model.so")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "model.so"]
    same(schedc.load(tmp_path / "model.so").predict(rows), theirs.predict(rows), True)
    same(schedc.load(ours.library).predict(rows, output="raw"), theirs.predict(rows, output_margin=True),
         True)


def test_schedules(rows, target):
    theirs = xgboost.XGBRegressor(**SMALL).fit(rows, target)
    text = "tile(batch, b0, b1, 32)\nreorder(b0, tree, b1)\n"
    ours = schedc.compile(theirs, text)
    assert ours.schedule == text and ours.order == "exact"
    same(ours.predict(rows), theirs.predict(rows), True)
    with pytest.raises(schedc.Refused, match="no loop is called `foo`") as refused:
        schedc.compile(theirs, "tile(foo, a, b, 3)")
    (finding,) = refused.value.findings
    assert (finding.code, finding.line, finding.column) == ("S0024", 1, 6)


def test_what_is_no_model(tmp_path):
    with pytest.raises(TypeError, match="is no model that schedc reads"):
        schedc.compile(3)
    with pytest.raises(FileNotFoundError):
        schedc.compile(tmp_path / "nothing.json")
    with pytest.raises(schedc.Refused, match="M0"):
        schedc.compile(b"no model at all")


def test_tables_in_place(rows, target):
    """Numeric columns are read without a copy, even with nulls: allocations do not grow with the table."""
    import resource
    import tracemalloc

    arrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    names = list("abcdefgh")
    theirs = xgboost.XGBRegressor(**SMALL).fit(pandas.DataFrame(rows, columns=names), target)
    ours = schedc.compile(theirs)
    many = numpy.asfortranarray(numpy.tile(rows, (1000, 1)))
    nulls = arrow.table({name: arrow.array(many[:, at], from_pandas=True) for at, name in enumerate(names)})
    assert nulls["a"].null_count > 0
    frame = pandas.DataFrame(many, columns=names, copy=False)
    plain = polars.DataFrame(dict(zip(names, many.T)))
    wanted = ours.predict(many)
    out = numpy.empty_like(wanted)
    for table in (nulls, nulls.to_batches()[0], frame, plain):
        ours.predict(table, out=out)
        numpy.testing.assert_array_equal(out, wanted)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tracemalloc.start()
        ours.predict(table, out=out)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        assert peak < 2 * wanted.nbytes, f"{type(table)}: {peak} bytes for a table of {many.nbytes}"
        assert grown < many.nbytes, f"{type(table)}: {grown} bytes more for a table of {many.nbytes}"
