"""Estimators that combine the predictions of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from .boosting import threshold_index
from .columns import Columns, beside, columns_of, in_double
from .curves import interpolated_as_scipy
from .forests import best
from .graph import FLOAT32, FLOAT64, INT64, Graph, Promise, Value
from .inverses import inverse
from .stages import Prediction, key_of, predict, refuse
from .targets import indicators
from .versions import last_of_ties
from .votes import confidences, normalized


def _parts(graph: Graph, estimator: Any, columns: Columns) -> list[tuple[Any, Prediction]]:
    """The predictions of the parts."""
    names = [name for name, part in estimator.estimators if not isinstance(part, str)]
    made = []
    for name, part in zip(names, estimator.estimators_):
        with graph.step(name):
            made.append((part, predict(graph, part, columns)))
    return made


def _average(graph: Graph, values: list[Value], weights: Any) -> Value:
    """The average, weighted if there are weights. Added up in order, in the types that NumPy uses."""
    kind = numpy.result_type(*(value.dtype for value in values), *([] if weights is None else [FLOAT64]))
    total: Value | None = None
    for at, value in enumerate(values):
        value = graph.cast(value, kind)
        value = value if weights is None else graph.add("Mul", value, float(weights[at]))
        total = value if total is None else graph.add("Add", total, value)
    assert total is not None
    count = float(len(values)) if weights is None else float(numpy.sum(weights, dtype=kind))
    return graph.add("Div", total, count)


def voting_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The class with most votes, or with the highest average probability."""
    made = _parts(graph, estimator, columns)
    weights = estimator._weights_not_none
    count = len(estimator.classes_)
    if estimator.voting == "soft":
        values = [one.probabilities for _, one in made if one.probabilities is not None]
        if len(values) < len(made):
            raise refuse(graph, estimator, "has parts without probabilities")
        chances = _average(graph, values, weights)
        return Prediction("classifier", index=best(graph, chances), classes=estimator.classes_,
                          probabilities=chances)
    total: Value | None = None
    for at, (_, one) in enumerate(made):
        votes = graph.add("Equal", _column(graph, _index(graph, one)), numpy.arange(count, dtype=INT64))
        share = graph.cast(votes, FLOAT64)
        share = share if weights is None else graph.add("Mul", share, float(weights[at]))
        total = share if total is None else graph.add("Add", total, share)
    assert total is not None
    return Prediction("classifier", index=best(graph, total), classes=estimator.classes_)


def voting_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The average of several regressors."""
    values = [_variable(one) for _, one in _parts(graph, estimator, columns)]
    return Prediction("regressor", variable=_average(graph, values, estimator._weights_not_none))


def _variable(made: Prediction) -> Value:
    assert made.variable is not None
    return made.variable


def _index(graph: Graph, made: Prediction) -> Value:
    """The predicted class of a part, whose classes are the numbers 0, 1 and so on."""
    assert made.index is not None
    classes = numpy.asarray(made.classes)
    if numpy.array_equal(classes, numpy.arange(len(classes))):
        return made.index
    return graph.add("Gather", classes.astype(INT64), made.index, axis=0, dtype=INT64, width=0)


def _column(graph: Graph, value: Value) -> Value:
    """A vector as one column."""
    return graph.add("Unsqueeze", value, numpy.array([1], INT64), width=1)


def _response(graph: Graph, estimator: Any, part: Any, made: Prediction, method: str) -> Value:
    """The result of a part's method, as columns."""
    if made.kind == "targets":
        raise refuse(graph, estimator, f"reads the classes of several targets of its {type(part).__name__}")
    if method == "predict_proba" and made.probabilities is not None:
        return made.probabilities
    if method == "decision_function" and made.margins is not None:
        return made.margins
    if method == "predict" and made.variable is not None:
        return made.variable
    if method == "predict" and made.index is not None:
        return _column(graph, graph.cast(_index(graph, made), FLOAT64))
    raise refuse(graph, estimator, f"calls {method} of its {type(part).__name__}, which is not exported")


