"""Scalers, the normalizer and polynomial terms: arithmetic on numbers."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Columns, columns_of, same_names, scaled
from .graph import FLOAT64, Graph, Value
from .stages import refuse, refuse_sparse
from .versions import at_least


def step(graph: Graph, op: str, value: Value, parameter: Any, rounds_first: bool = False) -> Value:
    """One operation of a scaler, `value op parameter`, in the type of the value.

    Most parameters are f64. NumPy then computes rows of f32 in f64, and rounds the result. If `rounds_first`
    is true, the parameter is rounded to the type of the value instead.
    """
    parameter = numpy.asarray(parameter)
    if rounds_first:
        parameter = parameter.astype(value.dtype)
    wide = numpy.result_type(value.dtype, parameter.dtype)
    return graph.cast(graph.add(op, graph.cast(value, wide), parameter.astype(wide)), value.dtype)


def _sparse_scale(graph: Graph, value: Value, scale: Any) -> Value:
    """Multiplies by the reciprocal of the scale, as scikit-learn does for sparse matrices."""
    return step(graph, "Mul", value, 1 / numpy.asarray(scale))


def standard_scaler(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """`(x - mean) / scale`."""
    value = columns.value(graph, columns.floating)
    mean = estimator.mean_ if estimator.with_mean else None
    scale = estimator.scale_ if estimator.with_std else None
    if columns.sparse:
        if mean is not None:
            raise refuse(graph, estimator, "centers a sparse matrix, which scikit-learn refuses; set "
                         "with_mean=False, or give it dense columns")
        value = value if scale is None else _sparse_scale(graph, value, scale)
    else:
        # Since scikit-learn 1.8, parameters are rounded to the type of the rows.
        first = at_least(1, 8)
        value = value if mean is None else step(graph, "Sub", value, mean, first)
        value = value if scale is None else step(graph, "Div", value, scale, first)
    return same_names(columns, value, _inverse(columns, scale, mean))


def _inverse(columns: Columns, scale: Any, offset: Any) -> Any:
    """The sources of columns `(x - offset) / scale`."""
    return scaled(columns.sources(), 1.0 if scale is None else scale, 0.0 if offset is None else offset)


def robust_scaler(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """`(x - center) / scale`."""
    value = columns.value(graph, columns.floating)
    center = estimator.center_ if estimator.with_centering and not columns.sparse else None
    scale = estimator.scale_ if estimator.with_scaling else None
    if columns.sparse:
        value = value if scale is None else _sparse_scale(graph, value, scale)
    else:
        value = value if center is None else step(graph, "Sub", value, center)
        value = value if scale is None else step(graph, "Div", value, scale)
    return same_names(columns, value, _inverse(columns, scale, center))


def min_max_scaler(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """`x * scale + min`, clipped on request."""
    value = columns.value(graph, columns.floating)
    value = step(graph, "Mul", value, estimator.scale_)
    value = step(graph, "Add", value, estimator.min_)
    if estimator.clip:
        value = _clip(graph, value, *estimator.feature_range)
    scale = 1 / numpy.asarray(estimator.scale_)
    return same_names(columns, value, _inverse(columns, scale, -numpy.asarray(estimator.min_) * scale))


def max_abs_scaler(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """`x / scale`, clipped on request."""
    value = columns.value(graph, columns.floating)
    if columns.sparse:
        value = _sparse_scale(graph, value, estimator.scale_)
    else:
        value = step(graph, "Div", value, estimator.scale_)
    if getattr(estimator, "clip", False):
        value = _clip(graph, value, -1.0, 1.0)
    return same_names(columns, value, _inverse(columns, estimator.scale_, None))


def _clip(graph: Graph, value: Value, low: float, high: float) -> Value:
    return graph.add("Clip", value, value.dtype.type(low), value.dtype.type(high))


def normalizer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Each row divided by its norm."""
    if columns.sparse:
        raise refuse_sparse(graph, estimator, "normalizes")
    value = columns.value(graph, columns.numeric)
    axes = numpy.array([1], numpy.int64)
    if estimator.norm == "l2":
        squares = graph.add("Mul", value, value)
        norm = graph.add("Sqrt", graph.add("ReduceSum", squares, axes, keepdims=1, width=1))
    elif estimator.norm == "l1":
        norm = graph.add("ReduceSum", graph.add("Abs", value), axes, keepdims=1, width=1)
    else:
        norm = graph.add("ReduceMax", graph.add("Abs", value), axes, keepdims=1, width=1)
    # Norms below this count as zero, and a norm of zero is replaced by one.
    least = value.dtype.type(10 * numpy.finfo(value.dtype).eps)
    one = value.dtype.type(1)
    norm = graph.add("Where", graph.add("Less", norm, least), one, norm, dtype=value.dtype, width=1)
    return same_names(columns, graph.add("Div", value, norm), [None] * len(columns))


def polynomial_features(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Products of columns, by increasing degree. Each is a product of one degree less, times a column."""
    if not estimator.n_output_features_:
        return Columns(())
    value = columns.value(graph, columns.floating)
    names = estimator.get_feature_names_out([column.name for column in columns])
    terms = [tuple(numpy.repeat(numpy.arange(len(powers)), powers).tolist()) for powers in estimator.powers_]
    least, most = _degrees(estimator)
    if columns.sparse:
        raise refuse_sparse(graph, estimator, "multiplies")
    made: dict[tuple[int, ...], int] = {(at,): at for at in range(len(columns))}
    by_degree = {1: (value, made)}
    for degree in range(2, most + 1):
        before, places = by_degree[degree - 1]
        wanted = _terms(len(columns), degree, estimator.interaction_only)
        if not wanted:
            break
        left = graph.take(before, [places[term[1:]] for term in wanted])
        right = graph.take(value, [term[0] for term in wanted])
        by_degree[degree] = (graph.add("Mul", left, right), {term: at for at, term in enumerate(wanted)})
    parts = []
    if () in terms:
        parts.append(columns_of(_ones(graph, value), ["1"]))
    for degree in range(max(least, 1), len(by_degree) + 1):
        product, places = by_degree[degree]
        order = [places[term] for term in terms if len(term) == degree]
        parts.append(columns_of(graph.take(product, order), [str(at) for at in order]))
    joined = [column for part in parts for column in part]
    whole = Columns(tuple(joined)).value(graph, value.dtype)
    return columns_of(whole, names)


def _degrees(estimator: Any) -> tuple[int, int]:
    degree = estimator.degree
    return (0, degree) if isinstance(degree, int) else (int(degree[0]), int(degree[1]))


def _terms(count: int, degree: int, distinct: bool) -> list[tuple[int, ...]]:
    """The products of a degree in scikit-learn's order."""
    from itertools import combinations, combinations_with_replacement

    choose = combinations if distinct else combinations_with_replacement
    return list(choose(range(count), degree))


def _ones(graph: Graph, value: Value) -> Value:
    return graph.cast(graph.constant_columns(value, numpy.ones(1, FLOAT64)), value.dtype)
