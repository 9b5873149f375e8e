"""Steps: the binarizer, and bins of equal width, equal count or by means."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Columns, columns_of, names_out, same_names
from .graph import FLOAT32, FLOAT64, INT64, Graph


def binarizer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """1 for values above a threshold, else 0."""
    kind = columns.dtype
    value = columns.value(graph)
    wide = numpy.result_type(numpy.empty(0, kind), estimator.threshold)
    wide = wide if wide.kind == "f" else FLOAT64
    threshold = numpy.asarray(estimator.threshold, wide)
    for column in columns:
        graph.note(column.source, [threshold])
    passes = graph.add("Greater", graph.cast(value, wide), threshold)
    return same_names(columns, graph.cast(passes, kind), [None] * len(columns))


def k_bins(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The bin of a value is the number of inner edges that are at most the value."""
    kind = columns.floating if estimator.dtype is None else numpy.dtype(estimator.dtype)
    value = graph.cast(columns.value(graph, kind), FLOAT64)
    edges = [numpy.asarray(one, FLOAT64)[1:-1] for one in estimator.bin_edges_]
    for column, inner in zip(columns, edges):
        graph.note(column.source, inner)
    kind = FLOAT32 if kind == FLOAT32 else FLOAT64
    if estimator.encode == "ordinal":
        most = max(len(inner) for inner in edges)
        table = numpy.full((1, len(edges), max(most, 1)), numpy.inf)
        for at, inner in enumerate(edges):
            table[0, at, : len(inner)] = inner
        one_by_one = graph.add("Unsqueeze", value, numpy.array([2], INT64))
        passes = graph.cast(graph.add("GreaterOrEqual", one_by_one, table), kind)
        # A sum of zeros and ones is exact.
        bins = graph.add("ReduceSum", passes, numpy.array([2], INT64), keepdims=0, width=len(edges),
                         promise=value.promise)
        return same_names(columns, bins, [None] * len(columns))
    low = numpy.concatenate([[-numpy.inf, *inner] for inner in edges])
    high = numpy.concatenate([[*inner, numpy.inf] for inner in edges])
    features = numpy.repeat(numpy.arange(len(edges)), [len(inner) + 1 for inner in edges])
    repeated = graph.take(value, features)
    above = graph.add("GreaterOrEqual", repeated, low)
    below = graph.add("Less", repeated, high)
    inside = graph.cast(graph.add("And", above, below), kind)
    names = names_out(estimator, columns, inside.width)
    return columns_of(inside, names, sparse=estimator.encode == "onehot")
