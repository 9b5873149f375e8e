"""Codes of texts are the same in each form of a column, and for columns of many rows and of one."""

import json

import numpy
import pytest
from schedc_runtime import _columns
from schedc_runtime._categories import Dictionaries, Feature
from schedc_runtime._native import Categories

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

NAMES = ["red", "", "größer als zwölf Bytes", "a name of more than twelve bytes", "日本"]
ROWS = [*NAMES, None, "red", *NAMES[::-1], None, "日本"] * 5


def categories(unseen="missing", names=NAMES):
    about = {"names": [names, [1, 2, 3]], "naming": ["listed"] * 2, "unseen": unseen}
    return Categories(json.dumps({"model": {"categories": about}}), None, None)


def forms(rows):
    """A column of texts in all forms."""
    nan = [numpy.nan if text is None else text for text in rows]
    yield "list", list(rows)
    yield "objects", numpy.array(rows, dtype=object)
    yield "objects with NaN", numpy.array(nan, dtype=object)
    yield "objects with NA", numpy.array([pandas.NA if text is None else text for text in rows], object)
    yield "every third object", numpy.array([each for text in rows for each in (text, 1, 2)], object)[::3]
    yield "objects backwards", numpy.array(rows[::-1], dtype=object)[::-1]
    yield "Series of objects", pandas.Series(rows, dtype=object)
    for storage in ("python", "pyarrow"):
        yield f"string[{storage}]", pandas.Series(rows, dtype=f"string[{storage}]").array
    if hasattr(pandas, "ArrowDtype"):
        yield "ArrowDtype", pandas.Series(rows, dtype=pandas.ArrowDtype(pyarrow.string())).array
    yield "str", pandas.Series(nan, dtype=str if pandas.__version__ >= "3" else object)
    yield "Polars", polars.Series(rows, dtype=polars.String)
    yield "Polars in two chunks", polars.concat([polars.Series(rows[:3], dtype=polars.String),
                                                 polars.Series(rows[3:], dtype=polars.String)], rechunk=False)
    yield "Polars categorical", polars.Series(rows, dtype=polars.Categorical)
    yield "Polars enum", polars.Series(rows, dtype=polars.Enum(["more", *{*rows} - {None}]))
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
        yield str(kind), pyarrow.array(rows, type=kind)
        yield f"{kind}, sliced", pyarrow.array(["x", None, *rows, "y"], type=kind)[2:-1]
        yield f"{kind}, in chunks", pyarrow.chunked_array([rows[:2], [], rows[2:]], type=kind)
    for index in (pyarrow.int8(), pyarrow.uint16(), pyarrow.int64()):
        kind = pyarrow.dictionary(index, pyarrow.string())
        yield f"dictionary, {index}", pyarrow.array(rows).dictionary_encode().cast(kind)
    encoded = pyarrow.array(["no row has it", *rows]).dictionary_encode()
    yield "dictionary, sliced", encoded[1:]


FORMS = dict(forms(ROWS))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", [len(ROWS), 3, 1, 0])
def test_forms(form, rows):
    known = categories()
    column = FORMS[form][:rows]
    found = known.codes_of_texts(0, _columns.texts_of(column))
    wanted = [numpy.nan if text is None else NAMES.index(text) for text in ROWS[:rows]]
    assert found.dtype == numpy.float32
    numpy.testing.assert_array_equal(found, wanted)
    if rows:
        names = _columns.column(column, True)
        numpy.testing.assert_array_equal(found, Feature(known, 0, True).of_names(names, "x"))


def test_array_of_texts():
    rows = numpy.array(["red", "日本", ""])
    found = categories().codes_of_texts(0, _columns.texts_of(rows))
    numpy.testing.assert_array_equal(found, [0, 4, 1])


@pytest.mark.parametrize("unseen", ["missing", "other"])
def test_unknown_names(unseen):
    known = categories(unseen)
    [code] = known.codes(0, ["Red"], dictionary=False, table=True)
    assert numpy.isnan(code) == (unseen == "missing")
    for form, column in forms(["red", "Red", None]):
        found = known.codes_of_texts(0, _columns.texts_of(column))
        numpy.testing.assert_array_equal(found, [0, code, numpy.nan], err_msg=form)


def test_refused():
    """The fast look-up returns None for a column with an unknown text, or of another type."""
    for wrong in (["red", "blue"], ["red", " red"]):
        for form, column in forms(wrong):
            assert categories("error").codes_of_texts(0, _columns.texts_of(column)) is None, form
    for other in ([1, 2], ["red", 1], ["red", b"red"], [True], ["red", "\ud800"]):
        assert categories().codes_of_texts(0, other) is None
    for other in (pyarrow.array([1, 2]), polars.Series([1.5]), pyarrow.array([1, 1]).dictionary_encode()):
        assert categories().codes_of_texts(0, other) is None
    assert categories().codes_of_texts(1, ["1"]) is None
    assert categories().codes_of_texts(0, numpy.zeros(3)) is None
    assert _columns.texts_of(numpy.zeros(3)) is None


def test_dictionary_entries():
    """Entries of a dictionary that no row has may lack a code, or be missing values."""
    known = categories("error")
    entries = pyarrow.array(["blue", "red", None, "日本"])
    for rows in ([1, 2, None, 3, 1], [3]):
        column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(rows, pyarrow.int32()), entries)
        wanted = [{1: 0, 3: 4}.get(row, numpy.nan) for row in rows]
        numpy.testing.assert_array_equal(known.codes_of_texts(0, column), wanted)
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 1, 1, 1], pyarrow.int32()), entries)
    assert known.codes_of_texts(0, column) is None


def test_wide_codes():
    """Codes that single precision does not represent stay in double."""
    about = {"names": [["33554433", "red"]], "naming": ["spelled"], "unseen": "other"}
    known = Categories(json.dumps({"model": {"categories": about}}), None, None)
    for rows, kind in ((["red"], "float32"), (["red", "33554433"], "float64")):
        codes = known.codes_of_texts(0, rows)
        assert codes.dtype == kind
        assert codes.tolist() == known.codes(0, rows, dictionary=False, table=True)
    for row, kind in ((5, "float32"), (33554433, "float64")):
        codes, _ = known.encoded(0, numpy.array([row]), None, table=True)
        assert codes.dtype == kind


def test_categories_of_pandas():
    dictionaries = Dictionaries(categories())
    column = pandas.Series(ROWS, dtype="category").array
    wanted = [numpy.nan if text is None else NAMES.index(text) for text in ROWS]
    for rows in (len(ROWS), 1, 0, len(ROWS)):
        numpy.testing.assert_array_equal(dictionaries.codes(0, column[:rows]), wanted[:rows])
    others = pandas.Categorical(["日本", "blue"], categories=["blue", "日本"])
    numpy.testing.assert_array_equal(dictionaries.codes(0, others), [4, numpy.nan])
    assert Dictionaries(categories("error")).codes(0, others) is None
