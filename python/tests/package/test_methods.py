"""Compiled estimators without trees have the methods of their objects, with the same results."""

import pickle

import numpy
import pytest

pytest.importorskip("onnx")
pytest.importorskip("pandas")

import schedc  # noqa: E402
from pipelines import GOALS, NUMBERS, TABLE, forest, imputed  # noqa: E402
from sklearn import (  # noqa: E402
    cluster,
    covariance,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    kernel_approximation,
    linear_model,
    mixture,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    random_projection,
    svm,
)
from sklearn.pipeline import make_pipeline  # noqa: E402

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "transform")
X = TABLE[NUMBERS].to_numpy()
#: Rows far from all others, whose probabilities are 0.
FAR = numpy.concatenate([X[:40], X[:5] * 40])


def scaled(model, goal, scaler=None):
    return imputed(scaler or preprocessing.StandardScaler(), model).fit(X, GOALS[goal])


def check(theirs, missing=(), close=1e-12, rows=FAR):
    """Compares all methods; returns the compiled model. ``missing`` are methods that only the object has."""
    ours = schedc.compile(theirs)
    for model in (ours, pickle.loads(pickle.dumps(ours)), schedc.load(ours.library)):
        for method in METHODS:
            has = hasattr(theirs, method) and method not in missing
            # Compiled featurizers predict their columns.
            if method != "predict" or has:
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
    yield neighbors.NearestCentroid(shrink_threshold=0.2, priors="empirical"), ()
    yield neighbors.NearestCentroid(metric="manhattan"), ()


def named(value):
    return type(value).__name__ if hasattr(value, "fit") else None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("goal", ["words", "three"])
@pytest.mark.parametrize(("model", "missing"), list(classifiers()), ids=named)
def test_classifiers(model, missing, goal):
    # Powers of far rows cancel in the sums of a polynomial kernel.
    cancels = getattr(model, "kernel", None) == "poly"
    check(scaled(model, goal), missing, close=1e-9 if cancels else 1e-12)


@pytest.mark.filterwarnings("ignore")
def test_probabilities_of_zero():
    """Logarithms of probabilities that are 0 follow from scores where scikit-learn computes them so."""
    theirs = scaled(naive_bayes.GaussianNB(), "three")
    assert (theirs.predict_proba(FAR) == 0).any()
    assert numpy.isfinite(schedc.compile(theirs).predict_log_proba(FAR)).all()


@pytest.mark.filterwarnings("ignore")
def test_featurizers():
    """Pipelines without a model have `transform`."""
    for made in (decomposition.PCA(2), decomposition.PCA(1), preprocessing.MinMaxScaler()):
        ours = check(scaled(made, "two"), ("score_samples",))
        numpy.testing.assert_array_equal(ours.predict(FAR).reshape(len(FAR), -1), ours.transform(FAR))


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
    """Columns of kernels and of random projections, with a model behind them."""
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
    """The operations of SciPy: the same bits in the middle, and rounded logarithms in the tails."""
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


@pytest.mark.filterwarnings("ignore")
def test_latent_regression():
    target = numpy.column_stack([GOALS["number"], GOALS["three"]])
    for model in (cross_decomposition.PLSRegression(2), cross_decomposition.PLSCanonical(1)):
        check(imputed(model).fit(X, target), ("transform",))
        check(imputed(model).fit(X, target[:, 0]), ("transform",))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["full", "tied", "diag", "spherical"])
def test_mixtures(form):
    few = {"n_components": 3, "covariance_type": form, "max_iter": 20, "random_state": 0}
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
    """The compiled model of an encoder that makes a sparse matrix makes an array."""
    theirs = preprocessing.OneHotEncoder().fit(TABLE[["city"]])
    ours = schedc.compile(theirs, effort="fast")
    expected = theirs.transform(TABLE[["city"]]).toarray()
    numpy.testing.assert_array_equal(ours.transform(TABLE[["city"]]), expected)
