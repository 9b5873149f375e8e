"""Imputers: other values in place of missing ones, and columns that say where values are missing.

Missing text is the empty text in ONNX, which has no other."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Column, Columns, columns_of
from .graph import BOOL, FLOAT64, TEXT, Graph, Value


def is_missing(value: Any) -> bool:
    """Whether a value is one of those by which NumPy and pandas mark missing ones."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, numpy.floating)) and bool(numpy.isnan(value))


def missing_mask(graph: Graph, value: Value, marker: Any) -> Value:
    """Whether values are missing, which `marker` marks: booleans."""
    if value.dtype == TEXT:
        return graph.add("Equal", value, _texts(["" if is_missing(marker) else marker]))
    if is_missing(marker):
        return graph.add("IsNaN", value if value.dtype.kind == "f" else graph.cast(value, FLOAT64))
    if isinstance(marker, str):
        # A number equals no text.
        return graph.cast(graph.constant_columns(value, numpy.zeros(value.width)), BOOL)
    wide = numpy.result_type(numpy.empty(0, value.dtype), marker)
    wide = wide if wide.kind == "f" else numpy.dtype("int64")
    return graph.add("Equal", graph.cast(value, wide), numpy.asarray(marker, wide))


def _texts(values: list[Any]) -> numpy.ndarray:
    made = numpy.empty(len(values), TEXT)
    made[:] = [str(value) for value in values]
    return made


def _groups(columns: Columns) -> list[list[int]]:
    """Positions of columns: all together if they are numbers, else one by one. None for no columns."""
    if columns.dtype == TEXT:
        return [[at] for at in range(len(columns))]
    return [list(range(len(columns)))] if len(columns) else []


def filled_columns(estimator: Any, count: int) -> list[int]:
    """The positions of the columns that a SimpleImputer keeps, among `count`. A column without values has
    none to fill gaps with."""
    return [at for at in range(count)
            if estimator.keep_empty_features or not is_missing(estimator.statistics_[at])]


def simple_imputer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """A statistic of each column in place of its missing values."""
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
        filling = _texts(filling.tolist()) if kind == TEXT else filling.astype(kind)
        mask = missing_mask(graph, value, estimator.missing_values)
        if kind == TEXT and is_missing(estimator.missing_values):
            graph.mark(part.columns[0].source, estimator.missing_values)
        if kind.kind in "iu":
            filling = filling.astype("int64")
        filled = graph.add("Where", mask, filling, value, dtype=kind, width=value.width)
        made += columns_of(filled, [column.name for column in part], part.sources())
    if estimator.add_indicator:
        made += _indicator(graph, estimator.indicator_, columns)
    return Columns(tuple(made))


def missing_indicator(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """A column of booleans for each column that may have missing values."""
    return Columns(tuple(_indicator(graph, estimator, columns)))


def _indicator(graph: Graph, estimator: Any, columns: Columns) -> list[Column]:
    chosen = columns.take(estimator.features_)
    made: list[Column] = []
    for group in _groups(chosen):
        part = chosen.take(group)
        mask = missing_mask(graph, part.value(graph), estimator.missing_values)
        made += columns_of(mask, [f"missingindicator_{column.name}" for column in part])
    return made
