"""Compiled pipelines follow the precision in which scikit-learn computes rows of each type and container."""

import re

import numpy
import pytest

pytest.importorskip("onnx")
pandas = pytest.importorskip("pandas")

import schedc  # noqa: E402
from pipelines import NUMBERS, TABLE, forest, make  # noqa: E402
from releases import has, needs  # noqa: E402
from sklearn import (  # noqa: E402
    calibration,
    cluster,
    compose,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    mixture,
    multiclass,
    naive_bayes,
    pipeline,
    preprocessing,
)

pytestmark = pytest.mark.filterwarnings("ignore")
#: Rows whose values change if they are scaled in another precision.
ROWS = (TABLE[NUMBERS].fillna(1.0) / 3).assign(flag=TABLE["age"].fillna(30) > 40, whole=range(len(TABLE)))
GOAL = (ROWS["age"] > 13).to_numpy()
SINGLE = ROWS.astype(dict.fromkeys(NUMBERS, "float32"))


def same(ours, theirs, given, read=None):
    """Compares all bits of the results, where the object returns numbers. ``read`` replaces the rows for the
    object."""
    method = "predict_proba" if hasattr(theirs, "predict_proba") else "transform"
    expected = getattr(theirs, method)(given if read is None else read)
    expected = numpy.asarray(expected.toarray() if hasattr(expected, "toarray") else expected)
    found = getattr(ours, method)(given)
    if expected.dtype != object:
        assert found.dtype == expected.dtype
    numpy.testing.assert_array_equal(found, expected.astype(found.dtype))


def steps():
    """Steps that convert frames of other libraries than pandas to double precision, or take any type."""
    constant = impute.SimpleImputer(strategy="constant", fill_value=0.1, missing_values=1.5)
    best = feature_selection.SelectKBest(k=2)
    weighted = pipeline.FeatureUnion(
        [("a", preprocessing.StandardScaler()), ("b", "passthrough")], transformer_weights={"b": 0.3})
    yield preprocessing.StandardScaler()
    yield constant
    yield make(constant, preprocessing.StandardScaler())
    yield make(best, preprocessing.RobustScaler())
    yield make(preprocessing.FunctionTransformer(), preprocessing.MinMaxScaler())
    yield make(preprocessing.FunctionTransformer(numpy.sqrt), preprocessing.MaxAbsScaler())
    yield make(weighted, preprocessing.MinMaxScaler())
    yield make(preprocessing.MinMaxScaler(), preprocessing.PolynomialFeatures())


