"""Models with fixed seeds, generated here and cached."""

import hashlib
import itertools
from pathlib import Path

import numpy

import xgboost_format
from tools import CACHE, Model, say, write

FEATURES = 28
TRAINING, ROWS = 16_384, 4096
# Trained models: parameters of the trees for XGBoost, and parameters of the trainer for other trainers.
LOSSGUIDE = {f"lossguide_{leaves}": {"trees": trees, "grow_policy": "lossguide", "max_leaves": leaves,
                                     "max_depth": 0, "min_child_weight": 1, "seed": leaves}
             for leaves, trees in {63: 500, 127: 300, 255: 200, 400: 150}.items()}
LARGE = {
    "depth_10": {"trees": 300, "max_depth": 10, "seed": 10},
    "depth_12": {"trees": 200, "max_depth": 12, "seed": 12},
    "forest_16": {"trees": 1, "num_parallel_tree": 60, "max_depth": 16, "subsample": 0.8,
                  "colsample_bynode": 0.6, "eta": 1, "seed": 16},
    "leaves_1024": {"trees": 100, "grow_policy": "lossguide", "max_leaves": 1024, "max_depth": 0,
                    "min_child_weight": 1, "seed": 1024},
    "trees_3000": {"trees": 3000, "max_depth": 6, "seed": 3000},
    "lightgbm_63": {"trees": 500, "num_leaves": 63, "seed": 63},
    "catboost_6": {"trees": 500, "depth": 6, "random_seed": 6},
}
# Part of the cache key: if these files change, the models are generated again.
SOURCES = b"".join(Path(file).read_bytes() for file in (__file__, xgboost_format.__file__))
MADE = CACHE / "models" / hashlib.sha256(SOURCES).hexdigest()[:12]


def save_rows(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "X_test.npy", numpy.ascontiguousarray(rows, dtype=numpy.float32))


def data(seed, count):
    """Noisy rows with interactions, and labels. As in real tables, some features have many values and others
    few."""
    random = numpy.random.default_rng(seed)
    rows = random.standard_normal((count, FEATURES)).astype(numpy.float32)
    rows[:, 20:] = numpy.round(rows[:, 20:] * 3)
    rows[random.random(rows.shape) < 0.02] = numpy.nan
    known = numpy.nan_to_num(rows)
    label = (known[:, 0] * known[:, 1] + numpy.abs(known[:, 2]) * known[:, 20] + numpy.sin(3 * known[:, 3])
             + numpy.exp(known[:, 4]) * (known[:, 21] > 2) + 0.3 * random.standard_normal(count))
    return rows, label


def trained(name):
    """A trained model of this name. Training uses one thread, since trees are small, and several threads
    would wait for each other on a busy machine."""
    folder = MADE / name
    if not any((folder / file).exists() for file in Model.FILES):
        recipe = (LOSSGUIDE | LARGE)[name].copy()
        trees = recipe.pop("trees")
        say(f"bench: training {name}")
        rows, label = data(recipe.get("seed", 0), ROWS + TRAINING * (1 if name in LOSSGUIDE else 3))
        learn, label = rows[ROWS:], label[ROWS:]
        save_rows(folder, rows[:ROWS])
        if name.startswith("lightgbm"):
            import lightgbm

            recipe |= {"objective": "regression", "num_threads": 1, "verbose": -1}
            booster = lightgbm.train(recipe, lightgbm.Dataset(learn, label), trees)
            write(folder / "model.txt", booster.model_to_string())
        elif name.startswith("catboost"):
            import catboost

            booster = catboost.CatBoostRegressor(iterations=trees, thread_count=1, verbose=False,
                                                 allow_writing_files=False, **recipe)
            booster.fit(learn, label)
            booster.save_model(str(folder / "model.json"), format="json")
        else:
            import xgboost

            recipe = {"tree_method": "hist", "eta": 0.1, "nthread": 1} | recipe
            booster = xgboost.train(recipe, xgboost.DMatrix(learn, label=label), trees)
            write(folder / "model.json", booster.save_raw("json").decode())
    return Model(folder)


def random_tree(random, number, depth, features):
    """A random tree in XGBoost's format. Some branches end early, and thresholds are also values of rows."""
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
