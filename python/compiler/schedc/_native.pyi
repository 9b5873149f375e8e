from typing import Any, TypedDict, final

class Refused(ValueError):
    """The error of a compilation. Its arguments are the findings as JSON, as text and as coloured text."""

class Values(TypedDict):
    """Values for a schedule; this class does not exist at run time."""

    sets: list[tuple[str, int]]
    target: str | None
    batch_size: int | None

@final
class Artefact:
    """A library, and the compiler's report about it."""

    library: bytes
    header: str
    schedules: list[tuple[str, str, str]]
    notes: list[str]
    findings: tuple[str, str, str]
    warnings: list[str]
    probes: tuple[bytes, float] | None

class Keywords(TypedDict):
    """The options of a compilation; this class does not exist at run time."""

    values: Values
    name: str
    schedule: str | None
    cpu: list[str]
    rows: str
    missing: float | None
    base_margin: bool
    iterations: str
    as_release: str | None
    feature_names: list[str]
    lock: str | None
    locked: bool
    frozen: bool
    encoded: list[tuple[int, list[int] | list[str]]]
    probes: bool
    object: str
    output: str
    effort: str
    cache: bool

@final
class Compilation:
    """The compilation of a model: its library if the cache has it, otherwise a model that predicts until the
    library is compiled.
    """

    def walker(self) -> Any:
        """A capsule for ``schedc_runtime``; None if the cache has the library."""

    def probes(self) -> tuple[bytes, float] | None:
        """Rows for a comparison with the model's object, if they were requested."""

    def finish(self) -> Artefact:
        """Compiles the model."""

    def cancel(self) -> None:
        """Ends the compilation at its next stage."""

def build(model: bytes, keywords: Keywords) -> Artefact:
    """Compiles the bytes of a model's file to a shared library."""

def begin(model: bytes, keywords: Keywords) -> Compilation:
    """Begins to compile the bytes of a model's file."""

def difference(message: str, notes: list[str], help: str) -> tuple[str, str, str]:
    """Findings about a compiled model whose predictions differ from its object's: JSON, text, coloured text.
    """

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

def model_endings() -> list[str]:
    """The endings of models' file names, without the dot."""