@pytest.mark.parametrize("step", list(steps()), ids=lambda step: " ".join(str(step).split())[:60])
@pytest.mark.parametrize("output", ["default", pytest.param("polars", marks=needs("1.4"))])
def test_frames_of_other_libraries(step, output):
    """scikit-learn reads the types of arrays and of pandas. Steps that compute in single or double precision
    convert other frames to double precision, also between steps."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    if output == "polars" and "FeatureUnion" in str(step) and not has("1.9"):
        pytest.skip("a union with two columns of one name, as a frame of Polars: scikit-learn before 1.9")
    theirs = step.set_output(transform=output).fit(ROWS[NUMBERS], GOAL)
    ours = schedc.compile(theirs, effort="fast")
    mixed = SINGLE.assign(distance=ROWS["whole"].astype("int16"))[NUMBERS]
    for frame in (SINGLE[NUMBERS], mixed, ROWS[NUMBERS]):
        given = polars.from_pandas(frame)
        if frame is not mixed:
            same(ours, theirs, frame)
        same(ours, theirs, given)
        # scikit-learn's unions take no tables of pyarrow.
        same(ours, theirs, pyarrow.Table.from_pandas(frame), given)


@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "int32", "Int8", "boolean"])
def test_narrow_columns(kind):
    """NumPy joins truth values and integers of at most 16 bits with single precision to single precision."""
    rows = SINGLE.assign(flag=(ROWS["whole"] % 2).astype(kind))
    scale, both = preprocessing.StandardScaler, ["age", "flag"]
    own = [
        make(compose.ColumnTransformer([("a", "passthrough", both)]), scale()),
        make(compose.ColumnTransformer([("a", scale(), ["age"]), ("b", "passthrough", ["flag"])]), scale()),
        make(compose.ColumnTransformer([("a", "passthrough", both)]), compose.ColumnTransformer(
            [("b", scale(), [0]), ("c", preprocessing.MaxAbsScaler(), [1])])),
    ]
    for prepare in (
        compose.ColumnTransformer([("both", scale(), both), ("alone", scale(), ["flag"])]),
        *([] if kind[0].isupper() or kind == "boolean" else own),
    ):
        theirs = prepare.fit(ROWS[both] * 1.0)
        same(schedc.compile(theirs, effort="fast"), theirs, rows[both])
        if kind.islower() and kind != "boolean":
            narrow = schedc.compile(theirs, effort="fast", rows="f32")
            same(narrow, theirs, rows[both].astype("float32"))
            with pytest.raises(ValueError, match=r"not in single precision \(flag\)"):
                narrow.transform(rows[both])


@pytest.mark.parametrize("kind", ["bool", "int16", "Float32", "Int8"])
def test_refused_columns(kind):
    """The result of NumPy for these columns depends on their types, or even on missing cells."""
    pass_on = compose.ColumnTransformer([("a", "passthrough", ["age", "flag"])])
    for step in (preprocessing.FunctionTransformer(numpy.sqrt), pass_on):
        theirs = make(step, preprocessing.StandardScaler()).fit(ROWS[["age", "flag"]] * 1.0)
        rows = SINGLE.assign(flag=(ROWS["whole"] % 2).astype(kind))[["age", "flag"]]
        ours = schedc.compile(theirs, effort="fast")
        if step is pass_on and kind.islower():
            same(ours, theirs, rows)
            continue
        with pytest.raises(TypeError, match=r"float64"):
            ours.transform(rows)


@pytest.mark.parametrize("part", [
    naive_bayes.GaussianNB(), linear_model.LogisticRegression(),
    linear_model.SGDClassifier(loss="log_loss", random_state=0), forest(),
], ids=lambda one: type(one).__name__)
def test_isotonic_curves(part, tmp_path):
    """An isotonic curve multiplies the rounding of sums in single precision, so that these are refused, also
    if an intercept in double precision is added. Forests, and other parts in old releases, have scores in
    double precision."""
    single = (ROWS[NUMBERS] * 3).to_numpy().astype("float32")
    theirs = calibration.CalibratedClassifierCV(part, method="isotonic", cv=2)
    theirs.fit(single, ROWS["whole"] % 3 > 1)
    ours = schedc.compile(theirs, effort="fast")
    fitted = theirs.calibrated_classifiers_[0].estimator
    score = getattr(fitted, "decision_function", fitted.predict_proba)
    for rows in (single.astype("float64"), single):
        is_sum = rows is single and isinstance(part, linear_model.SGDClassifier)
        if score(rows).dtype == "float64" and not is_sum:
            expected = theirs.predict_proba(rows)
            numpy.testing.assert_allclose(ours.predict_proba(rows), expected, rtol=0, atol=1e-12)
            continue
        with pytest.raises(schedc.Refused, match="isotonic curve with a slope of .* give float64 rows"):
            ours.predict_proba(rows)
        with pytest.raises(schedc.Refused, match="isotonic curve with a slope of .* give float64 rows"):
            schedc.export(theirs, tmp_path / "p.onnx", types="float32")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_kernel_components(kernel):
    """Components of kernels that were fitted in single precision are divided in single precision."""
    numbers = preprocessing.MinMaxScaler().fit_transform(ROWS[NUMBERS])
    theirs = decomposition.KernelPCA(3, kernel=kernel).fit(numbers.astype("float32"))
    found, expected = schedc.compile(theirs, effort="fast").transform(numbers), theirs.transform(numbers)
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * numpy.abs(expected).max())


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_proposed_conversions(library):
    """The call in a message converts the rows, with the columns' own names."""
    polars = pytest.importorskip("polars")
    whole = ROWS[["age", "hours"]].set_axis(["the age", "hours"], axis=1)
    encoded = compose.ColumnTransformer([("a", preprocessing.StandardScaler(), ["the age", "hours"]),
                                         ("b", preprocessing.OneHotEncoder(), ["city"])])
    rows = whole.assign(city="a")
    if library == "numpy":
        encoded, rows = preprocessing.StandardScaler(), whole.to_numpy()
    theirs = make(encoded, linear_model.LogisticRegression()).fit(rows, GOAL)
    loaded = schedc.load(schedc.compile(theirs, effort="fast", check=False).library)
    given = rows.astype("float32" if library == "numpy" else {"the age": "float32"})
    given = polars.from_pandas(given) if library == "polars" else given
    with pytest.raises(schedc.Refused, match="single precision") as caught:
        loaded.predict_proba(given)
    call = re.search(r"as in (rows\..*?\)), ", str(caught.value))[1]
    converted = eval(call, {"rows": given, "polars": polars})
    assert loaded.predict_proba(converted).shape == (len(rows), 2)


