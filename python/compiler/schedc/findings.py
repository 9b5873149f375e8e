"""Findings of schedc, and the errors that hold them. The package `schedc_runtime` defines most of them, since
it refuses rows, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from schedc_runtime.findings import Finding, Findings, Refused, Unsupported

from . import _native

__all__ = ["Difference", "Finding", "Findings", "Refused", "Unsupported", "refused", "reworded"]


class Difference(Refused):
    """A compiled model whose predictions differ from its object's on a row of the check.

    Its code is ``M0060``.
    """

    row: Any
    """The row: an array of numbers, or a table of one row."""
    method: str
    """The object's method, such as ``predict_proba``."""
    theirs: Any
    """The prediction of the object."""
    ours: Any
    """The prediction of the compiled model, or the exception that it raises."""

    def __init__(self, findings: Findings, row: Any, method: str, theirs: Any, ours: Any) -> None:
        super().__init__(findings)
        self.row, self.method, self.theirs, self.ours = row, method, theirs, ours


def refused(error: _native.Refused) -> Refused:
    """Converts an exception of the native part to the public one."""
    return Refused(Findings(*error.args))


def reworded(error: Refused, word: Callable[[str], str], line: str | None) -> Refused:
    """Copies an error; ``word`` changes each of its texts, and ``line`` is added at the end."""
    findings, end = error.findings, f"\n{line}" if line else ""
    made = Findings("[]", word(str(findings)) + end, word(findings._color.rstrip()) + end)
    made._all = [replace(finding, message=word(finding.message)) for finding in findings]
    return Refused(made)


def outside_of(count: int, n_rows: int, name: str) -> str:
    """The warning for rows of a check where a rounding error decides a test."""
    return (
        f"{count} of the {n_rows} rows of the check have other results than in {name}: a tested value lies "
        "there within its rounding error of a threshold, and libraries round differently"
    )
