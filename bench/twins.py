"""Cost of double precision: compares a LightGBM model with its twin, which has the same trees in single
precision, in XGBoost's format.

    python bench/twins.py SCHEDC MODEL.txt ROWS.npy [--batch 1024] [--rounds 7] [--keep TWIN.json]

The twin has thresholds, leaves and sums of 32 bits. The model is timed with rows of 32 and of 64 bits. Model
and twin take turns, so that changes in the machine's speed cancel out. A model with categorical nodes has no
twin.

"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import xgboost_format


def above(values):
    """The smallest float above each number: `value <= x` and `value < above(x)` are equivalent for floats."""
    with numpy.errstate(over="ignore"):
        near = numpy.float32(values)
    return numpy.where(near > values, near, numpy.nextafter(near, numpy.float32(numpy.inf)))


def sections(path):
    """The header and the trees of a LightGBM model, each as a dictionary."""
    found = [{}]
    for line in path.read_text().splitlines():
        if line.startswith("end of trees"):
            break
        if line.startswith("Tree="):
            found.append({})
        key, _, value = line.partition("=")
        found[-1][key] = value
    return found[0], found[1:]


def twin_tree(number, tree, features):
    """A tree in XGBoost's format: inner nodes first, then leaves."""
    numbers = lambda key, kind: [kind(x) for x in tree.get(key, "").split()]
    if int(tree.get("num_cat", 0)) or tree.get("is_linear") == "1":
        raise SystemExit(f"tree {number} has categories or linear leaves: it has no twin")
    thresholds, leaves = numpy.array(numbers("threshold", float)), numbers("leaf_value", float)
    inner = len(thresholds)
    place = lambda child: child if child >= 0 else inner + ~child
    left, right = ([place(child) for child in numbers(key, int)] for key in ("left_child", "right_child"))
    none, zeros = [-1] * len(leaves), [0] * len(leaves)
    conditions = above(thresholds).tolist() + numpy.float32(leaves).tolist()
    default_left = [(x >> 1) & 1 for x in numbers("decision_type", int)] + zeros
    return xgboost_format.tree(number, left + none, right + none, features,
                               numbers("split_feature", int) + zeros, conditions, default_left)


def twin(path):
    """The twin of a model as JSON."""
    header, trees = sections(path)
    if header.get("num_tree_per_iteration", "1") != "1":
        raise SystemExit("models of several classes have no twin here")
    features = int(header["max_feature_idx"]) + 1
    return xgboost_format.document([twin_tree(number, tree, features) for number, tree in enumerate(trees)],
                                   features, base="0E0")


def time(options, model, rows, kind):
    """Microseconds per row of a model's automatic schedule."""
    command = [options.schedc, "bench", model, "-i", rows, "--batch", str(options.batch), "--row-type", kind,
               "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["points"][0]["us_per_row"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("schedc", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        other = options.keep or Path(work) / "twin.json"
        other.write_text(twin(options.model))
        ways = {"twin": (other, "f32"), "f32 rows": (options.model, "f32"),
                "f64 rows": (options.model, "f64")}
        rounds = [{name: time(options, model, options.rows, kind) for name, (model, kind) in ways.items()}
                  for _ in range(options.rounds)]
    print("| | µs/row | of the twin |\n|---|---|---|")
    for name in ways:
        median = statistics.median(spent[name] for spent in rounds)
        ratio = statistics.median(spent[name] / spent["twin"] for spent in rounds)
        print(f"| {name} | {median:.3f} | {ratio:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
