from typing import TypedDict, final

class Refused(ValueError):
    """A refusal; its arguments are findings as JSON, as text and as coloured text."""

class Values(TypedDict):
    """Values for a schedule; this class does not exist at run time."""

    sets: list[tuple[str, int]]
    target: str | None
    batch_size: int | None

@final
class Artefact:
    """A library with the compiler's report on it."""

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
    object: str = "",
    effort: str = "full",
    cache: bool = True,
) -> Artefact:
    """Compiles the bytes of a model's file to a shared library."""

def difference(message: str, notes: list[str], help: str) -> tuple[str, str, str]:
    """Findings about a compiled model whose predictions differ from its object's: JSON, text, coloured text."""

def check(
    text: str,
    model: bytes | None,
    values: Values,
) -> tuple[str, str, str]:
    """Checks a schedule; returns the findings as JSON, text and coloured text."""

def nest(
    text: str,
    model: bytes | None,
    values: Values,
) -> tuple[str, str]:
    """The loop nest of a schedule, as text and as JSON."""

def run_program(arguments: list[str], program: str) -> int:
    """Runs the command line ``schedc`` and returns the exit status."""

def format(text: str) -> str | None:
    """The canonical layout of a schedule; None if it has syntax errors."""
