""":mod:`schedc_runtime.dask` under the name of the package schedc."""

from schedc_runtime.dask import *  # noqa: F403
