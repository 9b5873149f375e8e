"""Compiled estimators without trees have the methods of their objects, with the same results."""

import json
import pickle

import numpy
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("pandas")
catboost = pytest.importorskip("catboost")
lightgbm = pytest.importorskip("lightgbm")

import schedc  # noqa: E402
from pipelines import GOALS, NUMBERS, TABLE, boosted, forest, imputed, results  # noqa: E402
from releases import needs, since  # noqa: E402
from shares import combined  # noqa: E402
from schedc.decisions import in_file, rules  # noqa: E402
from sklearn import (  # noqa: E402
    base,
    calibration,
    cluster,
    compose,
    covariance,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    kernel_approximation,
    linear_model,
    mixture,
    model_selection,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    random_projection,
    svm,
    tree,
)
from sklearn.pipeline import make_pipeline  # noqa: E402

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "transform")
X = TABLE[NUMBERS].to_numpy()
#: Rows, of which the last ones are far from all others, so that some probabilities are 0.
FAR = numpy.concatenate([X[:40], X[:5] * 40])


def named(value):
    return type(value).__name__ if hasattr(value, "fit") else None


def scaled(model, goal, scaler=None):
    return imputed(scaler or preprocessing.StandardScaler(), model).fit(X, GOALS[goal])


def check(theirs, missing=(), close=1e-12, rows=FAR):
    """Compares all methods; returns the compiled model. ``missing`` are methods that only the object has."""
    ours = schedc.compile(theirs)
    for model in (ours, pickle.loads(pickle.dumps(ours)), schedc.load(ours.library)):
        for method in METHODS:
            has = hasattr(theirs, method) and method not in missing
            assert hasattr(model, method) == has, method
            if not has:
                continue
            expected, found = (numpy.asarray(getattr(one, method)(rows)) for one in (theirs, model))
            assert found.shape == expected.shape and found.dtype == expected.dtype, method
            empty = numpy.asarray(getattr(model, method)(rows[:0]))
            assert empty.shape == (0, *found.shape[1:]) and empty.dtype == found.dtype, method
            if expected.dtype.kind == "f":
                scale = numpy.abs(expected[numpy.isfinite(expected)]).max(initial=1.0)
                numpy.testing.assert_allclose(found, expected, rtol=close, atol=close * scale)
            else:
                numpy.testing.assert_array_equal(found, expected, method)
    return ours


def classifiers():
    """Classifiers by name, and the methods that only the object has."""
    both = [("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB())]
    yield linear_model.LogisticRegression(), ()
    yield linear_model.RidgeClassifier(), ()
    yield svm.LinearSVC(random_state=0), ()
    yield discriminant_analysis.QuadraticDiscriminantAnalysis(), ()
    yield discriminant_analysis.LinearDiscriminantAnalysis(), ("transform",)
    yield naive_bayes.GaussianNB(), ()
    yield naive_bayes.BernoulliNB(), ()
    yield neural_network.MLPClassifier((6,), max_iter=20, random_state=0), ()
    yield multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), ()
    yield multiclass.OneVsRestClassifier(svm.LinearSVC(random_state=0)), ()
    yield ensemble.VotingClassifier([*both, ("c", svm.LinearSVC(random_state=0))]), ("transform",)
    yield ensemble.VotingClassifier(both, voting="soft"), ("transform",)
    yield ensemble.StackingClassifier(both, cv=2), ("transform",)
    yield multiclass.OneVsOneClassifier(linear_model.LogisticRegression()), ()
    yield multiclass.OneVsOneClassifier(svm.SVC()), ()
    for part in (linear_model.LogisticRegression(), svm.LinearSVC(random_state=0), svm.SVC()):
        yield ensemble.BaggingClassifier(part, 3, max_features=3, random_state=0), ()
    yield svm.SVC(), ()
    yield svm.SVC(kernel="linear"), ()
    yield svm.NuSVC(nu=0.3, kernel="poly"), ()
    yield svm.SVC(decision_function_shape="ovo"), ()
    yield svm.SVC(break_ties=True), ()
    yield neighbors.NearestCentroid(), ()
    yield since("1.6", lambda: neighbors.NearestCentroid(shrink_threshold=0.2, priors="empirical")), ()
    yield neighbors.NearestCentroid(metric="manhattan"), ()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "missing", "goal"), [
    (*case, goal) for case, goal in combined(list(classifiers()), ["words", "three"])], ids=named)
