"""PyTorch and CuPy, whose arrays may be in a GPU's memory: their current stream, and results as their arrays.

No library is imported here: a caller that has such an array has imported its library.

"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

#: By library, a function that returns the library's current stream on the GPU of an array. Calls on arrays of
#: these libraries return the same kind of array.
_LIBRARIES: dict[str, Callable[[Any, Any], Any]] = {
    "torch": lambda torch, rows: torch.cuda.current_stream(rows.device),
    "cupy": lambda cupy, rows: cupy.cuda.get_current_stream(rows.device.id),
}


def _name_of(rows: Any) -> str | None:
    """The name of an array's library; None if it is not in ``_LIBRARIES`` or not imported."""
    names = (kind.__module__.partition(".")[0] for kind in type(rows).__mro__)
    return next((name for name in names if name in _LIBRARIES and name in sys.modules), None)


def stream_of(rows: Any) -> Any:
    """The stream of a call on rows: the current stream of their library, or else the stream that the rows
    name. None if they name none."""
    name = _name_of(rows)
    if name is not None:
        return _LIBRARIES[name](sys.modules[name], rows)
    about = getattr(rows, "__cuda_array_interface__", None)
    return None if about is None else about.get("stream")


def returned(result: Any, rows: Any) -> Any:
    """Converts results to an array of the rows' library, without a copy."""
    name = _name_of(rows)
    return result if name is None else sys.modules[name].from_dlpack(result)
