"""Ensembles of trees and of other estimators: bagging, AdaBoost, and isolation forests."""

from __future__ import annotations

from typing import Any

import numpy

from .boosting import threshold_index
from .columns import Columns
from .forests import best, single, tree_of
from .graph import FLOAT64, INT64, Graph, Value
from .stages import Prediction, predict, refuse
from .trees import Tree, add_trees
from .versions import class_probabilities, leaf_values, node_depths

_TREE_CLASSIFIERS = ("DecisionTreeClassifier", "ExtraTreeClassifier")
_TREE_REGRESSORS = ("DecisionTreeRegressor", "ExtraTreeRegressor")


def _are(estimators: list[Any], names: tuple[str, ...]) -> bool:
    return all(type(one).__name__ in names and one.n_outputs_ == 1 for one in estimators)


def bagging_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The mean of the probabilities of classifiers that each read some columns."""
    columns = columns.as_array(graph)
    parts, count = estimator.estimators_, int(estimator.n_classes_)
    features = estimator.estimators_features_
    total: Value | None = None
    margins: Value | None = None
    if _are(parts, _TREE_CLASSIFIERS):
        trees = []
        for one, chosen in zip(parts, features):
            shares = class_probabilities(one.tree_, int(one.n_classes_))
            value = numpy.zeros((len(shares), count))
            value[:, numpy.asarray(one.classes_, INT64)] = shares
            trees.append(tree_of(graph, columns, one.tree_, value, features=chosen))
        total = add_trees(graph, single(graph, columns), trees, count)
    else:
        decisions: list[Value] = []
        for at, (one, chosen) in enumerate(zip(parts, features)):
            with graph.step(f"estimator{at}"):
                made = predict(graph, one, columns.take(chosen))
                chances = _probabilities_of(graph, estimator, made, count)
            total = chances if total is None else graph.add("Add", total, chances)
            decisions += [made.margins] if made.margins is not None else []
        if len(decisions) == len(parts) and hasattr(estimator, "decision_function"):
            margins = decisions[0]
            for one in decisions[1:]:
                margins = graph.add("Add", margins, one)
            margins = graph.add("Div", margins, float(len(parts)))
    assert total is not None
    chances = graph.add("Div", total, float(len(parts)))
    return Prediction("classifier", index=best(graph, chances), classes=estimator.classes_,
                      probabilities=chances, margins=margins)


def _probabilities_of(graph: Graph, estimator: Any, made: Prediction, count: int) -> Value:
    """The probabilities of a part, or its vote, in f64: the type in which the object adds them up."""
    if made.kind != "classifier" or len(made.classes) != count:
        raise refuse(graph, estimator, "has parts that were not fitted on every class")
    if made.probabilities is not None:
        return graph.cast(made.probabilities, FLOAT64)
    assert made.index is not None
    index = graph.add("Unsqueeze", made.index, numpy.array([1], INT64), width=1)
    return graph.cast(graph.add("Equal", index, numpy.arange(count, dtype=INT64)), FLOAT64)


def bagging_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The mean of regressors that each read some columns."""
    columns = columns.as_array(graph)
    parts, features = estimator.estimators_, estimator.estimators_features_
    total: Value | None = None
    if _are(parts, _TREE_REGRESSORS):
        trees = [tree_of(graph, columns, one.tree_, leaf_values(one.tree_)[:, 0], features=chosen)
                 for one, chosen in zip(parts, features)]
        total = add_trees(graph, single(graph, columns), trees, 1)
    else:
        for at, (one, chosen) in enumerate(zip(parts, features)):
            with graph.step(f"estimator{at}"):
                variable = predict(graph, one, columns.take(chosen)).variable
            assert variable is not None
            total = variable if total is None else graph.add("Add", total, variable)
    assert total is not None
    return Prediction("regressor", variable=graph.add("Div", total, float(len(parts))))


