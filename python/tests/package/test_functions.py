"""Functions of NumPy as steps, and targets that functions and transformers turn back."""

from pathlib import Path

import numpy
import pytest

onnx = pytest.importorskip("onnx")
pandas = pytest.importorskip("pandas")
xgboost = pytest.importorskip("xgboost")

import schedc  # noqa: E402
from pipelines import NUMBERS, TABLE, WORDS, forest, make, one_hot  # noqa: E402
from schedc.exporter.functions import _FUNCTIONS  # noqa: E402
from sklearn import (  # noqa: E402
    compose,
    ensemble,
    impute,
    kernel_approximation,
    linear_model,
    pipeline,
    preprocessing,
)

RANDOM = numpy.random.default_rng(5)
ROWS = RANDOM.random((150, 3)) * 5 + 0.1
#: Numbers at the ends of domains, and tiny, large and missing ones.
EDGES = numpy.array([
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 5e-324, 1e-300, -1e-300, 1e-20, -1e-20, 1e-9, -1e-9, 0.999,
    -0.999, -1 + 2**-40, 3.0, 100.0, -100.0, 700.0, -700.0, 1e10, 1e300, -1e300, numpy.nan, numpy.inf,
    -numpy.inf,
])
#: Functions that round only as NumPy's operations do.
EXACT = {"absolute", "ceil", "fabs", "floor", "negative", "rint", "sign", "sqrt", "square"}


def step(name):
    return preprocessing.FunctionTransformer(getattr(numpy, name))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_function(name, tmp_path):
    """Results differ by a few units of the last digit, or by none, also for numbers that are no numbers."""
    theirs = step(name).fit(ROWS)
    ours = schedc.compile(theirs, effort="fast")
    for kind in (numpy.float64, numpy.float32):
        rows = numpy.repeat(EDGES.astype(kind)[:, None], 3, axis=1)
        expected, found = theirs.transform(rows), ours.transform(rows)
        assert found.dtype == expected.dtype
        numpy.testing.assert_allclose(found, expected, rtol=0 if name in EXACT else 4 * numpy.finfo(kind).eps)
    model = make(step(name), forest(ensemble.RandomForestRegressor)).fit(ROWS, ROWS[:, 0])
    compiled = schedc.compile(model, effort="fast")
    numpy.testing.assert_array_equal(compiled.predict(ROWS), model.predict(ROWS))
    schedc.export(model, tmp_path / "p.onnx", check=ROWS[:50])


def test_function_beside_categories():
    """The usual place: the logarithm of some columns of a frame, beside encoded ones."""
    rows = TABLE.assign(**{name: TABLE[name].fillna(1.0).clip(lower=0) for name in NUMBERS})
    parts = compose.ColumnTransformer([("log", step("log1p"), NUMBERS), ("cat", one_hot(), WORDS)])
    theirs = make(parts, linear_model.Ridge()).fit(rows, rows["income"])
    found = schedc.compile(theirs, effort="fast").predict(rows)
    numpy.testing.assert_allclose(found, theirs.predict(rows), rtol=1e-11)


