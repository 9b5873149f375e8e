"""Messages for wrong calls from Python: each says what is wrong and how to correct it."""

import decimal
import pickle
import re

import numpy
import pytest
import schedc
import schedc_runtime
import xgboost
from schedc import BatchPredictor, Refused
from schedc.findings import Unsupported
from sklearn.ensemble import IsolationForest, RandomForestRegressor

catboost = pytest.importorskip("catboost")
pandas = pytest.importorskip("pandas")
arrow = pytest.importorskip("pyarrow")

NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]


@pytest.fixture(scope="module")
def frame(rows):
    return pandas.DataFrame(rows, columns=NAMES)


@pytest.fixture(scope="module")
def compiled(frame, classes):
    return schedc.compile(xgboost.XGBClassifier(n_estimators=3).fit(frame, (classes == "ant").astype(int)))


def refused(kind, call, *parts):
    """Checks that a call raises an error of exactly this kind whose text has each of the parts."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind, caught.value
    if issubclass(kind, Refused):
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (type(copy), str(copy)) == (kind, str(caught.value))
        assert [*copy.findings] == [*caught.value.findings] and copy.findings[0].severity == "error"
    for part in parts:
        assert part in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: catboost.CatBoostClassifier(),
        lambda: catboost.CatBoost(),
        lambda: xgboost.XGBRegressor(),
        lambda: RandomForestRegressor(),
    ],
)
def test_unfitted_objects(make):
    refused(Refused, lambda: schedc.compile(make()), "is not fitted yet: call its fit first")


@pytest.mark.parametrize(("call", "code"), [
    (lambda model, rows: model.predict(rows.to_numpy()[:, :3]), "U0001"),
    (lambda model, rows: model.predict_proba(rows.to_numpy()[:, :3]), "U0001"),
    (lambda model, rows: model.predict(rows.to_numpy(), out=numpy.zeros(3)), "U0001"),
    (lambda model, rows: model.predict(rows, output="leaves"), "U0001"),
    (lambda model, rows: model.predict(rows, unseen="any"), "U0001"),
    (lambda model, rows: model.predict(rows, base_margin=[0.5, 0.5]), "U0001"),
    (lambda model, rows: model.predict(rows[["a", "b"]]), "D0006"),
    (lambda model, rows: model.predict(rows[[*NAMES, "a"]]), "D0007"),
    (lambda model, rows: model.predict(rows.assign(a="x")), "D0020"),
    (lambda model, rows: model.predict({name: [1.0] * at for at, name in enumerate(NAMES, 1)}), "D0021"),
    (lambda model, rows: BatchPredictor(model.library).predict(rows.to_numpy()[:, :3]), "D0004"),
    (lambda model, rows: BatchPredictor(model.library, unseen="any"), "U0001"),
])
def test_calls_that_are_refused(compiled, frame, call, code):
    """Calls raise the error that compilations raise, with a code."""
    with pytest.raises(Refused) as caught:
        call(compiled, frame)
    assert caught.value.findings[0].code == code
    assert schedc_runtime.Refused is Refused


def test_unknown_categories():
    """`unseen=` of a compilation holds for its calls, and that of a call replaces it, also for arrays."""
    table = pandas.DataFrame({"k": pandas.Categorical([*"aab"] * 20), "x": numpy.arange(60) % 7.0})
    theirs = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True).fit(table, numpy.arange(60) % 3)
    missing = theirs.predict(table.assign(k=table["k"].where(table["k"] == "a"))[:3])
    given = pandas.DataFrame({"k": ["a", "a", "new"], "x": table["x"][:3]})
    for unseen in (None, "error", "missing"):
        ours = schedc.compile(theirs, effort="fast", unseen=unseen)
        for model in (ours, schedc.load(ours.library), pickle.loads(pickle.dumps(ours))):
            if unseen == "missing":
                assert (model.predict(given) == missing).all()
            else:
                refused(Refused, lambda: model.predict(given), '"new" is not a category', 'unseen="missing"')
            assert (model.predict(given, unseen="missing") == missing).all()
            codes = numpy.array([[0.0, 0.0], [0.0, 1.0], [5.0, 2.0]])
            assert (model.predict(codes, unseen="missing") == missing).all()
            refused(Refused, lambda: model.predict(codes, unseen="error"), "row 3", '"5" is not a category')
    refused(Refused, lambda: schedc.compile(theirs, unseen="any"), "unseen is", "not 'any'")


def test_an_empty_booster():
    refused(Refused, lambda: schedc.compile(xgboost.Booster()), "the Booster is empty", "xgboost.train",
            "load_model")


@pytest.mark.parametrize("kind", ["float32", numpy.float64, "f16", None])
def test_types_of_rows(kind):
    model = RandomForestRegressor(2).fit([[0.0], [1.0]], [0.0, 1.0])
    way = {"float32": ': rows="f32" is for float32', numpy.float64: ': rows="f64" is for float64'}
    message = f'or "both", not {kind!r}{way.get(kind, "")}'
    refused(Refused, lambda: schedc.compile(model, rows=kind), message)


@pytest.mark.parametrize("option, word", [("effort", "fast"), ("effort", "full"), ("target", "gpu")])
def test_words_of_other_options(option, word):
    model = RandomForestRegressor(2).fit([[0.0], [1.0]], [0.0, 1.0])
    refused(Refused, lambda: schedc.compile(model, word), f"'{word}' is no schedule", f"{option}='{word}'")


@pytest.mark.parametrize("ending, loader", [("pkl", "joblib.load"), ("skops", "skops.io.load")])
def test_files_of_objects(tmp_path, ending, loader):
    path = tmp_path / f"model.{ending}"
    path.write_bytes(b"an object")
    refused(Refused, lambda: schedc.compile(path), "holds a Python object", f"schedc.compile({loader}(")


def test_a_compiled_model_is_not_compiled_again(compiled):
    refused(TypeError, lambda: schedc.compile(compiled), "compiled already",
            "the object or the file that it is made from")


def test_outputs_that_the_model_lacks(rows, target):
    model = xgboost.XGBRegressor(n_estimators=2).fit(rows, target)
    for output in ("probability", "class"):
        refused(Refused, lambda: schedc.compile(model, output=output), f"has no output `{output}`",
                '"value"')
    refused(Refused, lambda: schedc.compile(model).predict(rows, output="class"), 'no output "class"',
            '"value", "raw", "leaf" or "tree"')


@pytest.mark.parametrize("effort", ["full", "background"])
def test_a_wrong_output_is_refused_before_the_schedule_is_read(rows, target, effort):
    model = xgboost.XGBRegressor(n_estimators=2).fit(rows, target)
    refused(Refused, lambda: schedc.compile(model, "tile(batch)", output="class", effort=effort),
            "U0004", 'choose "value", "raw", "leaf" or "tree"')


WRONG_OPTIONS = {
    "cpu": [(None, TypeError, "a list"), (3, TypeError, "a list"), ("skylake", Refused, "x86-64-v3")],
    "output": [(3, TypeError, '"raw"')],
    "missing": [("NA", TypeError, "a number"), (True, TypeError, "a number")],
    "iterations": [(10, TypeError, '"0..10"'), ("ten", Refused, "0..10")],
    "as_release": [(3.4, TypeError, '"3.4"')],
    "target": [(3, TypeError, '"cpu(avx512)"')],
    "sets": [({"n": 1.5}, TypeError, "whole numbers"), ([1], TypeError, "a dict")],
    "batch_size": [(1.5, TypeError, "a whole number"), (0, Refused, "from 1"), (-1, Refused, "from 1")],
    "lock": [(3, TypeError, "path of a file")],
    "locked": [(None, TypeError, "True or False")],
    "cache": [("yes", TypeError, "True or False")],
}


@pytest.mark.parametrize("option", WRONG_OPTIONS)
def test_options_of_another_kind(rows, target, option):
    model = xgboost.XGBRegressor(n_estimators=2).fit(rows, target)
    for value, kind, part in WRONG_OPTIONS[option]:
        refused(kind, lambda: schedc.compile(model, **{option: value}), part, option)


@pytest.mark.parametrize(("wrong", "meant"), [("efort", "effort"), ("shedule", "schedule"), ("zzz", None)])
def test_misspelled_options(wrong, meant):
    advice = "" if meant is None else f"; '{meant}' may be meant"
    with pytest.raises(TypeError, match=f"^compile has no option '{wrong}'{advice}$"):
        schedc.compile("model.json", **{wrong: "fast"})


def test_objects_that_are_no_models(frame):
    for given, name in ((None, "object of NoneType"), (frame, "object of DataFrame"),
                        (xgboost.XGBClassifier, "the class XGBClassifier")):
        refused(TypeError, lambda: schedc.compile(given), name, "a fitted object", "pipeline")


def test_frames_with_other_names_of_all_columns(compiled, frame, rows):
    numbered = pandas.DataFrame(rows)
    refused(Refused, lambda: compiled.predict(numbered), "lacks all features",
            "by_position=True takes the table's 8 columns in their order")
    assert (compiled.predict(numbered, by_position=True) == compiled.predict(frame)).all()
    with pytest.raises(Refused, match="lacks all features") as caught:
        compiled.predict(numbered.iloc[:, :7])
    assert "by_position" not in str(caught.value)


def test_iteration_ranges_that_are_no_pairs(compiled, rows):
    for wrong in (5, (1, 2, 3), "all", ("a", "b")):
        refused(TypeError, lambda: compiled.predict(rows, iteration_range=wrong), "(0, 10)", repr(wrong))


def test_an_empty_list_has_no_rows(compiled):
    assert compiled.predict([]).shape == (0,)
    assert compiled.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        (pandas.DataFrame(), ["the table has no columns", 'the model reads "a", "b", "c" and 5 more']),
        ([0.5] * 8, ["a row (a list or a dict), but the first item is float", "write [row]"]),
        (["a", "b"], ["the first item is str"]),
        ([[0.5] * 8, [0.5] * 7], ["the rows of the list have different numbers of columns"]),
        ([[]], ["rows have 0 columns, but the model has 8 features"]),
    ],
)
def test_tables_and_lists_that_are_no_rows(compiled, given, parts):
    refused(Refused, lambda: compiled.predict(given), *parts)
    refused(Refused, lambda: compiled.predict_proba(given), *parts)


def test_names_with_a_slip(compiled, frame):
    for name, meant in (("predict_prob", "predict_proba"), ("predit", "predict"), ("clases_", "classes_"),
                        ("feature_names_in", "feature_names_in_")):
        refused(AttributeError, lambda: getattr(compiled, name), f"no {name!r}: {meant!r} may be meant")
    number = schedc.compile(xgboost.XGBRegressor(n_estimators=2).fit(frame, numpy.arange(len(frame))))
    refused(AttributeError, lambda: number.predict_prob, "it only predicts")
    refused(AttributeError, lambda: number.classes_, "no 'classes_': the model is no classifier")
    cells = numpy.nan_to_num(frame.to_numpy())
    nameless = schedc.compile(xgboost.XGBRegressor(n_estimators=2).fit(cells, cells[:, 0]))
    refused(AttributeError, lambda: nameless.feature_names_in_, "was trained without names of features")


def test_structured_arrays_are_tables(compiled, frame):
    records = frame.to_records(index=False)
    for given in (records, numpy.asarray(records)):
        assert (compiled.predict(given) == compiled.predict(frame)).all()


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("rows.csv", ["not a str", "pandas.read_csv"]),
        (b"1234", ["not a bytes", "numpy.frombuffer"]),
        ((row for row in ()), ["not a generator", "list(rows)"]),
        (xgboost.DMatrix(numpy.zeros((1, 8))), ["not a DMatrix of xgboost", "array or frame"]),
        (catboost.Pool(numpy.zeros((1, 8))), ["not a Pool of catboost", "array or frame"]),
        (None, ["not NoneType", "a DataFrame of pandas, Polars or cuDF"]),
    ],
)
def test_objects_that_are_no_rows(compiled, given, parts):
    refused(TypeError, lambda: compiled.predict(given), *parts)


def test_decimals(compiled):
    values = [decimal.Decimal("0.5")] * 2
    way = "trainers read floats, so convert it to float64 first"
    table = arrow.table({name: values for name in NAMES})
    refused(Unsupported, lambda: compiled.predict(table), 'column "a" holds decimals', way)
    refused(Unsupported, lambda: compiled.predict(pandas.DataFrame({name: values for name in NAMES})),
            'column "a" holds decimals', way)


def test_load_names_the_file_and_the_way(compiled, tmp_path):
    model = tmp_path / "m.json"
    model.write_text("{}")
    refused(OSError, lambda: schedc.load(model), f'{model} is a model and no library',
            f'schedc.compile("{model}")')
    pickled = tmp_path / "m.pkl"
    pickled.write_bytes(b"\x80\x04.")
    refused(OSError, lambda: schedc.load(pickled), f"{pickled} is no library", "schedc.compile")
    other = tmp_path / "m.so"
    other.write_bytes(b"text")
    refused(OSError, lambda: schedc.load(other), f"{other} is no library of schedc", "save(", "schedc build")


def test_save_names_the_folder(compiled, tmp_path):
    place = tmp_path / "no" / "such" / "m.so"
    refused(FileNotFoundError, lambda: compiled.save(place),
            f"there is no folder {place.parent}: make it first")
    refused(IsADirectoryError, lambda: compiled.save(tmp_path), "give the name of a file in it")
    assert list(tmp_path.iterdir()) == []


def categorical(rows):
    """A frame with a column of texts and one of whole numbers, and a target that depends on both."""
    numbers = numpy.nan_to_num(rows)
    frame = pandas.DataFrame({
        "x": numbers[:, 0], "k": numpy.where(numbers[:, 1] > 0, "up", "down"),
        "n": numpy.digitize(numbers[:, 2], [-1, 0, 1]),
    })
    return frame, ((numbers[:, 0] + (frame.k == "up") + (frame.n == 2)) > 1).astype(int)


def trained(rows, **options):
    frame, target = categorical(rows)
    model = catboost.CatBoostClassifier(iterations=10, verbose=0, allow_writing_files=False, **options)
    return frame, model.fit(frame, target, cat_features=["k", "n"])


@pytest.mark.parametrize("as_pool", [False, True])
def test_categories_of_catboost_come_from_the_training_rows(rows, tmp_path, as_pool):
    frame, model = trained(rows, one_hot_max_size=10)
    refused(Refused, lambda: schedc.compile(model), "the CatBoostClassifier test categories",
            "schedc.compile(model, pool=X_train)")
    pool = catboost.Pool(frame, cat_features=["k", "n"]) if as_pool else frame
    compiled = schedc.compile(model, pool=pool)
    compiled.save(tmp_path / "m.so")
    unknown = frame.assign(k="sideways", n=77)
    for given in (frame, unknown):
        for served in (compiled, schedc.load(tmp_path / "m.so")):
            assert (served.predict(given) == model.predict(given)).all()
            assert numpy.allclose(served.predict_proba(given), model.predict_proba(given), 1e-12)


def test_the_check_sees_names_of_catboost(rows, monkeypatch):
    """The rows of the check have known names, not only unknown ones."""
    frame, model = trained(rows, one_hot_max_size=10)
    theirs, seen = model.predict, []

    def predict(given, *arguments, **more):
        seen.extend(given[:, 1])
        return theirs(given, *arguments, **more)

    monkeypatch.setattr(model, "predict", predict)
    schedc.compile(model, pool=frame)
    assert {"up", "down"} & set(seen)


def test_training_rows_that_do_not_help(rows, frame, target):
    table, model = trained(rows)
    with pytest.raises(schedc.Refused, match="statistic of a category"):
        schedc.compile(model, pool=table)
    with pytest.raises(schedc.Refused, match="statistic of a category"):
        schedc.compile(model)
    table, model = trained(rows, one_hot_max_size=10)
    refused(Refused, lambda: schedc.compile(model, pool=table[["x", "k"]]), "pool= has no rows for the",
            "x, k, n")
    other = xgboost.XGBRegressor(n_estimators=2).fit(frame, target)
    refused(Refused, lambda: schedc.compile(other, pool=frame), "pool= is for fitted objects of CatBoost")


@pytest.mark.parametrize("samples", [1, 2, 50])
def test_scores_of_isolation_forests(rows, tmp_path, samples):
    """Scores equal scikit-learn's except for the last digit, since only the object has the divisor in double
    precision."""
    plain = numpy.nan_to_num(rows)
    forest = IsolationForest(n_estimators=10, max_samples=samples, random_state=1).fit(plain)
    compiled = schedc.compile(forest)
    compiled.save(tmp_path / "m.so")
    for served in (compiled, schedc.load(tmp_path / "m.so")):
        assert numpy.allclose(served.score_samples(plain), forest.score_samples(plain), 1e-14, 0)
        assert (served.predict(plain) == forest.predict(plain)).all()


def test_doubles_for_forests_of_scikit_learn(rows, target, tmp_path):
    """The compiled model rounds rows as the forest does; a library without the object requires float32."""
    plain = numpy.nan_to_num(rows).astype("float64")
    forest = RandomForestRegressor(n_estimators=3, random_state=1).fit(plain, target)
    compiled = schedc.compile(forest)
    assert numpy.allclose(compiled.predict(plain), forest.predict(plain))
    compiled.save(tmp_path / "m.so")
    import schedc_runtime

    served = schedc_runtime.load(tmp_path / "m.so")
    with pytest.raises(schedc.SchedcError) as caught:
        served.predict(plain)
    assert re.search("32-bit floats, to which a forest of scikit-learn", str(caught.value))
    assert numpy.allclose(served.predict(plain.astype("float32")), forest.predict(plain))
