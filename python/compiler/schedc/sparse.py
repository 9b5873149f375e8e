"""Predictions of sparse matrices, by converting blocks of rows to dense ones."""

from __future__ import annotations

from typing import Any

import numpy

from .answers import Array

#: Number of values in a dense block.
_BLOCK = 1 << 20


def is_sparse(rows: Any) -> bool:
    """Whether an object is a sparse matrix or array of SciPy."""
    return hasattr(rows, "tocsr") and hasattr(rows, "nnz")


def predict_sparse(
    model: Any, rows: Any, output: str, about: dict[str, Any], single: bool, plain: dict[str, Any]
) -> Array:
    """Predicts the rows of a sparse matrix; ``plain`` has further arguments of the call. Absent entries are
    missing for XGBoost, and 0 for other trainers."""
    rows = rows.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    count, columns = rows.shape
    absent = numpy.nan if about.get("trainer") == "XGBoost" else 0.0
    kind = "float32" if single or rows.dtype == numpy.float32 else "float64"
    out: Array | None = plain.pop("out")
    margins = plain.pop("base_margin")
    if margins is not None:
        margins = numpy.asarray(margins)
        margins = margins.reshape(count, margins.size // max(count, 1))
    step = max(1, _BLOCK // max(columns, 1))
    pieces = []
    for first in range(0, max(count, 1), step):
        last = min(first + step, count)
        start, end = rows.indptr[first], rows.indptr[last]
        block = numpy.full((last - first, columns), absent, dtype=kind)
        places = numpy.repeat(numpy.arange(last - first), numpy.diff(rows.indptr[first : last + 1]))
        block[places, rows.indices[start:end]] = rows.data[start:end]
        begin = None if margins is None else margins[first:last]
        piece = None if out is None else out[first:last]
        pieces.append(model.predict(block, output, out=piece, base_margin=begin, **plain))
    if out is not None:
        return out
    return pieces[0] if len(pieces) == 1 else numpy.concatenate(pieces)


def has_stored_zeros(rows: Any) -> bool:
    """Whether a sparse matrix has zeros among its stored cells."""
    return bool((rows.tocsr().data == 0).any())
