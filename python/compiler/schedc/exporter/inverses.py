"""Inverses of transformers of numbers, for regressors whose targets were transformed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .curves import interpolated, not_zero
from .functions import function_of_numpy, log_of_one_plus
from .graph import FLOAT64, Graph, Promise, Value
from .normal import LEAST_PROBABILITY, normal_probability
from .scalers import step
from .stages import key_of, refuse
from .versions import at_least


def inverse(graph: Graph, estimator: Any, transformer: Any, value: Value) -> Value:
    """Applies the inverse of a fitted transformer to `value`, in the type of the value. `estimator` contains
    the transformer, for messages."""
    steps = getattr(transformer, "steps", None)
    if isinstance(steps, list):
        for _, part in reversed(steps):
            value = inverse(graph, estimator, part, value)
        return value
    if isinstance(transformer, str) and transformer == "passthrough":
        return value
    if key_of(transformer) == "sklearn.FunctionTransformer":
        return _function(graph, estimator, transformer, value)
    made = _INVERSES.get(key_of(transformer))
    if made is None:
        raise refuse(
            graph, estimator,
            f"transforms its target by a {type(transformer).__name__}; scalers, PowerTransformer, "
            "QuantileTransformer and functions of NumPy are exported",
        )
    return made(graph, transformer, value)


def _function(graph: Graph, estimator: Any, transformer: Any, value: Value) -> Value:
    if transformer.inverse_func is None:
        return value
    function = function_of_numpy(transformer.inverse_func)
    if function is None or transformer.inv_kw_args:
        raise refuse(graph, estimator, "has an inverse_func that schedc does not export; functions of NumPy "
                     "such as exp and expm1 are exported if they have no options")
    return function.nodes(graph, value)


def _standard_scaler(graph: Graph, scaler: Any, value: Value) -> Value:
    # Since scikit-learn 1.8, parameters are rounded to the type of the target.
    first = at_least(1, 8)
    value = step(graph, "Mul", value, scaler.scale_, first) if scaler.with_std else value
    return step(graph, "Add", value, scaler.mean_, first) if scaler.with_mean else value


def _robust_scaler(graph: Graph, scaler: Any, value: Value) -> Value:
    value = step(graph, "Mul", value, scaler.scale_) if scaler.with_scaling else value
    return step(graph, "Add", value, scaler.center_) if scaler.with_centering else value


def _min_max_scaler(graph: Graph, scaler: Any, value: Value) -> Value:
    return step(graph, "Div", step(graph, "Sub", value, scaler.min_), scaler.scale_)


def _max_abs_scaler(graph: Graph, scaler: Any, value: Value) -> Value:
    return step(graph, "Mul", value, scaler.scale_)


def _power_transformer(graph: Graph, transformer: Any, value: Value) -> Value:
    """The inverse of the power transforms of Box-Cox and Yeo-Johnson. The latter transforms magnitudes."""
    kind, powers = value.dtype, list(transformer.lambdas_)
    # NumPy computes with a column of targets and a single power in this type.
    inner = numpy.result_type(numpy.empty(1, kind), powers[0])
    if transformer.standardize:
        value = _standard_scaler(graph, transformer._scaler, value)
    value = graph.cast(value, FLOAT64)
    if transformer.method == "box-cox" and at_least(1, 6):
        # The inverse of SciPy, which computes in double precision.
        shapes = not_zero(numpy.array(powers).astype(inner).astype(FLOAT64))
        logarithm = log_of_one_plus(graph, graph.add("Mul", value, shapes))
        return graph.cast(graph.add("Exp", graph.add("Mul", logarithm, 1 / shapes)), kind)
    if transformer.method == "box-cox":
        made = _root(graph, value, _parts(powers, [power == 0 for power in powers], inner), inner)
    else:
        passes = graph.add("GreaterOrEqual", value, 0.0, promise=value.promise)
        least, rests = numpy.spacing(1.0), [2 - power for power in powers]
        sides = zip(_parts(powers, [abs(power) < least for power in powers], inner),
                    _parts(rests, [abs(rest) <= least for rest in rests], inner))
        chosen = [graph.add("Where", passes, above, below, dtype=above.dtype) for above, below in sides]
        made = graph.add("Sub", _root(graph, graph.add("Abs", value), chosen, inner), 1.0)
        made = graph.add("Where", passes, made, graph.add("Neg", made), dtype=FLOAT64)
    if inner != FLOAT64:
        # scikit-learn rounds the root, and what remains of it without 1.
        graph.rounds(made, made, lambda one: one + 1, 2, inner)
    return graph.cast(made, kind)


def _parts(powers: list[Any], are_zero: list[bool], inner: Any) -> list[numpy.ndarray]:
    """The parts of the roots that invert powers: whether a root is an exponential, as for power 0, and the
    degrees and exponents of the other roots. They are rounded to the type `inner`."""
    degrees = [0.0 if is_zero else power for power, is_zero in zip(powers, are_zero)]
    exponents = [1.0 if is_zero else 1 / power for power, is_zero in zip(powers, are_zero)]
    rounded = [numpy.array(one).astype(inner).astype(FLOAT64) for one in (degrees, exponents)]
    return [numpy.array(are_zero, bool), *rounded]


def _root(graph: Graph, value: Value, parts: Sequence[Any], inner: Any) -> Value:
    """`(value * degree + 1) ** exponent`, or the exponential of the value. scikit-learn computes the sum in
    the type `inner`."""
    is_exponential, degree, exponent = parts
    product = graph.add("Mul", value, degree, promise=None if inner == FLOAT64 else Promise.BOUND)
    if inner != FLOAT64:
        graph.rounds(product, product, lambda one: one + 1, 2, inner)
    root = graph.add("Pow", graph.add("Add", product, 1.0), exponent)
    return graph.add("Where", is_exponential, graph.add("Exp", value), root, dtype=FLOAT64)


def _quantile_transformer(graph: Graph, transformer: Any, value: Value) -> Value:
    """The fitted quantile of each probability. For a normal output, the probability is first computed from
    the value, by the normal distribution."""
    kind, is_normal = value.dtype, transformer.output_distribution == "normal"
    references = numpy.asarray(transformer.references_, FLOAT64)
    shares = graph.cast(value, FLOAT64)
    if is_normal:
        shares = normal_probability(graph, shares)
    made = []
    for at, quantiles in enumerate(numpy.asarray(transformer.quantiles_, FLOAT64).T):
        share = graph.take(shares, [at])
        found = interpolated(graph, share, references, quantiles)
        for op, moved, end, bound in (("Greater", LEAST_PROBABILITY, 1.0, quantiles[-1]),
                                      ("Less", -LEAST_PROBABILITY, 0.0, quantiles[0])) if is_normal else ():
            # Probabilities near an end become this end.
            here = graph.add(op, graph.add("Add", share, moved), end)
            found = graph.add("Where", here, bound, found, dtype=FLOAT64, width=1)
        made.append(graph.cast(found, kind))
    return graph.join(made)


_INVERSES = {
    "sklearn.MaxAbsScaler": _max_abs_scaler,
    "sklearn.MinMaxScaler": _min_max_scaler,
    "sklearn.PowerTransformer": _power_transformer,
    "sklearn.QuantileTransformer": _quantile_transformer,
    "sklearn.RobustScaler": _robust_scaler,
    "sklearn.StandardScaler": _standard_scaler,
}
