"""Functions of NumPy, including those that ONNX lacks.

The logarithm of 1 plus a number and the exponential minus 1 are within the rounding error of one function,
even for tiny numbers. They correct rounded sums by Kahan's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from .graph import FLOAT64, Graph, Value


def log_of_one_plus(graph: Graph, value: Value) -> Value:
    """`log(1 + x)` of f64 numbers."""
    whole = graph.add("Add", value, 1.0)
    logarithm = graph.add("Log", whole)
    # The sum is rounded, so that `whole - 1` is not x. Near 1, the logarithm is proportional to `whole - 1`.
    ratio = graph.add("Div", logarithm, graph.add("Sub", whole, 1.0))
    near = _where_rest(graph, whole, value, graph.add("Mul", ratio, value))
    return _where_near(graph, value, near, logarithm)


def exp_minus_one(graph: Graph, value: Value) -> Value:
    """`exp(x) - 1` of f64 numbers."""
    power = graph.add("Exp", value)
    rest = graph.add("Sub", power, 1.0)
    ratio = graph.add("Div", rest, graph.add("Log", power))
    near = _where_rest(graph, power, value, graph.add("Mul", ratio, value))
    return _where_near(graph, value, near, rest)


def _where_near(graph: Graph, value: Value, near: Value, far: Value) -> Value:
    """Selects `near` for values between -1 and 1, and `far` for all other values. Both are right at -1 and 1,
    so a rounding error that selects the other one does no harm."""
    is_near = graph.add("Less", graph.add("Abs", value), 1.0, promise=value.promise)
    return graph.add("Where", is_near, near, far, dtype=FLOAT64)


def _where_rest(graph: Graph, sum_of_one: Value, value: Value, corrected: Value) -> Value:
    """The corrected result; or `value` where 1 plus `value` is rounded to 1."""
    is_lost = graph.add("Equal", sum_of_one, 1.0, promise=sum_of_one.promise)
    return graph.add("Where", is_lost, value, corrected, dtype=FLOAT64)


@dataclass(frozen=True)
class _Function:
    """A function of numbers: adds its nodes, and lists numbers of its domain for the rows of a check."""

    nodes: Callable[[Graph, Value], Value]
    tested: tuple[float, ...] = (-2.0, -0.5, 0.0, 0.5, 3.0)
    keeps_integers: bool = False
    """Whether the results for small integers have the same values in all types."""


def _operator(name: str) -> Callable[[Graph, Value], Value]:
    """The function that an operator of ONNX computes."""
    return lambda graph, value: graph.add(name, value)


def _in_double(function: Callable[[Graph, Value], Value]) -> Callable[[Graph, Value], Value]:
    """Applies a function of f64 numbers to numbers of any type, and rounds the result to their type, as NumPy
    does."""
    return lambda graph, value: graph.cast(function(graph, graph.cast(value, FLOAT64)), value.dtype)


def _logarithm(base: float) -> Callable[[Graph, Value], Value]:
    """A logarithm to a base."""
    return _in_double(lambda graph, value: graph.add("Div", graph.add("Log", value), float(numpy.log(base))))


def _sign(graph: Graph, value: Value) -> Value:
    """The sign of numbers. Missing values are kept."""
    return graph.add("Where", graph.add("IsNaN", value), value, graph.add("Sign", value), dtype=value.dtype)


_POSITIVE, _NOT_NEGATIVE = (0.25, 1.0, 3.0, 100.0), (0.0, 0.25, 1.0, 3.0, 100.0)
#: The functions of NumPy that are exported, by name.
_FUNCTIONS = {
    "absolute": _Function(_operator("Abs")),
    "arcsinh": _Function(_operator("Asinh")),
    "ceil": _Function(_operator("Ceil"), keeps_integers=True),
    "cos": _Function(_operator("Cos")),
    "exp": _Function(_operator("Exp")),
    "expm1": _Function(_in_double(exp_minus_one)),
    "fabs": _Function(_operator("Abs"), keeps_integers=True),
    "floor": _Function(_operator("Floor"), keeps_integers=True),
    "log": _Function(_operator("Log"), _POSITIVE),
    "log10": _Function(_logarithm(10.0), _POSITIVE),
    "log1p": _Function(_in_double(log_of_one_plus), _NOT_NEGATIVE),
    "log2": _Function(_logarithm(2.0), _POSITIVE),
    "negative": _Function(_operator("Neg")),
    "rint": _Function(_operator("Round"), keeps_integers=True),
    "sign": _Function(_sign, keeps_integers=True),
    "sin": _Function(_operator("Sin")),
    "sinh": _Function(_operator("Sinh")),
    "sqrt": _Function(_operator("Sqrt"), _NOT_NEGATIVE),
    "square": _Function(lambda graph, value: graph.add("Mul", value, value)),
    "tan": _Function(_operator("Tan")),
    "tanh": _Function(_operator("Tanh")),
}


def function_of_numpy(function: Any) -> _Function | None:
    """The export of a function; None if it is not one of the supported functions of NumPy."""
    name = getattr(function, "__name__", "")
    return _FUNCTIONS.get(name) if function is getattr(numpy, name, None) else None
