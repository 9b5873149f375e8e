"""Estimators that consist of steps or parts: pipelines, column transformers and unions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .columns import Column, Columns, Source, beside, columns_of, join, same_names, scaled
from .functions import function_of_numpy
from .graph import FLOAT32, FLOAT64, TEXT, Graph, Value
from .stages import Prediction, predict, refuse, transform
from .versions import column_positions, output_container


def pipeline(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The steps of a pipeline without a model."""
    return _steps(graph, estimator.steps, columns)


def pipeline_model(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The steps of a pipeline that ends in a model."""
    columns = _steps(graph, estimator.steps[:-1], columns)
    name, last = estimator.steps[-1]
    with graph.step(name):
        return predict(graph, last, columns)


def _steps(graph: Graph, steps: Any, columns: Columns) -> Columns:
    for name, step in steps:
        # Resampling of rows, as in imbalanced-learn, is for training only.
        if step is None or step == "passthrough" or hasattr(step, "fit_resample"):
            continue
        with graph.step(name):
            columns = transform(graph, step, columns)
    return columns


def column_transformer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Transformers that each read some columns; their results side by side."""
    parts, names = [], []
    weights, output = estimator.transformer_weights or {}, output_container(estimator)
    for name, step, _ in estimator.transformers_:
        positions = column_positions(estimator, name)
        if not positions or (isinstance(step, str) and step == "drop"):
            continue
        part = columns.take(positions)
        if isinstance(step, str) and step == "passthrough":
            part = part if output == "default" else replace(part, opaque=output == "polars")
        else:
            with graph.step(name):
                part = transform(graph, step, part)
        parts.append(_weighted(graph, part, weights.get(name)))
        names.append(name)
    # A transformer without columns lacks the attribute.
    sparse = bool(getattr(estimator, "sparse_output_", False))
    if sparse and any(part.dtype == TEXT for part in parts):
        raise refuse(graph, estimator, "returns text in a sparse matrix")
    return join(_joined(graph, estimator, parts), names, sparse)


def feature_union(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Transformers that each read all columns; their results side by side."""
    parts, names = [], []
    weights = estimator.transformer_weights or {}
    for name, step in estimator.transformer_list:
        if isinstance(step, str) and step == "drop":
            continue
        part = columns
        if not (isinstance(step, str) and step == "passthrough"):
            with graph.step(name):
                part = transform(graph, step, part)
        parts.append(_weighted(graph, part, weights.get(name)))
        names.append(name)
    return join(_joined(graph, estimator, parts), names, any(part.sparse for part in parts))


def _joined(graph: Graph, estimator: Any, parts: list[Columns]) -> list[Columns]:
    """The results of the parts, in one array or in a frame, whose columns keep their types."""
    if output_container(estimator) != "default":
        return parts
    for part in parts:
        refuse_own(graph, estimator, part)
    return beside(graph, parts)


def refuse_own(graph: Graph, estimator: Any, columns: Columns) -> None:
    """Raises Unsupported for columns of pandas' own types that scikit-learn has not converted to f64."""
    own = [column.name for column in columns if column.own]
    if own:
        raise refuse(graph, estimator, f"reads the column {own[0]!r} by NumPy, whose type depends on missing "
                     "cells: give rows in NumPy's types, as in rows.astype(\"float64\"), not in pandas' own, "
                     "such as Float32")


def _weighted(graph: Graph, part: Columns, weight: float | None) -> Columns:
    """Columns times the weight of their part."""
    if weight is None or not len(part):
        return part
    sources = scaled(part.sources(), 1 / weight, 0.0)
    return _mapped(graph, part, lambda value: graph.add("Mul", value, weight), sources)


def _mapped(graph: Graph, columns: Columns, function: Callable[[Value], Value],
            sources: Sequence[Source | None]) -> Columns:
    """A function of each column, in f32 or f64 by the column's own type."""
    # Polars multiplies in f64.
    single = [column.dtype == FLOAT32 and not columns.opaque for column in columns]
    if len(set(single)) == 1:
        value = columns.value(graph, FLOAT32 if single[0] else FLOAT64)
        return same_names(columns, function(value), sources)
    made: list[Column] = []
    for at, column in enumerate(columns):
        part, kind = columns.take([at]), FLOAT32 if single[at] else FLOAT64
        made += columns_of(function(part.value(graph, kind)), [column.name], [sources[at]])
    return replace(columns, columns=tuple(made))


def function_transformer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """A function of NumPy for each number, or no function, which changes nothing."""
    if estimator.func is None:
        return columns
    function = function_of_numpy(estimator.func)
    if function is None or estimator.kw_args:
        name = getattr(estimator.func, "__name__", "a function")
        raise refuse(
            graph, estimator,
            f"calls {name}, which schedc does not export; functions of NumPy such as log1p are exported if "
            "they have no options; run that part outside, and give schedc its results",
        )
    kinds = {column.dtype.kind for column in columns}
    if columns.sparse or not kinds <= {"f", "i", "u"}:
        of_what = "a sparse matrix" if columns.sparse else "truth values" if "b" in kinds else "texts"
        raise refuse(graph, estimator, f"computes {estimator.func.__name__} of {of_what}; give it numbers")
    for column in columns:
        graph.note(column.source, function.tested)
    if columns.opaque or estimator.validate:
        columns = columns.as_array(graph)
    refuse_own(graph, estimator, columns)
    if any(column.narrow for column in columns):
        raise refuse(graph, estimator, f"computes {estimator.func.__name__} of truth values or of integers "
                     "of 8 or 16 bits, which NumPy computes in their own precision; give it float64 or "
                     "float32")
    if not function.keeps_integers:
        graph.note_integers(columns, "narrow")
    return _mapped(graph, columns, partial(function.nodes, graph), [None] * len(columns))
