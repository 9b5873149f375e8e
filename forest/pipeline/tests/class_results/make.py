"""Makes graphs whose results are classes, and writes rows and the results of ONNX Runtime on one thread.

Run it in an environment with onnx 1.23.2, onnxruntime 1.32.0 and numpy 2.4.6:

    python make.py

`results.json` has an entry for each graph: the first result of numbers as `value`, and the first result of
whole numbers, truth values or texts as `class`, as text. `null` stands for a result that the graph does not
have. Margins are exact in both types: rows and weights are small multiples of 1/4.
"""

import json
import pathlib

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
N_ROWS = 24
N_FEATURES = 3
TYPES = {"f32": (TensorProto.FLOAT, np.float32), "f64": (TensorProto.DOUBLE, np.float64)}
FLOAT, DOUBLE, INT64, BOOL, STRING = (
    getattr(TensorProto, name) for name in ("FLOAT", "DOUBLE", "INT64", "BOOL", "STRING")
)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], **attributes)


# The nodes behind the scores `S` (one for each row) or `M` (three), and the results with their types.
GRAPHS = {
    "above-float": ([node("Greater", ["S", "bound"], "g"), node("Cast", ["g"], "y", to=FLOAT)], ["y"]),
    "above-double": ([node("Greater", ["S", "bound"], "g"), node("Cast", ["g"], "y", to=DOUBLE)], ["y"]),
    "at-least-double": (
        [node("GreaterOrEqual", ["S", "bound"], "g"), node("Cast", ["g"], "y", to=DOUBLE)],
        ["y"],
    ),
    "above-sigmoid-double": (
        [
            node("Sigmoid", ["S"], "p"),
            node("Greater", ["p", "half"], "g"),
            node("Cast", ["g"], "y", to=DOUBLE),
        ],
        ["y"],
    ),
    "above-bool": ([node("Greater", ["S", "bound"], "c")], ["c"]),
    "above-int-double": (
        [
            node("Greater", ["S", "bound"], "g"),
            node("Cast", ["g"], "i", to=INT64),
            node("Cast", ["i"], "y", to=DOUBLE),
        ],
        ["y"],
    ),
    "above-double-twice": (
        [
            node("Greater", ["S", "bound"], "g"),
            node("Cast", ["g"], "d", to=DOUBLE),
            node("Mul", ["d", "two"], "y"),
        ],
        ["y"],
    ),
    "above-and-score": (
        [node("Greater", ["S", "bound"], "c"), node("Identity", ["S"], "y")],
        ["c", "y"],
    ),
    "largest-int": ([node("ArgMax", ["M"], "c", axis=1)], ["c"]),
    "largest-float": (
        [node("ArgMax", ["M"], "i", axis=1), node("Cast", ["i"], "y", to=FLOAT)],
        ["y"],
    ),
    "largest-bool": (
        [node("ArgMax", ["M"], "i", axis=1), node("Cast", ["i"], "c", to=BOOL)],
        ["c"],
    ),
    "largest-probability-double": (
        [
            node("Softmax", ["M"], "p", axis=1),
            node("ArgMax", ["p"], "i", axis=1),
            node("Cast", ["i"], "y", to=DOUBLE),
        ],
        ["y"],
    ),
    "largest-and-scores": (
        [node("ArgMax", ["M"], "c", axis=1), node("Identity", ["M"], "y")],
        ["c", "y"],
    ),
    "number-label": (
        [
            node("ArgMax", ["M"], "i", axis=1, keepdims=0),
            node("ArrayFeatureExtractor", ["numbers", "i"], "c", domain="ai.onnx.ml"),
        ],
        ["c"],
    ),
    "number-label-double": (
        [
            node("ArgMax", ["M"], "i", axis=1),
            node("Gather", ["numbers", "i"], "n", axis=0),
            node("Cast", ["n"], "y", to=DOUBLE),
        ],
        ["y"],
    ),
    "text-label": (
        [node("ArgMax", ["M"], "i", axis=1), node("Gather", ["texts", "i"], "c", axis=0)],
        ["c"],
    ),
}
# Two trees with three leaves in single precision. Their attributes begin with `nodes_`.
TREES = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 0, 1, 0, 0, 2, 0, 0],
    "nodes_values": [0.25, 0.0, -0.5, 0.0, 0.0, 0.5, 0.0, 0.0],
    "nodes_modes": [
        "BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"
    ],
    "nodes_truenodeids": [1, 0, 3, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 4, 0, 0, 2, 0, 0],
}
LEAVES = {"treeids": [0, 0, 0, 1, 1], "nodeids": [1, 3, 4, 1, 2]}
WEIGHTS = [0.5, -1.0, 1.5, -0.75, 1.0]


