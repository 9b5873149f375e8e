"""Calls of a library on whole frames, without a Python loop over their columns.

Each function here predicts the rows of one kind of frame. It returns None if the frame has columns that must
be converted one by one: texts, dates, or columns in several pieces of memory.
:class:`~schedc_runtime.BatchPredictor` then does that.

"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from ._native import is_on_gpu
from ._tables import index_names, table_of

if TYPE_CHECKING:
    from ._native import StreamPlan
    from .batch import BatchPredictor

Options = dict[str, Any]
Call = Callable[["BatchPredictor", Any, Options], "numpy.ndarray | None"]

#: Maximum number of types of frames whose function is cached. Bounds the memory if a program creates types.
_MOST_TYPES = 64
_calls: dict[type, Call | None] = {}


def predicted(predictor: BatchPredictor, frame: Any, options: Options) -> numpy.ndarray | None:
    """The library's results for the rows of a frame; ``options`` are the call's. None if the object is no
    such frame, or its columns must be converted one by one."""
    kind = type(frame)
    try:
        call = _calls[kind]
    except KeyError:
        if len(_calls) >= _MOST_TYPES:
            _calls.clear()
        call = _calls[kind] = _call_of(kind)
    return None if call is None else call(predictor, frame, options)


def is_frame(value: Any) -> bool:
    """Whether an object is a frame of a kind that :func:`predicted` supports."""
    kind = type(value)
    if kind is list:
        return bool(value) and type(value[0]) is dict
    return (_calls[kind] if kind in _calls else _call_of(kind)) is not None


def _call_of(kind: type) -> Call | None:
    library, name = kind.__module__.partition(".")[0], kind.__name__
    known: dict[tuple[str, str], Call] = {
        ("pandas", "DataFrame"): _of_pandas,
        ("polars", "DataFrame"): _of_stream,
        ("pyarrow", "Table"): _of_table,
        ("pyarrow", "RecordBatch"): _of_batch,
        ("builtins", "dict"): _of_fields,
        ("builtins", "list"): _of_records,
    }
    return known.get((library, name))


class Columns:
    """The columns of a predictor's features, in frames whose columns are one pandas index."""

    def __init__(self, index: Any, names: list[str], places: list[int | None]) -> None:
        self._index, self.names, self.places = index, names, places
        self.numbers = numpy.array([-1 if at is None else at for at in places], dtype="int64")
        self.absent = numpy.flatnonzero(self.numbers < 0)

    def fits(self, index: Any) -> bool:
        """Whether another index has the same names."""
        known = self._index
        if known is index or known.is_(index):
            return True
        is_same = len(known) == len(index) and index.nlevels == 1 and _are_same(known, index)
        if is_same:
            # Calls on one frame, or on frames that share an index, compare no names.
            self._index = index
        return is_same


def _are_same(known: Any, index: Any) -> bool:
    """Whether two indices of the same length have the same names. Much faster than pandas' comparison."""
    mine, others = known.array, index.array
    if type(mine) is not type(others):
        return False
    if type(mine).__name__ == "ArrowStringArray":
        return bool(mine.__arrow_array__().equals(others.__arrow_array__()))
    if known.dtype != index.dtype:
        return False
    if known.dtype == object:
        # Compares types as well: numbers and truth values may be equal.
        names = index.tolist()
        return bool(known.tolist() == names and all(type(name) is str for name in names))
    return bool(known.equals(index))


def _columns_of(predictor: BatchPredictor, index: Any) -> Columns:
    known = predictor._columns_of_frame
    if known is None or not known.fits(index):
        names = index_names(index)
        known = predictor._columns_of_frame = Columns(index, names, predictor._find(names))
    return known


def _of_pandas(predictor: BatchPredictor, frame: Any, options: Options) -> numpy.ndarray | None:
    """Predicts the rows of a frame of pandas, in the blocks of its manager: an array of two dimensions for
    each type of columns."""
    try:
        manager = frame._mgr
        blocks, block_of, position_of = manager.blocks, manager.blknos, manager.blklocs
    except AttributeError:  # other releases of pandas may have no manager
        return None
    columns = _columns_of(predictor, frame.columns)
    rows = len(frame)
    block_of, position_of = block_of[columns.numbers], position_of[columns.numbers]
    if len(columns.absent):
        block_of[columns.absent] = -1
    call, places = predictor._model.predict_blocks, (block_of, position_of)
    if not predictor._coded:
        results = call(blocks, places, rows, {}, predictor.output, **options)
        if results is not None:
            return results
    number_of = block_of.tolist()
    others = {number for number in {*number_of} if number >= 0 and not _is_array(blocks[number].values)}
    apart = {at for at, number in enumerate(number_of) if number in others}
    given: dict[int, Any] = {}
    for feature in sorted(apart.union(predictor._coded)):
        at = columns.places[feature]
        if at is None:
            continue
        values = blocks[number_of[feature]].values
        if values.ndim == 2:
            values = values[position_of[feature]]
        found = predictor._feature_of(values, columns.names[at], feature, rows, is_array=False)
        given[feature] = found.given(options["single"])
        block_of[feature] = -1
    return call(blocks, places, rows, given, predictor.output, **options) if given else None


