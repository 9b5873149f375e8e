#!/usr/bin/env python3
"""Makes graphs of single operators, with the results of ONNX Runtime.

Run it in an environment with onnx 1.23.2, onnxruntime 1.32.0 and numpy 2.4.6:

    python make.py [name ..]

Writes `<type>-<version>.onnx` and `<type>-<version>.json`. Each operator of a graph computes columns of one
input, and a tree ensemble reads all columns. The JSON file has the label of the operator of each column, the
rows and the values of the columns. Floats are bits, as whole numbers. If ONNX Runtime lacks an operator for
doubles, the reference evaluator of the package onnx computes it, or Python's module math.
"""

import json
import math
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = pathlib.Path(__file__).parent
WIDTH = 4

# Operators of one tensor: the label, the operator and its attributes.
UNARY = [
    ("exp", "Exp", {}),
    ("log", "Log", {}),
    ("sqrt", "Sqrt", {}),
    ("tanh", "Tanh", {}),
    ("sigmoid", "Sigmoid", {}),
    ("erf", "Erf", {}),
    ("sin", "Sin", {}),
    ("cos", "Cos", {}),
    ("tan", "Tan", {}),
    ("reciprocal", "Reciprocal", {}),
    ("softplus", "Softplus", {}),
    ("softsign", "Softsign", {}),
    ("relu", "Relu", {}),
    ("leaky", "LeakyRelu", {}),
    ("leaky 0.3", "LeakyRelu", {"alpha": 0.3}),
    ("thresholded", "ThresholdedRelu", {}),
    ("thresholded -0.5", "ThresholdedRelu", {"alpha": -0.5}),
    ("elu", "Elu", {}),
    ("elu 0.7", "Elu", {"alpha": 0.7}),
    ("celu", "Celu", {"alpha": 1.5}),
    ("selu", "Selu", {}),
    ("hard sigmoid", "HardSigmoid", {}),
    ("hard sigmoid 0.1", "HardSigmoid", {"alpha": 0.1, "beta": 0.25}),
    ("hard swish", "HardSwish", {}),
    ("mish", "Mish", {}),
    ("sign", "Sign", {}),
    ("abs", "Abs", {}),
    ("softmax", "Softmax", {}),
    ("softmax 1", "Softmax", {"axis": 1}),
    ("log softmax", "LogSoftmax", {}),
]
# Operators with one result for each row.
REDUCED = ["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMean", "ReduceLogSumExp"]
LATER = [("gelu", "Gelu", {}), ("gelu tanh", "Gelu", {"approximate": "tanh"})]


def rows(float_type):
    chance = np.random.default_rng(3)
    usual = chance.normal(size=(8, WIDTH)) * 2
    ends = [[0.0, -0.0, 1.0, -1.0], [30.0, -30.0, 0.5, 2.0], [1e-6, -1e-6, 80.0, -80.0], [3.0, 3.0, 3.0, 3.0]]
    return np.vstack([usual, ends]).astype(float_type)


