"""The comparison of an exported file with the object that it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from ..findings import Refused
from ..labels import labels_of
from .graph import FLOAT32, Promise, Value
from .inputs import table
from .stages import answering, held, key_of, selects

#: Allowed difference between two roundings of one result, by the bytes of a value. It is relative to the
#: largest magnitude in the output. Sums of some thousand terms differ by less.
_ROUNDING = {4: 1e-5, 8: 1e-9}
#: Allowed difference behind the square root of a sum, as in distances: 1e-14 of the square.
ROOT_ROUNDING = 1e-7
#: Fraction of the rows that may reach other leaves because a tested value has a rounding error. Rows that are
#: made for the check lie on thresholds, so a few percent of them do.
OUTSIDE_FRACTION = 0.1
#: The cause of other results behind a step that is not `equal`, and what to do.
ROUNDED = (
    "a step before the model rounds differently from scikit-learn, and a tested value lies that close to a "
    "threshold",
    "fit the pipeline on float64 rows, compare on rows of your own by check=X, or accept the difference by "
    "check=False",
)
#: A further cause for files, which this module runs in another program than schedc.
_OTHER_PROGRAM = (
    "this comparison ran the file in ONNX Runtime, whose functions round differently from schedc's, and "
    "schedc.compile(model) compares schedc's own results"
)


class Mismatch(Refused):
    """An exported file whose predictions differ from its object's."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "M0060")


#: The outputs of a file with the results of an object's methods beside `predict`.
METHODS = {"predict_proba": "probabilities", "decision_function": "margins", "score_samples": "scores",
           "transform": "distances"}


def expected(model: Any, rows: Any, outputs: Any) -> dict[str, numpy.ndarray]:
    """The object's predictions for rows, by the names of a file's outputs."""
    calls = {output: method for method, output in METHODS.items()}
    calls.update(label="predict", variable="predict" if hasattr(model, "predict") else "transform")
    found = {}
    for name in outputs:
        if name not in calls:
            continue
        with one_job(model):
            if name == "margins" and not hasattr(model, "decision_function"):
                result = _margins(model, rows)
            else:
                result = getattr(model, calls[name])(rows)
        if result is None:
            continue
        if isinstance(result, list):
            result = numpy.concatenate(result, axis=1)
        result = result.toarray() if hasattr(result, "toarray") else numpy.asarray(result)
        result = result.reshape(-1) if name == "label" and outputs[name].width == 0 else result
        if name != "label" and result.ndim == 1:
            result = result.reshape(-1, 1)
        found[name] = result
    return found


def _margins(model: Any, rows: Any) -> Any:
    """The margins of other trainers' objects, or of histogram gradient boosting, which have no method that
    returns them. None for estimators that combine others and do not return margins."""
    last = answering(model)
    library = key_of(last).partition(".")[0]
    options: dict[str, dict[str, Any]] = {
        "xgboost": {"output_margin": True}, "lightgbm": {"raw_score": True},
        "catboost": {"prediction_type": "RawFormulaVal"},
    }
    if library in options:
        return last.predict(_prepared(model, rows), **options[library])
    return last._raw_predict(_prepared(model, rows)) if hasattr(last, "_raw_predict") else None


def _prepared(model: Any, rows: Any) -> Any:
    """Transforms rows by all steps of an object before its last one."""
    last = answering(model)
    while (model := held(model)) is not last:
        if selects(model):
            rows, model = model.transform(rows), model.estimator_
            continue
        for _, step in model.steps[:-1]:
            # Resampling of rows is for training only.
            if step not in (None, "passthrough") and not hasattr(step, "fit_resample"):
                rows = step.transform(rows)
        model = model.steps[-1][1]
    return rows


@contextmanager
def one_job(model: Any) -> Iterator[None]:
    """A context in which forests run in one job, and so add their trees in order. Several jobs add them in
    the order in which they finish."""
    changed: list[tuple[Any, Any]] = []
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, (str, bytes, numpy.ndarray, type)):
            continue
        seen.add(id(one))
        if isinstance(one, (list, tuple)):
            waiting += one
        elif hasattr(one, "get_params") or hasattr(one, "estimator"):
            inner = vars(one) if hasattr(one, "__dict__") else {}
            waiting += inner.values()
            if inner.get("n_jobs") is not None:
                changed.append((one, one.n_jobs))
                one.n_jobs = 1
    try:
        yield
    finally:
        for one, jobs in changed:
            one.n_jobs = jobs


def run(content: bytes, feeds: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """The predictions of a file, by ONNX Runtime on one thread, or by the reference evaluator of onnx."""
    try:
        import onnxruntime
        from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as Missing
    except ImportError:
        return _by_reference(content, feeds)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Missing:
        # Releases before 1.21 have no trees in double precision.
        return _by_reference(content, feeds)
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, feeds)))


