""":mod:`schedc_runtime.dask`, by the name of the whole package."""

from schedc_runtime.dask import *  # noqa: F403
