"""The types of rows on which the results of a fitted pipeline depend, and the compiled model for them.

scikit-learn computes some rows in single precision, and sparse matrices by other operations. A pipeline is
compiled for rows in double precision, and again at the first call with other rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from schedc_runtime._names import as_lightgbm

from .findings import Unsupported
from .fitted import PipelineOrigin
from .parts import MOST_NAMED
from .sparse import has_stored_zeros, is_sparse

if TYPE_CHECKING:
    from .meaning import Meaning
    from .model import Model

#: Types of Polars in single or half precision.
_SINGLE = ("Float16", "Float32")

#: Types that NumPy joins with single precision to single precision.
_NARROW = ("bool", "int8", "uint8", "int16", "uint16")


def direct_types(meaning: Meaning) -> tuple[Any, ...]:
    """The types of arrays that the library reads without a conversion."""
    single, double = numpy.dtype("float32"), numpy.dtype("float64")
    if meaning.single or meaning.row_types == "f32":
        return (single,)
    return (double,) if meaning.row_types == "f64" else (single, double)


def model_for(model: Model, X: Any) -> Model:
    """The model compiled for the types of these rows.

    Raises Unsupported for a loaded model, since it lacks the pipeline, and for rows in double precision if
    the model was compiled for single precision alone.
    """
    is_narrow = model._meaning.row_types == "f32"
    integers = model._meaning.integers
    if model._meaning.row_types is None or not (is_narrow or _may_differ(X, bool(integers))):
        return model
    known, types = model._last_types, _Types.of(X)
    if known is not None and types is not None and known[0].are(types):
        return known[1]
    columns = _Columns.of(X)
    if integers:
        _refuse_integers(columns, model, X)
    if is_narrow:
        _refuse_double(columns, model, X)
        found = model
    else:
        found = _for_rows(model, columns, X)
    if types is not None:
        model._last_types = types, found
    return found


class _Columns(NamedTuple):
    """The columns of rows, as scikit-learn reads their types."""

    container: str
    """As in ``RowTypes``."""
    kinds: dict[Any, Any] | None
    """The types of the columns of a table by name; None for an array."""
    kind: Any = None
    """The type of an array."""

    @staticmethod
    def of(X: Any) -> _Columns:
        if is_sparse(X):
            return _Columns("sparse", None, X.dtype)
        if isinstance(X, Mapping):
            return _Columns("array", {name: getattr(column, "dtype", None) for name, column in X.items()})
        if hasattr(X, "columns") and hasattr(getattr(X, "dtypes", None), "__array__"):
            return _Columns("array", {str(name): kind for name, kind in zip(X.columns, X.dtypes)})
        schema: Any = getattr(X, "schema", None)
        if hasattr(schema, "items"):
            return _Columns("frame", dict(schema.items()))
        if hasattr(schema, "names") and hasattr(schema, "types"):
            kinds = dict(zip(schema.names, schema.types))
            # scikit-learn converts columns of integers or truth values to others if cells are missing.
            absent = [name for name, kind in kinds.items() if _is_narrow(kind) and X.column(name).null_count]
            return _Columns("frame", {**kinds, **dict.fromkeys(absent)})
        if hasattr(X, "dtypes") and hasattr(X, "columns"):
            return _Columns("frame", {str(name): kind for name, kind in zip(X.columns, X.dtypes)})
        return _Columns("array", None, getattr(X, "dtype", None))

    def at(self, model: Model) -> dict[int, Any]:
        """The types of columns by the position of the model's feature."""
        if self.kinds is None:
            return dict.fromkeys(range(model.n_features_in_), self.kind)
        names = _names_of(model)
        kinds = self.kinds
        if model._meaning.are_lightgbms:
            kinds = dict(zip(as_lightgbm(list(kinds), names), kinds.values()))
        if not model._by_position or set(names) <= set(kinds):
            return {at: kinds[name] for at, name in enumerate(names) if name in kinds}
        return dict(zip(range(len(names)), self.kinds.values()))


def _names_of(model: Model) -> list[str]:
    """The names of the features of a model."""
    return list(model._names or model._native.feature_names or map(str, range(model.n_features_in_)))


def _refuse_double(columns: _Columns, model: Model, X: Any) -> None:
    """Raises Unsupported for rows that scikit-learn does not compute in single precision."""
    if columns.container == "sparse":
        raise Unsupported('the model was compiled with rows="f32", for dense rows: compile it without '
                         'rows="f32", or give rows.toarray()')
    if columns.kinds is None:
        double, listed = [] if columns.kind is not None and _is_single(columns.kind) else [0], "all"
    else:
        double = [at for at, kind in columns.at(model).items()
                  if (kind is None or _is_number(kind)) and not _is_single(kind)]
        listed = _listed([_names_of(model)[at] for at in double])
    if double:
        raise Unsupported(
            f"columns are not in single precision ({listed}), but the model was compiled with "
            'rows="f32", and scikit-learn computes rows in other types differently; give '
            f'{_converted(columns, double, model, X, "float32")}, or compile without rows="f32"'
        )
    if columns.container == "frame":
        raise Unsupported(
            'the model was compiled with rows="f32", but scikit-learn computes float32 columns in double '
            "precision in frames other than pandas'; give rows.to_pandas(), or compile without rows=\"f32\""
        )


