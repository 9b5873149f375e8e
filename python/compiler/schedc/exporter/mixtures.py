"""Mixtures of normal distributions, and the detector of outliers of a single normal distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from .boosting import threshold_index
from .columns import Columns
from .forests import best
from .graph import FLOAT32, FLOAT64, INT64, Graph, Value
from .kernels import products, squared_distances
from .stages import Prediction


def gaussian(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A mixture whose weights are fitted."""
    return _mixture(graph, estimator, columns, numpy.log(estimator.weights_))


def bayesian(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A mixture whose weights have a prior."""
    from scipy.special import digamma

    freedom, n = numpy.asarray(estimator.degrees_of_freedom_, FLOAT64), len(columns)
    spread = n * numpy.log(2.0) + digamma(0.5 * (freedom - numpy.arange(n)[:, None])).sum(axis=0)
    offsets = 0.5 * (spread - n / estimator.mean_precision_ - n * numpy.log(freedom))
    return _mixture(graph, estimator, columns, estimator._estimate_log_weights() + offsets)


def _mixture(graph: Graph, estimator: Any, columns: Columns, offsets: numpy.ndarray) -> Prediction:
    """A mixture, by the densities of its components. `offsets` are added to the logarithm of each density."""
    whole = numpy.tile(numpy.arange(9)[:, None], len(columns))
    densities = [estimator._estimate_log_prob(whole.astype(kind)) for kind in (INT64, FLOAT64)]
    if not numpy.allclose(*densities):
        # Some releases of scikit-learn store logarithms of densities in the type of the rows.
        graph.note_integers(columns.as_array(graph), "all")
    roots = numpy.asarray(estimator.precisions_cholesky_)
    value = columns.value(graph, numpy.result_type(columns.numeric, roots.dtype))
    kind, form, n = value.dtype, estimator.covariance_type, len(columns)
    means, roots = numpy.asarray(estimator.means_).astype(kind), roots.astype(kind)
    if form == "full":
        squares = graph.join([_in_axes(graph, value, mean[None], axes) for mean, axes in zip(means, roots)])
        sizes = numpy.log(numpy.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    elif form == "tied":
        squares, sizes = _in_axes(graph, value, means, roots), numpy.log(numpy.diagonal(roots)).sum()
    elif form == "diag":
        squares, sizes = _scaled(graph, value, means, roots), numpy.log(roots).sum(axis=1)
    else:
        squares = graph.add("Mul", squared_distances(graph, value, means), numpy.square(roots))
        sizes = n * numpy.log(roots)
    # scikit-learn adds up some of the numbers in the type of rows or of parameters.
    kinds = (columns.numeric, numpy.asarray(estimator.means_).dtype)
    squares = replace(squares, single=FLOAT32 in kinds)
    if FLOAT32 in kinds:
        graph.rounds(squares, squares, lambda one: one, n, FLOAT32)
    constants = offsets + sizes - 0.5 * n * numpy.log(2 * numpy.pi)
    scores = graph.add("Add", graph.add("Mul", squares, -0.5), numpy.asarray(constants, kind))
    density = graph.add("ReduceLogSumExp", scores, numpy.array([1], INT64), keepdims=1, width=1)
    return Prediction("mixture", index=best(graph, scores), classes=numpy.arange(len(means)),
                      probabilities=graph.add("Softmax", scores, axis=1), scores=density)


def _in_axes(graph: Graph, value: Value, means: numpy.ndarray, axes: numpy.ndarray) -> Value:
    """Squared Mahalanobis distances from means; `axes` transforms the distribution to a sphere."""
    return squared_distances(graph, products(graph, value, axes.T), means @ axes)


def _scaled(graph: Graph, value: Value, means: numpy.ndarray, factors: numpy.ndarray) -> Value:
    """Squared distances from means. The factors scale the axes of each component."""
    wide = graph.add("Mul", graph.add("Unsqueeze", value, numpy.array([1], INT64)), factors[None])
    apart = graph.add("Sub", wide, (means * factors)[None])
    total = graph.add("ReduceSum", graph.add("Mul", apart, apart), numpy.array([2], INT64), keepdims=0,
                      width=len(means))
    # scikit-learn adds squares and subtracts twice their products.
    own, squares = numpy.square(factors.T), numpy.square(means * factors).sum(axis=1)
    graph.rounds(total, value, lambda one: numpy.square(one) @ own + 2 * one @ (own * numpy.abs(means.T))
                 + squares, 3 * means.shape[1])
    return total


def elliptic(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The detector of outliers of one normal distribution: 1 for rows near its middle, else -1."""
    value = graph.add("Sub", columns.value(graph, FLOAT64), numpy.asarray(estimator.location_, FLOAT64))
    turned = products(graph, value, numpy.asarray(estimator.get_precision(), FLOAT64).T)
    total = graph.add("ReduceSum", graph.add("Mul", turned, value), numpy.array([1], INT64), keepdims=1,
                      width=1)
    margins = graph.add("Sub", graph.add("Neg", total), float(estimator.offset_))
    # Computed from the margins, so that the compiled model keeps the margins as its sums.
    scores = graph.add("Add", margins, float(estimator.offset_))
    return Prediction("outliers", index=threshold_index(graph, margins, "GreaterOrEqual"),
                      classes=numpy.array([-1, 1]), margins=margins, scores=scores)
