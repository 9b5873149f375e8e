""":mod:`schedc_runtime.ray` under the name of the package schedc."""

from schedc_runtime.ray import *  # noqa: F403
