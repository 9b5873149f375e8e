"""The meaning of values with categories, by trainer and kind of input: compares the table of
docs/categories.md with the trainers.

Every input leads to the trainer's prediction for the training frame, or is refused if the table says so.
"""

import os
import subprocess

import lightgbm
import numpy
import pytest
import schedc
import xgboost
from releases import needs

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")
catboost = pytest.importorskip("catboost")
pq = pytest.importorskip("pyarrow.parquet")

#: Names of categories by the page's letters: texts, whole numbers, truth values, and 0, 1, 2 in order.
NAMES = {"T": ["red", "green", "blue"], "N": [10, 20, 30], "B": [False, True], "0": [0, 1, 2]}

#: Inputs that are refused, for the trainers whose names have types.
REFUSED = {("T", "codes"), ("B", "codes"), ("N", "texts"), ("0", "texts"), ("B", "texts")}


def training(names):
    """A training frame, whose categories are in the order of ``names``, and its target."""
    rng = numpy.random.default_rng(7)
    places = rng.integers(0, len(names), 300)
    values = pandas.Series([names[at] for at in places])
    frame = pandas.DataFrame({"k": pandas.Categorical(values, categories=names), "x": rng.normal(size=300)})
    return frame, numpy.array([3.0, -2.0, 7.0])[places] + frame["x"].to_numpy()


def trained(trainer, names):
    """A model, a frame with a few of its training rows, and its own predictions for them."""
    frame, target = training(names)
    rows = frame[:40]
    if trainer == "lightgbm":
        model = lightgbm.LGBMRegressor(n_estimators=5, min_child_samples=5, min_data_per_group=1,
                                       cat_smooth=1, verbose=-1)
        return model.fit(frame, target), rows, model.predict(rows)
    if trainer == "xgboost":
        model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True, tree_method="hist")
        return model.fit(frame, target), rows, model.predict(rows)
    plain = frame.astype({"k": object if isinstance(names[0], str) else type(names[0])})
    model = catboost.CatBoostRegressor(iterations=5, depth=3, one_hot_max_size=10, verbose=0,
                                       allow_writing_files=False)
    pool = catboost.Pool(plain, target, cat_features=["k"])
    model.fit(pool)
    model.pool = pool
    return model, rows, model.predict(plain[:40])


def inputs(rows, names):
    """The rows as every kind of input, by name: arguments of ``predict``, or the bytes of a file with its
    extension."""
    values = rows["k"].tolist()
    plain = rows.assign(k=values)
    codes = rows["k"].cat.codes.to_numpy()
    other = pandas.Categorical(values, categories=names[::-1])
    table = arrow.table({"k": arrow.array(values), "x": arrow.array(rows["x"].to_numpy())})
    yield "frame", rows
    yield "frame of another order", rows.assign(k=other)
    yield "plain frame", plain
    yield "polars", polars.DataFrame({"k": values, "x": rows["x"].to_numpy()})
    yield "arrow", table
    yield "arrow dictionary", table.set_column(0, "k", table["k"].dictionary_encode())
    yield "dict", {"k": values, "x": rows["x"].to_numpy()}
    yield "texts", rows.assign(k=[str(value) for value in values])
    yield "codes", rows.assign(k=codes.astype("int64"))
    yield "array", numpy.column_stack([codes, rows["x"]])
    if not isinstance(names[0], str):
        yield "array of names", numpy.column_stack([numpy.array(values, dtype="float64"), rows["x"]])
    yield "csv", plain.to_csv(index=False).encode()
    sink = arrow.BufferOutputStream()
    pq.write_table(table, sink)
    yield "parquet", sink.getvalue().to_pybytes()


def answer(model, path, kind, given, folder):
    """The prediction for an input, by the program for files; raises ValueError or TypeError if it is
    refused."""
    if not isinstance(given, bytes):
        return model.predict(given)
    program = os.environ.get("SCHEDC")
    if program is None:
        pytest.skip("files need the program schedc")
    rows, out = folder / f"rows.{kind}", folder / "out.npy"
    rows.write_bytes(given)
    ran = subprocess.run([program, "predict", path, "-q", "-i", rows, "-o", out, "--output", "raw"],
                         capture_output=True, text=True)
    if ran.returncode:
        raise ValueError(ran.stderr)
    return numpy.load(out)


def save(trainer, model, path):
    """The file of a model."""
    if trainer == "lightgbm":
        model.booster_.save_model(path)
    elif trainer == "xgboost":
        model.save_model(path)
    else:
        model.save_model(str(path), format="json", pool=model.pool)


