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


def missing_left(tree: Any) -> numpy.ndarray:
    """Whether missing values go left, for each node. Releases before 1.3 knew none."""
    nodes = tree.__getstate__()["nodes"]
    if "missing_go_to_left" not in nodes.dtype.names:
        return numpy.zeros(len(nodes), bool)
    return numpy.asarray(nodes["missing_go_to_left"], bool)


def column_positions(estimator: Any, name: str) -> list[int]:
    """The positions of the columns that a part of a ColumnTransformer takes."""
    return [int(at) for at in estimator._transformer_to_input_indices[name]]
