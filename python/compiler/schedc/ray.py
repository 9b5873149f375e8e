""":mod:`schedc_runtime.ray`, by the name of the whole package."""

from schedc_runtime.ray import *  # noqa: F403
