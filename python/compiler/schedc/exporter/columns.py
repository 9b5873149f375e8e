"""Columns that pass from one step of a pipeline to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from .graph import FLOAT32, FLOAT64, TEXT, Graph, Value


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

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Any:
        return iter(self.columns)

    @property
    def dtype(self) -> numpy.dtype:
        """The type of the array into which scikit-learn converts all columns."""
        kinds = {column.dtype for column in self.columns}
        return TEXT if TEXT in kinds else numpy.result_type(*kinds) if kinds else FLOAT64

    @property
    def floating(self) -> numpy.dtype:
        """The type that scikit-learn computes in: f32 if all columns allow it, else f64."""
        return FLOAT32 if self.dtype == FLOAT32 else FLOAT64

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
    """The columns of a value."""
    names = [str(name) for name in names]
    sources = [None] * value.width if sources is None else sources
    made = tuple(Column(value, at, names[at], sources[at]) for at in range(value.width))
    return Columns(made, sparse)


def same_names(columns: Columns, value: Value, sources: Sequence[Source | None] | None = None,
               sparse: bool | None = None) -> Columns:
    """The columns of a value, one for each of `columns`."""
    sources = columns.sources() if sources is None else sources
    names = [column.name for column in columns]
    return columns_of(value, names, sources, columns.sparse if sparse is None else sparse)


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
