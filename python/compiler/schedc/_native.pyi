from typing import TypedDict, final

class Refused(ValueError):
    """What is wrong: its arguments are findings as JSON, as text and as coloured text."""

class Values(TypedDict):
    """Values for a schedule; there is no such class when programs run."""

    sets: list[tuple[str, int]]
    target: str | None
    batch_size: int | None

@final
class Artefact:
    """A library, and what there is to say of it."""

    library: bytes
    header: str
    schedules: list[tuple[str, str, str]]
    notes: list[str]
    findings: tuple[str, str, str]
    miss: str | None
    probes: tuple[bytes, float] | None

def build(
    model: bytes,
    *,
    values: Values,
    name: str = ...,
    schedule: str | None = None,
    cpu: list[str] = ...,
    rows: str = "both",
    missing: float | None = None,
    base_margin: bool = False,
    iterations: str = "all",
    as_release: str | None = None,
    feature_names: list[str] = [],
    lock: str | None = None,
    locked: bool = False,
    frozen: bool = True,
    encoded: list[tuple[int, list[int] | list[str]]] = ...,
    probes: bool = False,
) -> Artefact:
    """Compiles the bytes of a model's file to a shared library."""

def difference(message: str, notes: list[str], help: str) -> tuple[str, str, str]:
    """Findings about a compiled model that differs from its object, as JSON, as text and as coloured text."""

def check(
    text: str,
    model: bytes | None,
    values: Values,
) -> tuple[str, str, str]:
    """Checks a schedule: the findings as JSON, as text and as coloured text."""

def nest(
    text: str,
    model: bytes | None,
    values: Values,
) -> tuple[str, str]:
    """The loop nest of a schedule, as text and as JSON."""

def format(text: str) -> str | None:
    """The canonical layout of a schedule; None if it has syntax errors."""
