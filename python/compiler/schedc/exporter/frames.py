"""Encoders of category_encoders and feature-engine, which take tables of pandas and encode some columns.

The fitted encoder itself fills a table for each column: it encodes rows that differ in one cell.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy

from .columns import Column, Columns, columns_of
from .encoders import Codes, _key_column, _look_up, note_blanks, unseen_key
from .graph import FLOAT64, ML, TEXT, Graph, is_missing, tensor
from .stages import TABLES, key_of, refuse


@dataclass(frozen=True)
class Encoding:
    """All results of an encoder for the cells of one column."""

    keys: list[Any]
    """The categories without missing values."""
    rows: numpy.ndarray
    """The results for each category."""
    unseen: numpy.ndarray | None
    """The results for an unseen category; None if the encoder raises an error for it."""
    missing: numpy.ndarray | None
    """The results for a missing value; None if the encoder raises an error for it."""


def is_frame_encoder(estimator: Any) -> bool:
    """Whether an estimator is one of the encoders that `frame_encoder` converts."""
    library, _, name = key_of(estimator).partition(".")
    return name in TABLES.get(library, ())


def encoded_columns(estimator: Any) -> list[Any]:
    """The names of the columns that an encoder encodes."""
    return list(getattr(estimator, "variables_", None) or getattr(estimator, "cols", None) or [])


def categories_of(estimator: Any, name: Any) -> list[Any]:
    """The categories of a column in a fitted encoder, without missing values."""
    known = getattr(estimator, "encoder_dict_", None)
    if known is not None:
        found = list(known[name])
    else:
        inner = getattr(estimator, "ordinal_encoder", None) or estimator
        mapping = inner.mapping
        if isinstance(mapping, list):
            mapping = {one["col"]: one["mapping"] for one in mapping}
        found = list(mapping[name].index)
    return [key for key in found if not is_missing(key)]


def frame_encoder(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """An encoder of a table's columns; other columns pass through."""
    import pandas

    names = list(getattr(estimator, "feature_names_in_", None) or [])
    if len(names) != len(columns):
        raise refuse(graph, estimator, "was not fitted on a table with the names of its columns")
    known = {name: categories_of(estimator, name) for name in encoded_columns(estimator)}
    base = {name: _cell(known.get(name), column) for name, column in zip(names, columns)}

    def encode(name: Any, cells: list[Any]) -> Any:
        rows = pandas.DataFrame({one: [value] * len(cells) for one, value in base.items()})
        if name is not None:
            rows[name] = pandas.Series(cells, dtype=object if isinstance(base[name], str) else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return estimator.transform(rows)

    first = encode(None, [0])
    made_names, kinds = list(first.columns), list(first.dtypes)
    owners: dict[int, Any] = {}
    tables: dict[Any, Encoding] = {}
    for name, keys in known.items():
        codes = _table(encode, name, keys)
        tables[name] = codes
        every = [*codes.rows, *(row for row in (codes.unseen, codes.missing) if row is not None)]
        for at in range(len(made_names)):
            cell = first.iloc[0, at]
            if any(not _same(row[at], cell) for row in every):
                owners[at] = name
    made: list[Column] = []
    for at, out in enumerate(made_names):
        if at not in owners and out in names and out not in known:
            made.append(columns.columns[names.index(out)])
            continue
        # A column that is the same for all rows, such as an intercept, is a table of any column.
        similar = (one for one in known if str(out).startswith(str(one)))
        name = owners.get(at, next(similar, next(iter(known), None)))
        if name is None:
            raise refuse(graph, estimator, f"makes the column {out!r}, which depends on none of its columns")
        column = columns.columns[names.index(name)]
        codes = tables[name]
        note_blanks(graph, column, known[name], codes.rows, codes.missing, codes.unseen)
        graph.note_categories(column.source, known[name], unseen_key(known[name]))
        made += columns_of(_encoded(graph, column, codes, at, kinds[at]), [out])
    return Columns(tuple(made))


def _cell(keys: list[Any] | None, column: Column) -> Any:
    """A fixed value of a column, for rows in which another column varies."""
    return keys[0] if keys else "" if column.dtype == TEXT else 0.0


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or (is_missing(one) and is_missing(other))


def _table(encode: Any, name: Any, keys: list[Any]) -> Encoding:
    """The results for each category of a column, for an unseen one, and for a missing value."""

    def row(cell: Any) -> numpy.ndarray | None:
        try:
            return numpy.asarray(numpy.asarray(encode(name, [cell]).astype(object))[0])
        except ValueError:
            return None

    rows = numpy.asarray(encode(name, keys).astype(object))
    return Encoding(keys, rows, row(unseen_key(keys)), row(numpy.nan))


def _encoded(graph: Graph, column: Column, codes: Encoding, at: int, kind: Any) -> Any:
    """One column of an encoder, in the type that the encoder gives it."""
    unseen = numpy.nan if codes.unseen is None else codes.unseen[at]
    cells = [*codes.rows[:, at], unseen]
    if not any(isinstance(cell, str) for cell in cells):
        numbers = Codes(codes.keys, codes.rows[:, [at]].astype(FLOAT64), numpy.array([unseen], FLOAT64),
                        None if codes.missing is None else codes.missing[[at]].astype(FLOAT64))
        results = [numbers.rows[:, 0], numbers.unseen, numbers.rows[:0, 0] if numbers.missing is None
                   else numbers.missing]
        whole = isinstance(kind, numpy.dtype) and kind.kind in "iu" and not numpy.isnan(
            numpy.concatenate(results)).any()
        return graph.cast(_look_up(graph, column, numbers, 0), kind if whole else FLOAT64)
    value, keys = _key_column(graph, column, codes.keys)
    texts = [graph.text(cell) for cell in cells]
    if codes.missing is not None and value.dtype == TEXT:
        keys = numpy.append(keys, "").astype(TEXT)
        gap = codes.missing[at]
        texts.insert(len(texts) - 1, graph.text(gap))
    table = numpy.array(texts, TEXT)
    return graph.add("LabelEncoder", value, domain=ML, dtype=TEXT, width=1, keys_tensor=tensor("keys", keys),
                     values_tensor=tensor("values", table[:-1]), default_tensor=tensor("default", table[-1:]))
