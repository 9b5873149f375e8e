"""Distances and kernels: numbers that compare a row with each of some fitted points."""

from __future__ import annotations

from typing import Any

import numpy

from .graph import FLOAT64, INT64, Graph, Value
from .stages import refuse

#: Highest degree of a polynomial kernel that is computed by products. Higher and fractional degrees use
#: powers.
_MOST_PRODUCTS = 64


def dense(array: Any) -> numpy.ndarray:
    """A fitted array of f64, which may be a sparse matrix."""
    return numpy.asarray(array.toarray() if hasattr(array, "toarray") else array, FLOAT64)


def squared_distances(graph: Graph, value: Value, points: numpy.ndarray) -> Value:
    """The squared Euclidean distances of a row from points `[n_points, n_columns]`."""
    apart = graph.add("Sub", graph.add("Unsqueeze", value, numpy.array([1], INT64)), points[None])
    total = graph.add("ReduceSum", graph.add("Mul", apart, apart), numpy.array([2], INT64), keepdims=0,
                      width=len(points))
    note_squares(graph, total, value, points)
    return total


def note_squares(graph: Graph, total: Value, value: Value, points: numpy.ndarray, kind: Any = None) -> None:
    """Notes that scikit-learn computes squared distances as squares of rows plus squares of points minus
    twice the products of both, in the type `kind`, by default that of `total`."""
    sizes, squares = numpy.abs(points.T), numpy.square(points).sum(axis=1)
    graph.rounds(total, value, lambda one: numpy.square(one).sum(axis=1, keepdims=True)
                 + 2 * (one @ sizes) + squares, 3 * points.shape[1], kind)


def products(graph: Graph, value: Value, points: numpy.ndarray) -> Value:
    """The scalar products of a row with points `[n_points, n_columns]`."""
    weights = numpy.ascontiguousarray(points.T)
    return graph.add("MatMul", value, weights, width=len(points))


def power(graph: Graph, value: Value, exponent: float) -> Value:
    """A power. Whole exponents are computed by products of squares, as in LIBSVM."""
    if exponent != int(exponent) or not 0 < exponent <= _MOST_PRODUCTS:
        return graph.add("Pow", value, float(exponent))
    remaining = int(exponent)
    found: Value | None = None
    while True:
        if remaining % 2:
            found = value if found is None else graph.add("Mul", found, value)
        remaining //= 2
        if remaining == 0:
            assert found is not None
            return found
        value = graph.add("Mul", value, value)


def kernel(graph: Graph, estimator: Any, value: Value, points: numpy.ndarray,
           options: dict[str, Any]) -> Value:
    """The kernel of a row and points `[n_points, n_columns]`: `options` are `kernel`, which is a name, and
    `gamma`, `coef0` and `degree`."""
    name = options["kernel"]
    if name == "rbf":
        scaled = graph.add("Mul", squared_distances(graph, value, points), -float(options["gamma"]))
        return graph.add("Exp", scaled)
    if name == "linear":
        return products(graph, value, points)
    if name == "cosine":
        lengths = numpy.sqrt(numpy.square(points).sum(axis=1, keepdims=True))
        own = graph.add("ReduceL2", value, numpy.array([1], INT64), keepdims=1, width=1)
        is_zero = graph.add("Equal", own, 0.0, promise=own.promise)
        own = graph.add("Where", is_zero, numpy.float64(1), own, dtype=FLOAT64, width=1, promise=own.promise)
        return products(graph, graph.add("Div", value, own), points / numpy.where(lengths == 0, 1, lengths))
    if name in ("poly", "polynomial", "sigmoid"):
        made = graph.add("Mul", products(graph, value, points), float(options["gamma"]))
        made = graph.add("Add", made, float(options["coef0"])) if options["coef0"] else made
        return graph.add("Tanh", made) if name == "sigmoid" else power(graph, made, options["degree"])
    name = "a Python function as kernel" if callable(name) else f"the kernel {name}"
    raise refuse(graph, estimator, f"has {name}; rbf, linear, poly, sigmoid and cosine are exported")