@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "boolean"])
def test_functions_of_integers(kind):
    """NumPy computes functions of small integers in half or single precision, and wraps negative numbers."""
    rows = ROWS[["age", "whole"]].assign(flag=(ROWS["whole"] % 2).astype(kind))
    function = preprocessing.FunctionTransformer
    for step, read, is_refused in (
        (function(numpy.exp), ["age", "flag"], True),
        (function(numpy.exp), ["age", "whole"], False),
        (function(numpy.floor), ["whole"] if kind == "boolean" else ["flag"], False),
        (make(preprocessing.MinMaxScaler(), function(numpy.exp)), ["flag"], False),
    ):
        chosen = compose.ColumnTransformer([("a", step, read)])
        theirs = make(chosen, preprocessing.StandardScaler()).fit(rows.astype("float64"))
        ours = schedc.compile(theirs, effort="fast")
        for one in (ours, schedc.load(ours.library)):
            for given in (rows, rows.astype("float64")):
                if is_refused and given is rows:
                    with pytest.raises(schedc.Refused, match=r"\(flag\), and NumPy computes a function"):
                        one.transform(given)
                else:
                    found, expected = one.transform(given), theirs.transform(given)
                    numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [mixture.GaussianMixture, mixture.BayesianGaussianMixture])
def test_mixtures_of_integers(kind):
    """Some releases of scikit-learn round the densities of rows of integers. Such rows are refused."""
    rows = ROWS[["whole", "flag"]].astype("int64")
    theirs = kind(n_components=2, random_state=0).fit(rows * 1.0)
    ours = schedc.compile(theirs, effort="fast")
    for given in (rows * 1.0, rows.astype({"flag": "float32"}), rows.astype("Int64"), rows):
        expected = theirs.score_samples(given)
        is_right = numpy.allclose(expected, theirs.score_samples(rows * 1.0))
        assert is_right or given is rows
        if is_right:
            numpy.testing.assert_allclose(ours.score_samples(given), expected, rtol=1e-9)
            continue
        with pytest.raises(schedc.Refused, match=r"\(whole, flag\), and scikit-learn rounds the densities"):
            ours.score_samples(given)


def test_columns_behind_one_array():
    """Columns of one array have one type, also if a later step reads only some of them."""
    both = ["age", "hours"]
    first = compose.ColumnTransformer([(name, "passthrough", [name]) for name in both])
    for prepare in (first, feature_selection.VarianceThreshold()):
        for output in ("default", "pandas"):
            theirs = make(prepare.set_output(transform=output), compose.ColumnTransformer(
                [("a", preprocessing.StandardScaler(), [0]), ("b", preprocessing.MinMaxScaler(), [1])]))
            theirs.fit(ROWS[both])
            same(schedc.compile(theirs, effort="fast"), theirs, ROWS[both].astype({"age": "float32"}))


