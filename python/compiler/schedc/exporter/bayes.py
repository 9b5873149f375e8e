"""Naive Bayes classifiers: sums of logarithms of probabilities."""

from __future__ import annotations

from typing import Any

import numpy

from .bins import binarizer
from .columns import Columns
from .forests import best
from .graph import FLOAT64, INT64, Graph, Promise, Value
from .linear import margins_of
from .stages import Prediction


def _prediction(graph: Graph, estimator: Any, scores: Value) -> Prediction:
    """The classes by their scores."""
    return Prediction("classifier", index=best(graph, scores), classes=estimator.classes_,
                      probabilities=graph.add("Softmax", scores, axis=1), joint=scores)


def gaussian(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Normal distributions: squared distances to the mean of each class, divided by variances."""
    means, variances = numpy.asarray(estimator.theta_), numpy.asarray(estimator.var_)
    # scikit-learn computes in the type of the rows and of these arrays. The logarithms of the variances have
    # the type of the training rows.
    kind = numpy.result_type(columns.numeric, means, variances)
    value = columns.value(graph, numpy.result_type(columns.numeric, means))
    apart = graph.add("Sub", graph.add("Unsqueeze", value, numpy.array([1], INT64)),
                      means.astype(value.dtype)[None])
    squares = graph.cast(graph.add("Mul", apart, apart), kind)
    scaled = graph.add("Div", squares, variances.astype(kind)[None])
    classes = len(estimator.classes_)
    total = graph.add("ReduceSum", scaled, numpy.array([2], INT64), keepdims=0, width=classes)
    constant = -0.5 * numpy.sum(numpy.log(2.0 * numpy.pi * variances), axis=1)
    scores = graph.add("Sub", constant.astype(kind), graph.add("Mul", total, 0.5))
    prior = numpy.log(estimator.class_prior_)
    # scikit-learn adds numbers of NumPy to arrays, whose type then depends on the release of NumPy.
    scores = graph.cast(scores, (numpy.empty(0, kind) + prior[0]).dtype)
    return _prediction(graph, estimator, graph.add("Add", scores, prior.astype(scores.dtype)))


def multinomial(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Counts times logarithms of probabilities."""
    scores = margins_of(graph, columns, estimator.feature_log_prob_, estimator.class_log_prior_)
    return _prediction(graph, estimator, scores)


def complement(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Counts times logarithms of the probabilities of the other classes."""
    prior = estimator.class_log_prior_ if len(estimator.classes_) == 1 else 0.0
    return _prediction(graph, estimator, margins_of(graph, columns, estimator.feature_log_prob_, prior))


def bernoulli(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Features as bits: the logarithm of each feature's probability if it is set, otherwise that of the
    opposite."""
    if estimator.binarize is not None:
        columns = binarizer(graph, _Threshold(estimator.binarize), columns)
    present = numpy.asarray(estimator.feature_log_prob_)
    absent = numpy.log(1 - numpy.exp(present))
    prior = estimator.class_log_prior_ + absent.sum(axis=1)
    return _prediction(graph, estimator, margins_of(graph, columns, present - absent, prior))


class _Threshold:
    """The only parameter of a Binarizer."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold


def categorical(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Categories: the logarithms of their probabilities, added in the order of the columns, so that the
    results are exact."""
    numbers = graph.cast(columns.value(graph), INT64)
    total: Value | None = None
    for at, table in enumerate(estimator.feature_log_prob_):
        graph.note(columns.columns[at].source, range(numpy.shape(table)[1]))
        index = graph.add("Squeeze", graph.take(numbers, [at]), numpy.array([1], INT64), width=0)
        found = graph.add("Gather", numpy.ascontiguousarray(numpy.asarray(table).T), index, axis=0,
                          dtype=FLOAT64, width=len(table), promise=Promise.EQUAL)
        total = found if total is None else graph.add("Add", total, found)
    assert total is not None
    return _prediction(graph, estimator, graph.add("Add", total, estimator.class_log_prior_))
