"""The comparison of an exported file with the object that it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from ..findings import Refused
from ..labels import labels_of
from .bounds import TINY, bounds_of
from .graph import FLOAT64, Promise, Value
from .inputs import table
from .stages import answering, held, key_of, selects

#: The cause of other results behind a step that is not `equal`, and what to do.
ROUNDED = (
    "a step before the model rounds differently from scikit-learn, by more than its operations account for",
    "fit the pipeline on float64 rows, compare on rows of your own by check=X, or accept the difference by "
    "check=False",
)
#: A further cause for files, which this module runs in another program than schedc.
_OTHER_PROGRAM = (
    "this comparison ran the file in ONNX Runtime, whose functions round differently from schedc's, and "
    "schedc.compile(model) compares schedc's own results"
)
#: Least difference between results of different leaves or classes that counts.
_VISIBLE = 1e-6


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


def compare(model: Any, made: Any, rows: Any) -> int:
    """Compares a file with its object on rows. Returns the number of rows with other results because a tested
    value lies within its rounding error of a threshold.

    Raises Mismatch for the first result that differs by more than its :class:`Promise` allows.
    """
    rows = table(rows)
    theirs, feeds = expected(model, rows, made.outputs), made.feeds(rows)
    bounds = Bounds(made, rows)
    outside = numpy.zeros(len(rows), bool)
    for engine in ENGINES:
        ours = engine(made.content, feeds)
        for name, value in theirs.items():
            if name == "label" and made.labels is not None:
                value = labels_of(made.labels, value, are_all=False)
            output = made.outputs[name]
            found = numpy.asarray(ours[made.names[name]]).reshape(value.shape)
            apart = differs(found, value, output)
            if output.promise is not Promise.EQUAL and apart.any():
                bound = bounds.of(name).reshape(value.shape)
                allowed = within(found, value, bound)
                outside |= undecided(found, value, bound)
                apart &= ~allowed
            if apart.any():
                message = _difference(type(model).__name__, name, found, value, apart)
                if output.promise is Promise.OUTSIDE:
                    cause, remedy = ROUNDED
                    raise Mismatch(f"{message}: {cause}; {_OTHER_PROGRAM}; {remedy}")
                raise Mismatch(f"{message}; this is a bug of schedc, please report it")
    return int(outside.sum())


class Bounds:
    """The bounds of rounding errors of an exported object's results on rows. Nothing is computed before the
    first use."""

    def __init__(self, made: Any, rows: Any) -> None:
        self._made, self._rows = made, rows
        self._found: dict[str, numpy.ndarray] | None = None

    def of(self, output: str) -> numpy.ndarray:
        """The bound of each result of an output. It is infinite where a tested value lies within its bound of
        a threshold."""
        if self._found is None:
            self._found = bounds_of(self._made, self._made.feeds(self._rows), run)
        return self._found[output]


def within(ours: numpy.ndarray, theirs: numpy.ndarray, bound: numpy.ndarray) -> numpy.ndarray:
    """Marks the results whose difference is within its bound. Results that are no numbers may differ where
    their bound is positive."""
    if theirs.dtype.kind != "f" or ours.dtype.kind != "f":
        return numpy.asarray(bound > 0)
    with numpy.errstate(invalid="ignore"):
        apart = numpy.abs(ours.astype(FLOAT64) - theirs.astype(FLOAT64))
    return numpy.asarray(numpy.isinf(bound) | (apart <= bound + TINY))


def undecided(ours: numpy.ndarray, theirs: numpy.ndarray, bound: numpy.ndarray) -> numpy.ndarray:
    """Marks the rows with visibly other results because a rounding error decides a test."""
    if theirs.dtype.kind == "f" and ours.dtype.kind == "f":
        is_close = numpy.isclose(ours, theirs, rtol=_VISIBLE, atol=_VISIBLE, equal_nan=True)
        found = numpy.isinf(bound) & ~is_close
    else:
        found = (ours != theirs) & (bound > 0)
    return numpy.asarray(found.reshape(len(found), -1).any(axis=1))


def _difference(kind: str, name: str, found: Any, value: Any, apart: numpy.ndarray) -> str:
    place = tuple(int(at) for at in numpy.argwhere(apart)[0])
    column = f", column {place[1]}" if len(place) > 1 else ""
    return (
        f"the exported file and the {kind} differ in {int(apart.sum())} of {apart.size} results: {name} of "
        f"row {place[0]}{column} is {found[place]!r}, and the object predicts {value[place]!r}"
    )


def differs(ours: numpy.ndarray, theirs: numpy.ndarray, output: Value) -> numpy.ndarray:
    """Marks the results that differ. The sign of a zero counts for no output."""
    if theirs.dtype.kind != "f" or output.dtype.kind != "f":
        return numpy.asarray(ours.astype(theirs.dtype) != theirs)
    same = ours.astype(theirs.dtype) == theirs
    return numpy.asarray(~(same | (numpy.isnan(ours) & numpy.isnan(theirs))))
