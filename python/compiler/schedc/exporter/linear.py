"""Linear models: a product with the coefficients, and a link."""

from __future__ import annotations

from typing import Any

import numpy

from .boosting import threshold_index, two_probabilities
from .columns import Columns, in_floating
from .forests import best
from .graph import FLOAT64, Graph, Value
from .stages import Prediction
from .targets import indicators
from .votes import normalized


def margins_of(graph: Graph, columns: Columns, coefficients: Any, intercept: Any) -> Value:
    """`X @ coefficients.T + intercept`, one column for each row of the coefficients. As in NumPy, the type of
    the intercept has no effect on that of the product."""
    coefficients = numpy.atleast_2d(numpy.asarray(coefficients))
    kind = numpy.result_type(columns.numeric, coefficients.dtype)
    kind = kind if kind.kind == "f" else FLOAT64
    # The type of an array plus a number of NumPy depends on the release of NumPy.
    total = (numpy.empty((0, len(coefficients)), kind) + intercept).dtype
    weights = numpy.ascontiguousarray(coefficients.T.astype(kind))
    intercepts = numpy.broadcast_to(intercept, len(coefficients)).astype(total)
    return graph.affine(columns.value(graph, kind), weights, intercepts)


def regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A linear function of the columns."""
    variable = margins_of(graph, columns, estimator.coef_, estimator.intercept_)
    return Prediction("regressor", variable=variable, is_table=numpy.ndim(estimator.coef_) == 2)


def generalized(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Regressors with a link: Poisson, gamma and Tweedie."""
    margins = margins_of(graph, in_floating(graph, columns), estimator.coef_, estimator.intercept_)
    if type(estimator._base_loss.link).__name__ == "LogLink":
        margins = graph.add("Exp", margins)
    return Prediction("regressor", variable=margins)


def classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Classifiers without probabilities. Those of ridge regression may have several targets."""
    margins = margins_of(graph, columns, estimator.coef_, estimator.intercept_)
    binarizer = getattr(estimator, "_label_binarizer", None)
    if binarizer is not None and binarizer.y_type_.startswith("multilabel"):
        return Prediction("targets", targets=indicators(graph, margins, 0.0), margins=margins)
    return _prediction(graph, estimator, margins, None)


def logistic(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Logistic regression: one class against the rest, or all at once."""
    margins = margins_of(graph, columns, estimator.coef_, estimator.intercept_)
    # scikit-learn 1.8 removed the parameter, and with it the softmax of two classes.
    kind = getattr(estimator, "multi_class", "auto")
    two = len(estimator.classes_) <= 2
    against_rest = kind == "ovr" or (kind != "multinomial" and (two or estimator.solver == "liblinear"))
    if against_rest:
        chances = _against_rest(graph, margins)
    elif margins.width == 1:
        both = graph.join([graph.add("Neg", margins), margins])
        chances = graph.add("Softmax", both, axis=1)
    else:
        chances = graph.add("Softmax", margins, axis=1)
    return _prediction(graph, estimator, margins, chances)


def discriminant(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Linear discriminant analysis."""
    margins = margins_of(graph, columns, estimator.coef_, estimator.intercept_)
    softmax = margins.width > 1
    chances = graph.add("Softmax", margins, axis=1) if softmax else two_probabilities(graph, margins)
    return _prediction(graph, estimator, margins, chances)


def descent(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Classifiers by stochastic gradient descent."""
    margins = margins_of(graph, columns, estimator.coef_, estimator.intercept_)
    chances = None
    if hasattr(estimator, "predict_proba") and estimator.loss == "modified_huber":
        one = margins.dtype.type(1)
        share = graph.add("Add", graph.add("Clip", margins, -one, one), one)
        share = graph.add("Div", share, margins.dtype.type(2))
        if margins.width == 1:
            chances = graph.join([graph.add("Sub", one, share), share])
        else:
            chances = _shares(graph, share)
    elif hasattr(estimator, "predict_proba"):
        chances = _against_rest(graph, margins)
    return _prediction(graph, estimator, margins, chances)


def _prediction(graph: Graph, estimator: Any, margins: Value, chances: Value | None) -> Prediction:
    two = margins.width == 1
    index = threshold_index(graph, margins, "Greater") if two else best(graph, margins)
    return Prediction("classifier", index=index, classes=estimator.classes_, probabilities=chances,
                      margins=margins)


def _against_rest(graph: Graph, margins: Value) -> Value:
    """The logistic function of each class's margin, divided by the sum over all classes."""
    if margins.width == 1:
        return two_probabilities(graph, margins)
    return _shares(graph, graph.add("Sigmoid", margins))


def _shares(graph: Graph, shares: Value) -> Value:
    """Scores divided by their sum. If all are zero, all results are equal."""
    return normalized(graph, shares, 1.0 / shares.width)
