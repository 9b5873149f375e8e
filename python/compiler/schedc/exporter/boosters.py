"""Boosted trees of XGBoost and LightGBM at the end of a pipeline, each in its own types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy

from .boosting import threshold_index, two_probabilities
from .columns import Column, Columns, same_names
from .forests import best, single
from .graph import FLOAT32, FLOAT64, INT64, Graph, Value, is_missing
from .stages import Prediction, refuse
from .targets import indicators
from .trees import LEQ, LT, MEMBER, Tree, add_trees, constant_tree

#: The operation from margins to predictions, by XGBoost's objective.
_XGBOOST_LINKS = {
    "reg:squarederror": "", "reg:linear": "", "reg:squaredlogerror": "", "reg:pseudohubererror": "",
    "reg:absoluteerror": "", "reg:quantileerror": "", "rank:pairwise": "", "rank:ndcg": "", "rank:map": "",
    "reg:logistic": "Sigmoid", "binary:logistic": "Sigmoid", "multi:softprob": "Softmax",
    "count:poisson": "Exp", "reg:gamma": "Exp", "reg:tweedie": "Exp",
}
#: The operation from margins to predictions, by LightGBM's objective.
_LIGHTGBM_LINKS = {
    "regression": "", "regression_l1": "", "huber": "", "fair": "", "quantile": "", "mape": "",
    "lambdarank": "", "rank_xendcg": "", "binary": "Sigmoid", "multiclass": "Softmax",
    "multiclassova": "Sigmoid", "cross_entropy": "Sigmoid", "poisson": "Exp", "gamma": "Exp",
    "tweedie": "Exp",
}


def xgboost_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier of XGBoost. It chooses the label by probabilities in f32, which may be equal for different
    margins."""
    margins, link = _xgboost(graph, estimator, columns)
    classes = numpy.arange(int(estimator.n_classes_))
    if link == "Softmax":
        chances = graph.add("Softmax", margins, axis=1)
        return Prediction("classifier", index=best(graph, chances), classes=classes, probabilities=chances,
                          margins=margins)
    if link != "Sigmoid":
        raise refuse(graph, estimator, "is exported for binary:logistic and multi:softprob only")
    least = _least_margin(_xgboost_is_second, FLOAT32)
    if margins.width > 1:
        # XGBoost returns several labels as floats.
        return Prediction("targets", probabilities=graph.add("Sigmoid", margins), margins=margins,
                          targets=indicators(graph, margins, least, "GreaterOrEqual", FLOAT64))
    index = threshold_index(graph, margins, "GreaterOrEqual", least)
    return Prediction("classifier", index=index, classes=classes,
                      probabilities=two_probabilities(graph, margins),
                      margins=margins)


