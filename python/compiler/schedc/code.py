"""The library of a compiled model, and the arguments of its compilation."""

from __future__ import annotations

from typing import NamedTuple

from ._native import Artefact


class Recipe(NamedTuple):
    """The arguments of :func:`schedc.compile` that a model keeps."""

    schedule: str | None
    cpu: tuple[str, ...]
    rows: str
    base_margin: bool
    target: str | None
    sets: tuple[tuple[str, int], ...]
    batch_size: int | None
    lock: str | None = None
    locked: bool = False
    frozen: bool = True
    effort: str = "full"
    cache: bool = True


class Code(NamedTuple):
    """A library, and the compiler's report about it."""

    library: bytes
    header: str | None = None
    schedules: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[str, str, str] = ("[]", "", "")

    @classmethod
    def of(cls, made: Artefact) -> Code:
        """The library and the report of an artefact."""
        return cls(made.library, made.header, tuple(made.schedules), tuple(made.notes), made.findings)
