"""Trees and forests of scikit-learn, which round their input to f32."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Columns
from .graph import FLOAT32, INT64, Graph, Value
from .stages import Prediction, refuse
from .trees import Tree, add_trees
from .versions import class_shares, missing_left, output_values


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


def _check_outputs(graph: Graph, estimator: Any) -> None:
    if estimator.n_outputs_ > 1:
        raise refuse(graph, estimator, "predicts several classes; fit one model for each")


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
    _check_outputs(graph, estimator)
    fitted = estimator.tree_
    count = int(estimator.n_classes_)
    tree = tree_of(graph, columns, fitted, class_shares(fitted, count))
    scores = add_trees(graph, single(graph, columns), [tree], count)
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
    _check_outputs(graph, estimator)
    fitted = [one.tree_ for one in estimator.estimators_]
    shares = [class_shares(one, int(estimator.n_classes_)) for one in fitted]
    scores = mean_of_trees(graph, columns, fitted, shares)
    return Prediction("classifier", index=best(graph, scores), classes=estimator.classes_,
                      probabilities=scores)


def forest_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The mean of trees."""
    fitted = [one.tree_ for one in estimator.estimators_]
    mean = mean_of_trees(graph, columns, fitted, [output_values(one) for one in fitted])
    return Prediction("regressor", variable=mean)
