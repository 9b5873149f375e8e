"""Trees as a node TreeEnsemble of ai.onnx.ml 5, in double precision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy

from .graph import FLOAT64, ML, Graph, Value, element

LEQ, LT, MEMBER = 0, 1, 6


@dataclass
class Tree:
    """One tree. Each array has an entry for each node; node 0 is the root."""

    feature: numpy.ndarray
    threshold: numpy.ndarray
    left: numpy.ndarray
    """The child for rows that pass the test; -1 in leaves."""
    right: numpy.ndarray
    missing_left: numpy.ndarray
    """Whether missing values pass."""
    value: numpy.ndarray
    """The leaf values, `[n_nodes, n_targets]`, or `[n_nodes]` for the one target `target`."""
    target: int = 0
    modes: numpy.ndarray | None = None
    """The kinds of tests; by default `x <= threshold`."""
    sets: dict[int, list[float]] = field(default_factory=dict)
    """The members of nodes that test for membership."""


def constant_tree(value: float, target: int) -> Tree:
    """A tree that is one leaf."""
    none, no = numpy.array([-1]), numpy.array([False])
    return Tree(numpy.array([0]), numpy.array([0.0]), none, none, no, numpy.array([float(value)]), target)


class _Nodes:
    """The attributes of a TreeEnsemble."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {}
        self.nodes = 0
        self.leaves = 0
        self.roots: list[int] = []
        self.members: list[float] = []

    def extend(self, **more: Any) -> None:
        for name, values in more.items():
            self.lists.setdefault(name, []).extend(numpy.asarray(values).tolist())

    def add(self, tree: Tree, values: numpy.ndarray, target: int) -> None:
        """Adds a tree whose leaves add to one target."""
        inner = numpy.flatnonzero(tree.left >= 0)
        self.roots.append(self.nodes)
        if not len(inner):
            # A tree of one leaf becomes a node with this leaf as both children.
            self.extend(feature=[0], split=[0.0], mode=[LEQ], missing=[0], true_id=[self.leaves],
                        true_leaf=[1], false_id=[self.leaves], false_leaf=[1], target=[target],
                        weight=[values[0]])
            self.nodes, self.leaves = self.nodes + 1, self.leaves + 1
            return
        is_leaf = tree.left < 0
        leaves = numpy.flatnonzero(is_leaf)
        place = numpy.empty(len(tree.left), numpy.int64)
        place[inner] = numpy.arange(len(inner)) + self.nodes
        left, right = tree.left[inner], tree.right[inner]
        # Nodes and leaves are numbered separately. ONNX Runtime 1.23 treats a node as a leaf if the numbers
        # of its children are equal, even if one child is a node and the other a leaf. Another order of the
        # leaves avoids this.
        for _ in range(len(leaves)):
            place[leaves] = numpy.arange(len(leaves)) + self.leaves
            if not (place[left] == place[right]).any():
                break
            leaves = numpy.roll(leaves, 1)
        modes = numpy.zeros(len(inner), int) if tree.modes is None else tree.modes[inner]
        self.extend(feature=tree.feature[inner], split=numpy.asarray(tree.threshold[inner], FLOAT64),
                    mode=modes, missing=tree.missing_left[inner].astype(int), true_id=place[left],
                    true_leaf=is_leaf[left].astype(int), false_id=place[right],
                    false_leaf=is_leaf[right].astype(int), target=[target] * len(leaves),
                    weight=numpy.asarray(values[leaves], FLOAT64))
        for node in inner.tolist():
            if node in tree.sets:
                self.members += [*sorted(tree.sets[node]), numpy.nan]
        self.nodes, self.leaves = self.nodes + len(inner), self.leaves + len(leaves)


def add_trees(graph: Graph, value: Value, trees: list[Tree], n_targets: int,
              dtype: numpy.dtype = FLOAT64) -> Value:
    """Adds a TreeEnsemble that sums leaf values in the order of the trees, in f64 or f32.

    Returns the sums, `[n_rows, n_targets]`.

    A leaf of ONNX has one target. A tree with several targets becomes a tree with the same tests for each
    target, one after the other.
    """
    from onnx import TensorProto, helper

    made = _Nodes()
    for tree in trees:
        if tree.value.ndim == 1:
            made.add(tree, tree.value, tree.target)
            continue
        for target in range(n_targets):
            made.add(tree, tree.value[:, target], target)
    found = made.lists

    def floats(name: str, values: list[float]) -> Any:
        return helper.make_tensor(name, element(dtype), [len(values)], values)

    more = {}
    if made.members:
        more["membership_values"] = floats("membership_values", made.members)
    if any(found["missing"]):
        more["nodes_missing_value_tracks_true"] = found["missing"]
    modes = helper.make_tensor("modes", TensorProto.UINT8, [made.nodes], found["mode"])
    return graph.add(
        "TreeEnsemble", graph.cast(value, dtype), domain=ML, width=n_targets, dtype=dtype,
        n_targets=n_targets, aggregate_function=1, post_transform=0, tree_roots=made.roots,
        nodes_featureids=found["feature"], nodes_splits=floats("splits", found["split"]), nodes_modes=modes,
        nodes_truenodeids=found["true_id"], nodes_trueleafs=found["true_leaf"],
        nodes_falsenodeids=found["false_id"], nodes_falseleafs=found["false_leaf"],
        leaf_targetids=found["target"], leaf_weights=floats("weights", found["weight"]), **more,
    )
