"""Spark on this machine: a master and two workers, which are processes of their own."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import EXAMPLES, agree
from dying import Dying, Level
from schedc_runtime import BatchPredictor, spark

pyspark = pytest.importorskip("pyspark")


@pytest.fixture(scope="module")
def session():
    # Two executors of one core each, which are processes of their own and are started again when they die.
    made = (
        pyspark.sql.SparkSession.builder.master("local-cluster[2,1,2048]").appName("schedc")
        .config("spark.ui.enabled", "false").config("spark.executor.memory", "2g").config("spark.driver.memory", "4g")
        .config("spark.driver.maxResultSize", "2g").config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
        .getOrCreate()
    )
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
    frame = session.read.parquet(str(EXAMPLES / "model/rows.parquet")).withColumnRenamed("mean radius", "mean.radius")
    with pytest.raises(ValueError, match='"mean.radius" may stand for "mean radius"'):
        spark.predict(frame, BatchPredictor(library))
    renamed = BatchPredictor(library, {"mean radius": "mean.radius"}, keep=["sample"])
    wanted = BatchPredictor(library).predict(session.read.parquet(str(EXAMPLES / "model/rows.parquet")).toArrow())
    assert spark.predict(frame, renamed).toArrow()["prediction"].to_pylist() == wanted["prediction"].to_pylist()
    assert frame.select(spark.udf(renamed)(frame).alias("p")).toArrow()["p"].to_pylist() == wanted["prediction"].to_pylist()
