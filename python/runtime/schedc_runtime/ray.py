"""Predictions on Ray.

    predictor = schedc_runtime.BatchPredictor("model.so", keep=["id"])
    scored = schedc_runtime.ray.predict(dataset, predictor, num_cpus=4)

Needs ray[data], and schedc-runtime on the workers. The predictor and the batches, which are Arrow tables, are
in Ray's object store; workers read them without a copy. A call uses one thread for each processor of its
worker (``num_cpus``), unless the predictor sets another number.

"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .batch import BatchPredictor

if TYPE_CHECKING:
    import pyarrow
    from ray.data import Dataset

__all__ = ["Predict", "predict"]


class Predict:
    """A callable class for ``Dataset.map_batches``, created once in each worker and called with tables of
    pyarrow.

        dataset.map_batches(Predict, fn_constructor_args=(predictor, 4), batch_format="pyarrow", num_cpus=4)

    ``predictor`` is a :class:`~schedc_runtime.BatchPredictor` or a reference to one in Ray's object store.
    ``threads`` is the largest number of threads of a call if the predictor sets none.

    """

    def __init__(self, predictor: Any, threads: int = 1) -> None:
        self._predictor = _fetched(predictor)
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

    ``dataset`` has the predictor's columns, found by name; others are ignored. ``num_cpus`` is the number of
    processors and threads of a call; ``batch_size`` its number of rows, by default a whole block. Tasks
    predict rows; Ray fuses them with the tasks that read the rows if it can.
    ``compute=ray.data.ActorPoolStrategy(size=4)`` uses dedicated workers instead; leave processors for the
    tasks that read rows. Other options are those of ``map_batches``.

    Returns a lazy dataset: the columns in ``keep``, then the results in ``predictor.names``.

    Raises Refused for missing columns: at once if the dataset's schema is known, otherwise when it runs.

    """
    import ray

    schema = dataset.schema(fetch_if_missing=False)
    if schema is not None:
        predictor.check([str(name) for name in schema.names])
    options |= {"batch_format": "pyarrow", "batch_size": batch_size, "zero_copy_batch": True,
                "num_cpus": num_cpus}
    shared = (ray.put(predictor), num_cpus)
    if compute is None:
        run: Any = _run
        return dataset.map_batches(run, fn_args=shared, **options)
    return dataset.map_batches(Predict, fn_constructor_args=shared, compute=compute, **options)


def _run(batch: pyarrow.Table, shared: Any, threads: int) -> pyarrow.Table:
    predictor = _fetched(shared)
    return predictor.predict(batch, threads=predictor.threads or threads)


def _fetched(predictor: Any) -> BatchPredictor:
    """Returns a predictor. If the argument is a reference, fetches it from Ray's object store."""
    if isinstance(predictor, BatchPredictor):
        return predictor
    import ray

    found: BatchPredictor = ray.get(predictor)
    return found
