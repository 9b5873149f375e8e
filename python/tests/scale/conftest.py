"""Rows, libraries and clusters for the tests of engines. `SCHEDC` is the program, `EXAMPLES` the folder of
examples, and `SCALE_ROWS` the number of rows, by default ten million."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

EXAMPLES = Path(os.environ["EXAMPLES"])
SCHEDC = os.environ["SCHEDC"]
ROWS = int(os.environ.get("SCALE_ROWS", "10000000"))
SHARDS = 40

# Makes the tests' modules, and the interpreter with the packages, available to workers.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "model.so"
    levels = "x86-64-v2,x86-64-v3,x86-64-v4"
    subprocess.run([SCHEDC, "build", EXAMPLES / "model/breast_cancer.json", "-o", path, "--cpu", levels],
                   check=True,
                   capture_output=True)
    return path


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    """A folder of Parquet files, one for each shard, with an identifier, all features, and an unused
    column."""
    import pyarrow
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("rows") / "rows"
    folder.mkdir()
    known = pyarrow.parquet.read_table(EXAMPLES / "model/rows.parquet")
    names = known.schema.names[1:]
    names = [name for name in names if pyarrow.types.is_floating(known.schema.field(name).type)]
    known = numpy.stack([known[name].to_numpy() for name in names], axis=1).astype("float32")
    low, high = numpy.nanmin(known, axis=0), numpy.nanmax(known, axis=0)
    random = numpy.random.default_rng(7)
    for shard in range(SHARDS):
        first, last = ROWS * shard // SHARDS, ROWS * (shard + 1) // SHARDS
        values = random.random((len(names), last - first), dtype="float32")
        columns = {"id": pyarrow.array(numpy.arange(first, last)),
                   "note": pyarrow.nulls(last - first, pyarrow.string())}
        for at, name in enumerate(names):
            column = low[at] + values[at] * (high[at] - low[at])
            columns[name] = pyarrow.array(column.astype("float32"), mask=values[at] < 0.01)
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"part-{shard:03}.parquet",
                                    compression="snappy")
    return folder


@pytest.fixture(scope="session")
def expected(rows, tmp_path_factory):
    """The output of `schedc predict` for the rows."""
    path = tmp_path_factory.mktemp("expected") / "expected.npy"
    subprocess.run([SCHEDC, "predict", EXAMPLES / "model/breast_cancer.json", "-q", "-i", rows, "-o", path],
                   check=True)
    return numpy.load(path)


@pytest.fixture
def once(tmp_path):
    """A file that exists until the first worker removes it and kills itself."""
    path = tmp_path / "die"
    path.touch()
    return path


def agree(found, expected):
    """Whether a frame with the columns `id` and `prediction` has each row once, with the expected value."""
    ids = numpy.asarray(found["id"])
    assert len(ids) == len(expected)
    seen = numpy.zeros(len(expected), dtype=bool)
    seen[ids] = True
    assert seen.all()
    assert numpy.array_equal(numpy.asarray(found["prediction"], dtype="float32"), expected[ids])
