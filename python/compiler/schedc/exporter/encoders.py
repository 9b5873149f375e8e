"""Encoders of categories. Each becomes a table from categories to numbers, which the fitted encoder itself
fills: it encodes one row for each category, one for an unseen category, and one for a missing value."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy

from .columns import Column, Columns, columns_of, names_out
from .graph import FLOAT64, INT64, ML, TEXT, Graph, Value, element, is_missing, tensor
from .stages import refuse


@dataclass(frozen=True)
class Codes:
    """The encoding of one column."""

    keys: list[Any]
    """The categories without missing values: texts or numbers."""
    rows: numpy.ndarray
    """The numbers of each category, `[n_categories, width]`."""
    unseen: numpy.ndarray
    """The numbers of unseen categories; NaN if scikit-learn raises an error for them."""
    missing: numpy.ndarray | None
    """The numbers of missing values; None if they are encoded like unseen categories."""


def one_hot(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """A column for each category, or for each group of rare ones."""
    widths = [int(width) for width in estimator._n_features_outs]
    kind = numpy.dtype(estimator.dtype)
    made: list[Value] = []
    for at, column in enumerate(columns):
        codes = _codes(graph, estimator, column, at, sum(widths[:at]), widths[at])
        if widths[at]:
            made.append(graph.cast(_indicators(graph, column, codes), kind))
    names = names_out(estimator, columns, sum(widths))
    columns = _side_by_side(made, names)
    return Columns(columns.columns, sparse=estimator.sparse_output)


def ordinal(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """A number for each category."""
    kind = numpy.dtype(estimator.dtype)
    made = []
    for at, column in enumerate(columns):
        codes = _codes(graph, estimator, column, at, at, 1)
        made.append(graph.cast(_look_up(graph, column, codes, 0), kind))
    return _side_by_side(made, names_out(estimator, columns, len(made)))


def target(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The mean of the target for each category, or one mean for each class."""
    width = len(estimator.classes_) if estimator.target_type_ == "multiclass" else 1
    made = []
    for at, column in enumerate(columns):
        codes = _codes(graph, estimator, column, at, at * width, width)
        made += [_look_up(graph, column, codes, which) for which in range(width)]
    return _side_by_side(made, names_out(estimator, columns, len(made)))


def _side_by_side(values: list[Value], names: list[str]) -> Columns:
    made: list[Column] = []
    for value in values:
        made += columns_of(value, names[len(made):len(made) + value.width])
    return Columns(tuple(made))


def _codes(graph: Graph, estimator: Any, column: Column, at: int, first: int, width: int) -> Codes:
    """The table of an encoder's column, whose results are `width` columns from `first` on."""
    known = list(estimator.categories_[at])
    keys = [key for key in known if not is_missing(key)]
    unseen = unseen_key(keys)
    check_kinds(graph, estimator, column, known)
    gaps = [key for key in known if is_missing(key)]
    def encode(values: list[Any]) -> numpy.ndarray:
        return _encoded(estimator, at, values)[:, first:first + width]
    rows = encode(keys) if keys else numpy.empty((0, width))
    try:
        others = encode([unseen])[0]
    except ValueError:
        others = numpy.full(width, numpy.nan)
    missing = None
    if gaps:
        gap_rows = encode(gaps)
        if not all(numpy.array_equal(gap_rows[0], row, equal_nan=True) for row in gap_rows):
            raise refuse(graph, estimator, f"distinguishes None and NaN in column {column.name!r}, which an "
                         "ONNX file cannot")
        missing = gap_rows[0]
    graph.mark(column.source, gaps)
    note_blanks(graph, column, keys, rows, missing, others)
    graph.note_categories(column.source, keys, unseen)
    graph.details.setdefault(graph.path, {}).setdefault("categories", {})[column.name] = [
        None if is_missing(key) else key if isinstance(key, str) else float(key) for key in known]
    return Codes(keys, rows, others, missing)


def note_blanks(graph: Graph, column: Column, keys: list[Any], rows: numpy.ndarray,
                missing: numpy.ndarray | None, unseen: numpy.ndarray | None) -> None:
    """Notes in the graph whether an encoder treats empty or missing texts of a column as categories. `rows`
    are the encoder's results for `keys`."""
    gap = unseen if missing is None else missing
    if column.dtype != TEXT:
        return
    if "" in keys and not _are_same(rows[keys.index("")], gap):
        graph.note_blank(column, "empty")
    if missing is not None and not _are_same(missing, rows[keys.index("")] if "" in keys else unseen):
        graph.note_blank(column, "missing")


def _are_same(one: Any, other: Any) -> bool:
    """Whether two results are equal. Missing values count as equal."""
    pairs = () if one is None or other is None else zip(one, other)
    are_none = one is None and other is None
    return are_none or bool(pairs) and all(a == b or is_missing(a) and is_missing(b) for a, b in pairs)


def check_kinds(graph: Graph, estimator: Any, column: Column, known: Any) -> None:
    """Raises Unsupported if categories are texts and rows are numbers, or the reverse, and if categories are
    whole numbers that double precision rounds."""
    if any(isinstance(key, (int, numpy.integer)) and abs(int(key)) >= 2**53 for key in known):
        raise refuse(graph, estimator, f"has whole numbers of 2^53 and beyond as categories of column "
                     f"{column.name!r}, which double precision cannot distinguish; fit it on texts, as in "
                     f"frame[{column.name!r}].astype(str)")
    are_texts = {isinstance(key, str) for key in known if not is_missing(key)}
    if are_texts and are_texts != {column.dtype == TEXT}:
        raise refuse(graph, estimator, f"has categories of column {column.name!r} that are "
                     f"{'texts' if True in are_texts else 'numbers'}, but the rows have "
                     f"{'text' if column.dtype == TEXT else 'numbers'} there; if your rows have the "
                     "categories, give some by check=X")


