"""Rows per second and memory on distributed engines, compared with XGBoost's own integration in the same
worker processes.

    python bench/scale.py --rows 4000000 [--engines dask,spark]

Needs the packages of python/requirements-scale.txt, schedc-runtime, and the program in $SCHEDC. Trains a
model with XGBoost and writes rows to Parquet. The same two worker processes of one thread each score them
with `schedc_runtime` and with `xgboost.dask` or `xgboost.spark`. Each run reads the files, predicts, and adds
up the predictions, so that only a sum returns. Runs take turns, and the best of several counts. Memory is the
peak sum of the worker processes' proportional set sizes.

"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy
import psutil
import pyarrow
import pyarrow.parquet
import xgboost
from schedc_runtime import BatchPredictor
from turns import Contender, race

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
FEATURES = [f"x{at}" for at in range(30)]
SHARDS = 16


class Memory:
    """Peak memory of this process's children: of all, and of the Python processes among them."""

    def __init__(self):
        self.most, self._ends = 0, threading.Event()

    def _look(self):
        while not self._ends.wait(0.2):
            total = 0
            for child in psutil.Process().children(recursive=True):
                try:
                    total += child.memory_full_info().pss
                except psutil.Error:
                    pass
            self.most = max(self.most, total)

    def __enter__(self):
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()


def prepare(folder, rows, trees):
    """A model, its library, and rows."""
    random = numpy.random.default_rng(1)
    sample = random.standard_normal((20000, len(FEATURES)), dtype="float32")
    label = (sample[:, :6] ** 2).sum(axis=1) + sample[:, 6:9].prod(axis=1) > 6
    data = xgboost.DMatrix(sample, label, feature_names=FEATURES)
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 8, "tree_method": "hist"}, data,
                            trees)
    booster.save_model(folder / "model.json")
    library = folder / "model.so"
    subprocess.run([os.environ["SCHEDC"], "build", folder / "model.json", "-o", library], check=True,
                   capture_output=True)
    (folder / "rows").mkdir()
    for shard in range(SHARDS):
        values = random.standard_normal((len(FEATURES), rows // SHARDS), dtype="float32")
        table = pyarrow.table(dict(zip(FEATURES, values)))
        pyarrow.parquet.write_table(table, folder / "rows" / f"part-{shard:02}.parquet", compression="none")
    return booster, library


def with_dask(folder, booster, library):
    """The functions that run each contender on Dask, and the function that stops it."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster
    from schedc_runtime import dask
    from xgboost import dask as xgboost_dask

    client = Client(LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="6GiB",
                                 dashboard_address=None))
    predictor = BatchPredictor(library)

    def ours():
        return dask.predict(dd.read_parquet(folder / "rows"),
                            predictor)["prediction"].astype("float64").sum().compute()

    def theirs():
        frame = dd.read_parquet(folder / "rows")
        return xgboost_dask.predict(client, booster, frame).astype("float64").sum().compute()

    def inplace():
        frame = dd.read_parquet(folder / "rows")
        return xgboost_dask.inplace_predict(client, booster, frame).astype("float64").sum().compute()

    contenders = {"schedc_runtime.dask": ours, "xgboost.dask.predict": theirs,
                  "xgboost.dask.inplace_predict": inplace}
    return contenders, client.shutdown


def with_spark(folder, booster, library):
    """The functions that run each contender on Spark, and the function that stops it."""
    from pyspark.sql import SparkSession
    from schedc_runtime import spark
    from xgboost.spark import SparkXGBClassifier, SparkXGBClassifierModel

    session = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled",
                                                       "false").config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    predictor = BatchPredictor(library)
    model = xgboost.XGBClassifier()
    model.load_model(folder / "model.json")
    # XGBoost's estimator converts its settings in this way for the trained model.
    theirs_model = SparkXGBClassifier(
        features_col=FEATURES
    )._copyValues(SparkXGBClassifierModel(model, training_summary=None))

    def ours():
        frame = spark.predict(session.read.parquet(str(folder / "rows")), predictor)
        return frame.selectExpr("sum(cast(prediction as double))").collect()[0][0]

    def by_column():
        frame = session.read.parquet(str(folder / "rows"))
        return frame.select(
            spark.udf(predictor)(frame).alias("p")
        ).selectExpr("sum(cast(p as double))").collect()[0][0]

    def theirs():
        from pyspark.ml.functions import vector_to_array

        scored = theirs_model.transform(session.read.parquet(str(folder / "rows")))
        return scored.select(
            vector_to_array("probability")[1].alias("p")
        ).selectExpr("sum(p)").collect()[0][0]

    contenders = {"schedc_runtime.spark.predict": ours, "schedc_runtime.spark.udf": by_column,
                  "xgboost.spark transform": theirs}
    return contenders, session.stop


def main():
    """Prints a table and, with --json, the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engines", default="dask,spark")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        booster, library = prepare(folder, options.rows, options.trees)
        for engine in options.engines.split(","):
            contenders, end = {"dask": with_dask, "spark": with_spark}[engine](folder, booster, library)
            sums = {name: 0.0 for name in contenders}

            def scored(name, run):
                with Memory() as memory:
                    sums[name] = float(run())
                best = found.setdefault(name, {"memory_mib": 0})
                best["memory_mib"] = max(best["memory_mib"], memory.most >> 20)

            ways = [Contender(name, "sum", partial(scored, name), [run], most=1)
                    for name, run in contenders.items()]
            # `race` makes the first call, which starts workers and loads models, outside of the samples.
            race(ways, options.runs, seconds=0, clock=time.perf_counter)
            for way in ways:
                found[way.who]["rows_per_second"] = options.rows / way.samples[0]
            end()
            least, most = min(sums.values()), max(sums.values())
            assert most - least <= 1e-6 * abs(most), sums
    print("| contender | rows a second | memory |\n|---|---:|---:|")
    for contender, best in found.items():
        print(f"| `{contender}` | {best['rows_per_second'] / 1e6:.2f} million | {best['memory_mib']} MiB |")
    if options.json:
        options.json.write_text(json.dumps({"rows": options.rows, "trees": options.trees, "found": found},
                                           indent=1) + "\n")


if __name__ == "__main__":
    main()
