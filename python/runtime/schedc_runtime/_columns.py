"""Columns of tables, from any library, as numbers or as names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from ._names import quoted
from .findings import Refused

#: Stands for the empty text as a category of a pipeline, since the empty text itself is a missing one in the
#: pipeline's file. Texts must not contain this character.
EMPTY = "\ufdd0"


class Validity(NamedTuple):
    """Validity as one bit for each row, least significant first: 1 if the value is present."""

    bits: numpy.ndarray
    first: int

    def absent(self, rows: int) -> numpy.ndarray:
        """Validity as one boolean for each row: true if the value is missing."""
        bits = numpy.unpackbits(self.bits, count=self.first + rows, bitorder="little")
        absent: numpy.ndarray = bits[self.first :] == 0
        return absent


class Numbers(NamedTuple):
    """Numbers, with an optional mask of missing values in one of two forms."""

    values: numpy.ndarray
    missing: numpy.ndarray | None = None
    validity: Validity | None = None

    def absent(self) -> numpy.ndarray | None:
        """A boolean for each row, true if the value is missing; None if all are present."""
        return self.missing if self.validity is None else self.validity.absent(len(self.values))


class Names(NamedTuple):
    """Distinct values, and the index of each row's value; -1 is a missing value."""

    names: list[Any]
    places: numpy.ndarray
    dictionary: bool = False
    """Whether the column has a dictionary (pandas: a category). Numbers in it are names of categories."""


Column = Numbers | Names


def column(values: Any, named: bool = False) -> Column:
    """Converts an array of NumPy, pyarrow, pandas or Polars, or a list, to a column. Values of several types
    are names if ``named`` is true: the feature's categories have names.

    Raises TypeError for values that are neither numbers nor names, and Refused for numbers that are too
    large.
    """
    if isinstance(values, (Numbers, Names)):
        return values
    readers: dict[str, Any] = {"pyarrow": _of_arrow, "pandas": _of_pandas, "polars": _of_polars}
    reader = readers.get(type(values).__module__.partition(".")[0], _of_numpy)
    found: Column = reader(values, named)
    return found


def with_empty(found: Column) -> Column:
    """A column with the name ``EMPTY`` in place of the empty text."""
    if isinstance(found, Numbers):
        return found
    return found._replace(names=[EMPTY if name == "" else name for name in found.names])


def texts_of(values: Any) -> Any:
    """Values in a form in which the native module reads texts: an array or list of objects, or a column of
    Arrow. None for values that are no texts or have another form."""
    kind = type(values)
    if kind is list:
        return values
    if kind is numpy.ndarray:
        letter = values.dtype.kind
        if values.ndim != 1 or letter not in "OUT":
            return None
        return values if letter == "O" else values.tolist()
    library = kind.__module__.partition(".")[0]
    if library == "pandas":
        if kind.__name__ == "Series":
            return texts_of(values.array)
        if kind.__name__ in ("ArrowStringArray", "ArrowExtensionArray"):
            return values.__arrow_array__()
        if kind.__name__ in ("StringArray", "NumpyExtensionArray"):
            return texts_of(numpy.asarray(values))
        return None
    return values if library in ("pyarrow", "polars") else None


def _refused(kind: object) -> TypeError:
    if "decimal" in str(kind).lower():
        return TypeError(f"holds decimals ({kind}): trainers read floats, so convert it to float64 first")
    return TypeError(f"holds values of type {kind}; give the numbers that the model was trained on")


def _of_numpy(values: Any, named: bool) -> Column:
    missing = None
    if isinstance(values, numpy.ma.MaskedArray):
        missing, values = numpy.ma.getmaskarray(values), values.data
    array = numpy.asarray(values)
    if not isinstance(values, numpy.ndarray) and (named or array.dtype.kind == "U"):
        # NumPy converts a list with values of several types to a single type.
        array = numpy.asarray(values, dtype=object)
    if array.ndim != 1:
        raise TypeError(f"has {array.ndim} dimensions; a column has one")
    kind = array.dtype.kind
    if kind in "fiub" and array.dtype.itemsize <= 8:
        return Numbers(array, missing)
    if kind == "U":
        names, places = numpy.unique(array, return_inverse=True)
        return Names(names.tolist(), _where(places, missing))
    if kind in "OT":
        return _of_objects(array.tolist(), missing, named)
    raise _refused(array.dtype)


