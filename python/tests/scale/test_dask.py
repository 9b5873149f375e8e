"""Dask on this machine: a scheduler and workers in separate processes."""

import os
from pathlib import Path

import pytest
from conftest import EXAMPLES, agree
from dying import Dying, Level
from schedc_runtime import BatchPredictor, dask

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
HERE = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])


def test_without_a_cluster(library):
    frame = dd.read_parquet(EXAMPLES / "model/rows.parquet").repartition(npartitions=3)
    scored = dask.predict(frame, BatchPredictor(library, keep=["sample"]))
    assert list(scored.columns) == ["sample", "prediction"] and scored.dtypes["prediction"] == "float32"
    found = scored.compute(scheduler="sync")
    assert found["prediction"].tolist() == BatchPredictor(library)(
        frame.compute(scheduler="sync")
    )["prediction"].tolist()
    with pytest.raises(ValueError, match='lacks features of the model: "mean radius"'):
        dask.predict(frame.drop(columns=["mean radius"]), BatchPredictor(library))


@pytest.fixture(scope="module")
def client():
    # Workers differ in processor level, as on a cluster of several generations.
    kind = {"cls": distributed.Nanny}
    levels = ["x86-64-v2", "x86-64-v4"]
    workers = {
        level: {**kind, "options": {"nthreads": 1, "env": {"SCHEDC_CPU": level, "PYTHONPATH": HERE},
                                    "memory_limit": "4GiB"}}
        for level in levels
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard": False, "dashboard_address": ":0"}}
    with distributed.SpecCluster(workers, scheduler) as cluster, distributed.Client(cluster) as client:
        yield client


def test_all_rows_on_mixed_processors(client, library, rows, expected, tmp_path):
    predictor = Level(library, keep=["id"]).logs(tmp_path)
    agree(dask.predict(dd.read_parquet(rows), predictor, client=client).compute(), expected)
    assert {path.read_text() for path in tmp_path.iterdir()} >= {"x86-64-v2", "x86-64-v4"}


def test_a_worker_that_is_killed(client, library, rows, expected, once):
    dying = Dying(library, keep=["id"]).dies(once, len(expected) // 2)
    agree(dask.predict(dd.read_parquet(rows), dying).compute(), expected)
    assert not once.exists()
