"""Support vector machines: sums of kernels, and votes of pairs of classes."""

from __future__ import annotations

from typing import Any

import numpy

from .boosting import threshold_index
from .columns import Columns
from .forests import best
from .graph import FLOAT64, Graph, Value
from .kernels import dense, kernel
from .linear import margins_of
from .stages import Prediction, refuse
from .votes import confidences, pairs, votes

#: LIBSVM keeps probabilities of pairs this far from 0 and 1.
_LEAST_PROBABILITY = 1e-7
#: Steps of LIBSVM's iteration over the probabilities of two classes; it stops after two steps for each.
_STEPS = 2
#: The error below which this iteration stops.
_CLOSE = 0.005 / 2


def _sums(graph: Graph, estimator: Any, columns: Columns, weights: numpy.ndarray) -> Value:
    """Kernels of a row with all support vectors, times weights `[n_vectors, n_sums]`, plus intercepts."""
    name = estimator.kernel
    if name == "precomputed" or callable(name):
        raise refuse(graph, estimator, "has a precomputed kernel, or a Python function as kernel; "
                     "rbf, linear, poly and sigmoid are exported")
    value, vectors = columns.value(graph, FLOAT64), dense(estimator.support_vectors_)
    intercepts = numpy.asarray(estimator.intercept_, FLOAT64)
    if name == "linear":
        # The linear kernel: one sum over columns replaces a sum over columns for each support vector.
        total = graph.affine(value, numpy.ascontiguousarray(vectors.T @ weights), intercepts)
        sizes = numpy.abs(vectors.T) @ numpy.abs(weights)
        graph.rounds(total, value, lambda one: one @ sizes + numpy.abs(intercepts), vectors.size)
        return total
    options = {"kernel": name, "gamma": estimator._gamma, "coef0": estimator.coef0,
               "degree": estimator.degree}
    found = kernel(graph, estimator, value, vectors, options)
    return graph.affine(found, weights, intercepts)


def regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Support vector regression."""
    variable = _sums(graph, estimator, columns, dense(estimator.dual_coef_).T)
    return Prediction("regressor", variable=variable)


def one_class(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The detector of outliers: 1 for rows with a positive sum, else -1."""
    margins = _sums(graph, estimator, columns, dense(estimator.dual_coef_).T)
    scores = graph.add("Add", margins, float(numpy.ravel(estimator.offset_)[0]))
    return Prediction("outliers", index=threshold_index(graph, margins, "Greater"),
                      classes=numpy.array([-1, 1]), margins=margins, scores=scores)


def linear_one_class(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The detector of outliers by stochastic gradient descent: 1 for rows with a sum of 0 or more."""
    offset = float(numpy.ravel(estimator.offset_)[0])
    margins = margins_of(graph, columns, estimator.coef_, -numpy.ravel(estimator.offset_))
    scores = graph.add("Add", margins, offset)
    return Prediction("outliers", index=threshold_index(graph, margins, "GreaterOrEqual"),
                      classes=numpy.array([-1, 1], "int32"), margins=margins, scores=scores)


def classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Support vector classifiers. Each pair of classes votes, and the first class with most votes wins."""
    classes = len(estimator.classes_)
    has_chances = hasattr(estimator, "predict_proba")
    if has_chances and classes > 2:
        raise refuse(graph, estimator, "has probability=True, whose iteration over several classes takes any "
                     "number of steps; fit it without, and calibrate it by CalibratedClassifierCV")
    coefficients = dense(estimator.dual_coef_)
    if classes == 2:
        margins = _sums(graph, estimator, columns, coefficients.T)
        index = threshold_index(graph, margins, "GreaterOrEqual")
        chances = _coupled(graph, estimator, margins) if has_chances else None
        return Prediction("classifier", index=index, classes=estimator.classes_, margins=margins,
                          probabilities=chances)
    ends = numpy.cumsum(estimator.n_support_)
    starts = ends - estimator.n_support_
    weights = numpy.zeros((coefficients.shape[1], classes * (classes - 1) // 2))
    for at, (i, j) in enumerate(pairs(classes)):
        of_i, of_j = slice(starts[i], ends[i]), slice(starts[j], ends[j])
        weights[of_i, at] = coefficients[j - 1, of_i]
        weights[of_j, at] = coefficients[i, of_j]
    duels = _sums(graph, estimator, columns, weights)
    scores = confidences(graph, graph.add("Less", duels, 0.0), duels, classes)
    if estimator.break_ties and estimator.decision_function_shape == "ovr":
        index = best(graph, scores)
    elif estimator.break_ties:
        raise refuse(graph, estimator, "has break_ties=True with pairs of classes as its decision_function, "
                     "for which it predicts nothing")
    else:
        index = best(graph, votes(graph, graph.add("LessOrEqual", duels, 0.0), classes))
    margins = scores if estimator.decision_function_shape == "ovr" else duels
    return Prediction("classifier", index=index, classes=estimator.classes_, margins=margins)


def _coupled(graph: Graph, estimator: Any, margins: Value) -> Value:
    """The probabilities of two classes: a logistic function, and LIBSVM's iteration from one half."""
    slope, start = float(numpy.ravel(estimator._probA)[0]), float(numpy.ravel(estimator._probB)[0])
    # LIBSVM's margins have the opposite sign.
    first = graph.add("Sigmoid", graph.add("Sub", graph.add("Mul", margins, slope), start))
    first = graph.add("Clip", first, numpy.float64(_LEAST_PROBABILITY), numpy.float64(1 - _LEAST_PROBABILITY))
    second = graph.add("Sub", 1.0, first)
    # The error of probabilities p is p Q p, with this matrix Q.
    diagonal = [graph.add("Mul", second, second), graph.add("Mul", first, first)]
    beside = graph.add("Neg", graph.add("Mul", second, first))
    shares = [graph.constant_columns(margins, [0.5])] * 2
    for _ in range(_STEPS):
        shares = _step(graph, shares, diagonal, beside)
    return graph.join(shares)


def _step(graph: Graph, shares: list[Value], diagonal: list[Value], beside: Value) -> list[Value]:
    """One step of LIBSVM's iteration, which changes nothing once the error is small."""
    def add(x: Value, y: Any) -> Value:
        return graph.add("Add", x, y)

    def times(x: Value, y: Any) -> Value:
        return graph.add("Mul", x, y)

    slopes = [add(times(diagonal[0], shares[0]), times(beside, shares[1])),
              add(times(beside, shares[0]), times(diagonal[1], shares[1]))]
    error = add(times(shares[0], slopes[0]), times(shares[1], slopes[1]))
    apart = [graph.add("Abs", graph.add("Sub", slope, error)) for slope in slopes]
    is_close = graph.add("Less", graph.add("Max", *apart), _CLOSE)
    moved = list(shares)
    for at in range(2):
        change = graph.add("Div", graph.add("Sub", error, slopes[at]), diagonal[at])
        whole = add(change, 1.0)
        moved[at] = add(moved[at], change)
        error = add(error, times(change, add(times(change, diagonal[at]), times(slopes[at], 2.0))))
        error = graph.add("Div", graph.add("Div", error, whole), whole)
        for other in range(2):
            more = times(change, diagonal[at] if other == at else beside)
            slopes[other] = graph.add("Div", add(slopes[other], more), whole)
            moved[other] = graph.add("Div", moved[other], whole)
    return [graph.add("Where", is_close, old, new, dtype=FLOAT64, width=1)
            for old, new in zip(shares, moved)]
