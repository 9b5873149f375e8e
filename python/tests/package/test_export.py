"""Exported pipelines predict the values of scikit-learn, in ONNX Runtime and in ONNX's evaluator."""

import inspect
import pickle
import sys
from dataclasses import replace

import numpy
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pandas = pytest.importorskip("pandas")

import schedc  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from pipelines import (  # noqa: E402
    GOALS,
    NUMBERS,
    TABLE,
    WORDS,
    about,
    boosted,
    cases,
    columns,
    feeds,
    fitted,
    forest,
    imputed,
    kinds,
    make,
    one_hot,
    results,
    theirs,
)
from schedc.exporter import Mismatch, Unsupported, exported, refusal_of, refusals, stages  # noqa: E402
from schedc.exporter.check import compare, differs  # noqa: E402
from schedc.exporter.rows import rows_for  # noqa: E402
from schedc.exporter.stages import TABLES  # noqa: E402
from releases import needs  # noqa: E402
from shares import in_turn  # noqa: E402
from sklearn import (  # noqa: E402
    compose,
    decomposition,
    ensemble,
    impute,
    linear_model,
    naive_bayes,
    neighbors,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import clone  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.metrics.pairwise import linear_kernel  # noqa: E402
from sklearn.utils import all_estimators  # noqa: E402

CASES = list(cases())


def described(case):
    model, form, goal, _ = case
    return f"{form}-{goal}-{''.join(str(model).split())}"[:150]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("at", range(len(CASES)), ids=map(described, CASES))
def test_same_values(at, tmp_path):
    """Files predict the values of the objects for rows of their training, and for those that the check makes.
    Each case has one type of rows, and each night both."""
    case, path = CASES[at], str(tmp_path / "p.onnx")
    for kind in in_turn(at, kinds(case)):
        model, rows = fitted(case, kind)
        made = exported(model, rows=rows)
        for some in (rows, rows_for(model, made)):
            schedc.export(model, path, check=some)
            promises = about(path)["promise"]
            for name, found in results(path, some).items():
                if name == "margins" and not hasattr(model, "decision_function"):
                    continue
                value = theirs(model, name, some)
                found = found.reshape(value.shape)
                if promises[name] == "equal":
                    numpy.testing.assert_array_equal(found, value)
                elif name == "label":
                    assert numpy.mean(found != value) < 0.02
                else:
                    scale = max(1.0, numpy.abs(value).max())
                    exact = 1e-7 if name == "distances" else 1e-10
                    tolerance = exact if kind == "float64" else 1e-5
                    apart = ~numpy.isclose(found, value, rtol=0, atol=tolerance * scale)
                    assert numpy.mean(apart) <= (0.02 if promises[name] == "outside" else 0)
        weakest = max(promises.values(), key=["equal", "bound", "outside"].index)
        strongest = min(promises.values(), key=["equal", "bound", "outside"].index)
        assert case[3] in (weakest, strongest), promises


@pytest.mark.parametrize("at", range(0, len(CASES), 12))
@pytest.mark.filterwarnings("ignore")
def test_reference_evaluator(at, tmp_path):
    """ONNX's own evaluator predicts the same values."""
    model, rows = fitted(CASES[at])
    rows = rows[:60]
    path = str(tmp_path / "p.onnx")
    schedc.export(model, path, check=rows)
    evaluator = ReferenceEvaluator(path)
    for name, found in zip(evaluator.output_names, evaluator.run(None, feeds(onnx.load(path), rows))):
        value = theirs(model, name, rows)
        if about(path)["promise"][name] == "equal":
            numpy.testing.assert_array_equal(found.reshape(value.shape), value)


def faults():
    """Changes of a file that a check must find: one rounding, one direction, one test."""
    def split(node):
        for one in node.attribute:
            if one.name == "nodes_splits":
                values = onnx.numpy_helper.to_array(one.t)
                one.t.CopyFrom(onnx.numpy_helper.from_array(numpy.nextafter(values, -numpy.inf)))
    def side(node):
        for one in node.attribute:
            if one.name == "nodes_missing_value_tracks_true":
                one.ints[:] = [1 - value for value in one.ints]
    def test(node):
        for one in node.attribute:
            if one.name == "nodes_modes":
                one.t.CopyFrom(onnx.numpy_helper.from_array(numpy.full(one.t.dims[0], 1, "uint8")))
    return {"split": split, "side": side, "test": test}


@pytest.mark.parametrize("fault", faults())
def test_faults_are_found(fault):
    model = make(preprocessing.StandardScaler(), forest()).fit(TABLE[NUMBERS].to_numpy(), GOALS["two"])
    made = exported(model)
    rows = rows_for(model, made)
    compare(model, made, rows)
    proto = onnx.load_from_string(made.content)
    for node in proto.graph.node:
        if node.op_type == "TreeEnsemble":
            faults()[fault](node)
    wrong = replace(made, content=proto.SerializeToString())
    with pytest.raises(Mismatch, match="differ in .* results: label of row|probabilities of row"):
        compare(model, wrong, rows)


#: Wrong constants behind or in steps that are rounded differently: the step before the model, and the change.
ROUNDED_FAULTS = {
    "weights": (preprocessing.StandardScaler(), linear_model.LinearRegression(),
                lambda one: one * (1 + 1e-11)),
    "normalizer": (preprocessing.Normalizer(),
                   ensemble.RandomForestClassifier(20, max_depth=6, random_state=0),
                   lambda one: numpy.concatenate([one[:1] * 1.02, one[1:]])),
    "projection": (decomposition.PCA(3), ensemble.RandomForestClassifier(20, max_depth=6, random_state=0),
                   lambda one: numpy.concatenate([one[:3] + 3.0, one[3:]])),
}


@pytest.mark.parametrize("fault", ROUNDED_FAULTS)
def test_faults_beyond_rounding_are_found(fault):
    before, model, change = ROUNDED_FAULTS[fault]
    source = numpy.random.default_rng(0)
    rows = numpy.round(source.normal(40, 12, (240, 6)))
    pipe = make(before, model).fit(rows, numpy.digitize(rows[:, 0] + source.normal(0, 8, 240), [34, 46]))
    made = exported(pipe)
    checked = rows_for(pipe, made)
    assert compare(pipe, made, checked) == 0
    proto = onnx.load_from_string(made.content)
    trees = [one.t for node in proto.graph.node if node.op_type == "TreeEnsemble"
             for one in node.attribute if one.name == "nodes_splits"]
    weights = [one for one in proto.graph.initializer if len(one.dims) == 2]
    tensor = (trees or weights)[-1]
    tensor.CopyFrom(onnx.numpy_helper.from_array(change(onnx.numpy_helper.to_array(tensor)), tensor.name))
    with pytest.raises(Mismatch):
        compare(pipe, replace(made, content=proto.SerializeToString()), checked)


def test_rows_at_thresholds_are_counted(tmp_path, monkeypatch):
    """A difference of one rounding moves rows on the edge of a bin, which the check counts."""
    rows = numpy.random.default_rng(0).normal(size=(60, 3))
    bins = preprocessing.KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    pipe = make(decomposition.PCA(3), bins, linear_model.LinearRegression()).fit(rows, rows[:, 0])
    # Three rows lie on edges.
    values = pipe[0].transform(rows)
    for at in range(3):
        pipe[1].bin_edges_[at][1:-1] = numpy.sort(values[[10, 20, 30], at])
    monkeypatch.setattr(decomposition.PCA, "transform", lambda self, X: numpy.nextafter(
        (X - self.mean_) @ self.components_.T, -9.0))
    with pytest.warns(UserWarning, match="rows of the check have other results.*rounding error"):
        schedc.export(pipe, tmp_path / "p.onnx", check=rows)


def test_cast_decides():
    """Without the rounding to f32 before its trees, a file is wrong on gridded features."""
    deep = ensemble.RandomForestClassifier(30, random_state=0)
    model = imputed(preprocessing.StandardScaler(), deep).fit(TABLE[NUMBERS].to_numpy(), GOALS["two"])
    made = exported(model)
    proto = onnx.load_from_string(made.content)
    for node in proto.graph.node:
        if node.op_type == "Cast" and node.attribute[0].i == onnx.TensorProto.FLOAT:
            node.attribute[0].i = onnx.TensorProto.DOUBLE
    wrong = replace(made, content=proto.SerializeToString())
    with pytest.raises(Mismatch):
        compare(model, wrong, TABLE[NUMBERS].to_numpy())


REFUSED = [
    (make(CountVectorizer(), linear_model.LogisticRegression()), "CountVectorizer.*step countvectorizer.*run "
     "that part outside, and give schedc the numbers"),
    (imputed(neighbors.KNeighborsClassifier()), "KNeighborsClassifier.*needs the training rows"),
    (imputed(preprocessing.FunctionTransformer(numpy.arctan), forest()),
     "calls arctan, which schedc does not"),
    (imputed(ensemble.AdaBoostRegressor(n_estimators=2)), "AdaBoostRegressor.*weighted median.*use "
     "GradientBoostingRegressor"),
    (imputed(boosted(init=tree.DecisionTreeClassifier())), "has the init DecisionTreeClassifier"),
    (imputed(ensemble.VotingClassifier([("a", neighbors.KNeighborsClassifier())])),
     "KNeighborsClassifier.*step votingclassifier.a"),
    (imputed(svm.SVC(kernel=linear_kernel)), "a Python function as kernel; rbf, linear, poly and sigmoid"),
]


@pytest.mark.parametrize("boosting, remedy", [
    (ensemble.GradientBoostingClassifier, 'fit it with init=None or init="zero"'),
    (ensemble.GradientBoostingRegressor, "on y minus the predictions of the DecisionTreeRegressor")])
def test_boosting_from_another_model(boosting, remedy):
    """A model alone is refused, too, before Treelite reads it."""
    kind = "Classifier" if boosting is ensemble.GradientBoostingClassifier else "Regressor"
    model = boosting(n_estimators=2, init=getattr(tree, f"DecisionTree{kind}")(max_depth=2))
    rows = numpy.random.default_rng(0).normal(size=(40, 2))
    model.fit(rows, (rows[:, 0] > 0) + 0)
    with pytest.raises(schedc.Refused, match=f"has the init DecisionTree{kind}.*{remedy}"):
        schedc.compile(model)


def test_reasons_of_refusals():
    """No estimator with a reason is exported, and each reason says what to do."""
    exports = {name.partition(".")[2] for name in (*stages._TRANSFORMERS, *stages._MODELS)}
    assert exports.isdisjoint(refusals._REASONS)
    names = [name for _, family in refusals._FAMILIES for name in family.split()]
    assert len(names) == len(set(names))
    found = {name for name, kind in all_estimators() if not hasattr(kind, "get_support")}
    assert found - exports - set(stages._HOLDERS) <= set(names)


@pytest.mark.parametrize("model, message", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_refused(model, message, tmp_path):
    texts = isinstance(model.steps[0][1], CountVectorizer)
    rows = ["red wine", "new shoes"] * 20 if texts else TABLE[NUMBERS].to_numpy()[:40]
    goal = GOALS["two"][:40]
    model.fit(rows, goal)
    with pytest.raises(schedc.Refused, match=message) as caught:
        schedc.export(model, tmp_path / "p.onnx", check=TABLE[NUMBERS].to_numpy())
    assert not (tmp_path / "p.onnx").exists()
    # Callers may expect either class of errors.
    assert isinstance(caught.value, TypeError)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), Unsupported)
    assert [finding.code for finding in caught.value.findings] == ["M0040"]