def unseen_key(keys: list[Any]) -> Any:
    """A category that is none of `keys`, which are texts or numbers."""
    texts = [key for key in keys if isinstance(key, str)]
    return f"{max(texts)}_unseen" if texts else float(max(map(float, keys), default=0.0)) + 1.5


def _encoded(estimator: Any, at: int, values: list[Any]) -> numpy.ndarray:
    """An encoder's results for rows with these values in one column."""
    kinds = [numpy.asarray(known).dtype for known in estimator.categories_]
    filled = []
    for place, known in enumerate(estimator.categories_):
        cells = values if place == at else [known[0]] * len(values)
        kind = TEXT if kinds[place].kind in "OUS" else FLOAT64
        made = numpy.empty(len(cells), TEXT)
        made[:] = cells
        filled.append(made.astype(kind))
    names = getattr(estimator, "feature_names_in_", None)
    mixed = len({one.dtype for one in filled}) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if names is not None or mixed:
            try:
                import pandas

                names = [f"x{place}" for place in range(len(filled))] if names is None else list(names)
                rows: Any = pandas.DataFrame({name: one for name, one in zip(names, filled)})
                rows = rows.astype({name: one.dtype for name, one in zip(names, filled)})
            except ImportError:
                rows = numpy.column_stack(filled).astype(TEXT)
        else:
            rows = numpy.column_stack(filled)
        encoded = estimator.transform(rows)
    encoded = encoded.toarray() if hasattr(encoded, "toarray") else numpy.asarray(encoded)
    return encoded.astype(FLOAT64)


def _key_column(graph: Graph, column: Column, keys: list[Any]) -> tuple[Value, numpy.ndarray]:
    """A column as the type of its categories, and the categories as an array of this type."""
    value = graph.take(column.value, [column.at])
    if column.dtype == TEXT:
        return value, graph.texts(keys)
    whole = value.dtype.kind in "iub" and all(float(key) == int(key) for key in keys)
    kind = INT64 if whole else FLOAT64
    return graph.cast(value, kind), numpy.array(keys, FLOAT64).astype(kind)


def _indicators(graph: Graph, column: Column, codes: Codes) -> Value:
    """The columns of a one-hot encoder, as booleans."""
    width = codes.rows.shape[1] if len(codes.rows) else len(codes.unseen)
    owners = [numpy.flatnonzero(codes.rows[:, place]) for place in range(width)]
    only_missing = [place for place in range(width) if not len(owners[place])]
    is_shared = codes.missing is not None and any(
        len(owners[place]) for place in numpy.flatnonzero(codes.missing))
    simple = (all(len(one) <= 1 for one in owners) and not is_shared
              and not numpy.nan_to_num(codes.unseen).any())
    if simple and only_missing in ([], [width - 1]):
        value, keys = _key_column(graph, column, codes.keys)
        order = [int(one[0]) for one in owners if len(one)]
        pieces = [graph.add("Equal", value, keys[order])] if order else []
        if only_missing and codes.missing is not None:
            blank = numpy.array([""], TEXT)
            is_text = column.dtype == TEXT
            pieces.append(graph.add("Equal", value, blank) if is_text else graph.add("IsNaN", value))
        return graph.join(pieces)
    # Several categories have the same column: first look up the column's number, then make the columns.
    numbers = Codes(codes.keys, _hot(codes.rows), _hot(codes.unseen[None])[0],
                    None if codes.missing is None else _hot(codes.missing[None])[0])
    number = graph.cast(_look_up(graph, column, numbers, 0), INT64)
    return graph.add("Equal", number, numpy.arange(width, dtype=INT64))


def _hot(rows: numpy.ndarray) -> numpy.ndarray:
    """The index of the column that is 1 in each row; -1 if there is none: `[n_rows, 1]`."""
    rows = numpy.nan_to_num(rows)
    return numpy.where(rows.any(axis=1), rows.argmax(axis=1), -1)[:, None].astype(FLOAT64)


def _look_up(graph: Graph, column: Column, codes: Codes, which: int) -> Value:
    """One number for each category: `[n_rows, 1]`, in f64."""
    value, keys = _key_column(graph, column, codes.keys)
    numbers = codes.rows[:, which] if len(codes.rows) else numpy.empty(0)
    if codes.missing is not None and value.dtype == TEXT:
        keys = numpy.append(keys, "").astype(TEXT)
        numbers = numpy.append(numbers, codes.missing[which])
    found = graph.add(
        "LabelEncoder", value, domain=ML, dtype=FLOAT64, width=1,
        keys_tensor=tensor("keys", keys), values_tensor=tensor("values", numbers.astype(FLOAT64)),
        default_tensor=tensor("default", numpy.array([codes.unseen[which]], FLOAT64)),
    )
    if codes.missing is not None and value.dtype == FLOAT64:
        found = graph.add("Where", graph.add("IsNaN", value), FLOAT64.type(codes.missing[which]), found,
                          dtype=FLOAT64, width=1)
    return found
