"""Pipelines of many kinds with rows, and the results of their exported files."""

import json

import numpy
import onnx
import onnxruntime
import pandas
from releases import has, since
from sklearn import (
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
    pipeline,
    preprocessing,
    random_projection,
    svm,
    tree,
)

make = pipeline.make_pipeline
NUMBERS = ["age", "income", "hours", "distance"]
WORDS = ["city", "floor"]


def data():
    """A table with values on grids, missing values and a rare category, and in its second half an unseen
    category."""
    source = numpy.random.default_rng(3)
    n = 400
    table = pandas.DataFrame({
        "age": source.integers(18, 80, n).astype(float),
        "income": numpy.round(source.lognormal(10, 0.5, n), -2),
        "hours": numpy.round(source.normal(38, 8, n), 1),
        "distance": numpy.round(source.exponential(5, n), 2),
    })
    score = (table.age / 20 + table.hours / 10 + source.normal(0, 0.8, n)).to_numpy()
    table = table.mask(source.random(table.shape) < 0.08)
    cities = ["Rome", "Oslo", "Lima", "Bonn", "Cork"]
    table["city"] = source.choice(cities, n, p=[0.5, 0.3, 0.14, 0.04, 0.02])
    table.loc[source.random(n) < 0.08, "city"] = numpy.nan
    table["floor"] = source.integers(0, 6, n)
    classes = numpy.digitize(score, numpy.quantile(score, [0.4, 0.7]))
    goals = {"number": numpy.round(score, 3), "three": classes, "two": (classes > 0).astype(int),
             "words": numpy.array(["no", "yes"])[(classes > 0).astype(int)]}
    return table, goals


TABLE, GOALS = data()


def forest(kind=ensemble.RandomForestClassifier, **options):
    return kind(n_estimators=5, max_depth=5, random_state=0, **options)


def boosted(kind=ensemble.GradientBoostingClassifier, **options):
    return kind(n_estimators=4, random_state=0, **options)


def histogram(kind=ensemble.HistGradientBoostingClassifier, **options):
    return kind(max_iter=4, max_leaf_nodes=6, random_state=0, **options)


def columns(words, *numbers, **options):
    whole = make(*numbers) if numbers else "passthrough"
    return compose.ColumnTransformer([("num", whole, NUMBERS), ("cat", words, WORDS)], **options)


def one_hot(**options):
    return preprocessing.OneHotEncoder(**{"handle_unknown": "ignore", **options})


def imputed(*steps, **options):
    return make(impute.SimpleImputer(**options), *steps)


