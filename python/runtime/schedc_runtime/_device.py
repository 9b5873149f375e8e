"""Libraries of arrays in a GPU's memory: the stream in which they work, and the arrays that they take back.

No library is imported here: whoever has such an array has imported it.

"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

#: The libraries whose own arrays calls return, and the stream in which each works on the GPU of an array.
_LIBRARIES: dict[str, Callable[[Any, Any], Any]] = {
    "torch": lambda torch, rows: torch.cuda.current_stream(rows.device),
    "cupy": lambda cupy, rows: cupy.cuda.get_current_stream(rows.device.id),
}


def _name_of(rows: Any) -> str | None:
    """The name of the library that made an array; None if it is not known, or is not imported."""
    names = (kind.__module__.partition(".")[0] for kind in type(rows).__mro__)
    return next((name for name in names if name in _LIBRARIES and name in sys.modules), None)


def stream_of(rows: Any) -> Any:
    """The stream of a call on rows: that in which their library works, or else the one that the rows name.
    None if they name none."""
    name = _name_of(rows)
    if name is not None:
        return _LIBRARIES[name](sys.modules[name], rows)
    about = getattr(rows, "__cuda_array_interface__", None)
    return None if about is None else about.get("stream")


def returned(result: Any, rows: Any) -> Any:
    """Results as an array of the library that made the rows, without a copy."""
    name = _name_of(rows)
    return result if name is None else sys.modules[name].from_dlpack(result)
