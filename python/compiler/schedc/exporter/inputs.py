"""Inputs of exported files: one tensor of numbers, or one input for each column of a table with text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy
from schedc_runtime._names import as_lightgbm

from ..findings import Refused, Unsupported
from .columns import Column, Columns, Source
from .graph import FLOAT32, FLOAT64, TEXT, Graph, is_missing
from .stages import held, is_known, key_of, refusal
from .texts import text_columns


@dataclass(frozen=True)
class Feature:
    """A column of rows."""

    name: str
    dtype: numpy.dtype
    narrow: numpy.dtype | None = None
    """The type of the rows, as in `Column`."""
    own: bool = False
    """Whether the type is one of pandas' own, as in `Column`."""
    dropped: bool = False
    """Whether the object drops the column, so that rows may lack it or have anything there."""


@dataclass(frozen=True)
class RowTypes:
    """The types of rows on which scikit-learn's results depend. Columns of other types are in f64."""

    single: frozenset[int] = frozenset()
    """The positions of the columns in f32."""
    narrow: frozenset[tuple[int, str]] = frozenset()
    """The positions of columns of truth values and of integers of at most 16 bits, with their types."""
    own: frozenset[int] = frozenset()
    """The positions of columns in pandas' own types with at most 32 bits, such as `Float32`."""
    container: str = "array"
    """`array` for arrays of NumPy and frames of pandas; `frame` for other frames, whose types scikit-learn's
    `check_array` does not read; `sparse` for sparse matrices of SciPy."""


@dataclass(frozen=True)
class Inputs:
    """The columns of rows, and their inputs in a file."""

    features: list[Feature]
    named: bool
    """Whether the object was fitted on a table, whose columns have these names."""
    container: str = "array"
    """The container of the rows, as in `RowTypes`."""
    are_lightgbms: bool = False
    """Whether a column may have a blank where its name has `_`, as in LightGBM."""

    def typed(self, rows: RowTypes) -> Inputs:
        """The inputs for rows of other types. Texts stay texts."""
        narrow = {at: numpy.dtype(kind) for at, kind in rows.narrow}
        made = [
            one if one.dtype == TEXT else replace(one, dtype=FLOAT32, narrow=None, own=False)
            if at in rows.single
            else replace(one, dtype=FLOAT64, narrow=narrow.get(at), own=at in rows.own)
            for at, one in enumerate(self.features)
        ]
        return replace(self, features=made, container=rows.container)

    @property
    def together(self) -> bool:
        """Whether all columns are one tensor `X`: they are numbers that scikit-learn first puts into one
        array."""
        kinds = {feature.dtype for feature in self.features}
        return TEXT not in kinds and (kinds == {FLOAT32} or FLOAT32 not in kinds)

    def add(self, graph: Graph) -> Columns:
        """Adds the inputs to a graph.

        Raises Unsupported for columns whose names cannot be names of inputs: empty or repeated ones.
        """
        graph.rows_are_sparse = self.container == "sparse"
        if self.together:
            kinds = {feature.dtype for feature in self.features}
            kind = kinds.pop() if len(kinds) == 1 else FLOAT64
            value = graph.input("X", kind, len(self.features))
            return self._columns([Column(value, at, one.name, Source(at))
                                  for at, one in enumerate(self.features)])
        names = [one.name for one in self.features]
        for name in names:
            if not name or names.count(name) > 1:
                raise Unsupported("each column of a table with text is an input with a name: rename "
                                  f"{name!r}")
        return self._columns([Column(graph.input(one.name, one.dtype, 1), 0, one.name, Source(at))
                              for at, one in enumerate(self.features)])

    def _columns(self, columns: list[Column]) -> Columns:
        typed = tuple(replace(column, narrow=one.narrow, own=one.own, raw=frozenset([at]))
                      for at, (column, one) in enumerate(zip(columns, self.features)))
        return Columns(typed, self.container == "sparse", self.container == "frame")

    def feeds(self, graph: Graph, rows: Any) -> dict[str, numpy.ndarray]:
        """Rows as the inputs of a file."""
        cells = [self._cells(graph, rows, at) for at in range(len(self.features))]
        if self.together:
            kind = _stored(graph.inputs[0].dtype)
            return {"X": numpy.column_stack([one.astype(kind) for one in cells])}
        for at, markers in graph.markers.items():
            self._check_markers(rows, at, markers)
        for at in graph.blanks:
            for kind in ("empty", "missing"):
                if not graph.reads(at, kind):
                    self._check_blanks(rows, at, kind)
        return {
            feature.name: one.astype(_stored(feature.dtype)).reshape(-1, 1)
            for feature, one in zip(self.features, cells)
        }

    def markers(self, graph: Graph) -> tuple[tuple[int, str], ...]:
        """The columns with text for which a step accepts only one marker of missing text, with this
        marker."""
        return tuple(
            (at, next(iter(known))) for at, known in sorted(graph.markers.items())
            if len(known) == 1 and self.features[at].dtype == TEXT
        )

    def _check_markers(self, rows: Any, at: int, markers: set[str]) -> None:
        """Raises Refused for a marker of missing text that the object does not treat as missing."""
        cells = self._raw(rows, at).tolist()
        gaps = {"None" if one is None else "NaN" for one in cells if is_missing(one)}
        for other in gaps - markers:
            known = " and ".join(sorted(markers))
            raise Refused(
                f"column {self.features[at].name!r} has {other} for missing text, which a step of the "
                f"pipeline does not treat like {known}; an ONNX file has only one kind of missing text: "
                f"replace {other} by {known}"
            )

    def _check_blanks(self, rows: Any, at: int, kind: str) -> None:
        """Raises Refused if a column has texts of a kind, `empty` or `missing`, that the file cannot tell
        from the other kind."""
        cells, is_empty = self._raw(rows, at).tolist(), kind == "empty"
        if any(isinstance(cell, str) and not cell if is_empty else is_missing(cell) for cell in cells):
            other = "missing" if is_empty else "empty"
            raise Refused(
                f"column {self.features[at].name!r} has {kind} text, which a step of the pipeline does not "
                f"treat like {other} text, but an ONNX file does: leave these rows out, or compile the "
                "object itself by schedc.compile"
            )

    def _raw(self, rows: Any, at: int) -> numpy.ndarray:
        """The values of a column of rows, without a conversion."""
        if not hasattr(rows, "columns"):
            return numpy.asarray(rows)[:, at]
        name = self.features[at].name
        cells: numpy.ndarray = (rows[name] if self.named else rows.iloc[:, at]).to_numpy()
        return cells

    def _cells(self, graph: Graph, rows: Any, at: int) -> numpy.ndarray:
        feature = self.features[at]
        if feature.dropped:
            cells = numpy.full(len(rows), numpy.nan)
            return graph.texts(["dropped"] * len(cells)) if feature.dtype == TEXT else cells
        cells = self._raw(rows, at)
        if feature.dtype != TEXT:
            if cells.dtype.kind == "O":
                cells = numpy.array([numpy.nan if is_missing(one) else one for one in cells.tolist()])
            return cells
        return graph.texts(cells.tolist())