def _is_array(values: Any) -> bool:
    """Whether the values of a block of pandas are an array of numbers."""
    return type(values) is numpy.ndarray and values.ndim == 2 and values.dtype.kind in "fiub"


def _of_stream(predictor: BatchPredictor, frame: Any, options: Options) -> numpy.ndarray | None:
    """Predicts the rows of a table of Polars, as an Arrow stream."""
    stream = frame.__arrow_c_stream__()
    plan = predictor._lookup.plan(stream)
    return None if plan is None else _streamed(predictor, frame, len(frame), stream, plan, options)


def _of_table(predictor: BatchPredictor, table: Any, options: Options) -> numpy.ndarray | None:
    return _of_arrow(predictor, table, table, options)


def _of_batch(predictor: BatchPredictor, batch: Any, options: Options) -> numpy.ndarray | None:
    import pyarrow

    # By a reader, since its export is faster than that of the batch itself.
    reader = pyarrow.RecordBatchReader.from_batches(batch.schema, [batch])
    return _of_arrow(predictor, batch, reader, options)


def _of_arrow(predictor: BatchPredictor, table: Any, source: Any, options: Options) -> numpy.ndarray | None:
    """Predicts the rows of a table or batch of pyarrow, as the Arrow stream of ``source``. The export of a
    schema takes longer than its comparison with the last one."""
    stream, schema, known = source.__arrow_c_stream__(), table.schema, predictor._plan_of_schema
    if known is None or not known[0].equals(schema):
        plan = predictor._lookup.plan(stream)
        if plan is None:
            return None
        known = predictor._plan_of_schema = schema, plan
    return _streamed(predictor, table, table.num_rows, stream, known[1], options)


def _streamed(predictor: BatchPredictor, frame: Any, rows: int, stream: Any, plan: StreamPlan,
              options: Options) -> numpy.ndarray | None:
    given = _coded(predictor, frame, rows, options) if predictor._coded else {}
    return predictor._model.predict_stream(stream, plan, rows, given, predictor.output, **options)


def _coded(predictor: BatchPredictor, frame: Any, rows: int, options: Options) -> dict[int, Any]:
    """The codes of the columns of features whose categories have names."""
    source = table_of(frame)
    names = source.names()
    known = predictor._columns_of_table
    if known is None or known[0] != names:
        known = predictor._columns_of_table = names, predictor._find(names)
    places = known[1]
    given: dict[int, Any] = {}
    for feature in predictor._coded:
        at = places[feature]
        if at is not None:
            found = predictor._feature_of(source.column(at), names[at], feature, rows, is_array=False)
            given[feature] = found.given(options["single"])
    return given


def _of_fields(predictor: BatchPredictor, fields: Mapping[str, Any],
               options: Options) -> numpy.ndarray | None:
    """Predicts the rows of a dict from names to arrays, or the only row of a dict from names to numbers."""
    wanted, first_name = predictor._wanted, predictor._first_wanted
    if wanted is None or first_name is None or first_name not in fields:
        return None
    first = fields[first_name]
    if type(first) is not numpy.ndarray:
        if isinstance(first, (list, tuple)) or is_on_gpu(first):
            return None
        return _of_records(predictor, [fields], options)
    try:
        arrays = [None if name is None else fields[name] for name in wanted]
    except KeyError:
        return None
    for feature in predictor._coded:
        name = wanted[feature]
        if name is None:
            continue
        found = predictor._feature_of(arrays[feature], str(name), feature, len(first), is_array=False)
        arrays[feature] = found.given(options["single"])
    for values in arrays:
        if values is not None and type(values) is not numpy.ndarray and type(values) is not tuple:
            return None
    return predictor._model.predict_blocks(
        arrays, predictor._own_places, len(first), {}, predictor.output, **options
    )


def _of_records(predictor: BatchPredictor, records: list[Any], options: Options) -> numpy.ndarray | None:
    """Predicts rows that are dicts from names to numbers."""
    wanted = predictor._wanted
    if not wanted or not records or type(records[0]) is not dict:
        return None
    given: dict[int, Any] = {}
    for feature in predictor._coded:
        name = wanted[feature]
        if name is None:
            continue
        if not all(name in record for record in records):
            return None
        values = [record.get(name) for record in records]
        found = predictor._feature_of(values, name, feature, len(records), is_array=False)
        given[feature] = found.given(options["single"])
    return predictor._model.predict_records(records, wanted, given, predictor.output, **options)
