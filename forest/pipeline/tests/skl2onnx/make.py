"""Converts pipelines by skl2onnx, and writes rows and the predictions of ONNX Runtime on one thread.

Run it in an environment with scikit-learn 1.9.1, skl2onnx 1.20.0, onnxruntime 1.32.0, pandas 3.1.1 and numpy
2.4.6:

    python make.py [case ..]

The JSON files have the form of those in `../fixtures`.

"""

import json
import pathlib
import sys
import warnings

import numpy as np
import onnxruntime
import pandas as pd
from onnx import helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeRegressor

HERE = pathlib.Path(__file__).parent
N_ROWS = 64
NUMBERS = ["age", "income", "hours", "distance"]
# Pipelines whose results are values of functions that libraries round differently.
BOUND = ["adaboost", "bagging", "bagged-trees", "quadratic"]
# Pipelines whose kernels and sums ONNX Runtime computes in single precision.
SINGLE = ["svc", "svc-three", "svc-linear", "svr", "svr-sigmoid", "one-class", "kernel-pca"]
# Number of rows to fit `SINGLE` on, so that the files are small.
SMALL = 60
TYPES = {"f4": "f32", "f8": "f64", "i8": "i64"}


def data():
    """A table of rounded numbers, some of them missing, and four targets."""
    source = np.random.default_rng(1)
    table = pd.DataFrame({
        "age": source.integers(18, 80, 500),
        "income": np.round(source.lognormal(10, 0.5, 500), -2),
        "hours": np.round(source.normal(38, 8, 500), 1),
        "distance": np.round(source.exponential(5, 500), 2),
    }).astype(np.float32)
    score = (table.age / 20 + table.hours / 10 + source.normal(0, 0.8, 500)).to_numpy()
    table = table.mask(source.random(table.shape) < 0.08)
    table["city"] = source.choice(["Rome", "Oslo", "Lima", "Bonn", "Cork"], 500)
    table["floor"] = source.integers(0, 6, 500)
    return table, {"number": score, "two": (score > 6.5).astype(int), "three": np.digitize(score, [5, 7]),
                   "words": np.array(["no", "yes"])[(score > 6.5).astype(int)]}


def forest(kind=RandomForestClassifier):
    return kind(4, max_depth=4, random_state=0)


def boosted():
    return GradientBoostingClassifier(n_estimators=4, random_state=0)


def columns(encoder, *steps):
    return ColumnTransformer([("num", make_pipeline(*steps), NUMBERS), ("cat", encoder, ["city", "floor"])])


