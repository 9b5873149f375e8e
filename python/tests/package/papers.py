"""The operators of the papers on Hummingbird and CMLCompiler, in the variants that the tests compile.

`test_papers.py` compares the table of docs/pipelines.md with this list; with `UPDATE=1` it writes the table.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy
from sklearn import (
    cluster,
    cross_decomposition,
    decomposition,
    ensemble,
    feature_extraction,
    feature_selection,
    impute,
    linear_model,
    mixture,
    model_selection,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.compose import ColumnTransformer

make = pipeline.make_pipeline
standard = preprocessing.StandardScaler
KERNELS = ("rbf", "linear", "poly", "sigmoid")
LINEAR = linear_model.LogisticRegression()
TREE = tree.DecisionTreeClassifier(max_depth=4, random_state=0)

#: Stands for all options of an operator.
ALL = ("",)


class Variant(NamedTuple):
    """A model with some options, alone or behind other steps."""

    option: str
    """The options, in words."""
    form: str
    """The number of classes, or the place of a step."""
    model: Any
    goal: str
    """The target: `two` or `three` classes, a `number`, `several` numbers, `hash` or `none`."""
    has_gaps: bool = False
    """Whether the rows have missing values."""


@dataclass
class Operator:
    """An operator of the papers, with its variants and the expected result in schedc."""

    name: str
    lists: str
    """Lists that have the operator: `H` is Hummingbird's paper, `C` CMLCompiler's, `h` Hummingbird 0.4.12."""
    promise: str
    """`equal`, `bound` or `refused`, for the fitted object."""
    within: tuple[str, ...] = ()
    """The methods of an operator that is `equal` whose results are `bound`."""
    variants: list[Variant] = field(default_factory=list)
    refused: tuple[str, ...] = ()
    """The options whose files of skl2onnx are refused."""
    reason: str = ""
    """The words of that refusal: the operator of the file."""
    absent: tuple[str, ...] = ()
    """The options for which skl2onnx writes no file, or an invalid one."""
    no_doubles: tuple[str, ...] = ()
    """The options for which it writes no file for rows in double precision."""

    def classes(self, *before, **options):
        """Adds classifiers of two and of three classes."""
        for option, model in options.items():
            for goal in ("two", "three"):
                whole = make(*before, model) if before else model
                self.variants.append(Variant(option, f"{goal} classes", whole, goal))
        return self

    def models(self, *before, goal="number", **options):
        """Adds models of one target."""
        for option, model in options.items():
            self.variants.append(Variant(option, "", make(*before, model) if before else model, goal))
        return self

    def steps(self, *before, behind=TREE, has_gaps=False, **options):
        """Adds a transformer twice: alone, and before a small model."""
        for option, step in options.items():
            for form, more in (("alone", ()), ("before a model", (behind,))):
                self.variants.append(Variant(option, form, make(*before, step, *more), "three", has_gaps))
        return self


def data():
    """Rows with values on grids: four columns of numbers, one of counts and one of four categories."""
    source = numpy.random.default_rng(5)
    rows = numpy.round(source.normal(0, 2, (200, 6)), 2)
    rows[:, 4] = source.integers(0, 6, len(rows))
    rows[:, 5] = source.integers(0, 4, len(rows))
    score = rows[:, 0] + rows[:, 1] * rows[:, 2] / 3 + rows[:, 4] + source.normal(0, 0.5, len(rows))
    three = numpy.digitize(score, numpy.quantile(score, [0.35, 0.7]))
    number = numpy.abs(score) + 0.01
    goals = {"three": three, "two": (three > 0).astype(int), "number": number, "none": None,
             "several": numpy.stack([number, rows[:, 0] + rows[:, 3]], axis=1)}
    gaps = rows.copy()
    gaps[source.random(rows.shape) < 0.1] = numpy.nan
    return rows, gaps, goals


ROWS, GAPS, GOALS = data()


def _trees():
    small = {"max_depth": 4, "random_state": 0}
    few = {**small, "n_estimators": 4}
    for kind, lists in (("DecisionTree", "HC"), ("ExtraTree", "C")):
        classifier, regressor = (getattr(tree, kind + end) for end in ("Classifier", "Regressor"))
        yield Operator(f"{kind}Classifier", lists, "equal").classes(
            gini=classifier(**small), entropy=classifier(criterion="entropy", **small))
        yield Operator(f"{kind}Regressor", lists, "equal").models(
            squares=regressor(**small), absolute=regressor(criterion="absolute_error", **small))
    for kind in ("RandomForest", "ExtraTrees"):
        classifier, regressor = (getattr(ensemble, kind + end) for end in ("Classifier", "Regressor"))
        yield Operator(f"{kind}Classifier", "HC", "equal").classes(
            standard(), gini=classifier(**few), balanced=classifier(class_weight="balanced", **few))
        yield Operator(f"{kind}Regressor", "HC", "equal").models(standard(), squares=regressor(**few))
    boosting = ensemble.GradientBoostingClassifier
    # With three classes and `init="zero"`, skl2onnx writes only one base value for all classes.
    yield Operator("GradientBoostingClassifier", "HC", "equal", ("predict_proba",)).classes(
        standard(), plain=boosting(**few), subsampled=boosting(subsample=0.7, **few))
    yield Operator("GradientBoostingRegressor", "HC", "equal").models(standard(), **{
        loss: ensemble.GradientBoostingRegressor(loss=loss, **few)
        for loss in ("squared_error", "huber", "quantile")})
    few = {"max_iter": 4, "random_state": 0}
    yield Operator("HistGradientBoostingClassifier", "H", "equal", ("predict_proba",), absent=ALL).classes(
        standard(), plain=ensemble.HistGradientBoostingClassifier(**few))
    yield Operator("HistGradientBoostingRegressor", "H", "equal", absent=ALL).models(
        standard(), squares=ensemble.HistGradientBoostingRegressor(**few))
    isolation = ensemble.IsolationForest
    within = ("decision_function", "score_samples")
    yield Operator("IsolationForest", "H", "equal", within, no_doubles=ALL).models(
        goal="none", plain=isolation(n_estimators=4, random_state=0),
        contamination=isolation(n_estimators=4, contamination=0.1, random_state=0))


def _linear():
    lin = linear_model

    def classifier(name, lists, make_one, no_doubles=(), absent=(), **options):
        options = options or {"plain": {}}
        models = {option: make_one(**given) for option, given in options.items()}
        operator = Operator(name, lists, "bound", absent=absent, no_doubles=no_doubles)
        return operator.classes(standard(), **models)

    yield classifier("LogisticRegression", "HC", lin.LogisticRegression, plain={}, strong={"C": 0.1},
                     weighted={"class_weight": "balanced"})
    yield classifier("LogisticRegressionCV", "HC", lin.LogisticRegressionCV, plain={"Cs": 2, "cv": 2})
    losses = ("hinge", "log_loss", "modified_huber", "perceptron")
    yield classifier("SGDClassifier", "HC", lin.SGDClassifier, **{
        loss: {"loss": loss, "random_state": 0} for loss in losses})
    yield classifier("Perceptron", "C", lin.Perceptron)
    yield classifier("RidgeClassifier", "C", lin.RidgeClassifier, ALL)
    yield classifier("RidgeClassifierCV", "C", lin.RidgeClassifierCV, ALL)
    yield classifier("LinearSVC", "HC", svm.LinearSVC, absent=ALL, hinge={"random_state": 0})

    def regressor(name, lists, no_doubles=(), before=None, **models):
        operator = Operator(name, lists, "bound", no_doubles=no_doubles)
        return operator.models(before or standard(), **models)

    yield regressor("LinearRegression", "Ch", ("through 0",), plain=lin.LinearRegression(),
                    **{"through 0": lin.LinearRegression(fit_intercept=False)})
    for name, model in (("Ridge", lin.Ridge()), ("RidgeCV", lin.RidgeCV())):
        yield regressor(name, "Ch", plain=model)
    yield regressor("SGDRegressor", "C", **{
        loss: lin.SGDRegressor(loss=loss, random_state=0) for loss in ("squared_error", "huber")})
    yield regressor("LinearSVR", "Ch", plain=svm.LinearSVR(random_state=0))
    yield regressor("Lasso", "h", plain=lin.Lasso(0.1))
    yield regressor("ElasticNet", "h", plain=lin.ElasticNet(0.1))
    yield regressor("PoissonRegressor", "h", plain=lin.PoissonRegressor())
    yield regressor("GammaRegressor", "h", before=preprocessing.MinMaxScaler(), plain=lin.GammaRegressor())
    yield regressor("TweedieRegressor", "h", log=lin.TweedieRegressor(power=1.5),
                    identity=lin.TweedieRegressor(power=0))


def _kernels():
    yield Operator("SVC", "H", "bound").classes(
        standard(), **{kernel: svm.SVC(kernel=kernel) for kernel in KERNELS},
        pairs=svm.SVC(decision_function_shape="ovo"))
    yield Operator("NuSVC", "H", "bound").classes(
        standard(), **{kernel: svm.NuSVC(nu=0.3, kernel=kernel) for kernel in ("rbf", "poly", "sigmoid")})
    yield Operator("SVR", "C", "bound").models(
        standard(), **{kernel: svm.SVR(kernel=kernel) for kernel in KERNELS})
    yield Operator("NuSVR", "C", "bound").models(
        standard(), **{kernel: svm.NuSVR(kernel=kernel) for kernel in KERNELS})
    yield Operator("KMeans", "h", "bound").models(
        standard(), goal="none", plain=cluster.KMeans(4, n_init=1, random_state=0))
    yield Operator("MeanShift", "h", "bound", absent=ALL).models(
        goal="none", plain=cluster.MeanShift(bandwidth=4.0))
    few = {"n_components": 3, "max_iter": 10, "random_state": 0}
    mixtures = Operator("BayesianGaussianMixture", "h", "bound", no_doubles=ALL)
    yield mixtures.models(standard(), goal="none", **{
        form: mixture.BayesianGaussianMixture(covariance_type=form, **few)
        for form in ("full", "tied", "diag", "spherical")})
    near = {"refused": ALL, "reason": "TopK"}
    yield Operator("KNeighborsClassifier", "h", "refused", **near).classes(
        plain=neighbors.KNeighborsClassifier())
    yield Operator("KNeighborsRegressor", "h", "refused", **near).models(
        plain=neighbors.KNeighborsRegressor())


def _nets_and_bayes():
    few = {"hidden_layer_sizes": (6, 4), "max_iter": 15, "random_state": 0}
    activations = ("relu", "tanh", "logistic", "identity")
    nets = neural_network
    yield Operator("MLPClassifier", "H", "bound").classes(
        standard(), **{each: nets.MLPClassifier(activation=each, **few) for each in activations})
    yield Operator("MLPRegressor", "h", "bound").models(
        standard(), **{each: nets.MLPRegressor(activation=each, **few) for each in activations})
    bayes = naive_bayes
    yield Operator("BernoulliNB", "H", "bound").classes(
        plain=bayes.BernoulliNB(), threshold=bayes.BernoulliNB(binarize=0.5))
    yield Operator("GaussianNB", "H", "bound").classes(
        plain=bayes.GaussianNB(), smoothed=bayes.GaussianNB(var_smoothing=1e-3))
    yield Operator("MultinomialNB", "H", "bound").classes(
        preprocessing.MinMaxScaler(), plain=bayes.MultinomialNB(),
        uniform=bayes.MultinomialNB(fit_prior=False))


def _compound():
    small = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
    short = tree.DecisionTreeRegressor(max_depth=3, random_state=0)
    few, some = ([("a", one), ("b", other)]
                 for one, other in ((small, LINEAR), (short, linear_model.Ridge())))
    yield Operator("BaggingClassifier", "h", "bound").classes(
        trees=ensemble.BaggingClassifier(small, 3, random_state=0),
        linear=ensemble.BaggingClassifier(LINEAR, 2, random_state=0))
    yield Operator("BaggingRegressor", "h", "equal").models(
        trees=ensemble.BaggingRegressor(short, 3, random_state=0))
    yield Operator("StackingClassifier", "h", "bound").classes(
        standard(), plain=ensemble.StackingClassifier(few, cv=2))
    yield Operator("StackingRegressor", "h", "bound").models(
        standard(), plain=ensemble.StackingRegressor(some, final_estimator=linear_model.Ridge(), cv=2))
    yield Operator("MultiOutputRegressor", "h", "bound").models(
        goal="several", trees=multioutput.MultiOutputRegressor(short),
        linear=multioutput.MultiOutputRegressor(linear_model.Ridge()))
    yield Operator("RegressorChain", "h", "bound", absent=ALL).models(
        goal="several", linear=multioutput.RegressorChain(linear_model.Ridge()))
    yield Operator("GridSearchCV", "h", "equal").classes(
        trees=model_selection.GridSearchCV(small, {"max_depth": [2, 3]}, cv=2))


def _scalers():
    pre = preprocessing
    yield Operator("StandardScaler", "HC", "equal").steps(
        plain=standard(), centred=standard(with_std=False), scaled=standard(with_mean=False))
    yield Operator("RobustScaler", "HC", "equal").steps(
        plain=pre.RobustScaler(), quantiles=pre.RobustScaler(quantile_range=(10, 80)))
    yield Operator("MaxAbsScaler", "HC", "equal").steps(plain=pre.MaxAbsScaler())
    yield Operator("MinMaxScaler", "HC", "equal").steps(
        plain=pre.MinMaxScaler(), clipped=pre.MinMaxScaler((-1, 2), clip=True))
    yield Operator("Binarizer", "HC", "equal").steps(
        plain=pre.Binarizer(), threshold=pre.Binarizer(threshold=0.3))
    yield Operator("Normalizer", "HC", "bound", no_doubles=("max",)).steps(
        behind=LINEAR, **{norm: pre.Normalizer(norm) for norm in ("l1", "l2", "max")})
    # In the file for double precision, skl2onnx joins columns of two types.
    yield Operator("PolynomialFeatures", "HC", "equal", no_doubles=("plain",)).steps(
        plain=pre.PolynomialFeatures(),
        interactions=pre.PolynomialFeatures(3, interaction_only=True, include_bias=False))
    yield Operator("KBinsDiscretizer", "H", "equal", absent=("onehot",)).steps(**{
        encode: pre.KBinsDiscretizer(4, encode=encode, strategy=strategy, random_state=0)
        for encode, strategy in (("onehot", "quantile"), ("onehot-dense", "uniform"), ("ordinal", "kmeans"))})


def _columns():
    pre, sel, parts = preprocessing, feature_selection, decomposition
    imputers = Operator("SimpleImputer", "H", "equal").steps(
        has_gaps=True, mean=impute.SimpleImputer(), median=impute.SimpleImputer(strategy="median"),
        frequent=impute.SimpleImputer(strategy="most_frequent"),
        constant=impute.SimpleImputer(strategy="constant", fill_value=-1.5))
    # skl2onnx drops the indicator columns, so the model must not read them.
    filled = make(impute.SimpleImputer(add_indicator=True), TREE)
    imputers.variants.append(Variant("indicator", "before a model", filled, "three", True))
    yield imputers
    indicators = Operator("MissingIndicator", "H", "equal", absent=ALL)
    for option in ("all", "missing-only"):
        indicators.variants.append(Variant(
            option, "before a model", make(impute.MissingIndicator(features=option), TREE), "three", True))
    yield indicators
    yield Operator("SelectKBest", "HC", "equal").steps(standard(), plain=sel.SelectKBest(k=3))
    yield Operator("SelectPercentile", "H", "equal").steps(
        standard(), plain=sel.SelectPercentile(percentile=50))
    yield Operator("VarianceThreshold", "HC", "equal").steps(plain=sel.VarianceThreshold(3.0))
    yield Operator("PCA", "H", "bound").steps(
        standard(), behind=LINEAR, plain=parts.PCA(3), whitened=parts.PCA(3, whiten=True))
    yield Operator("KernelPCA", "H", "bound").steps(standard(), behind=LINEAR, **{
        kernel: parts.KernelPCA(3, kernel=kernel) for kernel in (*KERNELS, "cosine")})
    yield Operator("TruncatedSVD", "H", "bound").steps(
        standard(), behind=LINEAR, plain=parts.TruncatedSVD(3, random_state=0))
    yield Operator("FastICA", "H", "bound", absent=ALL).steps(
        standard(), behind=LINEAR, plain=parts.FastICA(3, whiten="unit-variance", random_state=0))
    yield Operator("PLSRegression", "h", "bound").models(
        standard(), plain=cross_decomposition.PLSRegression(2))

    def encoder(**options):
        return ColumnTransformer([("words", pre.OneHotEncoder(**options), [4, 5])], sparse_threshold=0)

    yield Operator("OneHotEncoder", "H", "equal").steps(
        plain=encoder(), ignored=encoder(handle_unknown="ignore"), dropped=encoder(drop="first"))
    yield Operator("ColumnTransformer", "h", "equal").steps(plain=ColumnTransformer(
        [("numbers", standard(), [0, 1]), ("words", pre.OneHotEncoder(), [4, 5])], sparse_threshold=0))
    yield Operator("FeatureUnion", "h", "equal").steps(
        plain=pipeline.FeatureUnion([("a", standard()), ("b", pre.MinMaxScaler())]))
    yield Operator("FeatureHasher", "H", "refused", absent=ALL).models(
        goal="hash", plain=feature_extraction.FeatureHasher(4))
    encoders = Operator("LabelEncoder", "HC", "refused", no_doubles=ALL)
    yield encoders.models(goal="labels", plain=pre.LabelEncoder())
    binarizers = Operator("LabelBinarizer", "C", "refused", absent=ALL)
    yield binarizers.models(goal="labels", plain=pre.LabelBinarizer())


def operators():
    """All operators in the order of the table."""
    for family in (_trees, _linear, _kernels, _nets_and_bayes, _compound, _scalers, _columns):
        yield from family()