def test_no_columns():
    """A transformer that makes no columns is refused by its name, alone and at the end of a pipeline."""
    for step in (impute.MissingIndicator(), compose.ColumnTransformer([("n", "drop", [0])])):
        for model in (step, make(preprocessing.StandardScaler(), step)):
            model.fit(TABLE[["floor"]].to_numpy())
            with pytest.raises(schedc.Refused, match=f"the {type(model).__name__}.* makes no columns"):
                exported(model)
    # Interactions of one column alone are none.
    terms = preprocessing.PolynomialFeatures((2, 3), interaction_only=True, include_bias=False)
    rows, goal = TABLE[["floor", "income"]].fillna(0.0), GOALS["two"]
    with pytest.raises(schedc.Refused, match="the PolynomialFeatures.* makes no columns"):
        exported(terms.fit(rows[["floor"]].to_numpy()))
    parts = [("none", terms, ["floor"]), ("one", "passthrough", ["income"])]
    model = make(compose.ColumnTransformer(parts), forest()).fit(rows, goal)
    numpy.testing.assert_array_equal(schedc.compile(model).predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("encoder", [one_hot(), preprocessing.OrdinalEncoder()])
def test_categories_that_doubles_round(encoder):
    """The message names the column and a remedy, which compiles."""
    rows = TABLE[["floor"]].assign(floor=2**53 + numpy.arange(len(TABLE)) % 3)
    model = make(encoder, forest()).fit(rows, GOALS["two"])
    with pytest.raises(schedc.Refused, match=r"2\^53 .* of column 'floor'.*frame\['floor'\].astype\(str\)"):
        schedc.compile(model)
    texts = rows.astype(str)
    model.fit(texts, GOALS["two"])
    numpy.testing.assert_array_equal(schedc.compile(model).predict(texts), model.predict(texts))


@needs("1.6")
def test_texts_that_are_numbers():
    """The message for a wrong type names the model, since the encoder is part of it."""
    words = TABLE[["city"]].astype("category")
    model = make(ensemble.HistGradientBoostingClassifier(max_iter=2)).fit(words, GOALS["two"])
    message = "the HistGradientBoostingClassifier .* of column 'city' that are texts.* give some by check=X"
    with pytest.raises(schedc.Refused, match=message):
        exported(model, types={"city": "float64"})


def test_wrong_ending(tmp_path):
    model = forest().fit(TABLE[["floor"]], GOALS["two"])
    with pytest.raises(ValueError, match=r"name it .*p.onnx; schedc.compile.model..save.*p.so"):
        schedc.export(model, tmp_path / "p.so")
    with pytest.raises(ValueError, match="name it .*p.onnx$"):
        schedc.export(model, str(tmp_path / "p.JSON"))
    assert not list(tmp_path.iterdir())


def test_unread_files(tmp_path, monkeypatch):
    """`export` writes a file that schedc cannot read, and warns that schedc refuses it."""
    model = make(preprocessing.StandardScaler(), linear_model.Ridge())
    model.fit(numpy.zeros((20, 2)), numpy.arange(20.0))
    writer = sys.modules["schedc.exporter.export"]
    monkeypatch.setattr(writer, "refusal_of", lambda content: refusal_of(content[:40]))
    for check, state in ((None, "predicts what the object does"), (False, "is written without a check")):
        with pytest.warns(UserWarning, match=f"{state}, but schedc does not read it: error: M00"):
            schedc.export(model, tmp_path / "p.onnx", check=check)
    assert (tmp_path / "p.onnx").exists()


class Scaler(preprocessing.StandardScaler):
    def transform(self, X, copy=None):
        return super().transform(X, copy) + 1


Scaler.__name__ = "StandardScaler"


def test_subclass(tmp_path):
    """A derived class with the name of its base is not treated as the base."""
    model = imputed(Scaler(), forest()).fit(TABLE[NUMBERS].to_numpy(), GOALS["two"])
    with pytest.raises(Unsupported, match="not scikit-learn's StandardScaler"):
        schedc.export(model, tmp_path / "p.onnx")


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_whole_numbers(kind, tmp_path):
    rows = numpy.random.default_rng(1).integers(0, 200, (300, 4)).astype(kind)
    path = str(tmp_path / "p.onnx")
    for step in (preprocessing.StandardScaler(), preprocessing.KBinsDiscretizer(4), one_hot(min_frequency=2),
                 preprocessing.Binarizer(threshold=99.5), impute.SimpleImputer(strategy="most_frequent")):
        model = make(step, forest()).fit(rows, rows[:, 0] > rows[:, 1])
        schedc.export(model, path)
        schedc.export(model, path, check=rows)
        numpy.testing.assert_array_equal(results(path, rows)["label"], model.predict(rows))


def test_types(tmp_path):
    """Without rows, columns have the types that `types` gives."""
    model = imputed(forest()).fit(TABLE[NUMBERS].to_numpy("float32"), GOALS["two"])
    schedc.export(model, tmp_path / "p.onnx", types="float32")
    assert onnx.load(tmp_path / "p.onnx").graph.input[0].type.tensor_type.elem_type == 1
    model = make(columns(one_hot(), impute.SimpleImputer()), forest()).fit(TABLE, GOALS["two"])
    schedc.export(model, tmp_path / "p.onnx", types={"floor": "int64"})
    kinds = [one.type.tensor_type.elem_type for one in onnx.load(tmp_path / "p.onnx").graph.input]
    assert kinds == [11, 11, 11, 11, 8, 7]
    with pytest.raises(ValueError, match="column 'floor' has the type float16"):
        schedc.export(model, tmp_path / "p.onnx", types={"floor": "float16"})


def test_names_of_columns(tmp_path):
    """Columns may be named like constants and nodes of the file."""
    names = dict(zip(TABLE.columns, ("c0", "c1", "Equal", "c2", "columntransformer/Cast", "c0_1")))
    rows = TABLE.rename(columns=names)
    words, numbers = ([names[name] for name in group] for group in (WORDS, NUMBERS))
    scaled = make(impute.SimpleImputer(), preprocessing.StandardScaler())
    parts = [("w", one_hot(), words), ("n", scaled, numbers)]
    model = make(compose.ColumnTransformer(parts), forest()).fit(rows, GOALS["two"])
    schedc.export(model, tmp_path / "p.onnx", check=rows)
    found = schedc.compile(model, effort="fast").predict_proba(rows)
    numpy.testing.assert_array_equal(found, model.predict_proba(rows))


@pytest.mark.parametrize("kind", ["bool", "float64"])
@pytest.mark.parametrize("first", [one_hot(handle_unknown="error"), one_hot(),
                                   preprocessing.OrdinalEncoder()], ids=str)
def test_flags_beside_categories(first, kind, tmp_path):
    """An encoder that raises an error for unseen categories leaves the rows of other columns alone."""
    rows = TABLE[WORDS].astype({"floor": float}).assign(flag=(TABLE["age"] > 40).astype(kind))
    kept = compose.ColumnTransformer([("c", first, WORDS), ("f", "passthrough", ["flag"])])
    model = make(kept, tree.DecisionTreeClassifier(max_depth=3, random_state=0)).fit(rows, rows["flag"])
    path = str(tmp_path / "p.onnx")
    schedc.export(model, path, types={"flag": kind})
    numpy.testing.assert_array_equal(results(path, rows)["label"], model.predict(rows))
    made = rows_for(model, exported(model))
    assert set(made["flag"].dropna() > 0.5) == {False, True}
    if first.handle_unknown == "error":
        assert set(made["floor"].dropna()) <= set(rows["floor"])


@pytest.mark.parametrize("scale", [preprocessing.StandardScaler(with_mean=False),
                                   preprocessing.MaxAbsScaler(), preprocessing.Normalizer("max")], ids=str)
def test_zeros_of_sparse_results(scale, tmp_path):
    """A sparse matrix has no negative zeros, and neither has the file's result."""
    rows = TABLE[WORDS].assign(number=numpy.linspace(-1, 1, len(TABLE)))
    rows.loc[:9, "number"] = [-0.0, 0.0] * 5
    parts = [("n", scale, ["number"]), ("c", one_hot(), WORDS)]
    path = str(tmp_path / "p.onnx")
    for threshold in (0.0, 1.0):
        model = compose.ColumnTransformer(parts, sparse_threshold=threshold).fit(rows)
        for check in (None, rows):
            schedc.export(model, path, check=check)
        wanted = numpy.signbit(theirs(model, "variable", rows)[:, 0])
        assert wanted[:10].any() == (threshold == 0)
        numpy.testing.assert_array_equal(numpy.signbit(results(path, rows)["variable"][:, 0]), wanted)


@pytest.mark.parametrize("step", [preprocessing.StandardScaler(), preprocessing.KBinsDiscretizer(2),
                                  "passthrough"], ids=str)
def test_signs_of_zeros(step, tmp_path):
    """Beside other columns, scikit-learn's smallest value may become 0.0 where the file has -0.0. The check
    takes these for equal, and no other numbers."""
    rows = TABLE[["floor", "age"]].fillna(0.0)
    parts = [("m", preprocessing.MinMaxScaler(), ["floor"]), ("s", step, ["age"])]
    model = compose.ColumnTransformer(parts).fit(rows)
    for check in (None, -rows[:9]):
        schedc.export(model, tmp_path / "p.onnx", check=check)
    zero = numpy.array([0.0])
    output = exported(model).outputs["variable"]
    assert output.promise == 0
    for other, apart in ((-0.0, False), (5e-324, True), (numpy.nan, True)):
        assert differs(numpy.array([other]), zero, output) == apart


@pytest.mark.filterwarnings("ignore")
def test_rows_that_overflow(tmp_path, monkeypatch):
    """Rows for the check that overflow in a step are left out, and the others remain."""
    monkeypatch.setattr("schedc.exporter.rows._N_ROWS", 40)
    rows = numpy.column_stack([numpy.logspace(-3, 140, 60), numpy.arange(60) % 7])
    parts = [("a", preprocessing.KBinsDiscretizer(4, encode="ordinal")),
             ("b", preprocessing.Binarizer(threshold=1e160)), ("c", preprocessing.PolynomialFeatures(2))]
    model = make(pipeline.FeatureUnion(parts), preprocessing.MaxAbsScaler(), linear_model.Ridge())
    for given in (rows, pandas.DataFrame(rows, columns=["a", "b"])):
        model.fit(given, rows[:, 1])
        made = numpy.asarray(rows_for(model, exported(model)))
        assert 10 <= len(made) < 40 and not (made > 1e159).any() and (made > 1e100).any()
        schedc.export(model, tmp_path / "p.onnx")
    model[0].transformer_list[:2] = parts[1:2]
    model[1:].fit(model[0].transform(rows), rows[:, 1])
    with pytest.raises(ValueError, match="refuses all rows that were made .*infinity"):
        schedc.export(model, tmp_path / "p.onnx")


@pytest.mark.parametrize(("last", "outputs"), [
    (forest(), ("label", "probabilities", "margins")),
    (linear_model.LogisticRegression(), ("label", "margins", "output.margins")),
    (ensemble.IsolationForest(n_estimators=5, random_state=0), ("label", "margins", "scores")),
    (naive_bayes.GaussianNB(), ("joint", "probabilities", "margins")),
    (forest(ensemble.RandomForestRegressor), ("variable", "X", "label")),
], ids=lambda value: type(value).__name__)
def test_columns_with_names_of_outputs(last, outputs, tmp_path):
    """Columns may be named like outputs. The results are still the object's."""
    names = dict(zip(("city", "age", "income"), outputs))
    rows = TABLE.rename(columns=names)
    words, numbers = ([names.get(name, name) for name in group] for group in (WORDS, NUMBERS))
    dense = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [("w", dense, words), ("n", impute.SimpleImputer(), numbers)]
    model = make(compose.ColumnTransformer(parts), clone(last)).fit(rows, GOALS["two"])
    path = str(tmp_path / "p.onnx")
    schedc.export(model, path, check=rows)
    onnx.checker.check_model(path)
    found = results(path, rows)
    assert not set(found) & set(rows.columns) and set(about(path)["promise"]) == set(found)
    ours = schedc.compile(model, effort="fast")
    for output, value in found.items():
        output = output.removeprefix("output.").removeprefix("output.")
        wanted = theirs(model, output, rows)
        numpy.testing.assert_allclose(value.reshape(wanted.shape), wanted, rtol=1e-9, atol=1e-12)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"):
        if hasattr(model, method):
            numpy.testing.assert_allclose(getattr(ours, method)(rows), getattr(model, method)(rows),
                                          rtol=1e-9, atol=1e-9)


def test_columns_without_names(tmp_path):
    """If columns have no names, the file's inputs have generated names."""
    rows = TABLE.rename(columns={"income": ""})
    parts = [("num", impute.SimpleImputer(), [0, 1]), ("cat", one_hot(), WORDS)]
    model = make(compose.ColumnTransformer(parts), forest()).fit(rows, GOALS["two"])
    with pytest.raises(schedc.Refused, match="is an input with a name: rename ''"):
        schedc.export(model, tmp_path / "p.onnx")


def test_missing_text(tmp_path):
    """A file has one kind of missing text; rows with another kind are refused."""
    fill = make(impute.SimpleImputer(strategy="most_frequent"), one_hot())
    model = make(columns(fill, impute.SimpleImputer()), forest()).fit(TABLE, GOALS["two"])
    rows = TABLE.astype({"city": object})
    rows.loc[0, "city"] = None
    if rows.loc[0, "city"] is None:
        with pytest.raises(ValueError, match="'city' has None for missing text.*replace None by NaN"):
            schedc.export(model, tmp_path / "p.onnx", check=rows)


def test_unfitted(tmp_path):
    with pytest.raises(ValueError, match="the Pipeline is not fitted yet"):
        schedc.export(imputed(forest()), tmp_path / "p.onnx")
    with pytest.raises(TypeError, match="is no fitted object"):
        schedc.export("model.json", tmp_path / "p.onnx")


def test_metadata(tmp_path):
    model = make(columns(one_hot(), impute.SimpleImputer()), forest()).fit(TABLE, GOALS["words"])
    schedc.export(model, tmp_path / "p.onnx")
    found = about(tmp_path / "p.onnx")
    assert found["features"] == [*NUMBERS, *WORDS] and found["named"]
    assert [step["name"] for step in found["steps"]] == ["columntransformer", "randomforestclassifier"]
    assert found["details"]["classes"] == ["no", "yes"]
    known = found["details"]["columntransformer.cat"]["categories"]["city"]
    assert known[:5] == ["Bonn", "Cork", "Lima", "Oslo", "Rome"]
    names = [node.name for node in onnx.load(tmp_path / "p.onnx").graph.node]
    assert "randomforestclassifier/TreeEnsemble" in names
    assert any(name.startswith("columntransformer.num.simpleimputer/") for name in names)


TRAINERS = {
    "xgboost": ("XGB", {"n_estimators": 5, "n_jobs": 1}, {"output_margin": True}),
    "lightgbm": ("LGBM", {"n_estimators": 5, "n_jobs": 1, "verbose": -1}, {"raw_score": True}),
    "catboost": ("CatBoost", {"iterations": 5, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
                 {"prediction_type": "RawFormulaVal"}),
}


@pytest.mark.parametrize("library", TRAINERS)
@pytest.mark.parametrize("goal", ["two", "three", "number"])
@pytest.mark.filterwarnings("ignore")
def test_other_trainers(library, goal, tmp_path):
    """Boosted trees of other trainers behind scalers and encoders: margins are equal."""
    prefix, options, raw = TRAINERS[library]
    kind = prefix + ("Regressor" if goal == "number" else "Classifier")
    model = getattr(pytest.importorskip(library), kind)(**options)
    sparse = columns(one_hot(), preprocessing.StandardScaler(), sparse_threshold=1.0)
    for first, rows in ((preprocessing.RobustScaler(), TABLE[NUMBERS].to_numpy("float32")),
                        (sparse, TABLE), (columns(one_hot(), preprocessing.MinMaxScaler()), TABLE)):
        whole = make(first, clone(model)).fit(rows, GOALS[goal])
        path = str(tmp_path / "p.onnx")
        schedc.export(whole, path)
        schedc.export(whole, path, check=rows)
        found = results(path, rows)
        name = "variable" if goal == "number" else "margins"
        value = whole.predict(rows, **raw)
        numpy.testing.assert_array_equal(found[name].reshape(value.shape), value)
        if goal != "number":
            numpy.testing.assert_array_equal(found["label"], whole.predict(rows).ravel())


MODULES = {"category_encoders": "category_encoders", "feature_engine": "feature_engine.encoding"}
#: By encoder: options that change the results for unseen categories and missing values.
OPTIONS = {
    "BinaryEncoder": [{"handle_missing": "indicator", "handle_unknown": "indicator"}],
    "CountEncoder": [{"cols": ["city", "floor"], "handle_unknown": 0}],
    "CountFrequencyEncoder": [{"unseen": "raise"}, {"unseen": "encode", "encoding_method": "frequency"}],
    "MeanEncoder": [{"unseen": "raise"}, {"ignore_format": True, "variables": ["city", "floor"]}],
    "OrdinalEncoder": [{}],
    "RankHotEncoder": [{"handle_missing": "return_nan"}, {"handle_unknown": "return_nan"}],
    "RareLabelEncoder": [{"tol": 0.1, "n_categories": 2, "replace_with": "other"}],
    "TargetEncoder": [{"handle_missing": "return_nan", "handle_unknown": "return_nan"}],
    "WoEEncoder": [{"unseen": "raise"}],
}
ENCODERS = [(library, name, options) for library, names in TABLES.items() for name in names
            for options in ({}, *OPTIONS.get(name, []))]


def encoder(library, name, options):
    kind = getattr(pytest.importorskip(MODULES[library]), name, None)
    if kind is None:
        pytest.skip(f"this release of {library} has no {name}")
    known = inspect.signature(kind).parameters
    return kind(**{option: value for option, value in options.items() if option in known})


@pytest.mark.parametrize(("library", "name", "options"), ENCODERS)
@pytest.mark.filterwarnings("ignore")
def test_other_encoders(library, name, options, tmp_path):
    """Encoders of other libraries export as tables."""
    rows = TABLE.fillna({"city": "none"}) if library == "feature_engine" else TABLE
    # The results of one encoder are texts, which a second one encodes.
    second = [encoder(library, "OneHotEncoder", {})] if name == "RareLabelEncoder" else []
    model = make(encoder(library, name, options), *second, impute.SimpleImputer(),
                 preprocessing.StandardScaler(), forest())
    model.fit(rows, GOALS["two"])
    path = str(tmp_path / "p.onnx")
    schedc.export(model, path)
    schedc.export(model, path, check=rows)
    found = results(path, rows)
    numpy.testing.assert_array_equal(found["probabilities"], model.predict_proba(rows))
    numpy.testing.assert_array_equal(found["label"], model.predict(rows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["OrdinalEncoder", "of scikit-learn"])
def test_two_encoders(name, tmp_path):
    """The second encoder of a table encodes columns that the first one passes on."""
    first = encoder("category_encoders", "OneHotEncoder", {"cols": ["floor"]})
    second = (compose.ColumnTransformer([("c", one_hot(), ["city"])], remainder="passthrough")
              if name.startswith("of") else encoder("category_encoders", name, {}))
    model = make(first, second, impute.SimpleImputer(), forest())
    rows = TABLE.astype({"floor": float})
    model.fit(rows, GOALS["two"])
    path = str(tmp_path / "p.onnx")
    schedc.export(model, path)
    numpy.testing.assert_array_equal(results(path, rows)["probabilities"], model.predict_proba(rows))


@pytest.mark.parametrize("name", ["CountTarget", "Hashing", "MultiHot", "Summary"])
@pytest.mark.filterwarnings("ignore")
def test_refused_encoders(name, tmp_path):
    model = make(encoder("category_encoders", f"{name}Encoder", {}), impute.SimpleImputer(), forest())
    model.fit(TABLE, GOALS["two"])
    with pytest.raises(Unsupported, match=f"{name}Encoder .step {name.lower()}encoder.: "):
        schedc.export(model, tmp_path / "p.onnx")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step", ["words", "numbers", "single", "flags"])
def test_types_of_columns(step, tmp_path):
    """Tables of pandas with columns of many types: each is read as scikit-learn reads it."""
    rows = TABLE.copy()
    rows["count"] = pandas.array(rows["floor"], dtype="Int64")
    rows.loc[::9, "count"] = pandas.NA
    rows["open"] = rows["floor"] > 2
    rows["name"] = pandas.array(rows["city"].fillna("none").astype(str), dtype="string")
    rows["kind"] = rows["city"].fillna("none").astype("category")
    rows["short"] = rows["age"].astype("float32")
    fill, scale = impute.SimpleImputer(), preprocessing.MinMaxScaler()
    first, chosen = {
        "words": (one_hot(), ["name", "kind", "floor"]),
        "numbers": (make(fill, scale), ["count", "age", "short"]),
        "single": (make(fill, preprocessing.StandardScaler()), ["short"]),
        "flags": (one_hot(), ["open", "count"]),
    }[step]
    rows = rows.drop(columns="city") if step == "single" else rows
    parts = compose.ColumnTransformer([("a", first, chosen)], remainder="drop")
    model = make(parts, forest()).fit(rows, GOALS["two"])
    path = str(tmp_path / "p.onnx")
    schedc.export(model, path)
    schedc.export(model, path, check=rows)
