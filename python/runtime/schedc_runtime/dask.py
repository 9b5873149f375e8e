"""Predictions on Dask.

    predictor = schedc_runtime.BatchPredictor("model.so", keep=["id"])
    scored = schedc_runtime.dask.predict(frame, predictor)

Needs dask[dataframe], and on the workers schedc-runtime and pandas. The predictor is sent to each worker
once. Dask runs a task on each of a worker's threads, so a call uses one thread, unless the predictor sets
another number.

"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batch import BatchPredictor

if TYPE_CHECKING:
    import pandas
    from dask.dataframe import DataFrame
    from distributed import Client

__all__ = ["predict"]


def predict(frame: DataFrame, predictor: BatchPredictor, *, client: Client | None = None) -> DataFrame:
    """Predicts a data frame by ``map_partitions``.

    ``frame`` has the predictor's columns, found by name; others are not read. ``client`` is the cluster for
    the computation, by default the current one; without one, Dask's local scheduler computes. Returns a lazy
    data frame with the same partitions and index: the columns in ``keep``, then the results in
    ``predictor.names``.

    Raises Refused for missing columns before anything runs.

    """
    names = [str(name) for name in frame.columns]
    predictor.check(names)
    if predictor.inputs is not None:
        wanted = {name.strip() for name in [*predictor.kept, *predictor.inputs]}
        frame = frame[[name for name, text in zip(frame.columns, names) if text.strip() in wanted]]
    # Types may be unknown before rows are read; unknown types of texts are objects.
    meta = predictor.predict(frame._meta.iloc[:0])
    scored: DataFrame = frame.map_partitions(_run, _shared(predictor, client), meta=meta,
                                             enforce_metadata=False)
    return scored


def _run(rows: pandas.DataFrame, predictor: BatchPredictor) -> pandas.DataFrame:
    scored: pandas.DataFrame = predictor.predict(rows, threads=predictor.threads or 1)
    return scored


def _shared(predictor: BatchPredictor, client: Client | None) -> Any:
    """The predictor; if there is a cluster, a copy on each of its workers."""
    if client is None:
        try:
            from distributed import default_client

            client = default_client()
        except (ImportError, ValueError):
            return predictor
    return client.scatter(predictor, broadcast=True)
