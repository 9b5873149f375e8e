"""The language of schedules: checks, the loop nest, the formatter."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from . import _native
from .arguments import check_options
from .findings import Findings, Refused, refused
from .fitted import source_of


class Schedule(str):
    """The text of a schedule. A notebook shows it beside its loop nest.

    >>> schedule = schedc.Schedule("tile(batch, b0, b1, 64)\\n")
    >>> print(schedule.nest())
    for b0 in 0..n_rows step 64
    ...
    """

    def check(self, model: Any = None, **options: Any) -> Findings:
        """:func:`schedc.check` of the text."""
        return check(self, model, **options)

    def nest(self, model: Any = None, **options: Any) -> Nest:
        """:func:`schedc.nest` of the text."""
        return nest(self, model, **options)

    def _repr_html_(self) -> str:
        text = f'<pre style="margin-right:2em">{html.escape(self)}</pre>'
        findings = self.check()
        picture = findings._repr_html_() if findings.errors else self.nest()._repr_html_()
        return f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{text}{picture}</div>'


class Nest:
    """The loop nest of a schedule. ``str`` gives its text; a notebook draws it."""

    def __init__(self, text: str, tree: Any) -> None:
        self._text = text
        self.tree: Any = tree
        """The nest as plain data: what ``schedc show nest --json`` prints."""

    def __str__(self) -> str:
        return self._text.rstrip()

    def __repr__(self) -> str:
        return f"<Nest\n{self}>"

    def _repr_html_(self) -> str:
        return _boxes(self._text)


def values_of(sets: Mapping[str, int] | None, target: str | None, batch_size: int | None) -> _native.Values:
    """Values for a schedule, in the form that the native part takes. Raises TypeError for values of the wrong
    type, and Refused if ``batch_size`` is below 1."""
    check_options(sets=sets, target=target, batch_size=batch_size)
    if batch_size is not None and batch_size < 1:
        raise Refused(f"batch_size is a number of rows from 1 on, not {batch_size}")
    return {"sets": list((sets or {}).items()), "target": target, "batch_size": batch_size}


def _bytes_of(model: Any) -> bytes | None:
    return None if model is None else source_of(model)[1].model


def check(
    text: str | PathLike[str],
    model: Any = None,
    *,
    sets: Mapping[str, int] | None = None,
    target: str | None = None,
    batch_size: int | None = None,
) -> Findings:
    """Checks a schedule: its text, or the path of its file.

    ``model`` is as for :func:`schedc.compile`; without one, the numbers of trees and features stay symbolic.
    ``sets`` overrides the values of ``param``s, ``target`` overrides the ``target`` line, and ``batch_size``
    is the largest number of rows per run.

    Returns the findings, if any. Raises :class:`Refused` for a model that cannot be read.

    """
    try:
        return Findings(*_native.check(schedule_text(text), _bytes_of(model),
                                       values_of(sets, target, batch_size)))
    except _native.Refused as error:
        raise refused(error) from None


def nest(
    text: str | PathLike[str],
    model: Any = None,
    *,
    sets: Mapping[str, int] | None = None,
    target: str | None = None,
    batch_size: int | None = None,
) -> Nest:
    """The loop nest of a schedule; the arguments are those of :func:`check`.

    Raises :class:`Refused` if the schedule has errors.
    """
    try:
        shown, tree = _native.nest(schedule_text(text), _bytes_of(model), values_of(sets, target, batch_size))
    except _native.Refused as error:
        raise refused(error) from None
    return Nest(shown, json.loads(tree))


def format(text: str | PathLike[str]) -> Schedule:
    """The canonical layout of a schedule. Raises :class:`Refused` for one with syntax errors."""
    text = schedule_text(text)
    made = _native.format(text)
    if made is None:
        found = check(text)
        raise refused(_native.Refused(json.dumps([]), str(found), found._color))
    return Schedule(made)


#: Words that are values of options, with the option, for the message if one is given as a schedule.
_OPTION_OF = {"background": "effort", "fast": "effort", "full": "effort", "cpu": "target", "gpu": "target"}


def schedule_text(schedule: str | PathLike[str]) -> str:
    """The text of a schedule, or of the named file.

    Raises Refused for the value of another option.
    """
    option = _OPTION_OF.get(schedule.strip()) if isinstance(schedule, str) else None
    if option is not None:
        raise Refused(f"{schedule!r} is no schedule: give {option}={schedule!r}")
    is_name = isinstance(schedule, str) and not isinstance(schedule,
                                                           Schedule) and schedule.strip().endswith(".sched")
    if is_name or isinstance(schedule, PathLike):
        return Path(schedule).read_text(encoding="utf-8")
    return str(schedule)


_SHADES = ("#eef4fb", "#e3f3e6", "#fdf3df", "#f6e9f7", "#fbe9e7", "#e8f6f6")


def _boxes(text: str) -> str:
    """A nest drawn as nested boxes, from its indented text."""
    made: list[str] = []
    depth = 0
    for line in text.rstrip().splitlines():
        level = (len(line) - len(line.lstrip())) // 2
        made.extend(["</div>"] * (depth - level))
        depth = min(depth, level)
        text = html.escape(line.strip()) or "&nbsp;"
        label = f'<div style="white-space:pre;font-family:monospace">{text}</div>'
        if line.lstrip().startswith(("for ", "parallel ", "when ", "otherwise")):
            shade = _SHADES[level % len(_SHADES)]
            made.append(f'<div style="background:{shade};color:#222;border:1px solid '
                        '#9ab;border-radius:4px;padding:3px 8px;margin:2px">')
            depth = level + 1
        made.append(label)
    made.extend(["</div>"] * depth)
    return f'<div style="display:inline-block">{"".join(made)}</div>'
