"""Estimators that consist of steps or parts: pipelines, column transformers and unions."""

from __future__ import annotations

from typing import Any

from .columns import Columns, join, same_names, scaled
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
    """A transformer without a function, which changes nothing."""
    if estimator.func is not None:
        name = getattr(estimator.func, "__name__", "a function")
        raise refuse(
            graph, estimator,
            f"calls {name}, a Python function; run that part outside, and give schedc its results",
        )
    return columns
