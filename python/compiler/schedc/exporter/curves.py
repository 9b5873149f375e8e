"""Transformers of single columns by curves: powers, quantiles and splines."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from .columns import Columns, columns_of, names_out, same_names
from .functions import exp_minus_one, log_of_one_plus
from .graph import FLOAT32, FLOAT64, INT64, Graph, Value
from .scalers import standard_scaler
from .normal import LEAST_PROBABILITY, normal_quantile
from .stages import refuse, refuse_sparse


def power_transformer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The power transforms of Yeo-Johnson and Box-Cox."""
    kind = columns.floating
    value = graph.cast(columns.value(graph, kind), FLOAT64)
    powers = numpy.asarray(estimator.lambdas_)
    if estimator.method == "box-cox":
        above = below = not_zero(powers).astype(FLOAT64)
        made = _power(graph, graph.add("Log", value), above)
    else:
        # A value below 0 is the negated power of its magnitude, with another exponent.
        passes = graph.add("GreaterOrEqual", value, 0.0, promise=value.promise)
        # scikit-learn subtracts single powers, in the type of the training rows since NumPy 2.
        others = numpy.array([2 - power for power in powers])
        above, below = (not_zero(one).astype(FLOAT64) for one in (powers, others))
        chosen = graph.add("Where", passes, above, below, dtype=FLOAT64)
        made = _power(graph, log_of_one_plus(graph, graph.add("Abs", value)), chosen)
        made = graph.add("Where", passes, made, graph.add("Neg", made), dtype=FLOAT64)
    tested = [0.5, 1.0, 3.0] if estimator.method == "box-cox" else [-2.0, -0.5, 0.0, 0.5, 1.0, 3.0]
    for column in columns:
        graph.note(column.source, tested)
    made = graph.cast(made, kind)
    if kind == FLOAT32 or hasattr(estimator, "_yeo_johnson_transform"):
        # Rows of f32 have powers in f32. Releases with their own Yeo-Johnson transform subtract 1 from the
        # power, which cancels digits for small exponents.
        least = numpy.minimum(numpy.abs(above), numpy.abs(below))
        graph.rounds(made, made, lambda one: one + 1 / numpy.where(least < 2.0**-60, 1.0, least), 2)
    columns = same_names(columns, made, [None] * len(columns))
    return standard_scaler(graph, estimator._scaler, columns) if estimator.standardize else columns


def _power(graph: Graph, logarithm: Value, powers: Any) -> Value:
    """`(value ** power - 1) / power` of the logarithm of the value."""
    return graph.add("Div", exp_minus_one(graph, graph.add("Mul", logarithm, powers)), powers)


def not_zero(powers: numpy.ndarray) -> numpy.ndarray:
    """Exponents with a tiny number in place of 0. The result is then the logarithm, since `exp_minus_one`
    returns tiny numbers unchanged."""
    return numpy.where(numpy.abs(powers) < numpy.finfo(FLOAT64).eps, powers.dtype.type(2.0**-70), powers)


def segments(graph: Graph, column: Value, edges: numpy.ndarray) -> Value:
    """The number of edges that are at most the row's value in the only column: `[n_rows]`."""
    # A file cannot sum up zero columns. NaN is an edge that no value reaches.
    edges = edges if len(edges) else numpy.array([numpy.nan])
    return _count(graph, graph.add("GreaterOrEqual", column, numpy.asarray(edges, FLOAT64)[None],
                                   promise=column.promise))


def _count(graph: Graph, passed: Value) -> Value:
    """The number of true values of each row: `[n_rows]`."""
    return graph.add("ReduceSum", graph.cast(passed, INT64), numpy.array([1], INT64), keepdims=0, width=0,
                     promise=passed.promise)


def of_segment(graph: Graph, segment: Value, table: numpy.ndarray) -> Value:
    """The entry of a table for each row's segment, as one column."""
    found = graph.add("Gather", table, segment, axis=0, dtype=table.dtype, width=0, promise=segment.promise)
    return graph.add("Unsqueeze", found, numpy.array([1], INT64), width=1)


def _slopes(x: numpy.ndarray, y: numpy.ndarray) -> numpy.ndarray:
    """The slopes of the lines between points."""
    with numpy.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slopes: numpy.ndarray = numpy.diff(y) / numpy.diff(x)
    return slopes


def interpolated(graph: Graph, column: Value, x: numpy.ndarray, y: numpy.ndarray) -> Value:
    """The function that is linear between points, with the operations of `numpy.interp` in their order.

    Segment 0 is before the first point, and the last segment is behind the last point.
    """
    slopes = _slopes(x, y)
    # No value is between two equal points.
    slopes = numpy.where(numpy.isfinite(slopes), slopes, 0.0)
    segment = segments(graph, column, x)
    start = of_segment(graph, segment, numpy.concatenate([[x[0]], x]))
    rise = of_segment(graph, segment, numpy.concatenate([[0.0], slopes, [0.0]]))
    first = of_segment(graph, segment, numpy.concatenate([[y[0]], y]))
    return graph.add("Add", graph.add("Mul", rise, graph.add("Sub", column, start)), first)


