"""Selection of columns: any selector says which it keeps."""

from __future__ import annotations

from typing import Any

import numpy

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