def test_classifiers(model, missing, goal):
    # Powers of far rows cancel in the sums of a polynomial kernel.
    cancels = getattr(model, "kernel", None) == "poly"
    check(scaled(model, goal), missing, close=1e-9 if cancels else 1e-12)


@pytest.mark.filterwarnings("ignore")
def test_probabilities_of_zero():
    """Logarithms of probabilities of 0 are computed from scores if scikit-learn does so."""
    theirs = scaled(naive_bayes.GaussianNB(), "three")
    assert (theirs.predict_proba(FAR) == 0).any()
    assert numpy.isfinite(schedc.compile(theirs).predict_log_proba(FAR)).all()


#: A label for each class of a goal: whole numbers as floats.
FLOATS = {"two": numpy.array([-1.0, 1.0]), "three": numpy.array([0.0, 1.0, 5.0]), "one": numpy.array([3.0])}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "goal"), [
    (svm.SVC(), "three"),
    (discriminant_analysis.QuadraticDiscriminantAnalysis(), "two"),
    (calibration.CalibratedClassifierCV(linear_model.RidgeClassifier(), cv=2), "two"),
    (ensemble.VotingClassifier([("a", naive_bayes.GaussianNB())]), "three"),
    (tree.DecisionTreeClassifier(max_depth=2), "one"),
    (naive_bayes.GaussianNB(), "one"),
], ids=str)
def test_labels_that_are_floats(model, goal, tmp_path):
    """A file has whole labels as integers, and schedc reads floats as predictions. The compiled object
    returns the object's floats."""
    classes = numpy.zeros(len(X), int) if goal == "one" else GOALS[goal]
    theirs = imputed(model).fit(X, FLOATS[goal][classes])
    ours = check(theirs, ("transform",) if isinstance(model, ensemble.VotingClassifier) else ())
    assert ours.predict(X).dtype == "float64"
    path = str(tmp_path / "p.onnx")
    schedc.export(theirs, path)
    found = results(path, X)["label"]
    assert found.dtype == "int64" and (found == theirs.predict(X)).all()
    if hasattr(theirs, "predict_proba") and goal != "one":
        numpy.testing.assert_allclose(schedc.compile(path).predict_proba(X), theirs.predict_proba(X), 1e-9)


def thresholds():
    """Classifiers with a threshold, and their goal."""
    fixed, tuned = model_selection.FixedThresholdClassifier, model_selection.TunedThresholdClassifierCV
    logistic = linear_model.LogisticRegression()
    yield fixed(logistic, threshold=0.3), "words"
    yield fixed(logistic, threshold=0.5, response_method="decision_function"), "words"
    yield fixed(svm.LinearSVC(random_state=0), threshold=0.1, pos_label=0), "two"
    # The probabilities of a forest are on the threshold for some rows.
    yield fixed(forest(max_leaf_nodes=2), threshold="a probability"), "two"
    yield fixed(forest(max_leaf_nodes=2), threshold="a probability", pos_label="no"), "words"
    yield fixed(make_pipeline(preprocessing.StandardScaler(), boosted())), "two"
    yield tuned(naive_bayes.GaussianNB(), cv=2), "two"
    yield tuned(lightgbm.LGBMClassifier(n_estimators=3, verbose=-1), cv=2, scoring="f1"), "two"
    yield fixed(make_pipeline(preprocessing.StandardScaler(), catboost.CatBoostClassifier(
        iterations=3, verbose=0, allow_writing_files=False)), threshold=0.4), "two"
    yield fixed(ensemble.AdaBoostClassifier(n_estimators=3), threshold=0.45), "words"
    yield tuned(make_pipeline(ensemble.HistGradientBoostingClassifier(max_iter=3)), cv=2), "words"


