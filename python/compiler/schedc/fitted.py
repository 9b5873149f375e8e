"""Fitted pipelines as models: an ONNX file in memory, and the rules for the results of the object's
methods."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy

from .answers import (
    Answers, ByClass, ByMargin, Classifier, Clusters, Column, Detector, Isolation, Mixture, OneClass, Scores,
    Targets, ThresholdVotes, Transformer, Votes,
)
from .decisions import are_sums
from .findings import Refused, reworded
from .origin import Origin, is_read, origin_of
from .parts import advice, searched, unfitted
from .strict import note_of, notes_of_numbers

if TYPE_CHECKING:
    from .exporter.inputs import RowTypes
    from .exporter.strict import Strict

#: The family of fitted pipelines.
FAMILY = "pipeline"

#: Libraries with estimators that schedc exports. Classes derived from scikit-learn's are exported, too.
_LIBRARIES = ("sklearn", "imblearn")

#: Classifiers whose margins are the sums of the leaves.
_BOOSTED = ("sklearn.GradientBoostingClassifier", "sklearn.HistGradientBoostingClassifier")

#: The compiler's name of a column, if the file has one tensor for all columns.
_CELL = re.compile(r"\bX\[(\d+)\]")


@dataclass(frozen=True)
class PipelineOrigin(Origin):
    """The exported file of a fitted pipeline."""

    exported: Any = None
    """The file with its inputs: an ``Exported`` of the exporter."""
    export: Callable[..., Any] | None = None
    """Exports the object again; the arguments are the types of columns."""
    parts: Callable[[], str | None] | None = None
    """Returns a sentence that names the parts of the object that schedc can compile."""

    def with_rows(self, types: RowTypes) -> PipelineOrigin:
        """Exports the object for rows of other types than double precision."""
        assert self.export is not None
        made = self.export("float64", row_types=types)
        answers = replace(self.answers, types=_types_of(made))
        return replace(self, model=_model_of(made, answers), answers=answers, exported=made, row_types=None)


def source_of(
    model: Any, pool: Any = None, rows: str = "both", examples: Any = None
) -> tuple[Any, Origin]:
    """The object that makes the predictions of a model, and its origin. For a search, the object is the
    chosen estimator. Pipelines are exported, with rows in single precision if ``rows`` is ``"f32"``.
    ``examples`` are rows of a pipeline for its check.

    Raises the errors of :func:`origin_of`, and also TypeError for steps that are not exported, Refused for
    examples of other models, and ImportError without the package onnx.
    """
    chosen = searched(model)
    if pool is None and not is_read(chosen) and _is_exported(model):
        return model, _pipeline_of(model, rows, examples)
    model = chosen if is_read(chosen) else model
    origin = origin_of(model, pool)
    if examples is not None:
        raise Refused(
            f"check= has rows, which only pipelines take; for {origin.name}, check is True or False"
        )
    if origin.family == "scikit-learn":
        origin = replace(origin, notes=notes_of_numbers(model))
    return model, origin


def refused_pipeline(error: Refused, origin: Origin) -> Refused:
    """Rewords the compiler's error for a pipeline: with the names of columns, and with the parts that schedc
    can compile. Errors for other models stay as they are."""
    if not isinstance(origin, PipelineOrigin):
        return error
    names = origin.names

    def named(text: str) -> str:
        """Replaces the compiler's names of columns in a text by the names of the pipeline's columns."""
        return text if names is None else _CELL.sub(lambda cell: names[int(cell[1])], text)

    # Only for errors of the model: errors of the schedule or the processor would concern the parts as well.
    is_of_model = any(finding.code[:1] in "MC" for finding in error.findings)
    return reworded(error, named, origin.parts() if origin.parts is not None and is_of_model else None)


def _is_exported(model: Any) -> bool:
    """Whether an object is an estimator of scikit-learn, or built like one."""
    if isinstance(model, type) or not hasattr(type(model), "fit"):
        return False
    libraries = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    return not libraries.isdisjoint(_LIBRARIES)


def _pipeline_of(model: Any, rows: str, examples: Any) -> PipelineOrigin:
    if (message := unfitted(model)) is not None:
        raise Refused(message)
    exported = _exporter(model)
    from .exporter.inputs import table

    # One row suffices for the number and the types of columns; the model must not keep all rows.
    first = None if examples is None else table(examples)[:1]

    def export(types: Any, known: Any = first, row_types: RowTypes | None = None) -> Any:
        return exported(model, rows=known, types=types, joint=True, row_types=row_types)

    try:
        made = export("float32" if rows == "f32" else "float64", examples)
    except TypeError as error:
        parts = advice(model, _is_compiled)
        raise type(error)(f"{error}\n{parts}" if parts else str(error)) from None
    inputs, answers = made.inputs, answers_of(model, made)
    names = tuple(feature.name for feature in inputs.features)
    from .exporter.strict import strict

    found = strict(model, made)
    unseen, notes = _treatment(found, inputs.features, made.graph)
    return PipelineOrigin(
        _model_of(made, answers), name=f"the {type(model).__name__}", family=FAMILY,
        # If each column is an input, the compiled model has the names of the inputs.
        names=names if inputs.named and inputs.together else None, by_position=not inputs.named,
        answers=answers, row_types="f32" if rows == "f32" else "f64",
        integers=tuple(sorted(made.graph.integers)), exported=made, export=export,
        # For an object that the exporter accepts, but the compiler refuses.
        parts=lambda: advice(model, lambda part: not hasattr(part, "steps") and _is_compiled(part)),
        markers=inputs.markers(made.graph), are_lightgbms=inputs.are_lightgbms,
        unseen=unseen, required=found.missing, notes=notes,
    )


def _treatment(found: Strict, features: Any, graph: Any) -> tuple[Literal["error"] | None, tuple[str, ...]]:
    """The default treatment of unknown categories, and the note on rows that the compiled model answers and
    the object refuses. The default is an error if the object refuses unknown texts in all columns."""
    texts = {at for at in graph.tested if features[at].dtype == object}
    is_error = bool(texts) and texts <= set(found.unseen)
    odd = found.numbers
    for kind, refused in (("unknown categories", found.unseen), ("missing text", found.missing)):
        listed = ", ".join(repr(features[at].name) for at in refused if not (is_error and at in texts))
        odd += (f"{kind} in {listed}",) if listed else ()
    return "error" if is_error else None, note_of(odd)


def _is_compiled(part: Any) -> bool:
    """Whether schedc compiles a part of an object, directly or as an exported file."""
    if is_read(part) or not _is_exported(part):
        return is_read(part)
    from .exporter import exported, refusal_of

    try:
        return refusal_of(exported(part, joint=True).content) is None
    except (TypeError, ValueError):
        return False


def _exporter(model: Any) -> Callable[..., Any]:
    """The function that exports; ImportError if a package that it needs is not installed."""
    try:
        import onnx  # noqa: F401

        from .exporter import exported
    except ImportError as error:
        parts = advice(model, is_read)
        text = (f"schedc.compile exports a {type(model).__name__} in memory, and {error.name} is not "
                "installed: pip install 'schedc[export]'")
        raise ImportError(f"{text}\n{parts}" if parts else text) from None
    return exported


def _model_of(made: Any, answers: Answers) -> bytes:
    """The file to compile. Omits the operators after the trees if ``answers`` computes their results."""
    content: bytes = made.content
    if type(answers) not in (Isolation, Votes):
        return _with_margins(content, made)
    import onnx

    model = onnx.load_from_string(content)
    graph = model.graph
    names = {node.name for node in made.graph.ensembles}
    trees = [node for node in graph.node if node.name in names]
    if len(trees) != 1:
        return content
    needed, kept = {trees[0].output[0]}, []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
    weights = next(one.t for one in trees[0].attribute if one.name == "leaf_weights")
    sums = onnx.helper.make_tensor_value_info(trees[0].output[0], weights.data_type, None)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in reversed(kept)]
    for field, values in (("node", nodes), ("output", [sums])):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    return bytes(model.SerializeToString())


def _with_margins(content: bytes, made: Any) -> bytes:
    """Renames the output `joint` or `scores` of a file to `margins`, since the compiler keeps an output of
    this name beside the probabilities."""
    name = next((made.names[one] for one in ("joint", "scores") if one in made.outputs), None)
    if name is None or "margins" in made.outputs:
        return content
    margins = made.graph.output_name("margins")
    import onnx

    model = onnx.load_from_string(content)
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [margins if one == name else one for one in names]
    for output in model.graph.output:
        output.name = margins if output.name == name else output.name
    return bytes(model.SerializeToString())


def answers_of(model: Any, made: Any) -> Answers:
    """The rules for the results of a pipeline's methods, by its last step."""
    from .exporter.ensembles import divisor_of
    from .exporter.stages import answering, key_of, scoring

    last = answering(model)
    # If the graph has trees, the sums of the compiled model do not include the margins.
    has_trees = bool(made.graph.ensembles)
    more = _methods_of(model, last, made)
    if made.kind == "columns":
        kind = made.outputs["variable"].dtype
        return Transformer(columns=kind.name if kind.kind in "biu" else None, **more)
    if "label" not in made.outputs:
        return Column(**more) if made.is_table and made.outputs["variable"].width == 1 else Answers(**more)
    kind = key_of(last)
    if kind == "sklearn.IsolationForest":
        return Isolation(offset=float(last.offset_), normal_length=divisor_of(last), **more)
    if made.kind == "targets":
        return _of_targets(model, last, made, has_trees, more)
    more["classes"] = numpy.asarray(made.classes)
    if made.kind != "classifier":
        return _unsupervised(last, made, more)
    if len(more["classes"]) == 1:
        return OneClass(**more)
    part = scoring(last)
    margins = made.outputs.get("margins", made.outputs.get("joint"))
    if key_of(part) == "sklearn.AdaBoostClassifier":
        rules = Votes if part is last else ThresholdVotes
        return rules(weight=float(numpy.sum(part.estimator_weights_)), **more)
    if part is not last and key_of(part) in _BOOSTED and margins is not None:
        return Scores(columns=margins.width, **more)
    if kind.startswith("catboost."):
        return ByClass(column=made.outputs["margins"].width > 1, **more)
    if kind == "sklearn.GradientBoostingClassifier":
        return ByMargin(zero_counts=True, **more)
    if kind == "sklearn.HistGradientBoostingClassifier":
        return ByMargin(**more)
    if kind.startswith(("lightgbm.", "xgboost.")):
        return Classifier(**more)
    if has_trees and margins is not None and "probabilities" not in made.outputs:
        return Scores(columns=margins.width, main="value", **more)
    if has_trees and margins is not None and "margins" in made.outputs and are_sums(made):
        return Scores(columns=margins.width, **more)
    if has_trees:
        more["lacks"] += ("decision_function",)
        follows = margins is None and "probabilities" in made.outputs and part is last
        return Classifier(**more) if follows else ByClass(**more)
    return ByClass(**more) if margins is None else Scores(columns=margins.width, **more)