def xgboost_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A regressor or a ranker of XGBoost."""
    margins, link = _xgboost(graph, estimator, columns)
    if not link:
        return Prediction("regressor", variable=margins)
    return Prediction("regressor", variable=graph.add(link, margins), margins=margins)


def _xgboost(graph: Graph, estimator: Any, columns: Columns) -> tuple[Value, str]:
    """The margins in f32, as XGBoost adds them, and the link."""
    booster = estimator.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind != "gbtree":
        raise refuse(graph, estimator, f"has the booster {kind}; use gbtree")
    if objective not in _XGBOOST_LINKS:
        raise refuse(graph, estimator, f"has the objective {objective}; docs/pipelines.md lists those that "
                     "are exported")
    model = learner["gradient_booster"]["model"]
    base = _xgboost_base(booster, learner)
    groups = model["tree_info"]
    kept = len(groups)
    if booster.attr("best_iteration") is not None:
        kept = model["iteration_indptr"][int(booster.attr("best_iteration")) + 1]
    columns = _xgboost_columns(graph, estimator, columns)
    trees = [constant_tree(value, target) for target, value in enumerate(base)]
    for tree, group in zip(model["trees"][:kept], groups):
        if any(tree["split_type"]) or int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
            raise refuse(graph, estimator, "has categorical splits or leaf vectors; compile it alone by "
                         "schedc.compile")
        left = numpy.array(tree["left_children"], INT64)
        values = numpy.array(tree["split_conditions"], FLOAT32).astype(FLOAT64)
        feature = numpy.array(tree["split_indices"], INT64)
        _note(graph, columns, feature, values, left)
        trees.append(Tree(feature, values, left, numpy.array(tree["right_children"], INT64),
                          numpy.array(tree["default_left"], bool), values, group,
                          numpy.full(len(left), LT)))
    margins = add_trees(graph, single(graph, columns), trees, len(base), FLOAT32)
    return margins, _XGBOOST_LINKS[objective]


def _xgboost_base(booster: Any, learner: dict[str, Any]) -> numpy.ndarray:
    """The margins before the first tree. They are predicted by a copy of the booster whose leaves are all
    zero."""
    import xgboost

    parameters = learner["learner_model_param"]
    classes, features = int(parameters["num_class"]), int(parameters["num_feature"])
    targets = int(parameters.get("num_target", 1))
    full = learner["gradient_booster"]
    zeros = [
        {**tree, "split_conditions": [0.0] * len(tree["split_conditions"]),
         "base_weights": [0.0] * len(tree["base_weights"])}
        for tree in full["model"]["trees"]
    ]
    full = {**full, "model": {**full["model"], "trees": zeros}}
    learner = {**learner, "attributes": {}, "gradient_booster": full}
    empty = xgboost.Booster()
    version = [int(part) for part in xgboost.__version__.split(".")[:3]]
    # XGBoost takes escaped letters of names for other letters.
    content = json.dumps({"learner": learner, "version": version}, ensure_ascii=False)
    empty.load_model(bytearray(content, "utf-8"))
    row = xgboost.DMatrix(numpy.zeros((1, features), FLOAT32), feature_names=booster.feature_names,
                          feature_types=booster.feature_types)
    found = numpy.ravel(empty.predict(row, output_margin=True)).astype(FLOAT64)
    width = max(classes, targets, 1)
    return found if len(found) >= width else numpy.resize(found, width)


def _xgboost_columns(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Columns with NaN in place of all values that XGBoost treats as missing: the number of its option
    `missing`, and absent cells of sparse matrices."""
    marker = getattr(estimator, "missing", None)
    own = None if marker is None or is_missing(marker) else marker
    if own is None and not columns.sparse:
        return columns
    value = single(graph, columns)
    marks = []
    if columns.sparse:
        if graph.stores_zeros:
            raise refuse(graph, estimator, "reads a sparse matrix into which a step fills zeros, and treats "
                         "these unlike absent cells")
        graph.zeros_are_absent = True
        # A cell of a sparse matrix is absent if it is zero before rounding.
        marks.append(graph.add("Equal", columns.value(graph, columns.numeric), 0.0))
    if own is not None:
        marks.append(graph.add("Equal", value, FLOAT32.type(own)))
    for mark in marks:
        value = graph.add("Where", mark, FLOAT32.type(numpy.nan), value, dtype=FLOAT32, width=value.width)
    return same_names(columns, value)


def _xgboost_is_second(margin: Any) -> bool:
    """Whether XGBoost's own logistic function of a margin is above a half."""
    import xgboost

    row = xgboost.DMatrix(numpy.zeros((1, 1), FLOAT32), base_margin=numpy.array([margin], FLOAT32))
    empty = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(
        numpy.zeros((2, 1), FLOAT32), label=numpy.array([0, 1])), num_boost_round=0)
    return bool(empty.predict(row)[0] > 0.5)


