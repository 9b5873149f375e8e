"""Models over the leaves of trees as one-hot encoded columns."""

import subprocess
import sys

import numpy
import pytest

onnx = pytest.importorskip("onnx")

import schedc  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from pipelines import GOALS, NUMBERS, TABLE, columns, imputed, make, one_hot, results  # noqa: E402
from releases import needs  # noqa: E402
from sklearn import (  # noqa: E402
    ensemble,
    impute,
    linear_model,
    naive_bayes,
    neural_network,
    pipeline,
    preprocessing,
)

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = TABLE[NUMBERS].fillna(30.0).to_numpy()
NET = {"hidden_layer_sizes": (6, 4), "max_iter": 30, "random_state": 0}


def leaves(**options):
    return ensemble.RandomTreesEmbedding(
        **{"n_estimators": 12, "max_depth": 4, "random_state": 0, **options})


def check(ours, theirs, given):
    """Labels are equal, and scores within rounding errors."""
    numpy.testing.assert_array_equal(ours.predict(given), theirs.predict(given))
    for method in ("predict_proba", "decision_function"):
        if hasattr(theirs, method):
            found, expected = getattr(ours, method)(given), getattr(theirs, method)(given)
            numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("goal", ["words", "three"])
@pytest.mark.parametrize("model", [
    linear_model.LogisticRegression(), linear_model.SGDClassifier(loss="log_loss", random_state=0),
    naive_bayes.MultinomialNB(), naive_bayes.BernoulliNB(), naive_bayes.ComplementNB(),
    neural_network.MLPClassifier(**NET),
], ids=lambda model: type(model).__name__)
def test_models(model, goal):
    theirs = make(leaves(), model).fit(ROWS, GOALS[goal])
    ours = schedc.compile(theirs)
    for rows in (ROWS, ROWS.astype("float32"), ROWS[:1]):
        check(ours, theirs, rows)


def inspected(path):
    """The text of `schedc inspect`."""
    return subprocess.run([sys.executable, "-m", "schedc", "inspect", path], capture_output=True, text=True,
                          check=True).stdout


@pytest.mark.parametrize("goal", ["two", "three"])
def test_logistic_regression_is_a_forest(goal, tmp_path):
    """The leaves hold the weights, so that no column is computed."""
    theirs = make(leaves(), linear_model.LogisticRegression()).fit(ROWS, GOALS[goal])
    path = str(tmp_path / "p.onnx")
    schedc.export(theirs, path)
    text = inspected(path)
    width = theirs[0].transform(ROWS).shape[1]
    assert f"{width} columns: {width} leaf" in text and "trees       12 in" in text, text


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("model", [linear_model.LogisticRegression(), neural_network.MLPClassifier(**NET)],
                         ids=lambda model: type(model).__name__)
def test_beside_other_columns(model, first):
    parts = [leaves(), preprocessing.StandardScaler()]
    both = pipeline.make_union(*(parts if first else parts[::-1]))
    theirs = make(both, model).fit(ROWS, GOALS["three"])
    check(schedc.compile(theirs), theirs, ROWS)


def test_beside_categories():
    """The table lacks a category during training, and has missing values."""
    known = TABLE[TABLE["city"] != "Cork"]
    goal = GOALS["three"][TABLE["city"] != "Cork"]
    whole = make(columns(one_hot(), impute.SimpleImputer(), leaves()), linear_model.LogisticRegression())
    theirs = whole.fit(known, goal)
    check(schedc.compile(theirs), theirs, TABLE)


@pytest.mark.parametrize("sparse", [True, False])
def test_transform(sparse):
    theirs = imputed(leaves(sparse_output=sparse)).fit(TABLE[NUMBERS])
    expected = theirs.transform(TABLE[NUMBERS])
    found = schedc.compile(theirs).transform(TABLE[NUMBERS])
    numpy.testing.assert_array_equal(found, expected.toarray() if sparse else expected)


@needs("1.6")
def test_missing_values():
    rows = TABLE[NUMBERS].to_numpy()
    theirs = make(leaves(), linear_model.LogisticRegression()).fit(rows, GOALS["three"])
    check(schedc.compile(theirs), theirs, rows)


def test_rows_in_single_precision():
    rows = (ROWS / 3).astype("float32")
    theirs = make(preprocessing.StandardScaler(), leaves(), linear_model.LogisticRegression())
    theirs.fit(rows, GOALS["two"])
    check(schedc.compile(theirs, rows="f32"), theirs, rows)


