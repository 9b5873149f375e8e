"""Trees and forests of scikit-learn, which round their input to f32."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Columns
from .graph import FLOAT32, INT64, Graph, Value
from .stages import Prediction
from .trees import Tree, add_trees
from .versions import class_probabilities, missing_left, output_values


def single(graph: Graph, columns: Columns) -> Value:
    """All columns, rounded to f32."""
    return graph.cast(columns.value(graph), FLOAT32)


def tree_of(graph: Graph, columns: Columns, fitted: Any, value: numpy.ndarray, target: int = 0,
            features: Any = None) -> Tree:
    """A fitted `Tree` of scikit-learn. `features` are the positions of the columns that it was fitted on."""
    left = numpy.asarray(fitted.children_left)
    feature = numpy.asarray(fitted.feature)
    if features is not None:
        feature = numpy.where(left >= 0, numpy.asarray(features)[numpy.maximum(feature, 0)], 0)
    threshold = numpy.asarray(fitted.threshold)
    for node in numpy.flatnonzero(left >= 0).tolist():
        graph.note(columns.columns[int(feature[node])].source, [threshold[node]])
    return Tree(feature, threshold, left, numpy.asarray(fitted.children_right), missing_left(fitted), value,
                target)


def best(graph: Graph, scores: Value) -> Value:
    """The index of the first of the highest scores, `[n_rows]`."""
    return graph.add("ArgMax", scores, axis=1, keepdims=0, dtype=INT64, width=0)


def mean_of_trees(graph: Graph, columns: Columns, fitted: list[Any], values: list[Any]) -> Value:
    """The sum of the trees' values, divided by their number."""
    trees = [tree_of(graph, columns, one, value) for one, value in zip(fitted, values)]
    n_targets = values[0].shape[1]
    total = add_trees(graph, single(graph, columns), trees, n_targets)
    return graph.add("Div", total, float(len(fitted)))


def tree_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A tree whose leaves hold the probability of each class."""
    fitted = estimator.tree_
    shares = class_probabilities(fitted, estimator.n_classes_)
    tree = tree_of(graph, columns, fitted, shares)
    scores = add_trees(graph, single(graph, columns), [tree], shares.shape[1])
    return _of_scores(graph, estimator, scores)


def _of_targets(graph: Graph, scores: Value, classes: list[Any]) -> Prediction:
    """The classes of several targets, from their probabilities, which are side by side in `scores`."""
    made, start = [], 0
    for known in classes:
        shares = graph.take(scores, range(start, start + len(known)))
        made.append(Prediction("classifier", index=best(graph, shares), classes=known, probabilities=shares))
        start += len(known)
    return Prediction("targets", probabilities=scores, targets=tuple(made))


def _of_scores(graph: Graph, estimator: Any, scores: Value) -> Prediction:
    """The results of a classifier, from the probabilities of the classes of each target."""
    if estimator.n_outputs_ > 1:
        return _of_targets(graph, scores, estimator.classes_)
    return Prediction("classifier", index=best(graph, scores), classes=estimator.classes_,
                      probabilities=scores)


def tree_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A tree whose leaves hold a value for each output."""
    fitted = estimator.tree_
    tree = tree_of(graph, columns, fitted, output_values(fitted))
    variable = add_trees(graph, single(graph, columns), [tree], int(estimator.n_outputs_))
    return Prediction("regressor", variable=variable)


def forest_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The mean of the probabilities of trees."""
    fitted = [one.tree_ for one in estimator.estimators_]
    shares = [class_probabilities(one, estimator.n_classes_) for one in fitted]
    return _of_scores(graph, estimator, mean_of_trees(graph, columns, fitted, shares))


def forest_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The mean of trees."""
    fitted = [one.tree_ for one in estimator.estimators_]
    mean = mean_of_trees(graph, columns, fitted, [output_values(one) for one in fitted])
    return Prediction("regressor", variable=mean)
