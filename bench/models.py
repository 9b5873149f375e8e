"""Models with fixed seeds, generated here and cached."""

import hashlib
import itertools
from pathlib import Path

import numpy

import xgboost_format
from tools import CACHE, Model, say, write

# Leaf-wise models: leaves per tree, and number of trees.
LOSSGUIDE = {63: 500, 127: 300, 255: 200, 400: 150}
FEATURES = 28
# A change of these files regenerates the models.
SOURCES = b"".join(Path(file).read_bytes() for file in (__file__, xgboost_format.__file__))
MADE = CACHE / "models" / hashlib.sha256(SOURCES).hexdigest()[:12]


def save_rows(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "X_test.npy", numpy.ascontiguousarray(rows, dtype=numpy.float32))


def lossguide(leaves):
    """A model of unbalanced trees, trained leaf by leaf on noisy data with interactions."""
    folder = MADE / f"lossguide_{leaves}"
    if not (folder / "model.json").exists():
        import xgboost

        trees = LOSSGUIDE[leaves]
        say(f"bench: training {folder.name}: {trees} trees")
        random = numpy.random.default_rng(leaves)
        # Few features with many values, others with few, as usual in tables.
        rows = random.standard_normal((20_000, FEATURES)).astype(numpy.float32)
        rows[:, 20:] = numpy.round(rows[:, 20:] * 3)
        rows[random.random(rows.shape) < 0.02] = numpy.nan
        known = numpy.nan_to_num(rows)
        label = (known[:, 0] * known[:, 1] + numpy.abs(known[:, 2]) * known[:,
                                                                            20] + numpy.sin(3 * known[:, 3])
                 + numpy.exp(known[:, 4]) * (known[:, 21] > 2) + 0.3 * random.standard_normal(len(rows)))
        data = xgboost.DMatrix(rows[4096:], label=label[4096:])
        # One thread: trees are small, and on a busy machine threads that wait for each other take far longer.
        parameters = {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": leaves, "max_depth": 0,
                      "eta": 0.1, "min_child_weight": 1, "seed": leaves, "nthread": 1}
        booster = xgboost.train(parameters, data, trees)
        save_rows(folder, rows[:4096])
        write(folder / "model.json", booster.save_raw("json").decode())
    return Model(folder)


def random_tree(random, number, depth, features):
    """A tree in XGBoost's format, some of whose branches end early, with thresholds that occur as values of
    rows."""
    left, right, levels = [-1], [-1], [0]
    node = 0
    while node < len(left):
        if levels[node] < depth and (levels[node] < 2 or random.random() < 0.97):
            left[node], right[node] = len(left), len(left) + 1
            left += [-1, -1]
            right += [-1, -1]
            levels += [levels[node] + 1] * 2
        node += 1
    count = len(left)
    inner = numpy.array(left) >= 0
    values = numpy.where(inner, numpy.round(random.standard_normal(count), 2),
                         random.standard_normal(count) * 0.1)
    default_left = (inner & (random.random(count) < 0.5)).astype(int).tolist()
    indices = numpy.where(inner, random.integers(0, features, count), 0).tolist()
    return xgboost_format.tree(number, left, right, features, indices,
                               values.astype(numpy.float32).tolist(), default_left)


def synthetic(trees, features, depth):
    """A random model of the papers' grid; XGBoost itself provides the expected predictions."""
    folder = MADE / f"synthetic_{trees}x{depth}_{features}"
    if not (folder / "model.json").exists():
        random = numpy.random.default_rng([trees, features, depth])
        rows = numpy.round(random.standard_normal((2048, features)), 2)
        rows[random.random(rows.shape) < 0.01] = numpy.nan
        save_rows(folder, rows)
        made = [random_tree(random, number, depth, features) for number in range(trees)]
        write(folder / "model.json", xgboost_format.document(made, features))
    return Model(folder)


def grid(trees, features, depth):
    """The sizes of a grid of models. The corners come first, so that an interrupted run has covered the
    extremes."""
    ends = [{min(axis), max(axis)} for axis in (trees, features, depth)]
    return sorted(itertools.product(trees, features, depth),
                  key=lambda cell: -sum(value in axis for value, axis in zip(cell, ends)))
