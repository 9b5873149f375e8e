"""Comparison of a compiled model with its object, on rows that the compiler makes from the model's
thresholds and categories."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy

from .answers import Array, Classifier, Isolation
from .findings import Difference, outside_of
from .fitted import FAMILY, PipelineOrigin
from .model import Model
from .origin import Origin
from .precision import model_for
from .strict import quiet
from .trial import CLOSE, Trial, codes_of

#: A name that no model has for a category.
_UNKNOWN_NAME = "no category of the model"


def is_checked(origin: Origin) -> bool:
    """Whether there is an object to compare with."""
    return origin.family in _FAMILIES


def check_answers(
    theirs: Any, ours: Model, origin: Origin, probes: tuple[bytes, float], other_iterations: bool = False,
    examples: Any = None
) -> int:
    """Compares a compiled model with its object, and returns the number of methods that it compared.

    ``other_iterations`` is true if the caller chose iterations other than the object's own. ``examples`` are
    rows of the caller for a pipeline.

    Raises :class:`Difference` at the first row whose predictions differ. Warns if the object itself fails on
    these rows.
    """
    if origin.family is None or ours.n_features_in_ == 0:
        return 0
    trial = Trial(theirs, ours, origin, probes, other_iterations, examples)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"), _one_thread():
        warnings.simplefilter("ignore")
        _FAMILIES[origin.family](trial)
    if trial.failure is not None and trial.compared == 0:
        warnings.warn(
            f"the compiled model was not compared with {origin.name}, which does not predict the rows of the "
            f"check: {trial.failure}; check=False skips the comparison",
            stacklevel=4,
        )
    if trial.outside:
        warnings.warn(outside_of(trial.outside, len(trial.rows), origin.name), stacklevel=4)
    return trial.compared


def _one_thread() -> Any:
    """A context in which OpenMP starts no threads, which would slow down calls of a few rows. It needs
    threadpoolctl, a dependency of scikit-learn; without it, the context does nothing."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="openmp")


def _same_shape(answer: Any, like: Callable[[], Array]) -> Array:
    """Reshapes an answer to the shape of the compiled model's answer, if their sizes are equal."""
    array, shape = numpy.asarray(answer), like().shape
    return array.reshape(shape) if array.size == int(numpy.prod(shape)) else array


# The compared methods of each family.


def _xgboost(trial: Trial, booster: Any) -> Any:
    """A context in which XGBoost prints nothing. Allows for the rounding on a GPU, where XGBoost adds the
    base margin last."""
    device = json.loads(booster.save_config())["learner"].get("generic_param", {})
    if device.get("device", "cpu") != "cpu" or device.get("gpu_id", "-1") != "-1":
        trial.slack = max(trial.slack, trial.magnitude * CLOSE)
    return sys.modules["xgboost"].config_context(verbosity=0)


def _is_dart(booster: Any) -> bool:
    """Whether the Booster is of the kind DART, whose trees have weights."""
    learner = json.loads(booster.save_config())["learner"]
    return bool(learner["gradient_booster"]["name"] == "dart")


def _of_xgboost(trial: Trial) -> None:
    """Compares an estimator of XGBoost: margins on all rows, and results on a frame if the model has named
    categories."""
    theirs, ours, rows = trial.theirs, trial.ours, trial.rows
    if trial.is_skipped:
        return
    if trial.origin.missing is not None and trial.origin.missing == theirs.missing:
        absent = numpy.isnan(rows)
        absent[::2] = False
        rows[absent] = theirs.missing
    more = {} if trial.span is None else {"iteration_range": trial.span}
    frame = trial.frame(trial.about["categories"]["names"]) if trial.about.get("categories") else None
    table = rows if frame is None else frame
    if _is_dart(theirs.get_booster()):
        # An estimator predicts in place, and rounds weighted trees differently from Booster.predict.
        trial.slack = max(trial.slack, trial.magnitude * CLOSE)
    with _xgboost(trial, theirs.get_booster()):
        trial.compare(
            "predict(output_margin=True)",
            lambda: theirs.predict(rows, output_margin=True, **more),
            lambda: ours.predict(rows, output="raw"),
        )
        _compare_answers(trial, table, trial.close, more)


def _compare_answers(trial: Trial, table: Any, close: float, more: dict[str, Any]) -> None:
    """Compares an estimator's predictions, and its probabilities if it has these. ``more`` has options for
    its methods."""
    theirs, ours, counted = trial.theirs, trial.ours, None
    if trial.is_classifier:
        shares = trial.compare(
            "predict_proba",
            lambda: theirs.predict_proba(table, **more),
            lambda: ours.predict_proba(table),
            close,
            table,
        )
        counted = trial.decided(shares)
    trial.compare(
        "predict", lambda: theirs.predict(table, **more), lambda: ours.predict(table), close, table, counted
    )


