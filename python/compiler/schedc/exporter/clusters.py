"""Models that compare distances from fitted points: clusters and nearest centroids."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Columns, columns_of, names_out
from .forests import best
from .graph import FLOAT32, FLOAT64, INT64, Graph, Value
from .kernels import dense, note_squares, squared_distances
from .stages import Prediction, refuse


def _nearest(graph: Graph, distances: Value) -> Value:
    """The index of the first of the smallest distances, `[n_rows]`."""
    return graph.add("ArgMin", distances, axis=1, keepdims=0, dtype=INT64, width=0)


def _distances(graph: Graph, estimator: Any, columns: Columns) -> tuple[Value, Value]:
    """Squared distances from the centres, and distances in the type that scikit-learn returns."""
    centers = numpy.asarray(estimator.cluster_centers_)
    squares = squared_distances(graph, columns.value(graph, FLOAT64), dense(centers))
    kind = numpy.result_type(columns.floating, centers.dtype)
    # scikit-learn adds squares of f32 in f64, and rounds the sums before it takes their roots.
    return squares, graph.add("Sqrt", graph.cast(squares, kind))


def centers(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The nearest centre, and the distance from each."""
    squares, distances = _distances(graph, estimator, columns)
    index = _nearest(graph, squares)
    has_distances = hasattr(estimator, "transform")
    if has_distances and distances.dtype == FLOAT32:
        # For labels, scikit-learn compares `centre**2 - 2 * row @ centre` in the type of the rows, but in f64
        # for estimators without distances.
        note_squares(graph, index, columns.value(graph, FLOAT64), dense(estimator.cluster_centers_), FLOAT32)
    classes = numpy.arange(squares.width, dtype=estimator.labels_.dtype)
    return Prediction("clusters", index=index, classes=classes,
                      distances=distances if has_distances else None)


def center_distances(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The distance from each centre."""
    _, distances = _distances(graph, estimator, columns)
    return columns_of(distances, names_out(estimator, columns, distances.width))


def centroids(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """The class with the nearest centroid. Distances are in standard deviations if classes have unequal
    priors, and for scores."""
    points, metric = dense(estimator.centroids_), estimator.metric
    if metric not in ("euclidean", "manhattan"):
        raise refuse(graph, estimator, f"has the metric {metric}; euclidean and manhattan are exported")
    value = columns.value(graph, FLOAT64)
    index = _nearest(graph, _apart(graph, value, points, metric))
    priors = getattr(estimator, "class_prior_", None)
    # Releases before 1.6 have no scores.
    if priors is None or not hasattr(estimator, "_decision_function"):
        return Prediction("classifier", index=index, classes=estimator.classes_)
    deviations = numpy.asarray(estimator.within_class_std_dev_, FLOAT64)
    deviations = numpy.where(deviations == 0, 1.0, deviations)
    apart = _apart(graph, graph.add("Div", value, deviations), points / deviations, metric)
    apart = graph.add("Mul", apart, apart) if metric == "manhattan" else apart
    scores = graph.add("Sub", 2.0 * numpy.log(priors), apart)
    if not numpy.isclose(priors, 1 / len(priors)).all():
        index = best(graph, scores)
    if metric == "manhattan":
        return Prediction("classifier", index=index, classes=estimator.classes_)
    margins = scores
    if scores.width == 2:
        margins = graph.add("Sub", graph.take(scores, [1]), graph.take(scores, [0]))
    return Prediction("classifier", index=index, classes=estimator.classes_, margins=margins,
                      probabilities=graph.add("Softmax", scores, axis=1))


def _apart(graph: Graph, value: Value, points: numpy.ndarray, metric: str) -> Value:
    """Squared Euclidean distances from points, or Manhattan distances."""
    if metric == "euclidean":
        return squared_distances(graph, value, points)
    apart = graph.add("Sub", graph.add("Unsqueeze", value, numpy.array([1], INT64)), points[None])
    return graph.add("ReduceSum", graph.add("Abs", apart), numpy.array([2], INT64), keepdims=0,
                     width=len(points))
