"""The numbers of a feature in all rows of a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from . import _columns


class FeatureValues(NamedTuple):
    """The values of a feature: numbers, with an optional mask of missing ones."""

    values: numpy.ndarray
    missing: numpy.ndarray | None = None
    validity: _columns.Validity | None = None

    def given(self, single: bool) -> tuple[Any, ...]:
        """The tuple that a call takes for a column: the values, and a validity bitmap if some are missing.
        ``single`` rounds doubles and integers to single precision."""
        values = self.values
        if single and values.dtype.itemsize > 2:
            values = values.astype("float32", copy=False)
        plain = values.dtype.isnative and values.dtype.itemsize in (1, 2, 4,
                                                                    8) and values.dtype != numpy.float16
        if not plain:
            values = values.astype("float32" if values.dtype.itemsize < 4 else values.dtype.newbyteorder("="))
        if len(values) > 1 and values.strides[0] <= 0:
            values = numpy.ascontiguousarray(values)
        if self.missing is not None:
            return values, numpy.packbits(~self.missing, bitorder="little"), 0, None, None
        if self.validity is not None:
            return values, self.validity.bits, self.validity.first, None, None
        return values, None, 0, None, None


def numbers_of(column: _columns.Column) -> FeatureValues:
    """The numbers of a column whose feature has no named categories."""
    if isinstance(column, _columns.Names):
        raise TypeError(
            "holds text or a dictionary (pandas: a category), and the model needs numbers there: convert "
            "texts of digits to numbers (pandas.to_numeric), or give the numbers that stood for the texts "
            "in training"
        )
    return FeatureValues(*column)
