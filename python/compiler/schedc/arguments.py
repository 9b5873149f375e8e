"""Checks of the types of options and of lists of rows. An error names the option and a valid value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeVar

import numpy

from .answers import Array
from .findings import Refused


def _is(*kinds: type) -> Callable[[Any], bool]:
    """A test for values of these types. A truth value does not count as a number."""
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _or_none(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_right(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, Sequence) and all(isinstance(one, str) for one in value)


def _are_numbers_of_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(number, Integral) for name, number in value.items()
    )


_TRUTH: tuple[Callable[[Any], bool], str] = (_is(bool), "True or False")

#: The least likeness of a misspelled option and the one that a message proposes; 1 for equal names.
_LEAST_ALIKE = 0.6

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def proposing(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The function, whose TypeError for an unknown option names the nearest one."""
    known = signature(function).parameters

    @wraps(function)
    def checked(*given: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        wrong = next((name for name in options if name not in known), None)
        if wrong is not None:
            raise TypeError(f"{function.__name__} has no option {wrong!r}{nearest(wrong, known)}")
        return function(*given, **options)

    return checked


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown option: the nearest known one. Empty if none is near."""
    found = get_close_matches(name, list(known), 1, _LEAST_ALIKE)
    return f"; {found[0]!r} may be meant" if found else ""


#: For each option a test of its values, and a description of valid values.
_OPTIONS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "cpu": (_are_texts, 'a text such as "x86-64-v3", or a list of these'),
    "output": (_or_none(_is(str)), 'a text such as "raw"'),
    "missing": (_or_none(_is(Real)), "a number"),
    "iterations": (_or_none(_is(str)), 'a text such as "0..10" or "best"'),
    "as_release": (_or_none(_is(str)), 'a text such as "3.4"'),
    "target": (_or_none(_is(str)), 'a text such as "cpu(avx512)"'),
    "sets": (_or_none(_are_numbers_of_names), "a dict from names to whole numbers"),
    "batch_size": (_or_none(_is(Integral)), "a whole number"),
    "lock": (_or_none(_is(str, PathLike)), "the path of a file"),
    "base_margin": _TRUTH,
    "locked": _TRUTH,
    "frozen": _TRUTH,
    "cache": _TRUTH,
}


def check_options(**options: Any) -> None:
    """Raises TypeError for options whose values have the wrong type."""
    for name, value in options.items():
        is_right, words = _OPTIONS[name]
        if not is_right(value):
            raise TypeError(f"{name} is {words}, not {value!r}")


#: The values of the option ``rows``, by the names of the types in NumPy.
_ROWS = {"float32": "f32", "float64": "f64"}


def check_rows(rows: Any) -> None:
    """Raises Refused for an invalid value of the option ``rows`` of :func:`schedc.compile`."""
    if isinstance(rows, str) and rows in ("both", *_ROWS.values()):
        return
    name = str(getattr(rows, "__name__", rows))
    meant = f': rows="{_ROWS[name]}" is for {name}' if name in _ROWS else ""
    raise Refused(f'rows is "f32", "f64" or "both", not {rows!r}{meant}')


def check_unseen(unseen: Any) -> None:
    """Raises Refused for an invalid value of the option ``unseen``."""
    if unseen not in (None, "error", "missing", "other"):
        raise Refused(f'unseen is "error", "missing" or "other", not {unseen!r}')


def examples_of(check: Any) -> Any:
    """The rows that were passed as the option ``check`` of :func:`schedc.compile`; None for True and False.

    Raises TypeError for other values.
    """
    if isinstance(check, bool):
        return None
    if not hasattr(check, "shape") and not isinstance(check, (list, tuple)):
        raise TypeError(f"check is True, False, or rows such as a frame, not {check!r}")
    return check


def refuse_keys(rows: Any) -> None:
    """Raises Refused for dicts, whose keys have no order that a model without names could take."""
    first = rows[0] if isinstance(rows, (list, tuple)) and len(rows) > 0 else rows
    if isinstance(first, Mapping):
        raise Refused(
            "the model was trained without names of features, and the keys of a dict have no order: "
            "columns=[...] names the keys in the order of the features, and by_position=True takes them in "
            "the order of the dict"
        )


def array_of(rows: Sequence[Any]) -> Array:
    """The array of a list of rows.

    Raises Refused for rows of different lengths, and for a list that is one row.
    """
    try:
        array = numpy.asarray(rows)
        # NumPy turns a list that mixes numbers and texts into texts.
        array = array if array.dtype.kind in "fiub" else numpy.asarray(rows, dtype=object)
    except ValueError:
        raise Refused("the rows of the list have different numbers of columns") from None
    if array.ndim == 1:
        kind = type(rows[0]).__name__
        raise Refused(
            f"each item of a list must be a row (a list or a dict), but the first item is {kind}; "
            "write [row] for a single row"
        )
    return array