def ada_boost_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Weighted votes of trees. Each adds its weight to the score of its class, and subtracts from the other
    classes. With `SAMME.R`, the default before scikit-learn 1.6, trees add logarithms of probabilities."""
    parts, count = estimator.estimators_, int(estimator.n_classes_)
    if not _are(parts, _TREE_CLASSIFIERS) or count < 2:
        raise refuse(graph, estimator, "is exported for trees and two classes or more only")
    trees = []
    for one, weight in zip(parts, estimator.estimator_weights_):
        if getattr(estimator, "algorithm", "SAMME") == "SAMME.R":
            value = _logarithms(graph, estimator, one)
        else:
            places = leaf_values(one.tree_)[:, : one.n_classes_].argmax(axis=1)
            voted = numpy.asarray(one.classes_).take(places)
            votes = voted[:, None] == numpy.asarray(estimator.classes_)[None]
            value = numpy.where(votes, weight, -1 / (count - 1) * weight)
        trees.append(tree_of(graph, columns, one.tree_, value))
    total = add_trees(graph, single(graph, columns), trees, count)
    margins = graph.add("Div", total, float(numpy.sum(estimator.estimator_weights_)))
    if count > 2:
        chances = graph.add("Softmax", graph.add("Div", margins, float(count - 1)), axis=1)
        return Prediction("classifier", index=best(graph, margins), classes=estimator.classes_,
                          probabilities=chances, margins=margins)
    margins = graph.add("Sub", graph.take(margins, [1]), graph.take(margins, [0]))
    both = graph.add("Div", graph.join([graph.add("Neg", margins), margins]), 2.0)
    return Prediction("classifier", index=threshold_index(graph, margins, "Greater"),
                      classes=estimator.classes_, probabilities=graph.add("Softmax", both, axis=1),
                      margins=margins)


def _logarithms(graph: Graph, estimator: Any, part: Any) -> numpy.ndarray:
    """The values that the nodes of a tree add with `SAMME.R`, by scikit-learn's operations."""
    count = int(estimator.n_classes_)
    if int(part.n_classes_) != count:
        raise refuse(graph, estimator, "has parts that were not fitted on every class")
    shares = class_probabilities(part.tree_, count)
    logarithms = numpy.log(numpy.clip(shares, numpy.finfo(FLOAT64).eps, None))
    centred = logarithms - (1.0 / count) * logarithms.sum(axis=1)[:, None]
    return numpy.asarray((count - 1) * centred)


def isolation_forest(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The average depth of a row's leaves; rows with a small average are outliers."""
    from sklearn.ensemble._iforest import _average_path_length

    trees: list[Tree] = []
    every = estimator._max_features == len(columns)
    for one, chosen in zip(estimator.estimators_, estimator.estimators_features_):
        fitted = one.tree_
        depth = node_depths(fitted) + _average_path_length(fitted.n_node_samples) - 1.0
        trees.append(tree_of(graph, columns, fitted, depth, features=None if every else chosen))
    depths = add_trees(graph, single(graph, columns), trees, 1)
    divisor = divisor_of(estimator)
    if divisor == 0:
        raise refuse(graph, estimator, "was fitted on one row")
    shares = graph.add("Neg", graph.add("Div", depths, divisor))
    scores = graph.add("Neg", graph.add("Pow", numpy.float64(2.0), shares))
    margins = graph.add("Sub", scores, float(estimator.offset_))
    last = _last_outlier(divisor, float(estimator.offset_))
    index = threshold_index(graph, depths, "Greater", last)
    return Prediction("outliers", index=index, classes=numpy.array([-1, 1]), margins=margins, scores=scores)


def divisor_of(estimator: Any) -> float:
    """The sum of leaf depths over all trees of a row whose score is one half."""
    from sklearn.ensemble._iforest import _average_path_length

    return len(estimator.estimators_) * float(_average_path_length([estimator._max_samples])[0])


def _last_outlier(divisor: float, offset: float) -> float:
    """The largest sum of leaf depths that scikit-learn calls an outlier, by bisection over floats.

    Comparing the sum of depths makes the decision exact, although the power is rounded.
    """
    def is_outlier(depth: float) -> bool:
        return bool(-(2 ** -(numpy.float64(depth) / divisor)) - offset < 0)

    low, high = 0, int(numpy.float64(1e300).view(INT64))
    if not is_outlier(0.0):
        return -1.0
    while high - low > 1:
        middle = (low + high) // 2
        if is_outlier(float(numpy.int64(middle).view(FLOAT64))):
            low = middle
        else:
            high = middle
    return float(numpy.int64(low).view(FLOAT64))