def _of_xgboost_booster(trial: Trial) -> None:
    theirs, ours, rows = trial.theirs, trial.ours, trial.rows
    if trial.is_skipped:
        return
    more = {} if trial.span is None else {"iteration_range": trial.span}
    with _xgboost(trial, theirs):
        matrix = sys.modules["xgboost"].DMatrix(
            rows,
            feature_names=theirs.feature_names,
            feature_types=theirs.feature_types,
            enable_categorical=True,
        )
        trial.compare(
            "predict(output_margin=True)",
            lambda: theirs.predict(matrix, output_margin=True, **more),
            lambda: ours.predict(rows, output="raw"),
        )
        trial.compare(
            "predict", lambda: theirs.predict(matrix, **more), lambda: ours.predict(rows), trial.close
        )


def _of_lightgbm(trial: Trial) -> None:
    """Compares an estimator or a Booster of LightGBM: raw scores on all rows, and results on a frame if the
    model has named categories."""
    theirs, ours, rows = trial.theirs, trial.ours, trial.rows
    if trial.is_skipped:
        return
    # One thread is enough for few rows.
    more: dict[str, Any] = {"verbosity": -1, "num_threads": 1}
    if trial.span is not None:
        more.update(start_iteration=trial.span[0], num_iteration=trial.span[1] - trial.span[0])
    frame = _lightgbm_frame(trial)
    table = rows if frame is None else frame
    # Some builds of LightGBM fuse the terms of linear leaves.
    close = CLOSE if b"is_linear=1" in trial.origin.model else 0.0
    trial.compare(
        "predict(raw_score=True)",
        lambda: theirs.predict(rows, raw_score=True, **more),
        lambda: ours.predict(rows, output="raw"),
        close,
    )
    _compare_answers(trial, table, max(close, trial.close), more)


def _lightgbm_frame(trial: Trial) -> Any:
    """A frame with the categories of the frame that LightGBM was trained with."""
    booster = getattr(trial.theirs, "booster_", trial.theirs)
    lists = booster.pandas_categorical or []
    known = trial.about.get("categories")
    labels: list[list[Any]] = known["names"] if known else []
    places = [at for at, names in enumerate(labels) if names]
    if not places or len(places) != len(lists):
        return None
    return trial.frame([list(lists[places.index(at)]) if names else [] for at, names in enumerate(labels)])


def _of_catboost(trial: Trial) -> None:
    theirs, ours, rows = trial.theirs, trial.ours, trial.rows
    if trial.is_skipped:
        return
    more = {} if trial.span is None else {"ntree_start": trial.span[0], "ntree_end": trial.span[1]}
    given = _catboost_rows(trial, list(theirs.get_cat_feature_indices()))
    raw = lambda: ours.predict(given, output="raw")  # noqa: E731
    trial.compare(
        'predict(prediction_type="RawFormulaVal")',
        lambda: _same_shape(theirs.predict(given, prediction_type="RawFormulaVal", **more), raw),
        raw,
    )
    _compare_answers(trial, given, trial.close, more)


def _catboost_rows(trial: Trial, categorical: list[int]) -> Array:
    """The rows with names in place of the codes of categories."""
    if not categorical:
        return trial.rows
    given = trial.rows.astype(object)
    names = (trial.about.get("categories") or {}).get("names", [])
    for at in categorical:
        known = names[at] if at < len(names) else []
        # A whole number is its own code; the codes of texts are -0.5, -1.5 and so on.
        by_code = {float(name) if _is_whole(name) else -0.5 - place: name
                   for place, name in enumerate(known)}
        given[:, at] = [by_code.get(code, _UNKNOWN_NAME) for code in trial.rows[:, at].tolist()]
    return given


def _is_whole(name: str) -> bool:
    """Whether a name is a whole number in decimal digits."""
    return name.lstrip("-").isdecimal() and name == str(int(name))


def _of_scikit_learn(trial: Trial) -> None:
    """Compares a forest of scikit-learn, on a frame if it was fitted on a frame."""
    if trial.is_skipped or trial.span is not None:
        return
    theirs = quiet(trial.theirs)
    given, taken = _scikit_learn_rows(trial)
    ours = trial.ours
    if isinstance(trial.origin.answers, Isolation):
        answers = trial.origin.answers
        scores = trial.compare(
            "score_samples",
            lambda: theirs.score_samples(given),
            lambda: ours.score_samples(taken),
            CLOSE,
            taken,
        )
        if scores is None:
            return
        decisions = scores - answers.offset
        follows = _is_scikit_learns(theirs, "predict")
        trial.compare(
            "predict",
            lambda: numpy.where(decisions < 0, -1, 1) if follows else theirs.predict(given),
            lambda: ours.predict(taken),
            0.0,
            taken,
            numpy.asarray(numpy.abs(decisions) > 4 * CLOSE),
        )
        return
    labels, counted = (lambda: theirs.predict(given)), None
    if trial.is_classifier:
        shares = trial.compare(
            "predict_proba",
            lambda: theirs.predict_proba(given),
            lambda: ours.predict_proba(taken),
            CLOSE,
            taken,
        )
        counted = trial.decided(shares)
        if (
            shares is not None
            and type(trial.origin.answers) is Classifier
            and _is_scikit_learns(theirs, "predict")
        ):
            labels = lambda: theirs.classes_[numpy.argmax(shares, axis=1)]  # noqa: E731
    trial.compare("predict", labels, lambda: ours.predict(taken), CLOSE, taken, counted)