def _where(places: numpy.ndarray, missing: numpy.ndarray | None) -> numpy.ndarray:
    return places if missing is None else numpy.where(missing, -1, places)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or isinstance(value, float) and value != value


def _marker(value: Any) -> str:
    """The name of a value that marks missing ones, such as ``None`` or ``NaN``."""
    return "None" if value is None else "pandas.NA" if type(value).__name__ == "NAType" else "NaN"


def check_markers(values: Any, name: str, known: str) -> None:
    """Raises Refused if a column marks missing texts by something else than ``known``, which is ``None``
    or ``NaN``. Only arrays of objects and columns of pandas distinguish these; the latter also have
    ``pandas.NA``."""
    kind = type(values)
    is_pandas = kind.__module__.partition(".")[0] == "pandas"
    if is_pandas and values.dtype != object:
        marker = _marker(getattr(values.dtype, "na_value", numpy.nan))
        if marker != known:
            absent = numpy.asarray(values.isna())
            if absent.any():
                _refuse_marker(name, int(numpy.argmax(absent)), marker, known)
        return
    if not is_pandas and (kind is not numpy.ndarray or values.dtype != object):
        return
    cells = values.tolist()
    if set(map(type, cells)) == {str}:
        return
    for row, cell in enumerate(cells):
        marker = _marker(cell)
        if marker != known and _is_missing(cell):
            _refuse_marker(name, row, marker, known)


def _refuse_marker(name: str, row: int, marker: str, known: str) -> None:
    instead = "numpy.nan" if known == "NaN" else "None"
    way = f"rows.astype(object).where(rows.notna(), {instead})"
    raise Refused(
        f"column {quoted(name)}, row {row + 1}: {marker} marks a missing text, but the pipeline was fitted "
        f"on {known}, and treats {marker} as another category; replace {marker} by {known}, as in {way}",
        "D0027",
    )


def complete(codes: numpy.ndarray, name: str) -> numpy.ndarray:
    """The codes of a column. Raises Refused if one is missing, for a pipeline that takes no missing text."""
    absent = numpy.isnan(codes)
    if absent.any():
        raise Refused(
            f"column {quoted(name)}, row {int(numpy.argmax(absent)) + 1}: the text is missing, and the "
            'fitted pipeline refuses missing texts; unseen="other" answers such rows nevertheless',
            "D0027",
        )
    return codes


def _of_objects(values: list[Any], missing: numpy.ndarray | None, named: bool) -> Column:
    absent = numpy.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
    absent = absent if missing is None else absent | missing
    there = [value for value, is_absent in zip(values, absent) if not is_absent]
    kinds = {type(value) for value in there}
    if kinds and (named or all(issubclass(kind, str) for kind in kinds)):
        # Numbers and truth values of different types may be equal.
        different = {(type(value), value): value for value in there}
        numbers = {key: at for at, key in enumerate(different)}
        places = numpy.full(len(values), -1, dtype="int64")
        places[~absent] = [numbers[type(value), value] for value in there]
        return Names(list(different.values()), places)
    numeric = (bool, int, float, numpy.bool_, numpy.integer, numpy.floating)
    wrong = next((kind for kind in kinds if not issubclass(kind, numeric)), None)
    if wrong is not None:
        raise _refused(wrong.__name__ if len(kinds) == 1
                       else " and ".join(sorted(kind.__name__ for kind in kinds)))
    doubles = numpy.full(len(values), numpy.nan)
    doubles[~absent] = [float(value) for value in there]
    if kinds and all(issubclass(kind, (int, numpy.integer)) and not issubclass(kind, bool)
                     for kind in kinds) and not absent.any():
        whole = _whole(there)
        if whole is not None:
            return Numbers(whole)
    if kinds and all(issubclass(kind, (bool, numpy.bool_)) for kind in kinds):
        return Numbers(doubles == 1, absent)
    return Numbers(doubles, None)


