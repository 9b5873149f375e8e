"""Sines and cosines of columns that repeat, such as hours and months."""

from __future__ import annotations

import math
from typing import Any

from .columns import Column, Columns, columns_of
from .compose import refuse_own
from .graph import FLOAT32, FLOAT64, TEXT, Graph
from .stages import refuse


def cyclical_features(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """feature-engine's sine and cosine of some columns of a table, behind the columns themselves."""
    names = list(estimator.feature_names_in_)
    if len(names) != len(columns):
        raise refuse(graph, estimator, "was not fitted on a table with the names of its columns")
    # A new column replaces an existing one of its name, as in frames of pandas.
    made: dict[Any, Column] = dict(zip(names, columns))
    for name in estimator.variables_:
        largest, column = estimator.max_values_[name], made[name]
        refuse_own(graph, estimator, Columns((column,)))
        if column.dtype == TEXT:
            raise refuse(graph, estimator, f"computes with the texts of the column {name!r}; give it numbers")
        if largest == 0:
            raise refuse(graph, estimator, f"divides by 0, the largest value of the column {name!r}")
        factor = 2.0 * math.pi / largest
        graph.note(column.source, [0.0, largest / 4, largest / 2, largest])
        # pandas multiplies columns of f32 in f32, also by a double of NumPy.
        kind = FLOAT32 if column.dtype == FLOAT32 else FLOAT64
        value = graph.cast(graph.take(column.value, [column.at]), kind)
        angle = graph.add("Mul", value, float(factor))
        for operator in ("Sin", "Cos"):
            out = f"{name}_{operator.lower()}"
            made[out] = columns_of(graph.add(operator, angle), [out]).columns[0]
    if estimator.drop_original:
        made = {name: column for name, column in made.items() if name not in estimator.variables_}
    return Columns(tuple(made.values()))