def _of_targets(model: Any, last: Any, made: Any, has_trees: bool, more: dict[str, Any]) -> Answers:
    """The rules for a classifier of several targets."""
    margins = made.outputs.get("margins")
    # The main result of the compiled model is probabilities, or margins if there are none.
    is_main = "probabilities" not in made.outputs
    if has_trees and not is_main and (margins is None or not are_sums(made)):
        more["lacks"] += ("decision_function",)
    classes = last.classes_
    targets = made.targets
    kind = numpy.result_type(*targets) if all(known.dtype != object for known in targets) else object
    return Targets(
        columns=0 if margins is None else margins.width, main="value" if is_main else "raw", targets=targets,
        lists=isinstance(classes, list) and type(last).__name__ != "ClassifierChain",
        labels=numpy.dtype(kind).str,
        classes=list(map(numpy.asarray, classes)) if isinstance(classes, list) else numpy.asarray(classes),
        **more,
    )


def _unsupervised(last: Any, made: Any, more: dict[str, Any]) -> Answers:
    """The rules for a detector of outliers, a clustering or a mixture."""
    margins = made.outputs.get("margins", made.outputs.get("scores"))
    width = 0 if margins is None else margins.width
    if made.kind == "outliers":
        return Detector(columns=width, offset=float(numpy.ravel(last.offset_)[0]), **more)
    return Mixture(columns=width, **more) if made.kind == "mixture" else Clusters(**more)


def _methods_of(model: Any, last: Any, made: Any) -> dict[str, Any]:
    """Options of the rules: the methods that the object or the file lacks, and how `predict_log_proba` is
    computed."""
    from .exporter.check import METHODS
    from .exporter.stages import log_rule

    outputs = {"predict_log_proba": "probabilities", **METHODS}
    if made.kind == "columns":
        outputs |= {"predict": "", "score": "", **_COLUMNS}
    lacks = tuple(
        method for method, output in outputs.items()
        if output not in made.outputs or not hasattr(model, method)
    )
    rule, smallest = log_rule(last)
    return {"lacks": lacks, "logarithm": rule, "smallest": smallest, "types": _types_of(made)}


#: The method of a pipeline without a model, and its output.
_COLUMNS = {"transform": "variable"}


def _types_of(made: Any) -> dict[str, str]:
    """The types of the floats that an object's methods return, except those of ``predict``."""
    from .exporter.check import METHODS

    outputs = _COLUMNS if made.kind == "columns" else METHODS
    known = {method: made.outputs[output].dtype for method, output in outputs.items()
             if output in made.outputs}
    return {method: kind.name for method, kind in known.items() if kind.kind == "f"}