@pytest.mark.filterwarnings("ignore")
@needs("1.5")
@pytest.mark.parametrize("at", range(11))
def test_classifiers_with_a_threshold(at, tmp_path):
    """Alone, and at the end of a pipeline."""
    model, goal = list(thresholds())[at]
    given, labels = numpy.nan_to_num(X), GOALS[goal]
    theirs = make_pipeline(preprocessing.StandardScaler(), model) if at % 2 else model
    if getattr(model, "threshold", None) == "a probability":
        model.threshold = 0.5
        shares = theirs.fit(given, labels).predict_proba(given)[:, 0 if model.pos_label else 1]
        model.threshold = float(numpy.median(shares))
        assert numpy.count_nonzero(shares == model.threshold) > 5
    theirs.fit(given, labels)
    # Rows far from all others have probabilities next to 0, whose logarithms show a single rounding.
    ours = check(theirs, close=1e-9, rows=given[:45])
    numpy.testing.assert_array_equal(ours.predict(given), theirs.predict(given))
    path = str(tmp_path / "p.onnx")
    schedc.export(theirs, path)
    numpy.testing.assert_array_equal(results(path, given)["label"], theirs.predict(given))


@pytest.mark.filterwarnings("ignore")
@needs("1.8")
@pytest.mark.parametrize(("part", "goal"), [
    (linear_model.LogisticRegression(), "three"),
    (svm.LinearSVC(random_state=0), "words"),
    (forest(), "three"),
    (naive_bayes.GaussianNB(), "words"),
    (lightgbm.LGBMClassifier(n_estimators=3, verbose=-1), "two"),
], ids=named)
def test_temperature(part, goal, tmp_path):
    """Calibration by a temperature: one factor for the margins, or for logarithms of probabilities."""
    theirs = scaled(calibration.CalibratedClassifierCV(part, method="temperature", cv=2), goal)
    check(theirs, close=1e-9)
    schedc.export(theirs, tmp_path / "p.onnx")


@pytest.mark.filterwarnings("ignore")
def test_featurizers():
    """Pipelines without a model have `transform`, and `predict` only if `output=` requests it."""
    for made in (decomposition.PCA(2), decomposition.PCA(1), preprocessing.MinMaxScaler(),
                 feature_selection.SelectKBest(k=2)):
        ours = check(scaled(made, "two"), ("score_samples",))
        assert not base.is_regressor(ours)
        with pytest.raises(AttributeError, match="has no 'predict': it has transform"):
            ours.predict(FAR)
    ours = schedc.compile(scaled(decomposition.PCA(2), "two"), output="value")
    numpy.testing.assert_array_equal(ours.predict(FAR), ours.transform(FAR))


@pytest.mark.parametrize("made", [
    impute.MissingIndicator(features="all"),
    preprocessing.OrdinalEncoder(dtype="int64", handle_unknown="use_encoded_value", unknown_value=-1,
                                 encoded_missing_value=-2),
    preprocessing.OneHotEncoder(dtype="int8", handle_unknown="ignore", sparse_output=False),
    preprocessing.OneHotEncoder(dtype="float32", handle_unknown="ignore", sparse_output=False),
], ids=named)
def test_types_of_columns(made):
    """Truth values and whole numbers keep their types."""
    rows = numpy.round(X[:40])
    assert check(made.fit(rows), rows=rows).transform(rows).dtype == made.transform(rows).dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [
    linear_model.LogisticRegression(), forest(), ensemble.GradientBoostingClassifier(n_estimators=4),
    lightgbm.LGBMRegressor(n_estimators=4, verbose=-1, n_jobs=1), linear_model.Ridge(),
], ids=named)
def test_selectors_that_predict(model, tmp_path):
    """A pipeline that ends with recursive elimination predicts by the selector's model."""
    goal = "number" if base.is_regressor(model) else "words"
    both = feature_selection.RFE(model, n_features_to_select=2), feature_selection.RFECV(model, cv=2)
    for selector in both:
        theirs = scaled(selector, goal)
        check(theirs, ("transform",), close=1e-9)
        schedc.export(theirs, tmp_path / "p.onnx")


#: Columns for splines: with a repeated value, with two values, and with one value.
CURVED = numpy.column_stack([numpy.where(X[:, 0] < numpy.nanmedian(X[:, 0]), 0.0, X[:, 1]),
                             X[:, 1] > 0.5, numpy.ones(len(X))])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize("extrapolation", ["constant", "continue", "linear"])
