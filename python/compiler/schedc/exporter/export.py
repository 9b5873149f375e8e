"""Exports a fitted object to a file, and compares the file with the object."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
from schedc_runtime._columns import EMPTY

from .. import _native
from ..decisions import with_rule
from ..findings import Refused, outside_of, refused
from ..fitted import answers_of
from ..labels import labels_of
from ..parts import unfitted
from ..schedule import values_of
from .check import Mismatch, compare, expected
from .columns import Columns
from .graph import FLOAT64, IR_VERSION, OPSET, OPSET_ML, Graph, Promise, Value, element, tensor
from .inputs import Inputs, RowTypes, dropped_columns, inputs_of
from .refusals import reason_of
from .rows import rows_for
from .stages import Prediction, held, is_model, predict, refuse, transform
from .targets import label_type
from .targets import labels as target_labels
from .versions import OLDEST, release

__all__ = ["Exported", "Mismatch", "export", "exported", "refusal_of"]


@dataclass(frozen=True)
class Exported:
    """A fitted object as a file of ONNX."""

    content: bytes
    inputs: Inputs
    graph: Graph
    outputs: dict[str, Value]
    """The output values, by the kind of output."""
    names: dict[str, str]
    """The name of each output in the file."""
    kind: str
    """The kind of the model, as in `Prediction`; `columns` for pipelines without a model."""
    classes: Any
    """The labels that the file predicts; None if it predicts numbers."""
    labels: Any = None
    """The labels for the numbers that the object predicts, if the caller gave labels."""
    targets: tuple[Any, ...] = ()
    """The classes of each of several targets."""
    is_table: bool = False
    """Whether the object predicts a table, even of a single column."""

    def promises(self) -> dict[str, Promise]:
        """The accuracy of each output, relative to the object's result."""
        return {name: value.promise for name, value in self.outputs.items()}

    def feeds(self, rows: Any) -> dict[str, numpy.ndarray]:
        """Rows as the inputs of the file."""
        return self.inputs.feeds(self.graph, rows)


def export(model: Any, path: str | os.PathLike[str], *, check: Any = None, types: Any = None,
           labels: Any = None) -> None:
    """Writes a fitted scikit-learn object as a file of ONNX that predicts the same values.

    Before the file is written, its predictions are compared with the object's, on the rows `check`, or, by
    default, on rows made from the fitted statistics: thresholds and their neighbours, categories, missing and
    unseen values. `check=False` skips the comparison.

    Columns have the types of the rows `check`. Without rows, a column is text if the object has text as its
    categories, and f64 otherwise. `types` gives other types: one for all columns with numbers, such as
    `"float32"`, or types by the names of columns.

    `labels` has the labels of a classifier that was trained on their numbers: a fitted `LabelEncoder`, or a
    list. The output `label` then has these.

    Raises :class:`schedc.Refused` for estimators and options that cannot be exported exactly, for an object
    that is not fitted, and for a path with another ending than `.onnx`; and its subclass Mismatch if the file
    and the object differ. Raises ImportError without the package onnx.
    """
    place = _checked_path(path)
    made = exported(model, rows=None if check is False else check, types=types, labels=labels)
    if check is not False:
        rows = rows_for(model, made) if check is None else check
        if outside := compare(model, made, rows):
            warnings.warn(outside_of(outside, len(rows), f"the {type(model).__name__}"), stacklevel=2)
    content = with_rule(made.content, answers_of(model, made))
    place.write_bytes(content)
    _warn_if_unread(place, content, check is not False)


def _warn_if_unread(place: Path, content: bytes, is_checked: bool) -> None:
    """Warns if schedc cannot read a file, even if a check has found that the file is right."""
    error = refusal_of(content)
    if error is not None:
        warnings.warn(
            f"{place} {'predicts what the object does' if is_checked else 'is written without a check'}, "
            f"but schedc does not read it: {error}",
            stacklevel=3,
        )


def refusal_of(content: bytes) -> Refused | None:
    """The error with which schedc refuses to read a file; None if it reads the file."""
    try:
        _native.check("", content, values_of(None, None, None))
    except _native.Refused as error:
        return refused(error)
    return None


