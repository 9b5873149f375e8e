"""The libraries that this process has loaded."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from ._native import Model, load

#: Maximum number of libraries that a process keeps loaded.
_MOST_LOADED = 16
_loaded: OrderedDict[str, Model] = OrderedDict()
_loading = threading.Lock()


def digest_of(library: bytes) -> str:
    """The digest by which processes know a library."""
    return hashlib.sha256(library).hexdigest()


def model_of(digest: str, library: bytes) -> Model:
    """The model of a library, loaded once in each process."""
    with _loading:
        model = _loaded.get(digest)
        if model is None:
            model = _loaded[digest] = load(library)
        _loaded.move_to_end(digest)
        while len(_loaded) > _MOST_LOADED:
            _loaded.popitem(last=False)
        return model


def bytes_of(model: Model) -> bytes:
    """A model's library, in the form that pickles contain."""
    library: bytes = model.__reduce__()[1][0]  # type: ignore[assignment]
    return library