#: What a pipeline does with integers of the kinds of `Origin.integers`.
_STORED = {"narrow": "NumPy computes a function of those of 8 or 16 bits in their own type, or in half or "
           "single precision",
           "all": "scikit-learn rounds the densities of a mixture to integers then"}


def _refuse_integers(columns: _Columns, model: Model, X: Any) -> None:
    """Raises Unsupported for integers and truth values in whose type the pipeline computes."""
    kinds = columns.at(model)
    for group, which, container in model._meaning.integers:
        if container == columns.container and all(_is_integer(kinds.get(at), which) for at in group):
            names = _names_of(model)
            listed, stored = _listed([names[at] for at in group]), _STORED[which]
            raise Unsupported(
                f"columns are integers or truth values ({listed}), and {stored}, unlike the compiled model; "
                f'give {_converted(columns, list(group), model, X, "float64")}, for which the object has the '
                "same results")


def _is_integer(kind: Any, which: str) -> bool:
    """Whether columns of a type hold truth values or integers: `narrow` ones, or `all`."""
    if kind is None:
        return False
    if _type_of_narrow(kind) or _own_type(kind) in _NARROW:
        return True
    is_own = type(kind).__module__.partition(".")[0] == "pandas"
    return which == "all" and not is_own and str(kind).lower().startswith(("int", "uint"))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", .." if len(names) > MOST_NAMED else "")


@lru_cache(maxsize=256, typed=True)
def _is_number(kind: Any) -> bool:
    """Whether columns of a type hold numbers or truth values."""
    return str(kind).lower().startswith(("float", "double", "half", "int", "uint", "decimal", "bool"))


def _for_rows(model: Model, columns: _Columns, X: Any) -> Model:
    """The model compiled for rows with these columns."""
    kinds = columns.at(model)
    single = frozenset(at for at, kind in kinds.items() if kind is not None and _is_single(kind))
    is_sparse = columns.container == "sparse"
    own = {at: _own_type(kind) for at, kind in kinds.items() if kind is not None and _own_type(kind)}
    if not single and "float32" not in own.values() and not is_sparse:
        return model
    if not isinstance(model._origin, PipelineOrigin) or model._recipe is None:
        raise Unsupported(
            _SPARSE if is_sparse else _single_text(sorted(single | own.keys()), model, columns, X))
    from .exporter.inputs import RowTypes

    narrow = frozenset((at, _type_of_narrow(kind)) for at, kind in kinds.items() if _is_narrow(kind))
    try:
        found = model._of_rows(RowTypes(single, narrow, frozenset(own), columns.container))
    except Unsupported as error:
        if not is_sparse:
            raise
        raise Unsupported(f"{error}; the rows are a sparse matrix: give rows.toarray()") from None
    assert isinstance(found._origin, PipelineOrigin)
    if is_sparse and found._origin.exported.graph.zeros_are_absent and has_stored_zeros(X):
        raise Unsupported("the sparse matrix stores zeros, which XGBoost treats unlike absent cells, and a "
                         "compiled model does not; call rows.eliminate_zeros(), or give rows.toarray()")
    return found


#: The error for sparse rows of a loaded model.
_SPARSE = (
    "the rows are a sparse matrix, which scikit-learn computes by other operations than dense rows, but the "
    "library is for dense rows: give rows.toarray(), or compile the pipeline, schedc.compile(pipeline)"
)


def _single_text(single: list[int], model: Model, columns: _Columns, X: Any) -> str:
    """The error for columns in single precision of a loaded model."""
    names = _names_of(model)
    return (
        f"columns are in single precision ({_listed([names[at] for at in single])}), which scikit-learn "
        'computes differently: compile and save the pipeline with rows="f32", if all columns are float32 in '
        f'arrays or in frames of pandas, or give {_converted(columns, single, model, X, "float64")}, for '
        "which this library was compiled"
    )


def _converted(columns: _Columns, features: list[int], model: Model, X: Any, kind: str) -> str:
    """The words for rows whose columns of these features have another type, with the call that converts
    them."""
    library = type(X).__module__.partition(".")[0]
    if columns.kinds is None:
        return f'{kind}, as in rows.astype("{kind}")'
    if library not in ("pandas", "polars"):
        return kind
    tables, names, labels = list(columns.kinds), _names_of(model), list(X.columns)
    if model._by_position and not set(names) <= set(tables):
        shown = [labels[at] for at in features]
    else:
        own = dict(zip(as_lightgbm(tables, names) if model._meaning.are_lightgbms else tables, labels))
        shown = [own[names[at]] for at in features]
    quoted = [json.dumps(label, ensure_ascii=False) if isinstance(label, str) else repr(label)
              for label in shown]
    if library == "polars":
        pairs = ", ".join(f"{label}: polars.{kind.title()}" for label in quoted)
        return f"{kind}, as in rows.cast({{{pairs}}})"
    pairs = ", ".join(f'{label}: "{kind}"' for label in quoted)
    return f"{kind}, as in rows.astype({{{pairs}}})"