def cases():
    """Pipelines, their kind of rows, the target, and the promise of the last output: `equal`, `bound` or
    `outside`."""
    pre, sel, lin, ens = preprocessing, feature_selection, linear_model, ensemble
    standard = pre.StandardScaler
    regressor = ens.RandomForestRegressor
    # Numbers before forests: a single different rounding would change predictions.
    for scaler in (standard(), pre.MinMaxScaler(), pre.MinMaxScaler((-1, 1), clip=True), pre.RobustScaler(),
                   pre.MaxAbsScaler(), standard(with_mean=False), pre.Normalizer("max")):
        yield imputed(scaler, forest()), "array", "two", "equal"
    yield make(standard(), forest()), "array", "words", "equal"
    yield make(forest()), "array", "three", "equal"
    yield imputed(standard(), forest(ens.ExtraTreesClassifier)), "array", "three", "equal"
    yield imputed(standard(), forest(regressor)), "array", "number", "equal"
    yield imputed(standard(), pre.Normalizer(), forest()), "array", "two", "outside"
    yield imputed(forest(), strategy="median", add_indicator=True), "array", "two", "equal"
    yield imputed(forest(), strategy="most_frequent"), "array", "two", "equal"
    yield imputed(forest(), strategy="constant", fill_value=-1.5), "array", "two", "equal"
    yield imputed(impute.SimpleImputer(missing_values=18.0), forest()), "array", "two", "equal"
    yield make(impute.MissingIndicator(features="all"), forest()), "array", "two", "equal"
    # Steps without result columns.
    none = sel.SelectKBest(k=0)
    yield imputed(impute.SimpleImputer(add_indicator=True), forest()), "array", "two", "equal"
    yield imputed(pipeline.FeatureUnion([("a", "passthrough"), ("b", impute.MissingIndicator()), ("c", none)],
                                        transformer_weights={"b": 2.0}), forest()), "array", "two", "equal"
    picked = compose.ColumnTransformer([("n", standard(), []), ("o", one_hot(drop="first"), [])])
    yield imputed(pipeline.make_union("passthrough", picked), forest()), "array", "two", "equal"
    yield imputed(pre.Binarizer(threshold=38.1), forest()), "array", "two", "equal"
    for encode in ("onehot", "onehot-dense", "ordinal"):
        for strategy in ("uniform", "quantile", "kmeans"):
            bins = pre.KBinsDiscretizer(4, encode=encode, strategy=strategy, random_state=0)
            yield imputed(bins, forest()), "array", "two", "equal"
    for terms in (pre.PolynomialFeatures(3), pre.PolynomialFeatures((2, 3)),
                  pre.PolynomialFeatures(3, interaction_only=True, include_bias=False)):
        yield imputed(terms, forest()), "array", "two", "equal"
    for chosen in (sel.SelectKBest(k=2), sel.SelectPercentile(percentile=50), sel.VarianceThreshold(),
                   sel.SelectFromModel(tree.DecisionTreeClassifier(max_depth=3, random_state=0)),
                   sel.RFE(lin.LogisticRegression(), n_features_to_select=2)):
        yield imputed(standard(), chosen, forest()), "array", "two", "equal"
    union = pipeline.FeatureUnion([("plain", "passthrough"), ("scaled", standard()), ("none", "drop")],
                                  transformer_weights={"scaled": 0.3})
    yield make(union, forest()), "array", "two", "equal"
    empty = [("none", None), ("also", "passthrough")]
    yield pipeline.Pipeline([*empty, ("f", forest())]), "array", "two", "equal"
    yield make(pre.FunctionTransformer(), forest()), "array", "two", "equal"
    for curve in (pre.QuantileTransformer(n_quantiles=20), pre.PowerTransformer(), pre.SplineTransformer(),
                  pre.QuantileTransformer(n_quantiles=30, output_distribution="normal"),
                  pre.SplineTransformer(degree=2, knots="quantile", include_bias=False, n_knots=4)):
        has_functions = isinstance(curve, pre.PowerTransformer) or "normal" in str(curve)
        promise = "outside" if has_functions else "equal"
        yield imputed(curve, forest()), "array", "two", promise
        yield imputed(curve, lin.LogisticRegression()), "array", "two", "bound"
    # Categories.
    for encoder in (one_hot(), one_hot(min_frequency=30), one_hot(max_categories=3), one_hot(drop="first"),
                    one_hot(handle_unknown="infrequent_if_exist", min_frequency=30),
                    one_hot(handle_unknown="infrequent_if_exist", min_frequency=30, drop="first"),
                    one_hot(drop="if_binary"),
                    one_hot(handle_unknown="error"), one_hot(sparse_output=False, dtype="float32")):
        yield make(columns(encoder, impute.SimpleImputer(), standard()), forest()), "table", "words", "equal"
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    for encoder in (pre.OrdinalEncoder(), pre.OrdinalEncoder(**unknown),
                    pre.OrdinalEncoder(**unknown, encoded_missing_value=-2, min_frequency=30),
                    pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=numpy.nan),
                    pre.TargetEncoder(random_state=0)):
        yield make(columns(encoder), histogram()), "table", "two", "bound"
        yield make(columns(encoder, impute.SimpleImputer()), forest(regressor)), "table", "number", "equal"
    fill = make(impute.SimpleImputer(strategy="most_frequent"), one_hot())
    yield make(columns(fill, impute.SimpleImputer()), forest()), "table", "two", "equal"
    fill = make(impute.SimpleImputer(strategy="constant", fill_value="none"), one_hot())
    place = compose.ColumnTransformer([("c", fill, ["city"]), ("out", "drop", [5])], remainder=standard())
    yield make(place, forest()), "table", "two", "equal"
    for chosen in (slice(0, 3), [0, 2], [True, False, True, False, False, False],
                   compose.make_column_selector(dtype_include="float64")):
        picked = compose.ColumnTransformer([("n", impute.SimpleImputer(), chosen)])
        yield make(picked, forest()), "table", "two", "equal"
    # All columns in one sparse matrix, which some scalers treat differently.
    sparse = columns(one_hot(), impute.SimpleImputer(), sparse_threshold=1.0)
    for scaler in (standard(with_mean=False), pre.MaxAbsScaler(), pre.RobustScaler(with_centering=False)):
        yield make(sparse, scaler, forest()), "table", "two", "equal"
    # Trees of all kinds.
    for words in ("two", "three"):
        yield imputed(standard(), boosted()), "array", words, "equal"
        yield make(standard(), histogram()), "array", words, "equal"
        yield imputed(ens.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=3), 3, max_features=0.7,
                                            random_state=0)), "array", words, "equal"
    yield imputed(boosted(loss="exponential")), "array", "two", "equal"
    for loss in ("squared_error", "huber", "absolute_error"):
        model = boosted(ens.GradientBoostingRegressor, loss=loss)
        yield imputed(standard(), model), "array", "number", "equal"
    for loss in ("squared_error", "absolute_error"):
        yield make(histogram(ens.HistGradientBoostingRegressor, loss=loss)), "array", "number", "equal"
    yield make(histogram(ens.HistGradientBoostingRegressor, loss="poisson")), "array", "number", "equal"
    yield since("1.4", lambda: histogram(categorical_features=[4, 5])), "table", "two", "equal"
    yield imputed(tree.DecisionTreeClassifier(max_depth=4)), "array", "three", "equal"
    yield imputed(tree.ExtraTreeRegressor(max_depth=4, random_state=0)), "array", "number", "equal"
    yield imputed(ens.IsolationForest(n_estimators=5, random_state=0)), "array", "two", "bound"
    yield imputed(ens.IsolationForest(n_estimators=5, max_features=0.6, contamination=0.1, random_state=0)), \
        "array", "two", "bound"
    # Sums.
    for model in (lin.LogisticRegression(), lin.RidgeClassifier(), lin.SGDClassifier(random_state=0),
                  lin.SGDClassifier(loss="modified_huber", random_state=0), svm.LinearSVC(), lin.Perceptron(),
                  lin.SGDClassifier(loss="log_loss", random_state=0),
                  discriminant_analysis.LinearDiscriminantAnalysis(), naive_bayes.GaussianNB(),
                  naive_bayes.BernoulliNB()):
        for words in ("words", "three"):
            yield imputed(standard(), model), "array", words, "bound"
    for model in (naive_bayes.MultinomialNB(), naive_bayes.ComplementNB()):
        yield imputed(pre.MinMaxScaler(), model), "array", "three", "bound"
    ordinal = pre.KBinsDiscretizer(4, encode="ordinal")
    yield imputed(ordinal, naive_bayes.CategoricalNB()), "array", "three", "bound"
    yield imputed(pre.KBinsDiscretizer(4), svm.LinearSVC()), "array", "three", "bound"
    yield imputed(standard(), pre.PolynomialFeatures(2), lin.LogisticRegression()), "array", "three", "bound"
    yield make(columns(one_hot(), impute.SimpleImputer(), standard()), lin.LogisticRegression()), "table", \
        "words", "bound"
    for model in (lin.LinearRegression(), lin.Ridge(), lin.Lasso(0.01), lin.ElasticNet(0.01), svm.LinearSVR(),
                  lin.SGDRegressor(random_state=0), lin.HuberRegressor(), lin.PoissonRegressor(),
                  lin.GammaRegressor(), lin.TweedieRegressor(power=1.5), lin.BayesianRidge()):
        yield imputed(standard(), model), "array", "number", "bound"
    for made in (decomposition.PCA(2), decomposition.PCA(3, whiten=True), decomposition.TruncatedSVD(2)):
        yield imputed(standard(), made, lin.LogisticRegression()), "array", "three", "bound"
    for made in (decomposition.KernelPCA(3, kernel="rbf"), decomposition.KernelPCA(2, kernel="cosine"),
                 kernel_approximation.Nystroem(n_components=20, random_state=0),
                 kernel_approximation.Nystroem("poly", degree=2, n_components=9, random_state=0),
                 kernel_approximation.RBFSampler(n_components=8, random_state=0),
                 decomposition.FactorAnalysis(2), discriminant_analysis.LinearDiscriminantAnalysis(),
                 random_projection.GaussianRandomProjection(3, random_state=0),
                 random_projection.SparseRandomProjection(3, random_state=0)):
        yield imputed(standard(), made, lin.LogisticRegression()), "array", "three", "bound"
    for pool in (numpy.mean, numpy.max):
        merged = cluster.FeatureAgglomeration(2, pooling_func=pool)
        yield imputed(standard(), merged, forest()), "array", "two", "equal"
    for model in (cross_decomposition.PLSRegression(2), cross_decomposition.CCA(1)):
        yield imputed(model), "array", "number", "bound"
    net = {"hidden_layer_sizes": (8, 5), "max_iter": 20, "random_state": 0}
    for model in (neural_network.MLPClassifier(**net), neural_network.MLPClassifier(activation="tanh", **net),
                  discriminant_analysis.QuadraticDiscriminantAnalysis()):
        for words in ("words", "three"):
            yield imputed(standard(), model), "array", words, "bound"
    yield imputed(standard(), neural_network.MLPRegressor(**net)), "array", "number", "bound"
    # Sums of kernels.
    for model in (svm.SVC(), svm.SVC(kernel="linear"), svm.SVC(kernel="poly", coef0=1.0), svm.NuSVC(nu=0.3),
                  svm.SVC(kernel="sigmoid", gamma=0.1)):
        for words in ("words", "three"):
            # Margins of three classes include votes of pairs of classes.
            yield imputed(standard(), model), "array", words, "bound" if words == "words" else "outside"
    for model, promise in ((svm.SVC(decision_function_shape="ovo"), "bound"),
                           (svm.SVC(break_ties=True), "outside")):
        yield imputed(standard(), model), "array", "three", promise
    yield make(columns(one_hot(), impute.SimpleImputer(), standard()), svm.SVC()), "table", "words", "bound"
    for model in (svm.SVR(), svm.NuSVR(kernel="poly", degree=2), svm.SVR(kernel="linear")):
        yield imputed(standard(), model), "array", "number", "bound"
    for model in (svm.OneClassSVM(nu=0.2), lin.SGDOneClassSVM(random_state=0)):
        yield imputed(standard(), model), "array", "two", "bound"
    # Distances.
    for priors in ("uniform", "empirical"):
        for words in ("words", "three"):
            options = {"priors": priors} if has("1.6") else {}
            centroid = neighbors.NearestCentroid(shrink_threshold=0.2, **options)
            yield imputed(standard(), centroid), "array", words, "bound" if options else "outside"
    yield imputed(standard(), neighbors.NearestCentroid(metric="manhattan")), "array", "three", "outside"
    centers = cluster.KMeans(4, n_init=1, random_state=0)
    # Clusters that were fitted in double precision refuse rows in single precision.
    first = columns(one_hot(), impute.SimpleImputer(), standard(), sparse_threshold=0.0)
    for steps in ((centers,), (cluster.MiniBatchKMeans(4, n_init=1, random_state=0),),
                  (centers, lin.LogisticRegression())):
        yield make(first, *steps), "table", "two", "bound"
    for form in ("full", "tied", "diag", "spherical"):
        few = {"n_components": 3, "covariance_type": form, "max_iter": 20, "random_state": 0}
        yield imputed(standard(), mixture.GaussianMixture(**few)), "array", "two", "bound"
        yield imputed(standard(), mixture.BayesianGaussianMixture(**few)), "array", "two", "bound"
    yield imputed(standard(), covariance.EllipticEnvelope(random_state=0)), "array", "two", "bound"
    # Estimators that combine others.
    few = [("a", forest()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0))]
    some = [("a", forest(regressor)), ("b", tree.DecisionTreeRegressor(max_depth=3, random_state=0))]
    for words in ("words", "three"):
        for model, promise in (
            (ens.VotingClassifier(few), "equal"),
            (ens.VotingClassifier(few, voting="soft", weights=[2, 0.7]), "equal"),
            (ens.StackingClassifier(few, cv=2), "bound"),
            (ens.StackingClassifier(few, cv=2, passthrough=True, final_estimator=forest()), "equal"),
            (calibration.CalibratedClassifierCV(forest(), cv=2), "bound"),
            (calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2, method="isotonic"), "bound"),
            (multiclass.OneVsRestClassifier(boosted()), "equal"),
            (multiclass.OneVsRestClassifier(lin.LogisticRegression()), "bound"),
            (multiclass.OneVsOneClassifier(lin.LogisticRegression()), "outside"),
            (multiclass.OneVsOneClassifier(svm.SVC()), "outside"),
            (multiclass.OneVsOneClassifier(forest()), "bound"),
            (ens.BaggingClassifier(lin.LogisticRegression(), 3, random_state=0), "bound"),
        ):
            yield imputed(standard(), model), "array", words, promise
    yield imputed(ens.VotingRegressor(some, weights=[1, 0.3])), "array", "number", "equal"
    yield imputed(ens.StackingRegressor(some, final_estimator=lin.Ridge(), cv=2)), "array", "number", "bound"
    log = {"func": numpy.log1p, "inverse_func": numpy.expm1}
    yield imputed(compose.TransformedTargetRegressor(forest(regressor), **log)), "array", "number", "bound"
    yield imputed(compose.TransformedTargetRegressor(forest(regressor), transformer=standard())), "array", \
        "number", "equal"
    choices = {"simpleimputer__strategy": ["mean"]}
    search = model_selection.GridSearchCV(imputed(standard(), forest()), choices, cv=2)
    yield search, "array", "two", "equal"
    # Leaves of trees as columns.
    def leaves(**options):
        return ens.RandomTreesEmbedding(**{"n_estimators": 6, "max_depth": 4, "random_state": 0, **options})

    for model in (lin.LogisticRegression(), naive_bayes.MultinomialNB(), svm.LinearSVC()):
        for words in ("words", "three"):
            yield imputed(leaves(), model), "array", words, "bound"
    yield imputed(standard(), leaves(), lin.Ridge()), "array", "number", "bound"
    yield imputed(leaves(), naive_bayes.BernoulliNB()), "array", "three", "bound"
    yield imputed(leaves(sparse_output=False), naive_bayes.GaussianNB()), "array", "three", "bound"
    yield imputed(leaves(), neural_network.MLPClassifier(**net)), "array", "three", "bound"
    yield imputed(leaves(), forest()), "array", "three", "equal"
    for parts in ((leaves(), standard()), (standard(), leaves())):
        yield imputed(pipeline.make_union(*parts), lin.LogisticRegression()), "array", "three", "bound"
    part = ("leaves", make(impute.SimpleImputer(), leaves()), NUMBERS)
    beside = compose.ColumnTransformer([("words", one_hot(), WORDS), part])
    yield make(beside, lin.LogisticRegression()), "table", "three", "bound"
    for few in (leaves(), leaves(n_estimators=1),
                leaves(sparse_output=False, max_depth=None, max_leaf_nodes=9)):
        yield imputed(few), "array", "two", "equal"
    # Pipelines without a model.
    yield imputed(standard(), pre.MinMaxScaler()), "array", "two", "equal"
    yield columns(one_hot(sparse_output=False), impute.SimpleImputer()), "table", "two", "equal"


