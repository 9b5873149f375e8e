"""Findings of schedc: errors, warnings and notes, each with a code, a position and help; and the error that
holds them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

@dataclass(frozen=True)
class Finding:
    """One finding. Lines and columns count from 1; they are None if the finding is about a whole file."""

    code: str
    """Code such as ``S0024``; ``schedc explain S0024`` describes it."""
    severity: str
    """Severity, such as ``error``, ``warning`` or ``note``."""
    message: str
    """The problem."""
    help: str | None
    """The correction in words."""
    line: int | None
    """First line of the finding."""
    column: int | None
    """First column of the finding, in its first line."""
    end_line: int | None
    """Last line of the finding."""
    end_column: int | None
    """Column after the end of the finding, in its last line."""
    notes: tuple[str, ...]
    """Further notes, such as the loops at this point."""

    @staticmethod
    def _of(value: dict[str, Any]) -> Finding:
        place = value.get("place") or {}
        return Finding(
            code=value["code"],
            severity=value["severity"],
            message=value["message"],
            help=value.get("help"),
            line=place.get("line"),
            column=place.get("column"),
            end_line=place.get("end_line"),
            end_column=place.get("end_column"),
            notes=tuple(value.get("notes") or ()),
        )

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line is not None else ""
        return f"{place}{self.severity}: {self.code}: {self.message}"


class Findings(Sequence[Finding]):
    """Findings in the order of the text. ``str`` shows them with the source lines; a notebook shows them in
    colour."""

    def __init__(self, found: str, text: str, color: str) -> None:
        self._all = [Finding._of(value) for value in json.loads(found or "[]")]
        self._text, self._color = text, color

    @staticmethod
    def of_text(message: str, code: str) -> Findings:
        """Findings with one error, with this message and code."""
        found = Findings("[]", message, message)
        found._all = [Finding(code, "error", message, None, None, None, None, None, ())]
        return found

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> list[Finding]: ...
    def __getitem__(self, at: int | slice) -> Finding | list[Finding]:
        return self._all[at]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._all)

    @property
    def errors(self) -> list[Finding]:
        """The errors, which stop a compilation."""
        return [finding for finding in self if finding.severity == "error"]

    def __str__(self) -> str:
        return self._text.rstrip()

    def __repr__(self) -> str:
        return f"Findings({self._all!r})"

    def _repr_html_(self) -> str:
        return html_of_ansi(self._color) if self._all else "<pre>no findings</pre>"


class Refused(ValueError):
    """Rows, a model, a schedule or an option that schedc refuses. ``findings`` has the errors and their help.

    ``code`` is that of a text; ``schedc explain`` describes it.
    """

    findings: Findings

    def __init__(self, findings: Findings | str, code: str = "U0001") -> None:
        super().__init__(str(findings))
        self.findings = findings if isinstance(findings, Findings) else Findings.of_text(findings, code)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), str(self)), vars(self)

    def _render_traceback_(self) -> list[str]:
        """A notebook shows the message in colour, without a traceback."""
        return self.findings._color.rstrip().splitlines()


class Unsupported(Refused, TypeError):
    """A type of rows, an estimator or an option of one that schedc does not support."""

    def __init__(self, findings: Findings | str, code: str = "M0040") -> None:
        super().__init__(findings, code)


def public(error: ValueError) -> Refused:
    """The public error for one of the native part or of NumPy."""
    return error if isinstance(error, Refused) else Refused(str(error))


def _restored(kind: type[Refused], message: str) -> Refused:
    """An unpickled error. Its attributes follow."""
    return kind.__new__(kind, message)


_COLORS = {"31": "#c0392b", "32": "#27803b", "33": "#a66a00", "34": "#2257b5", "35": "#8e3aa8",
           "36": "#0f7b86", "90": "#777"}


def html_of_ansi(text: str) -> str:
    """Text with a terminal's colour codes as HTML."""
    made, depth = [], 0
    for piece in re.split(r"(\x1b\[[0-9;]*m)", text):
        if not piece.startswith("\x1b["):
            made.append(html.escape(piece))
            continue
        numbers = piece[2:-1].split(";")
        if numbers in (["0"], [""]):
            made.append("</span>" * depth)
            depth = 0
            continue
        styles = [f"color:{_COLORS[number]}" for number in numbers if number in _COLORS]
        if numbers[:2] == ["38", "5"] and len(numbers) == 3:
            styles = [f"color:{_indexed(int(numbers[2]))}"]
        elif "1" in numbers:
            styles.append("font-weight:bold")
        made.append(f'<span style="{";".join(styles)}">')
        depth += 1
    return f'<pre style="line-height:1.25">{"".join(made)}{"</span>" * depth}</pre>'


def _indexed(number: int) -> str:
    """A colour of a terminal's palette of 256."""
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return f"rgb({level},{level},{level})"
    if number >= 16:
        parts = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
        red, green, blue = (0 if part == 0 else 55 + 40 * part for part in parts)
        return f"rgb({red},{green},{blue})"
    return _COLORS.get(str(30 + number % 8), "#333")
