"""Compilations in background threads, which end before the interpreter does."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from . import _native
from .findings import refused

#: The compilations whose threads run.
_running: set[Compilation] = set()
#: Held while `_running` changes.
_changing = threading.Lock()


class Compilation:
    """A compilation in a background thread. It gives its artefact to `model`, unless that was freed."""

    def __init__(
        self, native: _native.Compilation, model: Any, install: Callable[[Any, _native.Artefact], None]
    ) -> None:
        self._native, self._install = native, install
        self._model = weakref.ref(model, lambda _: native.cancel())
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="schedc-compile", daemon=True)
        with _changing:
            _running.add(self)
        self._thread.start()

    def _run(self) -> None:
        try:
            made = self._native.finish()
            model = self._model()
            if model is not None:
                self._install(model, made)
        except _native.Refused as error:
            self._failure = refused(error)
        except Exception as error:  # noqa: BLE001: `wait` raises it
            self._failure = error
        finally:
            with _changing:
                _running.discard(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the compilation is done, for at most this number of seconds. Returns whether it is.

        Raises the error of a compilation that failed.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def end(self) -> None:
        """Waits until the thread has ended, whether the compilation failed or not."""
        self._thread.join()

    def cancel(self) -> None:
        """Ends the compilation at its next stage."""
        self._native.cancel()


def _all() -> list[Compilation]:
    with _changing:
        return list(_running)


def _end() -> None:
    """Ends all compilations: LLVM must not run while the interpreter unloads it."""
    for compilation in _all():
        compilation.cancel()
    for compilation in _all():
        compilation.end()


def _before_fork() -> None:
    """Waits for all compilations before a fork: the child process lacks their threads, so locks that a thread
    holds would never be released."""
    for compilation in _all():
        compilation.end()


atexit.register(_end)
os.register_at_fork(before=_before_fork)
