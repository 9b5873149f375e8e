"""Mixtures of normal distributions, and the detector of outliers of a single normal distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from .boosting import threshold_index
from .columns import Columns
from .forests import best
from .graph import FLOAT32, FLOAT64, INT64, Graph, Value
from .kernels import note_squares, products, squared_distances
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
    from sklearn.mixture._gaussian_mixture import _compute_log_det_cholesky

    whole = numpy.tile(numpy.arange(9)[:, None], len(columns))
    densities = [estimator._estimate_log_prob(whole.astype(kind)) for kind in (INT64, FLOAT64)]
    if not numpy.allclose(*densities):
        # Some releases of scikit-learn store logarithms of densities in the type of the rows.
        graph.note_integers(columns.as_array(graph), "all")
    means, roots = numpy.asarray(estimator.means_), numpy.asarray(estimator.precisions_cholesky_)
    value = columns.value(graph, numpy.result_type(columns.numeric, roots.dtype))
    kind, form, n = value.dtype, estimator.covariance_type, len(columns)
    # scikit-learn adds up some of the numbers in the type of rows or of parameters.
    is_single = FLOAT32 in (columns.numeric, means.dtype)
    if form == "full":
        squares = graph.join([_in_axes(graph, value, mean[None], axes) for mean, axes in zip(means, roots)])
    elif form == "tied":
        squares = _in_axes(graph, value, means, roots)
    else:
        points, factors = means.astype(kind), roots.astype(kind)
        if form == "diag":
            squares = _scaled(graph, value, points, factors, FLOAT32 if is_single else kind)
        else:
            squares = squared_distances(graph, value, points)
            if is_single:
                note_squares(graph, squares, value, points, FLOAT32)
            squares = graph.add("Mul", squares, numpy.square(factors))
    squares = replace(squares, single=is_single)
    if is_single:
        graph.rounds(squares, squares, lambda one: one, n, FLOAT32)
    # In the type of the parameters.
    sizes = _compute_log_det_cholesky(roots, form, n)
    turn = 0.5 * n * numpy.log(2 * numpy.pi)
    constants = numpy.asarray(offsets, FLOAT64) + numpy.asarray(sizes, FLOAT64) - turn
    scores = graph.add("Add", graph.add("Mul", squares, -0.5), numpy.asarray(constants, kind))
    # scikit-learn adds one constant after the other, and some releases the first one in the type of the rows.
    magnitudes = numpy.abs(offsets) + numpy.abs(sizes) + turn
    graph.rounds(scores, squares, lambda one: 0.5 * one + magnitudes, 3)
    if form in ("full", "tied"):
        graph.rounds(scores, squares, lambda one: 0.5 * one + turn, 1, columns.numeric)
    density = graph.add("ReduceLogSumExp", scores, numpy.array([1], INT64), keepdims=1, width=1)
    return Prediction("mixture", index=best(graph, scores), classes=numpy.arange(len(means)),
                      probabilities=graph.add("Softmax", scores, axis=1), scores=density)


def _in_axes(graph: Graph, value: Value, means: numpy.ndarray, axes: numpy.ndarray) -> Value:
    """Squared Mahalanobis distances from means; `axes` transforms the distribution to a sphere."""
    kind = value.dtype
    # scikit-learn transforms the means one by one, in the type of the parameters.
    points = numpy.array([mean @ axes for mean in means]).astype(kind)
    return squared_distances(graph, products(graph, value, axes.T.astype(kind)), points)


def _scaled(graph: Graph, value: Value, means: numpy.ndarray, factors: numpy.ndarray, kind: Any) -> Value:
    """Squared distances from means. The factors scale the axes of each component. `kind` is the least precise
    type in scikit-learn's sum."""
    wide = graph.add("Mul", graph.add("Unsqueeze", value, numpy.array([1], INT64)), factors[None])
    apart = graph.add("Sub", wide, (means * factors)[None])
    total = graph.add("ReduceSum", graph.add("Mul", apart, apart), numpy.array([2], INT64), keepdims=0,
                      width=len(means))
    # scikit-learn adds squares and subtracts twice their products.
    own, squares = numpy.square(factors.T), numpy.square(means * factors).sum(axis=1)
    graph.rounds(total, value, lambda one: numpy.square(one) @ own + 2 * one @ (own * numpy.abs(means.T))
                 + squares, 3 * means.shape[1], kind)
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