class _Types(NamedTuple):
    """The types of the columns of rows: an array of NumPy, a frame of pandas, or a table of pyarrow."""

    blocks: tuple[Any, ...]
    """The type of the array, or of each block of columns."""
    block_of: bytes = b""
    """The number of the block of each column."""
    header: Any = None
    """The names of the columns, in pyarrow with their types."""

    @staticmethod
    def of(X: Any) -> _Types | None:
        """Returns the types of rows; None for rows of another kind."""
        if type(X) is numpy.ndarray:
            return _Types((X.dtype,))
        try:
            if type(X).__module__.partition(".")[0] == "pyarrow":
                # Missing cells matter in narrow columns.
                return None if any(map(_is_narrow, X.schema.types)) else _Types((), b"", X.schema)
            manager = X._mgr
            blocks = tuple(block.values.dtype for block in manager.blocks)
            return _Types(blocks, manager.blknos.tobytes(), X.columns)
        except AttributeError:
            return None

    def are(self, others: _Types) -> bool:
        """Whether rows with these types and others have columns of the same names and types."""
        mine, theirs = self.header, others.header
        if self.blocks != others.blocks or self.block_of != others.block_of or type(mine) is not type(theirs):
            return False
        return mine is theirs or bool(mine.equals(theirs))


def _may_differ(X: Any, integers: bool) -> bool:
    """Whether rows may have columns in single or half precision or, if these matter, integers, or may be
    sparse; False only if not."""
    if type(X) is numpy.ndarray:
        return bool(X.dtype.kind == "f" and X.dtype.itemsize < 8 or integers and X.dtype.kind in "iub")
    if type(X).__module__.partition(".")[0] == "polars":
        kinds = getattr(X, "dtypes", ())
        return integers or any(getattr(kind, "__name__", type(kind).__name__) in _SINGLE for kind in kinds)
    try:
        # Much faster than `X.dtypes`, for which pandas creates a Series.
        for block in X._mgr.blocks:
            kind = block.values.dtype
            if isinstance(kind, numpy.dtype):
                if kind.kind == "f" and kind.itemsize < 8 or integers and kind.kind in "iub":
                    return True
            elif type(kind).__name__ == "SparseDtype" or _own_type(kind) == "float32":
                return True
            elif integers and _own_type(kind):
                return True
    except AttributeError:
        return True
    return False


@lru_cache(maxsize=256, typed=True)
def _is_single(kind: Any) -> bool:
    """Whether columns of a type are in single precision for scikit-learn. It converts those of pandas' own
    types, such as ``Float32`` and ``float32[pyarrow]``, to double precision.

    Raises Unsupported for half precision, and for sparse columns of pandas.
    """
    if type(kind).__module__.partition(".")[0] == "pandas":
        if type(kind).__name__ == "SparseDtype":
            raise Unsupported("a compiled pipeline does not accept sparse columns of pandas, which make a "
                             "sparse matrix in scikit-learn if a step reads no others; give dense columns, "
                             "as in rows.sparse.to_dense()")
        return False
    text = str(kind).lower()
    if text in ("float16", "halffloat", "half"):
        raise Unsupported("a compiled pipeline does not accept rows in half precision, in which scikit-learn "
                         "would compute; give them as float32 or float64")
    return text in ("float32", "float")


@lru_cache(maxsize=256, typed=True)
def _type_of_narrow(kind: Any) -> str:
    """The name of NumPy for a type of truth values or of integers of at most 16 bits; empty for other types,
    and for pandas' own types, which scikit-learn converts to double precision."""
    if type(kind).__module__.partition(".")[0] == "pandas":
        return ""
    text = str(kind).lower().replace("boolean", "bool")
    return text if text in _NARROW else ""


@lru_cache(maxsize=256, typed=True)
def _own_type(kind: Any) -> str:
    """The name of NumPy for one of pandas' own types of single precision, truth values or integers of at most
    16 bits; empty for other types."""
    if type(kind).__module__.partition(".")[0] != "pandas":
        return ""
    text = str(kind).lower().removesuffix("[pyarrow]")
    name = {"float": "float32", "boolean": "bool"}.get(text, text)
    return name if name in ("float32", *_NARROW) else ""


def _is_narrow(kind: Any) -> bool:
    return kind is not None and _type_of_narrow(kind) != ""
