""":mod:`schedc_runtime.spark` under the name of the package schedc."""

from schedc_runtime.spark import *  # noqa: F403
