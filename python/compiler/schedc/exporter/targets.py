"""Classifiers of several targets: one class for each target of a row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from .boosting import threshold_index
from .columns import Columns, columns_of, in_double
from .graph import FLOAT64, INT64, Graph, Value
from .stages import Prediction, predict, refuse


def indicators(graph: Graph, scores: Value, threshold: float, test: str = "Greater",
               dtype: numpy.dtype = INT64) -> tuple[Prediction, ...]:
    """Targets with the labels 0 and 1. A row has label 1 if its score passes a test with the threshold."""
    columns = [graph.take(scores, [at]) for at in range(scores.width)]
    classes = numpy.arange(2, dtype=dtype)
    return tuple(
        Prediction("classifier", index=threshold_index(graph, one, test, threshold), classes=classes)
        for one in columns
    )


def _one_target(graph: Graph, estimator: Any, part: Any, columns: Columns) -> Prediction:
    """The prediction of a part, which is a classifier of one target."""
    made = predict(graph, part, columns)
    if made.kind != "classifier":
        raise refuse(graph, estimator, "has parts that are no classifiers of one target")
    return made


def _beside(graph: Graph, values: list[Value | None]) -> Value | None:
    """Values side by side, in NumPy's type for all of them; None if one is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    kind = numpy.result_type(*(value.dtype for value in known))
    return graph.join([graph.cast(value, kind) for value in known])


def multi_output(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier for each target."""
    made = []
    for at, part in enumerate(estimator.estimators_):
        with graph.step(f"output{at}"):
            made.append(_one_target(graph, estimator, part, columns))
    shares = _beside(graph, [one.probabilities for one in made])
    return Prediction("targets", probabilities=shares, targets=tuple(made))


def chain(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A classifier for each target, which reads the results of the classifiers before it."""
    made: list[Prediction] = []
    columns = in_double(graph, columns)
    table = columns
    methods = getattr(estimator, "chain_method_", "predict")
    for at, part in enumerate(estimator.estimators_):
        with graph.step(f"output{at}"):
            one = _one_target(graph, estimator, part, table)
            if len(one.classes) != 2:
                raise refuse(graph, estimator, "has targets of other than two classes")
            read = graph.cast(_response(graph, estimator, part, one, methods), FLOAT64)
        made.append(one)
        table = Columns((*table, *columns_of(read, [f"output{at}"])), columns.sparse)
    order = numpy.argsort(estimator.order_)
    made = [made[int(at)] for at in order]
    # The chain converts all results to double precision.
    shares = _beside(graph, [one.probabilities and graph.take(one.probabilities, [1]) for one in made])
    margins = _beside(graph, [one.margins for one in made])
    return Prediction(
        "targets", targets=tuple(replace(one, classes=numpy.asarray(one.classes, FLOAT64)) for one in made),
        probabilities=shares and graph.cast(shares, FLOAT64),
        margins=margins and graph.cast(margins, FLOAT64),
    )


def _response(graph: Graph, estimator: Any, part: Any, made: Prediction, methods: Any) -> Value:
    """The result of a part that later parts read: of the first of several methods that the part has."""
    for method in [methods] if isinstance(methods, str) else methods:
        if not hasattr(part, method):
            continue
        if method == "predict" and made.index is not None:
            value = graph.add("Gather", numpy.asarray(made.classes, FLOAT64), made.index, axis=0,
                              dtype=FLOAT64, width=0)
            return graph.add("Unsqueeze", value, numpy.array([1], INT64), width=1)
        if method == "predict_proba" and made.probabilities is not None:
            return graph.take(made.probabilities, [1])
        if method == "decision_function" and made.margins is not None:
            return made.margins
        break
    raise refuse(graph, estimator, f"reads {methods} of its {type(part).__name__}, which is not exported")


def labels(graph: Graph, made: Prediction) -> Value:
    """The predicted classes, `[n_rows, n_targets]`, in one type for all targets."""
    known = [numpy.asarray(one.classes) for one in made.targets]
    kind = label_type(known)
    found = []
    for one, classes in zip(made.targets, known):
        assert one.index is not None
        value = graph.add("Gather", classes.astype(kind), one.index, axis=0, dtype=kind, width=0)
        found.append(graph.add("Unsqueeze", value, numpy.array([1], INT64), width=1))
    return graph.join(found)


def label_type(classes: list[numpy.ndarray]) -> numpy.dtype:
    """The type of a file's labels for targets with these classes: integers if all are whole numbers.
    schedc reads labels that are floats as predictions of a regressor."""
    if any(known.dtype.kind in "OUS" for known in classes):
        return numpy.dtype(object)
    kind: numpy.dtype = numpy.result_type(*(known.dtype for known in classes))
    are_whole = kind.kind == "f" and all((known == numpy.floor(known)).all() for known in classes)
    return INT64 if kind.kind in "iu" or are_whole else kind
