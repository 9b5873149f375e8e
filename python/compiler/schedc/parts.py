"""Estimators that contain other estimators: the parts that schedc compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

#: Maximum number of parts that a message names.
MOST_NAMED = 3
#: Maximum depth of nested estimators that are searched.
_MOST_DEPTH = 8

#: Attributes that hold the only fitted part, in the order of preference.
_ONE = ("best_estimator_", "estimator_", "regressor_", "classifier_", "final_estimator_")
#: Attributes that hold lists of fitted parts.
_SEVERAL = ("estimators_", "calibrated_classifiers_")

#: The use that an estimator makes of its parts' predictions, by its class. schedc does not compile this use.
_REST = {
    "CalibratedClassifierCV": "the calibration of its probabilities stays with scikit-learn: "
    "CalibratedClassifierCV(FrozenEstimator(compiled)).fit(X, y) calibrates a compiled model; before "
    'scikit-learn 1.6, CalibratedClassifierCV(compiled, cv="prefit").fit(X, y)',
    "TunedThresholdClassifierCV": "its threshold, best_threshold_, then applies to the part's scores",
    "FixedThresholdClassifier": "its threshold then applies to the part's scores",
    "TransformedTargetRegressor": "its transformer_.inverse_transform then transforms the predictions",
    "BaggingClassifier": "the estimator returns the mean of their predictions; estimators_features_ has the "
    "columns of each",
    "BaggingRegressor": "the estimator returns the mean of their predictions; estimators_features_ has the "
    "columns of each",
    "VotingClassifier": "the estimator combines their predictions by its weights",
    "VotingRegressor": "the estimator returns the mean of their predictions, by its weights",
    "StackingClassifier": "the estimator passes their predictions to its final_estimator_",
    "StackingRegressor": "the estimator passes their predictions to its final_estimator_",
    "AdaBoostClassifier": "the estimator combines their predictions by estimator_weights_",
    "AdaBoostRegressor": "the estimator combines their predictions by estimator_weights_",
    "MultiOutputClassifier": "each predicts one column of the estimator's results",
    "MultiOutputRegressor": "each predicts one column of the estimator's results",
}


def searched(model: Any) -> Any:
    """The estimator inside a search or a frozen estimator: the one that a search chose, or that was frozen.
    Other objects are returned as they are."""
    for _ in range(_MOST_DEPTH):
        kinds = {kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("sklearn.")}
        if "BaseSearchCV" in kinds and hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif "FrozenEstimator" in kinds:
            model = model.estimator
        else:
            break
    return model


def advice(model: Any, is_compiled: Callable[[Any], bool]) -> str | None:
    """The sentence that names the parts of an estimator that schedc compiles; None if the object is not made
    of estimators. ``is_compiled`` returns whether schedc compiles an object."""
    if not hasattr(type(model), "fit"):
        return None
    name = type(model).__name__
    parts = list(_parts(model, "model", 0))
    if not parts:
        return unfitted(model)
    found: list[str] = []
    for path, part in parts:
        if not any(path.startswith(whole) for whole in found) and is_compiled(part):
            found.append(path)
    if not found:
        inner = sorted({type(part).__name__ for _, part in parts if not _children(part)})
        return f"schedc compiles neither the {name} nor its parts, which are {', '.join(inner[:MOST_NAMED])}"
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    calls = ", ".join(f"schedc.compile({path})" for path in found[:MOST_NAMED])
    its = "its part" if len(found) == 1 else "its parts"
    texts = [f"the {name} is not compiled as a whole, but {its} can be: {calls}{more}"]
    around = [(path, part) for path, part in [("model", model), *parts]
              if found[0].startswith(path) and path != found[0]]
    rows = "X"
    for path, part in around:
        rows = f"{path}[:-1].transform({rows})" if _steps(part)[1:] else rows
    if rows != "X":
        texts.append(f"{rows} computes its rows")
    kinds = [kind.__name__ for _, part in around for kind in type(part).__mro__]
    texts.extend(_REST[kind] for kind in kinds if kind in _REST)
    return "; ".join(texts)


def init_of(model: Any) -> str | None:
    """The reason to refuse gradient boosting that starts from the predictions of a model; None for others."""
    initial = getattr(model, "init_", None)
    if initial is None or isinstance(initial, str) or type(initial).__name__.startswith("Dummy"):
        return None
    name = type(initial).__name__
    reason = (f"has the init {name}, from whose predictions each row starts; fit it with init=None or "
              'init="zero"')
    if hasattr(model, "classes_"):
        return reason
    return f"{reason}, the latter on y minus the predictions of the {name}, and add both predictions"


def without_encoder(model: Any) -> str | None:
    """The reason to refuse histogram gradient boosting that tests categories without an encoder; None for
    others."""
    if getattr(model, "is_categorical_", None) is None or getattr(model, "_preprocessor", None) is not None:
        return None
    return ("has categories, and scikit-learn before 1.4 takes other numbers for them too, such as 2.5 and "
            "258 for category 2; fit it with scikit-learn 1.4 or later")


def unfitted(model: Any) -> str | None:
    """The message for an estimator that is made of estimators, but lacks fitted ones; None for others."""
    is_made_of = any(hasattr(model, part) for part in ("estimator", "estimators", "regressor"))
    if not is_made_of or _children(model):
        return None
    name = type(model).__name__
    if hasattr(model, "cv_results_"):
        return f"the {name} has refit=False, and so no fitted estimator: fit it with refit=True"
    if any(attribute.endswith("_") for attribute in vars(model)):
        # A SequentialFeatureSelector keeps no estimator.
        return None
    return f"the {name} is not fitted yet: call its fit first"


def _steps(model: Any) -> list[Any]:
    """The steps of a pipeline."""
    steps = getattr(model, "steps", None)
    is_pipeline = isinstance(steps, list) and hasattr(type(model), "named_steps")
    return [step for _, step in steps] if is_pipeline and steps else []


def _children(model: Any) -> list[tuple[str, Any]]:
    """The parts of an estimator, each with the Python text that follows the estimator to reach it."""
    steps = _steps(model)
    if steps:
        return [("[-1]", steps[-1])] if hasattr(steps[-1], "fit") else []
    found: list[tuple[str, Any]] = []
    own = vars(model) if hasattr(model, "__dict__") else {}
    for name in _ONE:
        part = own.get(name)
        # If there is a list of fitted estimators, estimator_ is the unfitted template of these.
        is_pattern = name == "estimator_" and "estimators_" in own
        if part is not None and hasattr(part, "predict") and not is_pattern:
            found.append((f".{name}", part))
    kind = type(model).__name__
    if kind == "FrozenEstimator" or kind == "_CalibratedClassifier":
        found.append((".estimator", model.estimator))
    for name in _SEVERAL:
        parts = own.get(name)
        if isinstance(parts, (list, tuple)):
            found.extend((f".{name}[{at}]", part) for at, part in enumerate(parts))
    return found


def _parts(model: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    for step, part in _children(model):
        yield path + step, part
        if depth < _MOST_DEPTH:
            yield from _parts(part, path + step, depth + 1)
