"""Compiles decision forests to fast predictors, as a schedule says.

    >>> import schedc
    >>> model = schedc.compile("model.json")
    >>> model.predict(rows)
    array([0.99..., 0.01...], dtype=float32)

A model is a file of XGBoost, LightGBM, CatBoost, ONNX or Treelite, or an object that one of these or scikit-learn has fitted.
What the object's own ``predict`` returns, the compiled model returns.
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
    """What ``%load_ext schedc`` does: the cell magic ``%%sched``."""
    from .magic import Magics

    shell.register_magics(Magics)  # type: ignore[attr-defined]
