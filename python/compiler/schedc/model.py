"""Compiled models."""

from __future__ import annotations

import html
import json
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal

import numpy
import schedc_runtime
from schedc_runtime import BatchPredictor
from schedc_runtime._names import renamed
from schedc_runtime.batch import column_names, is_frame
from schedc_runtime.findings import public

from ._native import Artefact
from ._native import Compilation as NativeCompilation
from .answers import Answers, Array
from .arguments import array_of, refuse_keys
from .background import Compilation
from .code import Code, Recipe
from .decisions import rules
from .device import is_on_gpu, predict_on_gpu, refuse_gpu
from .elsewhere import no_attribute, output_of
from .estimator import conditional
from .findings import Findings, Refused
from .fitted import FAMILY, PipelineOrigin
from .labels import labels_in
from .meaning import IN_ORDER, SECTION, Meaning
from .methods import Methods, lacking, put
from .origin import Origin
from .precision import direct_types, model_for
from .saving import checked_path, write_library
from .schedule import Schedule
from .sparse import is_sparse, predict_sparse

Output = Literal["value", "raw", "class", "leaf", "tree"]

#: The trainers of models from ONNX files.
_GRAPHS = ("ONNX", "")
#: Trainers whose objects take the columns of tables in their order if they were trained without names.
_TAKE_POSITIONS = ("XGBoost", "LightGBM", "CatBoost", "scikit-learn")