#: Options of feature-engine's `CyclicalFeatures`.
CYCLES = [
    {},
    {"drop_original": True},
    {"variables": ["month", "hour"], "max_values": {"hour": 24, "month": numpy.float64(12)}},
    {"variables": ["hour"], "drop_original": True},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", CYCLES)
def test_cyclical_features(options, tmp_path):
    """Hours and months as angles, before an encoder of texts or alone."""
    creation = pytest.importorskip("feature_engine.creation")
    rows = pandas.DataFrame({
        "hour": RANDOM.integers(0, 24, 200), "city": RANDOM.choice(["Bern", "Kyiv"], 200),
        "month": RANDOM.integers(1, 13, 200).astype("float32"), "hour_sin": RANDOM.random(200),
    })
    alone = creation.CyclicalFeatures(**options).fit(rows.drop(columns="city"))
    found = schedc.compile(alone, effort="fast").transform(rows)
    numpy.testing.assert_allclose(found, alone.transform(rows.drop(columns="city")), rtol=1e-6, atol=1e-7)
    encoder = compose.make_column_transformer((one_hot(), ["city"]), remainder="passthrough")
    theirs = make(creation.CyclicalFeatures(**options), encoder, linear_model.Ridge()).fit(rows, rows["hour"])
    found = schedc.compile(theirs, effort="fast").predict(rows)
    numpy.testing.assert_allclose(found, theirs.predict(rows), rtol=1e-4, atol=1e-4)
    schedc.export(theirs, tmp_path / "p.onnx", check=rows)


def test_cycle_of_zeros():
    creation = pytest.importorskip("feature_engine.creation")
    rows = pandas.DataFrame({"hour": numpy.zeros(9), "day": numpy.arange(9.0)})
    with pytest.raises(TypeError, match="divides by 0, the largest value of the column 'hour'"):
        schedc.compile(creation.CyclicalFeatures().fit(rows))


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_fourier_features(kind):
    """Cosines of random sums behind a scaler, beside other columns."""
    union = pipeline.make_union(
        preprocessing.StandardScaler(), kernel_approximation.RBFSampler(n_components=7, random_state=0))
    theirs = make(preprocessing.StandardScaler(), union, linear_model.Ridge())
    rows = ROWS.astype(kind)
    theirs.fit(rows, ROWS.prod(axis=1))
    found = schedc.compile(theirs, effort="fast").predict(rows)
    numpy.testing.assert_allclose(found, theirs.predict(rows), rtol=1e-9 if kind == "float64" else 1e-3)


def test_page_lists_functions():
    """The page has all functions, in alphabetical order."""
    page = (Path(__file__).parents[3] / "docs/pipelines.md").read_text(encoding="utf-8")
    assert f"or of none: {', '.join(f'`{name}`' for name in sorted(_FUNCTIONS))} |" in page


def cubed(numbers):
    return numbers**3


@pytest.mark.parametrize(("function", "options", "message"), [
    (cubed, {}, "calls cubed, which schedc does not export; functions of NumPy such as log1p are"),
    (numpy.sinc, {}, "calls sinc, which schedc does not export"),
    (numpy.log1p, {"kw_args": {"where": True}}, "calls log1p, which schedc does not export"),
])
def test_refused(function, options, message):
    theirs = preprocessing.FunctionTransformer(function, **options).fit(ROWS)
    with pytest.raises(TypeError, match=message):
        schedc.compile(make(theirs, linear_model.Ridge()).fit(ROWS, ROWS[:, 0]))


def test_refused_columns():
    """A function of encoded texts in a sparse matrix, or of truth values, is refused."""
    table = pandas.DataFrame({"a": ROWS[:, 0], "b": numpy.where(ROWS[:, 1] > 2, "x", "y")})
    encoded = make(preprocessing.OneHotEncoder(), step("log1p"), linear_model.Ridge()).fit(table, ROWS[:, 0])
    with pytest.raises(TypeError, match="computes log1p of a sparse matrix; give it numbers"):
        schedc.compile(encoded)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_missing_indicators(output):
    """An array holds truth values beside numbers as numbers. NumPy computes those of a frame in half
    precision."""
    rows = pandas.DataFrame(numpy.where(ROWS > 2, numpy.nan, ROWS))
    both = pipeline.FeatureUnion([("a", impute.SimpleImputer()), ("b", impute.MissingIndicator())])
    theirs = make(both.set_output(transform=output), step("sqrt")).fit(rows)
    if output == "default":
        numpy.testing.assert_array_equal(schedc.compile(theirs).transform(rows), theirs.transform(rows))
        return
    with pytest.raises(TypeError, match="computes sqrt of truth values"):
        schedc.compile(theirs)


def transformers():
    """Transformers of targets with inverses."""
    one, quantiles = preprocessing.FunctionTransformer, preprocessing.QuantileTransformer
    yield preprocessing.MinMaxScaler((-1, 2), clip=True)
    yield preprocessing.MaxAbsScaler()
    yield preprocessing.RobustScaler()
    yield preprocessing.RobustScaler(with_centering=False)
    yield preprocessing.StandardScaler()
    for method in ("box-cox", "yeo-johnson"):
        yield preprocessing.PowerTransformer(method=method)
        yield preprocessing.PowerTransformer(method=method, standardize=False)
    yield quantiles(n_quantiles=50)
    yield quantiles(n_quantiles=50, output_distribution="normal")
    yield one(numpy.log1p, numpy.expm1)
    yield one(numpy.sqrt, numpy.square)
    yield one()
    yield make(one(numpy.log, numpy.exp), preprocessing.StandardScaler())


LINE = ROWS[:, 0] * 5 + ROWS[:, 1] + 1
TWO = numpy.stack([LINE, numpy.exp(ROWS[:, 2])], axis=1)
TARGETS = [(forest(ensemble.RandomForestRegressor), LINE), (linear_model.Ridge(), TWO),
           (xgboost.XGBRegressor(n_estimators=4), LINE.astype(numpy.float32))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transformer", list(transformers()), ids=lambda one: "".join(str(one).split()))
def test_target(transformer, tmp_path):
    """Predictions are turned back as scikit-learn turns them back, in the type of the regressor's."""
    for regressor, targets in TARGETS:
        theirs = compose.TransformedTargetRegressor(regressor, transformer=transformer).fit(ROWS, targets)
        expected, found = theirs.predict(ROWS), schedc.compile(theirs, effort="fast").predict(ROWS)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        close = 2e-7 if expected.dtype == numpy.float32 else 1e-12
        numpy.testing.assert_allclose(found, expected, rtol=close, atol=close)
    schedc.export(theirs, tmp_path / "p.onnx", check=ROWS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [0.0, 2.0, 1e-18, -1.5, 3.5, -0.5, 0.5, 1e-9])
@pytest.mark.parametrize("method", ["box-cox", "yeo-johnson"])
def test_powers_of_targets(method, shape):
    """The ends of the families of powers, where logarithms take the place of powers; and powers whose inverse
    takes negative numbers to a whole power."""
    transformer = preprocessing.PowerTransformer(method=method, standardize=False)
    theirs = compose.TransformedTargetRegressor(linear_model.LinearRegression(), transformer=transformer)
    theirs.fit(ROWS, LINE)
    theirs.transformer_.lambdas_[:] = shape
    # Targets from -3 to 3, and up to where the powers of numbers are.
    slope = 6 / (LINE.max() - LINE.min())
    theirs.regressor_.coef_[:] = numpy.array([5, 1, 0]) * slope
    theirs.regressor_.intercept_ = slope * (1 - LINE.min()) - 3
    with numpy.errstate(all="ignore"):
        expected = theirs.predict(ROWS)
        found = schedc.compile(theirs, effort="fast", check=False).predict(ROWS)
    numpy.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_code_of_targets():
    theirs = compose.TransformedTargetRegressor(linear_model.Ridge(), func=numpy.cbrt, inverse_func=cubed)
    with pytest.raises(TypeError, match="has an inverse_func that schedc does not export; functions of"):
        schedc.compile(theirs.fit(ROWS, LINE))
    bins = preprocessing.KBinsDiscretizer(encode="ordinal", strategy="uniform")
    theirs = compose.TransformedTargetRegressor(linear_model.Ridge(), transformer=bins, check_inverse=False)
    with pytest.raises(TypeError, match="transforms its target by a KBinsDiscretizer; scalers"):
        schedc.compile(theirs.fit(ROWS, LINE))
