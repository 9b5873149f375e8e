"""The comparison of a compiled model with its object on the rows of a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from schedc_runtime import SchedcError

from . import _native
from .answers import Array
from .findings import Difference, Findings
from .model import Model
from .origin import Origin

#: Allowed relative difference of results in single precision, and of results that scikit-learn and Treelite
#: sum in another order.
CLOSE = 1e-6
#: Allowed relative difference of results in double precision, for exponentials of different C libraries.
_DOUBLE = 1e-12
#: Numbers of rows of short calls: one row, fewer rows than a vector, and some that fill no vector.
_SHORT_CALLS = (1, 3, 4, 17)
#: Maximum number of values of a row that a message shows.
_SHOWN = 8


class Trial:
    """A compiled model, its object, and the rows that both predict."""

    def __init__(
        self, theirs: Any, ours: Model, origin: Origin, probes: tuple[bytes, float], other_iterations: bool,
        examples: Any = None
    ) -> None:
        self.theirs, self.ours, self.origin = theirs, ours, origin
        #: Rows of the caller for a pipeline; None if the rows are to be made.
        self.examples = examples
        self.about = ours._about["model"]
        values, self.magnitude = probes
        is_narrow = ours._recipe is not None and ours._recipe.rows == "f32"
        kind = "float32" if is_narrow or self.about["types"]["rows"] == "f32" else "float64"
        self.rows = numpy.frombuffer(values, "<f8").reshape(-1, ours.n_features_in_).astype(kind)
        if origin.missing is not None:
            self.rows[self.rows == origin.missing] = numpy.nan
        self.compared = 0
        #: Number of rows with other results because a rounding error decides a test.
        self.outside = 0
        self.failure: Exception | None = None
        exported = getattr(origin, "exported", None)
        outputs = () if exported is None else exported.outputs.values()
        # Some combined estimators compute sums in single precision.
        is_single = self.about["types"]["results"] == "f32" or any(value.single for value in outputs)
        #: Whether sums add in the trainer's order. Models that are not compiled yet walk in that order.
        self.is_exact = ours._about.get("order", "exact") == "exact"
        #: Bound of the absolute difference of sums that add in another order; docs/numerics.md explains it.
        self.slack = 0.0 if self.is_exact else self.magnitude * (CLOSE if is_single else _DOUBLE)
        #: Bound of the relative difference of results behind an exponential.
        self.close = CLOSE if is_single else _DOUBLE
        self.span = _span(origin.iterations) if other_iterations else None
        self.is_skipped = other_iterations and self.span is None

    @property
    def is_classifier(self) -> bool:
        return self.origin.answers.kind == "classifier"

    def compare(
        self,
        method: str,
        theirs: Callable[[], Any],
        ours: Callable[[], Array],
        close: float = 0.0,
        rows: Any = None,
        counted: Array | None = None,
        allowed: Callable[[Array, Array], Array] | None = None,
        reason: tuple[str, str] | None = None,
    ) -> Array | None:
        """Compares the answers of a method, and returns the object's.

        ``close`` bounds the difference, relative to the largest answer; ``counted`` selects the rows to
        compare. ``allowed`` marks the results that may differ, from the object's results and the model's.
        ``reason`` is the known cause of other differences, and what to do.
        """
        try:
            expected = side_by_side(theirs())
        except Exception as error:
            self.failure = error
            return None
        rows = self.rows if rows is None else rows
        try:
            found = side_by_side(ours())
        except SchedcError:
            # The library is for other processors, and every call on this one raises this error.
            return None
        except Exception as error:
            self._refuse(method, rows, 0, expected[:1], error)
        if found.shape != expected.shape:
            self._refuse(method, rows, 0, expected[:1], found[:1])
        wrong: Array = _unequal(expected, found, close, self.slack)
        if allowed is not None and wrong.any():
            wrong &= ~allowed(expected, found)
        wrong = numpy.asarray(wrong.reshape(len(wrong), -1).any(axis=1))
        if counted is not None:
            wrong &= counted
        self.compared += 1
        if wrong.any():
            at = int(numpy.argmax(wrong))
            self._refuse(method, rows, at, expected[at], found[at], reason)
        return expected

    def compare_short_calls(self, method: str, rows: Any) -> None:
        """Compares the compiled model's results in calls with few rows, which run other blocks of a schedule,
        with those in a call with all rows. They have the same bits if the order of accumulation is exact."""
        if not self.is_exact or not (isinstance(rows, numpy.ndarray) or hasattr(rows, "iloc")):
            return
        call = getattr(self.ours, method)
        try:
            whole = side_by_side(call(rows))
        except Exception as error:  # noqa: BLE001: the comparison with the object reports it
            self.failure = error
            return
        for count in _SHORT_CALLS:
            few = rows.iloc[:count] if hasattr(rows, "iloc") else rows[:count]
            expected, found = whole[:count], side_by_side(call(few))
            if found.shape == expected.shape and not _unequal(expected, found, 0.0, 0.0).any():
                continue
            figures = _native.difference(
                f"{method} of {self.origin.name} gives {_shown(expected)} for the first rows of the check, "
                f"and {_shown(found)} in a call with {count} rows",
                ["results of a row do not depend on the other rows of a call"],
                "please report this, with the model; another `schedule` may be right, and check=False skips "
                "the comparison",
            )
            raise Difference(Findings(*figures), few, method, expected, found)

    def _refuse(self, method: str, rows: Any, at: int, expected: Any, found: Any,
                reason: tuple[str, str] | None = None) -> Any:
        name = self.origin.name
        mine = (
            f"raises {type(found).__name__}: {found}"
            if isinstance(found, Exception)
            else f"gives {_shown(found)}"
        )
        row = rows.iloc[at : at + 1] if hasattr(rows, "iloc") else rows[at : at + 1]
        notes = [f"the row is {self._described(at)}"]
        if reason is not None:
            notes.append(reason[0])
        figures = _native.difference(
            f"row {at} of the check: {method} of {name} gives {_shown(expected)}, and the compiled model "
            f"{mine}",
            notes,
            reason[1] if reason is not None else
            "if the object differs on purpose, by a custom `predict` or an option of the trainer, "
            "check=False skips the comparison; otherwise please report this, with the model",
        )
        raise Difference(Findings(*figures), row, method, expected, found)

    def _described(self, at: int) -> str:
        rows: Any = self.rows
        names = self.origin.names or [str(feature) for feature in range(rows.shape[1])]
        if hasattr(rows, "iloc"):
            names, rows = list(rows.columns), rows.iloc
        values = rows[at].tolist()
        shown = [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                 for name, value in zip(names, values)]
        more = len(shown) - _SHOWN
        return ", ".join(shown[:_SHOWN]) + (f" and {more} more values" if more > 0 else "")

    def decided(self, answers: Array | None) -> Array | None:
        """Selects the rows whose class does not depend on the last digits of the probabilities."""
        if answers is None:
            return None
        if answers.ndim == 1 or answers.shape[1] == 1:
            distances = numpy.abs(answers.reshape(len(answers)) - 0.5)
        else:
            ordered = numpy.sort(answers, axis=1)
            distances = ordered[:, -1] - ordered[:, -2]
        return numpy.asarray(distances > max(CLOSE, self.slack) * 4)

    def frame(self, labels: list[list[Any]]) -> Any:
        """The rows as a frame of pandas, with names for features that have ``labels``; None without
        pandas."""
        if any(_has_no_name(names) for names in labels):
            return None
        try:
            import pandas
        except ImportError:
            return None
        names = self.origin.names or [str(at) for at in range(self.rows.shape[1])]
        columns: dict[str, Any] = {}
        for at, name in enumerate(names):
            values = self.rows[:, at]
            known = labels[at] if at < len(labels) else []
            columns[name] = (
                values
                if not known
                else pandas.Categorical.from_codes(codes_of(values, len(known)), categories=known)
            )
        return pandas.DataFrame(columns) if len(columns) == self.rows.shape[1] else None


def side_by_side(answer: Any) -> Array:
    """An answer as one dense array. The arrays of a list, one for each target, become columns side by
    side."""
    if hasattr(answer, "toarray"):
        return numpy.asarray(answer.toarray())
    is_list = isinstance(answer, list) and all(getattr(one, "ndim", 0) == 2 for one in answer)
    return numpy.concatenate(answer, axis=1) if is_list else numpy.asarray(answer)


def _span(iterations: str) -> tuple[int, int] | None:
    """The first iteration and the end of a range, from a text of the form ``a..b``."""
    first, dots, end = iterations.partition("..")
    return (int(first), int(end)) if dots and first.isdigit() and end.isdigit() else None


def _unequal(expected: Array, found: Array, close: float, slack: float) -> Array:
    """Marks the values that differ by more than their bound."""
    if expected.dtype.kind not in "fc" or found.dtype.kind not in "fc":
        return numpy.asarray(expected != found)
    equal = (expected == found) | (numpy.isnan(expected) & numpy.isnan(found))
    if close == 0.0 and slack == 0.0:
        return numpy.asarray(~equal)
    finite = numpy.abs(expected[numpy.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 0.0
    near = numpy.abs(expected.astype("float64") - found) <= slack + close * scale
    return numpy.asarray(~(equal | near))


def codes_of(values: Array, count: int) -> Array:
    """Codes for a column of names; unknown names are missing."""
    known = (values >= 0) & (values < count) & (values == numpy.floor(values))
    codes: Array = numpy.where(known, values, -1).astype("int64")
    return codes


def _has_no_name(names: list[Any]) -> bool:
    """Whether a list of names cannot be the categories of a pandas column."""
    return any(name is None or name != name for name in names) or len(set(map(repr, names))) < len(names)


def _shown(answer: Any) -> str:
    return numpy.array2string(numpy.asarray(answer), precision=9, separator=", ", threshold=_SHOWN).replace(
        "\n", ""
    )
