"""Differences between scikit-learn's releases. The installed release counts, since it predicts."""

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
    """The values of a fitted `Tree`'s nodes for its only output: `[n_nodes, n_classes]`, or one column."""
    return numpy.asarray(tree.value)[:, 0, :]


def output_values(tree: Any) -> numpy.ndarray:
    """The values of a fitted `Tree` of a regressor: `[n_nodes, n_outputs]`."""
    return numpy.asarray(tree.value)[:, :, 0]


def class_shares(tree: Any, n_classes: Any) -> numpy.ndarray:
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
        # Children stand behind their parents.
        if left[node] >= 0:
            depths[left[node]] = depths[right[node]] = depths[node] + 1
    return depths


def missing_left(tree: Any) -> numpy.ndarray:
    """Whether missing values go left, for each node. Releases before 1.3 knew none."""
    nodes = tree.__getstate__()["nodes"]
    if "missing_go_to_left" not in nodes.dtype.names:
        return numpy.zeros(len(nodes), bool)
    return numpy.asarray(nodes["missing_go_to_left"], bool)


def last_of_ties() -> bool:
    """Whether one class against the rest takes the last of the highest scores. The first, since a release
    that goes through the classes from the last on."""
    from inspect import getsource

    from sklearn.multiclass import OneVsRestClassifier

    return "reversed(" not in getsource(OneVsRestClassifier.predict)


def scales_before_product(estimator: Any) -> bool:
    """Whether partial least squares divides columns by their deviations before the product. Later releases
    have coefficients for columns as they are."""
    from inspect import getsource

    return "_x_std" in getsource(type(estimator).predict)


def column_positions(estimator: Any, name: str) -> list[int]:
    """The positions of the columns that a part of a ColumnTransformer takes."""
    return [int(at) for at in estimator._transformer_to_input_indices[name]]