def test_repeated_knots(degree, extrapolation):
    """Splines over repeated knots, and over two knots, within and beyond them."""
    rows = numpy.nan_to_num(CURVED)
    if extrapolation == "linear" and degree < 2:
        theirs = preprocessing.SplineTransformer(5, degree, extrapolation=extrapolation).fit(rows)
        with pytest.raises(schedc.Refused, match="use 'continue'"):
            schedc.compile(theirs)
        return
    for knots, n_knots in (("quantile", 5), ("quantile", 3), ("uniform", 2)):
        theirs = preprocessing.SplineTransformer(n_knots, degree, knots=knots, extrapolation=extrapolation)
        theirs.fit(rows)
        # The object raises an error for constant splines of degree 0 above all knots.
        far = [-5.0, -1e-9, 0.0, 0.5, 1.0] + ([5.0, 1e5] if degree or extrapolation == "continue" else [])
        given = numpy.concatenate([rows[:30], numpy.repeat([far], 3, axis=0).T])
        if not (degree or extrapolation == "continue"):
            given = numpy.minimum(given, rows.max(axis=0))
        ours = schedc.compile(theirs, effort="fast", check=given)
        numpy.testing.assert_array_equal(ours.transform(given), theirs.transform(given))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_powers(method, size):
    """Powers of tiny and of large numbers are within the rounding errors of their exponentials."""
    rows = numpy.random.default_rng(0).lognormal(size=(60, 3)) * size
    signs = [1.0] if method == "box-cox" else [1.0, -1.0]
    given = numpy.concatenate([sign * scale * rows for sign in signs for scale in (1e-20, 1.0, 1e3)])
    theirs = preprocessing.PowerTransformer(method=method, standardize=False).fit(rows)
    theirs.lambdas_[1:] = 0.0, 2.0
    ours = schedc.compile(theirs, effort="fast")
    # Older releases have their own formula, which subtracts 1 from a power, and divides by the exponent.
    cancels = hasattr(theirs, "_yeo_johnson_transform") and method == "yeo-johnson"
    divisors = numpy.abs([theirs.lambdas_, 2.0 - theirs.lambdas_])
    close = 1e-15 / divisors[divisors > 0].min() if cancels else 0
    numpy.testing.assert_allclose(ours.transform(given), theirs.transform(given), rtol=1e-12, atol=close)
    prepared = preprocessing.PowerTransformer(method=method).fit(rows)
    found = schedc.compile(prepared, effort="fast").transform(rows)
    close = max(1e-11, 1e-15 / size if cancels else 0)
    numpy.testing.assert_allclose(found, prepared.transform(rows), rtol=0, atol=close)


@pytest.mark.parametrize("model", [linear_model.Ridge(), forest(ensemble.RandomForestRegressor)], ids=named)
def test_exponentials_of_tiny_targets(model):
    """The inverse `numpy.expm1` of a target keeps the digits of tiny results."""
    theirs = compose.TransformedTargetRegressor(model, func=numpy.log1p, inverse_func=numpy.expm1)
    rows = numpy.nan_to_num(X)
    theirs.fit(rows, 1e-12 * numpy.exp(GOALS["number"] / numpy.abs(GOALS["number"]).max()))
    ours = schedc.compile(theirs, effort="fast")
    numpy.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_detectors():
    """Detectors of outliers without trees."""
    for model in (svm.OneClassSVM(nu=0.2), linear_model.SGDOneClassSVM(random_state=0),
                  covariance.EllipticEnvelope(random_state=0)):
        ours = check(scaled(model, "two"), close=1e-10)
        assert set(ours.predict(FAR)) == {-1, 1} and not hasattr(ours, "classes_")
        with pytest.raises(AttributeError, match="has no 'score'"):
            ours.score(FAR, FAR[:, 0])


@pytest.mark.filterwarnings("ignore")
def test_kernels():
    """Columns of kernels and of random projections, before a model."""
    kernels = kernel_approximation.Nystroem(n_components=12, random_state=0)
    of_sparse = make_pipeline(preprocessing.KBinsDiscretizer(4), kernels)
    for made in (decomposition.KernelPCA(2, kernel="rbf"), decomposition.KernelPCA(2, kernel="sigmoid"),
                 kernels, of_sparse,
                 preprocessing.QuantileTransformer(n_quantiles=30, output_distribution="normal"),
                 decomposition.FactorAnalysis(2), cluster.FeatureAgglomeration(2),
                 discriminant_analysis.LinearDiscriminantAnalysis(),
                 random_projection.SparseRandomProjection(2, random_state=0)):
        check(scaled(make_pipeline(made, linear_model.LogisticRegression()), "three"))
    made = decomposition.KernelPCA(2, kernel="rbf")
    check(scaled(make_pipeline(made, forest()), "three"), rows=X)


