"""The program ``schedc``: the command line, which the compiler's module contains."""

from __future__ import annotations

import os
import sys
import sysconfig


def main() -> int:
    """Runs the command line of this process and returns the exit status."""
    from . import _native

    own = os.path.abspath(sys.argv[0])
    if own.endswith(".py") or not os.access(own, os.X_OK):
        own = os.path.join(sysconfig.get_path("scripts"), "schedc")
    return _native.run_program(["schedc", *sys.argv[1:]], own)
