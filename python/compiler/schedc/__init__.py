"""Compiles decision forests to fast predictors, under a schedule.

    >>> import schedc
    >>> model = schedc.compile("model.json")
    >>> model.predict(rows)
    array([0.99..., 0.01...], dtype=float32)

A model is a file of XGBoost, LightGBM, CatBoost, ONNX or Treelite, or a fitted object of one of these or of
scikit-learn. The compiled model returns the same values as the object's own ``predict``.

"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedc_runtime import BatchPredictor, SchedcError

    from ._compile import compile, load
    from .exporter.export import export
    from .findings import Difference, Finding, Findings, Refused
    from .model import Model
    from .schedule import Nest, Schedule, check, format, nest

__all__ = [
    "BatchPredictor",
    "Difference",
    "Finding",
    "Findings",
    "Model",
    "Nest",
    "Refused",
    "SchedcError",
    "Schedule",
    "check",
    "compile",
    "export",
    "format",
    "load",
    "nest",
]

__version__ = "0.1.0"

#: The module of each public name. Modules are imported on first use, since the program ``schedc`` needs
#: neither these modules nor NumPy.
_HOMES = {
    "BatchPredictor": "schedc_runtime", "SchedcError": "schedc_runtime", "compile": "schedc._compile",
    "load": "schedc._compile", "export": "schedc.exporter",
    "Difference": "schedc.findings", "Finding": "schedc.findings",
    "Findings": "schedc.findings", "Refused": "schedc.findings", "Model": "schedc.model",
    "Nest": "schedc.schedule", "Schedule": "schedc.schedule", "check": "schedc.schedule",
    "format": "schedc.schedule", "nest": "schedc.schedule",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """Registers the cell magic ``%%sched``; the hook of ``%load_ext schedc``."""
    from .magic import Magics

    shell.register_magics(Magics)  # type: ignore[attr-defined]
