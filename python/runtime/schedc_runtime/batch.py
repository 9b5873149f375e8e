"""Predictions of whole tables, on one machine or on many.

A :class:`BatchPredictor` is made from a library of ``schedc build``. Its pickle contains the library's bytes,
so that other processes can use it. It predicts tables with named columns:

    >>> import numpy, schedc_runtime
    >>> predictor = schedc_runtime.BatchPredictor("model.so")
    >>> predictor.names
    ['prediction']
    >>> table = {name: numpy.zeros(2, dtype="float32") for name in predictor.features}
    >>> predictor.predict(table)
    {'prediction': array([0.99..., 0.99...], dtype=float32)}

"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy

from . import _columns, _frames, _gpu_tables
from ._categories import Dictionaries, Feature
from ._features import FeatureValues, numbers_of
from ._gpu_tables import is_gpu_table
from ._libraries import bytes_of, digest_of, model_of
from ._names import as_lightgbm, find_columns, quoted, wanted_columns
from ._native import Categories, Lookup, Model, StreamPlan
from ._tables import Table, _Matrix, table_of
from .findings import Refused, Unsupported, public

Output = Literal["value", "raw", "class", "leaf"]

#: A column: its name or its index.
_Column = TypeVar("_Column", int, str)

_HEADINGS = {"value": "prediction", "raw": "margin", "class": "class", "leaf": "leaf"}

#: The reason why some models of XGBoost have categories without names.
_CUT_NAMES = (
    "the names have letters outside ASCII, and XGBoost cuts such names in wrong places when it trains with "
    "pandas, so that its file does not have them; for a frame of pandas whose column has the categories of "
    'training, predict(rows.assign(**{{{0}: rows[{0}].cat.codes}}), categories="codes")'
)


class BatchPredictor:
    """Predicts tables with a library of ``schedc build``.

    ``artefact`` is the library: its path, its bytes, or a :class:`~schedc_runtime.Model`. For different
    processors, build versions for each, as in ``schedc build --cpu x86-64-v3,x86-64-v4``; each machine runs
    the best one that it supports.

    ``columns`` names the features' columns in a table: a list with a name for each feature, or a dict from
    the names of some features to columns. None in place of a column marks an absent feature, whose values are
    all missing. By default, columns have the names of the features. They are found by name, in any order;
    other columns are ignored. ``by_position=True`` takes the columns of a table in their order and ignores
    their names.

    ``output`` is ``"value"``, the trainer's predictions; ``"raw"``, margins; ``"class"``, labels; or
    ``"leaf"``, the leaf that each tree reaches. ``keep`` names columns of the input that come before the
    results, such as an identifier.

    ``threads`` is the largest number of threads of a call; 0 leaves it to the library. ``unseen`` is the
    treatment of unknown categories: ``"error"``, ``"missing"`` or ``"other"``, by default the trainer's.
    ``categories`` is the meaning of plain numbers in columns of categories that have names: ``"names"`` or
    ``"codes"``, by default names in tables and codes in arrays of two dimensions.

    Several threads may use a predictor at the same time. A pickle contains the bytes of the library, which a
    process loads only once. Pickles, like libraries, run code: load only trusted ones.

    Raises Refused for columns or outputs that the model lacks, and OSError if the artefact is not a
    library.

    """

    def __init__(
        self,
        artefact: str | PathLike[str] | bytes | Model,
        columns: Sequence[str | None] | Mapping[str, str | None] | None = None,
        output: Output = "value",
        *,
        keep: Sequence[str] = (),
        threads: int = 0,
        by_position: bool = False,
        unseen: Literal["error", "missing", "other"] | None = None,
        categories: Literal["names", "codes"] | None = None,
    ) -> None:
        walker = artefact if isinstance(artefact, Model) and not artefact.has_library else None
        if walker is not None:
            library = b""
        elif isinstance(artefact, Model):
            library = bytes_of(artefact)
        else:
            library = bytes(artefact) if isinstance(artefact,
                                                    (bytes, bytearray)) else Path(artefact).read_bytes()
        if isinstance(keep, str):
            raise TypeError("keep is a list of names of columns")
        if not isinstance(threads, int) or threads < 0:
            raise Refused("threads is a number from 1 on, or 0 for the library's own choice")
        if by_position and columns is not None:
            raise Refused("columns are found by name or by position: give columns or by_position=True")
        if output not in _HEADINGS:
            raise Refused(f"output is one of {', '.join(_HEADINGS)}, not {output!r}")
        self._digest = digest_of(library)
        self._model = model_of(self._digest, library) if walker is None else walker
        self._options: dict[str, Any] = {
            "columns": dict(columns) if isinstance(columns, Mapping) else columns if columns is None
            else list(columns),
            "output": output, "keep": tuple(keep), "threads": threads, "by_position": by_position,
            "unseen": unseen, "categories": categories,
        }
        self._set_up()

    def _set_up(self) -> None:
        about = json.loads(self._model.info_json)
        self._about: dict[str, Any] = about["model"]
        if "results" not in self._about.get("types", {}):
            raise Refused("the library was built by an older schedc; build it again")
        self._features: list[str] | None = list(self._about.get("feature_names") or []) or None
        options = self._options
        try:
            self._categories = Categories(self._model.info_json, options["unseen"], options.get("categories"))
        except ValueError as error:
            raise public(error) from None
        # Whether the model reads each feature. A table may lack the columns of the others.
        self._reads = [not self._categories.is_unread(at) for at in range(self._model.num_features)]
        # The name of each feature's column; None for a feature that is absent or not read.
        self._wanted: list[str | None] | None = None
        if not options["by_position"]:
            self._wanted = self._named(options["columns"])
        self._dictionaries = Dictionaries(self._categories)
        whole = self._about.get("whole_numbers", {})
        self._whole_arrays_are_single = whole.get("arrays") == "f32"
        self._columns = int(about["outputs"][options["output"]])
        if self._columns == 0:
            raise Refused(f"the model has no output \"{options['output']}\"")
        self._labels: list[Any] = list(self._about.get("labels") or [])
        # By feature, the only marker of missing texts that a pipeline accepts: `None` or `NaN`.
        self._markers: Mapping[int, str] = {}
        # The features with texts whose missing cells a pipeline refuses.
        self._required: tuple[int, ...] = ()
        # Whether truth values are the numbers 0 and 1 among categories.
        self._truths_are_numbers = False
        # Whether LightGBM may have changed the names of the features. It keeps no others.
        self._are_lightgbms = self._about.get("trainer") == "LightGBM"
        names = (self._about.get("categories") or {}).get("names") or []
        # The features that have the empty text as a category.
        self._with_empty = {feature for feature, known in enumerate(names) if _columns.EMPTY in known}
        self._set_up_frames()
        clash = next((name for name in options["keep"] if name in self.names), None)
        if clash is not None:
            raise Refused(f"kept column {quoted(clash)} has the name of a result")

    def _set_up_frames(self) -> None:
        """Creates the data for calls on whole frames."""
        count = self._model.num_features
        by_position = bool(self._options["by_position"]) and not self._options["keep"]
        self._lookup = Lookup(self._wanted, self._read_alone(range(count)) if by_position else None)
        self._coded = [feature for feature in range(count) if self._categories.has_names(feature)]
        own = [-1 if name is None else at for at, name in enumerate(self._wanted or [])]
        self._own_places = numpy.array(own, dtype="int64"), numpy.zeros(len(own), dtype="int64")
        self._first_wanted = next((name for name in self._wanted or [] if name is not None), None)
        self._columns_of_frame: _frames.Columns | None = None
        # The schema of the last table of pyarrow, and the plan for its stream.
        self._plan_of_schema: tuple[Any, StreamPlan] | None = None
        # The names of the columns of the last table, and the column of each feature.
        self._columns_of_table: tuple[list[str], list[int | None]] | None = None

    def _named(self, columns: Any) -> list[str | None] | None:
        if columns is None and self._features is None:
            # Without names, only arrays can be predicted.
            return None
        return self._read_alone(wanted_columns(self._features, self._model.num_features, columns))

    def _read_alone(self, columns: Sequence[_Column | None]) -> list[_Column | None]:
        """The columns of the features that the model reads, and None for others."""
        return [column if is_read else None for column, is_read in zip(columns, self._reads)]

    @property
    def digest(self) -> str:
        """The SHA-256 of the library, in hexadecimal digits."""
        return self._digest

    @property
    def model(self) -> Model:
        """The model, which predicts arrays."""
        return self._model

    @property
    def library(self) -> bytes:
        """The bytes of the library."""
        return bytes_of(self._model)

    @property
    def options(self) -> dict[str, Any]:
        """The other arguments of the constructor."""
        return dict(self._options)

    @property
    def about(self) -> dict[str, Any]:
        """Information of the library about its model: objective, types, names of features and categories,
        labels, and more."""
        return self._about

    @property
    def output(self) -> Output:
        """The kind of output."""
        kind: Output = self._options["output"]
        return kind

    @property
    def threads(self) -> int:
        """The largest number of threads of a call; 0 leaves it to the library."""
        return int(self._options["threads"])

    @property
    def kept(self) -> list[str]:
        """The columns of the input that are copied before the results."""
        return list(self._options["keep"])

    @property
    def features(self) -> list[str] | None:
        """The names of the model's features, or None if it has none."""
        return None if self._features is None else list(self._features)

    @property
    def inputs(self) -> list[str] | None:
        """The columns that a table needs, without those in ``keep`` and those that the model never reads;
        None if columns are found by position."""
        return None if self._wanted is None else [name for name in self._wanted if name is not None]

    @property
    def text_inputs(self) -> set[str] | None:
        """The columns among :attr:`inputs` that hold names of categories as texts; None if some names of
        categories are no texts."""
        names = (self._about.get("categories") or {}).get("names") or [[]] * self._model.num_features
        if any(not isinstance(name, str) for known in names for name in known):
            return None
        return {name for name, known in zip(self._wanted or [], names) if name is not None and known}

    @property
    def names(self) -> list[str]:
        """The names of the columns of results, as in ``schedc predict``."""
        heading = _HEADINGS[self.output]
        if self.output == "value" and self._columns > 1 and self._columns == len(self._labels):
            return [f"P({self._label_text(label)})" for label in self._labels]
        return [heading] if self._columns == 1 else [f"{heading}_{at}" for at in range(self._columns)]

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of the results: float32 or float64, int32 for leaves, and the type of the labels for
        classes (object for texts)."""
        kinds = {"f32": "float32", "f64": "float64", "i32": "int32"}
        if self.output == "class" and self._labels:
            if all(isinstance(label, int) for label in self._labels):
                return numpy.dtype("int64")
            return numpy.dtype(object if any(isinstance(label, str) for label in self._labels) else "float64")
        if self.output in ("class", "leaf"):
            return numpy.dtype("int32")
        return numpy.dtype(kinds[self._about["types"]["results"]])

    @staticmethod
    def _label_text(label: Any) -> str:
        if label is None:
            return "NaN"
        if isinstance(label, float):
            # Numbers as `schedc predict` prints them: no decimal point for whole numbers, and never an
            # exponent.
            return numpy.format_float_positional(label, trim="-")
        return str(label)

    def check(self, names: Sequence[str]) -> None:
        """Raises Refused, with similar names as help, if a table with columns of these names lacks a
        required one."""
        self._find(list(names))
        find_columns(list(names), self.kept)

    def predict(self, table: Any, *, threads: int | None = None, device: int | None = None) -> Any:
        """Predicts the rows of a table. ``device`` is the number of the GPU, for libraries for GPUs.

        ``table`` is a RecordBatch or Table of pyarrow, a DataFrame of pandas or Polars, a dict of arrays of
        one dimension, a list of dicts, or a dict of numbers, which is one row; or an array of two dimensions,
        whose columns are in the model's order. Columns hold numbers or truth values; null and NaN are
        missing. Columns of features with named categories may hold names, as texts or dictionaries.

        Returns a table of the same kind; for an array, a dict or a list, a dict of arrays. It has the columns
        in ``keep``, then the results in columns called :attr:`names`, in the order of the rows. A frame of
        pandas keeps its index.

        Raises Refused for missing columns, with similar names as help, and for values that the model does
        not accept. Raises TypeError for columns of other types, and SchedcError if the library refuses the
        call, such as on a processor that it was not built for.

        """
        source = table_of(table)
        if is_gpu_table(table):
            raise TypeError(
                "a table in a GPU's memory has its results there, too: values(table) returns them as an array"
            )
        kept = [at for at in find_columns(source.names(), self.kept) if at is not None] if self.kept else []
        values = self.values(table, threads=threads, device=device)
        if values.ndim == 1:
            return source.give(kept, {self.names[0]: values})
        columns = (numpy.ascontiguousarray(values[:, at]) for at in range(values.shape[1]))
        return source.give(kept, dict(zip(self.names, columns)))

    __call__ = predict

    def values(
        self, table: Any, *, threads: int | None = None, device: int | None = None, stream: Any = None
    ) -> Any:
        """The results of :meth:`predict` as one array of type :attr:`dtype`: one dimension for a single
        column, otherwise two.

        The table may be a frame of cuDF, or a dict of arrays in the memory of a GPU. The results are in the
        same memory then, as those of :meth:`Model.predict`, and ``stream`` is the call's. Other outputs than
        ``"class"`` are possible.

        """
        plain = {"threads": self.threads if threads is None else threads, "device": device, "stream": stream}
        if self.output == "class" and is_gpu_table(table):
            raise Refused("labels of classes are looked up in the host's memory: give the table there, or "
                          'select another output, such as output="raw"')
        try:
            out = self._numbers_of(table, plain, single=False)
        except ValueError as error:
            raise public(error) from None
        return self._named_classes(out) if self.output == "class" else out

    def _numbers_of(self, table: Any, plain: dict[str, Any], *, single: bool) -> Any:
        """The library's results of a call; ``plain`` has further arguments of the call."""
        found = self._numbers_of_frame(table, plain, single)
        if found is not None:
            return found
        source = table_of(table)
        return self._called(source, source.names(), plain, single)

    def _numbers_of_frame(self, table: Any, plain: dict[str, Any], single: bool) -> numpy.ndarray | None:
        """The results of :meth:`_numbers_of`; None if the table's columns must be converted one by one."""
        return _frames.predicted(self, table, {**plain, "single": single})

    def _called(self, source: Table, names: list[str], plain: dict[str, Any], single: bool) -> Any:
        places = self._in_order(names) if isinstance(source, _Matrix) else self._find(names)
        on_gpu = _gpu_tables.predicted(self, source, names, places, plain)
        if on_gpu is not None:
            return on_gpu
        rows = source.rows()
        features = [self._feature(source, names, at, feature, rows) for feature, at in enumerate(places)]
        given = [None if feature is None else feature.given(single) for feature in features]
        return self._model.predict_columns(given, rows, self.output, **plain)

    def _named_classes(self, classes: numpy.ndarray) -> numpy.ndarray:
        numbers = classes.astype("int32")
        if not self._labels:
            return numbers
        if self.dtype == object:
            labels: list[Any] = [self._label_text(label) for label in self._labels]
        else:
            labels = [numpy.nan if label is None else label for label in self._labels]
        named: numpy.ndarray = numpy.array(labels, dtype=self.dtype)[numbers]
        return named

    def _in_order(self, names: list[str]) -> list[int | None]:
        """The index of each feature's column in an array of two dimensions: the features' own order."""
        if self._options["columns"] is not None:
            raise Refused("columns are names, and an array of two dimensions has none; give a table")
        if len(names) != (count := self._model.num_features):
            raise Refused(f"rows have {len(names)} columns, but the model has {count} features", "D0004")
        return self._read_alone(range(len(names)))

    def _find(self, names: list[str]) -> list[int | None]:
        """The index of each feature's column in a table."""
        count = self._model.num_features
        if self._options["by_position"]:
            places = [at for at, name in enumerate(names) if name not in self._options["keep"]]
            if len(places) != count:
                text = f"the table has {len(places)} columns, but the model has {count} features"
                raise Refused(text, "D0004")
            return self._read_alone(places)
        if self._wanted is None:
            wanted_columns(None, count, None)
        wanted = self._wanted or []
        return find_columns(as_lightgbm(names, wanted) if self._are_lightgbms else names, wanted)

    def _feature(self, source: Table, names: list[str], at: int | None, feature: int,
                 rows: int) -> FeatureValues | None:
        """The numbers of a feature; None if it is absent or not read."""
        if at is None:
            return None
        try:
            values = source.column(at)
        except TypeError as error:
            raise Unsupported(f"column {quoted(names[at])} {error}", "D0020") from None
        return self._feature_of(values, names[at], feature, rows, isinstance(source, _Matrix))

    def _feature_of(self, values: Any, name: str, feature: int, rows: int, is_array: bool) -> FeatureValues:
        """The numbers of a feature, from the values of its column; ``is_array`` is true for columns of an
        array of two dimensions."""
        named = self._categories.has_names(feature)
        if feature in self._markers:
            _columns.check_markers(values, name, self._markers[feature])
        try:
            with_empty = feature in self._with_empty
            codes = self._codes_at_once(values, feature) if named and not with_empty else None
            if codes is not None and len(codes) == rows:
                return FeatureValues(self._complete(codes, name, feature))
            column = _columns.column(values, named)
            column = _columns.with_empty(column) if with_empty else column
            if named:
                # An array that has texts is treated like a table.
                texts = isinstance(column,
                                   _columns.Names) and any(isinstance(value, str) for value in column.names)
                known = Feature(self._categories, feature, texts or not is_array, self._truths_are_numbers)
                codes = self._codes(column, known, name, feature)
                found = FeatureValues(self._complete(codes, name, feature))
            else:
                found = numbers_of(column)
        except TypeError as error:
            raise Unsupported(f"column {quoted(name)} {error}", "D0020") from None
        if is_array and self._whole_arrays_are_single and found.values.dtype.kind in "iu":
            found = found._replace(values=found.values.astype("float32"))
        if len(found.values) != rows:
            text = f"column {quoted(name)} has {len(found.values)} rows, and the table {rows}"
            raise Refused(text, "D0021")
        return found

    def _codes_at_once(self, values: Any, feature: int) -> numpy.ndarray | None:
        """The codes of a column of texts or of pandas' categories. None if the column has other values, or if
        a value has no code."""
        if type(values).__name__ == "Categorical":
            return self._dictionaries.codes(feature, values)
        texts = _columns.texts_of(values)
        return None if texts is None else self._categories.codes_of_texts(feature, texts)

    def _complete(self, codes: numpy.ndarray, name: str, feature: int) -> numpy.ndarray:
        """The codes of a column. Raises Refused if cells are missing that the feature requires."""
        return _columns.complete(codes, name) if feature in self._required else codes

    def _codes(self, column: _columns.Column, known: Feature, name: str, feature: int) -> numpy.ndarray:
        """The codes of a column of categories."""
        try:
            if isinstance(column, _columns.Names):
                return known.of_names(column, name)
            return known.of_numbers(column, name)
        except ValueError as error:
            naming = (self._about.get("categories") or {}).get("naming", [])
            if self._about.get("trainer") != "XGBoost" or naming[feature : feature + 1] != ["doubtful"]:
                raise
            raise Refused(f"{error}; {_CUT_NAMES.format(quoted(name))}", "D0027") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._digest, self.library, self._options)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("schedc_runtime.BatchPredictor", self._digest, repr(self._options))

    def __repr__(self) -> str:
        return f"BatchPredictor({self._model!r}, output={self.output!r})"


def is_frame(value: Any) -> bool:
    """Whether an object is a frame that a library can predict as a whole if its columns are numbers."""
    return _frames.is_frame(value)


def column_names(table: Any) -> list[str]:
    """The names of a table's columns. Raises TypeError if it is not a table."""
    return table_of(table).names()


def _restored(digest: str, library: bytes, options: dict[str, Any]) -> BatchPredictor:
    """Restores a pickled predictor."""
    predictor = BatchPredictor.__new__(BatchPredictor)
    predictor._digest, predictor._options = digest, options
    predictor._model = model_of(digest, library)
    predictor._set_up()
    return predictor
