"""Calls libraries of ``schedc build`` on arrays.

    >>> import numpy, schedc_runtime
    >>> model = schedc_runtime.load("model.so")
    >>> model.predict(numpy.zeros((2, model.num_features), dtype="float32"))
    array([0.91..., 0.91...], dtype=float32)

Such a library needs neither schedc nor LLVM to run.

"""

from ._native import DeviceArray, Model, SchedcError, load
from .batch import BatchPredictor
from .findings import Refused

__all__ = ["BatchPredictor", "DeviceArray", "Model", "Refused", "SchedcError", "load"]

_ENGINES = ("dask", "mlflow", "mlserver", "ray", "spark", "triton")


def __getattr__(name: str) -> object:
    """Loads the modules for Spark, Dask and the like on first use, since they need optional packages."""
    if name in _ENGINES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