def _stacked(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    if isinstance(getattr(estimator, "classes_", None), list):
        raise refuse(graph, estimator, "predicts several targets; fit one model for each")
    tables: list[Columns] = []
    for (part, made), method in zip(_parts(graph, estimator, columns), estimator.stack_method_):
        value = _response(graph, estimator, part, made, method)
        if method == "predict_proba" and len(estimator.classes_) == 2:
            value = graph.take(value, [1])
        names = [f"{type(part).__name__}{at}" for at in range(value.width)]
        tables.append(columns_of(value, names))
    tables += [columns] if estimator.passthrough else []
    whole = Columns(tuple(column for table in beside(graph, tables) for column in table),
                    estimator.passthrough and columns.sparse)
    with graph.step("final_estimator"):
        return predict(graph, estimator.final_estimator_, whole)


def stacking_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier that reads the predictions of other estimators."""
    made = _stacked(graph, estimator, columns)
    if made.kind != "classifier":
        raise refuse(graph, estimator, "ends in a regressor")
    return Prediction("classifier", index=_index(graph, made), classes=estimator.classes_,
                      probabilities=made.probabilities, margins=made.margins)


def stacking_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A regressor that reads the predictions of other estimators."""
    return Prediction("regressor", variable=_variable(_stacked(graph, estimator, columns)))


def calibrated(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The average of calibrated classifiers: a curve converts the scores of each into probabilities."""
    parts = []
    for at, one in enumerate(estimator.calibrated_classifiers_):
        with graph.step(f"calibrated{at}"):
            parts.append(_calibrated(graph, estimator, one, columns))
    chances = _average(graph, parts, None)
    return Prediction("classifier", index=best(graph, chances), classes=estimator.classes_,
                      probabilities=chances)


def _calibrated(graph: Graph, estimator: Any, one: Any, columns: Columns) -> Value:
    """The probabilities of one calibrated classifier."""
    made = predict(graph, one.estimator, columns)
    classes = len(one.classes)
    if one.method not in ("sigmoid", "isotonic", "temperature"):
        raise refuse(graph, estimator, f"calibrates by {one.method}; use sigmoid, isotonic or temperature")
    if len(one.estimator.classes_) != classes:
        raise refuse(graph, estimator, "has parts that were not fitted on every class")
    from_margins = hasattr(one.estimator, "decision_function")
    method = "decision_function" if from_margins else "predict_proba"
    raw = _response(graph, estimator, one.estimator, made, method)
    raw = graph.take(raw, [1]) if classes == 2 and raw.width == 2 else raw
    if one.method == "temperature":
        return _tempered(graph, one.calibrators[0].beta_, raw, from_margins)
    shares, rounded = [], _rounded_type(made, raw)
    for at, calibrator in enumerate(one.calibrators):
        column = graph.take(raw, [at])
        if one.method == "sigmoid":
            # In the type in which NumPy multiplies: before NumPy 2, a number in double precision does not
            # widen an array.
            kind = numpy.result_type(numpy.empty(0, column.dtype), calibrator.a_, calibrator.b_)
            steep, offset = kind.type(calibrator.a_), kind.type(calibrator.b_)
            inner = graph.add("Add", graph.add("Mul", graph.cast(column, kind), steep), offset)
            shares.append(graph.cast(graph.add("Sigmoid", graph.add("Neg", inner)), FLOAT64))
        else:
            _check_slope(graph, estimator, calibrator, rounded)
            shares.append(_isotonic(graph, calibrator, column))
    if classes == 2:
        return graph.join([graph.add("Sub", 1.0, shares[0]), shares[0]])
    return normalized(graph, graph.join(shares), 1.0 / classes)


def _tempered(graph: Graph, factor: Any, raw: Value, are_margins: bool) -> Value:
    """The softmax of margins, or of logarithms of probabilities, times a factor."""
    if raw.width == 1:
        first = graph.add("Neg", raw) if are_margins else graph.add("Sub", 1.0, raw)
        raw = graph.join([first, raw])
    scores = raw if are_margins else graph.add("Log", graph.add("Add", raw, 1e-12))
    # In the type in which NumPy multiplies.
    kind = numpy.result_type(numpy.empty(0, scores.dtype), factor)
    scores = graph.add("Mul", graph.cast(scores, kind), kind.type(factor))
    return graph.cast(graph.add("Softmax", scores, axis=1), FLOAT64)


#: Maximum change of a probability by the rounding of a score before an isotonic curve.
_MOVED = 1e-6


def _rounded_type(made: Prediction, raw: Value) -> numpy.dtype | None:
    """The type to which a part's scores are rounded; None for the exact ones of trees, and for f32 functions
    of exact margins. Scores of f64 may have a sum of f32 as a term."""
    basis = made.margins if made.margins is not None else made.joint
    is_sum = basis is None or basis.dtype != FLOAT32 or basis.single or basis.promise is Promise.BOUND
    if raw.promise is Promise.EQUAL or (raw.dtype == FLOAT32 and not is_sum):
        return None
    return FLOAT32 if basis is not None and basis.single else raw.dtype


def _check_slope(graph: Graph, estimator: Any, calibrator: Any, rounded: numpy.dtype | None) -> None:
    """Raises Unsupported for an isotonic curve so steep that rounding errors of scores become visible.
    `rounded` is the type to which the scores are rounded."""
    if rounded is None:
        return
    x = numpy.asarray(calibrator.X_thresholds_, FLOAT64)
    slope = _slope(x, numpy.asarray(calibrator.y_thresholds_, FLOAT64))
    if (moved := float(numpy.finfo(rounded).eps) * float(numpy.max(numpy.abs(x))) * slope) <= _MOVED:
        return
    remedy = "give float64 rows, whose scores are exact enough" if rounded == FLOAT32 else "fit it again"
    raise refuse(
        graph, estimator, f"calibrates scores that are sums in {rounded} by an isotonic curve with a slope "
        f"of {slope:.2g}: the last digit of a score, which depends on the order of its sums, moves a "
        f'probability by {moved:.0e}; {remedy}, or use method="sigmoid"')


def _slope(x: numpy.ndarray, y: numpy.ndarray) -> float:
    """The largest slope between adjacent points."""
    return float(numpy.max(numpy.diff(y) / numpy.diff(x), initial=0.0))


def _isotonic(graph: Graph, calibrator: Any, column: Value) -> Value:
    """An isotonic curve: linear between points, in the type of the scores that it was fitted to."""
    x = numpy.asarray(calibrator.X_thresholds_)
    y = numpy.asarray(calibrator.y_thresholds_, x.dtype)
    if len(x) == 1:
        return graph.constant_columns(column, numpy.asarray(y, FLOAT64))
    low, high = x.dtype.type(calibrator.X_min_), x.dtype.type(calibrator.X_max_)
    column = graph.add("Clip", graph.cast(column, x.dtype), low, high)
    # The function is continuous, so a small error of the input leads to a small error of the output.
    made = graph.cast(interpolated_as_scipy(graph, column, x, y), FLOAT64)
    return replace(made, promise=Promise.BOUND)


def one_vs_rest(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier of two classes for each class; the highest score wins."""
    if estimator.label_binarizer_.sparse_input_:
        raise refuse(graph, estimator, "was fitted on a sparse matrix of labels, and predicts one; fit it on "
                     "y.toarray()")
    chances, scores = [], []
    parts = estimator.estimators_
    has_margins = all(hasattr(part, "decision_function") for part in parts)
    for at, part in enumerate(parts):
        with graph.step(f"class{at}"):
            made = predict(graph, part, columns)
        if made.kind != "classifier":
            raise refuse(graph, estimator, "has regressors as parts")
        if made.probabilities is not None:
            chances.append(graph.take(made.probabilities, [1]))
        method = "decision_function" if hasattr(part, "decision_function") else "predict_proba"
        score = _response(graph, estimator, part, made, method)
        scores.append(graph.take(score, [score.width - 1]))
    score = graph.join(scores)
    if estimator.multilabel_:
        # The compiler drops margins that are the same for all rows.
        is_constant = any(key_of(part) == "sklearn._ConstantPredictor" for part in parts)
        found = graph.join(chances) if len(chances) == len(parts) else None
        if found is not None and len(parts) == 1:
            found = graph.join([graph.add("Sub", 1.0, found), found])
        return Prediction("targets", targets=indicators(graph, score, 0.0 if has_margins else 0.5),
                          probabilities=found if hasattr(estimator, "predict_proba") else None,
                          margins=score if has_margins and not is_constant else None)
    if len(parts) == 1:
        index = threshold_index(graph, score, "Greater", 0.0 if has_margins else 0.5)
    else:
        index = graph.add("ArgMax", score, axis=1, keepdims=0, select_last_index=int(last_of_ties()),
                          dtype=INT64, width=0)
    found = None
    if len(chances) == len(parts) and hasattr(estimator, "predict_proba"):
        found = graph.join(chances)
        if len(parts) == 1:
            found = graph.join([graph.add("Sub", 1.0, found), found])
        found = normalized(graph, found, 0.0) if len(parts) > 1 else found
    return Prediction("classifier", index=index, classes=estimator.classes_, probabilities=found,
                      margins=score if has_margins else None)


def constant(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The part of a one-vs-rest classifier for a class that all training rows had, or none of them."""
    answer = float(numpy.ravel(estimator.y_)[0])
    value = columns.value(graph, columns.numeric)
    margins = graph.constant_columns(value, [answer])
    return Prediction(
        "classifier", index=threshold_index(graph, margins, "Greater"), classes=numpy.arange(2),
        probabilities=graph.constant_columns(value, [1.0 - answer, answer]), margins=margins,
    )


def one_vs_one(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier for each pair of classes; their votes and margins are the scores."""
    if estimator.pairwise_indices_ is not None:
        raise refuse(graph, estimator, "reads a precomputed kernel matrix in place of columns")
    columns = columns.as_array(graph)
    choices, duels = [], []
    parts, count = estimator.estimators_, len(estimator.classes_)
    has_margins = all(hasattr(part, "decision_function") for part in parts)
    for at, part in enumerate(parts):
        with graph.step(f"pair{at}"):
            made = predict(graph, part, columns)
        if made.kind != "classifier" or len(part.classes_) != 2:
            raise refuse(graph, estimator, "has parts that are no classifiers of two classes")
        choices.append(graph.cast(_column(graph, _index(graph, made)), FLOAT64))
        method = "decision_function" if hasattr(part, "decision_function") else "predict_proba"
        score = _response(graph, estimator, part, made, method)
        duels.append(graph.cast(graph.take(score, [score.width - 1]), FLOAT64))
    is_second = graph.add("Greater", graph.join(choices), 0.5)
    margins = confidences(graph, is_second, graph.add("Neg", graph.join(duels)), count)
    if count > 2:
        index = best(graph, margins)
    else:
        margins = graph.take(margins, [1])
        index = threshold_index(graph, margins, "Greater", 0.0 if has_margins else 0.5)
    return Prediction("classifier", index=index, classes=estimator.classes_, margins=margins)


def multi_output_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A regressor for each output."""
    made = []
    for at, part in enumerate(estimator.estimators_):
        with graph.step(f"output{at}"):
            made.append(_variable(predict(graph, part, columns)))
    kind = numpy.result_type(*(value.dtype for value in made))
    whole = graph.join([graph.cast(value, kind) for value in made])
    return Prediction("regressor", variable=whole, is_table=True)


def regressor_chain(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A regressor for each output, which reads the outputs before it."""
    made: list[Value] = []
    columns = in_double(graph, columns)
    table = columns
    for at, part in enumerate(estimator.estimators_):
        with graph.step(f"output{at}"):
            made.append(graph.cast(_variable(predict(graph, part, table)), FLOAT64))
        table = Columns((*table, *columns_of(made[-1], [f"output{at}"])), columns.sparse)
    whole = graph.join(made)
    variable = graph.take(whole, numpy.argsort(estimator.order_))
    return Prediction("regressor", variable=variable, is_table=True)


def transformed_target(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A regressor whose target was transformed. The inverse is applied to its predictions."""
    variable = _variable(predict(graph, estimator.regressor_, columns))
    variable = inverse(graph, estimator, estimator.transformer_, variable)
    return Prediction("regressor", variable=variable, is_table=estimator._training_dim == 2)
