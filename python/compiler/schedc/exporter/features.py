"""Columns that are computed from kernels, and means of similar columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .columns import Columns, columns_of, names_out
from .graph import FLOAT32, FLOAT64, INT64, Graph, Value
from .kernels import dense, kernel
from .linear import margins_of
from .stages import refuse


def _made(graph: Graph, estimator: Any, columns: Columns, value: Value, fitted: Any) -> Columns:
    """A value as columns, in the type that scikit-learn returns. `fitted` is an array or a sparse matrix of
    the estimator, on which this type depends."""
    value = graph.cast(value, numpy.result_type(columns.numeric, fitted.dtype))
    return columns_of(value, names_out(estimator, columns, value.width))


def _note_rounding(graph: Graph, columns: Columns, made: Columns, kernels: Value,
                   sizes: Callable[[numpy.ndarray], numpy.ndarray]) -> None:
    """Notes that scikit-learn computes kernels, and their sums, in the type of the rows."""
    kind = FLOAT32 if columns.numeric == FLOAT32 else FLOAT64
    graph.rounds(made.columns[0].value, kernels, sizes, 2 * kernels.width + len(columns), kind)


def kernel_components(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Principal components of kernels. The centring of kernels is part of the weights."""
    points = dense(estimator.X_fit_)
    options = {"kernel": estimator.kernel, "gamma": estimator.gamma_, "coef0": estimator.coef0,
               "degree": estimator.degree}
    kernels = kernel(graph, estimator, columns.value(graph, FLOAT64), points, options)
    # scikit-learn divides in the type of the training rows.
    scales = numpy.asarray(estimator.eigenvalues_)
    roots = numpy.sqrt(numpy.where(scales == 0, scales.dtype.type(numpy.inf), scales))
    weights = (numpy.asarray(estimator.eigenvectors_) / roots).astype(FLOAT64)
    center = estimator._centerer
    total = weights.sum(axis=0)
    offsets = center.K_fit_all_ * total - numpy.asarray(center.K_fit_rows_) @ weights
    value = graph.affine(kernels, weights - total / len(points), offsets)
    made = _made(graph, estimator, columns, value, estimator.eigenvectors_)
    # scikit-learn centres the kernels first.
    means = numpy.abs(center.K_fit_rows_) + numpy.abs(center.K_fit_all_)
    _note_rounding(graph, columns, made, kernels, lambda sizes: (
        sizes + sizes.mean(axis=1, keepdims=True) + means) @ numpy.abs(weights))
    return made


def nystroem(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Kernels of some training rows, times a matrix."""
    if estimator.kernel_params:
        raise refuse(graph, estimator, "has kernel_params; give gamma, coef0 and degree by their names")
    # The defaults are those of scikit-learn's kernels.
    options = {"kernel": estimator.kernel, "gamma": 1.0 / len(columns), "coef0": 1.0, "degree": 3}
    options.update((name, getattr(estimator, name)) for name in ("gamma", "coef0", "degree")
                   if getattr(estimator, name) is not None)
    points = dense(estimator.components_)
    kernels = kernel(graph, estimator, columns.value(graph, FLOAT64), points, options)
    weights = dense(estimator.normalization_).T
    made = _made(graph, estimator, columns, graph.affine(kernels, weights, 0.0), estimator.components_)
    _note_rounding(graph, columns, made, kernels, lambda sizes: sizes @ numpy.abs(weights))
    return made


def fourier(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Random Fourier features: cosines of random weighted sums."""
    weights = numpy.asarray(estimator.random_weights_)
    angles = margins_of(graph, columns, weights.T, numpy.asarray(estimator.random_offset_))
    value = graph.add("Mul", graph.add("Cos", angles), (2.0 / estimator.n_components) ** 0.5)
    return columns_of(value, names_out(estimator, columns, value.width))


def agglomeration(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The mean, the largest or the smallest value of each group of similar columns."""
    columns = columns.as_array(graph)
    labels, pool = numpy.asarray(estimator.labels_), estimator.pooling_func
    groups = [numpy.flatnonzero(labels == label) for label in numpy.unique(labels)]
    if pool is numpy.mean and not columns.sparse:
        made = [_mean(graph, columns.take(group)) for group in groups]
    elif pool in (numpy.max, numpy.min) and not columns.sparse:
        op = "ReduceMax" if pool is numpy.max else "ReduceMin"
        axes = numpy.array([1], INT64)
        made = [graph.add(op, columns.take(group).value(graph, columns.numeric), axes, keepdims=1, width=1)
                for group in groups]
    else:
        name = getattr(pool, "__name__", "code")
        raise refuse(graph, estimator, f"pools by {name}; numpy.mean, max and min of dense columns are "
                     "exported")
    value = graph.join(made)
    return columns_of(value, names_out(estimator, columns, value.width))


def _mean(graph: Graph, columns: Columns) -> Value:
    """The mean of columns, added up in their order from 0 on."""
    total: Value | None = None
    for column in columns:
        value = graph.cast(graph.take(column.value, [column.at]), FLOAT64)
        total = graph.add("Add", value, 0.0) if total is None else graph.add("Add", total, value)
    assert total is not None
    return graph.add("Div", total, float(len(columns)))