def _whole(values: list[Any]) -> numpy.ndarray | None:
    """Python integers as an array of a type that represents all of them; None if there is no such type."""
    for kind in ("int64", "uint64"):
        limits = numpy.iinfo(kind)
        if all(limits.min <= int(value) <= limits.max for value in values):
            return numpy.array([int(value) for value in values], dtype=kind)
    return None


def _of_arrow(values: Any, named: bool) -> Column:
    import pyarrow
    import pyarrow.compute

    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if isinstance(values, pyarrow.ChunkedArray):  # some versions fail without chunks
        values = pyarrow.array([], type=values.type)
    kind, types = values.type, pyarrow.types
    if isinstance(values, pyarrow.ExtensionArray):
        raise _refused(kind)
    texts = types.is_string(kind) or types.is_large_string(kind) or "string_view" in str(kind)
    if texts:
        values = values.cast(pyarrow.large_string()).dictionary_encode()
    if texts or types.is_dictionary(kind):
        places = values.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return Names(values.dictionary.to_pylist(), places, not texts)
    if types.is_null(kind):
        return Numbers(numpy.full(len(values), numpy.nan, dtype="float32"))
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise _refused(kind)
    if types.is_boolean(kind):
        missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
        return Numbers(values.fill_null(False).to_numpy(zero_copy_only=False), missing)
    bits, content = values.buffers()
    dtype = numpy.dtype(kind.to_pandas_dtype())
    if content is None or len(values) == 0:
        return Numbers(numpy.empty(0, dtype=dtype))
    numbers = numpy.frombuffer(content, dtype=dtype, count=len(values), offset=values.offset * dtype.itemsize)
    if bits is None or values.null_count == 0:
        return Numbers(numbers)
    return Numbers(numbers, None, Validity(numpy.frombuffer(bits, dtype="uint8"), values.offset))


def _of_pandas(values: Any, named: bool) -> Column:
    """A Series, or the array of one."""
    import pandas

    kind = values.dtype
    if isinstance(kind, numpy.dtype):
        return _of_numpy(values.to_numpy(), named)
    array = values.array if isinstance(values, pandas.Series) else values
    if isinstance(kind, pandas.CategoricalDtype):
        return Names(array.categories.tolist(), array.codes.astype("int64"), True)
    if isinstance(kind, pandas.SparseDtype):
        return _of_numpy(numpy.asarray(array), named)
    if hasattr(pandas, "ArrowDtype") and isinstance(kind, pandas.ArrowDtype):
        return _of_arrow(array.__arrow_array__(), named)
    if isinstance(kind, pandas.StringDtype):
        places, names = pandas.factorize(array)
        return Names(list(names), places.astype("int64"))
    plain = getattr(kind, "numpy_dtype", None)
    if plain is None or plain.kind not in "fiub":
        raise _refused(kind)
    missing = numpy.asarray(array.isna())
    if not missing.any():
        return Numbers(array.to_numpy(dtype=plain))
    return Numbers(array.to_numpy(dtype=plain, na_value=plain.type(0)), missing)


def _of_polars(series: Any, named: bool) -> Column:
    import polars

    kind = series.dtype
    if kind in (polars.String, polars.Categorical) or isinstance(kind, polars.Enum):
        series = series.cast(polars.String)
        names = series.drop_nulls().unique().to_list()
        places = series.replace_strict(names, range(len(names)), default=None,
                                       return_dtype=polars.Int64) if names else None
        blank = numpy.full(len(series), -1, dtype="int64")
        return Names(names, blank if places is None else places.fill_null(-1).to_numpy(),
                     kind != polars.String)
    if kind == polars.Null:
        return Numbers(numpy.full(len(series), numpy.nan, dtype="float32"))
    if not (kind.is_integer() or kind.is_float() or kind == polars.Boolean) or "128" in str(kind):
        raise _refused(kind)
    if series.null_count() == 0:
        return Numbers(series.to_numpy())
    return Numbers(series.fill_null(False if kind == polars.Boolean else 0).to_numpy(),
                   series.is_null().to_numpy())
