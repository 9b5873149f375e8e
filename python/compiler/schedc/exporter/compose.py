"""Estimators that consist of steps or parts: pipelines, column transformers and unions."""

from __future__ import annotations

from typing import Any

from .columns import Columns, join, same_names, scaled
from .functions import function_of_numpy
from .graph import TEXT, Graph
from .stages import Prediction, predict, refuse, transform
from .versions import column_positions


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
    weights = estimator.transformer_weights or {}
    for name, step, _ in estimator.transformers_:
        positions = column_positions(estimator, name)
        if not positions or (isinstance(step, str) and step == "drop"):
            continue
        part = columns.take(positions)
        if not (isinstance(step, str) and step == "passthrough"):
            with graph.step(name):
                part = transform(graph, step, part)
        parts.append(_weighted(graph, part, weights.get(name)))
        names.append(name)
    # A transformer without columns lacks the attribute.
    sparse = bool(getattr(estimator, "sparse_output_", False))
    if sparse and any(part.dtype == TEXT for part in parts):
        raise refuse(graph, estimator, "returns text in a sparse matrix")
    return join(parts, names, sparse)


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
    return join(parts, names, any(part.sparse for part in parts))


def _weighted(graph: Graph, part: Columns, weight: float | None) -> Columns:
    """Columns times the weight of their part."""
    if weight is None or not len(part):
        return part
    value = graph.add("Mul", part.value(graph, part.floating), weight)
    return same_names(part, value, scaled(part.sources(), 1 / weight, 0.0))


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
    value = function.nodes(graph, columns.value(graph, columns.floating))
    return same_names(columns, value, [None] * len(columns))