def test_normal_quantiles():
    """Normal quantiles have SciPy's bits in the middle, and differ by a logarithm's rounding in the tails."""
    from onnx import helper
    from schedc.exporter.check import run
    from schedc.exporter.graph import FLOAT64, OPSET, Graph, tensor
    from schedc.exporter.normal import normal_quantile
    from scipy.special import ndtri

    graph = Graph()
    found = normal_quantile(graph, graph.input("X", FLOAT64, 1))
    ends = [helper.make_tensor_value_info(name, 11, [None, 1]) for name in ("X", found.name)]
    constants = [tensor(name, array) for name, array in graph.constants.items()]
    made = helper.make_graph(graph.nodes, "quantiles", ends[:1], ends[1:], constants)
    sets = [helper.make_opsetid("", OPSET)]
    content = helper.make_model(made, opset_imports=sets, ir_version=10).SerializeToString()
    tails = 10.0 ** -numpy.linspace(0.5, 7, 500)
    shares = numpy.concatenate([numpy.linspace(0.001, 0.999, 2001), tails, 1 - tails])
    ours, theirs = run(content, {"X": shares[:, None]})[found.name][:, 0], ndtri(shares)
    middle = numpy.abs(shares - 0.5) < 0.36
    numpy.testing.assert_array_equal(ours[middle], theirs[middle])
    numpy.testing.assert_allclose(ours, theirs, rtol=2e-15)


@pytest.mark.parametrize(("quantiles", "is_refused"), [
    ([0.0, 5e-324, 1e-323, 1.0], False),
    ([0.0, 1e-308, 1.0, 2.0], False),
    ([1e-310, 3e-310, 1.0, 2.0], True),
])
def test_close_quantiles(quantiles, is_refused):
    """Slopes between quantiles may overflow, so that scikit-learn returns NaN."""
    ends = numpy.array(quantiles)
    theirs = preprocessing.QuantileTransformer(n_quantiles=4).fit(ends[:, None])
    if is_refused:
        with pytest.raises(schedc.Refused, match=r"quantiles of x0 .*round the training rows"):
            schedc.compile(theirs)
        return
    rows = numpy.concatenate([ends, numpy.nextafter(ends, 9), (ends[1:] + ends[:-1]) / 2])[:, None]
    numpy.testing.assert_array_equal(schedc.compile(theirs).transform(rows), theirs.transform(rows))


@pytest.mark.filterwarnings("ignore")
def test_latent_regression():
    target = numpy.column_stack([GOALS["number"], GOALS["three"]])
    for model in (cross_decomposition.PLSRegression(2), cross_decomposition.PLSCanonical(1)):
        check(imputed(model).fit(X, target), ("transform",))
        check(imputed(model).fit(X, target[:, 0]), ("transform",))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("form", ["full", "tied", "diag", "spherical"])
def test_mixtures(form, count):
    few = {"n_components": count, "covariance_type": form, "max_iter": 20, "random_state": 0}
    for model in (mixture.GaussianMixture(**few), mixture.BayesianGaussianMixture(**few)):
        check(scaled(model, "two"))


@pytest.mark.filterwarnings("ignore")
def test_clusters():
    """The distance of a row from its own point has the rounding error of a square root near zero."""
    for model in (cluster.KMeans(4, n_init=1, random_state=0), cluster.MiniBatchKMeans(4, n_init=1),
                  cluster.MeanShift()):
        check(scaled(model, "two"), close=1e-12)
    check(scaled(cluster.KMeans(len(X), n_init=1), "two"), close=1e-7, rows=X)
    check(scaled(make_pipeline(cluster.KMeans(4, n_init=1), linear_model.LogisticRegression()), "two"))


