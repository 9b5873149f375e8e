"""The check in compile detects models whose predictions differ from their objects', and accepts all
others."""

import functools
import pickle
import warnings

import numpy
import pytest

import schedc
from schedc import _compile

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")
catboost = pytest.importorskip("catboost")
pandas = pytest.importorskip("pandas")
treelite = pytest.importorskip("treelite")
pytest.importorskip("sklearn")
import treelite.sklearn  # noqa: E402
from releases import since  # noqa: E402
from sklearn import ensemble, linear_model, pipeline, preprocessing  # noqa: E402

#: With a schedule that takes little time to compile.
compile = functools.partial(schedc.compile, schedule="", rows="f64")

SMALL = {"n_estimators": 8, "random_state": 1}
LIGHT = {**SMALL, "verbose": -1, "min_child_samples": 5}
CAT = {"iterations": 8, "depth": 3, "verbose": False, "allow_writing_files": False}


@pytest.fixture
def compared(monkeypatch):
    """Number of compared methods of each check."""
    counts = []
    check = _compile.check_answers

    def counted(*given, **more):
        counts.append(check(*given, **more))

    monkeypatch.setattr(_compile, "check_answers", counted)
    return counts


def squared(labels, predictions, *_):
    return predictions - labels, numpy.ones_like(labels)


def logistic(labels, predictions, *_):
    shares = 1 / (1 + numpy.exp(-predictions))
    return shares - labels, shares * (1 - shares)


def colored(rows):
    """Rows with a column of names, and one of numbers that are categories."""
    colors = numpy.array(["red", "green", "blue", None], dtype=object)[numpy.arange(len(rows)) % 4]
    return pandas.DataFrame(
        {
            "color": pandas.Categorical(colors),
            "size": rows[:, 0],
            "month": pandas.Categorical(numpy.arange(len(rows)) % 12 + 1),
        }
    )