@pytest.mark.parametrize("step", [
    preprocessing.MaxAbsScaler(), preprocessing.StandardScaler(with_mean=False),
    preprocessing.RobustScaler(with_centering=False), decomposition.TruncatedSVD(2),
], ids=lambda step: type(step).__name__)
def test_sparse_rows(step, tmp_path):
    """scikit-learn scales sparse matrices by reciprocals."""
    sparse = pytest.importorskip("scipy.sparse")
    dense = ROWS[NUMBERS].where(ROWS[NUMBERS] > 5, 0.0).to_numpy()
    theirs = make(step, forest()).fit(dense, GOAL)
    ours = schedc.compile(theirs, effort="fast")
    for kind in ("float64", "float32"):
        rows = sparse.csr_matrix(dense.astype(kind))
        same(ours, theirs, rows)
        same(ours, theirs, rows.tocsc())
        assert schedc.compile(theirs, effort="fast", check=rows).predict(rows).shape == (len(dense),)
    same(ours, theirs, dense)
    ours.save(tmp_path / "p.so")
    for other in (schedc.load(tmp_path / "p.so"), schedc.compile(theirs, effort="fast", rows="f32")):
        with pytest.raises(ValueError, match=r"rows\.toarray\(\)"):
            other.predict(rows)


def test_refused_sparse_rows():
    sparse, xgboost = pytest.importorskip("scipy.sparse"), pytest.importorskip("xgboost")
    dense = ROWS[NUMBERS].where(ROWS[NUMBERS] > 5, 0.0).to_numpy()
    rows = sparse.csr_matrix(dense)
    theirs = make(preprocessing.MaxAbsScaler(), xgboost.XGBClassifier(n_estimators=5)).fit(rows, GOAL)
    ours = schedc.compile(theirs, effort="fast")
    numpy.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    numpy.testing.assert_array_equal(ours.predict(dense), theirs.predict(dense))
    rows.data[3] = 0.0
    with pytest.raises(ValueError, match=r"stores zeros.*eliminate_zeros\(\)"):
        ours.predict(rows)
    for step, reason in ((preprocessing.PolynomialFeatures(), "multiplies a sparse matrix"),
                         (decomposition.PCA(2), "centers a sparse matrix"),
                         (preprocessing.StandardScaler(), "centers a sparse matrix")):
        theirs = make(step, forest()).fit(dense, GOAL)
        with pytest.raises(TypeError, match=rf"{reason}.*rows\.toarray\(\)") as caught:
            schedc.compile(theirs, effort="fast").predict(rows)
        assert "encoder" not in str(caught.value), "the rows are sparse, and no encoder makes them so"
    words = preprocessing.OneHotEncoder(), preprocessing.Normalizer()
    with pytest.raises(TypeError, match="normalizes a sparse matrix; set sparse_output=False in the encoder"):
        schedc.compile(make(*words).fit(TABLE[["floor"]].dropna()), effort="fast")
    theirs = preprocessing.MaxAbsScaler().fit(ROWS[NUMBERS])
    with pytest.raises(ValueError, match=r"sparse columns of pandas.*rows\.sparse\.to_dense\(\)"):
        sparse = ROWS[NUMBERS].astype(pandas.SparseDtype("float64", 0))
        schedc.compile(theirs, effort="fast").transform(sparse)


def of_singles():
    """Estimators whose fitted arrays are in single precision if the training rows are."""
    logistic, gaussian = linear_model.LogisticRegression(), naive_bayes.GaussianNB()
    descent = make(preprocessing.StandardScaler(), linear_model.SGDClassifier(random_state=0))
    # The intercepts of descent are in double precision.
    yield descent
    yield linear_model.SGDClassifier(loss="log_loss", random_state=0)
    yield linear_model.SGDClassifier(loss="modified_huber", random_state=0)
    yield linear_model.Perceptron(random_state=0)
    yield linear_model.SGDRegressor(max_iter=5, eta0=1e-4, random_state=0)
    yield linear_model.SGDOneClassSVM(random_state=0)
    yield multiclass.OneVsRestClassifier(descent)
    yield multiclass.OneVsOneClassifier(descent)
    yield calibration.CalibratedClassifierCV(descent, cv=2)
    yield gaussian
    yield discriminant_analysis.QuadraticDiscriminantAnalysis()
    yield decomposition.PCA(2)
    yield decomposition.PCA(2, whiten=True)
    yield preprocessing.PowerTransformer()
    yield cluster.KMeans(3, n_init=1, random_state=0)
    yield cluster.MiniBatchKMeans(3, n_init=1, random_state=0)
    yield mixture.GaussianMixture(2, random_state=0)
    yield ensemble.BaggingClassifier(logistic, 3, random_state=0)
    yield ensemble.VotingClassifier([("a", logistic), ("b", gaussian)], voting="soft")
    yield multiclass.OneVsRestClassifier(gaussian)


