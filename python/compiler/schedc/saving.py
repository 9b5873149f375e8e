"""Files of compiled libraries."""

from __future__ import annotations

import errno
import os
import threading
from os import PathLike
from pathlib import Path

from . import _native
from .findings import Refused

#: Endings of models' files.
MODELS = {f".{ending}" for ending in (*_native.model_endings(), "deprecated", "cbm")}
#: Endings of files with pickled objects.
PICKLES = {".pkl", ".pickle", ".joblib"}
#: Endings of files that are no libraries.
_OTHER_FILES = MODELS | PICKLES | {
    ".csv", ".parquet", ".npy", ".npz", ".h", ".sched", ".toml", ".yaml", ".yml", ".zip", ".md", ".py",
}

#: Endings of libraries and programs of Windows and macOS.
_FOREIGN = {".dll", ".dylib", ".lib", ".obj", ".pyd", ".bundle", ".exe"}


def checked_path(path: str | PathLike[str]) -> Path:
    """The path of a library's file. Raises Refused if the name has the ending of another kind of file."""
    place = Path(path)
    if place.suffix.lower() in _FOREIGN:
        raise Refused(
            f"{place} would be a shared library of Linux under the name of another kind of file: name it "
            f"{place.with_suffix('.so')}; on Windows and macOS, load it in a container of Linux"
        )
    if place.suffix.lower() in _OTHER_FILES:
        raise Refused(
            f"{place} would be a shared library under the name of another kind of file: name it "
            f"{place.with_suffix('.so')}; the object that was compiled saves the model itself"
        )
    return place


def write_library(place: Path, content: bytes) -> None:
    """Writes a library. An existing file is replaced atomically.

    Raises IsADirectoryError for a folder, and FileNotFoundError if the file's folder does not exist.
    """
    if place.is_dir():
        advice = "this is a folder: give the name of a file in it"
        raise IsADirectoryError(errno.EISDIR, advice, str(place))
    if not place.parent.exists():
        advice = f"there is no folder {place.parent}: make it first"
        raise FileNotFoundError(errno.ENOENT, advice, str(place))
    beside = place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(beside, place)
    except BaseException:
        os.unlink(beside)
        raise
