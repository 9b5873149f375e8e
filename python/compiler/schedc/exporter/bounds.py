"""Bounds of the difference between two evaluations of a graph that round sums and functions differently.

A node whose promise is `equal` has no error. The bounds of other nodes follow from those of their inputs, for
each cell. A bound is infinite where a tested value lies within its bound of a threshold, so that any result
may follow. Tests whose promise is `bound` choose between two forms of one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy import ndarray

from .graph import FLOAT64, Graph, Promise

#: Rounding errors of a function in units of the last place: those of NumPy and of another library together.
#: Functions of ONNX Runtime in single precision are approximations.
_OF_FUNCTION = {4: 16, 8: 8}
#: Searches for the best number. The sums of such a node round the numbers that it compares.
_SEARCHES = ("ArgMax", "ArgMin")
#: Differences of underflows, which have no relative bound.
TINY = 1e-290
#: Maximum number of values of a graph that are kept at once.
_CELLS = 4_000_000


def bounds_of(made: Any, feeds: dict[str, ndarray],
              run: Callable[..., dict[str, ndarray]]) -> dict[str, ndarray]:
    """The bound of each result of an exported object, by the kind of output. `run` evaluates a file."""
    graph, current = made.graph, {node.name: node.output[0] for node in made.graph.nodes}
    found = {node.name: graph.values[node.name] for node in graph.nodes}
    inexact = [node for node in graph.nodes if found[node.name].promise is not Promise.EQUAL]
    names = {one for node in inexact for one in (*node.input, node.output[0])}
    names.update(current.get(one.value.name, one.value.name) for sums in graph.sums.values() for one in sums)
    wanted = sorted(names - set(graph.constants) - set(feeds) - {""})
    n_rows = len(next(iter(feeds.values())))
    part, needed = with_outputs(made.content, wanted)
    parts: list[dict[str, ndarray]] = []
    start, count = 0, 1
    while start < n_rows or not parts:
        some = {name: array[start:start + count] for name, array in feeds.items()}
        used = {name: array for name, array in some.items() if name in needed}
        values = {**graph.constants, **some, **(run(part, used) if wanted else {})}
        errors = _errors(graph, inexact, values, current)
        parts.append({name: errors.get(made.names[name], _none(values, made, name, some))
                      for name in made.outputs})
        cells = sum(array.size for name, array in values.items() if name in names)
        start, count = start + count, max(1, _CELLS // max(1, cells // count))
    return {name: numpy.concatenate([one[name] for one in parts]) for name in made.outputs}


def _none(values: dict[str, ndarray], made: Any, name: str, feeds: dict[str, ndarray]) -> ndarray:
    """The bound of an exact result."""
    width, count = made.outputs[name].width, len(next(iter(feeds.values())))
    return numpy.zeros((count, width) if width else count)


def with_outputs(content: bytes, names: list[str]) -> tuple[bytes, set[str]]:
    """A file with other outputs, and the nodes and inputs that these need. Also returns the names of these
    inputs."""
    import onnx

    proto = onnx.load_from_string(content)
    needed, kept = set(names), []
    for node in reversed(proto.graph.node):
        if needed.intersection(node.output):
            kept.append(onnx.NodeProto.FromString(node.SerializeToString()))
            needed.update(node.input)
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    inputs = [onnx.ValueInfoProto.FromString(one.SerializeToString())
              for one in proto.graph.input if one.name in needed]
    for part, values in (("node", kept[::-1]), ("output", outputs), ("input", inputs)):
        proto.graph.ClearField(part)
        getattr(proto.graph, part).extend(values)
    return proto.SerializeToString(), {one.name for one in inputs}


def _errors(graph: Graph, nodes: list[Any], values: dict[str, ndarray],
            current: dict[str, str]) -> dict[str, ndarray]:
    """The bounds of nodes, by the names of their results."""
    errors: dict[str, ndarray] = {}
    with numpy.errstate(all="ignore"):
        for node in nodes:
            inputs = [values[name] for name in node.input if name]
            known = [errors.get(name) for name in node.input if name]
            own = [numpy.zeros(numpy.shape(value)) if error is None else error
                   for value, error in zip(inputs, known)]
            result = values[node.output[0]]
            rounding: Any = 0.0
            for one in graph.sums.get(node.name, ()):
                array = numpy.asarray(values[current.get(one.value.name, one.value.name)], FLOAT64)
                rounding = rounding + (one.terms + 2) * numpy.finfo(one.dtype).eps * one.sizes(
                    numpy.abs(array))
            if node.op_type in _SEARCHES:
                own[0], rounding = own[0] + rounding, 0.0
            error = _RULES[node.op_type](_Step(node, inputs, own, result, graph.values[node.name].promise))
            error = numpy.broadcast_to(error + rounding, result.shape)
            errors[node.output[0]] = numpy.where(numpy.isnan(error), numpy.inf, error)
    return errors


@dataclass
class _Step:
    """A node with its inputs, their bounds, its result, and its promise."""

    node: Any
    inputs: list[ndarray]
    errors: list[ndarray]
    result: ndarray
    promise: Promise
    options: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        from onnx import helper

        self.options = {} if self.node.op_type == "TreeEnsemble" else {
            one.name: helper.get_attribute_value(one) for one in self.node.attribute}

    @property
    def eps(self) -> float:
        """The unit in the last place of 1 in the type of the result; 0 for integers."""
        return float(numpy.finfo(self.result.dtype).eps) if self.result.dtype.kind == "f" else 0.0

    @property
    def function(self) -> float:
        """The rounding error of a function near 1."""
        return self.eps * _OF_FUNCTION.get(self.result.dtype.itemsize, 0)

    def wide(self) -> list[ndarray]:
        """The inputs in f64."""
        return [numpy.asarray(one, FLOAT64) for one in self.inputs]

    def axis(self) -> int:
        """The axis of a reduction."""
        return int(self.options["axis"] if "axis" in self.options else self.inputs[1][0])

    def undecided(self, where: ndarray) -> ndarray:
        """The bound of a test that rounding errors may decide in some places."""
        return numpy.where(where, numpy.inf if self.promise is Promise.OUTSIDE else 1.0, 0.0)

    def reduced(self, error: ndarray) -> ndarray:
        """A bound of a reduction in the shape of the result."""
        return error.reshape(self.result.shape)

    def rounded(self, error: ndarray) -> ndarray:
        """Adds the rounding of a result whose inputs differ."""
        return numpy.where(error > 0, error + self.eps * numpy.abs(self.result), 0.0)


def _times(size: ndarray, error: ndarray) -> ndarray:
    """A product that is zero without an error, even for infinite sizes."""
    return numpy.where(error == 0, 0.0, numpy.abs(size) * error)


def _sum(at: _Step) -> ndarray:
    return at.rounded(at.errors[0] + at.errors[1])


def _product(at: _Step) -> ndarray:
    (a, b), (of_a, of_b) = at.wide(), at.errors
    return at.rounded(_times(b, of_a) + _times(a, of_b) + _times(of_a, of_b))


def _quotient(at: _Step) -> ndarray:
    (_, b), (of_a, of_b) = at.wide(), at.errors
    least = numpy.abs(b) - of_b
    above = of_a + _times(at.result, of_b)
    return at.rounded(numpy.where(above == 0, 0.0, numpy.where(least > 0, above / least, numpy.inf)))


def _matrix(at: _Step) -> ndarray:
    (a, b), (of_a, of_b) = map(numpy.abs, at.wide()), at.errors
    rounding = (len(b) + 2) * at.eps * (a @ b)
    return of_a @ b + (a @ of_b if of_b.any() else 0.0) + rounding


def _moved(function: Callable[[ndarray], ndarray], value: ndarray, error: ndarray) -> ndarray:
    """The largest change of a monotone function within a bound of its argument."""
    middle = function(value)
    ends = [numpy.abs(numpy.asarray(function(value + side * error), FLOAT64) - middle) for side in (-1, 1)]
    return numpy.where(error == 0, 0.0, numpy.maximum(*ends))


def _monotone(function: Callable[[ndarray], ndarray], floor: float = 0.0) -> Callable[[_Step], ndarray]:
    """The rule of a rounded monotone function. Its rounding error is relative to at least `floor`."""
    def rule(at: _Step) -> ndarray:
        moved = _moved(function, at.wide()[0], at.errors[0])
        return numpy.asarray(moved + at.function * numpy.maximum(numpy.abs(at.result), floor))

    return rule


def _periodic(at: _Step) -> ndarray:
    """Sines and cosines."""
    return numpy.asarray(numpy.minimum(at.errors[0], 2.0) + at.function)


def _exact(function: Callable[[ndarray], ndarray]) -> Callable[[_Step], ndarray]:
    """The rule of a monotone function that is rounded correctly."""
    return lambda at: _moved(function, at.wide()[0], at.errors[0])


def _stepped(function: Callable[[ndarray], ndarray]) -> Callable[[_Step], ndarray]:
    """The rule of a function with steps."""
    return lambda at: at.undecided(_moved(function, at.wide()[0], at.errors[0]) > 0)


def _cast(at: _Step) -> ndarray:
    value, error = at.inputs[0], at.errors[0]
    if value.dtype.kind == "f" and at.result.dtype.kind in "fi":
        return _moved(lambda one: one.astype(at.result.dtype), numpy.asarray(value, FLOAT64), error)
    return error if at.result.dtype.kind in "fib" else numpy.where(error > 0, numpy.inf, 0.0)


def _power(at: _Step) -> ndarray:
    (base, exponent), (of_base, of_exponent) = at.wide(), at.errors
    middle = numpy.power(base, exponent)
    ends = [numpy.power(base + i * of_base, exponent + j * of_exponent) for i in (-1, 1) for j in (-1, 1)]
    moved = numpy.max([numpy.abs(end - middle) for end in ends], axis=0)
    moved = numpy.where(of_base + of_exponent == 0, 0.0, moved)
    return numpy.asarray(moved + at.function * numpy.abs(at.result))


def _compared(at: _Step) -> ndarray:
    (a, b), error = at.wide(), at.errors[0] + at.errors[1]
    return at.undecided((error > 0) & ~(numpy.abs(a - b) > error))


def _largest(at: _Step) -> ndarray:
    return numpy.asarray(numpy.max(numpy.broadcast_arrays(*at.errors), axis=0))


def _chosen(at: _Step) -> ndarray:
    test, (a, b), (of_test, of_a, of_b) = at.inputs[0], at.inputs[1:], at.errors
    error = numpy.where(test, of_a, of_b)
    if not of_test.any():
        return error
    if a.dtype.kind not in "fib":
        return numpy.where(of_test > 0, numpy.inf, error)
    other = numpy.where(test, b, a).astype(FLOAT64)
    apart = numpy.abs(other - at.result) + numpy.where(test, of_b, of_a)
    # The other value may be undefined here, as 0 / 0 is.
    apart = numpy.where(numpy.isnan(other), error, apart)
    return numpy.where(of_test > 0, numpy.maximum(numpy.maximum(error, apart), _if_infinite(of_test)), error)


def _if_infinite(error: ndarray) -> ndarray:
    return numpy.where(numpy.isinf(error), numpy.inf, 0.0)


def _added(at: _Step) -> ndarray:
    axis, sizes = at.axis(), numpy.abs(at.wide()[0])
    return at.reduced(at.errors[0].sum(axis=axis)
                      + (sizes.shape[axis] + 2) * at.eps * sizes.sum(axis=axis))


def _norm(at: _Step) -> ndarray:
    axis = at.axis()
    length = numpy.sqrt(numpy.square(at.errors[0]).sum(axis=axis))
    return numpy.asarray(at.reduced(length) + (at.inputs[0].shape[axis] + 2) * at.eps * numpy.abs(at.result))


def _extreme(at: _Step) -> ndarray:
    return at.reduced(at.errors[0].max(axis=at.axis()))


def _softmax(at: _Step) -> ndarray:
    # Some libraries subtract the logarithm of the sum, and others divide by the sum.
    scores = numpy.abs(at.wide()[0])
    error = at.errors[0] + at.eps * numpy.where(numpy.isfinite(scores), scores, 0.0)
    moved = numpy.expm1(2 * error.max(axis=1, keepdims=True))
    return numpy.asarray(numpy.minimum(_times(at.result, moved), 1.0) + at.function)


def _logarithm_of_sum(at: _Step) -> ndarray:
    axis, scores = at.axis(), at.wide()[0]
    sizes = numpy.abs(numpy.where(numpy.isfinite(scores), scores, 0.0))
    return at.reduced(at.errors[0].max(axis=axis) + at.function * (1 + sizes.max(axis=axis)))


def _best(sign: float) -> Callable[[_Step], ndarray]:
    """The rule of the index of the highest or the lowest number: undecided if bounds overlap."""
    def rule(at: _Step) -> ndarray:
        scores, error = sign * at.wide()[0], at.errors[0]
        places = numpy.arange(len(scores)), at.result.reshape(-1)
        overlaps = scores + error >= (scores - error)[places][:, None]
        overlaps &= error + error[places][:, None] > 0
        overlaps[places] = False
        return at.reduced(at.undecided(overlaps.any(axis=1)))

    return rule


def _gathered(at: _Step) -> ndarray:
    table, index = at.inputs
    of_table, of_index = at.errors
    axis = int(at.options.get("axis", 0))
    error = numpy.take(of_table, index, axis=axis)
    if not of_index.any():
        return error
    error = error.copy()
    for place in numpy.argwhere(of_index > 0):
        at_place = tuple(place)
        reach = min(of_index[at_place], len(table))
        first, last = max(0, int(index[at_place] - reach)), min(len(table) - 1, int(index[at_place] + reach))
        some, own = table[first:last + 1], at.result[at_place]
        if table.dtype.kind in "fib" and not numpy.isinf(of_index[at_place]):
            apart = numpy.abs(some.astype(FLOAT64) - own)
            error[at_place] += numpy.nan_to_num(apart, nan=numpy.inf).max(axis=0)
        elif (some != own).any():
            error[at_place] = numpy.inf
    return error


def _undecided(at: _Step) -> ndarray:
    """The rule of tables of categories."""
    return numpy.where(at.errors[0] > 0, numpy.inf, 0.0)


def _trees(at: _Step) -> ndarray:
    """Rows are undecided where a value lies within its bound of a threshold or a member of its column."""
    from onnx import numpy_helper

    (value,), (error,) = at.wide(), at.errors
    options = {one.name: one for one in at.node.attribute}
    features = numpy.array(options["nodes_featureids"].ints)
    splits = numpy_helper.to_array(options["nodes_splits"].t).astype(FLOAT64)
    members = options.get("membership_values")
    known = numpy.array([]) if members is None else numpy_helper.to_array(members.t).astype(FLOAT64)
    modes = numpy_helper.to_array(options["nodes_modes"].t)
    undecided = numpy.zeros(len(value), bool)
    for column in numpy.flatnonzero(error.any(axis=0)).tolist():
        own = features == column
        has_sets = (own & (modes > _ORDERED)).any()
        tested = numpy.concatenate([splits[own], known]) if has_sets else splits[own]
        tested = numpy.sort(tested[~numpy.isnan(tested)])
        low, high = value[:, column] - error[:, column], value[:, column] + error[:, column]
        reached = numpy.searchsorted(tested, high, "right") > numpy.searchsorted(tested, low, "left")
        undecided |= reached & (error[:, column] > 0)
    return numpy.broadcast_to(numpy.where(undecided, numpy.inf, 0.0)[:, None], at.result.shape)


#: The highest of the kinds of tests that compare a value with a number by its order.
_ORDERED = 3


def _same(at: _Step) -> ndarray:
    return at.errors[0]


def _shaped(at: _Step) -> ndarray:
    return at.errors[0].reshape(at.result.shape)


def _joined(at: _Step) -> ndarray:
    return numpy.concatenate(at.errors, axis=int(at.options["axis"]))


def _sigmoid(value: ndarray) -> ndarray:
    return numpy.asarray(1.0 / (1.0 + numpy.exp(-value)))


#: The bound of each operator that the exporter writes.
_RULES: dict[str, Callable[[_Step], Any]] = {
    "Add": _sum, "Sub": _sum, "Mul": _product, "Div": _quotient, "MatMul": _matrix, "Pow": _power,
    "Exp": _monotone(numpy.exp), "Log": _monotone(numpy.log), "Sigmoid": _monotone(_sigmoid, 1.0),
    "Tanh": _monotone(numpy.tanh, 1.0), "Sinh": _monotone(numpy.sinh), "Asinh": _monotone(numpy.arcsinh),
    "Tan": _monotone(numpy.tan, 1.0),
    "Sin": _periodic, "Cos": _periodic, "Sqrt": _exact(numpy.sqrt), "Floor": _stepped(numpy.floor),
    "Ceil": _stepped(numpy.ceil), "Round": _stepped(numpy.round), "Sign": _stepped(numpy.sign),
    "Relu": _same, "Abs": _same, "Neg": _same, "Clip": _same, "Identity": _same, "Not": _same,
    "Cast": _cast, "Max": _largest, "Min": _largest, "And": _largest, "Or": _largest, "Xor": _largest,
    "Less": _compared, "LessOrEqual": _compared, "Greater": _compared, "GreaterOrEqual": _compared,
    "Equal": _compared, "IsNaN": lambda at: numpy.zeros(at.result.shape), "Where": _chosen,
    "ReduceSum": _added, "ReduceL2": _norm, "ReduceMax": _extreme, "ReduceMin": _extreme,
    "ReduceLogSumExp": _logarithm_of_sum, "Softmax": _softmax, "ArgMax": _best(1.0), "ArgMin": _best(-1.0),
    "Gather": _gathered, "LabelEncoder": _undecided, "TreeEnsemble": _trees, "Squeeze": _shaped,
    "Unsqueeze": _shaped, "Concat": _joined,
}
