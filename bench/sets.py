"""Generates a model in which half of the tests are categorical, a second model with the same trees and only
numeric tests, and rows for both.

    python bench/sets.py FOLDER [--trees 500] [--leaves 63] [--sets 5000] [--categories 300] [--seed 1]

Writes `sets.txt` and `numeric.txt` in LightGBM's text format, with the same trees, and `rows.npy`, 4096 rows
of 32-bit floats; `zeros.txt` is `numeric.txt` with zero as missing. Trees grow by splits of random leaves.
Four of 28 features are categorical. `--sets` is the number of distinct sets. Then run, for each model,

    schedc bench FOLDER/sets.txt -i FOLDER/rows.npy --batch 1024 --threads 1

Needs numpy.

"""

import argparse
import pathlib

import numpy as np

FEATURES = 28
CATEGORICAL = 4
ROWS = 4096
NAN_MISSING = 2 << 2
ZERO_MISSING = 1 << 2
DEFAULT_LEFT = 2


def shape(draw, leaves):
    """The children of the nodes of a tree; leaf `n` is `~n`."""
    left, right = [], []
    places = [None]
    for node in range(leaves - 1):
        at = draw.randint(len(places))
        if places[at] is not None:
            side, parent = places[at]
            side[parent] = node
        left.append(~at)
        right.append(~len(places))
        places[at] = (left, node)
        places.append((right, node))
    return left, right


def words(members):
    """A set of categories in LightGBM's format."""
    bits = [0] * (int(members.max()) // 32 + 1)
    for member in members:
        bits[member // 32] |= 1 << (member % 32)
    return bits


def tree(draw, number, arguments, pool):
    """A tree in three forms: with sets, with numbers, and with numbers whose zeros are missing."""
    nodes = arguments.leaves - 1
    left, right = shape(draw, arguments.leaves)
    asks = draw.permutation(nodes) < nodes // 2
    feature = np.where(asks, draw.randint(CATEGORICAL, size=nodes),
                       draw.randint(CATEGORICAL, FEATURES, size=nodes))
    numeric = np.round(np.tanh(draw.normal(size=nodes)) * 127) / 64 + 1 / 128
    default = draw.randint(2, size=nodes) * DEFAULT_LEFT
    values = draw.normal(size=arguments.leaves) / 10
    chosen = [pool[feature[node]][draw.randint(len(pool[feature[node]]))] for node in np.flatnonzero(asks)]
    bounds = np.cumsum([0] + [len(bits) for bits in chosen])
    threshold = numeric.astype(object)
    threshold[asks] = range(len(chosen))

    def text(threshold, kinds, sets):
        lines = {
            "num_leaves": [arguments.leaves],
            "num_cat": [len(sets)],
            "split_feature": feature,
            "split_gain": [1] * nodes,
            "threshold": threshold,
            "decision_type": kinds,
            "left_child": left,
            "right_child": right,
            "leaf_value": values,
            "leaf_weight": [1] * arguments.leaves,
            "leaf_count": [1] * arguments.leaves,
            "internal_value": [0] * nodes,
            "internal_weight": [1] * nodes,
            "internal_count": [1] * nodes,
        }
        if sets:
            lines["cat_boundaries"] = bounds
            lines["cat_threshold"] = [word for bits in sets for word in bits]
        lines |= {"is_linear": [0], "shrinkage": [1]}
        body = "".join(f"{key}={' '.join(str(x) for x in line)}\n" for key, line in lines.items())
        return f"Tree={number}\n{body}\n\n"

    return (
        text(threshold, np.where(asks, 1, NAN_MISSING | default), chosen),
        text(numeric, NAN_MISSING | default, []),
        text(numeric, ZERO_MISSING | default, []),
    )


def model(trees, categories):
    """The text of a model."""
    names = " ".join(f"Column_{number}" for number in range(FEATURES))
    infos = [":".join(map(str,
                          range(categories)))] * CATEGORICAL if categories else ["[-9:300]"] * CATEGORICAL
    infos += ["[-9:9]"] * (FEATURES - CATEGORICAL)
    head = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": FEATURES - 1,
        "objective": "regression",
        "feature_names": names,
        "feature_infos": " ".join(infos),
        "tree_sizes": " ".join(str(len(text)) for text in trees),
    }
    lines = "".join(f"{key}={value}\n" for key, value in head.items())
    return (f"tree\n{lines}\n{''.join(trees)}end of trees\n\nfeature_importances:\n\n"
            "parameters:\nend of parameters\n\npandas_categorical:null\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--sets", type=int, default=5000)
    parser.add_argument("--categories", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = np.random.RandomState(arguments.seed)

    def members():
        return draw.permutation(arguments.categories)[: draw.randint(1, arguments.categories // 2 + 1)]

    per_feature = arguments.sets // CATEGORICAL
    pool = [[words(members()) for _ in range(per_feature)] for _ in range(CATEGORICAL)]
    trees = [tree(draw, number, arguments, pool) for number in range(arguments.trees)]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    sets, numeric, zeros = zip(*trees)
    for name, texts, categories in [
        ("sets", sets, arguments.categories),
        ("numeric", numeric, 0),
        ("zeros", zeros, 0),
    ]:
        (arguments.folder / f"{name}.txt").write_text(model(texts, categories))
    rows = np.float32(draw.normal(size=(ROWS, FEATURES)))
    rows[:, :CATEGORICAL] = draw.randint(arguments.categories + 2, size=(ROWS, CATEGORICAL))
    rows[draw.uniform(size=rows.shape) < 0.02] = np.nan
    rows[draw.uniform(size=rows.shape) < 0.1] = 0
    np.save(arguments.folder / "rows.npy", rows)


if __name__ == "__main__":
    main()