def _checked_path(path: str | os.PathLike[str]) -> Path:
    """The path of an exported file. Raises Refused if the name has the ending of another kind of file."""
    place = Path(path)
    if place.suffix.lower() not in ("", ".onnx"):
        library = f'; schedc.compile(model).save("{place}") writes a library' if place.suffix == ".so" else ""
        raise Refused(
            f"{place} would be an ONNX file under the name of another kind of file: name it "
            f"{place.with_suffix('.onnx')}{library}"
        )
    return place


def exported(model: Any, *, rows: Any = None, types: Any = None, joint: bool = False,
             labels: Any = None, row_types: RowTypes | None = None) -> Exported:
    """A fitted object as a file of ONNX, without a comparison.

    `row_types` replaces the types of columns. `joint` is for a file that is compiled in memory. If the object
    has `predict_log_proba`, the file gets the output `joint`, from which that is computed. The empty text has
    the name `EMPTY` in the file.
    """
    _require()
    estimator = held(model)
    _check_fitted(estimator)
    inputs = inputs_of(estimator, rows, types)
    inputs = inputs if row_types is None else inputs.typed(row_types)
    graph = Graph(EMPTY if joint else "")
    columns = inputs.add(graph)
    with nullcontext() if hasattr(estimator, "steps") else graph.step(type(estimator).__name__):
        if is_model(estimator):
            made = _with_labels(predict(graph, estimator, columns), labels)
            outputs = _outputs(graph, made, joint)
        else:
            _with_labels(Prediction("columns"), labels)
            columns = transform(graph, estimator, columns)
            if not len(columns):
                raise refuse(graph, estimator, "makes no columns, so that its file would have no output")
            made = Prediction("columns", variable=_result(graph, columns))
            outputs = {"variable": made.variable}
    _check_blanks(graph, estimator, inputs)
    found = {name: value for name, value in outputs.items() if value is not None}
    names = {name: graph.output_name(name) for name in found}
    content = _file(graph, estimator, inputs, {names[name]: value for name, value in found.items()})
    targets = tuple(numpy.asarray(one.classes) for one in made.targets)
    return Exported(content, inputs, graph, found, names, made.kind, made.classes, labels, targets,
                    made.is_table)


def _check_blanks(graph: Graph, estimator: Any, inputs: Inputs) -> None:
    """Raises Unsupported for an object that distinguishes kinds of empty or missing texts that a file cannot
    distinguish."""
    for at, kinds in graph.blanks.items():
        column = f"in column {inputs.features[at].name!r}"
        if "None" in kinds:
            raise refuse(graph, estimator, f"distinguishes None and NaN {column}, which an ONNX file cannot: "
                         "replace None by NaN in the rows, as rows.fillna(numpy.nan) does, and fit it again")
        if graph.empty == "" and len(kinds) > 1:
            raise refuse(graph, estimator, f"distinguishes the empty text and missing values {column}, which "
                         "an ONNX file cannot, but schedc.compile can; for a file, fit it on rows without "
                         'empty texts, as from rows.replace("", "(none)")')


def _require() -> None:
    try:
        import onnx  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"schedc.export needs {error.name}, which is not installed: pip install 'schedc[export]'"
        ) from None
    if release() < OLDEST:
        raise ImportError(f"schedc.export needs scikit-learn {OLDEST[0]}.{OLDEST[1]} or later")


