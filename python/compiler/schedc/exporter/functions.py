"""Functions that ONNX lacks: the logarithm of 1 plus a number, and the exponential minus 1.

Both are within the rounding error of one function, even for tiny numbers. They correct rounded sums by
Kahan's method."""

from __future__ import annotations

from .graph import FLOAT64, Graph, Value


def log_of_one_plus(graph: Graph, value: Value) -> Value:
    """`log(1 + x)` of f64 numbers that are not negative."""
    whole = graph.add("Add", value, 1.0)
    # The sum is rounded, so that `whole - 1` is not x. Near 1, the logarithm is proportional to `whole - 1`.
    ratio = graph.add("Div", graph.add("Log", whole), graph.add("Sub", whole, 1.0))
    return _where_rest(graph, whole, value, graph.add("Mul", ratio, value))


def exp_minus_one(graph: Graph, value: Value) -> Value:
    """`exp(x) - 1` of f64 numbers."""
    power = graph.add("Exp", value)
    rest = graph.add("Sub", power, 1.0)
    ratio = graph.add("Div", rest, graph.add("Log", power))
    near = _where_rest(graph, power, value, graph.add("Mul", ratio, value))
    # At the threshold both forms are right, so a rounding error of x that selects the other form does no
    # harm.
    is_near = graph.add("Less", graph.add("Abs", value), 1.0, promise=value.promise)
    return graph.add("Where", is_near, near, rest, dtype=FLOAT64)


def _where_rest(graph: Graph, sum_of_one: Value, value: Value, corrected: Value) -> Value:
    """The corrected result; or `value` where 1 plus `value` is rounded to 1."""
    is_lost = graph.add("Equal", sum_of_one, 1.0, promise=sum_of_one.promise)
    return graph.add("Where", is_lost, value, corrected, dtype=FLOAT64)