def feeds(proto, rows):
    """Rows as inputs: a tensor X, or a column for each input, with empty texts for missing ones."""
    if [one.name for one in proto.graph.input] == ["X"]:
        kind = {1: "float32", 7: "int64", 11: "float64"}[proto.graph.input[0].type.tensor_type.elem_type]
        return {"X": numpy.asarray(rows, kind)}
    made = {}
    for one in proto.graph.input:
        cells = rows[one.name].to_numpy()
        if one.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            cells = numpy.array(["" if cell is None or cell != cell else cell for cell in cells], object)
        made[one.name] = cells.reshape(-1, 1)
    return made


def results(path, rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds(onnx.load(path), rows))))


def theirs(model, name, rows):
    call = {"label": "predict", "probabilities": "predict_proba", "margins": "decision_function",
            "scores": "score_samples", "distances": "transform",
            "variable": "predict" if hasattr(model, "predict") else "transform"}
    found = getattr(model, call[name])(rows)
    return found.toarray() if hasattr(found, "toarray") else numpy.asarray(found)


def about(path):
    (entry,) = [one.value for one in onnx.load(path).metadata_props if one.key == "schedc.pipeline"]
    return json.loads(entry)


def kinds(case):
    """The types of a case's rows. With NumPy 1, scikit-learn's splines are NaN at outer knots in float32."""
    model, form, _, _ = case
    is_wrong = "SplineTransformer" in str(model) and not has("2.0", "numpy")
    return ("float64",) if form == "table" or is_wrong else ("float64", "float32")


def fitted(case, kind="float64"):
    model, form, goal, promise = case
    rows = TABLE if form == "table" else TABLE[NUMBERS].to_numpy("float64")
    model.fit(rows, GOALS[goal])
    return model, rows if form == "table" else rows.astype(kind)
