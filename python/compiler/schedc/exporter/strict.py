"""Rows that a pipeline refuses by an error, found by its own calls. A file of ONNX has no errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from ..strict import accepts, odd_numbers
from .check import one_job
from .encoders import unseen_key
from .graph import TEXT
from .rows import common_rows

#: Number of rows of common values that are tried in search of one that the object accepts.
_MOST_TRIED = 8


@dataclass(frozen=True)
class Strict:
    """The cells for which an object raises an error, by the positions of the inputs."""

    unseen: tuple[int, ...] = ()
    """Inputs whose unknown categories the object refuses."""
    missing: tuple[int, ...] = ()
    """Inputs with text whose missing cells the object refuses."""
    numbers: tuple[str, ...] = ()
    """The names of NaN and infinity, if the object refuses them in some input."""


def strict(model: Any, made: Any) -> Strict:
    """The cells that an object refuses in a row that it accepts otherwise. Empty if it accepts no row of
    common values."""
    rows, features = common_rows(made), made.inputs.features
    texts = [at for at, feature in enumerate(features) if feature.dtype == TEXT]
    floats = [at for at, feature in enumerate(features) if feature.dtype.kind == "f"]
    categorical = [at for at in made.graph.categories if at in texts or at in floats]
    call = getattr(model, "predict", None) or model.transform
    with one_job(model):
        singles = (rows[at:at + 1] for at in range(_MOST_TRIED))
        row = next((one for one in singles if accepts(call, one)), None)
        if row is None:
            return Strict()

        def refused(inputs: Sequence[int], cells: Callable[[int], list[Any]]) -> list[int]:
            """The inputs that the object refuses with each of their cells."""
            changes = [(inputs, at) for at in range(max((len(cells(one)) for one in inputs), default=0))]
            if any(accepts(call, _with(row, several, lambda one: cells(one)[at])) for several, at in changes):
                return []
            return [one for one in inputs
                    if not any(accepts(call, _with(row, [one], lambda _: cell)) for cell in cells(one))]

        return Strict(
            tuple(refused(categorical, lambda at: [unseen_key(made.graph.tested[at])])),
            tuple(refused(texts, lambda at: [numpy.nan, None])),
            odd_numbers(lambda number: accepts(call, _with(row, floats, lambda _: number))),
        )


def _with(row: Any, inputs: Sequence[int], cell: Callable[[int], Any]) -> Any:
    """A row with other cells."""
    row = row.copy()
    for at in inputs:
        if hasattr(row, "iloc"):
            row.isetitem(at, numpy.array([cell(at)], row.dtypes.iloc[at]))
        else:
            row[:, at] = cell(at)
    return row
