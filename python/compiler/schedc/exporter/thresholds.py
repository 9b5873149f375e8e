"""Classifiers of two classes that compare a score of another classifier with a threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from .columns import Columns
from .graph import INT64, Graph, Value
from .stages import Prediction, predict, refuse, thresholded


def threshold_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The class by a threshold: the positive one for scores from the threshold on. Probabilities and margins
    are those of the inner classifier."""
    part = thresholded(estimator)
    made = predict(graph, part, columns)
    if made.kind != "classifier" or len(made.classes) != 2:
        raise refuse(graph, estimator, f"has a {type(part).__name__} that is no classifier of two classes")
    score, positive = _score(graph, estimator, part, made)
    limit = _threshold(estimator, by_probability=score is made.probabilities)
    score = graph.take(score, [positive]) if score.width == 2 else score
    if score is made.margins and positive == 0:
        score = graph.add("Neg", score)
    # In the type in which NumPy compares.
    kind = numpy.result_type(numpy.empty(0, score.dtype), limit)
    passes = graph.add("GreaterOrEqual", graph.cast(score, kind), kind.type(limit))
    passes = passes if positive == 1 else graph.add("Not", passes)
    index = graph.add("Squeeze", graph.cast(passes, INT64), numpy.array([1], INT64), width=0)
    # The margins of other trainers are no method of theirs.
    margins = made.margins if hasattr(part, "decision_function") else None
    return replace(made, index=index, classes=part.classes_, margins=margins)


def _score(graph: Graph, estimator: Any, part: Any, made: Prediction) -> tuple[Value, int]:
    """The probabilities or the margins that the threshold applies to, and the index of the positive class."""
    method = estimator.response_method
    if method == "auto":
        method = "predict_proba" if hasattr(part, "predict_proba") else "decision_function"
    score = made.probabilities if method == "predict_proba" else made.margins
    if not hasattr(part, method):
        raise refuse(graph, estimator, f"calls {method}, which its {type(part).__name__} lacks; fit it with "
                     "another response_method")
    if score is None:
        raise refuse(graph, estimator, f"calls {method} of its {type(part).__name__}, which is not exported")
    label = (estimator.pos_label if hasattr(estimator, "pos_label")
             else estimator._curve_scorer._get_pos_label())
    if label is None:
        return score, 1
    classes = list(part.classes_)
    if label not in classes:
        raise refuse(graph, estimator, f"has pos_label={label!r}, which is not one of the labels {classes}; "
                     "fit it with one of these")
    return score, classes.index(label)


def _threshold(estimator: Any, by_probability: bool) -> Any:
    """The threshold, by default that of classifiers without one."""
    limit = getattr(estimator, "best_threshold_", None)
    limit = estimator.threshold if limit is None else limit
    return (0.5 if by_probability else 0.0) if isinstance(limit, str) else limit