def test_encoders_with_other_options_are_refused():
    theirs = leaves().fit(ROWS)
    theirs.one_hot_encoder_ = preprocessing.OneHotEncoder(drop="first").fit(theirs.apply(ROWS))
    with pytest.raises(TypeError, match="RandomTreesEmbedding .*has an encoder with other options"):
        schedc.compile(theirs)


def by_hand(boosted, weights, intercept, added="intercept"):
    """A file that encodes the leaves of boosted trees by OneHotEncoder, in single precision, and multiplies
    the columns by weights: each tree is a node with its leaf indices, as other exporters write them. The
    file adds the value `added` to the products."""
    nodes, encoded, constants = [], [], []
    for number, tree in enumerate(boosted.estimators_[:, 0]):
        fitted = tree.tree_
        inner = fitted.children_left >= 0
        ids = list(range(fitted.node_count))
        ends = [at for at in ids if not inner[at]]
        nodes.append(helper.make_node(
            "TreeEnsembleRegressor", ["X"], [f"leaf{number}"], domain="ai.onnx.ml", n_targets=1,
            nodes_treeids=[0] * len(ids), nodes_nodeids=ids,
            nodes_featureids=numpy.maximum(fitted.feature, 0),
            nodes_modes=["BRANCH_LEQ" if one else "LEAF" for one in inner],
            nodes_values=numpy.where(inner, fitted.threshold, 0).astype("float32"),
            nodes_truenodeids=numpy.maximum(fitted.children_left, 0),
            nodes_falsenodeids=numpy.maximum(fitted.children_right, 0),
            target_treeids=[0] * len(ends), target_nodeids=ends, target_ids=[0] * len(ends),
            target_weights=[float(at) for at in ends]))
        nodes.append(helper.make_node("Cast", [f"leaf{number}"], [f"index{number}"],
                                      to=onnx.TensorProto.INT64))
        nodes.append(helper.make_node("OneHotEncoder", [f"index{number}"], [f"hot{number}"],
                                      domain="ai.onnx.ml", cats_int64s=ends, zeros=1))
        nodes.append(helper.make_node("Reshape", [f"hot{number}", f"width{number}"], [f"flat{number}"]))
        constants.append(numpy_helper.from_array(numpy.array([-1, len(ends)]), f"width{number}"))
        encoded.append(f"flat{number}")
    constants += [numpy_helper.from_array(weights.astype("float32"), "weights"),
                  numpy_helper.from_array(intercept.astype("float32"), "intercept")]
    nodes += [helper.make_node("Concat", encoded, ["columns"], axis=1),
              helper.make_node("MatMul", ["columns", "weights"], ["product"]),
              helper.make_node("Add", ["product", added], ["margins"])]
    ends = [helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, [None, len(NUMBERS)]),
            helper.make_tensor_value_info("margins", onnx.TensorProto.FLOAT, [None, weights.shape[1]])]
    made = helper.make_graph(nodes, "leaves", ends[:1], ends[1:], constants)
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(made, opset_imports=sets, ir_version=8)


def fitted(sums):
    """Boosted trees, and random weights of their leaves for some sums."""
    boosted = ensemble.GradientBoostingClassifier(n_estimators=9, random_state=0).fit(ROWS, GOALS["two"])
    source = numpy.random.default_rng(0)
    width = sum(tree.tree_.n_leaves for tree in boosted.estimators_[:, 0])
    return boosted, source.normal(size=(width, sums)), source.normal(size=sums)


def check_file(model, path):
    """Compares the results of a file with those of ONNX Runtime."""
    onnx.save(model, path)
    rows = numpy.round(ROWS, 1).astype("float32")
    expected = results(path, rows)["margins"]
    found = numpy.asarray(schedc.compile(path).predict(rows)).reshape(expected.shape)
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("sums", [1, 3])
def test_files_of_boosting_before_a_product(tmp_path, sums):
    """Click prediction: a linear model over the leaves of boosted trees."""
    path = str(tmp_path / "p.onnx")
    boosted, weights, intercept = fitted(sums)
    check_file(by_hand(boosted, weights, intercept), path)
    assert f"{len(weights)} columns: {len(weights)} leaf" in inspected(path)


def test_leaf_indices_that_a_sum_reads(tmp_path):
    """A leaf index that is also added is a number, and its trees are no categories alone."""
    boosted, weights, intercept = fitted(1)
    check_file(by_hand(boosted, weights, intercept, added="leaf0"), str(tmp_path / "p.onnx"))
