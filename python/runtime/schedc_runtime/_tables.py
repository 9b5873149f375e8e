"""Wrappers for the kinds of tables that a predictor accepts and returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy

from ._capsule import CapsuleTable
from ._names import quoted
from ._native import is_on_gpu
from .findings import Refused

#: Columns of results by their names: arrays of numbers, or of objects that are texts.
Results = dict[str, numpy.ndarray]


#: The advice for objects that are no tables, by their types.
_INSTEAD = {
    "builtins.str": "read a file of rows first, as in pandas.read_csv(path)",
    "builtins.bytes": "give an array, as in numpy.frombuffer(rows, \"float32\").reshape(-1, columns)",
    "builtins.generator": "give list(rows)",
    "xgboost.DMatrix": "give the array or frame from which it was made",
    "xgboost.QuantileDMatrix": "give the array or frame from which it was made",
    "lightgbm.Dataset": "give the array or frame from which it was made",
    "catboost.Pool": "give the array or frame from which it was made",
    "torch.Tensor": "give its .cpu().numpy()",
    "cupy.ndarray": "give its .get(), an array in the host's memory",
}


class Table(Protocol):
    """The interface that a predictor needs of a table."""

    def names(self) -> list[str]:
        """The names of the columns."""

    def rows(self) -> int:
        """Number of rows."""

    def column(self, at: int) -> Any:
        """The column with this index."""

    def give(self, kept: list[int], results: Results) -> Any:
        """A table of the same kind: some of the columns, then the results."""


def table_of(table: Any) -> Table:
    """Wraps an object as a table.

    Raises TypeError if it is not a table.
    """
    library, name = type(table).__module__.partition(".")[0], type(table).__name__
    if library == "pandas" and name == "DataFrame":
        return _Pandas(table)
    if library == "polars" and name == "DataFrame":
        return _Polars(table)
    if library == "pyarrow" and name in ("RecordBatch", "Table"):
        return _Arrow(table)
    if is_cudf(table):
        return _Cudf(table)
    if isinstance(table, Mapping):
        return _Arrays(_one_row(table) if any(map(_is_scalar, table.values())) else table)
    if isinstance(table, (list, tuple)) and table and all(isinstance(row, Mapping) for row in table):
        return _Records(table)
    if isinstance(table, numpy.ndarray) and table.dtype.names is not None and table.ndim == 1:
        return _Arrays({field: table[field] for field in table.dtype.names})
    if isinstance(table, numpy.ndarray) and table.ndim == 2 and table.dtype.names is None:
        return _Matrix(table)
    if name == "Series" and library in ("pandas", "polars"):
        raise TypeError("rows are a table, not a Series; one row of a frame is frame.iloc[[0]] or frame[:1]")
    if library == "polars" and name == "LazyFrame":
        raise TypeError("a LazyFrame has no rows yet; give its .collect()")
    if hasattr(table, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            return CapsuleTable(table)
        return _Arrow(pyarrow.table(table))
    if hasattr(table, "__arrow_c_array__"):
        import pyarrow

        return _Arrow(pyarrow.record_batch(table))
    if is_on_gpu(table):
        raise TypeError(
            "a table is in the host's memory, and these rows are in a GPU's: give them to predict of a "
            "Model, such as predictor.model.predict(rows)"
        )
    advice = _INSTEAD.get(f"{library}.{name}")
    if advice is not None:
        raise TypeError(f"rows are a table, not a {name}{'' if library == 'builtins' else f' of {library}'}: "
                        f"{advice}")
    raise TypeError(
        "a table is a RecordBatch or Table of pyarrow, a DataFrame of pandas, Polars or cuDF, a dict of "
        f"arrays, a list of dicts, or an array of two dimensions, not {name}"
    )


def is_cudf(table: Any) -> bool:
    """Whether an object is a frame of cuDF, whose columns are in a GPU's memory."""
    return type(table).__name__ == "DataFrame" and type(table).__module__.partition(".")[0] == "cudf"


def _is_scalar(value: Any) -> bool:
    """Whether a value of a dict is a single value instead of a column."""
    return value is None or isinstance(value, (str, bytes, numpy.generic)) or not hasattr(value, "__len__")


