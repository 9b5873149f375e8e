"""The cell magic ``%%sched`` of notebooks."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics as _Magics
from IPython.core.magic import cell_magic, magics_class
from IPython.display import display

from .findings import Refused
from .schedule import Schedule


@magics_class
class Magics(_Magics):
    """``%%sched [NAME] [MODEL]`` checks the cell and shows its nest. NAME stores it in a variable; MODEL is a
    variable or a file."""

    @cell_magic
    def sched(self, line: str, cell: str) -> None:
        """Checks a cell as a schedule."""
        words = line.split()
        if len(words) > 2:
            raise Refused("write %%sched, %%sched NAME or %%sched NAME MODEL")
        schedule = Schedule(cell)
        known: dict[str, Any] = self.shell.user_ns if self.shell is not None else {}
        model = None
        if len(words) == 2:
            model = known.get(words[1], words[1])
        if words:
            known[words[0]] = schedule
        findings = schedule.check(model)
        if len(findings):
            display(findings)  # type: ignore[no-untyped-call]
        if not findings.errors:
            display(schedule.nest(model))  # type: ignore[no-untyped-call]