@pytest.mark.filterwarnings("ignore")
def test_sums_that_cancel():
    """Coefficients of millions cancel each other; the check allows for their rounding errors."""
    theirs = scaled(svm.SVR(C=1e8, gamma=1e-3, max_iter=3000), "number")
    assert numpy.abs(theirs[-1].dual_coef_).max() > 1e6
    check(theirs, close=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_chances_of_vectors():
    """LIBSVM's iteration over two classes takes two steps at most; over more, any number."""
    check(scaled(svm.SVC(probability=True, random_state=0), "words"), close=1e-11)
    with pytest.raises(TypeError, match="SVC.*has probability=True.*CalibratedClassifierCV"):
        schedc.compile(scaled(svm.SVC(probability=True, random_state=0), "three"))


@pytest.mark.filterwarnings("ignore")
def test_lacking_methods():
    """Methods that the object lacks are absent, since scikit-learn's tools look for them."""
    ours = schedc.compile(scaled(linear_model.RidgeClassifier(), "words"))
    for method in ("predict_proba", "predict_log_proba", "score_samples", "transform"):
        with pytest.raises(AttributeError, match=f"a compiled model has no '{method}'"):
            getattr(ours, method)
    assert not hasattr(schedc.compile(scaled(forest(), "words")), "decision_function")


def test_sparse_columns():
    """If an encoder returns a sparse matrix, its compiled model returns an array."""
    theirs = preprocessing.OneHotEncoder().fit(TABLE[["city"]])
    ours = schedc.compile(theirs, effort="fast")
    expected = theirs.transform(TABLE[["city"]]).toarray()
    numpy.testing.assert_array_equal(ours.transform(TABLE[["city"]]), expected)


def test_nearly_constant_columns():
    """Log-likelihoods of 1e9, whose rounding errors exceed those of other models."""
    rare = numpy.zeros((400, 1))
    rare[:2] = 1.0
    rows = numpy.concatenate([X, rare, numpy.zeros((len(X), 1))], axis=1)
    theirs = imputed(preprocessing.StandardScaler(), naive_bayes.GaussianNB()).fit(rows, GOALS["two"])
    found = schedc.compile(theirs, effort="fast").predict_proba(rows)
    numpy.testing.assert_allclose(found, theirs.predict_proba(rows), rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "goal"), [
    (linear_model.RidgeClassifier(), "two"),
    (linear_model.RidgeClassifier(), "three"),
    (linear_model.SGDClassifier(random_state=0), "words"),
    (svm.SVC(), "two"),
    (svm.SVC(), "three"),
    (cluster.KMeans(3, n_init=1, random_state=0), "three"),
    (linear_model.LogisticRegression(), "three"),
    (calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), method="isotonic", cv=2), "two"),
], ids=named)
def test_files_without_probabilities(model, goal, tmp_path):
    """Models of files have probabilities only if the fitted object has them."""
    theirs, path = scaled(model, goal), str(tmp_path / "p.onnx")
    schedc.export(theirs, path)
    has = hasattr(theirs, "predict_proba")
    ours = schedc.compile(path, effort="fast")
    for one in (ours, schedc.load(ours.library), pickle.loads(pickle.dumps(ours))):
        assert hasattr(one, "predict_proba") == hasattr(one, "predict_log_proba") == has
        if has:
            numpy.testing.assert_allclose(one.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
            continue
        with pytest.raises(AttributeError, match="decision_function"):
            one.predict_proba(X)
        is_cluster = isinstance(model, cluster.KMeans)
        expected = theirs.transform(X) if is_cluster else theirs.decision_function(X)
        found = one.predict(X) if is_cluster else one.decision_function(X)
        numpy.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "goal", "has"), [
    (linear_model.LogisticRegression(), "two", True),
    (linear_model.LogisticRegression(), "three", True),
    (svm.SVC(), "three", True),
    (ensemble.GradientBoostingClassifier(n_estimators=3), "two", True),
    (ensemble.GradientBoostingClassifier(n_estimators=3), "three", True),
    (since("1.6", neighbors.NearestCentroid), "three", True),
    (ensemble.AdaBoostClassifier(n_estimators=3), "two", True),
    (ensemble.AdaBoostClassifier(n_estimators=3), "three", True),
    (multiclass.OneVsRestClassifier(ensemble.GradientBoostingClassifier(n_estimators=3)), "three", True),
    (ensemble.BaggingClassifier(svm.LinearSVC(), 2), "two", True),
    (ensemble.RandomForestClassifier(3), "two", False),
    (ensemble.IsolationForest(n_estimators=3), "two", True),
    (cluster.KMeans(3, n_init=1, random_state=0), "three", False),
], ids=named)
def test_decisions_of_files(model, goal, has, tmp_path):
    """Models of files have decision values only if the file says which numbers they are."""
    theirs, path = scaled(model, goal), str(tmp_path / "p.onnx")
    schedc.export(theirs, path)
    ours = schedc.compile(path, effort="fast")
    for one in (ours, schedc.load(ours.library)):
        assert hasattr(one, "decision_function") == has
        if has:
            found, expected = one.decision_function(X), theirs.decision_function(X)
            assert found.shape == expected.shape
            close = 0 if type(model).__module__.startswith("sklearn.ensemble.") else 1e-9
            close = 1e-9 if isinstance(model, ensemble.BaggingClassifier) else close
            numpy.testing.assert_allclose(found, expected, rtol=close, atol=close)


