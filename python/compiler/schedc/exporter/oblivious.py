"""Oblivious trees of CatBoost at the end of a pipeline: all nodes of a level make the same test."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy

from ..origin import CATBOOST_OF_LABELS
from .boosting import threshold_index, two_probabilities
from .columns import Columns
from .forests import best, single
from .graph import FLOAT64, Graph, Value
from .stages import Prediction, refuse
from .targets import indicators
from .trees import Tree, add_trees

#: The operation from margins to the values that `predict` returns, by CatBoost's loss.
_LINKS = {
    "RMSE": "", "MAE": "", "Quantile": "", "MAPE": "", "Huber": "", "Expectile": "", "LogCosh": "", "Lq": "",
    "Poisson": "Exp", "Tweedie": "Exp", "Logloss": "Sigmoid", "CrossEntropy": "Sigmoid",
    "MultiClass": "Softmax", "MultiClassOneVsAll": "Sigmoid", "MultiRMSE": "",
    **dict.fromkeys(CATBOOST_OF_LABELS, "Sigmoid"),
}


def classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier of CatBoost."""
    margins, loss = _margins(graph, estimator, columns)
    classes = numpy.asarray(estimator.classes_)
    if loss in CATBOOST_OF_LABELS:
        return Prediction("targets", targets=indicators(graph, margins, 0.0), margins=margins,
                          probabilities=graph.add("Sigmoid", margins))
    if margins.width == 1:
        index = threshold_index(graph, margins, "Greater")
        return Prediction("classifier", index=index, classes=classes, margins=margins,
                          probabilities=two_probabilities(graph, margins))
    softmax = _LINKS[loss] == "Softmax"
    chances = graph.add("Softmax", margins, axis=1) if softmax else graph.add("Sigmoid", margins)
    return Prediction("classifier", index=best(graph, margins), classes=classes, probabilities=chances,
                      margins=margins)


def regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A regressor of CatBoost."""
    margins, loss = _margins(graph, estimator, columns)
    link = _LINKS[loss]
    if not link:
        return Prediction("regressor", variable=margins)
    return Prediction("regressor", variable=graph.add(link, margins), margins=margins)


def _margins(graph: Graph, estimator: Any, columns: Columns) -> tuple[Value, str]:
    """The margins in f64, as CatBoost adds them, and the loss."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        estimator.save_model(str(path), format="json")
        model = json.loads(path.read_bytes())
    loss = model["model_info"]["params"]["loss_function"]["type"]
    features = model["features_info"]
    if loss not in _LINKS:
        raise refuse(graph, estimator, f"has the loss {loss}; docs/pipelines.md lists those that are "
                     "exported")
    if "oblivious_trees" not in model or any(features.get(f"{kind}_features") for kind in (
            "categorical", "text", "embedding")):
        raise refuse(graph, estimator, "has categories, texts or trees that are not symmetric; encode "
                     "categories before it, and leave grow_policy at its default")
    places = {one["feature_index"]: one for one in features["float_features"]}
    scale, bias = model["scale_and_bias"]
    width = max(1, len(bias))
    trees = [_tree(graph, columns, one, places, width) for one in model["oblivious_trees"]]
    total = add_trees(graph, single(graph, columns), trees, width)
    if scale != 1.0:
        total = graph.add("Mul", total, float(scale))
    if any(bias):
        total = graph.add("Add", total, numpy.asarray(bias, FLOAT64))
    return total, loss


def _tree(graph: Graph, columns: Columns, one: dict[str, Any], places: dict[int, Any], width: int) -> Tree:
    """A complete tree with test `l` in all nodes of level `l`. The tests' results are the bits of a leaf's
    number."""
    tests = one.get("splits") or []
    depth = len(tests)
    inner = 2**depth - 1
    count = inner + 2**depth
    feature, threshold = numpy.zeros(count, int), numpy.zeros(count)
    left, right = numpy.full(count, -1), numpy.full(count, -1)
    missing_left = numpy.zeros(count, bool)
    for level, test in enumerate(tests):
        place = places[test["float_feature_index"]]
        column = int(place["flat_feature_index"])
        graph.note(columns.columns[column].source, [test["border"]])
        nodes = numpy.arange(2**level - 1, 2 ** (level + 1) - 1)
        feature[nodes] = column
        # A row goes right if its value is above the border, in f32.
        threshold[nodes] = float(numpy.float32(test["border"]))
        left[nodes], right[nodes] = 2 * nodes + 1, 2 * nodes + 2
        missing_left[nodes] = place["nan_value_treatment"] != "AsTrue"
    leaves = numpy.asarray(one["leaf_values"], FLOAT64).reshape(-1, width)
    value = numpy.zeros((count, width))
    for at in range(2**depth):
        # Leaves from left to right: the first test has the highest bit of the position.
        bits = [at >> (depth - 1 - level) & 1 for level in range(depth)]
        value[inner + at] = leaves[sum(bit << level for level, bit in enumerate(bits))]
    return Tree(feature, threshold, left, right, missing_left, value)
