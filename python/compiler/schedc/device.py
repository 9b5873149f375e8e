"""Rows in a GPU's memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import schedc_runtime
from schedc_runtime import _native
from schedc_runtime._gpu_tables import is_gpu_table
from schedc_runtime.batch import is_frame

from .findings import Refused

__all__ = ["is_on_gpu", "predict_on_gpu", "refuse_gpu"]


def is_on_gpu(X: Any) -> bool:
    """Whether rows are an array in a GPU's memory. Frames are none, and take long to say that they lack an
    attribute."""
    return not is_frame(X) and _native.is_on_gpu(X)


def predict_on_gpu(
    native: schedc_runtime.Model, X: Any, output: Any, out: Any, more: Mapping[str, Any]
) -> Any:
    """Predicts the rows of an array in a GPU's memory; the result is in the same memory.

    Raises Refused for options that only tables have.
    """
    for option in ("columns", "unseen", "categories"):
        if more[option] is not None:
            raise Refused(f"{option}= is for tables, and for arrays in the host's memory")
    options = {name: more[name] for name in ("threads", "base_margin", "device", "stream")}
    return native.predict(X, output, out=out, **options)


def refuse_gpu(X: Any) -> None:
    """Raises TypeError for rows in a GPU's memory, for methods that compute their results on the host."""
    if is_on_gpu(X) or is_gpu_table(X):
        raise TypeError(
            "rows are in a GPU's memory, but this method computes on the host: use predict with output= "
            '"value", "raw", "class" or "leaf", which computes on the GPU; or give rows in the host\'s '
            "memory, such as X.cpu().numpy() (PyTorch) or X.get() (CuPy)"
        )
