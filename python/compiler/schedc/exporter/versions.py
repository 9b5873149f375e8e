"""Differences between scikit-learn's releases. Exported files follow the installed release, with which the
object predicts."""

from __future__ import annotations

import re
from typing import Any

import numpy

#: The oldest release of scikit-learn whose objects are exported.
OLDEST = (1, 3)


def release() -> tuple[int, int]:
    """The major and minor number of the installed scikit-learn."""
    import sklearn

    major, minor = re.findall(r"[0-9]+", sklearn.__version__)[:2]
    return int(major), int(minor)


def at_least(major: int, minor: int) -> bool:
    """Whether the installed scikit-learn is this release or a later one."""
    return release() >= (major, minor)


def leaf_values(tree: Any) -> numpy.ndarray:
    """The values of a fitted `Tree`'s nodes for its only output: `[n_nodes, n_classes]`, or `[n_nodes, 1]`
    for a regressor."""
    return numpy.asarray(tree.value)[:, 0, :]


def output_values(tree: Any) -> numpy.ndarray:
    """The values of a fitted `Tree` of a regressor: `[n_nodes, n_outputs]`."""
    return numpy.asarray(tree.value)[:, :, 0]


def class_probabilities(tree: Any, n_classes: Any) -> numpy.ndarray:
    """The probabilities of a fitted `Tree`'s nodes, for several targets side by side. `n_classes` is the
    number of classes, or lists those of targets. Releases before 1.4 keep counts there."""
    values = numpy.asarray(tree.value)
    shares = [values[:, target, :count] for target, count in enumerate(numpy.ravel(n_classes).tolist())]
    if not at_least(1, 4):
        totals = [counts.sum(axis=1)[:, None] for counts in shares]
        shares = [counts / numpy.where(total == 0.0, 1.0, total) for counts, total in zip(shares, totals)]
    return numpy.concatenate(shares, axis=1)


def node_depths(tree: Any) -> numpy.ndarray:
    """The number of nodes from the root to each node, both counted, in f64."""
    left, right = tree.children_left, tree.children_right
    depths = numpy.ones(len(left))
    for node in range(len(left)):
        # Children come after their parents in the arrays.
        if left[node] >= 0:
            depths[left[node]] = depths[right[node]] = depths[node] + 1
    return depths


def missing_left(tree: Any) -> numpy.ndarray:
    """Whether missing values go left, for each node. Releases before 1.3 do not support missing values."""
    nodes = tree.__getstate__()["nodes"]
    if "missing_go_to_left" not in nodes.dtype.names:
        return numpy.zeros(len(nodes), bool)
    return numpy.asarray(nodes["missing_go_to_left"], bool)


def last_of_ties() -> bool:
    """Whether OneVsRestClassifier predicts the last of several classes with the highest score. Later releases
    predict the first one."""
    from inspect import getsource

    from sklearn.multiclass import OneVsRestClassifier

    return "reversed(" not in getsource(OneVsRestClassifier.predict)


def scales_before_product(estimator: Any) -> bool:
    """Whether partial least squares divides columns by their standard deviations before the product. In later
    releases the coefficients include the division."""
    from inspect import getsource

    return "_x_std" in getsource(type(estimator).predict)


def column_positions(estimator: Any, name: str) -> list[int]:
    """The positions of the columns that a part of a ColumnTransformer takes."""
    return [int(at) for at in estimator._transformer_to_input_indices[name]]


def output_container(estimator: Any) -> str:
    """The container in which a transformer returns its columns, by its `set_output` or the global
    configuration: `default`, `pandas` or `polars`."""
    from sklearn.utils._set_output import _auto_wrap_is_configured, _get_output_config

    if not _auto_wrap_is_configured(estimator):
        return "default"
    return str(_get_output_config("transform", estimator)["dense"])