def cases():
    """Cases: the name, the pipeline, whether its rows are the table, and the target."""
    impute = SimpleImputer()
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    bins = {"n_bins": 5, "quantile_method": "averaged_inverted_cdf"}
    yield "standard", make_pipeline(impute, StandardScaler(), forest()), False, "two"
    yield "minmax", make_pipeline(impute, MinMaxScaler(clip=True), boosted()), False, "three"
    yield "robust", make_pipeline(impute, RobustScaler(), forest(RandomForestRegressor)), False, "number"
    yield "maxabs", make_pipeline(impute, MaxAbsScaler(), forest(ExtraTreesClassifier)), False, "three"
    yield "binarizer", make_pipeline(impute, Binarizer(threshold=38.1), forest()), False, "two"
    yield "bins", make_pipeline(impute, KBinsDiscretizer(encode="ordinal", **bins), forest()), False, "two"
    dense = KBinsDiscretizer(encode="onehot-dense", **bins)
    yield "bins-onehot", make_pipeline(impute, dense, forest()), False, "two"
    select = SelectKBest(f_classif, k=2)
    yield "select", make_pipeline(impute, StandardScaler(), select, forest()), False, "words"
    union = make_union(StandardScaler(), MinMaxScaler())
    yield "union", make_pipeline(impute, union, forest()), False, "two"
    yield "onehot", make_pipeline(columns(one_hot, impute), forest()), True, "two"
    scaled = columns(one_hot, impute, StandardScaler())
    yield "onehot-boosted", make_pipeline(scaled, boosted()), True, "three"
    yield "ordinal", make_pipeline(columns(OrdinalEncoder(), impute), forest()), True, "two"
    yield "normalizer", make_pipeline(impute, Normalizer(), forest()), False, "two"
    yield "power", make_pipeline(impute, PowerTransformer(), forest()), False, "two"
    yield "terms", make_pipeline(impute, PolynomialFeatures(2), forest()), False, "two"
    scaled = [impute, StandardScaler()]
    yield "svc", make_pipeline(*scaled, SVC(gamma=0.1)), False, "words"
    poly = SVC(kernel="poly", degree=3, gamma=0.3, coef0=0.5, decision_function_shape="ovo")
    yield "svc-three", make_pipeline(*scaled, poly), False, "three"
    yield "svc-linear", make_pipeline(*scaled, SVC(kernel="linear")), False, "three"
    yield "svr", make_pipeline(*scaled, SVR()), False, "number"
    yield "svr-sigmoid", make_pipeline(*scaled, NuSVR(kernel="sigmoid", gamma=0.1)), False, "number"
    yield "one-class", make_pipeline(*scaled, OneClassSVM(gamma=0.1)), False, "number"
    bagged = BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0)
    yield "bagging", make_pipeline(*scaled, bagged), False, "three"
    bagged = BaggingRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=3, random_state=0)
    yield "bagged-trees", make_pipeline(impute, bagged), False, "number"
    kernel = KernelPCA(n_components=2, kernel="rbf", gamma=0.1)
    quantiles = QuantileTransformer(n_quantiles=4, random_state=0)
    yield "quantiles", make_pipeline(impute, quantiles, forest()), False, "two"
    yield "kernel-pca", make_pipeline(*scaled, kernel, LinearRegression()), False, "number"
    yield "quadratic", make_pipeline(impute, QuadraticDiscriminantAnalysis()), False, "three"
    yield "adaboost", make_pipeline(impute, AdaBoostClassifier(n_estimators=2)), False, "two"
    below = [("some", forest()), ("more", ExtraTreesClassifier(n_estimators=3, max_depth=3, random_state=0))]
    over = StackingClassifier(below, forest(), cv=2, passthrough=True)
    yield "stacking-trees", make_pipeline(impute, over), False, "three"


def entry(name, array, **more):
    if isinstance(array, list):
        array = np.array([list(row.values()) for row in array], np.float32)
    array = np.ascontiguousarray(array)
    width = array.shape[1] if array.ndim > 1 else 0
    if array.dtype.kind in "OU":
        kind, listed = "text", [str(one) for one in array.ravel()]
    else:
        kind = TYPES[array.dtype.str[1:]]
        bits = {"f32": np.uint32, "f64": np.uint64}.get(kind, array.dtype)
        listed = [int(one) for one in array.view(bits).ravel()]
    return {"name": name, "type": kind, "width": width, **more, "values": listed}


def make(name, pipeline, is_table, target):
    table, targets = data()
    if is_table:
        kinds = {np.float32: FloatTensorType, np.int64: Int64TensorType}
        types = [(one, kinds.get(table[one].dtype.type, StringTensorType)([None, 1])) for one in table]
        sample = table
        feeds = {one: table[[one]].to_numpy()[:N_ROWS] for one in table}
        feeds["city"] = feeds["city"].astype(object)
    else:
        sample = table[NUMBERS].to_numpy()
        types = [("X", FloatTensorType([None, sample.shape[1]]))]
        feeds = {"X": sample[:N_ROWS]}
    # Results of support vectors lie on boundaries of decisions, so the rows to predict are not fitted here.
    few = SMALL if name in SINGLE else len(sample)
    pipeline.fit(sample[-few:], targets[target][-few:])
    # One file has the operator ZipMap, which makes a dict of each row.
    options = {"zipmap": name == "svc-linear"} if is_classifier(pipeline) else None
    made = to_onnx(pipeline, initial_types=types, options=options)
    write(name, made, feeds, "bound" if name in BOUND else "single" if name in SINGLE else "equal")


