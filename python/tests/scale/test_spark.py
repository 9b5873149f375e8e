"""Spark on this machine: a master and two workers in separate processes."""

import os
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import EXAMPLES, agree
from dying import Dying, Level
from schedc_runtime import BatchPredictor, spark

pyspark = pytest.importorskip("pyspark")
PYTHONPATH = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
LEVELS = ["x86-64-v2", "x86-64-v4"]


def settings(master):
    """The master URL for two executors of one core each, in separate processes that are restarted when they
    die."""
    return (
        pyspark.sql.SparkSession.builder.master(master).appName("schedc")
        .config("spark.ui.enabled", "false").config("spark.executor.memory",
                                                    "2g").config("spark.driver.memory", "4g")
        .config("spark.driver.maxResultSize", "2g").config("spark.sql.execution.arrow.pyspark.enabled",
                                                           "true")
        .config("spark.executorEnv.PYTHONPATH", PYTHONPATH)
    )


@pytest.fixture(scope="module")
def session():
    made = settings("local-cluster[2,1,2048]").getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


def collected(frame):
    return frame.toArrow()


def test_all_rows(session, library, rows, expected):
    frame = session.read.parquet(str(rows))
    scored = spark.predict(frame, BatchPredictor(library, keep=["id"]))
    assert scored.columns == ["id", "prediction"]
    agree(collected(scored), expected)


def test_a_worker_that_is_killed(session, library, rows, expected, once):
    dying = Dying(library, keep=["id"]).dies(once, len(expected) // 2)
    agree(collected(spark.predict(session.read.parquet(str(rows)), dying)), expected)
    assert not once.exists()


def test_columns_by_a_pandas_udf(session, library, expected):
    frame = session.read.parquet(str(EXAMPLES / "model/rows.parquet"))
    wanted = BatchPredictor(library).predict(frame.toArrow())["prediction"].to_pylist()
    found = frame.withColumn("p", spark.udf(BatchPredictor(library, keep=["sample"]))(frame)).toArrow()
    assert found["p"].to_pylist() == wanted
    leaves = frame.select(spark.udf(BatchPredictor(library, output="leaf"))(frame).alias("leaves")).toArrow()
    assert len(leaves["leaves"][0]) == 100


def test_names_are_checked_at_once(session, library):
    frame = session.read.parquet(str(EXAMPLES / "model/rows.parquet")).withColumnRenamed("mean radius",
                                                                                         "mean.radius")
    with pytest.raises(ValueError, match='"mean.radius" may stand for "mean radius"'):
        spark.predict(frame, BatchPredictor(library))
    renamed = BatchPredictor(library, {"mean radius": "mean.radius"}, keep=["sample"])
    wanted = BatchPredictor(library).predict(session.read.parquet(str(EXAMPLES
                                                                      / "model/rows.parquet")).toArrow())
    assert spark.predict(frame,
                         renamed).toArrow()["prediction"].to_pylist() == wanted["prediction"].to_pylist()
    assert frame.select(
        spark.udf(renamed)(frame).alias("p")
    ).toArrow()["p"].to_pylist() == wanted["prediction"].to_pylist()


@contextmanager
def mixed_cluster(folder):
    """The address of a master with two workers, started for processors of different levels."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    address = f"spark://127.0.0.1:{port}"
    # The cluster's web pages use any free port.
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    started = []

    def start(level, *words):
        environment = {**os.environ, "SCHEDC_CPU": level, "SPARK_WORKER_DIR": str(folder),
                       "SPARK_LOCAL_DIRS": str(folder)}
        started.append(subprocess.Popen([program, *words], env=environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL))

    try:
        start("", "org.apache.spark.deploy.master.Master", *common, "--port", str(port))
        for level in LEVELS:
            start(level, "org.apache.spark.deploy.worker.Worker", *common, "--cores", "1", "--memory", "3g",
                  address)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=60)


def test_mixed_processors(library, rows, expected, tmp_path):
    """The last test of this file, since a process has only one session at a time."""
    logs = tmp_path / "levels"
    logs.mkdir()
    if (other := pyspark.sql.SparkSession.getActiveSession()) is not None:
        other.stop()
    with mixed_cluster(tmp_path) as address:
        # The session starts only when both workers are registered.
        ready = settings(address).config("spark.scheduler.minRegisteredResourcesRatio",
                                         "1.0").config("spark.cores.max", "2")
        ready = ready.config("spark.scheduler.maxRegisteredResourcesWaitingTime",
                             "120s").config("spark.executor.cores", "1")
        session = ready.getOrCreate()
        try:
            frame = session.read.parquet(str(rows))
            agree(collected(spark.predict(frame, Level(library, keep=["id"]).logs(logs))), expected)
        finally:
            session.stop()
    assert {path.read_text() for path in logs.iterdir()} >= set(LEVELS)