def _stored(dtype: numpy.dtype) -> Any:
    """The type of NumPy for the tensors of an input."""
    return numpy.dtype("int64") if dtype.kind in "iu" else dtype


def inputs_of(estimator: Any, rows: Any, types: Any) -> Inputs:
    """The inputs for rows with these columns. Without rows, the inputs for the columns of the fitted object.

    `types` is a type of NumPy for all columns with numbers, or types by the names of columns.
    """
    rows = table(rows)
    names, is_lightgbms = names_of(estimator, rows)
    count = _width(estimator)
    if count is None and rows is None:
        if (first := _first(estimator)) is not None and not is_known(first):
            raise refusal(Graph(), first)
        raise Unsupported(
            f"the {type(estimator).__name__} has no fitted step, and so lacks the number of its columns: "
            "give rows by check=X")
    count = numpy.shape(rows)[1] if count is None else int(count)
    # LightGBM makes up names for the columns of arrays.
    named = names is not None and list(names) != [f"Column_{at}" for at in range(count)]
    known = [str(names[at]) if named and names is not None else f"x{at}" for at in range(count)]
    dropped = set(dropped_columns(estimator)) if named and hasattr(rows, "columns") else set()
    given = [_given_type(rows, named, name, at, at in dropped) for at, name in enumerate(known)]
    texts = text_columns(estimator, count) | {at for at, kind in enumerate(given) if kind == TEXT}
    kinds = []
    for at, name in enumerate(known):
        type_ = types.get(name) if isinstance(types, Mapping) else types if at not in texts else None
        if type_ is not None:
            kind = TEXT if type_ in (str, object, "str", "object") else numpy.dtype(type_)
        else:
            kind = given[at] or (TEXT if at in texts else FLOAT64)
        if kind.kind not in "fiubO" or kind in (numpy.float16, numpy.longdouble):
            raise Refused(
                f"column {name!r} has the type {kind}, which schedc does not export; give its rows as "
                "numbers in float32 or float64, or as text"
            )
        kinds.append(kind)
    features = [Feature(name, kind, dropped=at in dropped)
                for at, (name, kind) in enumerate(zip(known, kinds))]
    return Inputs(features, named, are_lightgbms=named and is_lightgbms)