def _least_margin(passes: Callable[[Any], bool], kind: numpy.dtype) -> float:
    """The smallest positive margin that passes a test, by bisection over floats. All larger margins must pass
    the test."""
    bits = numpy.dtype(f"i{kind.itemsize}")
    low, high = 0, int(kind.type(1.0).view(bits))
    while high - low > 1:
        middle = (low + high) // 2
        if passes(bits.type(middle).view(kind)):
            high = middle
        else:
            low = middle
    return float(bits.type(high).view(kind))


def _note(graph: Graph, columns: Columns, feature: Any, threshold: Any, left: Any) -> None:
    for node in numpy.flatnonzero(left >= 0).tolist():
        graph.note(columns.columns[int(feature[node])].source, [threshold[node]])


def lightgbm_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier of LightGBM."""
    margins, objective = _lightgbm(graph, estimator, columns)
    link = _LIGHTGBM_LINKS[objective[0]]
    classes = numpy.asarray(estimator.classes_)
    if margins.width > 1:
        scaled = margins if link == "Softmax" else _times(graph, margins, _sigmoid(objective))
        softmax = link == "Softmax"
        chances = graph.add("Softmax", scaled, axis=1) if softmax else graph.add("Sigmoid", scaled)
        return Prediction("classifier", index=best(graph, chances), classes=classes, probabilities=chances,
                          margins=margins)
    factor = _sigmoid(objective)

    def passes(margin: Any) -> bool:
        chance = 1.0 / (1.0 + numpy.exp(-factor * margin))
        return bool(chance > 1.0 - chance)

    index = threshold_index(graph, margins, "GreaterOrEqual", _least_margin(passes, FLOAT64))
    return Prediction("classifier", index=index, classes=classes, margins=margins,
                      probabilities=two_probabilities(graph, _times(graph, margins, factor)))


def lightgbm_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A regressor or a ranker of LightGBM."""
    margins, objective = _lightgbm(graph, estimator, columns)
    link = _LIGHTGBM_LINKS[objective[0]]
    if not link:
        return Prediction("regressor", variable=margins)
    return Prediction("regressor", variable=graph.add(link, margins), margins=margins)


def _times(graph: Graph, value: Value, factor: float) -> Value:
    return value if factor == 1.0 else graph.add("Mul", value, factor)


def _sigmoid(objective: list[str]) -> float:
    return next((float(one[8:]) for one in objective if one.startswith("sigmoid:")), 1.0)


