"""Compiles decision forests to fast predictors, under a schedule.

    >>> import schedc
    >>> model = schedc.compile("model.json")
    >>> model.predict(rows)
    array([0.99..., 0.01...], dtype=float32)

A model is a file of XGBoost, LightGBM, CatBoost, ONNX or Treelite, or a fitted object of one of these or of
scikit-learn. The compiled model returns the same values as the object's own ``predict``.

"""

from schedc_runtime import BatchPredictor, SchedcError

from ._compile import compile, load
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
    "format",
    "load",
    "nest",
]

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """Registers the cell magic ``%%sched``; the hook of ``%load_ext schedc``."""
    from .magic import Magics

    shell.register_magics(Magics)  # type: ignore[attr-defined]
