"""Imputers, which fill missing values, and columns that indicate missing values.

Missing text is the empty text in ONNX, which has no missing text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from .columns import Column, Columns, columns_of
from .graph import BOOL, FLOAT64, TEXT, Graph, Value, is_missing


def missing_mask(graph: Graph, value: Value, marker: Any) -> Value:
    """Marks missing values by booleans. `marker` is the value that stands for a missing one."""
    if value.dtype == TEXT:
        return graph.add("Equal", value, graph.texts([marker]))
    if is_missing(marker):
        return graph.add("IsNaN", value if value.dtype.kind == "f" else graph.cast(value, FLOAT64))
    if isinstance(marker, str):
        # A number equals no text.
        return graph.cast(graph.constant_columns(value, numpy.zeros(value.width)), BOOL)
    wide = numpy.result_type(numpy.empty(0, value.dtype), marker)
    wide = wide if wide.kind == "f" else numpy.dtype("int64")
    return graph.add("Equal", graph.cast(value, wide), numpy.asarray(marker, wide))


def _groups(columns: Columns) -> list[list[int]]:
    """Groups of columns by their positions: one group if all are numbers, otherwise a group for each. Empty
    if there are no columns."""
    if columns.dtype == TEXT:
        return [[at] for at in range(len(columns))]
    return [list(range(len(columns)))] if len(columns) else []


def _is_nan(value: Any) -> bool:
    """Whether a statistic is missing: the most frequent value may be None."""
    return value is not None and is_missing(value)


def filled_columns(estimator: Any, count: int) -> list[int]:
    """The positions of the columns that a SimpleImputer keeps, among `count` columns. It drops columns that
    had no values in training."""
    return [at for at in range(count)
            if estimator.keep_empty_features or not _is_nan(estimator.statistics_[at])]


def simple_imputer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Replaces missing values of each column by the column's statistic."""
    statistics = estimator.statistics_
    keeps = filled_columns(estimator, len(columns))
    # Since scikit-learn 1.5, statistics are rounded to the type of the rows of fit.
    fitted = getattr(estimator, "_fill_dtype", None)
    made: list[Column] = []
    for group in _groups(columns.take(keeps)):
        positions = [keeps[at] for at in group]
        part = columns.take(positions)
        averages = estimator.strategy not in ("most_frequent", "constant")
        kind = TEXT if part.dtype == TEXT else part.floating if averages else part.dtype
        value = part.value(graph, kind)
        filling = numpy.array([statistics[at] for at in positions], TEXT)
        if kind != TEXT and fitted is not None and fitted.kind != "O":
            filling = filling.astype(fitted)
        filling = graph.texts(filling) if kind == TEXT else filling.astype(kind)
        mask = missing_mask(graph, value, estimator.missing_values)
        is_filled = False
        if kind == TEXT:
            is_filled = _note_text(graph, estimator.missing_values, part.columns[0], statistics[positions[0]])
        graph.stores_zeros |= columns.sparse and kind != TEXT and not numpy.all(filling)
        if kind.kind in "iu":
            filling = filling.astype("int64")
        filled = graph.add("Where", mask, filling, value, dtype=kind, width=value.width)
        names = [column.name for column in part]
        made += [replace(column, is_filled=is_filled) for column in columns_of(filled, names, part.sources())]
    if estimator.add_indicator:
        made += _indicator(graph, estimator.indicator_, columns)
    return Columns(tuple(made), columns.sparse).as_array(graph)


def _note_text(graph: Graph, marker: Any, column: Column, filling: Any) -> bool:
    """Notes the texts that an imputer replaces by `filling`, or detects if this is None. Returns whether
    missing texts become empty texts."""
    if not is_missing(marker):
        if marker == "" and filling != "":
            graph.note_blank(column, "empty")
        return column.is_filled
    graph.mark(column.source, [marker])
    if filling != "":
        graph.note_blank(column, "missing")
    return column.is_filled or bool(filling == "")


def missing_indicator(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """A column of booleans for each column that may have missing values."""
    sparse = estimator.sparse is True or (estimator.sparse == "auto" and columns.sparse)
    return Columns(tuple(_indicator(graph, estimator, columns)), sparse)


def _indicator(graph: Graph, estimator: Any, columns: Columns) -> list[Column]:
    chosen = columns.take(estimator.features_)
    made: list[Column] = []
    for group in _groups(chosen):
        part = chosen.take(group)
        if part.dtype == TEXT:
            _note_text(graph, estimator.missing_values, part.columns[0], None)
        mask = missing_mask(graph, part.value(graph), estimator.missing_values)
        made += columns_of(mask, [f"missingindicator_{column.name}" for column in part])
    return made
