"""Rows for the comparison of a file with its object, made from fitted statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy

from ..findings import Refused
from .graph import FLOAT64, TEXT, Graph
from .inputs import Feature

#: Number of rows to make: enough for most thresholds of small models. They take some milliseconds.
_N_ROWS = 256
#: Fraction of the cells that are missing.
_MISSING_SHARE = 0.1


def rows_for(model: Any, made: Any) -> Any:
    """Rows near all values that an exported object tests. The object accepts each of the rows.

    Raises Refused if the object accepts none of them.
    """
    from .check import expected
    from .crossings import crossing_rows, joined

    errors: list[Exception] = []

    def accepts(rows: Any) -> bool:
        """Whether the object predicts all of these rows."""
        try:
            expected(model, rows, made.outputs)
            return True
        except (ValueError, TypeError) as problem:
            errors.append(problem)
            return False

    kinds = list(product((True, False), (True, False), (True, False)))
    for kind in kinds:
        rows = _rows(made, *kind)
        if accepts(rows):
            more = crossing_rows(made, rows)
            return rows if more is None or not accepts(more) else joined([rows, more])
    # Each kind has rows that the object refuses, such as numbers that overflow in one of its steps. The first
    # kind has the most different values, and the last one the most common ones.
    for kind, least in ((kinds[0], _N_ROWS // 4), (kinds[-1], 1)):
        kept = _accepted(rows := _rows(made, *kind), accepts)
        if len(kept) >= least:
            return rows.iloc[kept].reset_index(drop=True) if hasattr(rows, "iloc") else rows[kept]
    raise Refused(
        f"the {type(model).__name__} refuses all rows that were made to check the file: {errors[-1]}; give "
        "rows by check=X, or skip the check by check=False"
    )


def common_rows(made: Any) -> Any:
    """Rows of categories and tested values, without missing ones."""
    return _rows(made, near=False, missing=False, unseen=False)


def _accepted(rows: Any, accepts: Callable[[Any], bool]) -> list[int]:
    """The positions of the rows that an object accepts one by one. Halves are tried before single rows."""
    kept: list[int] = []
    waiting = [(0, len(rows))]
    while waiting:
        first, end = waiting.pop()
        if accepts(rows[first:end]):
            kept += range(first, end)
        elif end - first > 1:
            middle = (first + end) // 2
            waiting += [(middle, end), (first, middle)]
    return kept


def _rows(made: Any, near: bool, missing: bool, unseen: bool) -> Any:
    """Rows of tested values, with numbers near these, missing values or unseen categories as requested."""
    source = numpy.random.default_rng(5)
    cells = [
        _cells(source, feature, _values(made.graph, at, near, unseen), made.graph.markers.get(at),
               missing and made.graph.reads(at, "missing"))
        for at, feature in enumerate(made.inputs.features)
    ]
    kinds = {one.dtype for one in cells}
    if len(kinds) == 1 and not made.inputs.named:
        return numpy.column_stack(cells)
    if not made.inputs.named and TEXT in kinds:
        return numpy.column_stack([one.astype(TEXT) for one in cells])
    try:
        import pandas
    except ImportError:
        return numpy.column_stack(cells)
    # Without a type, pandas would convert None to NaN in a column of texts.
    return pandas.DataFrame({
        feature.name: pandas.Series(one, dtype=one.dtype)
        for feature, one in zip(made.inputs.features, cells)
    })


@dataclass(frozen=True)
class _Values:
    """The values that a column may have."""

    tested: list[Any]
    are_near: bool
    """Whether numbers near these may occur, too."""


def _values(graph: Graph, at: int, near: bool, unseen: bool) -> _Values:
    """The values of a column. Only the categories if it has some and `unseen` is false."""
    categories = graph.categories.get(at)
    is_exact = categories is not None and not unseen
    tested = categories if is_exact else graph.tested.get(at, [])
    return _Values([one for one in tested or [] if one != "" or graph.reads(at, "empty")],
                   near and not is_exact)


def _cells(source: Any, feature: Feature, values: _Values, markers: set[str] | None, missing: bool) -> Any:
    """One column: values that are tested, their neighbours, and values in between."""
    if feature.dtype == TEXT:
        texts = [value for value in values.tested if isinstance(value, str)] or ["a"]
        cells = source.choice(numpy.array(texts, TEXT), _N_ROWS)
        if missing:
            # Encoders that were fitted with None treat NaN as an unseen category.
            gaps = [None if marker == "None" else numpy.nan for marker in sorted(markers or {"NaN"})]
            places = numpy.flatnonzero(source.random(_N_ROWS) < _MISSING_SHARE)
            cells[places] = source.choice(numpy.array(gaps, TEXT), len(places))
        return cells
    numbers = numpy.array([one for one in values.tested if not isinstance(one, str)], FLOAT64)
    numbers = numbers[numpy.isfinite(numbers)]
    if not len(numbers):
        numbers = numpy.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    is_float = feature.dtype.kind == "f"
    kind = feature.dtype if is_float else FLOAT64
    chosen = source.choice(numbers, _N_ROWS).astype(kind)
    above, below = (numpy.nextafter(chosen, kind.type(end)) for end in (numpy.inf, -numpy.inf))
    near = [chosen, above, below, ((chosen + source.choice(numbers, _N_ROWS)) / 2).astype(kind)]
    which = source.choice(len(near), _N_ROWS, p=[0.5, 0.15, 0.15, 0.2] if values.are_near else [1, 0, 0, 0])
    cells = numpy.choose(which, near)
    if not is_float:
        return numpy.round(cells).astype(feature.dtype)
    if missing:
        cells[source.random(_N_ROWS) < _MISSING_SHARE] = numpy.nan
    return cells