def test_rules_of_other_files():
    """Only the metadata of schedc's own files has rules for decision values; other bytes have none."""
    rule = {"rule": "votes", "sums": 2, "weight": 2.5}
    entries = [onnx.StringStringEntryProto(key=key, value=value)
               for key, value in (("other", "{}"), ("schedc.decisions", json.dumps(rule)))]
    content = onnx.ModelProto(ir_version=10, metadata_props=entries).SerializeToString()
    assert in_file(content) == rule and rules(rule, 2).weight == 2.5
    for other in (b"", b"{}", content[:-3], content[3:], onnx.ModelProto(ir_version=10).SerializeToString()):
        assert in_file(other) is None
    for other in (None, {}, {"rule": "new", "sums": 2}, {"rule": "votes", "sums": 2}, {**rule, "sums": 3}):
        assert rules(other, 2) is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("goal", ["two", "three"])
def test_decisions_of_lightgbm(goal, monkeypatch):
    """Classifiers of LightGBM 4.7 have decision values: the raw scores."""
    kind, options = lightgbm.LGBMClassifier, {"n_estimators": 3, "verbose": -1}
    alone = schedc.compile(kind(**options).fit(X, GOALS[goal]), effort="fast")
    assert hasattr(alone, "decision_function") == hasattr(kind, "decision_function")
    monkeypatch.setattr(kind, "decision_function", lambda self, rows: self.predict(rows, raw_score=True),
                        raising=False)
    for theirs in (kind(**options).fit(X, GOALS[goal]), scaled(kind(**options), goal)):
        ours = schedc.compile(theirs, effort="fast")
        for one in (ours, schedc.load(ours.library)):
            numpy.testing.assert_array_equal(one.decision_function(X), theirs.decision_function(X))
    assert not hasattr(schedc.compile(lightgbm.LGBMRegressor(**options).fit(X, GOALS[goal]), effort="fast"),
                       "decision_function")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("goal", ["two", "three"])
def test_sums_of_several_forests(goal):
    """Decision values that are the sums of all trees, or of the trees that read all others."""
    part = ensemble.GradientBoostingClassifier(n_estimators=3, random_state=0)
    for model, missing in (
        (multiclass.OneVsRestClassifier(part), ("predict_log_proba",)),
        (ensemble.StackingClassifier([("a", part), ("b", forest())], part, cv=2), ("transform",)),
    ):
        theirs = scaled(model, goal)
        ours = check(theirs, missing)
        numpy.testing.assert_array_equal(ours.decision_function(X), theirs.decision_function(X))


@pytest.mark.parametrize(("objective", "has"), [
    ("binary:logistic", True), ("binary:logitraw", False), ("multi:softprob", True), ("multi:softmax", False),
])
def test_files_of_xgboost(objective, has):
    """Margins and numbers of classes are no probabilities."""
    xgboost = pytest.importorskip("xgboost")
    options = {"objective": objective, "num_class": 3} if "multi" in objective else {"objective": objective}
    data = xgboost.DMatrix(X, GOALS["three" if "multi" in objective else "two"])
    content = bytes(xgboost.train(options, data, 2).save_raw("json"))
    assert hasattr(schedc.compile(content, effort="fast"), "predict_proba") == has
