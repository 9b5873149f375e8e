"""Rows for which an object raises an error, and the notes on them. A compiled model has no errors for
numbers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy

#: Numbers that estimators may refuse, and their names in notes.
_ODD = ((numpy.nan, "NaN"), (numpy.inf, "infinity"))


def quiet(model: Any) -> Any:
    """A copy of an estimator that runs in one thread and prints nothing."""
    made = copy.copy(model)
    for option, value in (("n_jobs", 1), ("verbose", 0)):
        if hasattr(made, option):
            setattr(made, option, value)
    return made


def accepts(call: Callable[[Any], Any], rows: Any) -> bool:
    """Whether an object's method accepts rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(rows)
        except Exception:  # the methods of derived classes may raise any error
            return False
    return True


def odd_numbers(is_accepted: Callable[[float], bool]) -> tuple[str, ...]:
    """The names of the numbers among NaN and infinity that are not accepted."""
    return tuple(name for number, name in _ODD if not is_accepted(number))


def notes_of_numbers(model: Any) -> tuple[str, ...]:
    """The note on the numbers that an estimator refuses, and its compiled model answers."""
    model = quiet(model)

    def is_accepted(number: float) -> bool:
        return accepts(model.predict, numpy.full((1, model.n_features_in_), number))

    return note_of(odd_numbers(is_accepted) if is_accepted(0.0) else ())


def note_of(refused: tuple[str, ...]) -> tuple[str, ...]:
    """The note that an object refuses rows with some cells, if there are any."""
    if not refused:
        return ()
    listed = " or ".join((", ".join(refused[:-1]), refused[-1]) if refused[1:] else refused)
    return (f"the object refuses rows with {listed} by an error; the compiled model answers them, and "
            "nothing is promised for these answers",)
