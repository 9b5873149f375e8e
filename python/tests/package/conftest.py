"""Fixtures for the tests of the package `schedc`: rows and models."""

import functools
import zlib

import numpy
import pytest
import schedc
from releases import lacks_missing_values
from shares import is_nightly


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Skips tests that fit an object on missing values where the installed release takes none."""
    try:
        return (yield)
    except ValueError as error:
        if (reason := lacks_missing_values(error)) is not None:
            pytest.skip(reason)
        raise


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A cache of compiled code for these tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCHEDC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def gpu_folder(tmp_path_factory):
    """The folder of a driver for GPUs, and of its kernels. A process loads one driver."""
    return tmp_path_factory.mktemp("gpu")


@pytest.fixture(autouse=True)
def effort(request, monkeypatch):
    """Two thirds of the cases of each list compile with `effort="fast"`, unless they name another effort. The
    others, and each night all, compile with full effort."""
    name = request.node.name
    if "[" in name and zlib.crc32(name.encode()) % 3 and not is_nightly():
        monkeypatch.setattr(schedc, "compile", functools.partial(schedc.compile, effort="fast"))


@pytest.fixture(scope="session")
def rows():
    """Rows of eight features, a tenth of them missing."""
    source = numpy.random.default_rng(7)
    made = source.normal(size=(400, 8)).astype("float32")
    made[source.random(made.shape) < 0.1] = numpy.nan
    return made


@pytest.fixture(scope="session")
def target(rows):
    """A number for each row that depends on its features."""
    return numpy.nan_to_num(rows) @ numpy.arange(1, 9) + numpy.nan_to_num(rows[:, 0]) ** 2


@pytest.fixture(scope="session")
def classes(target):
    """One of three texts for each row."""
    return numpy.array(["ant", "bee", "cat"])[numpy.digitize(target, [-6, 6])]