def quantile_transformer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The rank of a value among fitted quantiles, between 0 and 1, or the normal quantile of this rank."""
    is_normal = estimator.output_distribution == "normal"
    if columns.sparse:
        raise refuse_sparse(graph, estimator, "transforms")
    kind = columns.floating
    value = columns.value(graph, kind)
    references = numpy.asarray(estimator.references_, FLOAT64)
    made = []
    for at, quantiles in enumerate(numpy.asarray(estimator.quantiles_).T):
        graph.note(columns.columns[at].source, [*quantiles[:: max(1, len(quantiles) // 50)], quantiles[-1]])
        wide = numpy.result_type(numpy.empty(0, kind), quantiles[0])
        narrow = graph.take(value, [at])
        column, points = graph.cast(narrow, FLOAT64), quantiles.astype(FLOAT64)
        # There are numbers between two points.
        are_apart = numpy.nextafter(points[:-1], numpy.inf) < points[1:]
        if (numpy.isinf(_slopes(points, references)) & are_apart).any():
            raise refuse(graph, estimator, f"has quantiles of {columns.columns[at].name} that are closer "
                         "than 5.6e-309, where the interpolation overflows to NaN; round the training rows")
        # Once ascending and once descending: the mean of both is the result for repeated quantiles.
        up = interpolated(graph, column, points, references)
        down = interpolated(graph, graph.add("Neg", column), -points[::-1], -references[::-1])
        mean = graph.cast(graph.add("Mul", graph.add("Sub", up, down), 0.5), kind)
        for bound, level, op in ((quantiles[-1], 1.0, "Greater"), (quantiles[0], 0.0, "Less")):
            if is_normal:
                # Values near an end become this end.
                moved = graph.add("Add", narrow, LEAST_PROBABILITY if level else -LEAST_PROBABILITY)
                here = graph.add(op, graph.cast(moved, wide), wide.type(bound), promise=narrow.promise)
            else:
                here = graph.add("Equal", graph.cast(narrow, wide), wide.type(bound), promise=narrow.promise)
            mean = graph.add("Where", here, kind.type(level), mean, dtype=kind, width=1)
        mean = graph.cast(_normal(graph, graph.cast(mean, FLOAT64)), kind) if is_normal else mean
        gap = graph.add("IsNaN", narrow)
        made.append(graph.add("Where", gap, narrow, mean, dtype=kind, width=1))
    return same_names(columns, graph.join(made), [None] * len(columns))


def _normal(graph: Graph, share: Value) -> Value:
    """The normal quantile of a probability, clipped as in scikit-learn."""
    from scipy.special import ndtri

    least = LEAST_PROBABILITY - numpy.spacing(1)
    inside = graph.add("Clip", share, numpy.float64(least), numpy.float64(1 - least))
    return graph.add("Clip", normal_quantile(graph, inside), ndtri(least), ndtri(1 - least))


def spline_transformer(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Splines of each column, by de Boor's recursion in SciPy's order."""
    if estimator.extrapolation == "periodic" or columns.sparse:
        raise refuse(graph, estimator, f"continues splines by extrapolation={estimator.extrapolation!r}; "
                     "'constant', 'linear', 'continue' and 'error' are exported, for dense rows")
    if estimator.extrapolation == "linear" and estimator.degree < 2 and len(columns) > 1:
        raise refuse(graph, estimator, "continues lines of several columns by extrapolation='linear', which "
                     "scikit-learn begins at other knots in each column; use 'continue'")
    if getattr(estimator, "handle_missing", "error") != "error":
        raise refuse(graph, estimator, "gives zeros to missing values; put a SimpleImputer before it")
    kind = columns.numeric
    value = graph.cast(columns.value(graph, kind), FLOAT64)
    made = []
    for at, spline in enumerate(estimator.bsplines_):
        knots, degree = numpy.asarray(spline.t, FLOAT64), int(spline.k)
        count = len(knots) - degree - 1
        graph.note(columns.columns[at].source, knots[degree:count + 1])
        column = graph.take(value, [at])
        if estimator.extrapolation in ("constant", "linear"):
            inside = graph.add("Clip", column, knots[degree], knots[count])
            beyond = _cut if estimator.extrapolation == "constant" else partial(_straight, kind=kind)
            basis = beyond(graph, column, spline, _basis(graph, inside, knots, degree))
        else:
            basis = _basis(graph, column, knots, degree)
        keeps = count if estimator.include_bias else count - 1
        made.append(graph.cast(graph.take(basis, range(keeps)), kind))
    whole = graph.join(made)
    return columns_of(whole, names_out(estimator, columns, whole.width))


