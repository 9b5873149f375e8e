"""Ray on this machine: a node with two processors, and workers in separate processes."""

import os
from pathlib import Path

import pytest
from conftest import EXAMPLES, agree
from dying import Dying, Level
from schedc_runtime import BatchPredictor
from schedc_runtime import ray as schedc_ray

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")
HERE = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR",
             runtime_env={"env_vars": {"PYTHONPATH": HERE}})
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def collected(dataset):
    import pyarrow

    return pyarrow.concat_tables(ray.get(dataset.to_arrow_refs()))


def test_all_rows(cluster, library, rows, expected):
    scored = schedc_ray.predict(ray.data.read_parquet(str(rows)), BatchPredictor(library, keep=["id"]))
    agree(collected(scored), expected)


def test_a_worker_that_is_killed(cluster, library, rows, expected, once):
    dying = Dying(library, keep=["id"]).dies(once, len(expected) // 2)
    agree(collected(schedc_ray.predict(ray.data.read_parquet(str(rows)), dying)), expected)
    assert not once.exists()


def test_mixed_processors(cluster, library, tmp_path):
    frame = ray.data.read_parquet(str(EXAMPLES / "model/rows.parquet"))
    levels = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
    predictor = Level(library, keep=["sample"]).logs(tmp_path)
    found = [
        collected(schedc_ray.predict(frame, predictor,
                                     runtime_env={"env_vars": {"SCHEDC_CPU": level, "PYTHONPATH": HERE}}))
        for level in levels
    ]
    assert found[0] == found[1] == found[2] and found[0].num_rows == 171
    assert {path.read_text() for path in tmp_path.iterdir()} == set(levels)


def test_workers_of_their_own(cluster, library):
    frame = ray.data.read_parquet(str(EXAMPLES / "model/rows.parquet"))
    predictor = BatchPredictor(library, keep=["sample"])
    pool = schedc_ray.predict(frame, predictor, compute=ray.data.ActorPoolStrategy(size=1))
    assert collected(pool) == collected(schedc_ray.predict(frame, predictor))


def test_names_are_checked(cluster, library):
    frame = ray.data.from_items([{"mean_radius": 1.0}])
    with pytest.raises(Exception, match='"mean_radius" may stand for "mean radius"'):
        schedc_ray.predict(frame, BatchPredictor(library)).materialize()
