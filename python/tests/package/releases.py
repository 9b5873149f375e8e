"""Objects that only later releases of a package make. Tests that use such an object are skipped elsewhere."""

import importlib.metadata
import pathlib
import re
import traceback

import pytest
import schedc
from sklearn.base import BaseEstimator

PACKAGE = pathlib.Path(schedc.__file__).parent


def has(version, package="scikit-learn"):
    """Whether the installed package is this release or a later one."""
    parts = [tuple(map(int, re.findall(r"[0-9]+", text)[:2]))
             for text in (importlib.metadata.version(package), version)]
    return parts[0] >= parts[1]


def since(version, make, package="scikit-learn"):
    """Returns what `make()` returns, or for older releases of the package an estimator whose `fit` skips the
    test."""
    return make() if has(version, package) else Lacking(f"{package} before {version}")


def needs(version, package="scikit-learn"):
    """A mark of tests that need this release of the package."""
    return pytest.mark.skipif(not has(version, package), reason=f"{package} before {version}")


def lacks_missing_values(error):
    """The reason to skip a test whose own call of `fit` raised this error: forests take missing values since
    scikit-learn 1.4, extra trees and isolation forests since 1.6. None for other errors."""
    refused = re.search(r"\w+ does not accept missing values", str(error))
    frames = traceback.extract_tb(error.__traceback__)
    is_fitting = any(each.name == "fit" for each in frames)
    # Errors during schedc's own calls are failures.
    is_fitting &= not any(pathlib.Path(each.filename).is_relative_to(PACKAGE) for each in frames)
    return f"{refused[0]} before scikit-learn 1.6" if refused and is_fitting and not has("1.6") else None


def frozen(*estimators):
    """The estimators as `FrozenEstimator`; none where scikit-learn lacks it."""
    if not has("1.6"):
        return []
    from sklearn.frozen import FrozenEstimator

    return [FrozenEstimator(one) for one in estimators]


class Lacking(BaseEstimator):
    """An estimator that the installed release lacks, alone or as a part of others."""

    def __init__(self, reason):
        self.reason = reason

    def fit(self, *_rows, **_options):
        pytest.skip(self.reason)

    fit_transform = transform = predict = fit