def _cut(graph: Graph, column: Value, spline: Any, basis: Value) -> Value:
    """Makes splines constant beyond the knots. There scikit-learn keeps only the first or the last `degree`
    splines and sets all others to zero. These are zero anyway unless knots are repeated or the degree is
    0."""
    degree, count = int(spline.k), basis.width
    first, last = slice(0, degree), slice(count - degree, count)
    for op, end, kept in (("Less", degree, first), ("Greater", count, last)):
        reached = numpy.asarray(spline(spline.t[end]), FLOAT64)
        constant = numpy.zeros(count)
        constant[kept] = reached[kept]
        if not numpy.array_equal(constant, reached):
            beyond = graph.add(op, column, spline.t[end], promise=column.promise)
            basis = graph.add("Where", beyond, constant, basis, dtype=FLOAT64, width=count)
    return basis


def _straight(graph: Graph, column: Value, spline: Any, basis: Value, kind: Any) -> Value:
    """Makes splines straight beyond the knots. There scikit-learn continues the first or the last splines,
    and sets all others to zero. `kind` is the type of the rows."""
    degree, count = int(spline.k), basis.width
    reach = degree + 1 if degree <= 1 else degree
    ends = (("Less", spline.t[degree], slice(0, reach)),
            ("Greater", spline.t[count], slice(count - reach, count)))
    for op, end, kept in ends:
        start, slope = numpy.zeros(count), numpy.zeros(count)
        start[kept], slope[kept] = spline(end)[kept], spline(end, nu=1)[kept]
        # Numbers of NumPy have no effect on the type of an array before its release 2.
        wide = (numpy.empty(0, kind) - end).dtype
        apart = graph.add("Sub", graph.cast(column, wide), wide.type(end))
        line = graph.add("Add", graph.add("Mul", apart, slope.astype(wide)), start.astype(wide))
        beyond = graph.add(op, column, end, promise=column.promise)
        basis = graph.add("Where", beyond, graph.cast(line, FLOAT64), basis, dtype=FLOAT64, width=count)
    return basis


def _basis(graph: Graph, column: Value, knots: numpy.ndarray, degree: int) -> Value:
    """All splines of a degree over knots, one column for each."""
    count = len(knots) - degree - 1
    intervals = numpy.arange(degree, count)
    # Values before all knots are in the first interval, and values behind all knots in the last one, even if
    # that interval is empty. Other empty intervals are left out, since no value is in them.
    is_reached = knots[intervals + 1] > knots[intervals]
    is_reached[[0, -1]] = True
    intervals = intervals[is_reached]
    segment = segments(graph, column, knots[intervals[1:]])
    heights: list[Value] = []
    for level in range(1, degree + 1):
        before, heights = heights, []
        for place in range(1, level + 1):
            above, below = knots[intervals + place], knots[intervals + place - level]
            # Between equal knots, a spline is zero.
            apart = numpy.where(above == below, numpy.inf, above - below)
            if level == 1:
                share = of_segment(graph, segment, 1.0 / apart)
            else:
                share = graph.add("Div", before[place - 1], of_segment(graph, segment, apart))
            left = graph.add("Mul", share, graph.add("Sub", of_segment(graph, segment, above), column))
            right = graph.add("Mul", share, graph.add("Sub", column, of_segment(graph, segment, below)))
            if heights:
                heights[-1] = graph.add("Add", heights[-1], left)
            else:
                heights.append(left)
            heights.append(right)
    total: Value | None = None
    for at in range(degree + 1):
        # The row's interval selects the column for each height. Only one term of each sum is not zero.
        places = numpy.eye(count)[intervals - degree + at]
        term = graph.add("Gather", places, segment, axis=0, dtype=FLOAT64, width=count,
                         promise=segment.promise)
        term = graph.add("Mul", term, heights[at]) if heights else term
        total = term if total is None else graph.add("Add", total, term)
    assert total is not None
    return total


def interpolated_as_scipy(graph: Graph, column: Value, x: numpy.ndarray, y: numpy.ndarray) -> Value:
    """The function that is linear between points, with the operations of `scipy.interpolate.interp1d`, in the
    type of the points. A point belongs to the segment before it."""
    passed = graph.add("Greater", column, x[None], promise=column.promise)
    first = numpy.clip(numpy.arange(len(x) + 1), 1, len(x) - 1) - 1
    segment = _count(graph, passed)
    slopes = (y[1:] - y[:-1]) / (x[1:] - x[:-1])
    rise, start, low = (of_segment(graph, segment, table[first]) for table in (slopes, x, y))
    return graph.add("Add", graph.add("Mul", rise, graph.add("Sub", column, start)), low)