def estimators(rows, target, classes):
    """Fitted objects of all families, by name."""
    full, two, positive = numpy.nan_to_num(rows), (classes == "bee").astype(int), numpy.abs(target) + 0.1
    named, frame = pandas.DataFrame(rows, columns=list("abcdefgh")), colored(rows)
    learns = target + 20 * (frame["color"] == "blue") - 9 * (frame["month"] == 3)
    by_codes = numpy.column_stack((rows[:, :2], numpy.arange(len(rows)) % 5 * 3.0))
    grades = numpy.searchsorted(["ant", "bee", "cat"], classes)
    eighty = numpy.nan_to_num(rows, nan=-9.0)
    make = {
        "xgb": lambda: xgboost.XGBRegressor(**SMALL).fit(rows, target),
        "xgb-two": lambda: xgboost.XGBClassifier(**SMALL).fit(rows, two),
        "xgb-three": lambda: xgboost.XGBClassifier(**SMALL).fit(named, grades),
        "xgb-softmax": lambda: xgboost.XGBClassifier(objective="multi:softmax", **SMALL).fit(rows, grades),
        "xgb-poisson": lambda: xgboost.XGBRegressor(objective="count:poisson", **SMALL).fit(rows, positive),
        "xgb-missing": lambda: xgboost.XGBRegressor(missing=-9.0, **SMALL).fit(eighty, target),
        "xgb-own": lambda: xgboost.XGBRegressor(objective=squared, **SMALL).fit(rows, target),
        "xgb-own-two": lambda: xgboost.XGBClassifier(objective=logistic, **SMALL).fit(rows, two),
        "xgb-forest": lambda: xgboost.XGBRFClassifier(**SMALL).fit(rows, two),
        "xgb-dart": lambda: xgboost.XGBRegressor(booster="dart", rate_drop=0.3, **SMALL).fit(rows, target),
        "xgb-names": lambda: xgboost.XGBRegressor(enable_categorical=True, **SMALL).fit(frame, learns),
        "xgb-codes": lambda: xgboost.XGBRegressor(
            enable_categorical=True, feature_types=["q", "q", "c"], **SMALL
        ).fit(by_codes, target + by_codes[:, 2]),
        "xgb-booster": lambda: xgboost.XGBClassifier(**SMALL).fit(named, grades).get_booster(),
        "xgb-early": lambda: xgboost.XGBRegressor(
            n_estimators=50, early_stopping_rounds=2, learning_rate=0.9
        ).fit(rows[:200], target[:200], eval_set=[(rows[200:], target[200:])], verbose=False),
        "lgb": lambda: lightgbm.LGBMRegressor(**LIGHT).fit(rows, target),
        "lgb-two": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(named, two),
        "lgb-texts": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(rows, classes),
        "lgb-own": lambda: lightgbm.LGBMRegressor(objective=squared, **LIGHT).fit(rows, target),
        "lgb-zero": lambda: lightgbm.LGBMRegressor(zero_as_missing=True, **LIGHT).fit(rows, target),
        "lgb-linear": lambda: lightgbm.LGBMRegressor(linear_tree=True, **LIGHT).fit(rows, target),
        "lgb-names": lambda: lightgbm.LGBMRegressor(**LIGHT).fit(frame, learns),
        "lgb-codes": lambda: lightgbm.LGBMRegressor(**LIGHT).fit(
            by_codes, target + by_codes[:, 2], categorical_feature=[2]
        ),
        "lgb-booster": lambda: lightgbm.LGBMRegressor(**LIGHT).fit(frame, learns).booster_,
        "lgb-one": lambda: lightgbm.LGBMRegressor(**LIGHT).fit(rows, target * 0),
        "cat": lambda: catboost.CatBoostRegressor(**CAT).fit(rows, target),
        "cat-two": lambda: catboost.CatBoostClassifier(**CAT).fit(named, two),
        "cat-texts": lambda: catboost.CatBoostClassifier(**CAT).fit(rows, classes),
        "cat-poisson": lambda: catboost.CatBoostRegressor(loss_function="Poisson", **CAT).fit(rows, positive),
        "cat-plain": lambda: catboost.CatBoost({**CAT, "loss_function": "RMSE"}).fit(rows, target),
        "forest": lambda: ensemble.RandomForestRegressor(n_jobs=2, verbose=1, **SMALL).fit(rows, target),
        "forest-texts": lambda: ensemble.RandomForestClassifier(**SMALL).fit(named, classes),
        "forest-targets": lambda: ensemble.ExtraTreesRegressor(**SMALL).fit(
            rows, numpy.column_stack((target, positive))
        ),
        "boosting": lambda: ensemble.GradientBoostingRegressor(**SMALL).fit(full, target),
        "boosting-texts": lambda: ensemble.GradientBoostingClassifier(**SMALL).fit(full, classes),
        "boosting-exponential": lambda: ensemble.GradientBoostingClassifier(loss="exponential", **SMALL).fit(
            full, two
        ),
        "histogram": lambda: ensemble.HistGradientBoostingRegressor(max_iter=8).fit(named, target),
        "histogram-poisson": lambda: ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=8).fit(
            rows, positive
        ),
        "histogram-gamma": lambda: ensemble.HistGradientBoostingRegressor(loss="gamma", max_iter=8).fit(
            rows, positive
        ),
        "histogram-texts": lambda: ensemble.HistGradientBoostingClassifier(max_iter=8).fit(rows, classes),
        "histogram-names": lambda: since(
            "1.4", lambda: ensemble.HistGradientBoostingRegressor(
                max_iter=8, categorical_features="from_dtype")).fit(frame, learns),
        "histogram-codes": lambda: since(
            "1.4", lambda: ensemble.HistGradientBoostingRegressor(
                max_iter=8, categorical_features=[2])).fit(by_codes, target + by_codes[:, 2]),
        "isolation": lambda: ensemble.IsolationForest(**SMALL).fit(rows),
        "one-class": lambda: ensemble.ExtraTreesClassifier(**SMALL).fit(rows, ["bee"] * len(rows)),
        "treelite": lambda: treelite.sklearn.import_model(
            ensemble.RandomForestClassifier(**SMALL).fit(rows, classes)
        ),
    }
    return make


