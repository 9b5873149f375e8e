"""Predictions on Ray.

    predictor = schedc_runtime.BatchPredictor("model.so", keep=["id"])
    scored = schedc_runtime.ray.predict(dataset, predictor, num_cpus=4)

Needs ray[data], and on the workers schedc-runtime. The predictor lies in Ray's object store once, and batches are Arrow tables
there that workers read where they lie. A call uses as many threads as a worker has processors (``num_cpus``), unless the predictor
says another number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batch import BatchPredictor

if TYPE_CHECKING:
    import pyarrow
    from ray.data import Dataset

__all__ = ["Predict", "predict"]


class Predict:
    """What ``Dataset.map_batches`` makes once in each of its workers, and calls with tables of pyarrow.

        dataset.map_batches(Predict, fn_constructor_args=(predictor, 4), batch_format="pyarrow", num_cpus=4)

    ``predictor`` is a :class:`~schedc_runtime.BatchPredictor` or a reference to one in Ray's object store, ``threads`` the most
    threads of a call where the predictor says none.
    """

    def __init__(self, predictor: Any, threads: int = 1) -> None:
        self._predictor = _there(predictor)
        self._threads = self._predictor.threads or threads

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        return self._predictor.predict(batch, threads=self._threads)


def predict(
    dataset: Dataset,
    predictor: BatchPredictor,
    *,
    num_cpus: int = 1,
    batch_size: int | None = None,
    compute: Any = None,
    **options: Any,
) -> Dataset:
    """Predicts a dataset by ``map_batches``.

    ``dataset`` has the columns that the predictor needs, found by name; others are ignored. ``num_cpus`` is how many processors a
    call takes, and how many threads; ``batch_size`` how many rows, by default a whole block. Rows are predicted by tasks,
    which Ray puts into one with the reading of the rows where it can. ``compute=ray.data.ActorPoolStrategy(size=4)`` asks for
    workers of their own instead: leave processors for the reading. Other options are those of ``map_batches``.

    Returns a lazy dataset: the columns that the predictor keeps, then those called ``predictor.names``.

    Raises ValueError for columns that are not there: at once if the dataset knows its columns, else when it runs.
    """
    import ray

    schema = dataset.schema(fetch_if_missing=False)
    if schema is not None:
        predictor.check([str(name) for name in schema.names])
    options |= {"batch_format": "pyarrow", "batch_size": batch_size, "zero_copy_batch": True, "num_cpus": num_cpus}
    shared = (ray.put(predictor), num_cpus)
    if compute is None:
        run: Any = _run
        return dataset.map_batches(run, fn_args=shared, **options)
    return dataset.map_batches(Predict, fn_constructor_args=shared, compute=compute, **options)


def _run(batch: pyarrow.Table, shared: Any, threads: int) -> pyarrow.Table:
    predictor = _there(shared)
    return predictor.predict(batch, threads=predictor.threads or threads)


def _there(predictor: Any) -> BatchPredictor:
    """A predictor, or the one that a reference means."""
    if isinstance(predictor, BatchPredictor):
        return predictor
    import ray

    found: BatchPredictor = ray.get(predictor)
    return found