class Model(Methods):
    """A compiled model. Several threads may call it at the same time; calls release the interpreter's lock.

    Rows are an array of two dimensions in any order, a table (a DataFrame of pandas or Polars, a Table or
    RecordBatch of pyarrow, anything with Arrow's PyCapsule interface, a dict of arrays, a list of dicts, a
    dict for one row), or a sparse matrix of SciPy. Columns of tables are matched by the names of the model's
    features. NaN and null are missing. Absent entries of a sparse matrix are missing for models of XGBoost
    and 0 for others, as for their trainers.

    A pickled model includes the bytes of its library. Models are fitted estimators of scikit-learn, which
    cannot be fitted again.
    """

    def __init__(
        self, code: Code | schedc_runtime.Model, origin: Origin | None, recipe: Recipe | None
    ) -> None:
        # A model without code predicts by walking its trees, until _install gives it the code.
        self._made = code if isinstance(code, Code) else None
        self._origin, self._recipe = origin, recipe
        self._native = schedc_runtime.load(code.library) if isinstance(code, Code) else code
        self._compilation: Compilation | None = None
        meaning = Meaning.of(origin) if origin is not None else Meaning.read(self._native.section(SECTION))
        self._meaning = meaning or Meaning()
        self._set_up()

    def _set_up(self) -> None:
        meaning, whole = self._meaning, self._about
        about, self._answers = whole["model"], meaning.answers.in_library(whole["model"])
        self._single, self._names = meaning.single, meaning.names
        nameless = meaning.names is None and self._native.feature_names is None
        self._by_position = meaning.by_position or (nameless and about.get("trainer") in _TAKE_POSITIONS)
        naming = (about.get("categories") or {}).get("naming", [])
        # CatBoost also accepts names in arrays.
        self._names_in_arrays = "spelled" in naming
        self._direct = () if self._names_in_arrays else direct_types(meaning)
        self._values = about.get("values")
        has_shares = bool(whole["outputs"]["class"]) and self._values is None
        self._decisions = about.get("decisions")
        self._decider = rules(meaning.decisions, whole["outputs"]["raw"]) if self._decisions is None else None
        is_known = self._decisions is not None or self._decider is not None
        has_decisions = is_known or about.get("trainer") not in _GRAPHS
        self._lacking = lacking(meaning.answers, meaning.family, has_shares, has_decisions)
        self._variants: dict[tuple[str, bool], Model] = {}
        # The pipeline compiled for rows of the types of the key, a `RowTypes`.
        self._of_types: dict[Any, Model] = {}
        # The types of the columns of the last table that may have single precision, and the model for them.
        self._last_types: tuple[Any, Model] | None = None
        self._predictors: dict[tuple[Any, ...], BatchPredictor] = {}
        # Predictors for frames in calls without options for columns. The key is the output, and whether
        # columns are found by position.
        self._usual: dict[tuple[str, bool], BatchPredictor] = {}
        self._lock = threading.Lock()

    # The compilation.

    @property
    def ready(self) -> bool:
        """Whether the model is compiled. Only models of ``effort="background"`` may not be."""
        return self._made is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the model is compiled, for at most ``timeout`` seconds. Returns whether it is.

        Raises the error of a compilation that failed. The model still predicts then, without compiled code.
        """
        return self._compilation is None or self._compilation.wait(timeout)

    def _compile(self, native: NativeCompilation) -> None:
        """Compiles the model in a background thread."""
        self._compilation = Compilation(native, self, Model._install)

    def _install(self, made: Artefact) -> None:
        """Stores the compiled code. Calls that began before still end without it."""
        for warning in made.warnings:
            warnings.warn(warning, stacklevel=2)
        code = Code.of(made)
        native = schedc_runtime.load(code.library)
        with self._lock:
            self._native, self._made = native, code
            self._predictors, self._usual = {}, {}

    @property
    def _code(self) -> Code:
        """The code. Waits until the model is compiled."""
        if self._made is None:
            self.wait()
        if self._made is None:
            raise RuntimeError("the model was not compiled, since the program ends")
        return self._made

    # Properties of the model.

    @property
    def info(self) -> dict[str, Any]:
        """Information of the library about its model: objective, types, names of features and categories,
        labels, order of accumulation."""
        self.wait()
        return self._about

    @property
    def _about(self) -> dict[str, Any]:
        """The information of :attr:`info`. Before the model is compiled, it lacks the schedule."""
        about: dict[str, Any] = json.loads(self._native.info_json)
        return about

    @property
    def schedule(self) -> Schedule:
        """The schedule of the library; if it has several versions, that of the best one for this machine."""
        return Schedule(self.info["schedule"])

    @property
    def schedules(self) -> dict[tuple[str, str], Schedule]:
        """The schedule of each version, by processor and type of rows; empty for a loaded library."""
        return {(cpu, rows): Schedule(text) for cpu, rows, text in self._code.schedules}

    @property
    def order(self) -> str:
        """The order of accumulation. ``"exact"`` is the trainer's, and margins are equal to the bit;
        otherwise ``"reassociated"``."""
        return str(self.info["order"])

    @property
    def findings(self) -> Findings:
        """Findings in the schedule."""
        return Findings(*self._code.findings)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings and notes on the model's file, on the order of the columns of tables, and on rows that the
        object refuses and the model answers."""
        in_order = (IN_ORDER,) if self._by_position else ()
        return (*self._code.notes, *self._meaning.notes, *in_order)

    @property
    def header(self) -> str | None:
        """The C header of the library; None if it was loaded."""
        return self._code.header

    @property
    def n_features_in_(self) -> int:
        """Number of columns of a row."""
        return self._native.num_features

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features. Raises AttributeError if the model has none."""
        names = self._names or self._native.feature_names
        if names is None or (self._meaning.family == FAMILY and self._by_position):
            raise AttributeError("the model has no names of features")
        return numpy.array(names, dtype=object)

    @property
    def classes_(self) -> Array | list[Array]:
        """The labels of the classes, in the order of the columns of probabilities; a list of these for
        several targets, where the object has one.

        Raises AttributeError if there are none.
        """
        if self._answers.classes is not None:
            if self._answers.kind != "classifier":
                raise AttributeError(no_attribute("classes_"))
            return self._answers.classes
        return labels_in(self._about["model"])

    # Predictions.

    @conditional
    def predict(
        self,
        X: Any,
        *,
        output: Output | None = None,
        out: Array | None = None,
        base_margin: Any = None,
        threads: int = 0,
        iteration_range: tuple[int, int] | None = None,
        columns: Sequence[str | None] | Mapping[str, str | None] | None = None,
        by_position: bool | None = None,
        unseen: Literal["error", "missing", "other"] | None = None,
        categories: Literal["names", "codes"] | None = None,
        device: int | None = None,
        stream: Any = None,
        **others: Any,
    ) -> Any:
        """Predicts rows, as the object's own ``predict`` does in shape, type and value, if it has one.

        ``output`` selects another result: ``"value"``, the main call of the trainer; ``"raw"``, margins;
        ``"class"``, numbers of classes; ``"leaf"``; ``"tree"``, the value of each tree. ``out`` is
        an array for the result: writable, in C order, of the result's type and shape.

        ``base_margin`` replaces XGBoost's base_score: a number for each row and margin.
        ``iteration_range=(first, end)`` uses only these iterations. Both trigger a recompile on first use.
        ``threads`` is the largest number of threads; 0 leaves it to the library. ``columns`` names the
        features' columns in a table. It is a list of names, or a dict from features to names in which None
        marks an absent feature. ``by_position=True`` takes columns in their order. ``unseen`` is the
        treatment of unknown categories, by default the trainer's. ``categories`` is the meaning of plain
        numbers where categories have names: ``"names"`` or ``"codes"``, by default names in tables and codes
        in arrays.

        XGBoost's ``output_margin=True``, LightGBM's ``raw_score=True`` and CatBoost's ``prediction_type``
        select an output, too.

        With ``target="gpu"``, rows may be in a GPU's memory, as for :meth:`schedc_runtime.Model.predict`, and
        ``stream`` is the call's. ``device`` is the number of the GPU that runs calls on other rows.

        Raises Refused for rows that do not fit the model, TypeError for objects that are no rows and for
        other options of trainers, and SchedcError if the library refuses the call.
        """
        if others:
            wanted = output_of(others)
            more: dict[str, Any] = {
                "base_margin": base_margin, "threads": threads, "iteration_range": iteration_range,
                "columns": columns, "by_position": by_position, "unseen": unseen, "categories": categories,
                "device": device, "stream": stream,
            }
            if wanted in ("predict_proba", "leaf"):
                found = self.apply(X, **more) if wanted == "leaf" else self.predict_proba(X, **more)
                return found if out is None else put(found, out)
            return self.predict(X, output="raw" if wanted == "raw" else output, out=out, **more)
        is_plain = base_margin is None and iteration_range is None and categories is None and device is None
        if is_plain and stream is unseen is None and type(X) is numpy.ndarray and X.dtype in self._direct:
            if output is not None or type(self._answers) is Answers:
                kind: Any = self._answers.output if output is None else output
                try:
                    return self._native.predict(X, kind, out=out, threads=threads)
                except ValueError as error:
                    raise public(error) from None
            answer = self._answers.predict(partial(self._direct_call, X, threads=threads))
            return answer if out is None else put(answer, out)
        model = self._variant(iteration_range, base_margin is not None)
        more = {
            "base_margin": base_margin, "threads": threads, "unseen": unseen, "by_position": by_position,
            "columns": columns, "categories": categories, "device": device, "stream": stream,
        }
        if output is not None:
            return model._call(X, output, out, more)
        if type(self._answers) is Answers:
            return model._call(X, self._answers.output, out, more)
        refuse_gpu(X)
        answer = self._answers.predict(lambda kind: model._call(X, kind, None, more))
        return answer if out is None else put(answer, out)

    def _call(self, X: Any, output: Any, out: Any, more: Mapping[str, Any]) -> Any:
        """One call of the library. Raises Refused for rows and options that it does not accept."""
        try:
            return self._call_of_rows(X, output, out, more)
        except ValueError as error:
            raise public(error) from None

    def _call_of_rows(self, X: Any, output: Any, out: Any, more: Mapping[str, Any]) -> Any:
        if is_on_gpu(X):
            return predict_on_gpu(self._native, X, output, out, more)
        model = self._for(X)
        if model is not self:
            return model._call_of_rows(X, output, out, more)
        plain = {"threads": more["threads"], "base_margin": more["base_margin"], "device": more["device"],
                 "stream": more["stream"], "out": out}
        if more["categories"] == "codes":
            self._meaning.refuse_codes()
        is_usual = is_frame(X) and _is_usual(more)
        if is_usual:
            predictor = self._usual.get((output, self._takes_positions(X)))
            if predictor is not None:
                found = predictor._numbers_of_frame(X, plain, self._single)
                if found is not None:
                    return found
        if is_sparse(X):
            return predict_sparse(self._native, X, output, self._about["model"], self._single, plain)
        if isinstance(X, (list, tuple)) and len(X) == 0:
            X = numpy.empty((0, self.n_features_in_), dtype="float32")
        elif isinstance(X, (list, tuple)) and not isinstance(X[0], Mapping):
            X = array_of(X)
        plain_array = isinstance(X, numpy.ndarray) and X.dtype.kind not in "OUT" and X.dtype.names is None
        is_named = self._names_in_arrays or more["categories"] is not None or more["unseen"] is not None
        if plain_array and not is_named:
            rows = X.astype("float32", copy=False) if self._single else X
            return self._native.predict(rows, output, **plain)
        predictor = self._predictor(X, output, more, is_usual)
        return predictor._numbers_of(X, plain, single=self._single)

    def _predictor(self, X: Any, output: Any, more: Mapping[str, Any], is_usual: bool) -> BatchPredictor:
        """A predictor that finds features in tables by the caller's names or the model's. A model trained
        without names takes columns in their order, unless the table has all generated names of its file.
        ``is_usual``: a frame in a call without options for columns. Later calls use its predictor, too."""
        columns, by_position = more["columns"], more["by_position"]
        unseen = self._meaning.unseen if more["unseen"] is None else more["unseen"]
        if columns is None and by_position is None:
            by_position = self._takes_positions(X)
        is_array = isinstance(X, numpy.ndarray)
        if columns is None and not by_position and not is_array:
            columns = self._names
        elif isinstance(columns, Mapping) and self._names is not None:
            columns = renamed(self._names, columns)
        key = (output, by_position, unseen, more["categories"], repr(columns))
        with self._lock:
            found = self._predictors.get(key)
            if found is None:
                found = BatchPredictor(
                    self._native, columns, output, by_position=bool(by_position), unseen=unseen,
                    categories=more["categories"],
                )
                found._markers = dict(self._meaning.markers)
                found._required = self._meaning.required if unseen == "error" else ()
                found._truths_are_numbers = self._meaning.family == "scikit-learn"
                found._are_lightgbms |= self._meaning.are_lightgbms
                self._predictors[key] = found
            if is_usual:
                self._usual[output, bool(by_position)] = found
            return found

    def _takes_positions(self, X: Any) -> bool:
        """Whether the model takes the columns of a table in their order if the caller gives no option."""
        if not self._by_position:
            return False
        known = self._names or self._native.feature_names
        if known and set(known) <= set(column_names(X)):
            return False
        refuse_keys(X)
        return True

    def _variant(self, iteration_range: tuple[int, int] | None, base_margin: bool) -> Model:
        """The model, compiled for other iterations or for calls with a base margin."""
        if iteration_range in (None, (0, 0)) and (not base_margin or "base_margin" in self._about["model"]):
            return self
        if self._origin is None or self._recipe is None:
            raise Refused(
                "a loaded library supports only the iterations and the base margin that it was built with; "
                "compile the model again, with iterations= or base_margin=True"
            )
        from ._compile import built

        iterations = self._origin.iterations
        if iteration_range not in (None, (0, 0)):
            try:
                first, end = (int(number) for number in iteration_range)
            except (TypeError, ValueError):
                raise TypeError("iteration_range is a pair of the first iteration and the end, such as "
                                f"(0, 10), not {iteration_range!r}") from None
            if end == 0:
                raise Refused("the end of iteration_range must be above 0; only (0, 0) means all "
                                 "iterations")
            iterations = f"{first}..{end}"
        key = (iterations, base_margin)
        with self._lock:
            known = self._variants.get(key)
            if known is None:
                # The schedule is that of the first compilation, so the lock is not read again.
                recipe = self._recipe._replace(
                    base_margin=base_margin or self._recipe.base_margin, lock=None, locked=False, frozen=True
                )
                code = built(replace(self._origin, iterations=iterations), recipe)
                known = self._variants[key] = Model(code, self._origin, recipe)
            return known

    def _for(self, X: Any) -> Model:
        """The model compiled for the types of these rows."""
        return model_for(self, X)

    def _of_rows(self, types: Any) -> Model:
        """The pipeline, compiled for rows of these types, a ``RowTypes``."""
        from ._compile import built

        assert isinstance(self._origin, PipelineOrigin) and self._recipe is not None
        with self._lock:
            known = self._of_types.get(types)
            if known is None:
                origin = self._origin.with_rows(types)
                recipe = self._recipe._replace(rows="both", lock=None, locked=False, frozen=True)
                same = origin.model == self._origin.model
                known = self._of_types[types] = self if same else Model(built(origin, recipe), origin, recipe)
            return known

    # Files.

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the shared library, for :func:`schedc.load`, ``schedc_runtime`` and C programs. An existing
        file is replaced atomically.

        Raises Refused for a name that ends like a model's or a table's file, such as ``.json``. Warns if
        the library cannot keep the labels of the classes, or if it refuses rows that the model has predicted.
        """
        place = checked_path(path)
        if self._origin is not None and not Meaning.of(self._origin).text():
            warnings.warn(
                "the labels of the classes are neither numbers nor texts, so the file lacks them: the loaded "
                "model returns the results of the model's file; a pickle keeps the labels",
                stacklevel=2,
            )
        if any(other is not self for other in self._of_types.values()):
            warnings.warn(
                "the file accepts only dense rows in double precision, but this model has predicted others; "
                'for arrays of float32, save schedc.compile(pipeline, rows="f32")',
                stacklevel=2,
            )
        write_library(place, self._code.library)

    @property
    def library(self) -> bytes:
        """The bytes of the shared library."""
        return self._code.library

    def __getstate__(self) -> dict[str, Any]:
        # The model's own bytes are left out: the library contains the code.
        return {"code": self._code, "meaning": self._meaning}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._made, self._origin, self._recipe = Code(*state["code"]), None, None
        self._meaning = state["meaning"]
        self._native = schedc_runtime.load(self._made.library)
        self._compilation = None
        self._set_up()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        own = [one for one in dir(type(self)) if not one.startswith("_") and one not in self._lacking]
        has_stages = self._origin is not None and self._origin.has_stages(self._about["model"].get("trainer"))
        raise AttributeError(no_attribute(name, own, has_stages))

    def __repr__(self) -> str:
        about = self._about
        model = about["model"]
        return (f"Model({model['trees']} trees, {model['features']} features, "
                f"{model['objective']}, {about.get('order', 'not compiled yet')})")

    def _repr_html_(self) -> str:
        about = self.info
        model = about["model"]
        names = ", ".join(str(name) for name in (model.get("feature_names") or [])[:8])
        shown = {
            "trainer": model.get("trainer"), "objective": model["objective"], "trees": model["trees"],
            "features": f"{model['features']}{': ' + names if names else ''}", "types": ", ".join(
                f"{what} {kind}" for what, kind in model["types"].items()),
            "order of accumulation": about["order"], "target": about["target"],
            "library": f"{len(self._code.library) // 1024} KiB",
        }
        rows = "".join(f"<tr><th style='text-align:left'>{what}</th><td "
                       f"style='text-align:left'>{html.escape(str(value))}</td></tr>"
                       for what, value in shown.items() if value)
        return f"<table>{rows}</table>{self.schedule._repr_html_()}"


def _is_usual(options: Mapping[str, Any]) -> bool:
    """Whether a call has no options that change the meaning of columns."""
    return (options["columns"] is None and options["by_position"] is None and options["unseen"] is None
            and options["categories"] is None)
