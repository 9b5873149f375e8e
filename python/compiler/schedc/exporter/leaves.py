"""The leaves of trees as one-hot encoded columns."""

from __future__ import annotations

from typing import Any

import numpy

from .columns import Columns, columns_of, names_out
from .forests import single, tree_of
from .graph import FLOAT64, Graph
from .stages import refuse
from .trees import Tree, add_trees


def random_trees(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """A column for each leaf of each tree: 1 for the leaf in which the row ends, else 0.

    A node with a target for each tree makes the positions of the leaves among the encoder's categories. A
    model's sum over the columns then is a sum of trees, which schedc walks instead.
    """
    encoder = estimator.one_hot_encoder_
    known = [numpy.asarray(leaves) for leaves in encoder.categories_]
    fitted = [one.tree_ for one in estimator.estimators_]
    widths = [len(leaves) for leaves in known]
    if len(fitted) != len(known):
        raise refuse(graph, estimator,
                     f"has {len(fitted)} trees, and an encoder of {len(known)}; fit it again")
    if (encoder.get_params()["dtype"], list(encoder._n_features_outs)) != (FLOAT64.type, widths):
        raise refuse(graph, estimator, "has an encoder with other options than its own; fit it again")
    trees = [_positions(graph, columns, tree, leaves, target)
             for target, (tree, leaves) in enumerate(zip(fitted, known))]
    positions = add_trees(graph, single(graph, columns), trees, len(trees))
    graph.leaf_indices.add(positions.name)
    repeated = graph.take(positions, numpy.repeat(numpy.arange(len(trees)), widths))
    inside = graph.add("Equal", repeated, numpy.concatenate([numpy.arange(width) for width in widths],
                                                            dtype=FLOAT64))
    inside = graph.cast(inside, FLOAT64)
    return columns_of(inside, names_out(estimator, columns, inside.width), sparse=encoder.sparse_output)


def _positions(graph: Graph, columns: Columns, fitted: Any, known: numpy.ndarray, target: int) -> Tree:
    """A tree whose leaves hold their positions among the encoder's categories; -1 if a leaf is none. The
    encoder raises an error for rows that end in such a leaf."""
    positions = numpy.full(fitted.node_count, -1.0)
    positions[known] = numpy.arange(len(known))
    return tree_of(graph, columns, fitted, positions, target)
