""":mod:`schedc_runtime.mlflow`, by the name of the whole package."""

from schedc_runtime.mlflow import *  # noqa: F403
