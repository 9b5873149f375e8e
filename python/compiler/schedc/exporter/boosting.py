"""Boosted trees of scikit-learn: gradient boosting, and gradient boosting with histograms."""

from __future__ import annotations

from typing import Any

import numpy

from ..parts import init_of, without_encoder
from .columns import Columns, columns_of
from .encoders import check_kinds
from .forests import best, single, tree_of
from .graph import FLOAT64, INT64, Graph, Value
from .stages import Prediction, refuse, transform
from .trees import LEQ, MEMBER, Tree, add_trees, constant_tree
from .versions import leaf_values


def _boosted(graph: Graph, estimator: Any, columns: Columns) -> Value:
    """The margins: the initial value first, then one tree after the other, as scikit-learn adds them."""
    if (reason := init_of(estimator)) is not None:
        raise refuse(graph, estimator, reason)
    base = estimator._raw_predict_init(numpy.zeros((1, len(columns)), "float32"))[0]
    trees = [constant_tree(value, target) for target, value in enumerate(base)]
    for stage in estimator.estimators_:
        for target, one in enumerate(stage):
            values = leaf_values(one.tree_)[:, 0] * estimator.learning_rate
            trees.append(tree_of(graph, columns, one.tree_, values, target))
    return add_trees(graph, single(graph, columns), trees, len(base))


def boosting_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Gradient boosting: the sum of the trees is the prediction."""
    return Prediction("regressor", variable=_boosted(graph, estimator, columns))


def boosting_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Gradient boosting. A margin of 0 is the second of two classes."""
    margins = _boosted(graph, estimator, columns)
    factor = 2.0 if estimator.loss == "exponential" else 1.0
    return _classes(graph, estimator, margins, "GreaterOrEqual", factor)


def _classes(graph: Graph, estimator: Any, margins: Value, test: str, factor: float = 1.0) -> Prediction:
    """The class and the probabilities. `test` is the operator that compares a single margin with 0."""
    if margins.width == 1:
        index = threshold_index(graph, margins, test)
        chances = two_probabilities(graph, margins if factor == 1.0 else graph.add("Mul", margins, factor))
    else:
        index = best(graph, margins)
        chances = graph.add("Softmax", margins, axis=1)
    return Prediction("classifier", index=index, classes=estimator.classes_, probabilities=chances,
                      margins=margins)


def threshold_index(graph: Graph, margins: Value, test: str, threshold: float = 0.0) -> Value:
    """1 for rows whose only margin passes a test, else 0: `[n_rows]`."""
    passes = graph.cast(graph.add(test, margins, threshold), INT64)
    return graph.add("Squeeze", passes, numpy.array([1], INT64), width=0)


def two_probabilities(graph: Graph, margins: Value) -> Value:
    """The probabilities of both classes, from the margin of the second one."""
    second = graph.add("Sigmoid", margins)
    first = graph.add("Sub", 1.0, second)
    return graph.join([first, second])


def histogram_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Gradient boosting with histograms. If its loss is for counts, the prediction is the exponential of the
    sum."""
    margins = _histogram(graph, estimator, columns)
    if estimator._loss.link.__class__.__name__ == "LogLink":
        return Prediction("regressor", variable=graph.add("Exp", margins), margins=margins)
    return Prediction("regressor", variable=margins)


def histogram_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Gradient boosting with histograms. A margin of 0 is the first of two classes."""
    return _classes(graph, estimator, _histogram(graph, estimator, columns), "Greater")


def _histogram(graph: Graph, estimator: Any, columns: Columns) -> Value:
    columns = _encoded(graph, estimator, columns)
    base = numpy.ravel(estimator._baseline_prediction)
    trees = [constant_tree(value, target) for target, value in enumerate(base)]
    for stage in estimator._predictors:
        for target, one in enumerate(stage):
            trees.append(_histogram_tree(graph, columns, one, target))
    return add_trees(graph, columns.value(graph, FLOAT64), trees, len(base))


def _histogram_tree(graph: Graph, columns: Columns, predictor: Any, target: int) -> Tree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    is_set = nodes["is_categorical"].astype(bool) & ~is_leaf
    for node in numpy.flatnonzero(~is_leaf & ~is_set).tolist():
        source = columns.columns[int(nodes["feature_idx"][node])].source
        graph.note(source, [nodes["num_threshold"][node]])
    sets = {}
    for node in numpy.flatnonzero(is_set).tolist():
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        sets[node] = [float(at) for at in range(32 * len(words)) if words[at // 32] >> (at % 32) & 1]
    return Tree(
        nodes["feature_idx"].astype(INT64), numpy.where(is_set, 0.0, nodes["num_threshold"]),
        numpy.where(is_leaf, -1, nodes["left"].astype(INT64)), nodes["right"].astype(INT64),
        nodes["missing_go_to_left"].astype(bool), nodes["value"].astype(FLOAT64), target,
        numpy.where(is_set, MEMBER, LEQ), sets,
    )


def _encoded(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The columns in the order and form that the trees read: first those with categories, as numbers."""
    if (reason := without_encoder(estimator)) is not None:
        raise refuse(graph, estimator, reason)
    preprocessor = getattr(estimator, "_preprocessor", None)
    if preprocessor is None:
        return columns
    parts: list[Any] = []
    with graph.step("categories"):
        for (_, step, _), name in zip(preprocessor.transformers_, ("encoder", "numerical")):
            positions = [int(at) for at in preprocessor._transformer_to_input_indices[name]]
            if not positions:
                continue
            part = columns.take(positions)
            if name == "encoder":
                for column, known in zip(part, step.categories_):
                    check_kinds(graph, estimator, column, known)
                parts += transform(graph, step, part)
            else:
                parts += columns_of(part.value(graph, FLOAT64), [one.name for one in part], part.sources())
    return Columns(tuple(parts))
