#!/usr/bin/env python3
"""Prints the coefficients of the functions of columns, or the values that their tests compare with.

Needs mpmath. Run in this folder:

    python3 functions.py coefficients > ../src/functions/coefficients.rs
    python3 functions.py values > ../src/functions/values.txt

Coefficients minimize the largest error of a polynomial on an interval (the exchange algorithm of Remez).
"""

import random
import struct
import sys

from mpmath import mp, mpf

mp.dps = 50


def solve(f, weight, low, high, degree):
    """The polynomial that minimizes the largest value of `weight * |f - polynomial|`, and that value."""
    count = degree + 2
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / 600) for i in range(601)]
    values = [(x, f(x), weight(x)) for x in grid]
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]
    for _ in range(12):
        rows = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                rows[i, j] = x**j
            rows[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = f(x)
        found = mp.lu_solve(rows, right)
        polynomial = [found[j] for j in range(degree + 1)]
        errors = [(w * (y - mp.polyval(polynomial[::-1], x)), x) for x, y, w in values]
        runs = []
        for error in errors:
            if runs and (error[0] < 0) == (runs[-1][0] < 0):
                runs[-1] = max(runs[-1], error, key=lambda e: abs(e[0]))
            else:
                runs.append(error)
        worst = max(abs(e[0]) for e in runs)
        if len(runs) < count or worst < abs(found[degree + 1]) * mpf("1.01"):
            break
        while len(runs) > count:
            runs.pop(0 if abs(runs[0][0]) < abs(runs[-1][0]) else -1)
        points = [x for _, x in runs]
    return polynomial, worst


def one(_):
    return mpf(1)


def exp_rest(r):
    """`(exp(r) - 1 - r) / r^2`."""
    if abs(r) < mpf("1e-8"):
        return mpf(1) / 2 + r / 6 + r * r / 24
    return (mp.exp(r) - 1 - r) / (r * r)


def log_rest(z, terms):
    """`2 atanh(s) / s` without the first `terms` terms of its series in `z = s^2`, divided by `z^terms`."""
    if z < mpf("1e-6"):
        return sum(mpf(2) / (2 * (i + terms) + 1) * z**i for i in range(8))
    s = mp.sqrt(z)
    whole = 2 * mp.atanh(s) / s - sum(mpf(2) / (2 * i + 1) * z**i for i in range(terms))
    return whole / z**terms


def erf_ratio(w):
    """`erf(x) / x - 1`, with `w = x^2`."""
    if w < mpf("1e-12"):
        return 2 / mp.sqrt(mp.pi) * (1 - w / 3) - 1
    x = mp.sqrt(w)
    return mp.erf(x) / x - 1


# The complement of the error function is a polynomial of `t = 1 / (x + TAIL)`.
TAIL = mpf(2)


def erf_tail(t):
    """`exp(x^2) (1 - erf(x))`, with `t = 1 / (x + TAIL)`."""
    x = 1 / t - TAIL
    return mp.exp(x * x) * mp.erfc(x)


def tail_weight(t):
    x = 1 / t - TAIL
    return mp.exp(-x * x) + mpf("1e-6")


def sine_ratio(z):
    """`(sin(r) / r - 1) / z`, with `z = r^2`."""
    if z < mpf("1e-6"):
        return sum((-1) ** (i + 1) * z**i / mp.factorial(2 * i + 3) for i in range(6))
    r = mp.sqrt(z)
    return (mp.sin(r) / r - 1) / z


def sine_weight(z):
    return z + mpf("1e-3")


def cosine_rest(z):
    """`(cos(r) - 1 + z / 2) / z^2`, with `z = r^2`."""
    if z < mpf("1e-6"):
        return sum((-1) ** i * z**i / mp.factorial(2 * i + 4) for i in range(6))
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def cosine_weight(z):
    return z * z + mpf("1e-3")


def squared(r):
    return r * r + mpf("1e-3")


HALF_LOG = mpf("0.3470")
ROOT = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
SQUARE = ROOT * ROOT * mpf("1.0001")

LN2_HALVES = (-HALF_LOG, HALF_LOG)
SQUARES = (mpf(0), SQUARE)
TAILS = (1 / (6 + TAIL), 1 / (1 + TAIL))
EIGHTHS = (mpf(0), (mp.pi / 4) ** 2 * mpf("1.0001"))
QUARTERS = (mpf(0), (mp.pi / 2) ** 2 * mpf("1.0001"))


def log_weight(z):
    return z + mpf("1e-4")


def log_series(z):
    return log_rest(z, 1)


def log_series_behind(z):
    return log_rest(z, 2)


EXP_TEXT = "`(exp(r) - 1 - r) / r^2` for `|r| <= ln(2) / 2`"
LOG_TEXT = "`(2 atanh(s) / s - 2) / z`, with `z = s^2 <= 0.0295`"
LONG_TEXT = "`(2 atanh(s) / s - 2 - 2 z / 3) / z^2`"
SINE_TEXT = "`(sin(r) / r - 1) / r^2` for `|r| <= pi / 4`"
COSINE_TEXT = "`(cos(r) - 1 + z / 2) / z^2`, with `z = r^2`, for `|r| <= pi / 4`"
SINE_SHORT_TEXT = "`(sin(r) / r - 1) / r^2` for `|r| <= pi / 2`"
TAIL_TEXT = "`exp(x^2) (1 - erf(x))` for `1 <= x <= 6`, in `1 / (x + 2)`"
SHORT = ", for results in single precision"
# The name, the text, the function, the weight of errors, the interval and the degree of each polynomial.
POLYNOMIALS = [
    ("EXP", EXP_TEXT, exp_rest, squared, LN2_HALVES, 9),
    ("EXP_SHORT", EXP_TEXT + SHORT, exp_rest, squared, LN2_HALVES, 5),
    ("LOG", LOG_TEXT, log_series, log_weight, SQUARES, 6),
    ("LOG_SHORT", LOG_TEXT + SHORT, log_series, log_weight, SQUARES, 3),
    ("LOG_LONG", LONG_TEXT, log_series_behind, one, SQUARES, 7),
    ("ERF", "`erf(x) / x - 1` for `x^2 <= 1`", erf_ratio, one, (mpf(0), mpf(1)), 11),
    ("ERF_TAIL", TAIL_TEXT, erf_tail, tail_weight, TAILS, 12),
    ("SINE", SINE_TEXT, sine_ratio, sine_weight, EIGHTHS, 5),
    ("COSINE", COSINE_TEXT, cosine_rest, cosine_weight, EIGHTHS, 5),
    ("SINE_SHORT", SINE_SHORT_TEXT + SHORT, sine_ratio, sine_weight, QUARTERS, 4),
]


def double(x):
    return float(mp.nstr(x, 25))


def high(x, bits):
    """A number truncated to its first `bits` significant bits."""
    whole = struct.unpack("<Q", struct.pack("<d", double(x)))[0]
    whole &= ~((1 << (53 - bits)) - 1)
    return struct.unpack("<d", struct.pack("<Q", whole))[0]


def rust(x):
    bits = struct.unpack("<Q", struct.pack("<d", x))[0]
    text = f"{bits:016x}"
    return "0x" + "_".join(text[i : i + 4] for i in range(0, 16, 4))


def coefficients():
    print("//! Coefficients, made by `scripts/functions.py`. Numbers are the bits of doubles.\n")
    ln2 = mp.log(2)
    split = high(ln2, 32)
    two_thirds = mpf(2) / 3
    numbers = [
        ("LOG2_E", "`1 / ln(2)`.", double(1 / ln2)),
        ("LN2", "`ln(2)`.", double(ln2)),
        ("LN2_HIGH", "The first 32 bits of `ln(2)`: products with exponents are exact.", split),
        ("LN2_LOW", "The remainder of `ln(2)`.", double(ln2 - mpf(split))),
        ("TWO_THIRDS_LOW", "The error of `2 / 3` as a double.", double(two_thirds - mpf(double(two_thirds)))),
    ]
    half_pi = mp.pi / 2
    first = double(half_pi)
    middle = high(half_pi - mpf(first), 30)
    middle_text = "The next 30 bits of `pi / 2`: products with whole numbers below `2^23` are exact."
    numbers += [
        ("TWO_BY_PI", "`2 / pi`.", double(2 / mp.pi)),
        ("HALF_PI_HIGH", "The first 53 bits of `pi / 2`.", first),
        ("HALF_PI_MIDDLE", middle_text, middle),
        ("HALF_PI_LOW", "The remainder of `pi / 2`.", double(half_pi - mpf(first) - mpf(middle))),
    ]
    for name, text, value in numbers:
        print(f"/// {text}\npub(super) const {name}: f64 = f64::from_bits({rust(value)});\n")
    blocks = []
    for name, text, f, weight, (low, top), degree in POLYNOMIALS:
        found, error = solve(f, weight, low, top, degree)
        bits = mp.nstr(mp.log(error, 2), 4)
        print(name, degree, bits, file=sys.stderr)
        lines = "".join(f"    f64::from_bits({rust(double(c))}),\n" for c in found)
        blocks.append(
            f"/// Coefficients of {text},\n/// from the constant on. The largest weighted "
            f"error is 2^{bits}.\n"
            f"pub(super) const {name}: [f64; {degree + 1}] = [\n{lines}];"
        )
    blocks.append(digits())
    print("\n\n".join(blocks))


# Bits of each part of `2 / pi`, and the number of parts. Together they are enough for the largest doubles.
BITS, PARTS = 53, 23


def digits():
    """The bits of `2 / pi` as an array of numbers below 1."""
    with mp.workprec(BITS * PARTS + 100):
        whole = int(mp.floor(2 / mp.pi * mpf(2) ** (BITS * PARTS)))
    parts = [whole >> BITS * (PARTS - 1 - i) & (1 << BITS) - 1 for i in range(PARTS)]
    lines = "".join(f"    f64::from_bits({rust(part / 2.0**BITS)}),\n" for part in parts)
    return (
        f"/// The binary digits of `2 / pi`, {BITS} in each number, as fractions of 1.\n"
        f"pub(super) const TWO_BY_PI_DIGITS: [f64; {PARTS}] = [\n{lines}];"
    )


def logistic(x):
    return 1 / (1 + mp.exp(-x))


FUNCTIONS = {
    "exp": (mp.exp, [(-745, 709.7), (-1, 1), (-0.35, 0.35), (-1e-5, 1e-5), (-745.2, -700)]),
    "expm1": (mp.expm1, [(-40, 709.7), (-1, 1), (-0.36, 0.36), (-1e-5, 1e-5)]),
    "log": (mp.log, [(0, 10), (0.5, 2), (0.99, 1.01), "positive"]),
    "log1p": (mp.log1p, [(-1, 10), (-0.5, 1), (-0.01, 0.01), (-1e-9, 1e-9), "positive"]),
    "tanh": (mp.tanh, [(-22, 22), (-2, 2), (-0.4, 0.4), (-1e-5, 1e-5)]),
    "logistic": (logistic, [(-745, 40), (-5, 5), (-1, 1)]),
    "erf": (mp.erf, [(-6, 6), (-2, 2), (-1, 1), (-1e-5, 1e-5)]),
}


def hexadecimal(x):
    return f"{struct.unpack('<Q', struct.pack('<d', x))[0]:016x}"


def values():
    """Prints lines: a function, and the bits of its operands, of the double nearest to the exact result, and
    of the rest of that result."""
    chance = random.Random(7)

    def pick(span):
        if span == "positive":
            return struct.unpack("<d", struct.pack("<Q", chance.randrange(1, 0x7FF0000000000000)))[0]
        return chance.uniform(*span)

    def line(name, operands, result):
        nearest = double(result)
        if not abs(nearest) < float("inf"):
            return
        rest = float(mp.nstr(result - mpf(nearest), 17))
        words = [hexadecimal(x) for x in [*operands, nearest, rest]]
        print(name, *words)

    for name, (f, spans) in FUNCTIONS.items():
        for span in spans:
            for _ in range(60):
                x = pick(span)
                line(name, [x], f(mpf(x)))
    powers = [((0, 10), (-10, 10)), ((0.9, 1.1), (-3000, 3000)), ((0, 1000), (-100, 100))]
    powers.append(("positive", (-1, 1)))
    for spans in powers:
        for _ in range(100):
            x, y = pick(spans[0]), pick(spans[1])
            line("pow", [x, y], mp.power(mpf(x), mpf(y)))
    circular(pick, line)


def circular(pick, line):
    """Lines for sine and cosine: random numbers, and numbers next to multiples of a quarter turn."""
    # Of all doubles, the last number is the nearest to such a multiple.
    operands = [0.0, -0.0, 5e-324, -2.5e-310, 5.319372648326541e255, -1.7976931348623157e308]
    for span in [(-1e-5, 1e-5), (-0.8, 0.8), (-7, 7), (-1000, 1000), (-1.4e7, 1.4e7), (-1e12, 1e12)]:
        operands += [pick(span) for _ in range(60)]
    operands += [pick("positive") for _ in range(200)]
    for count in [*range(1, 20), *(round(1.7**i) for i in range(6, 80))]:
        operands += [double(count * mp.pi / 2), double(-count * mp.pi / 4)]
    for name, f in [("sin", mp.sin), ("cos", mp.cos)]:
        for x in operands:
            line(name, [x], f(mpf(x)))


if __name__ == "__main__":
    {"coefficients": coefficients, "values": values}[sys.argv[1]]()