def _lightgbm(graph: Graph, estimator: Any, columns: Columns) -> tuple[Value, list[str]]:
    """The margins in f64, as LightGBM adds them, and the words of the objective."""
    booster = estimator.booster_
    last = booster.best_iteration
    text = booster.model_to_string(num_iteration=last if last and last > 0 else -1)
    head, *blocks = re.split(r"\nTree=\d+\n", text)
    about = dict(line.partition("=")[::2] for line in head.splitlines())
    objective = about.get("objective", "").split()
    if not objective or objective[0] not in _LIGHTGBM_LINKS or "sqrt" in objective:
        raise refuse(graph, estimator, f"has the objective {' '.join(objective) or '(custom)'}; "
                     "docs/pipelines.md lists those that are exported")
    if getattr(booster, "pandas_categorical", None):
        raise refuse(graph, estimator, "was fitted on columns of pandas with categories; put an "
                     "OrdinalEncoder before it")
    per_iteration = int(about["num_tree_per_iteration"])
    tables = [_lightgbm_table(block) for block in blocks]
    columns = _lightgbm_columns(graph, columns, tables)
    trees = [
        _lightgbm_tree(graph, estimator, columns, table, at % per_iteration)
        for at, table in enumerate(tables)
    ]
    value = columns.value(graph, FLOAT64)
    margins = add_trees(graph, value, trees, per_iteration)
    if "average_output" in about:
        margins = graph.add("Div", margins, float(len(trees) // per_iteration))
    return margins, objective


def _lightgbm_table(block: str) -> dict[str, numpy.ndarray]:
    """The arrays of numbers of one tree, from LightGBM's text."""
    made = {}
    for line in block.split("\n\n")[0].splitlines():
        name, found, rest = line.partition("=")
        if found:
            made[name] = numpy.array([float(one) for one in rest.split()])
    return made


def _lightgbm_columns(graph: Graph, columns: Columns, tables: list[dict[str, numpy.ndarray]]) -> Columns:
    """Columns with categories as whole numbers, to which LightGBM truncates them."""
    chosen: set[int] = set()
    for table in tables:
        kinds = table.get("decision_type", numpy.empty(0)).astype(int)
        chosen |= set(table.get("split_feature", numpy.empty(0)).astype(int)[kinds & 1 == 1].tolist())
    made: list[Column] = []
    for at, column in enumerate(columns):
        if at not in chosen:
            made.append(column)
            continue
        value = columns.take([at]).value(graph, FLOAT64)
        small = graph.add("Less", graph.add("Abs", value), 1.0)
        whole = graph.add("Where", small, FLOAT64.type(0.0), graph.add("Floor", value), dtype=FLOAT64)
        made.append(Column(whole, 0, column.name, column.source))
    return Columns(tuple(made), columns.sparse)


#: LightGBM replaces values of at most this magnitude by zero before it predicts.
_NEARLY_ZERO = float(FLOAT32.type(1e-35))


def _beside_zero(threshold: numpy.ndarray) -> numpy.ndarray:
    """Moves thresholds near zero, so that values near zero take the same direction as zero does in
    LightGBM."""
    moved = numpy.where(threshold >= 0.0, _NEARLY_ZERO, numpy.nextafter(-_NEARLY_ZERO, -numpy.inf))
    return numpy.where(numpy.abs(threshold) > _NEARLY_ZERO, threshold, moved)


def _lightgbm_tree(graph: Graph, estimator: Any, columns: Columns, table: dict[str, numpy.ndarray],
                   target: int) -> Tree:
    values = table["leaf_value"]
    if table.get("is_linear", numpy.zeros(1))[0]:
        raise refuse(graph, estimator, "has linear models in its leaves; compile it alone by schedc.compile")
    if len(values) == 1:
        return constant_tree(values[0], target)
    inner = len(values) - 1
    kinds = table["decision_type"].astype(int)
    is_set = kinds & 1 == 1
    threshold = numpy.where(is_set, table["threshold"], _beside_zero(table["threshold"]))
    missing = kinds >> 2 & 3
    if (missing == 1).any():
        raise refuse(graph, estimator, "treats zeros as missing values; fit it without zero_as_missing")
    # For features without missing values in training, LightGBM treats a missing value as 0.
    of_zero = 0.0 <= table["threshold"]
    missing_left = numpy.where(is_set, False, numpy.where(missing == 2, kinds & 2 == 2, of_zero))
    sets = {}
    for node in numpy.flatnonzero(is_set).tolist():
        first, end = table["cat_boundaries"][int(threshold[node]):][:2].astype(int)
        words = table["cat_threshold"][first:end].astype(INT64)
        sets[node] = [float(at) for at in range(32 * len(words)) if words[at // 32] >> (at % 32) & 1]
    threshold[is_set] = 0.0

    def place(children: numpy.ndarray) -> numpy.ndarray:
        children = children.astype(INT64)
        return numpy.concatenate([numpy.where(children < 0, inner + ~children, children),
                                  numpy.full(inner + 1, -1)])

    def padded(array: numpy.ndarray) -> numpy.ndarray:
        return numpy.concatenate([array, numpy.zeros(inner + 1, array.dtype)])

    left = place(table["left_child"])
    feature = padded(table["split_feature"].astype(INT64))
    _note(graph, columns, feature, padded(threshold), numpy.where(padded(is_set), -1, left))
    return Tree(feature, padded(threshold), left, place(table["right_child"]), padded(missing_left),
                numpy.concatenate([numpy.zeros(inner), values]), target,
                padded(numpy.where(is_set, MEMBER, LEQ)), sets)