def names_of(estimator: Any, rows: Any) -> tuple[Any, bool]:
    """The names of the columns, None if there are none, and whether a column may have a blank where its name
    has `_`: LightGBM writes names so and keeps no others, and objects take their names from a part. Another
    part, or rows, may have the names of the table."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not _are_lightgbms(estimator) or not any("_" in str(name) for name in names):
        return names, False
    known = [str(name) for name in names]
    others = [getattr(part, "feature_names_in_", None) for part in _parts(estimator)
              if not _are_lightgbms(part)]
    for other in (*others, getattr(rows, "columns", None)):
        if other is not None:
            given = list(map(str, other))
            own = dict(zip(as_lightgbm(given, known), given))
            if set(known) <= set(own):
                return [own[name] for name in known], False
    return names, True


def _are_lightgbms(estimator: Any) -> bool:
    """Whether LightGBM may have written the names of an object's columns: it or a part is LightGBM's."""
    return key_of(held(estimator)).startswith("lightgbm.") or any(map(_are_lightgbms, _parts(estimator)))


def _parts(estimator: Any) -> list[Any]:
    """The fitted parts of an object that read its columns."""
    for attribute in ("estimators_", "calibrated_classifiers_"):
        parts = getattr(held(estimator), attribute, None)
        if isinstance(parts, (list, tuple)):
            # A calibrated classifier holds the part and its curves.
            is_calibrated = attribute == "calibrated_classifiers_"
            return [part.estimator if is_calibrated else part for part in parts]
    steps = getattr(held(estimator), "steps", None)
    return [steps[0][1]] if isinstance(steps, list) and steps else []


def dropped_columns(estimator: Any) -> list[int]:
    """The positions of the columns that the first step of a pipeline drops."""
    first = held(estimator)
    while isinstance(getattr(first, "steps", None), list):
        first = held(first.steps[0][1])
    places = getattr(first, "_transformer_to_input_indices", None)
    if places is None:
        return []
    read = {at for name, part, _ in first.transformers_ for at in places[name]
            if not (isinstance(part, str) and part == "drop")}
    return [at for at in range(first.n_features_in_) if at not in read]


def _given_type(rows: Any, named: bool, name: str, at: int, is_dropped: bool) -> numpy.dtype | None:
    """The type of a column in rows. None without rows, and for a dropped column that the rows lack or whose
    type files do not have, such as dates."""
    if rows is None:
        return None
    if named and hasattr(rows, "columns") and name not in rows.columns:
        if is_dropped:
            return None
        raise Refused(f"the rows given by check lack the column {name!r}")
    kind = _type_of(rows, _place(rows, named, name, at))
    return None if is_dropped and kind.kind not in "fiubO" else kind


def _first(estimator: Any) -> Any:
    """The first step of a pipeline, or the estimator itself; None if a step has no name in the tables."""
    while steps := getattr(held(estimator), "steps", None):
        estimator = steps[0][1]
    return None if isinstance(estimator, str) else estimator


def _width(estimator: Any) -> int | None:
    """The number of columns that a fitted object takes; None if the object lacks it.

    A pipeline takes it from its first step, and fails if that is no estimator.
    """
    steps = getattr(estimator, "steps", None)
    for _, step in steps if isinstance(steps, list) else []:
        if step is not None and not isinstance(step, str):
            return _width(held(step))
    count: int | None = getattr(estimator, "n_features_in_", None)
    return count


def table(rows: Any) -> Any:
    """Rows as an array or a table of pandas."""
    if rows is None or hasattr(rows, "iloc"):
        return rows
    if hasattr(rows, "to_pandas"):
        return rows.to_pandas()
    if hasattr(rows, "toarray"):
        return rows.toarray()
    return numpy.asarray(rows)


def _place(rows: Any, named: bool, name: str, at: int) -> Any:
    """The key of a column of rows: its name in a table if the object knows names, else its position."""
    return name if named and hasattr(rows, "iloc") else at


def _type_of(rows: Any, column: Any) -> numpy.dtype:
    """The type of a column as scikit-learn reads it."""
    if hasattr(rows, "iloc"):
        cells = rows[column] if isinstance(column, str) else rows.iloc[:, column]
        kind: Any = cells.dtype
        kind = getattr(getattr(kind, "categories", None), "dtype", kind)
        if isinstance(kind, numpy.dtype) and kind.kind in "fiub":
            return numpy.dtype(kind)
        values = cells.to_numpy()
        if getattr(kind, "kind", "") in ("f", "i", "u", "b"):
            return FLOAT64
        if getattr(kind, "kind", "") in ("m", "M"):
            return numpy.dtype(f"{kind.kind}8")
    else:
        values = rows[:, int(column)]
        if values.dtype.kind in "fiub":
            found: numpy.dtype[Any] = values.dtype
            return found
    return TEXT if any(isinstance(value, str) for value in values.tolist()) else FLOAT64