def write(name, made, feeds, promise):
    """Writes a model, with rows and the predictions of ONNX Runtime."""
    threads = onnxruntime.SessionOptions()
    threads.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(made.SerializeToString(), threads)
    results = zip(session.get_outputs(), session.run(None, feeds), strict=True)
    content = {
        "rows": N_ROWS,
        "inputs": [entry(one, array) for one, array in feeds.items()],
        "outputs": [
            entry(one.name.removeprefix("output_"), array, promise=promise) for one, array in results
        ],
    }
    (HERE / f"{name}.onnx").write_bytes(made.SerializeToString())
    (HERE / f"{name}.json").write_text(json.dumps(content) + "\n")


def trees_of(fitted, sample, names):
    """The tree ensemble of a fitted classifier as a node, with these names of its input and its outputs."""
    made = to_onnx(fitted, sample[:1], options={"zipmap": False})
    node = next(one for one in made.graph.node if one.op_type == "TreeEnsembleClassifier")
    del node.input[:], node.output[:]
    node.name = names[-1]
    node.input.append(names[0])
    node.output.extend(names[1:])
    return node


def class_below_trees():
    """Writes a graph in which a forest reads the features and the class of another forest."""
    table, targets = data()
    sample = np.nan_to_num(table[NUMBERS].to_numpy()).astype(np.float32)
    first, last = (RandomForestClassifier(n_estimators=3, max_depth=3, random_state=one) for one in range(2))
    first.fit(sample, targets["three"])
    both = np.column_stack([sample, first.predict(sample)]).astype(np.float32)
    last.fit(both, targets["words"])
    nodes = [
        trees_of(first, sample, ["X", "class", "chances"]),
        helper.make_node("Cast", ["class"], ["number"], to=1),
        helper.make_node("Unsqueeze", ["number", "axis"], ["column"]),
        helper.make_node("Concat", ["X", "column"], ["all"], axis=1),
        trees_of(last, both, ["all", "label", "probabilities"]),
    ]
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("X", 1, [None, sample.shape[1]])],
        [helper.make_tensor_value_info("label", 8, None),
         helper.make_tensor_value_info("probabilities", 1, None)],
        [helper.make_tensor("axis", 7, [1], [1])],
    )
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    made = helper.make_model(graph, opset_imports=sets, ir_version=9)
    write("class-below-trees", made, {"X": sample[:N_ROWS]}, "equal")


def class_of_part():
    """Writes a graph that schedc refuses: it adds the probabilities of two forests, and appends the class of
    one of them."""
    table, targets = data()
    sample = np.nan_to_num(table[NUMBERS].to_numpy()).astype(np.float32)
    makers = [helper.make_node("Cast", ["label0"], ["class"], to=1)]
    for number in range(2):
        fitted = RandomForestClassifier(n_estimators=1, max_depth=2, random_state=number)
        fitted.fit(sample, targets["three"])
        makers.insert(number, trees_of(fitted, sample, ["X", f"label{number}", f"chances{number}"]))
    makers.append(helper.make_node("Add", ["chances0", "chances1"], ["chances"]))
    makers.append(helper.make_node("Unsqueeze", ["class", "axis"], ["column"]))
    makers.append(helper.make_node("Concat", ["chances", "column"], ["all"], axis=1))
    graph = helper.make_graph(
        makers, "graph", [helper.make_tensor_value_info("X", 1, [None, sample.shape[1]])],
        [helper.make_tensor_value_info("all", 1, None)],
        [helper.make_tensor("axis", 7, [1], [1])],
    )
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    made = helper.make_model(graph, opset_imports=sets, ir_version=9)
    (HERE / "no-class-of-part.onnx").write_bytes(made.SerializeToString())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:]
    if not chosen or "no-class-of-part" in chosen:
        class_of_part()
    if not chosen or "class-below-trees" in chosen:
        class_below_trees()
    for case in cases():
        if not chosen or case[0] in chosen:
            make(*case)
            print(case[0])
