"""Predictions of frames: for every kind of frame and column, the values of the trainer's own call, or an
error that says what is wrong."""

import collections
import decimal
import json
import re
import types
import warnings

import lightgbm
import numpy
import pytest
import schedc
import xgboost
from sklearn import ensemble, multioutput

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")

NAMES = ["income", "age", "rate", "debt", "rooms", "is_new"]


@pytest.fixture(scope="module")
def columns():
    """Columns of several types, without missing values."""
    source = numpy.random.default_rng(3)
    return {
        "income": source.normal(size=300).astype("float32"),
        "age": source.integers(0, 90, 300).astype("int64"),
        "rate": source.normal(size=300),
        "debt": source.normal(size=300).astype("float32"),
        "rooms": source.integers(0, 9, 300).astype("int8"),
        "is_new": source.random(300) < 0.5,
    }


@pytest.fixture(scope="module")
def frame(columns):
    return pandas.DataFrame(columns)


@pytest.fixture(scope="module")
def answer(columns):
    return columns["income"] * 3 + columns["age"] / 30 + columns["is_new"] * columns["rate"]


def trained(trainer, frame, answer):
    if trainer == "xgboost":
        return xgboost.XGBRegressor(n_estimators=20, max_depth=4).fit(frame, answer)
    if trainer == "lightgbm":
        return lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(frame, answer)
    if trainer == "classifier":
        labels = numpy.where(answer > 1, "high", "low")
        return lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(frame, labels)
    return ensemble.RandomForestRegressor(n_estimators=10, random_state=0).fit(frame, answer)