class Graph:
    def __init__(self, float_type, version):
        self.type = TensorProto.FLOAT if float_type == np.float32 else TensorProto.DOUBLE
        self.float_type, self.version = float_type, version
        self.nodes, self.constants, self.labels, self.parts = [], [], [], []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def node(self, operator, inputs, domain="", **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def part(self, label, name, width=WIDTH):
        self.labels += [label] * width
        self.parts.append(name)

    def floats(self, name):
        return self.node("Cast", [name], to=self.type)


def build(float_type, version):
    graph = Graph(float_type, version)
    number = lambda x: np.array(x, float_type)
    for label, operator, attributes in UNARY + (LATER if version >= 20 else []):
        if version < 14 and operator in ("HardSwish", "Mish", "Celu"):
            continue
        if version < 18 and operator == "Mish":
            continue
        graph.part(label, graph.node(operator, ["X"], **attributes))
    axes = graph.constant("axes", np.array([1], np.int64))
    for operator in REDUCED:
        if version >= 18:
            graph.part(operator, graph.node(operator, ["X", axes], keepdims=1), 1)
        else:
            graph.part(operator, graph.node(operator, ["X"], axes=[1], keepdims=1), 1)
    size = graph.node("Abs", ["X"])
    log_sum = "ReduceLogSum"
    more = {"axes": [1]} if version < 18 else {}
    graph.part(log_sum, graph.node(log_sum, [size, axes] if version >= 18 else [size], keepdims=1, **more), 1)
    for norm in ("MAX", "L1", "L2"):
        normal = graph.node("Normalizer", ["X"], domain="ai.onnx.ml", norm=norm)
        graph.part(f"normalizer {norm}", graph.floats(normal))
    half = graph.constant("half", number([0.5, 2.0, 3.0, -1.5]))
    graph.part("pow", graph.node("Pow", [size, half]))
    for exponent in (2.0, 3.0, 0.5):
        power = graph.constant(f"by {exponent}", number(exponent))
        graph.part(f"pow {exponent}", graph.node("Pow", [size, power]))
    whole = graph.constant("whole", np.array([2, 3, -1, 0], np.int64))
    if version >= 12:
        graph.part("pow of whole", graph.node("Pow", ["X", whole]))
    graph.part("power of rows", graph.node("Pow", [size, "X"]))
    slope = graph.constant("slope", number([0.1, 0.2, 0.3, 0.4]))
    graph.part("p relu", graph.node("PRelu", ["X", slope]))
    graph.part("sum", graph.node("Sum", ["X", size, half]))
    graph.part("mean", graph.node("Mean", ["X", size, half]))
    graph.part("max", graph.node("Max", ["X", half, slope]))
    graph.part("min", graph.node("Min", ["X", half, slope]))
    large = graph.node("Exp", [graph.node("Mul", ["X", graph.constant("large", number(30.0))])])
    signed = graph.node("Mul", [large, graph.node("Sign", ["X"])])
    detects = [("inf", {}), ("-inf", {"detect_positive": 0}), ("+inf", {"detect_negative": 0})]
    for label, attributes in detects:
        graph.part(label, graph.floats(graph.node("IsInf", [signed], **attributes)))
    zero = graph.constant("zero", number(0.0))
    left = graph.node("Greater", ["X", zero])
    right = graph.node("Greater", ["X", half])
    graph.part("xor", graph.floats(graph.node("Xor", [left, right])))
    return graph


def build_more(float_type, version):
    """A graph of hyperbolic functions and operators on whole numbers and shapes."""
    graph = Graph(float_type, version)
    number = lambda name, x: graph.constant(name, np.array(x, float_type))
    whole = lambda name, x: graph.constant(name, np.array(x, np.int64))
    size = graph.node("Abs", ["X"])
    for operator in ("Sinh", "Cosh", "Asinh"):
        graph.part(operator.lower(), graph.node(operator, ["X"]))
    graph.part("acosh", graph.node("Acosh", [graph.node("Add", [size, number("one", 1.0)])]))
    graph.part("acosh outside", graph.node("Acosh", ["X"]))
    graph.part("atanh", graph.node("Atanh", [graph.node("Div", ["X", number("large", 90.0)])]))
    graph.part("atanh outside", graph.node("Atanh", ["X"]))
    if float_type == np.float32:
        scaled = graph.node("Mul", ["X", number("scale", 1e9)])
        for by in (0.1, -2.5, 3.0, 1e-20, 1e30):
            graph.part("fmod", graph.node("Mod", [scaled, number(f"by {by}", by)], fmod=1))
    digits = graph.node("Mul", ["X", number("digits", 1e12)])
    large = graph.node("Cast", [digits], to=TensorProto.INT64)
    for by in (7, -7, 1, -1, 1_000_003, -(2**49), 2**40):
        divisor = whole(f"divisor {by}", by)
        kinds = [("div", "Div", {}), ("mod", "Mod", {}), ("fmod whole", "Mod", {"fmod": 1})]
        for label, operator, more in kinds:
            graph.part(label, graph.floats(graph.node(operator, [large, divisor], **more)))
    small = graph.node("Cast", ["X"], to=TensorProto.INT64)
    for exponent in (0, 1, 2, 5):
        power = graph.node("Pow", [small, whole(f"exponent {exponent}", exponent)])
        graph.part("pow of wholes", graph.floats(power))
    shape = graph.node("Shape", ["X"])
    value = numpy_helper.from_array(np.array([2.5], float_type), "value")
    graph.part("filled", graph.node("ConstantOfShape", [shape], value=value))
    first = graph.node("Gather", [shape, whole("zero", 0)])
    rank = whole("place", [0])
    pair = graph.node("Concat", [graph.node("Unsqueeze", [first, rank]), whole("two", [2])], axis=0)
    graph.part("reshaped", graph.node("ReduceSum", [graph.node("Reshape", [
        "X", graph.node("Concat", [pair, whole("rest", [-1])], axis=0)]), whole("last", [2])], keepdims=0), 2)
    graph.part("expanded", graph.node("Expand", [number("row", [[1.5, -2.0]]), pair]), 2)
    one = graph.node("Slice", ["X", whole("from", [1]), whole("to", [2]), whole("along", [1])])
    graph.part("expanded rows", graph.node("Expand", [one, whole("wide", [1, 3])]), 3)
    graph.part("tiled", graph.node("Tile", ["X", whole("repeats", [1, 2])]), 2 * WIDTH)
    scale, shift = number("factors", [0.5, 2.0, -1.5, 1.0]), number("shifts", [0.25, -1.0, 0.0, 3.0])
    means, variances = number("means", [0.1, -0.5, 1.0, 2.0]), number("variances", [1.0, 4.0, 0.3, 2.5])
    moved = graph.node("Add", ["X", number("distance", [10.0, 12.0, -9.0, 11.0])])
    batch = [moved, scale, shift, means, variances]
    graph.part("batch", graph.node("BatchNormalization", batch, epsilon=1e-3))
    graph.part("layer", graph.node("LayerNormalization", [moved, scale, shift]))
    graph.part("layer", graph.node("LayerNormalization", [moved, scale], axis=1, epsilon=0.1))
    for p in (1, 2):
        graph.part("length", graph.node("LpNormalization", [moved], axis=-1, p=p))
    graph.part("dropout", graph.node("Dropout", ["X"]))
    signs = graph.node("Sign", ["X"])
    for operator in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            found = graph.node(operator, [signs], axis=1, select_last_index=last)
            graph.part("place", graph.floats(found), 1)
    return graph


def model(graph, outputs, tree):
    rank = [helper.make_tensor_value_info("X", graph.type, [None, WIDTH])]
    nodes = list(graph.nodes) + [helper.make_node("Concat", graph.parts, ["all"], axis=1)]
    if tree:
        count = len(graph.labels)
        double = graph.float_type == np.float64
        # A chain of tests: one for each column.
        nodes_ids = list(range(2 * count + 1))
        modes, features, yes, no = [], [], [], []
        for test in range(count):
            modes += ["BRANCH_LEQ", "LEAF"]
            features += [test, 0]
            yes += [2 * test + 1, 0]
            no += [2 * test + 2, 0]
        modes, features, yes, no = modes + ["LEAF"], features + [0], yes + [0], no + [0]
        leaves = [2 * test + 1 for test in range(count)] + [2 * count]
        attributes = dict(
            n_targets=1, nodes_treeids=[0] * (2 * count + 1), nodes_nodeids=nodes_ids, nodes_modes=modes,
            nodes_featureids=features, nodes_truenodeids=yes, nodes_falsenodeids=no,
            target_treeids=[0] * (count + 1), target_nodeids=leaves, target_ids=[0] * (count + 1),
        )
        weights = [float(leaf) for leaf in range(count + 1)]
        if double:
            bounds = np.full(2 * count + 1, 0.5)
            attributes["nodes_values_as_tensor"] = numpy_helper.from_array(bounds, "bounds")
            attributes["target_weights_as_tensor"] = numpy_helper.from_array(np.array(weights), "weights")
        else:
            attributes["nodes_values"] = [0.5] * (2 * count + 1)
            attributes["target_weights"] = weights
        trees = helper.make_node("TreeEnsembleRegressor", ["all"], ["out"], domain="ai.onnx.ml", **attributes)
        nodes.append(trees)
    types = {"out": TensorProto.FLOAT}
    shapes = [helper.make_tensor_value_info(name, types.get(name, graph.type), None) for name in outputs]
    body = helper.make_graph(nodes, "operators", rank, shapes, graph.constants)
    sets = [helper.make_opsetid("", graph.version), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(body, opset_imports=sets, ir_version=8)


def own_function(node):
    """The function of an operator of doubles that ONNX Runtime and the reference evaluator compute partly in
    single precision, or None."""
    erf = np.vectorize(math.erf, otypes=[float])
    near = lambda x: np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    inner = near if node.attribute else lambda x: erf(x / math.sqrt(2))
    return {"Erf": erf, "Gelu": lambda x: x * (1 + inner(x)) / 2}.get(node.op_type)


def results(graph, x):
    """The values of all columns, operator by operator."""
    onnxruntime.set_default_logger_severity(4)
    known = {"X": x}
    for constant in graph.constants:
        known[constant.name] = numpy_helper.to_array(constant)
    for node in graph.nodes:
        feed = {n: known[n] for n in node.input}
        kinds = {n: helper.np_dtype_to_tensor_dtype(known[n].dtype) for n in node.input}
        inputs = [helper.make_tensor_value_info(n, kinds[n], known[n].shape) for n in node.input]
        outputs = [helper.make_empty_tensor_value_info(n) for n in node.output]
        sets = [helper.make_opsetid("", graph.version), helper.make_opsetid("ai.onnx.ml", 3)]
        body = helper.make_graph([node], "one", inputs, outputs)
        one = helper.make_model(body, opset_imports=sets, ir_version=8)
        own = own_function(node) if graph.float_type == np.float64 else None
        try:
            session = None if own else onnxruntime.InferenceSession(one.SerializeToString())
            found = session.run(None, feed) if session else [own(*feed.values())]
        except Exception:  # noqa: BLE001
            print("by the reference evaluator:", node.op_type, graph.float_type.__name__)
            found = ReferenceEvaluator(one).run(None, feed)
        known[node.output[0]] = found[0]
    return np.concatenate([known[part] for part in graph.parts], axis=1)


def bits(values):
    integer = np.uint32 if values.dtype == np.float32 else np.uint64
    return [int(word) for word in values.reshape(-1).view(integer)]


def main():
    chosen = sys.argv[1:]
    for make, prefix, float_type, version in [
        (build, "", np.float32, 11), (build, "", np.float32, 21), (build, "", np.float64, 21),
        (build_more, "more-", np.float32, 21), (build_more, "more-", np.float64, 21),
    ]:
        name = f"{prefix}{'f32' if float_type == np.float32 else 'f64'}-{version}"
        if chosen and name not in chosen:
            continue
        graph = make(float_type, version)
        x = rows(float_type)
        values = results(graph, x).astype(float_type)
        assert values.shape == (len(x), len(graph.labels))
        (HERE / f"{name}.onnx").write_bytes(model(graph, ["out"], True).SerializeToString())
        content = {"labels": graph.labels, "rows": bits(x), "values": bits(values)}
        (HERE / f"{name}.json").write_text(json.dumps(content) + "\n")


main()
