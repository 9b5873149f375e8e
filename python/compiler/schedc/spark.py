""":mod:`schedc_runtime.spark`, by the name of the whole package."""

from schedc_runtime.spark import *  # noqa: F403