def _check_fitted(estimator: Any) -> None:
    """Raises Refused for an unfitted object, and TypeError for an object without a method `fit`."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"{estimator!r} is no fitted object of scikit-learn")
    last = estimator
    while getattr(last, "steps", None):
        last = last.steps[-1][1]
    try:
        # Releases before 1.6 raise an error for a pipeline whose last step passes its rows on, and for a
        # fitted FeatureHasher. Estimators with a reason are refused whether they are fitted or not.
        if last not in (None, "passthrough") and reason_of(type(last).__name__) is None:
            check_is_fitted(estimator)
    except NotFittedError:
        name = type(estimator).__name__
        raise Refused(f"the {name} is not fitted yet: call its fit first") from None
    if hasattr(estimator, "cv_results_") and (message := unfitted(estimator)) is not None:
        raise Refused(message)


def _outputs(graph: Graph, made: Prediction, joint: bool) -> dict[str, Value | None]:
    """The outputs of a model by name."""
    if made.kind == "regressor":
        return {"variable": made.variable, "margins": made.margins}
    if made.targets:
        graph.details["classes"] = [numpy.asarray(one.classes).tolist() for one in made.targets]
        return {"label": target_labels(graph, made), "probabilities": made.probabilities,
                "margins": made.margins}
    if made.classes is not None:
        graph.details["classes"] = numpy.asarray(made.classes).tolist()
    return {
        "label": _label(graph, made), "probabilities": made.probabilities, "margins": made.margins,
        "scores": made.scores, "distances": made.distances, "joint": made.joint if joint else None,
    }


def _result(graph: Graph, columns: Columns) -> Value:
    """Columns as the result of a pipeline. A sparse matrix has 0 in place of -0."""
    value = columns.value(graph)
    return graph.add("Add", value, 0.0) if columns.sparse and value.dtype.kind == "f" else value


def _with_labels(made: Prediction, labels: Any) -> Prediction:
    """Replaces the numbers that a classifier predicts by labels."""
    if labels is None:
        return made
    if made.kind != "classifier":
        raise Refused("labels= is for classifiers of one target: the object is none")
    return replace(made, classes=labels_of(labels, made.classes))


def _label(graph: Graph, made: Prediction) -> Value:
    """The predicted classes, `[n_rows]`, from their indices."""
    assert made.index is not None
    classes = numpy.asarray(made.classes)
    if classes.dtype.kind in "iuf" and numpy.array_equal(classes, numpy.arange(len(classes))):
        return made.index
    kind = label_type([classes])
    return graph.add("Gather", classes.astype(kind), made.index, axis=0, dtype=kind, width=0)


def _file(graph: Graph, estimator: Any, inputs: Inputs, outputs: dict[str, Value]) -> bytes:
    from onnx import helper
    from sklearn import __version__ as sklearn_version

    produced = {node.output[0] for node in graph.nodes}
    renamed: dict[str, str] = {}
    for name, value in outputs.items():
        if value.name not in produced or value.name in renamed:
            value = graph.add("Identity", value)
        renamed[value.name] = name
    for node in graph.nodes:
        node.input[:] = [renamed.get(one, one) for one in node.input]
        node.output[:] = [renamed.get(one, one) for one in node.output]

    def info(name: str, value: Value) -> Any:
        shape = [None, value.width] if value.width else [None]
        return helper.make_tensor_value_info(name, element(value.dtype), shape)

    made = helper.make_graph(
        graph.nodes, type(estimator).__name__, [info(value.name, value) for value in graph.inputs],
        [info(name, value) for name, value in outputs.items()],
        [tensor(name, array) for name, array in graph.constants.items()],
    )
    # If each column is an input, the graph shows which ones it never reads.
    dropped = dropped_columns(estimator) if inputs.together and inputs.named else []
    sets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
    model = helper.make_model(made, opset_imports=sets, ir_version=IR_VERSION, producer_name="schedc")
    about = {
        "format": 1,
        "object": type(estimator).__name__,
        "sklearn": sklearn_version,
        "features": [feature.name for feature in inputs.features],
        "named": inputs.named,
        "steps": _steps(estimator),
        "promise": {name: value.promise.name.lower() for name, value in outputs.items()},
        "details": graph.details,
        **({"empty_texts": True} if graph.empty else {}),
        **({"dropped": dropped} if dropped else {}),
    }
    helper.set_model_props(model, {"schedc.pipeline": json.dumps(about)})
    content: bytes = model.SerializeToString()
    return content


def _steps(estimator: Any) -> list[dict[str, Any]]:
    """The names and classes of the steps of an object, and of the steps within them."""
    estimator = held(estimator)
    parts = (getattr(estimator, "steps", None) or getattr(estimator, "transformers_", None)
             or getattr(estimator, "transformer_list", None) or [])
    made = []
    for name, part, *_ in parts:
        kind = part if isinstance(part, str) else type(held(part)).__name__
        made.append({"name": name, "class": kind, **({"steps": inner} if (inner := _steps(part)) else {})})
    return made
