""":mod:`schedc_runtime.mlflow` under the name of the package schedc."""

from schedc_runtime.mlflow import *  # noqa: F403