def forms(frame):
    """Rows in every kind of frame, by the frame's name."""
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    yield "pandas", frame
    yield "pandas, other order, more columns", frame.assign(other="text")[["other", *NAMES[::-1]]]
    yield "pandas, columns of objects", frame.set_axis(pandas.Index(NAMES, dtype=object), axis=1)
    yield "pandas, every column a block", pandas.concat([frame[[name]] for name in NAMES], axis=1)
    yield "pandas, every second row", pandas.concat([frame, frame]).sort_index(kind="stable")[::2]
    yield "pandas of pyarrow", frame.convert_dtypes(dtype_backend="pyarrow")
    some = {name: frame[name].convert_dtypes(dtype_backend="pyarrow") for name in NAMES[::2]}
    yield "pandas, some columns of pyarrow", frame.assign(other="text", **some)
    yield "pandas with masks", frame.convert_dtypes(dtype_backend="numpy_nullable")
    yield "pandas, of objects", frame.astype(object)
    yield "polars", polars.DataFrame(columns)
    yield "polars, other order", polars.DataFrame(columns).with_columns(other=polars.lit("text"))[
        ["other", *NAMES[::-1]]]
    yield "pyarrow", table
    yield "pyarrow, other order", table.append_column("other", [["text"] * len(frame)]).select(
        ["other", *NAMES[::-1]])
    yield "batch", table.combine_chunks().to_batches()[0] if len(frame) else table
    yield "dict of arrays", columns
    yield "dict of lists", {name: values.tolist() for name, values in columns.items()}
    records = frame.to_dict("records")
    yield "list of dicts", records
    yield "list of dicts, several orders", [record if at % 3 else dict(reversed(record.items()))
                                            for at, record in enumerate(records)]
    yield "list of dicts, keys that are equal", [json.loads(json.dumps(record)) for record in records]
    yield "list of dicts, more keys", [{"a": "b", **record, "z": []} if at % 3 else {"b": 1, **record}
                                       for at, record in enumerate(records)]
    yield "list of ordered dicts", list(map(collections.OrderedDict, records))
    yield "list of dicts of scalars", [dict(zip(NAMES, row)) for row in zip(*map(columns.get, NAMES))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("trainer", ["xgboost", "lightgbm", "classifier", "forest"])
def test_every_kind(trainer, frame, answer):
    theirs = trained(trainer, frame, answer)
    ours = schedc.compile(theirs)
    for some in (frame, frame[:1], frame[7:29]):
        wanted = theirs.predict(some)
        for name, rows in forms(some):
            got = ours.predict(rows)
            assert got.dtype == wanted.dtype and got.shape == wanted.shape, name
            if wanted.dtype.kind == "f":
                numpy.testing.assert_allclose(got, wanted, rtol=1e-6, err_msg=name)
            else:
                numpy.testing.assert_array_equal(got, wanted, err_msg=name)
            # Once more, with the data that the first call has cached.
            numpy.testing.assert_array_equal(ours.predict(rows), got, err_msg=name)


def test_one_row_as_a_dict(frame, answer):
    theirs = trained("xgboost", frame, answer)
    ours = schedc.compile(theirs)
    (row,) = frame[:1].to_dict("records")
    wanted = theirs.predict(frame[:1])
    numpy.testing.assert_array_equal(ours.predict(row), wanted)
    numpy.testing.assert_array_equal(ours.predict([row]), wanted)
    scalars = {name: frame[name].to_numpy()[0] for name in NAMES}
    numpy.testing.assert_array_equal(ours.predict(scalars), wanted)
    missing = frame[:1].astype("float64").assign(debt=numpy.nan)
    numpy.testing.assert_array_equal(ours.predict({**row, "debt": None}), theirs.predict(missing))
    both = [row, {**row, "debt": None}]
    numpy.testing.assert_array_equal(ours.predict(both)[1:], theirs.predict(missing))
    # A name that only some records lack may be misspelt in them.
    with pytest.raises(ValueError, match='row 2 lacks "income"; write None for a missing value'):
        ours.predict([row, {name.upper(): value for name, value in row.items()}])
    with pytest.raises(ValueError, match='lacks features of the model: "debt"'):
        ours.predict({name: value for name, value in row.items() if name != "debt"})
    with pytest.raises(ValueError, match='"age" has an array, and others have one value'):
        ours.predict({**row, "age": numpy.arange(3)})
    with pytest.raises(TypeError, match='column "age" holds text'):
        ours.predict({**row, "age": "old"})


class Name(str):
    """A text whose comparison runs Python code."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return str.__eq__(self, other)


class Number(float):
    """A float of another type."""


def test_values_of_records(frame, answer):
    """Later records have other keys and values of other types than the first record."""
    theirs = trained("xgboost", frame, answer)
    ours = schedc.compile(theirs)
    records = frame[:9].to_dict("records")
    plain = theirs.predict(frame[:9])

    def changed(**values):
        return [*records[:5], {**records[5], **values}, *records[6:]]

    def wanted(name, value):
        column = frame[name][:9].astype("float64")
        column[5] = value
        return theirs.predict(frame[:9].assign(**{name: column}))

    values = [
        (None, numpy.nan), (numpy.nan, numpy.nan), (True, 1), (7, 7), (-0.25, -0.25), (Number(2.5), 2.5),
        (numpy.float32(1.5), 1.5), (numpy.float64(1.5), 1.5), (numpy.int8(-3), -3), (numpy.bool_(True), 1),
        (numpy.array(2.5), 2.5), (2**60 + 1, 2**60 + 1), (pandas.NA, numpy.nan),
    ]
    for name in ("rate", "debt"):
        for value, number in values:
            got = ours.predict(changed(**{name: value}))
            numpy.testing.assert_array_equal(got, wanted(name, number), err_msg=f"{name} {value!r}")
    named = {Name(name): value for name, value in records[4].items()}
    numpy.testing.assert_array_equal(ours.predict([named, *records]), [plain[4], *plain])
    numpy.testing.assert_array_equal(ours.predict([*records, named]), [*plain, plain[4]])
    views = list(map(types.MappingProxyType, records))
    numpy.testing.assert_array_equal(ours.predict([*records, views[4]]), [*plain, plain[4]])
    numpy.testing.assert_array_equal(ours.predict([*records, collections.OrderedDict(records[4])]),
                                     [*plain, plain[4]])
    wrong = ((decimal.Decimal("1.5"), "holds decimals"), ("old", "holds values of type float and str"))
    for value, message in wrong:
        with pytest.raises(TypeError, match=f'column "rate" {message}'):
            ours.predict(changed(rate=value))
    short = {name: value for name, value in records[0].items() if name != "rooms"}
    for record in (short, {**short, "Rooms": 3}, {**short, 3: 3}, {}):
        with pytest.raises(ValueError, match='row 10 lacks "'):
            ours.predict([*records, record])
        with pytest.raises(ValueError, match='row 1 lacks "'):
            ours.predict([record, *records])


def test_pieces_and_nulls_of_arrow(frame, answer):
    """Columns of pyarrow in pandas: whole, in pieces, with nulls, sliced, and of types that are refused."""
    holed = frame.astype("float64").mask(numpy.random.default_rng(2).random(frame.shape) < 0.2)
    theirs = trained("xgboost", holed, answer)
    ours = schedc.compile(theirs)
    wanted = theirs.predict(holed)
    table = arrow.Table.from_pandas(holed, preserve_index=False)
    assert table["age"].null_count > 0
    whole = table.to_pandas(types_mapper=pandas.ArrowDtype)
    pieces = arrow.concat_tables([table[:123], table[123:]]).to_pandas(types_mapper=pandas.ArrowDtype)
    for rows in (whole, pieces, whole.assign(rate=pieces["rate"]), whole.assign(rate=holed["rate"]),
                 holed.assign(rate=whole["rate"], debt=pieces["debt"]),
                 whole.assign(rate=holed["rate"].astype("Float64"))):
        numpy.testing.assert_array_equal(ours.predict(rows), wanted)
        numpy.testing.assert_array_equal(ours.predict(rows[7:200]), wanted[7:200])
        numpy.testing.assert_array_equal(ours.predict(rows[::-3]), wanted[::-3])
        assert len(ours.predict(rows[:0])) == 0
    void = whole.assign(rate=pandas.array([None] * 300, dtype=pandas.ArrowDtype(arrow.null())))
    numpy.testing.assert_array_equal(ours.predict(void), theirs.predict(holed.assign(rate=numpy.nan)))
    truths = pandas.array([True, None, False] * 100, dtype=pandas.ArrowDtype(arrow.bool_()))
    numbers = numpy.array([1, numpy.nan, 0] * 100)
    got = ours.predict(whole.assign(is_new=truths)[4:])
    numpy.testing.assert_array_equal(got, theirs.predict(holed.assign(is_new=numbers))[4:])
    for kind, message in ((arrow.decimal128(9, 2), "holds decimals"), (arrow.string(), "holds text"),
                          (arrow.timestamp("s"), "holds values of type timestamp")):
        with pytest.raises(TypeError, match=f'column "rate" {message}'):
            ours.predict(whole.assign(rate=pandas.array([None] * 300, dtype=pandas.ArrowDtype(kind))))


def test_missing_values(columns, answer):
    absent = numpy.random.default_rng(5).random(300) < 0.2
    holed = {name: numpy.where(absent, numpy.float32("nan"), values.astype("float32"))
             for name, values in columns.items()}
    frame = pandas.DataFrame(holed)
    theirs = trained("xgboost", frame, answer)
    ours = schedc.compile(theirs)
    wanted = theirs.predict(frame)
    table = arrow.table({name: arrow.array(values, from_pandas=True) for name, values in holed.items()})
    assert table["age"].null_count > 0
    nulls = polars.from_arrow(table)
    of_arrow = table.to_pandas(types_mapper=pandas.ArrowDtype)
    masked = pandas.DataFrame({name: pandas.array(values, dtype="Float32") for name, values in frame.items()})
    halves = arrow.concat_tables([table[:123], table[123:]])
    for rows in (frame, table, table.to_batches()[0], nulls, of_arrow, masked, halves):
        numpy.testing.assert_array_equal(ours.predict(rows), wanted)
    for part in (slice(0, 1), slice(3, 4), slice(5, 17), slice(1, None, 3)):
        numpy.testing.assert_array_equal(ours.predict(masked[part]), wanted[part])
    doubles = table.cast(arrow.schema([(name, arrow.float64()) for name in table.column_names]))
    # Tables of one schema after those of another.
    for rows in (doubles, table.select(NAMES[::-1]), doubles, table, table.to_batches()[0]):
        numpy.testing.assert_array_equal(ours.predict(rows), wanted)
    turned = nulls[7:].vstack(nulls[:7])
    numpy.testing.assert_array_equal(ours.predict(turned), numpy.roll(wanted, -7))
    part = table.slice(11, 31)
    numpy.testing.assert_array_equal(ours.predict(part), wanted[11:42])
    bits = arrow.table({**{name: table[name] for name in NAMES}, "is_new": arrow.array(columns["is_new"])})
    plain = frame.assign(is_new=columns["is_new"])
    numpy.testing.assert_array_equal(ours.predict(bits.slice(3)), theirs.predict(plain)[3:])


def test_large_whole_numbers():
    """Whole numbers that double precision cannot represent are rounded once, as in the trainer's own call."""
    values = numpy.arange(2**24 - 50, 2**24 + 50, dtype="int64")
    frame = pandas.DataFrame({"id": values, "x": values % 7})
    theirs = xgboost.XGBRegressor(n_estimators=10).fit(frame, (values - 2**24) > 3)
    ours = schedc.compile(theirs)
    for rows in (frame, polars.from_pandas(frame), arrow.Table.from_pandas(frame), frame.to_dict("records")):
        numpy.testing.assert_array_equal(ours.predict(rows), theirs.predict(frame))
    huge = {"id": 2**63 - 1, "x": 1}
    numpy.testing.assert_array_equal(ours.predict(huge), theirs.predict(pandas.DataFrame([huge])))


def test_frames_that_change(frame, answer):
    """Data that a call caches for one frame is not used for another frame."""
    theirs = trained("xgboost", frame, answer)
    ours = schedc.compile(theirs)
    wanted = theirs.predict(frame)
    turned = frame[NAMES[::-1]]
    for rows in (frame, turned, frame[:], turned.copy(), frame.rename(columns=str)):
        numpy.testing.assert_array_equal(ours.predict(rows), wanted)
    for wrong in (frame.rename(columns={"age": "Age"}), frame.drop(columns="age")):
        with pytest.raises(ValueError, match='lacks features of the model: "age"'):
            ours.predict(wrong)
    blank = frame.assign(**{"age ": -1.0, " age": -2.0})
    for rows in (blank, blank[[*blank][::-1]], polars.from_pandas(blank), blank.to_dict("records")):
        numpy.testing.assert_array_equal(ours.predict(rows), wanted)
    with pytest.raises(ValueError, match='both named "age"'):
        ours.predict(pandas.concat([frame, frame[["age"]]], axis=1))
    with pytest.raises(TypeError, match='column "age" holds text'):
        ours.predict(frame.assign(age="old"))
    with pytest.raises(TypeError, match='column "age" holds values of type datetime64'):
        ours.predict(frame.assign(age=pandas.Timestamp("2026-01-01")))
    with pytest.raises(TypeError, match="several levels"):
        ours.predict(frame.set_axis(pandas.MultiIndex.from_product([["a"], NAMES]), axis=1))
    numpy.testing.assert_array_equal(ours.predict(frame), wanted)


@pytest.mark.filterwarnings("ignore")
def test_categories(frame, answer):
    """Columns of names beside columns of numbers."""
    colors = numpy.array(["red", "green", "blue"])[frame["rooms"].to_numpy() % 3]
    both = frame.assign(color=pandas.Categorical(colors), shade=pandas.Categorical(colors[::-1]))
    for theirs in (lightgbm.LGBMRegressor(n_estimators=20, min_child_samples=2, verbose=-1),
                   xgboost.XGBRegressor(n_estimators=20, enable_categorical=True)):
        theirs.fit(both, answer + (colors == "red"))
        ours = schedc.compile(theirs)
        for some in (both, both[:1], both[5:80]):
            wanted = theirs.predict(some)
            plain = some.astype({"color": "str", "shade": "str"})
            table = arrow.Table.from_pandas(some, preserve_index=False)
            other = [some, plain, table, polars.from_arrow(table), plain.to_dict("records"),
                     plain.convert_dtypes(dtype_backend="pyarrow"),
                     {name: plain[name].to_numpy() for name in plain}]
            for rows in other if len(some) > 1 else [*other, plain.to_dict("records")[0]]:
                numpy.testing.assert_array_equal(ours.predict(rows), wanted, err_msg=str(type(rows)))
    assert len(ours.predict(both[:0])) == 0


def test_arrays_in_training(frame, answer):
    """A model that was trained on arrays takes the columns of frames in their order, as its object does."""
    rows = frame.to_numpy("float32")
    classes = (answer > 1).astype(int)
    light = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    for theirs in (xgboost.XGBClassifier(n_estimators=5), light):
        theirs.fit(rows, classes)
        ours = schedc.compile(theirs)
        assert any("it takes the columns of tables in their order" in note for note in ours.notes)
        for some in (frame, frame[NAMES[::-1]]):
            wanted = theirs.predict(some)
            numpy.testing.assert_array_equal(ours.predict(some), wanted)
            numpy.testing.assert_array_equal(ours.predict(polars.from_pandas(some)), wanted)
            numpy.testing.assert_array_equal(schedc.load(ours.library).predict(some), wanted)
        columns = {name: rows[:, at] for at, name in enumerate(NAMES)}
        turned = dict(reversed(columns.items()))
        cells = [{name: cells[0] for name, cells in one.items()} for one in (columns, turned)]
        for given in (columns, turned, *cells, cells):
            with pytest.raises(schedc.Refused, match="keys of a dict have no order"):
                ours.predict(given)
            with pytest.raises(schedc.Refused, match="keys of a dict have no order"):
                ours.predict_proba(given)
            answered = ours.predict(given, columns=NAMES)
            wanted = theirs.predict(rows[[0, 0]] if given is cells else rows)
            numpy.testing.assert_array_equal(answered, wanted[:len(answered)])
        numpy.testing.assert_array_equal(ours.predict(columns, by_position=True), theirs.predict(rows))
        found = ours.predict(turned, by_position=True)
        numpy.testing.assert_array_equal(found, theirs.predict(rows[:, ::-1]))
    named = schedc.compile(xgboost.XGBRegressor(n_estimators=5).fit(frame, answer))
    assert not any("their order" in note for note in named.notes)


def test_names_outside_ascii(answer):
    """If XGBoost's file lacks names, the error has the reason, in loaded libraries as well."""
    words = numpy.array(["größe", "grün", "blau"])[numpy.arange(300) % 3]
    frame = pandas.DataFrame({"k": pandas.Categorical(words), "x": answer})
    theirs = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True).fit(frame, answer)
    with pytest.warns(UserWarning, match="(?s)letters outside ASCII.*give codes instead"):
        ours = schedc.compile(theirs)
    for model in (ours, schedc.load(ours.library)):
        for rows in (frame, polars.from_pandas(frame), frame.astype({"k": object})):
            with pytest.raises(ValueError, match="letters outside ASCII, and XGBoost cuts") as error:
                model.predict(rows)
        recipe = re.search(r"training, (predict.*)$", str(error.value))[1]
        found = eval(recipe, {"rows": frame, "predict": model.predict})
        numpy.testing.assert_array_equal(found, theirs.predict(frame))
        with pytest.raises(ValueError, match="-1"):
            eval(recipe, {"rows": frame.assign(k=frame.k.where(frame.k != "blau")), "predict": model.predict})


