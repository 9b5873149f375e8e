"""Columns that pass from one step of a pipeline to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from .graph import BOOL, FLOAT32, FLOAT64, TEXT, Graph, Value


@dataclass(frozen=True)
class Source:
    """The input that a column derives from. If the input is about `value * factor + offset`, the column has
    the value `value`."""

    feature: int
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Column:
    """One column of a value."""

    value: Value
    at: int
    name: str
    source: Source | None = None
    is_filled: bool = False
    """Whether an earlier step has replaced missing texts by empty texts."""
    narrow: numpy.dtype | None = None
    """The type of rows that hold truth values or integers of at most 16 bits, which the file reads in f64.
    NumPy joins such columns with columns of f32 to f32."""
    own: bool = False
    """Whether the rows hold numbers of at most 32 bits in one of pandas' own types, such as `Float32`.
    scikit-learn converts these to f64, but NumPy may not."""
    raw: frozenset[int] = frozenset()
    """The positions of the inputs whose types determine the column's: of the column itself, or of all columns
    of its array. Empty if a step has computed the column."""

    @property
    def dtype(self) -> numpy.dtype:
        return self.value.dtype


@dataclass(frozen=True)
class Columns:
    """The table that one step of a pipeline passes to the next."""

    columns: tuple[Column, ...]
    sparse: bool = False
    """Whether scikit-learn passes on a sparse matrix. Some steps then round differently, and XGBoost treats
    zeros as missing values."""
    opaque: bool = False
    """Whether scikit-learn passes on a frame whose types its `check_array` does not read, such as one of
    Polars. Steps that compute in f32 or in f64 convert such a frame to f64."""

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Any:
        return iter(self.columns)

    @property
    def dtype(self) -> numpy.dtype:
        """The type of the array into which scikit-learn converts all columns."""
        kinds = {column.dtype for column in self.columns}
        if FLOAT32 in kinds:
            kinds = {column.dtype for column in self.columns if column.narrow is None}
        return TEXT if TEXT in kinds else numpy.result_type(*kinds) if kinds else FLOAT64

    @property
    def numeric(self) -> numpy.dtype:
        """The type of numbers in steps that take any type of numbers: f32 if all columns allow it, else
        f64."""
        return FLOAT32 if self.dtype == FLOAT32 else FLOAT64

    @property
    def floating(self) -> numpy.dtype:
        """The type of numbers in steps that compute in f32 or in f64, as most steps do."""
        return FLOAT64 if self.opaque else self.numeric

    def as_array(self, graph: Graph) -> Columns:
        """The columns as one array of NumPy, whose numbers have a single type."""
        # Numbers in an array of Python objects become f64 in the next step.
        return self._cast(graph, FLOAT64 if self.dtype == TEXT else self.dtype)

    def _cast(self, graph: Graph, kind: numpy.dtype) -> Columns:
        """Columns of an array of the type `kind`. Integers that become f64 stay as they are."""
        raw = self.inputs()
        made = tuple(replace(column, raw=raw) for column in self.columns)
        if kind.kind == "f" and any(column.narrow is None for column in made):
            made = tuple(
                replace(column, value=graph.cast(column.value, kind), narrow=None, own=False)
                if column.narrow or column.own or column.dtype == BOOL
                or (column.dtype != TEXT and FLOAT32 in (column.dtype, kind))
                else column
                for column in made
            )
        return replace(self, columns=made, opaque=False)

    def inputs(self) -> frozenset[int]:
        """The inputs whose types determine that of the columns as one array; none if a step has computed a
        column."""
        inputs = [column.raw for column in self.columns]
        return frozenset().union(*inputs) if all(inputs) else frozenset()

    def take(self, positions: Iterable[int]) -> Columns:
        """Some of the columns."""
        return replace(self, columns=tuple(self.columns[int(at)] for at in positions))

    def value(self, graph: Graph, dtype: Any = None) -> Value:
        """All columns as one value of a type, by default of :attr:`dtype`."""
        dtype = self.dtype if dtype is None else numpy.dtype(dtype)
        return graph.join([graph.cast(piece, dtype) for piece in self.pieces(graph)])

    def pieces(self, graph: Graph) -> list[Value]:
        """The values that hold the columns, each for a run of adjacent columns."""
        runs: list[tuple[Value, list[int]]] = []
        for column in self.columns:
            if not runs or runs[-1][0] != column.value:
                runs.append((column.value, []))
            runs[-1][1].append(column.at)
        return [graph.take(value, positions) for value, positions in runs]

    def sources(self) -> list[Source | None]:
        return [column.source for column in self.columns]


def columns_of(value: Value, names: Iterable[Any], sources: Sequence[Source | None] | None = None,
               sparse: bool = False) -> Columns:
    """Makes a `Column` for each of the `value.width` columns of a value; `names` names them in order."""
    names = [str(name) for name in names]
    sources = [None] * value.width if sources is None else sources
    made = tuple(Column(value, at, names[at], sources[at]) for at in range(value.width))
    return Columns(made, sparse)


def same_names(columns: Columns, value: Value, sources: Sequence[Source | None] | None = None,
               sparse: bool | None = None) -> Columns:
    """Makes the columns of a value, with the names of `columns` and, by default, their sources."""
    sources = columns.sources() if sources is None else sources
    names = [column.name for column in columns]
    return columns_of(value, names, sources, columns.sparse if sparse is None else sparse)


def in_floating(graph: Graph, columns: Columns) -> Columns:
    """Columns as a step reads them that computes in f32 or in f64."""
    return same_names(columns, columns.value(graph, FLOAT64)) if columns.opaque else columns


def in_double(graph: Graph, columns: Columns) -> Columns:
    """Columns in double precision, as a chain of estimators reads them beside its results."""
    return same_names(columns, columns.value(graph, FLOAT64))


def names_out(estimator: Any, columns: Columns, width: int) -> list[str]:
    """The names that an estimator gives to its columns."""
    try:
        names = list(estimator.get_feature_names_out([column.name for column in columns]))
    except (AttributeError, ValueError):
        names = []
    return names if len(names) == width else [f"x{at}" for at in range(width)]


def scaled(sources: Sequence[Source | None], factors: Any, offsets: Any) -> list[Source | None]:
    """The sources of columns `(x - offset) / factor` of columns with `sources`."""
    factors = numpy.broadcast_to(numpy.asarray(factors, FLOAT64), len(sources))
    offsets = numpy.broadcast_to(numpy.asarray(offsets, FLOAT64), len(sources))
    return [
        one and Source(one.feature, one.factor * factor, one.factor * offset + one.offset)
        for one, factor, offset in zip(sources, factors.tolist(), offsets.tolist())
    ]


def beside(graph: Graph, parts: Sequence[Columns]) -> list[Columns]:
    """Tables that NumPy puts side by side into one array, whose numbers have a single type."""
    whole = Columns(tuple(column for part in parts for column in part))
    kind = FLOAT64 if any(map(_is_of_objects, parts)) or whole.dtype == TEXT else whole.dtype
    is_narrow = all(column.narrow for column in whole)
    made = parts if is_narrow else [part._cast(graph, kind) for part in parts]
    raw = whole.inputs()
    return [replace(part, columns=tuple(replace(column, raw=raw) for column in part)) for part in made]


def _is_of_objects(part: Columns) -> bool:
    """Whether NumPy makes an array of Python objects of a frame of pandas: of truth values beside numbers."""
    kinds = {column.narrow for column in part}
    return BOOL in kinds and len(kinds) > 1 and not part.opaque


def join(parts: Sequence[Columns], prefixes: Sequence[str], sparse: bool) -> Columns:
    """Tables side by side. If two columns would have the same name, names get the prefixes of their parts."""
    names = [column.name for part in parts for column in part]
    plain = len(set(names)) == len(names)
    made = [
        column if plain else replace(column, name=f"{prefix}__{column.name}")
        for part, prefix in zip(parts, prefixes)
        for column in part
    ]
    return Columns(tuple(made), sparse)
