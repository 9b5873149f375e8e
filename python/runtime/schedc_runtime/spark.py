"""Predictions on Spark.

    predictor = schedc_runtime.BatchPredictor("model.so", keep=["id"])
    scored = schedc_runtime.spark.predict(frame, predictor)                      # Arrow batches; fastest
    scored = frame.withColumn("p", schedc_runtime.spark.udf(predictor)(frame))   # a column beside others

Needs pyspark on the driver, and on the workers schedc-runtime, pyarrow and, for :func:`udf`, pandas. The
library is sent to each executor once. A call uses one thread for each core of its task (``spark.task.cpus``),
unless the predictor sets another number. A library for GPUs runs on the GPU that Spark gives the task
(``spark.task.resource.gpu.amount``), or on the first one.

"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._names import find_columns
from .batch import BatchPredictor

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = ["predict", "udf"]


def predict(frame: DataFrame, predictor: BatchPredictor) -> DataFrame:
    """Predicts a data frame by ``mapInArrow``.

    ``frame`` has the predictor's columns, found by name; others are not read. Returns a lazy data frame with
    the columns in ``keep``, then the results in ``predictor.names``.

    Raises Refused for missing columns before anything runs.

    """
    needed, schema, shared = _needed(frame, predictor), _schema(frame, predictor), _shared(frame, predictor)
    names = needed.columns
    # Renames the columns, since Spark would read dots in names as accesses to fields of structures.
    plain = needed.select(*(_column(needed, name).alias(f"c{at}") for at, name in enumerate(names)))

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        predictor = shared()
        options: Any = {"threads": _threads(predictor), "device": _gpu()}
        for batch in batches:
            yield predictor.predict(pyarrow.RecordBatch.from_arrays(batch.columns, names=names), **options)

    return plain.mapInArrow(run, schema)


def udf(predictor: BatchPredictor) -> Callable[[DataFrame], Column]:
    """A function from a data frame to its predictions as a column, by a pandas UDF.

    The column is a number, or a text for classes with such labels. Several results form a structure with the
    fields ``predictor.names``. Columns in ``keep`` are left out, since the frame has them. Use it where a
    column is needed; :func:`predict` is faster.

    """

    def of(frame: DataFrame) -> Column:
        from pyspark.sql.functions import struct
        from pyspark.sql.pandas.functions import pandas_udf
        from pyspark.sql.types import StructField, StructType

        needed = _needed(frame, predictor, kept=False)
        shared, kind, several = _shared(frame, predictor), _type(predictor), len(predictor.names) > 1
        result: Any = StructType([StructField(name, kind) for name in predictor.names]) if several else kind

        def run(frames: Iterator[pandas.DataFrame]) -> Iterator[Any]:
            import pandas

            predictor = shared()
            options: Any = {"threads": _threads(predictor), "device": _gpu()}
            for rows in frames:
                values = predictor.values(rows, **options)
                yield pandas.DataFrame(values, columns=predictor.names) if several else pandas.Series(values)

        # Spark derives the kind of the pandas UDF from these annotations.
        run.__annotations__ = _signature(several)
        function: Any = run
        made: Column = pandas_udf(function,
                                  result)(struct(*(_column(frame, name) for name in needed.columns)))
        return made

    return of


def _signature(several: bool) -> dict[str, Any]:
    import pandas

    result = Iterator[pandas.DataFrame] if several else Iterator[pandas.Series]
    return {"frames": Iterator[pandas.DataFrame], "return": result}


def _column(frame: DataFrame, name: str) -> Column:
    """A column by its name, with special characters quoted."""
    return frame["`" + name.replace("`", "``") + "`"]


def _needed(frame: DataFrame, predictor: BatchPredictor, kept: bool = True) -> DataFrame:
    """The columns of a frame that a predictor needs."""
    predictor.check(frame.columns)
    wanted = predictor.inputs
    if wanted is None:
        return frame if kept else frame.select(*(_column(frame, n) for n in frame.columns
                                                 if n not in predictor.kept))
    places = find_columns(frame.columns, [*(predictor.kept if kept else []), *wanted])
    names = dict.fromkeys(frame.columns[at] for at in places if at is not None)
    return frame.select(*(_column(frame, name) for name in names))


def _type(predictor: BatchPredictor) -> DataType:
    from pyspark.sql.types import DoubleType, FloatType, IntegerType, LongType, StringType

    kinds: dict[str, DataType] = {
        "float32": FloatType(), "float64": DoubleType(), "int32": IntegerType(), "int64": LongType(),
        "object": StringType(),
    }
    return kinds[str(predictor.dtype)]


def _schema(frame: DataFrame, predictor: BatchPredictor) -> Any:
    from pyspark.sql.types import StructField, StructType

    kept = find_columns(frame.columns, predictor.kept)
    fields = [frame.schema.fields[at] for at in kept if at is not None]
    return StructType([*fields, *(StructField(name, _type(predictor)) for name in predictor.names)])


def _shared(frame: DataFrame, predictor: BatchPredictor) -> Callable[[], BatchPredictor]:
    """A function that returns the predictor on workers: from a broadcast variable if the session supports
    them, otherwise from the task's closure."""
    try:
        broadcast = frame.sparkSession.sparkContext.broadcast(predictor)
    except Exception:  # Spark Connect has no context; several kinds of errors report that
        return lambda: predictor
    return lambda: broadcast.value


def _threads(predictor: BatchPredictor) -> int:
    from pyspark import TaskContext

    task = TaskContext.get()
    return predictor.threads or (task.cpus() if task is not None else 1)


def _gpu() -> int | None:
    """The GPU that Spark gave the task; None if it gave none."""
    from pyspark import TaskContext

    task = TaskContext.get()
    given = task.resources().get("gpu") if task is not None else None
    return int(given.addresses[0]) if given is not None and given.addresses else None