def test_calls_do_not_loop_over_columns(frame, answer, monkeypatch):
    """A frame of numbers goes to the library as a whole."""
    ours = schedc.compile(trained("xgboost", frame, answer))
    wanted = ours.predict(frame)
    used = []
    whole = schedc.BatchPredictor._feature_of
    monkeypatch.setattr(schedc.BatchPredictor, "_feature_of",
                        lambda *given, **named: used.append(given) or whole(*given, **named))
    for name, rows in forms(frame):
        if name not in ("pandas, of objects", "pandas with masks", "dict of lists", "list of ordered dicts"):
            numpy.testing.assert_array_equal(ours.predict(rows), wanted, err_msg=name)
            assert not used, name


def test_lightgbm_with_blanks_in_names():
    """LightGBM writes `_` for a blank. Columns are found by the names of the frame that it was fitted on."""
    rows = numpy.random.default_rng(5).normal(size=(200, 3))
    frame = pandas.DataFrame(rows, columns=["score f", "b_1", "c"])
    kinds = (frame["score f"] + frame["b_1"] > frame["c"]).astype(int)
    light = {"n_estimators": 5, "verbose": -1}
    one = [("light", lightgbm.LGBMClassifier(**light))]
    stacked = [*one, ("boost", xgboost.XGBClassifier(n_estimators=3))]
    regressor = multioutput.MultiOutputRegressor(lightgbm.LGBMRegressor(**light))
    fitted = [
        lightgbm.LGBMClassifier(**light).fit(frame, kinds),
        lightgbm.train({"verbose": -1}, lightgbm.Dataset(frame, kinds), 3),
        regressor.fit(frame, frame[["c", "score f"]]),
        ensemble.StackingClassifier(stacked[::-1], cv=2).fit(frame, kinds),
        ensemble.VotingClassifier(one, voting="soft").fit(frame, kinds),
    ]
    turned = frame[["c", "b_1", "score f"]]
    table = arrow.Table.from_pandas(turned, preserve_index=False)
    tables = [turned, polars.from_pandas(turned), table, turned.to_dict("records"),
              {name: turned[name].to_numpy() for name in turned}]
    for theirs in fitted:
        single = theirs.predict(frame.astype("float32"))
        checks = [True, frame] if isinstance(theirs, ensemble.StackingClassifier) else [True]
        for check in checks:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                ours = schedc.compile(theirs, check=check, effort="fast")
            for given in tables:
                numpy.testing.assert_allclose(ours.predict(given), theirs.predict(frame), rtol=1e-12)
            numpy.testing.assert_allclose(ours.predict(turned.astype("float32")), single, rtol=1e-6)
            again = schedc.load(ours.library)
            numpy.testing.assert_allclose(again.predict(turned), theirs.predict(frame), rtol=1e-12)
        with pytest.raises(schedc.Refused, match='lacks features of the model: "b_1"'):
            ours.predict(turned.rename(columns={"b_1": "b"}))