def _is_scikit_learns(theirs: Any, method: str) -> bool:
    """Whether a method is scikit-learn's own. If so, the classes of a forest can be computed here from its
    probabilities, and inliers from scores, which saves a second slow prediction of the object."""
    module = getattr(getattr(type(theirs), method), "__module__", "")
    return module.startswith("sklearn.") and method not in vars(theirs)


def _scikit_learn_rows(trial: Trial) -> tuple[Any, Any]:
    """Rows for the estimator and for the compiled model. Missing values become zeros if the estimator accepts
    none."""
    if not _takes_missing(trial.theirs):
        trial.rows = numpy.nan_to_num(trial.rows, nan=0.0)
    rows = trial.rows
    encoded = dict(trial.origin.encoded)
    named = {at: known for at, known in encoded.items() if known and isinstance(known[0], str)}
    if not named:
        frame = trial.frame([]) if trial.origin.names is not None else None
        return (rows, rows) if frame is None else (frame, frame)
    frame = trial.frame([list(named.get(at, [])) for at in range(rows.shape[1])])
    if frame is not None:
        return frame, frame
    given = rows.astype(object)
    for at, known in named.items():
        codes = codes_of(rows[:, at], len(known))
        given[:, at] = [known[code] if code >= 0 else numpy.nan for code in codes]
    return given, rows


def _takes_missing(theirs: Any) -> bool:
    tags = getattr(theirs, "__sklearn_tags__", None)
    if tags is not None:
        return bool(tags().input_tags.allow_nan)
    return bool(theirs._get_tags().get("allow_nan", False))


def _of_treelite(trial: Trial) -> None:
    """Compares a model of Treelite with Treelite's own evaluator."""
    if trial.is_skipped or trial.span is not None:
        return
    import treelite

    rows = trial.rows.astype(trial.theirs.input_type)
    mine = lambda: trial.ours.predict(rows)  # noqa: E731
    trial.compare(
        "gtil.predict",
        lambda: _same_shape(treelite.gtil.predict(trial.theirs, rows), mine),
        mine,
        CLOSE,
        rows,
    )


def _of_pipeline(trial: Trial) -> None:
    """Compares a pipeline, on rows near all values that its steps test, with missing values and unknown
    categories."""
    origin, ours = trial.origin, trial.ours
    if trial.is_skipped or not isinstance(origin, PipelineOrigin):
        return
    from .exporter.check import METHODS, ROUNDED, Bounds, one_job, undecided, within
    from .exporter.graph import Promise
    from .exporter.inputs import table
    from .exporter.rows import rows_for

    theirs, made = trial.theirs, origin.exported
    if trial.examples is not None:
        rows = trial.rows = table(trial.examples)
        # Raises an error for rows that do not fit the pipeline; otherwise they would count as a difference.
        made.feeds(rows)
        # Parts of scikit-learn take no tables of pyarrow.
        given = rows if type(trial.examples).__module__.startswith("pyarrow") else trial.examples
        compiled = model_for(ours, given)._origin
        made = compiled.exported if isinstance(compiled, PipelineOrigin) else made
    else:
        try:
            given = rows = trial.rows = rows_for(theirs, made)
        except ValueError as error:
            trial.failure = error
            return

    bounds, outside = Bounds(made, rows), numpy.zeros(len(rows), bool)

    def compare(method: str, output: str) -> None:
        """Compares a method. Results that are not promised to be equal may differ by their rounding
        errors."""
        promise = made.outputs[output].promise

        def allowed(expected: Array, found: Array) -> Array:
            bound = bounds.of(output).reshape(expected.shape)
            outside[:] |= undecided(found, expected, bound)
            return within(found, expected, bound)

        with one_job(theirs):
            trial.compare(
                method, lambda: getattr(theirs, method)(given), lambda: getattr(ours, method)(given),
                rows=rows, allowed=None if promise is Promise.EQUAL else allowed,
                reason=ROUNDED if promise is Promise.OUTSIDE else None,
            )

    if "label" not in made.outputs:
        method = "predict" if hasattr(theirs, "predict") else "transform"
        compare(method, "variable")
        trial.outside = int(outside.sum())
        trial.compare_short_calls(method, given)
        return
    for method, output in METHODS.items():
        if output in made.outputs and hasattr(theirs, method) and hasattr(ours, method):
            compare(method, output)
    compare("predict", "label")
    trial.outside = int(outside.sum())
    has_chances = hasattr(theirs, "predict_proba") and hasattr(ours, "predict_proba")
    trial.compare_short_calls("predict_proba" if has_chances else "predict", given)


_FAMILIES: dict[str, Callable[[Trial], None]] = {
    "XGBoost": _of_xgboost,
    "Booster of XGBoost": _of_xgboost_booster,
    "LightGBM": _of_lightgbm,
    "Booster of LightGBM": _of_lightgbm,
    "CatBoost": _of_catboost,
    "scikit-learn": _of_scikit_learn,
    "Treelite": _of_treelite,
    FAMILY: _of_pipeline,
}
