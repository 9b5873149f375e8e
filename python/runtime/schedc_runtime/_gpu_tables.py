"""Tables with columns in a GPU's memory: frames of cuDF, and dicts of arrays.

Their columns are found by the same rules as those of other tables. Kernels read the columns in place.

"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._names import quoted
from ._native import any_on_gpu
from ._tables import Table, _Arrays, _Cudf, is_cudf
from .findings import Refused, Unsupported

if TYPE_CHECKING:
    from .batch import BatchPredictor


def is_gpu_table(table: Any) -> bool:
    """Whether an object is a table with columns in a GPU's memory."""
    return any_on_gpu(table.values()) if isinstance(table, Mapping) else is_cudf(table)


def predicted(
    predictor: BatchPredictor, source: Table, names: Sequence[str], places: Sequence[int | None],
    options: dict[str, Any]
) -> Any:
    """The library's results for the rows of a table, in the GPU's memory; None if no column of a feature is
    there. ``places`` are the indices of the features' columns, and ``options`` the call's.

    Raises Refused for a feature whose categories have names, and for columns that kernels do not read.
    """
    if type(source) not in (_Arrays, _Cudf):
        return None
    columns = [None if at is None else source.column(at) for at in places]
    if type(source) is _Arrays and not any_on_gpu(columns):
        return None
    refused = next((at for feature in predictor._coded if (at := places[feature]) is not None), None)
    if refused is not None:
        raise Refused(
            f"column {quoted(names[refused])} has categories with names, which are looked up in the host's "
            "memory: give the table there, or the numbers of the categories in an array of two dimensions "
            "on the GPU",
            "D0027",
        )
    named = [None if at is None else (quoted(names[at]), values) for at, values in zip(places, columns)]
    try:
        return predictor._model.predict_gpu_columns(named, source.rows(), predictor.output, **options)
    except TypeError as error:
        raise Unsupported(str(error), "D0020") from None
