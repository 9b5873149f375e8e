"""Votes of classifiers for pairs of classes, and scores scaled to add up to 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from .graph import FLOAT64, INT64, Graph, Promise, Value


def pairs(n_classes: int) -> Iterator[tuple[int, int]]:
    """The pairs of classes, in order."""
    return ((i, j) for i in range(n_classes) for j in range(i + 1, n_classes))


def _signs(classes: int) -> numpy.ndarray:
    """A row for each pair of classes, with 1 at its first class and -1 at its second class:
    `[n_pairs, n_classes]`."""
    signs = numpy.zeros((classes * (classes - 1) // 2, classes))
    for at, (i, j) in enumerate(pairs(classes)):
        signs[at, i], signs[at, j] = 1.0, -1.0
    return signs


def votes(graph: Graph, is_second: Value, classes: int) -> Value:
    """The number of votes for each class. `is_second` is true for pairs that vote for their second class."""
    signs = _signs(classes)
    # Sums of small whole numbers are exact in each order.
    changes = graph.add("MatMul", graph.cast(is_second, FLOAT64), -signs, width=classes,
                        promise=is_second.promise)
    return graph.add("Add", changes, (signs > 0).sum(axis=0).astype(FLOAT64))


def confidences(graph: Graph, is_second: Value, duels: Value, classes: int) -> Value:
    """A score for each class: its votes, plus less than half a vote that its margins determine. `duels` are
    the margins of pairs, positive for the first class."""
    total = graph.add("MatMul", duels, _signs(classes), width=classes)
    size = graph.add("Mul", graph.add("Add", graph.add("Abs", total), 1.0), 3.0)
    return graph.add("Add", votes(graph, is_second, classes), graph.add("Div", total, size))


def normalized(graph: Graph, shares: Value, otherwise: float) -> Value:
    """Scores divided by their sum; `otherwise` in rows where all are zero."""
    total = graph.add("ReduceSum", shares, numpy.array([1], INT64), keepdims=1, width=1)
    none = graph.add("Equal", total, 0.0, promise=Promise.EQUAL)
    kind = shares.dtype.type
    total = graph.add("Where", none, kind(1), total, dtype=shares.dtype)
    shares = graph.add("Where", none, kind(otherwise), shares, dtype=shares.dtype, width=shares.width)
    return graph.add("Div", shares, total)