NAMES = list(estimators(numpy.zeros((12, 8)), numpy.zeros(12), numpy.array(["ant", "bee", "cat"] * 4)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_right_models_pass(name, rows, target, classes, compared, capfd):
    theirs = estimators(rows, target, classes)[name]()
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        compile(theirs)
    assert warned == [] and compared[0] >= 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore")
def test_iterations_that_are_asked_for(rows, target, compared):
    for theirs in (
        xgboost.XGBRegressor(**SMALL).fit(rows, target),
        lightgbm.LGBMRegressor(**LIGHT).fit(rows, target),
        catboost.CatBoostRegressor(**CAT).fit(rows, target),
    ):
        compile(theirs, iterations="0..3")
        compile(theirs, iterations="2..5")
        compile(theirs, output="leaf")
    assert min(compared) >= 1


@pytest.mark.filterwarnings("ignore")
def test_other_orders_rows_and_processors_pass(rows, target, compared):
    theirs = xgboost.XGBRegressor(**SMALL).fit(rows, target)
    other = schedc.compile(theirs, "tile(tree, t0, t1, 4)\nreorder(t1, t0)\n")
    assert other.order == "reassociated"
    schedc.compile(theirs, base_margin=True)
    light = lightgbm.LGBMRegressor(**LIGHT).fit(rows, target)
    for kind in ("f32", "f64"):
        schedc.compile(light, "", rows=kind)
    assert min(compared) >= 1


# The detected faults.


class Doubled(xgboost.XGBRegressor):
    def predict(self, X, **more):
        return super().predict(X, **more) * numpy.float32(2)


def doctored(change):
    """Treelite's importer with a fault: its model lacks a part."""
    plain = treelite.sklearn.import_model

    def imported(model):
        made = plain(model)
        change(made)
        return made

    return imported


def no_side(made):
    for number in range(made.num_tree):
        tree = made.get_tree_accessor(number)
        tree.set_field("default_left", numpy.zeros_like(tree.get_field("default_left")))


def no_transform(made):
    made.get_header_accessor().set_field("postprocessor", "identity")


def no_equality(made):
    for number in range(made.num_tree):
        tree = made.get_tree_accessor(number)
        less = tree.get_field("cmp")
        tree.set_field("cmp", numpy.where(less == 3, 2, less).astype(less.dtype))


def one_leaf(made):
    tree = made.get_tree_accessor(0)
    leaves = tree.get_field("leaf_value")
    tree.set_field("leaf_value", leaves + 1e-3)


FAULTS = {
    "sides of missing values": (no_side, "forest-texts", "predict_proba"),
    "sides of missing values in a regressor": (no_side, "forest", "predict"),
    "exponential of poisson": (no_transform, "histogram-poisson", "predict"),
    "exponential of gamma": (no_transform, "histogram-gamma", "predict"),
    "thresholds": (no_equality, "histogram", "predict"),
    "thresholds in single precision": (no_equality, "boosting", "predict"),
    "a leaf": (one_leaf, "histogram-texts", "predict_proba"),
    "sides in an isolation forest": (no_side, "isolation", "score_samples"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", FAULTS)
def test_links_that_treelite_loses(fault, rows, target, classes, monkeypatch):
    change, name, method = FAULTS[fault]
    theirs = estimators(rows, target, classes)[name]()
    monkeypatch.setattr(treelite.sklearn, "import_model", doctored(change))
    with pytest.raises(schedc.Difference, match="row [0-9]+ of the check") as refused:
        compile(theirs)
    assert refused.value.method == method
    assert refused.value.findings[0].code == "M0060"
    compile(theirs, check=False)


@pytest.mark.filterwarnings("ignore")
def test_a_predict_of_ones_own(rows, target):
    theirs = Doubled(**SMALL).fit(rows, target)
    with pytest.raises(schedc.Refused) as refused:
        compile(theirs)
    different = refused.value
    (finding,) = different.findings
    assert (
        finding.code == "M0060"
        and "check=False" in finding.help
        and finding.notes[0].startswith("the row is 0=")
    )
    assert "predict(output_margin=True) of the Booster gives" in finding.message
    assert different.theirs == 2 * different.ours and different.row.shape == (1, 8)
    again = pickle.loads(pickle.dumps(different))
    assert (type(again), str(again), again.method) == (schedc.Difference, str(different), different.method)
    numpy.testing.assert_array_equal(compile(theirs, check=False).predict(rows) * 2, theirs.predict(rows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_methods_of_an_object(method, rows, classes, monkeypatch):
    """An overridden method is compared, even in a forest, where labels normally follow from probabilities."""
    for theirs in (
        ensemble.RandomForestClassifier(**SMALL).fit(rows, classes),
        lightgbm.LGBMClassifier(**LIGHT).fit(rows, classes),
    ):
        plain = getattr(theirs, method)
        monkeypatch.setattr(
            theirs,
            method,
            lambda X, plain=plain, **more: numpy.roll(plain(X, **more), 1, axis=0),
            raising=False,
        )
        with pytest.raises(schedc.Difference) as refused:
            compile(theirs)
        assert refused.value.method in (method, "predict(raw_score=True)")


@pytest.mark.filterwarnings("ignore")
def test_bytes_of_other_models(rows, target, classes, monkeypatch):
    """Faults in files: a threshold, a transform, a leaf."""
    light = lightgbm.LGBMRegressor(**LIGHT).fit(rows, target)
    text = light.booster_.model_to_string(num_iteration=-1)
    at = text.index("threshold=") + len("threshold=")
    end = text.index(" ", at)
    moved = text[:at] + repr(float(numpy.nextafter(float(text[at:end]), -numpy.inf))) + text[end:]
    monkeypatch.setattr(light.booster_, "model_to_string", lambda **_: moved)
    with pytest.raises(schedc.Difference):
        compile(light)

    one, two = (xgboost.XGBRegressor(**SMALL).fit(rows, target * factor) for factor in (1, 1 + 1e-6))
    other = bytes(two.get_booster().save_raw("ubj"))
    monkeypatch.setattr(xgboost.Booster, "save_raw", lambda *_, **__: bytearray(other))
    with pytest.raises(schedc.Difference):
        compile(one)


@pytest.mark.filterwarnings("ignore")
def test_categories_of_other_names(rows, target, monkeypatch):
    """A file whose categories have another order than the object's is detected."""
    frame = colored(rows)
    theirs = lightgbm.LGBMRegressor(**LIGHT).fit(frame, target + 20 * (frame["color"] == "blue"))
    text = theirs.booster_.model_to_string(num_iteration=-1)
    assert '["blue", "green", "red"]' in text
    swapped = text.replace('["blue", "green", "red"]', '["red", "green", "blue"]')
    monkeypatch.setattr(theirs.booster_, "model_to_string", lambda **_: swapped)
    with pytest.raises(schedc.Difference) as refused:
        compile(theirs)
    assert list(refused.value.row.columns) == ["color", "size", "month"]


def test_objects_that_do_not_predict(rows, target, monkeypatch):
    theirs = ensemble.RandomForestRegressor(**SMALL).fit(rows, target)

    def broken(X):
        raise RuntimeError("no device")

    monkeypatch.setattr(theirs, "predict", broken, raising=False)
    with pytest.warns(UserWarning, match="was not compared with the RandomForestRegressor.*no device"):
        compile(theirs)


def test_files_have_no_object(rows, target, compared):
    compile(bytes(xgboost.XGBRegressor(**SMALL).fit(rows, target).get_booster().save_raw("ubj")))
    assert compared == []


def test_releases_of_treelite(rows, target, monkeypatch):
    theirs = ensemble.RandomForestRegressor(**SMALL).fit(rows, target)
    for old in ("3.9.1", "4.7.2"):
        monkeypatch.setattr(treelite, "__version__", old)
        with pytest.raises(ImportError, match="Treelite " + old + " loses .* pip install -U 'treelite>=4.8'"):
            compile(theirs)
    for new in ("4.8.0", "4.10.0", "5.0.0rc1"):
        monkeypatch.setattr(treelite, "__version__", new)
        compile(theirs)


@pytest.mark.parametrize("seed", range(4))
def test_estimators_of_dart_round_in_their_own_way(seed):
    source = numpy.random.default_rng(seed)
    rows = source.normal(size=(300, 4)).astype("float32")
    model = xgboost.XGBClassifier(n_estimators=10, max_depth=3, booster="dart", rate_drop=0.5,
                                  random_state=seed)
    schedc.compile(model.fit(rows, (rows[:, 0] + rows[:, 1] > 0).astype(int)))


def test_a_small_power_before_a_sum_is_no_difference():
    """The difference of a small power from 1 cancels, and libraries round powers in different ways."""
    source = numpy.random.default_rng(0)
    rows = source.normal(size=(200, 3)) * 40
    power = preprocessing.PowerTransformer(standardize=False).fit(rows)
    power.lambdas_ = numpy.array([1e-7, 3e-7, 2 - 1e-7])
    line = linear_model.LinearRegression().fit(power.transform(rows), rows[:, 0])
    steps = pipeline.Pipeline([("power", power), ("line", line)])
    model = schedc.compile(steps, effort="background")
    assert numpy.abs(model.predict(rows) - steps.predict(rows)).max() < 1e-5


@pytest.mark.filterwarnings("ignore")
def test_rows_on_the_edges_of_bins_behind_powers(tmp_path, monkeypatch):
    """Libraries round powers differently, so that rows on an edge reach another bin. If powers differ by more
    than their rounding errors, the message has the cause and a remedy, which compiles."""
    transform = preprocessing.PowerTransformer.transform
    monkeypatch.setattr(preprocessing.PowerTransformer, "transform",
                        lambda self, X: transform(self, X) + 1e-12)
    grid, width = numpy.array([-1.0, 0.0, 0.5, 1.0, 2.0]), 8
    rows = numpy.random.default_rng(0).normal(size=(200, width))
    model = pipeline.make_pipeline(preprocessing.PowerTransformer(),
                                   preprocessing.KBinsDiscretizer(6, encode="ordinal"),
                                   linear_model.LinearRegression()).fit(rows, rows[:, 0])
    # Rows that are made for the check have the numbers of the grid.
    edges = model[0].transform(numpy.repeat(grid[:, None], width, 1))
    model[1].bin_edges_[:] = [numpy.array([-9.0, *column, 9.0]) for column in edges.T]
    model[2].coef_ = numpy.ones(width)
    reason, remedy = "rounds differently from scikit-learn", "compare on rows of your own by check=X"
    with pytest.raises(schedc.Difference, match=f"(?s)M0060.*{reason}.*help: .*{remedy}") as caught:
        schedc.compile(model)
    assert "report this" not in str(caught.value)
    with pytest.raises(ValueError, match=f"{reason}.*{remedy}"):
        schedc.export(model, tmp_path / "p.onnx")
    schedc.compile(model, check=rows)


@pytest.mark.parametrize("count", [1, 3])
def test_short_calls(monkeypatch, count):
    """A call with few rows must give the results that the rows have in longer calls."""
    pytest.importorskip("onnx")
    rows = numpy.random.default_rng(2).normal(size=(60, 3))
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())
    theirs = scaled.fit(rows, rows[:, 0])
    right = schedc.Model.predict
    monkeypatch.setattr(
        schedc.Model, "predict", lambda self, X, **more: right(self, X, **more) + (len(X) == count))
    with pytest.raises(schedc.Difference, match=f"in a call with {count} rows"):
        schedc.compile(theirs, effort="fast")