def test_blanks_that_may_stand_for_several_names():
    frame = pandas.DataFrame(numpy.random.default_rng(5).normal(size=(200, 2)), columns=["a_b_c", "d"])
    light = schedc.compile(lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(frame, frame["d"]))
    two = frame.rename(columns={"a_b_c": "a b_c"}).assign(**{"a_b c": 0.0})
    with pytest.raises(schedc.Refused, match='lacks features of the model: "a_b_c"'):
        light.predict(two)
    assert (light.predict(two.assign(a_b_c=frame["a_b_c"])) == light.predict(frame)).all()
    boost = schedc.compile(xgboost.XGBRegressor(n_estimators=2).fit(frame, frame["d"]))
    with pytest.raises(schedc.Refused, match='"a b c" may stand for "a_b_c"'):
        boost.predict(frame.rename(columns={"a_b_c": "a b c"}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["category", "bool", "object", "boolean"])
def test_truth_values_as_categories(kind, tmp_path):
    """Categories of histogram gradient boosting may be truth values, which scikit-learn takes for numbers."""
    source = numpy.random.default_rng(8)
    truths = pandas.Series(source.random(300) > 0.5)
    frame = pandas.DataFrame({"x": source.normal(size=300), "c": truths.astype(kind)})
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=5, categorical_features=["c"])
    try:
        theirs.fit(frame, frame.x + 3 * truths)
        wanted = theirs.predict(frame)
    except (TypeError, ValueError) as error:
        pytest.skip(f"the installed scikit-learn refuses these categories: {error}")
    ours = schedc.compile(theirs)
    ours.save(tmp_path / "m.so")
    plain = frame.assign(c=truths)
    for model in (ours, schedc.load(tmp_path / "m.so")):
        for rows in (frame, plain, plain.to_dict("records"), polars.from_pandas(plain),
                     plain.astype({"c": int}), plain.astype({"c": "category"}),
                     arrow.Table.from_pandas(plain)):
            numpy.testing.assert_allclose(model.predict(rows), wanted, rtol=1e-14)