@pytest.mark.parametrize("letter", NAMES)
@pytest.mark.parametrize("trainer", ["lightgbm", "xgboost", "catboost"])
def test_every_kind_of_input(trainer, letter, tmp_path):
    if trainer == "xgboost" and letter == "B":
        pytest.skip("XGBoost takes no categories that are truth values")
    model, rows, expected = trained(trainer, NAMES[letter])
    path = tmp_path / ("model.txt" if trainer == "lightgbm" else "model.json")
    save(trainer, model, path)
    ours = schedc.compile(path)
    seen = set()
    for kind, given in inputs(rows, NAMES[letter]):
        seen.add(kind)
        refused = (letter, kind) in REFUSED and trainer != "catboost"
        # XGBoost refuses unknown names.
        refused |= (trainer, letter, kind) == ("xgboost", "N", "codes")
        try:
            found = numpy.asarray(answer(ours, path, kind, given, tmp_path)).ravel()
        except (TypeError, ValueError) as error:
            assert refused, f"{kind}: {error}"
            continue
        assert not refused, f"{kind}: {found[:3]}"
        if trainer == "catboost":
            # CatBoost reads codes as whole numbers, which are unknown names unless the names are 0, 1, ... in
            # order.
            is_other = kind in ("codes", "array") and letter in "TN" or kind == "texts" and letter == "B"
            assert numpy.array_equal(found, expected) != is_other, kind
        elif letter == "N" and kind in ("codes", "array of names"):
            # Numbers in tables are names, and none of these is 0, 1 or 2; numbers in arrays are codes.
            assert not numpy.array_equal(found, expected)
        else:
            assert numpy.array_equal(found, expected), kind
    assert len(seen) >= 12


def test_files_have_the_meaning_of_a_release(tmp_path):
    X, y = numpy.arange(8.0).reshape(-1, 1), numpy.arange(8) % 2
    model = xgboost.XGBClassifier(n_estimators=1, base_score=1e-7).fit(X, y)
    path = tmp_path / "model.json"
    model.save_model(path)
    own, older = (schedc.compile(path, as_release=release).predict(X, output="raw")
                  for release in (None, "3.1"))
    # Up to release 3.1 a base score may be arbitrarily far below 1e-6.
    assert numpy.allclose(own - older, numpy.log(10), atol=1e-4)
    for wrong in ("soon", "99.1"):
        with pytest.raises((ValueError, schedc.Refused), match="release"):
            schedc.compile(path, as_release=wrong)
    with pytest.raises(ValueError, match="as_release is for files"):
        schedc.compile(model, as_release="3.1")


def test_libraries_keep_the_names_of_an_object(tmp_path):
    from sklearn.ensemble import RandomForestRegressor

    X = pandas.DataFrame(numpy.random.default_rng(1).normal(size=(60, 3)), columns=["a", "b", "c"])
    theirs = RandomForestRegressor(n_estimators=5, random_state=1).fit(X, X["a"] * 3 + X["c"])
    schedc.compile(theirs).save(tmp_path / "forest.so")
    loaded = schedc.load(tmp_path / "forest.so")
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert numpy.array_equal(loaded.predict(X[["c", "a", "b"]].astype("float32")),
                             loaded.predict(X.astype("float32")))


def test_arrays_of_estimators_take_the_choices():
    frame, target = training(NAMES["N"])
    model = lightgbm.LGBMRegressor(n_estimators=5, min_child_samples=5, min_data_per_group=1,
                                   verbose=-1).fit(frame, target)
    ours = schedc.compile(model)
    codes = numpy.column_stack([frame["k"].cat.codes, frame["x"]])
    names = numpy.column_stack([frame["k"].astype("float64"), frame["x"]])
    assert numpy.array_equal(ours.predict(codes, categories="codes"), model.predict(frame))
    assert numpy.array_equal(ours.predict(names, categories="names"), model.predict(frame))
    with pytest.raises(ValueError, match="-1 is not a code"):
        ours.predict(frame.assign(k=-1), categories="codes")


@needs("1.4")
def test_codes_of_categories_that_are_numbers_are_refused(tmp_path):
    from sklearn.ensemble import HistGradientBoostingClassifier

    source = numpy.random.default_rng(2)
    numbers = source.choice([10, 20, 30], 300)
    frame = pandas.DataFrame({"k": pandas.Categorical(numbers), "x": source.normal(size=300)})
    theirs = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    theirs.fit(frame, (numbers == 20) ^ (frame["x"] > 0))
    ours = schedc.compile(theirs)
    assert numpy.array_equal(ours.predict(frame), theirs.predict(frame))
    ours.save(tmp_path / "numbered.so")
    for model in (ours, schedc.load(tmp_path / "numbered.so")):
        with pytest.raises(ValueError, match="feature 0 are the numbers 10, 20, 30, and codes would"):
            model.predict(frame.assign(k=frame["k"].cat.codes), categories="codes")


def test_trees_that_were_fitted_count():
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor

    X = numpy.random.default_rng(1).normal(size=(200, 3)).astype("float32")
    for model in (GradientBoostingClassifier, GradientBoostingRegressor):
        stopped = model(n_estimators=200, n_iter_no_change=2, random_state=1).fit(X,
                                                                                  (X[:, 0] > 0).astype(int))
        assert len(stopped.estimators_) < 200
        assert numpy.allclose(schedc.compile(stopped).predict(X), stopped.predict(X))
    forest = RandomForestRegressor(n_estimators=10, random_state=1).fit(X, X[:, 0])
    for changed in (5, 100):
        forest.set_params(n_estimators=changed)
        assert numpy.allclose(schedc.compile(forest).predict(X), forest.predict(X))
        assert forest.n_estimators == changed
