"""Codes of categories in columns. ``docs/categories.md`` has the rules; the native module implements them."""

from __future__ import annotations

from typing import Any

import numpy

from ._columns import Names, Numbers
from ._names import near, quoted
from ._native import Categories
from .findings import Refused


def _narrow(codes: Any) -> numpy.ndarray:
    """Codes in single precision if it represents all of them exactly, otherwise in double precision."""
    single: numpy.ndarray = codes.astype("float32")
    return single if numpy.array_equal(single, codes, equal_nan=True) else codes


class Dictionaries:
    """A cache of the codes of pandas' categories, for calls on columns with the same categories."""

    def __init__(self, categories: Categories) -> None:
        self._categories = categories
        # The categories of each feature's last column, and their codes.
        self._known: dict[int, tuple[Any, numpy.ndarray]] = {}

    def codes(self, feature: int, column: Any) -> numpy.ndarray | None:
        """The codes of the rows of a ``Categorical``; None if one of its categories has no code."""
        names = column.categories
        known = self._known.get(feature)
        if known is None or known[0] is not names:
            found = self._categories.codes(feature, names.tolist(), dictionary=True, table=True)
            if not all(isinstance(code, float) for code in found):
                return None
            # The last entry is for the index -1, a missing value.
            known = self._known[feature] = names, _narrow(numpy.array([*found, numpy.nan]))
        codes: numpy.ndarray = known[1][column.codes]
        return codes


class Feature:
    """The lookup of the codes of one feature's categories, for columns of tables or of arrays. ``truths``:
    truth values are the numbers 0 and 1, as in scikit-learn."""

    def __init__(self, categories: Categories, feature: int, table: bool, truths: bool = False) -> None:
        self._categories, self._feature, self._table, self._truths = categories, feature, table, truths

    def of_names(self, column: Names, name: str) -> numpy.ndarray:
        """The codes of rows that are indices into names; -1 is a missing value.

        Raises Refused if a row has a name without a code.
        """
        names = [int(name) if self._truths and isinstance(name, (bool, numpy.bool_)) else name
                 for name in column.names]
        found = self._categories.codes(self._feature, names, dictionary=column.dictionary, table=self._table)
        refused = [at for at, code in enumerate(found) if not isinstance(code, float)]
        if refused:
            rows = numpy.flatnonzero(numpy.isin(column.places, refused))
            if len(rows):
                self._refuse(found[int(column.places[rows[0]])], name, int(rows[0]))
        table = [code if isinstance(code, float) else numpy.nan for code in found]
        codes: numpy.ndarray = _narrow(numpy.array([*table, numpy.nan]))[column.places]
        return codes

    def of_numbers(self, column: Numbers, name: str) -> numpy.ndarray:
        """The codes of rows of numbers or truth values.

        Raises Refused if a row has a number without a code.
        """
        values = column.values
        if values.dtype == numpy.float16:
            values = values.astype("float32")
        if self._truths and values.dtype == numpy.bool_:
            values = values.astype("int8")
        values = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
        codes, refused = self._categories.encoded(self._feature, values, column.absent(), table=self._table)
        if refused is not None:
            row, why = refused
            self._refuse(why, name, row)
        found: numpy.ndarray = codes  # type: ignore[assignment]
        return found

    def _refuse(self, why: Any, name: str, row: int) -> None:
        message, advice, unseen = why
        meant = None if unseen is None else near(unseen, self._categories.texts(self._feature))
        hint = f"{quoted(meant)} may be meant; " if meant is not None else ""
        raise Refused(f"column {quoted(name)}, row {row + 1}: {message}; {hint}{advice}", "D0027")
