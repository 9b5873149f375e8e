"""A graph of ONNX under construction: values with types and widths, nodes, and shared constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy

#: The operator sets of exported files, which ONNX Runtime 1.21 and later read.
OPSET, OPSET_ML, IR_VERSION = 21, 5, 10

#: The domain of the operators for trees and categories.
ML = "ai.onnx.ml"

#: The type of columns with text.
TEXT = numpy.dtype(object)
BOOL = numpy.dtype(bool)
INT64 = numpy.dtype("int64")
FLOAT32 = numpy.dtype("float32")
FLOAT64 = numpy.dtype("float64")


def is_missing(value: Any) -> bool:
    """Whether a value marks a missing value in NumPy or pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, numpy.floating)) and bool(numpy.isnan(value))


class Promise(IntEnum):
    """Accuracy of a value, relative to scikit-learn's. The output of a node has the weakest promise of its
    inputs."""

    EQUAL = 0
    """Equal to scikit-learn's value in all bits but the sign of a zero."""
    BOUND = 1
    """Within the rounding error of the operations, whose order in scikit-learn is not defined."""
    OUTSIDE = 2
    """Equal for rows where no tested value lies within its rounding error of the threshold."""


#: Operations that NumPy, SciPy and ONNX Runtime round differently.
_ROUNDED = {"MatMul", "Gemm", "Sigmoid", "Softmax", "LogSoftmax", "Exp", "Log", "Pow", "Tanh", "Sinh",
            "Asinh", "Sin", "Cos", "Tan", "ReduceL1", "ReduceL2", "ReduceSum", "ReduceLogSumExp", "Erf"}

#: Operations with discontinuous results: a rounding error of their input may change the result completely.
_DECIDING = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "ArgMax", "ArgMin", "TreeEnsemble",
             "LabelEncoder", "Ceil", "Floor", "Round", "Sign"}
_COMPARING = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "IsNaN", "IsInf", "And", "Or",
              "Not", "Xor"}


@dataclass(frozen=True)
class Value:
    """The result of a node, or an input. Its shape is `[n_rows, width]`, or `[n_rows]` if `width` is 0."""

    name: str
    dtype: numpy.dtype
    width: int
    promise: Promise = Promise.EQUAL
    single: bool = False
    """Whether a sum or a function before this value was rounded to f32."""


@dataclass(frozen=True)
class Sum:
    """A sum of scikit-learn's whose rounding errors exceed those of the nodes for the same result, or, for a
    search for the best number, for the numbers that it compares."""

    value: Value
    """The factors that depend on rows."""
    sizes: Callable[[numpy.ndarray], numpy.ndarray]
    """Computes the sum of the magnitudes of all terms from the magnitudes of the factors."""
    terms: int
    dtype: numpy.dtype
    """The type of the sum."""


