"""Projections, quadratic discriminants and neural nets: products with matrices."""

from __future__ import annotations

from typing import Any

import numpy

from .boosting import threshold_index
from .columns import Columns, columns_of, in_floating, names_out
from .forests import best
from .graph import FLOAT64, INT64, Graph, Value
from .linear import margins_of
from .scalers import step
from .stages import Prediction, refuse, refuse_sparse
from .targets import indicators
from .versions import at_least, scales_before_product

#: Estimators that subtract the product of the mean from the product of the row.
_CENTERED_AFTERWARDS = ("PCA", "IncrementalPCA")
#: Values of the rows of a check, in standard deviations of a column around its mean.
_NOTED = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 10.0]
_ACTIVATIONS = {"identity": "", "logistic": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "softmax": "Softmax",
                "exp": "Exp"}


def projection(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Principal or independent components, singular vectors, and random projections."""
    components = estimator.components_
    components = components.toarray() if hasattr(components, "toarray") else numpy.asarray(components)
    if type(estimator).__name__ != "TruncatedSVD":
        columns = in_floating(graph, columns)
    product = _projected(graph, estimator, columns, components, getattr(estimator, "mean_", None))
    if getattr(estimator, "whiten", False) is True and hasattr(estimator, "explained_variance_"):
        scale = numpy.sqrt(estimator.explained_variance_)
        scale = numpy.maximum(scale, numpy.finfo(scale.dtype).eps)
        product = graph.add("Div", product, scale.astype(product.dtype))
    return columns_of(product, names_out(estimator, columns, product.width))


def _spread(estimator: Any, count: int) -> numpy.ndarray:
    """The standard deviations of the training columns as far as an estimator keeps them; 1 for others."""
    if hasattr(estimator, "explained_variance_") and hasattr(estimator, "components_"):
        squares = numpy.square(estimator.components_) * numpy.ravel(estimator.explained_variance_)[:, None]
        return numpy.asarray(numpy.sqrt(squares.sum(axis=0)))
    if hasattr(estimator, "mixing_"):
        return numpy.asarray(numpy.sqrt(numpy.square(estimator.mixing_).sum(axis=1)))
    if hasattr(estimator, "noise_variance_"):
        squares = numpy.square(estimator.components_).sum(axis=0)
        return numpy.asarray(numpy.sqrt(squares + estimator.noise_variance_))
    return numpy.ones(count)


def _projected(graph: Graph, estimator: Any, columns: Columns, components: numpy.ndarray,
               mean: Any, sizes: numpy.ndarray | None = None) -> Value:
    """`(X - mean) @ components.T`. `sizes` bounds the magnitudes of components that scikit-learn multiplies
    one after the other."""
    summand: Any = 0.0
    sizes = numpy.abs(components) if sizes is None else sizes
    given = None
    spread = _spread(estimator, components.shape[1])
    for at, column in enumerate(columns):
        middle = 0.0 if mean is None else mean[at]
        graph.note(column.source, middle + spread[at] * numpy.array(_NOTED))
    if mean is not None and not columns.sparse:
        kind = numpy.result_type(columns.numeric, numpy.asarray(mean).dtype)
        value = graph.add("Sub", columns.value(graph, kind), numpy.asarray(mean).astype(kind))
        given, center = columns.value(graph, kind), numpy.abs(mean)
        columns = columns_of(value, [column.name for column in columns])
        is_mixed = kind == FLOAT64 and components.dtype != FLOAT64
        if is_mixed and type(estimator).__name__ in _CENTERED_AFTERWARDS and at_least(1, 5):
            # scikit-learn multiplies the mean by itself, in the type of the training rows.
            exact = numpy.asarray(mean, FLOAT64) @ components.T.astype(FLOAT64)
            summand = exact - (numpy.asarray(mean) @ components.T).astype(FLOAT64)
    elif mean is not None:
        raise refuse_sparse(graph, estimator, "centers")
    product = margins_of(graph, columns, components, summand)
    if given is not None:
        # Some estimators subtract the product of the mean afterwards.
        graph.rounds(product, given, lambda one: (one + center) @ sizes.T, 2 * sum(components.shape))
    return product


def factors(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Factor analysis: the expected factors of a row, in one product."""
    loadings = numpy.asarray(estimator.components_)
    scaled = loadings / estimator.noise_variance_
    spread = numpy.linalg.inv(numpy.eye(len(loadings)) + scaled @ loadings.T)
    product = _projected(graph, estimator, columns, spread.T @ scaled, estimator.mean_,
                         numpy.abs(spread.T) @ numpy.abs(scaled))
    return columns_of(product, names_out(estimator, columns, product.width))


def discriminant_axes(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """The axes along which linear discriminant analysis separates classes."""
    if estimator.solver == "lsqr":
        raise refuse(graph, estimator, "has the solver lsqr, which has no transform; use svd or eigen")
    axes = numpy.asarray(estimator.scalings_)[:, : estimator._max_components].T
    product = _projected(graph, estimator, columns, axes,
                         estimator.xbar_ if estimator.solver == "svd" else None)
    return columns_of(product, names_out(estimator, columns, product.width))


def latent_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Regression by partial least squares."""
    # Each step is rounded to the type of the columns.
    value = step(graph, "Sub", columns.value(graph, columns.floating), estimator._x_mean)
    if scales_before_product(estimator):
        value = step(graph, "Div", value, estimator._x_std)
    columns = columns_of(value, [column.name for column in columns])
    variable = margins_of(graph, columns, estimator.coef_, numpy.asarray(estimator.intercept_))
    is_table = not getattr(estimator, "_predict_1d", False)
    return Prediction("regressor", variable=variable, is_table=is_table)


def quadratic(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Quadratic discriminant analysis: a distance to each class in its own axes."""
    means, priors = numpy.asarray(estimator.means_), numpy.log(estimator.priors_)
    value = columns.value(graph, numpy.result_type(columns.numeric, means))
    scores = []
    for mean, rotation, scaling, prior in zip(means, estimator.rotations_, estimator.scalings_, priors):
        axes = numpy.asarray(rotation * scaling ** (-0.5))
        # Only the priors have another type than the rows and the training rows.
        kind = numpy.result_type(value.dtype, axes)
        apart = graph.cast(graph.add("Sub", value, mean.astype(value.dtype)), kind)
        turned = graph.add("MatMul", apart, axes.astype(kind), width=axes.shape[1])
        norm = graph.add("ReduceSum", graph.add("Mul", turned, turned), numpy.array([1], INT64), keepdims=1,
                         width=1)
        total = graph.add("Add", norm, float(numpy.sum(numpy.log(scaling))))
        half = graph.cast(graph.add("Mul", total, -0.5), numpy.result_type(kind, priors))
        scores.append(graph.add("Add", half, float(prior)))
    every = graph.join(scores)
    margins = graph.add("Sub", scores[1], scores[0]) if len(scores) == 2 else every
    return Prediction("classifier", index=best(graph, every), classes=estimator.classes_,
                      probabilities=graph.add("Softmax", every, axis=1), margins=margins)


def _layers(graph: Graph, estimator: Any, columns: Columns) -> Value:
    """The outputs of a neural net."""
    last = len(estimator.coefs_) - 1
    value: Value | None = None
    for at, (weights, bias) in enumerate(zip(estimator.coefs_, estimator.intercepts_)):
        table = columns if value is None else columns_of(value, range(value.width))
        value = margins_of(graph, table, numpy.asarray(weights).T, bias)
        name = estimator.out_activation_ if at == last else estimator.activation
        if name not in _ACTIVATIONS:
            raise refuse(graph, estimator, f"has the activation {name}, which is not exported")
        if _ACTIVATIONS[name]:
            more: dict[str, Any] = {"axis": 1} if name == "softmax" else {}
            value = graph.add(_ACTIVATIONS[name], value, **more)
    assert value is not None
    return value


def net_classifier(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A neural net whose outputs are probabilities."""
    shares = _layers(graph, estimator, columns)
    if estimator._label_binarizer.y_type_.startswith("multilabel"):
        return Prediction("targets", targets=indicators(graph, shares, 0.5), probabilities=shares)
    if shares.width > 1:
        return Prediction("classifier", index=best(graph, shares), classes=estimator.classes_,
                          probabilities=shares)
    index = threshold_index(graph, shares, "Greater", 0.5)
    both = graph.join([graph.add("Sub", 1.0, shares), shares])
    return Prediction("classifier", index=index, classes=estimator.classes_, probabilities=both)


def net_regressor(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """A neural net whose outputs are values."""
    return Prediction("regressor", variable=_layers(graph, estimator, columns))
