"""The cell magic ``%%sched`` of notebooks."""

from __future__ import annotations

from IPython.core.magic import Magics as _Magics
from IPython.core.magic import cell_magic, magics_class
from IPython.display import display

from .schedule import Schedule


@magics_class
class Magics(_Magics):  # type: ignore[misc]
    """``%%sched [NAME] [MODEL]`` checks the cell and shows its nest; NAME keeps it, MODEL is a variable or a file."""

    @cell_magic  # type: ignore[untyped-decorator]
    def sched(self, line: str, cell: str) -> None:
        """Checks a cell as a schedule."""
        words = line.split()
        if len(words) > 2:
            raise ValueError("write %%sched, %%sched NAME or %%sched NAME MODEL")
        schedule = Schedule(cell)
        model = None
        if len(words) == 2:
            model = self.shell.user_ns.get(words[1], words[1])
        if words:
            self.shell.user_ns[words[0]] = schedule
        findings = schedule.check(model)
        if len(findings):
            display(findings)
        if not findings.errors:
            display(schedule.nest(model))
