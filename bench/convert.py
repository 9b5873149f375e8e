"""Converts models for the peers. Results are cached by the model's fingerprint."""

import json
import math
import os
import sys
import tempfile
import time

import onnx

from engines import limited
from tools import CACHE, Failed, say, run, write

# Trees per file of generated C.
TREES_PER_FILE = 25


def cached(model, name):
    """The path of a converted model."""
    return CACHE / "made" / model.fingerprint.replace(":", "-") / name


def base_margins(learner):
    """The base margin of each output. Files have base values after the output transform: one for all outputs,
    or one for each output."""
    text = learner["learner_model_param"]["base_score"]
    values = json.loads(text) if text.startswith("[") else [float(text)]
    outputs = max(1, int(learner["learner_model_param"].get("num_class", 0)))
    objective = learner["objective"]["name"]
    if objective in ("binary:logistic", "reg:logistic"):
        values = [math.log(value / (1 - value)) for value in values]
    elif objective in ("count:poisson", "reg:gamma", "reg:tweedie"):
        values = [math.log(value) for value in values]
    return values * outputs if len(values) == 1 else values


def scores_alone(model, path):
    """Reduces an ONNX model to one input `rows` and one output `margins`."""
    made = onnx.load(model.path)
    ensembles = [node for node in made.graph.node if node.op_type.startswith("TreeEnsemble")]
    if len(ensembles) != 1 or ensembles[0].input[0] != made.graph.input[0].name:
        raise Failed("a measured model must be one tree ensemble without steps before it")
    ensemble, rows = ensembles[0], made.graph.input[0]
    ensemble.input[0], rows.name = "rows", "rows"
    ensemble.output[-1] = "margins"
    del made.graph.node[:]
    made.graph.node.append(ensemble)
    del made.graph.output[:]
    made.graph.output.append(onnx.helper.make_tensor_value_info("margins", onnx.TensorProto.FLOAT, None))
    write(path, made.SerializeToString())
    return path


def to_onnx(model):
    """Converts a model for ONNX Runtime: to one tree ensemble with the input `rows` and the output
    `margins`."""
    path = cached(model, "model.onnx")
    if path.exists():
        return path
    if model.path.suffix == ".onnx":
        return scores_alone(model, path)
    learner = json.loads(model.path.read_text())["learner"]
    booster = learner["gradient_booster"]["model"]
    base = base_margins(learner)
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                                 "falsenodeids", "missing_value_tracks_true")}
    targets = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for number, (tree, output) in enumerate(zip(booster["trees"], booster["tree_info"])):
        left, right = tree["left_children"], tree["right_children"]
        if any(tree.get("split_type", [])):
            raise Failed("categorical splits are not converted to ONNX")
        for node, child in enumerate(left):
            leaf = child == -1
            condition = tree["split_conditions"][node]
            nodes["treeids"].append(number)
            nodes["nodeids"].append(node)
            nodes["modes"].append("LEAF" if leaf else "BRANCH_LT")
            nodes["featureids"].append(0 if leaf else tree["split_indices"][node])
            nodes["values"].append(0.0 if leaf else condition)
            nodes["truenodeids"].append(0 if leaf else child)
            nodes["falsenodeids"].append(0 if leaf else right[node])
            nodes["missing_value_tracks_true"].append(0 if leaf else int(tree["default_left"][node]))
            if leaf:
                targets["treeids"].append(number)
                targets["nodeids"].append(node)
                targets["ids"].append(output)
                targets["weights"].append(condition)
    attributes = {f"nodes_{key}": value for key, value in nodes.items()}
    attributes |= {f"target_{key}": value for key, value in targets.items()}
    node = onnx.helper.make_node("TreeEnsembleRegressor", ["rows"], ["margins"], domain="ai.onnx.ml",
                                 n_targets=len(base), base_values=base, post_transform="NONE", **attributes)
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node], "forest", [tensor("rows", onnx.TensorProto.FLOAT, [None, model.features])],
        [tensor("margins", onnx.TensorProto.FLOAT, [None, len(base)])])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("ai.onnx.ml", 3),
                                                        onnx.helper.make_opsetid("", 17)], ir_version=9)
    write(path, made.SerializeToString())
    return path


def to_lleaves(model, seconds):
    """The model as a library from lleaves."""
    path = cached(model, "lleaves.so")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(".o")
        limited([sys.executable, "-c", "import lleaves, sys; path, made = sys.argv[1:]; "
                 "lleaves.Model(model_file=path).compile(cache=made, raw_score=True)", model.path, made],
                seconds, path.with_suffix(".limit"))
        run([os.environ.get("CC", "cc"), "-shared", "-o", path, made, "-lm"])
        made.unlink()
    return path


# Generates C with tl2cgen in several files, which is a separate process since it prints to standard output.
GENERATE = """
import sys, tl2cgen, treelite
path, folder, files = sys.argv[1:]
frontend = treelite.frontend
load = frontend.load_lightgbm_model if path.endswith(".txt") else frontend.load_xgboost_model
tl2cgen.generate_c_code(load(path), dirpath=folder, params={"parallel_comp": int(files)}, verbose=False)
"""
# Compiles the C files of a folder, one per core, to a library.
COMPILE = """cd "$0" && ls *.c | xargs -P "$(nproc)" -n 1 "${CC:-cc}" -O2 -fPIC -c &&
"${CC:-cc}" -shared -o "$1.part" *.o -lm && mv "$1.part" "$1"
"""


def to_c(model, seconds):
    """The model as a library from generated C."""
    path, since = cached(model, "tl2cgen.so"), time.monotonic()
    if not path.exists():
        with tempfile.TemporaryDirectory() as source:
            files, note = max(1, min(64, model.trees // TREES_PER_FILE)), path.with_suffix(".limit")
            path.parent.mkdir(parents=True, exist_ok=True)
            limited([sys.executable, "-c", GENERATE, model.path, source, files], seconds, note)
            limited(["sh", "-c", COMPILE, source, path], seconds, note)
        say(f"{model.name}: tl2cgen compiled in {time.monotonic() - since:.0f} s")
    return path