def _by_reference(content: bytes, feeds: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(content)
    return dict(zip(evaluator.output_names, evaluator.run(None, feeds)))


#: Functions that predict rows by a file. Each is compared with the object.
ENGINES: list[Callable[[bytes, dict[str, numpy.ndarray]], dict[str, Any]]] = [run]


def compare(model: Any, made: Any, rows: Any) -> None:
    """Compares a file with its object on rows.

    Raises Mismatch for the first result that differs by more than its :class:`Promise` allows.
    """
    rows = table(rows)
    theirs = expected(model, rows, made.outputs)
    scale = magnitude(made, rows)
    for engine in ENGINES:
        ours = engine(made.content, made.feeds(rows))
        for name, value in theirs.items():
            if name == "label" and made.labels is not None:
                value = labels_of(made.labels, value)
            found = numpy.asarray(ours[made.names[name]]).reshape(value.shape)
            output = made.outputs[name]
            apart = differs(found, value, output, scale)
            if output.promise is Promise.OUTSIDE:
                apart = _beyond(apart, name, theirs, made.outputs, scale)
            if apart.any():
                message = _difference(type(model).__name__, name, found, value, apart)
                if output.promise is Promise.OUTSIDE:
                    cause, remedy = ROUNDED
                    raise Mismatch(f"{message}: {cause}; {_OTHER_PROGRAM}; {remedy}")
                raise Mismatch(f"{message}; this is a bug of schedc, please report it")


def _beyond(apart: numpy.ndarray, name: str, theirs: dict[str, numpy.ndarray],
            outputs: dict[str, Value], scale: float) -> numpy.ndarray:
    """Selects the differences that no rounding error explains."""
    by = "margins" if "margins" in theirs else "probabilities"
    scores = theirs.get(by)
    is_label = name == "label" and apart.ndim == 1
    if is_label and scores is not None and outputs[by].promise is not Promise.OUTSIDE:
        # Labels may differ where the scores of the two best classes differ by no more than their rounding.
        ordered = numpy.sort(scores, axis=1)
        gap = numpy.abs(scores[:, 0]) if scores.shape[1] == 1 else ordered[:, -1] - ordered[:, -2]
        return numpy.asarray(apart & (gap > _rounding(scores, outputs[by], scale)))
    return apart if apart.mean() > OUTSIDE_FRACTION else numpy.zeros_like(apart)


def _difference(kind: str, name: str, found: Any, value: Any, apart: numpy.ndarray) -> str:
    place = tuple(int(at) for at in numpy.argwhere(apart)[0])
    column = f", column {place[1]}" if len(place) > 1 else ""
    return (
        f"the exported file and the {kind} differ in {int(apart.sum())} of {apart.size} results: {name} of "
        f"row {place[0]}{column} is {found[place]!r}, and the object predicts {value[place]!r}"
    )


def magnitude(made: Any, rows: Any) -> float:
    """The largest sum of magnitudes of products, over all sums of the graph. It bounds rounding errors."""
    if not made.graph.sums:
        return 1.0
    import onnx

    proto = onnx.load_from_string(made.content)
    inputs = {one.name for one in proto.graph.input}
    wanted = {value.name for value, _, _ in made.graph.sums} - inputs
    needed, kept = set(wanted), []
    for node in reversed(proto.graph.node):
        if needed.intersection(node.output):
            kept.append(onnx.NodeProto.FromString(node.SerializeToString()))
            needed.update(node.input)
    for field, values in (
        ("node", kept[::-1]), ("output", [onnx.ValueInfoProto(name=name) for name in sorted(wanted)]),
    ):
        proto.graph.ClearField(field)
        getattr(proto.graph, field).extend(values)
    feeds = made.feeds(rows)
    found = dict(feeds)
    if wanted:
        used = {name: array for name, array in feeds.items() if name in needed}
        unused = [one for one in proto.graph.input if one.name not in used]
        for one in unused:
            proto.graph.input.remove(one)
        found.update(run(proto.SerializeToString(), used))
    sizes = [numpy.abs(found[value.name]) @ weights + offset for value, weights, offset in made.graph.sums]
    return max(1.0, *(float(numpy.nanmax(size, initial=0.0)) for size in sizes))


def _rounding(values: numpy.ndarray, output: Value, scale: float) -> float:
    """The difference between two roundings of an output's values."""
    single = output.single or output.dtype == FLOAT32 or values.dtype == FLOAT32
    relative = _ROUNDING[4] if single else ROOT_ROUNDING if output.root else _ROUNDING[8]
    return relative * output.steep * max(scale, float(numpy.nanmax(numpy.abs(values), initial=0.0)))


def differs(ours: numpy.ndarray, theirs: numpy.ndarray, output: Value, scale: float) -> numpy.ndarray:
    """Marks the results that differ by more than the output's promise allows. The sign of a zero counts for
    no output."""
    if theirs.dtype.kind != "f" or output.dtype.kind != "f":
        return numpy.asarray(ours.astype(theirs.dtype) != theirs)
    if output.promise is Promise.EQUAL:
        same = ours.astype(theirs.dtype) == theirs
        return numpy.asarray(~(same | (numpy.isnan(ours) & numpy.isnan(theirs))))
    close = numpy.isclose(ours, theirs, rtol=0, atol=_rounding(theirs, output, scale), equal_nan=True)
    return numpy.asarray(~close)
