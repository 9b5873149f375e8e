"""Names of categories, and the codes that stand for them in rows: the rules of ``docs/data.md``."""

from __future__ import annotations

import math
import re
from typing import Any, Iterable, Sequence

import numpy

from ._names import near, quoted

#: What becomes of a category that the model does not know.
UNSEEN = ("error", "missing", "other")

#: The code of a category that is in no set.
_OTHER = -1.0

_BLANKS = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_NUMBER = re.compile(r"[+-]?(inf|infinity|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)\Z", re.IGNORECASE)
_NAN = "nan"


def _key(number: float) -> float | str:
    """What a number is found by: both zeros are one, and all that are no numbers."""
    return _NAN if math.isnan(number) else number + 0.0


class Known:
    """The categories of one feature, in the order of their codes."""

    def __init__(self, names: Sequence[Any], unseen: str) -> None:
        self.count = len(names)
        self.unseen = unseen
        self._texts: dict[str, float] = {}
        self._integers: dict[int, float] = {}
        self._numbers: dict[float | str, float] = {}
        for code, name in enumerate(names):
            # The first one of equal names, as trainers find them.
            if isinstance(name, str):
                self._texts.setdefault(name, float(code))
            elif isinstance(name, int):
                self._integers.setdefault(name, float(code))
            else:
                self._numbers.setdefault(_key(math.nan if name is None else name), float(code))

    def _of_letters(self, text: str) -> float | None:
        return self._texts.get(text, self._texts.get(text.strip(_BLANKS)))

    def _of_number(self, number: float) -> float | None:
        code = self._numbers.get(_key(number))
        whole = code is None and math.isfinite(number) and number == math.trunc(number)
        return self._integers.get(int(number)) if whole else code

    def of(self, value: Any) -> float | None:
        """The code of a value of a dictionary or of a text; None if there is none, NaN if the value is missing."""
        if value is None:
            return math.nan
        if isinstance(value, str):
            code = self._of_letters(value)
            text = value.strip(_BLANKS)
            return self._of_number(float(text)) if code is None and _NUMBER.match(text) else code
        if isinstance(value, (bool, numpy.bool_)):
            return self._of_letters("True" if value else "False")
        if isinstance(value, (int, numpy.integer)):
            exact = self._integers.get(int(value))
            is_double = exact is None and abs(int(value)) < 2**63 and int(float(value)) == int(value)
            return self._of_number(float(value)) if is_double else exact
        if isinstance(value, (float, numpy.floating)):
            return math.nan if math.isnan(value) else self._of_number(float(value))
        return None

    @property
    def has_truths(self) -> bool:
        """Whether a truth value is a name."""
        return self._of_letters("True") is not None or self._of_letters("False") is not None

    def codes(self, names: Sequence[Any], places: numpy.ndarray, column: str, before: int) -> numpy.ndarray:
        """The codes of rows that refer to names by their places, -1 for a missing value; ``before`` rows precede them."""
        found = [self.of(name) for name in names]
        unknown = [at for at, code in enumerate(found) if code is None]
        if unknown and self.unseen == "error":
            rows = numpy.flatnonzero(numpy.isin(places, unknown))
            if len(rows):
                self._refuse(names[int(places[rows[0]])], column, before + int(rows[0]) + 1)
        instead = _OTHER if self.unseen == "other" else math.nan
        table = [instead if code is None else code for code in found]
        codes: numpy.ndarray = numpy.array([*table, math.nan], dtype="float32")[places]
        return codes

    def _refuse(self, name: Any, column: str, row: int) -> None:
        meant = near(str(name), list(self._texts))
        hint = f"{quoted(meant)} may be meant; " if meant is not None else ""
        raise ValueError(
            f"column {quoted(column)}, row {row}: {quoted(str(name))} is no category that the model knows; {hint}"
            'unseen="missing" takes such values as missing, and unseen="other" as a category that is in no set'
        )

    def check(self, values: numpy.ndarray, column: str) -> None:
        """Refuses numbers that are no codes and are names: whoever wrote them took them for names."""
        outside = values[values >= self.count]
        for number in numpy.unique(outside).tolist():
            if self._of_number(float(number)) is not None:
                raise ValueError(
                    f"column {quoted(column)}: {number:g} is the name of a category, and plain numbers are codes, here from "
                    f"0 to {self.count - 1}; give the column as a dictionary (pandas: category), or as codes"
                )


def known_categories(about: dict[str, Any], unseen: str | None) -> list[Known | None]:
    """For each feature its categories, by what a library says of its model; none for features of numbers."""
    categories = about.get("categories") or {}
    rule = unseen or categories.get("unseen", "error")
    if rule not in UNSEEN:
        raise ValueError(f"unseen is one of {', '.join(UNSEEN)}, not {unseen!r}")
    features: Iterable[Sequence[Any]] = categories.get("names") or [[]] * int(about["features"])
    return [Known(names, rule) if names else None for names in features]
