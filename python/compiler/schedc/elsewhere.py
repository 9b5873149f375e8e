"""Methods, attributes and options of trainers' objects that a compiled model lacks, and what to use in their
place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

#: Minimum similarity of an unknown name and an existing one that a message proposes; 1 for equal names.
_LEAST_ALIKE = 0.8

_OWN = "use that of the object from which it was compiled"

_NO_STAGES = ("iteration_range= selects no stages of this model; use that of the object from which it was "
              "compiled, if it has it")

#: For attributes and methods of trainers' objects: what to use in a compiled model, or why it lacks them.
_ATTRIBUTES = {
    "inplace_predict": "use predict, which returns the same",
    "predict": "it has transform, as the object that it was compiled from",
    "classes_": "the model is no classifier",
    "feature_names_in_": "the model was trained without names of features",
    "predict_proba": "the model is no classifier, or it has no probabilities; decision_function of a "
    "classifier returns its decision values",
    "predict_log_proba": "the model is no classifier, or its object has no such method; numpy.log of "
    "probabilities computes the logarithms",
    "decision_function": "the model's object or file has none, or its decision values are no sums that the "
    'code computes; predict(X, output="raw") returns the sums of leaves, which may differ from them',
    "calc_leaf_indexes": "apply returns the leaf indices",
    "staged_predict": "predict(X, iteration_range=(0, n)) predicts with the first n iterations",
    "staged_predict_proba": "predict_proba(X, iteration_range=(0, n)) predicts with the first n iterations",
    "staged_decision_function": 'predict(X, output="raw", iteration_range=(0, n)) predicts with the first n '
    "iterations",
    "virtual_ensembles_predict": _OWN,
    "get_feature_importance": f"it keeps no statistics of training; {_OWN}",
    "feature_importances_": f"it keeps no statistics of training; {_OWN}",
    "feature_importance": f"it keeps no statistics of training; {_OWN}",
    "get_score": f"it keeps no statistics of training; {_OWN}",
    "get_fscore": f"it keeps no statistics of training; {_OWN}",
    "evals_result": f"it keeps no record of training; {_OWN}",
    "evals_result_": f"it keeps no record of training; {_OWN}",
    "best_iteration": f"it contains the best iteration's trees and not its number; {_OWN}",
    "best_iteration_": f"it contains the best iteration's trees and not its number; {_OWN}",
    "save_model": "save(\"model.so\") writes the library, and the object's own save_model the model",
    "update": "it cannot be trained further; train the object, and compile it again",
    "refit": "it cannot be trained further; train the object, and compile it again",
    "partial_fit": "it cannot be trained further; train the object, and compile it again",
}

#: Options of other libraries that request contributions of features: the calls that compute these.
_CONTRIBUTIONS = {
    "pred_contribs": "predict(xgboost.DMatrix(X), pred_contribs=True) of the Booster",
    "approx_contribs": "predict(xgboost.DMatrix(X), pred_contribs=True) of the Booster",
    "pred_interactions": "predict(xgboost.DMatrix(X), pred_interactions=True) of the Booster",
    "pred_contrib": "predict(X, pred_contrib=True) of the LightGBM object",
}

#: For options of other libraries' calls: what to write in a call of a compiled model.
_OPTIONS = {
    "num_iteration": "iteration_range=(0, n) uses the first n iterations",
    "start_iteration": "iteration_range=(first, end) uses these iterations",
    "ntree_limit": "iteration_range=(0, n) uses the first n iterations",
    "ntree_start": "iteration_range=(first, end) uses these iterations",
    "ntree_end": "iteration_range=(first, end) uses these iterations",
    "tree_limit": "iteration_range=(0, n) uses the first n iterations",
    "thread_count": "threads=n is the largest number of threads",
    "num_threads": "threads=n is the largest number of threads",
    "n_jobs": "threads=n is the largest number of threads",
    "validate_features": "by_position=True takes the columns of a table in their order",
    "predict_disable_shape_check": "by_position=True takes the columns of a table in their order",
    "missing": "schedc.compile(model, missing=value) compiles for this value",
    "task_type": "target= of schedc.compile compiles for a GPU",
    "strict_shape": "numpy.reshape changes the shape of the result",
    "check_additivity": "only the object itself computes contributions of features",
}

#: Outputs or methods by CatBoost's values of the option prediction_type.
_PREDICTION_TYPES = {"RawFormulaVal": "raw", "Probability": "predict_proba", "Class": "predict"}


def no_attribute(name: str, own: Sequence[str] = (), has_stages: bool = False) -> str:
    """The message that a compiled model lacks a public attribute, with what to use in its place. ``own`` has
    the names of its attributes; ``has_stages`` is true if ``iteration_range`` selects stages of training."""
    advice = _ATTRIBUTES.get(name)
    if name.startswith("staged_") and not has_stages:
        advice = _NO_STAGES
    if advice is None and name.startswith(("get_", "plot_", "staged_", "trees_", "dump_", "model_to_")):
        advice = _OWN
    # A property that raises an error is in the list of attributes, too.
    others = [one for one in own if one != name]
    meant = get_close_matches(name, others, 1, _LEAST_ALIKE) if advice is None else []
    if meant:
        advice = f"{meant[0]!r} may be meant"
    if advice is None:
        advice = f"it only predicts; use {name!r} of the object that it was compiled from, if that has it"
    return f"a compiled model has no {name!r}: {advice}"


def output_of(options: dict[str, Any]) -> str | None:
    """The output that options of other libraries select: ``"raw"``, ``"leaf"``, or a method; None if they
    select none. Removes these options from the dict.

    Raises TypeError for options that a compiled model does not have, with what to use in their place.
    """
    found = None
    for name in ("output_margin", "raw_score"):
        found = "raw" if options.pop(name, False) else found
    found = "leaf" if options.pop("pred_leaf", False) else found
    kind = options.pop("prediction_type", None)
    if kind is not None:
        found = _PREDICTION_TYPES.get(kind)
        if found is None:
            raise TypeError(
                f"a compiled model has no prediction_type={kind!r}: it has {', '.join(_PREDICTION_TYPES)}, "
                "and the CatBoost object has the others"
            )
    _refuse_others(options)
    return found


def _refuse_others(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if name in _CONTRIBUTIONS:
            if value:
                raise TypeError(
                    f"a compiled model has no {name}: contributions of features (SHAP values) are not "
                    f"compiled; {_CONTRIBUTIONS[name]} computes them"
                )
            continue
        advice = _OPTIONS.get(name)
        hint = f": {advice}" if advice is not None else ""
        raise TypeError(f"predictions of a compiled model take no argument {name!r}{hint}")
