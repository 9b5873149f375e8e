"""Generates models with leaf vectors or oblivious trees, each with a twin for comparison: the same trees with
one value per leaf. Seeds are fixed. The format is XGBoost's or, for sums in double precision, CatBoost's.

    python bench/shapes.py FOLDER

"""

import json
import sys
from pathlib import Path

import numpy

import xgboost_format

FEATURES = 28
TREES = 500
DEPTH = 6
ROWS = 4096
# Number of possible thresholds of a feature, as in training with histograms.
THRESHOLDS = 64


def complete(random, oblivious, early):
    """The tests of a tree by node, in level order. `early` is the probability that a branch ends early."""
    nodes, todo = [], [(0, 0)]
    levels = [(int(random.integers(FEATURES)), int(random.integers(THRESHOLDS))) for _ in range(DEPTH)]
    left = [-1]
    while todo:
        node, level = todo.pop(0)
        ends = level == DEPTH or level > 2 and random.random() < early
        nodes.append(None)
        if ends:
            continue
        test = levels[level] if oblivious else (int(random.integers(FEATURES)),
                                                int(random.integers(THRESHOLDS)))
        nodes[node] = test
        left[node] = len(left)
        todo += [(len(left), level + 1), (len(left) + 1, level + 1)]
        left += [-1, -1]
    return nodes, left


def threshold(number):
    return float(numpy.float32((number - THRESHOLDS / 2 + 0.25) / 16))


def tree(number, shape, random, margins):
    """A tree in XGBoost's format; leaf vectors are in `base_weights`."""
    nodes, left = shape
    count = len(nodes)
    right = [child + 1 if child >= 0 else -1 for child in left]
    weights = (random.standard_normal((count, margins)) * 0.1).astype(numpy.float32)
    values = [threshold(test[1]) if test else float(weights[node, 0]) for node, test in enumerate(nodes)]
    return xgboost_format.tree(number, left, right, FEATURES, [test[0] if test else 0 for test in nodes],
                               values, [0] * count, weights.reshape(-1).tolist(), margins)


def xgboost(path, shapes, margins):
    random = numpy.random.default_rng(margins)
    trees = [tree(number, shape, random, margins) for number, shape in enumerate(shapes)]
    path.write_text(xgboost_format.document(trees, FEATURES, margins=margins))


def catboost(path, shapes, margins):
    """Oblivious trees in CatBoost's format. The first split is the lowest bit of a leaf's number."""
    random = numpy.random.default_rng(margins)
    floats = [{"borders": [], "feature_index": at, "flat_feature_index": at, "has_nans": False,
               "feature_name": str(at), "nan_value_treatment": "AsIs"} for at in range(FEATURES)]
    trees = []
    for nodes, left in shapes:
        tests, node = [], 0
        while left[node] >= 0:
            tests.append(nodes[node])
            node = left[node]
        splits = [{"border": threshold(number), "float_feature_index": feature, "split_index": 0,
                   "split_type": "FloatFeature"} for feature, number in tests]
        values = (random.standard_normal(margins << len(tests)) * 0.1).tolist()
        trees.append({"leaf_values": values, "leaf_weights": [1] * (1 << len(tests)), "splits": splits})
    document = {"features_info": {"float_features": floats}, "model_info": {}, "oblivious_trees": trees,
                "scale_and_bias": [1, [0.0] * margins]}
    path.write_text(json.dumps(document))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    rows = numpy.round(random.standard_normal((ROWS, FEATURES)) * 2, 2)
    rows[random.random(rows.shape) < 0.01] = numpy.nan
    numpy.save(folder / "rows.npy", rows.astype(numpy.float32))
    shapes = [complete(random, False, 0.03) for _ in range(TREES)]
    for margins in (1, 3, 26):
        xgboost(folder / f"vectors_{margins}.json", shapes, margins)
    shapes = [complete(random, True, 0.0) for _ in range(TREES)]
    xgboost(folder / "oblivious.json", shapes, 1)
    for margins in (1, 3):
        catboost(folder / f"catboost_{margins}.json", shapes, margins)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
