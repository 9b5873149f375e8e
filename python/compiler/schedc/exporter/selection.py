"""Selection of columns. All selectors of scikit-learn list the columns that they keep."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Columns
from .graph import Graph
from .stages import Prediction, predict, transform

#: Selectors of scikit-learn, which all have `get_support`.
_SELECTORS = {
    "SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect",
    "VarianceThreshold", "SelectFromModel", "RFE", "RFECV", "SequentialFeatureSelector",
}


def kept(estimator: Any, key: str) -> list[int] | None:
    """The positions that a selector keeps; None if the estimator is no selector."""
    library, _, name = key.partition(".")
    if library != "sklearn" or name not in _SELECTORS:
        return None
    return [int(at) for at in numpy.flatnonzero(estimator.get_support())]


def model(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The model of a recursive elimination, which reads the columns that the elimination keeps."""
    return predict(graph, estimator.estimator_, transform(graph, estimator, columns))
