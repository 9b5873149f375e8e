"""Quantiles and probabilities of the normal distribution, by the operations of SciPy's `ndtri` and `ndtr`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from .graph import FLOAT64, Graph, Value

#: Coefficients of the rational functions of Cephes, the library behind SciPy, highest power first.
_MIDDLE = (
    (-59.9633501014107895267, 98.0010754185999661536, -56.6762857469070293439, 13.9312609387279679503,
     -1.23916583867381258016),
    (1.95448858338141759834, 4.67627912898881538453, 86.3602421390890590575, -225.462687854119370527,
     200.260212380060660359, -82.0372256168333339912, 15.9056225126211695515, -1.18331621121330003142),
)
_TAIL = (
    (4.05544892305962419923, 31.5251094599893866154, 57.1628192246421288162, 44.0805073893200834700,
     14.6849561928858024014, 2.18663306850790267539, -0.140256079171354495875, -0.0350424626827848203418,
     -0.000857456785154685413611),
    (15.7799883256466749731, 45.3907635128879210584, 41.3172038254672030440, 15.0425385692907503408,
     2.50464946208309415979, -0.142182922854787788574, -0.0380806407691578277194,
     -0.000933259480895457427372),
)
#: Coefficients for the error function up to 1, and for 1 minus the error function above 1.
_ERROR = (
    (9.60497373987051638749, 90.0260197203842689217, 2232.00534594684319226, 7003.32514112805075473,
     55592.3013010394962768),
    (33.5617141647503099647, 521.357949780152679795, 4594.32382970980127987, 22629.0000613890934246,
     49267.3942608635921086),
)
_REST = (
    (2.46196981473530512524e-10, 0.564189564831068821977, 7.46321056442269912687, 48.6371970985681366614,
     196.520832956077098242, 526.445194995477358631, 934.528527171957607540, 1027.55188689515710272,
     557.535335369399327526),
    (13.2281951154744992508, 86.7072140885989742329, 354.937778887819891062, 975.708501743205489753,
     1823.90916687909736289, 2246.33760818710981792, 1656.66309194161350182, 557.535340817727675546),
)
#: The square root of 2 pi, and the square of 1 / e: probabilities below this square, and above 1 minus it,
#: are in the tails.
_ROOT, _EDGE = 2.50662827463100050242, 0.13533528323661269189
#: The smallest probability, as in scikit-learn; smaller ones have the same quantile.
LEAST_PROBABILITY = 1e-7


def normal_quantile(graph: Graph, share: Value) -> Value:
    """The normal quantile of a probability, for f64 probabilities between `LEAST_PROBABILITY` and 1 minus
    that. Has SciPy's bits in the middle, and in the tails is within the rounding error of a logarithm."""
    centered = graph.add("Sub", share, 0.5)
    square = graph.add("Mul", centered, centered)
    ratio = graph.add("Div", graph.add("Mul", square, _polynomial(graph, square, _MIDDLE[0])),
                      _polynomial(graph, square, _MIDDLE[1], is_monic=True))
    middle = graph.add("Mul", graph.add("Add", centered, graph.add("Mul", centered, ratio)), _ROOT)
    is_high = graph.add("Greater", share, 1.0 - _EDGE)
    low = graph.add("Where", is_high, graph.add("Sub", 1.0, share), share, dtype=FLOAT64)
    is_middle = graph.add("Greater", low, _EDGE)
    # The result for probabilities in the middle is not used.
    far = graph.add("Sqrt", graph.add("Mul", graph.add("Log", low), -2.0))
    inverse = graph.add("Div", numpy.float64(1), far)
    rest = graph.add("Div", graph.add("Mul", inverse, _polynomial(graph, inverse, _TAIL[0])),
                     _polynomial(graph, inverse, _TAIL[1], is_monic=True))
    near = graph.add("Sub", far, graph.add("Div", graph.add("Log", far), far))
    tail = graph.add("Sub", near, rest)
    tail = graph.add("Where", is_high, tail, graph.add("Neg", tail), dtype=FLOAT64)
    return graph.add("Where", is_middle, middle, tail, dtype=FLOAT64)


def normal_probability(graph: Graph, value: Value) -> Value:
    """The probability that a normal value is below an f64 value. Magnitudes above 6 count as 6, beyond which
    only 1e-9 of the distribution remains. Magnitudes below the square root of 2 have SciPy's bits, and larger
    ones are within the rounding error of an exponential."""
    scaled = graph.add("Mul", graph.add("Clip", value, numpy.float64(-6), numpy.float64(6)), numpy.sqrt(0.5))
    square, size = graph.add("Mul", scaled, scaled), graph.add("Abs", scaled)
    error = _times_ratio(graph, scaled, square, _ERROR)
    near = graph.add("Add", graph.add("Mul", error, 0.5), 0.5)
    rest = _times_ratio(graph, graph.add("Exp", graph.add("Neg", square)), size, _REST)
    low = graph.add("Mul", rest, 0.5)
    is_high = graph.add("Greater", scaled, 0.0, promise=value.promise)
    far = graph.add("Where", is_high, graph.add("Sub", 1.0, low), low, dtype=FLOAT64)
    is_near = graph.add("Less", size, 1.0, promise=value.promise)
    made = graph.add("Where", is_near, near, far, dtype=FLOAT64)
    return graph.add("Where", graph.add("IsNaN", value), value, made, dtype=FLOAT64)


def _times_ratio(graph: Graph, factor: Value, x: Value,
                 coefficients: tuple[Sequence[float], Sequence[float]]) -> Value:
    """A factor times a quotient of polynomials of `x`, multiplied before it is divided, as SciPy does. The
    first coefficient of the divisor is 1, and `coefficients` lacks it."""
    above, below = coefficients
    product = graph.add("Mul", factor, _polynomial(graph, x, above))
    return graph.add("Div", product, _polynomial(graph, x, below, is_monic=True))


def _polynomial(graph: Graph, x: Value, coefficients: Sequence[float], is_monic: bool = False) -> Value:
    """A polynomial by Horner's rule; `is_monic` puts the coefficient 1 before the others."""
    if is_monic:
        total, others = graph.add("Add", x, coefficients[0]), coefficients[1:]
    else:
        total = graph.add("Add", graph.add("Mul", x, coefficients[0]), coefficients[1])
        others = coefficients[2:]
    for coefficient in others:
        total = graph.add("Add", graph.add("Mul", total, x), coefficient)
    return total