def regressor():
    of_leaves = {f"target_{key}": value for key, value in LEAVES.items()}
    of_leaves |= {"target_ids": [0] * len(WEIGHTS), "target_weights": WEIGHTS, "n_targets": 1}
    return node("TreeEnsembleRegressor", ["X"], "R", domain="ai.onnx.ml", **TREES, **of_leaves)


def classifier():
    of_leaves = {f"class_{key}": value for key, value in LEAVES.items()}
    of_leaves |= {"class_ids": [0, 2, 1, 2, 0], "class_weights": [abs(one) for one in WEIGHTS]}
    attributes = TREES | of_leaves | {"classlabels_int64s": [0, 1, 2], "post_transform": "NONE"}
    return helper.make_node(
        "TreeEnsembleClassifier", ["X"], ["L", "P"], domain="ai.onnx.ml", **attributes
    )


# Trees compute in single precision.
OF_TREES = {
    "trees-above-float": (
        [regressor(), node("Greater", ["R", "bound"], "g"), node("Cast", ["g"], "y", to=FLOAT)],
        ["y"],
    ),
    "trees-label-float": ([classifier(), node("Cast", ["L"], "y", to=FLOAT)], ["y"]),
    "trees-label": ([classifier(), node("Identity", ["P"], "y")], ["L", "y"]),
}
RESULT_TYPES = {
    "trees-above-float": [FLOAT],
    "trees-label-float": [FLOAT],
    "trees-label": [INT64, None],
    "above-float": [FLOAT],
    "above-bool": [BOOL],
    "above-and-score": [BOOL, None],
    "largest-int": [INT64],
    "largest-float": [FLOAT],
    "largest-bool": [BOOL],
    "largest-and-scores": [INT64, None],
    "number-label": [INT64],
    "text-label": [STRING],
}


def model(name, kind):
    element, dtype = TYPES[kind]
    nodes, results = (GRAPHS | OF_TREES)[name]
    weights = {
        "w1": np.array([[1.0], [-0.5], [2.0]], dtype),
        "w3": np.array([[1.0, -1.0, 0.5], [-0.5, 2.0, 0.25], [2.0, 0.5, -1.5]], dtype),
        "bound": np.array([0.75], dtype),
        "half": np.array([0.5], dtype),
        "two": np.array([2.0]),
        "numbers": np.array([30, 10, 20], np.int64),
        "texts": np.array(["high", "low", "mid"], object),
    }
    read = {text for one in nodes for text in one.input}
    weighted = (("S", "w1"), ("M", "w3"))
    scores = [node("MatMul", ["X", weight], of) for of, weight in weighted if of in read]
    read |= {text for one in scores for text in one.input}
    constants = [numpy_helper.from_array(array, text) for text, array in weights.items() if text in read]
    types = RESULT_TYPES.get(name, [DOUBLE])
    outputs = [
        helper.make_tensor_value_info(result, element if of is None else of, None)
        for result, of in zip(results, types, strict=True)
    ]
    rows = helper.make_tensor_value_info("X", element, [None, N_FEATURES])
    graph = helper.make_graph(scores + nodes, name, [rows], outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def main():
    rng = np.random.default_rng(7)
    rows = rng.integers(-8, 9, (N_ROWS, N_FEATURES)) / 4
    # The bound itself.
    rows[0] = [0.75, 0.0, 0.0]
    content = {"rows": rows.ravel().tolist(), "graphs": {}}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for kind, (_, dtype) in TYPES.items():
        for name in GRAPHS | (OF_TREES if kind == "f32" else {}):
            made = model(name, kind).SerializeToString()
            (HERE / f"{name}-{kind}.onnx").write_bytes(made)
            session = onnxruntime.InferenceSession(made, options)
            results = [result.reshape(N_ROWS, -1) for result in session.run(None, {"X": rows.astype(dtype)})]
            value = next((result for result in results if result.dtype.kind == "f"), None)
            of_class = next((result for result in results if result.dtype.kind != "f"), None)
            if of_class is not None and of_class.dtype == bool:
                of_class = of_class.astype(np.int64)
            content["graphs"][f"{name}-{kind}"] = {
                "value": None if value is None else value.astype(float).ravel().tolist(),
                "class": None if of_class is None else [str(one) for one in of_class.ravel()],
            }
    (HERE / "results.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
