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

        dataset.map_batches(Predict, fn_constructor_args=(predictor, 4), batch_format="pyarrow", num_cpus=4, concurrency=8)

    ``predictor`` is a :class:`~schedc_runtime.BatchPredictor` or a reference to one in Ray's object store, ``threads`` the most
    threads of a call where the predictor says none.
    """

    def __init__(self, predictor: Any, threads: int = 1) -> None:
        if not isinstance(predictor, BatchPredictor):
            import ray

            predictor = ray.get(predictor)
        self._predictor: BatchPredictor = predictor
        self._threads = self._predictor.threads or threads

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        return self._predictor.predict(batch, threads=self._threads)


def predict(
    dataset: Dataset,
    predictor: BatchPredictor,
    *,
    num_cpus: int = 1,
    batch_size: int | None = None,
    **options: Any,
) -> Dataset:
    """Predicts a dataset by ``map_batches``.

    ``dataset`` has the columns that the predictor needs, found by name; others are ignored. ``num_cpus`` is how many processors a
    worker has and how many threads its calls use; ``batch_size`` how many rows a call takes, by default a whole block. Other options,
    such as ``concurrency``, are those of ``map_batches``. Returns a lazy dataset: the columns that the predictor
    keeps, then those called ``predictor.names``.

    Raises ValueError for columns that are not there: at once if the dataset knows its columns, else when it runs.
    """
    import ray

    schema = dataset.schema(fetch_if_missing=False)
    if schema is not None:
        predictor.check([str(name) for name in schema.names])
    options.setdefault("concurrency", max(1, int(ray.cluster_resources().get("CPU", 1)) // num_cpus))
    return dataset.map_batches(
        Predict,
        fn_constructor_args=(ray.put(predictor), num_cpus),
        batch_format="pyarrow",
        batch_size=batch_size,
        zero_copy_batch=True,
        num_cpus=num_cpus,
        **options,
    )