def _one_row(fields: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The columns of a dict of one row. Raises Refused if a value is a column."""
    odd = next((name for name, value in fields.items() if not _is_scalar(value)), None)
    if odd is not None:
        raise Refused(
            "a dict is one row, with a value for each name, or a table, with an array for each; "
            f"{quoted(str(odd))} has an array, and others have one value"
        )
    return {name: [value] for name, value in fields.items()}


def index_names(index: Any) -> list[str]:
    """The names of the columns of a frame of pandas. Raises TypeError if they have several levels."""
    if index.nlevels > 1:
        raise TypeError("the frame's columns have several levels of names; give them one name each")
    return [str(name) for name in index.tolist()]


class _Arrow:
    def __init__(self, table: Any) -> None:
        self.table = table

    def names(self) -> list[str]:
        return list(self.table.schema.names)

    def rows(self) -> int:
        return int(self.table.num_rows)

    def column(self, at: int) -> Any:
        return self.table.column(at)

    def give(self, kept: list[int], results: Results) -> Any:
        import pyarrow

        def array(values: Any) -> Any:
            return pyarrow.array(values,
                                 type=pyarrow.string()) if values.dtype == object else pyarrow.array(values)

        arrays = [array(values) for values in results.values()]
        columns = [*(self.table.column(at) for at in kept), *arrays]
        fields = [self.table.schema.field(at) for at in kept]
        fields += [pyarrow.field(name, array.type) for name, array in zip(results, arrays)]
        return type(self.table).from_arrays(columns, schema=pyarrow.schema(fields))


class _Pandas:
    def __init__(self, table: Any) -> None:
        self.table = table

    def names(self) -> list[str]:
        return index_names(self.table.columns)

    def rows(self) -> int:
        return len(self.table)

    def column(self, at: int) -> Any:
        return self.table.iloc[:, at]

    def give(self, kept: list[int], results: Results) -> Any:
        import pandas

        frame = pandas.DataFrame(results, index=self.table.index)
        texts = [name for name, values in results.items() if values.dtype == object]
        frame = frame.astype(dict.fromkeys(texts, "str")) if texts else frame
        return pandas.concat([self.table.iloc[:, kept], frame], axis=1) if kept else frame


class _Cudf:
    def __init__(self, table: Any) -> None:
        self.table = table

    def names(self) -> list[str]:
        index = self.table.columns
        return index_names(index.to_pandas() if hasattr(index, "to_pandas") else index)

    def rows(self) -> int:
        return len(self.table)

    def column(self, at: int) -> Any:
        return self.table.iloc[:, at]

    def give(self, kept: list[int], results: Results) -> Any:
        raise TypeError("results of a frame of cuDF are in a GPU's memory, and are no columns of a frame")


class _Polars:
    def __init__(self, table: Any) -> None:
        self.table = table

    def names(self) -> list[str]:
        return list(self.table.columns)

    def rows(self) -> int:
        return int(self.table.height)

    def column(self, at: int) -> Any:
        return self.table.to_series(at)

    def give(self, kept: list[int], results: Results) -> Any:
        import polars

        made = [
            polars.Series(name, values.tolist(), polars.String) if values.dtype == object
            else polars.Series(name, values)
            for name, values in results.items()
        ]
        return polars.DataFrame([*(self.table.to_series(at) for at in kept), *made])


class _Arrays:
    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.arrays = list(table.values())

    def names(self) -> list[str]:
        return [str(name) for name in self.table]

    def rows(self) -> int:
        lengths = {len(values) for values in self.arrays}
        if len(lengths) > 1:
            raise Refused("the columns have different numbers of rows: "
                             f"{', '.join(map(str, sorted(lengths)))}", "D0021")
        return lengths.pop() if lengths else 0

    def column(self, at: int) -> Any:
        return self.arrays[at]

    def give(self, kept: list[int], results: Results) -> Any:
        made = {name: values.astype(str) if values.dtype == object else values
                for name, values in results.items()}
        return {**{self.names()[at]: self.arrays[at] for at in kept}, **made}


class _Records(_Arrays):
    """Dicts, one for each row."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.records = records
        names = dict.fromkeys(name for record in records for name in record)
        super().__init__({name: [record.get(name) for record in records] for name in names})

    def column(self, at: int) -> Any:
        name = list(self.table)[at]
        for number, record in enumerate(self.records, 1):
            if name not in record:
                raise Refused(f'row {number} lacks "{name}"; write None for a missing value', "D0006")
        return self.arrays[at]


class _Matrix(_Arrays):
    """Rows without names; the columns are in the model's order."""

    def __init__(self, table: numpy.ndarray) -> None:
        self.array = table
        self.table = {str(at): table[:, at] for at in range(table.shape[1])}
        self.arrays = list(self.table.values())

    def rows(self) -> int:
        return int(self.array.shape[0])