class Graph:
    """Nodes, constants and inputs in the order of their creation. Equal nodes and constants are shared."""

    def __init__(self, empty: str = "") -> None:
        self.empty = empty
        """The file's text for an empty text of rows. The empty text in a file stands for a missing text."""
        self.nodes: list[Any] = []
        self.inputs: list[Value] = []
        self.constants: dict[str, numpy.ndarray] = {}
        self.details: dict[str, Any] = {}
        """Details of steps for the file's metadata, such as categories, by the names of steps."""
        self.tested: dict[int, list[Any]] = {}
        """By the position of an input column: tested values, near which the rows of a check should lie."""
        self.categories: dict[int, list[Any]] = {}
        """By the position of an input column: the categories that all its encoders have in common."""
        self.markers: dict[int, set[str]] = {}
        """By the position of an input with text: the markers of missing values, `None` or `NaN`."""
        self.blanks: dict[int, set[str]] = {}
        """By the position of an input with text: `empty` if a step has the empty text as a category,
        `missing` if a step treats missing text differently from the empty text, and `None` and `NaN` if steps
        accept different markers of missing text."""
        self.rows_are_sparse = False
        """Whether the rows themselves are a sparse matrix."""
        self.stores_zeros = False
        """Whether a step fills zeros into a sparse matrix, whose other zeros are absent cells."""
        self.zeros_are_absent = False
        """Whether a model treats the zeros of sparse rows as absent cells."""
        self.integers: set[tuple[tuple[int, ...], str, str]] = set()
        """Groups of inputs. If all inputs of a group are truth values or integers, a step computes in their
        type, unlike the file: `narrow` if only those of at most 16 bits count, else `all`. Last the container
        of the rows, as in `RowTypes`."""
        self.sums: dict[str, list[Sum]] = {}
        """By the names of results: sums of scikit-learn that round more than the nodes of the file."""
        self.leaf_indices: set[str] = set()
        """The results of tree ensembles that are leaf indices, which later steps read as categories."""
        self.values: dict[str, Value] = {}
        """The results of nodes, by the nodes' names."""
        self._names_of_constants: dict[Any, str] = {}
        self._values_of_nodes: dict[Any, Value] = {}
        self._path: list[str] = []
        self._names: dict[str, int] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A context for a step of a pipeline. Names of nodes that are added within begin with the step's."""
        self._path.append(str(name))
        try:
            yield
        finally:
            self._path.pop()

    @property
    def path(self) -> str:
        """The name of the current step after the names of the steps around it, with dots between."""
        return ".".join(self._path)

    def input(self, name: str, dtype: numpy.dtype, width: int) -> Value:
        """Adds an input."""
        value = Value(name, dtype, width)
        self.inputs.append(value)
        self._names[name] = 1
        return value

    def constant(self, array: Any) -> str:
        """The name of a constant."""
        array = numpy.asarray(array)
        if array.dtype.kind in "US":
            array = array.astype(object)
        content = tuple(array.ravel().tolist()) if array.dtype == TEXT else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._names_of_constants:
            # Unique, since a column of the rows may be named like a constant.
            self._names_of_constants[key] = name = self._unique(f"c{len(self.constants)}")
            self.constants[name] = array
        return self._names_of_constants[key]

    def add(self, op: str, *inputs: Any, dtype: Any = None, width: int | None = None, domain: str = "",
            promise: Promise | None = None, **attributes: Any) -> Value:
        """Adds a node. Inputs that are no values become constants of the type of the first value.

        The type and the width of the result are by default those of elementwise operations. `promise` is the
        accuracy of this operation, by default that of its operator.
        """
        from onnx import helper

        values = [one for one in inputs if isinstance(one, Value)]
        first = values[0].dtype
        names = []
        wide = max(value.width for value in values)
        for one in inputs:
            if isinstance(one, Value):
                names.append(one.name)
                continue
            array = numpy.asarray(one)
            if not isinstance(one, (numpy.ndarray, numpy.generic)):
                array = array.astype(first)
            wide = max(wide, array.shape[-1] if array.ndim else 0)
            names.append(self.constant(array))
        # Trees are never equal, and comparing their long attributes would take time.
        key = op == "TreeEnsemble" or (op, domain, tuple(names), repr(sorted(attributes.items())))
        if key in self._values_of_nodes:
            return self._values_of_nodes[key]
        kind = numpy.dtype(dtype) if dtype is not None else BOOL if op in _COMPARING else first
        before = max(value.promise for value in values)
        own = Promise.BOUND if op in _ROUNDED else Promise.EQUAL
        if op in _DECIDING and before is not Promise.EQUAL:
            own = Promise.OUTSIDE
        own = own if promise is None else promise
        name = self._unique(f"{self.path}/{op}" if self._path else op)
        is_sum = own is Promise.BOUND or (op == "Cast" and before is not Promise.EQUAL)
        # Trees add exact values of leaves, whatever they compare.
        single = op != "TreeEnsemble" and (
            (is_sum and kind == FLOAT32) or any(value.single for value in values))
        value = Value(name, kind, wide if width is None else width, max(before, own), single)
        self.values[name] = value
        self.nodes.append(helper.make_node(op, names, [name], name=name, domain=domain, **attributes))
        if key is not True:
            self._values_of_nodes[key] = value
        return value

    @property
    def ensembles(self) -> list[Any]:
        """The tree ensembles whose results are sums, in the order of the nodes."""
        return [node for node in self.nodes
                if node.op_type == "TreeEnsemble" and node.output[0] not in self.leaf_indices]

    def cast(self, value: Value, dtype: Any) -> Value:
        """Converts a value to a type. Returns the value if both types are one element type in ONNX."""
        dtype = numpy.dtype(dtype)
        if element(dtype) == element(value.dtype):
            return value
        return self.add("Cast", value, dtype=dtype, to=element(dtype))

    def take(self, value: Value, positions: Any) -> Value:
        """Some columns of a value; the value itself if these are all columns."""
        positions = [int(at) for at in positions]
        if positions == list(range(value.width)):
            return value
        return self.add("Gather", value, numpy.array(positions, INT64), axis=1, width=len(positions))

    def join(self, values: list[Value]) -> Value:
        """Values of one type side by side."""
        if len(values) == 1:
            return values[0]
        return self.add("Concat", *values, axis=1, width=sum(value.width for value in values))

    def note(self, source: Any, values: Any) -> None:
        """Notes that a step compares a column derived from the input `source` with these values: numbers or
        texts."""
        if source is None:
            return
        known = self.tested.setdefault(source.feature, [])
        for value in values:
            is_text = isinstance(value, str)
            known.append(value if is_text else float(value) * source.factor + source.offset)

    def note_categories(self, source: Any, known: list[Any], unseen: Any) -> None:
        """Notes the categories of an encoder for a column derived from the input `source`. `unseen` is a
        value that is none of them."""
        self.note(source, [*known, unseen])
        # If a step has changed the numbers, the categories are no values of the rows.
        if source is not None and (source.factor, source.offset) == (1.0, 0.0):
            own = self.categories.get(source.feature)
            self.categories[source.feature] = [one for one in known if own is None or one in own]

    def mark(self, source: Any, markers: Iterable[Any]) -> None:
        """Notes that a step treats these markers as missing text, and any other marker as an unseen value."""
        known = {"None" if marker is None else "NaN" for marker in markers}
        if source is not None and known:
            if self.markers.setdefault(source.feature, known) != known:
                self.blanks.setdefault(source.feature, set()).update(("None", "NaN"))

    def note_integers(self, columns: Any, kind: str) -> None:
        """Notes in :attr:`integers` that a step computes in the type of `columns`."""
        self.integers.update((tuple(sorted(one.raw)), kind, "array") for one in columns if one.raw)
        # Frames other than those of pandas become one array.
        if joint := columns.inputs():
            self.integers.add((tuple(sorted(joint)), kind, "frame"))

    def note_blank(self, column: Any, kind: str) -> None:
        """Notes in :attr:`blanks` how a step treats the empty or the missing text of a column."""
        if column.source is not None and not column.is_filled:
            self.blanks.setdefault(column.source.feature, set()).add(kind)

    def reads(self, at: int, kind: str) -> bool:
        """Whether the file treats `empty` or `missing` text of an input as the object does."""
        other = {"empty": "missing", "missing": "empty"}[kind]
        return self.empty != "" or other not in self.blanks.get(at, ())

    def text(self, value: Any) -> str:
        """The file's text for a text of rows or for a missing value."""
        return "" if is_missing(value) else self.empty if value == "" else str(value)

    def texts(self, values: Iterable[Any]) -> numpy.ndarray:
        """The file's texts for texts of rows."""
        texts = [self.text(value) for value in values]
        made = numpy.empty(len(texts), TEXT)
        made[:] = texts
        return made

    def constant_columns(self, like: Value, array: Any) -> Value:
        """Repeats numbers for each row of `like`, in f64."""
        row = numpy.asarray(array, FLOAT64).reshape(-1)
        test = self.add("IsNaN", self.take(self.cast(like, FLOAT64), [0]))
        return self.add("Where", test, row, row, dtype=FLOAT64, width=len(row), promise=Promise.EQUAL)

    def affine(self, value: Value, weights: numpy.ndarray, intercepts: Any) -> Value:
        """`value @ weights + intercepts`. The product has the type of the value, and the sum that of NumPy.
        The intercept may be any term of the sum."""
        product = self.add("MatMul", value, weights, width=weights.shape[1])
        product = self.cast(product, numpy.result_type(product.dtype, intercepts))
        if not numpy.any(intercepts):
            return product
        result, magnitudes = self.add("Add", product, intercepts), numpy.abs(intercepts)
        self.rounds(result, value, lambda sizes: magnitudes, len(weights))
        return result

    def rounds(self, result: Value, value: Value, sizes: Callable[[numpy.ndarray], numpy.ndarray],
               terms: int, dtype: Any = None) -> None:
        """Notes a :class:`Sum` of scikit-learn's for a result, by default in the result's type."""
        one = Sum(value, sizes, terms, numpy.dtype(dtype or result.dtype))
        self.sums.setdefault(result.name, []).append(one)

    def output_name(self, name: str) -> str:
        """The name of an output in the file: `name`, or another name if an input has this one."""
        columns = {value.name for value in self.inputs}
        while name in columns:
            name = f"output.{name}"
        return name

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if count == 0 else self._unique(f"{name}_{count}")


def element(dtype: Any) -> int:
    """The element type of ONNX for a type of NumPy. All integers are int64."""
    from onnx import TensorProto

    dtype = numpy.dtype(dtype)
    if dtype == FLOAT32:
        return int(TensorProto.FLOAT)
    kinds = {"f": TensorProto.DOUBLE, "i": TensorProto.INT64, "u": TensorProto.INT64,
             "b": TensorProto.BOOL, "O": TensorProto.STRING, "U": TensorProto.STRING}
    return int(kinds[dtype.kind])


def tensor(name: str, array: numpy.ndarray) -> Any:
    """An array as a tensor of ONNX."""
    from onnx import helper, numpy_helper

    kind = element(array.dtype)
    if array.dtype.kind in "OU":
        texts: Any = [str(one).encode() for one in array.ravel()]
        return helper.make_tensor(name, kind, array.shape, texts)
    return numpy_helper.from_array(array.astype(helper.tensor_dtype_to_np_dtype(kind)), name)