METHODS = ("predict_proba", "predict_log_proba", "decision_function", "score_samples", "transform")


def has_clusters(model):
    """Whether an object that was fitted on singles refuses doubles, as clusters do."""
    return isinstance(model, (cluster.KMeans, cluster.MiniBatchKMeans))


@pytest.mark.parametrize("model", list(of_singles()), ids=lambda model: type(model).__name__)
def test_fitted_on_singles(model):
    """Rows of doubles are computed with constants as scikit-learn rounds them, and results have the types of
    scikit-learn for rows of both types. The check compares rows of the same type."""
    rows = ROWS[NUMBERS].to_numpy() - 3
    theirs = model.fit((SINGLE[NUMBERS].to_numpy() - 3).astype("float32"), GOAL)
    for kind, close in {"float64": 1e-6, "float32": 1e-5}.items():
        if kind == "float64" and has_clusters(model):
            continue
        given = rows.astype(kind)
        ours = schedc.compile(theirs, effort="fast", check=given)
        methods = METHODS if hasattr(theirs, "classes_") or hasattr(theirs, "transform") else (
            "predict", *METHODS)
        for method in methods:
            if not (hasattr(theirs, method) and hasattr(ours, method)):
                continue
            expected, found = getattr(theirs, method)(given), getattr(ours, method)(given)
            assert found.dtype == expected.dtype, (kind, method)
            scale = float(numpy.abs(expected).max())
            numpy.testing.assert_allclose(found, expected, rtol=close, atol=close * scale)


@pytest.mark.parametrize("model", list(of_singles()), ids=lambda model: type(model).__name__)
def test_frames_of_singles(model, tmp_path):
    """Objects that were fitted on frames in single precision pass the check on such frames, and on frames
    with a column in double precision."""
    frame = SINGLE[NUMBERS] - numpy.float32(3)
    theirs = model.fit(frame, GOAL)
    schedc.export(theirs, tmp_path / "p.onnx", check=frame)
    if not has_clusters(model):
        schedc.export(theirs, tmp_path / "p.onnx", check=frame.astype({NUMBERS[0]: "float64"}))


@pytest.mark.parametrize("kind", [cluster.KMeans, cluster.MiniBatchKMeans])
def test_clusters_in_singles(kind, tmp_path):
    """scikit-learn compares distances from centres in the type of the rows. Only rows between two centres may
    have the label of the other one."""
    source = numpy.random.default_rng(3)
    rows = source.normal(5, 1, (400, 6)).astype("float32")
    theirs = kind(2, n_init=1, random_state=0).fit(rows)
    low, high = theirs.cluster_centers_.astype("float64")
    axis = (high - low) / numpy.linalg.norm(high - low)
    away = rows - (low + high) / 2
    between = (rows - (away @ axis)[:, None] * axis).astype("float32")
    apart = numpy.square(between[:, None] - numpy.array([low, high])).sum(axis=2)
    assert (apart.argmin(axis=1) != theirs.predict(between)).any()
    with pytest.warns(UserWarning, match="of the 800 rows"):
        schedc.export(theirs, tmp_path / "p.onnx", check=numpy.concatenate([rows, between]))
    ours = schedc.compile(theirs, effort="fast", rows="f32", check=rows)
    numpy.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
