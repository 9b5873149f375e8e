"""The table of estimators: one row for each class, with the function that converts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy

from ..findings import Unsupported
from .columns import Columns
from .graph import Graph, Value
from .refusals import reason_of
from .versions import output_container


@dataclass(frozen=True)
class Prediction:
    """The results of a model."""

    kind: str
    """`classifier`, `targets`, `regressor`, `outliers`, `clusters` or `mixture`."""
    variable: Value | None = None
    """The predictions of a regressor, `[n_rows, n_outputs]`."""
    is_table: bool = False
    """Whether the object predicts a table, even of a single column."""
    index: Value | None = None
    """The index of the predicted class, `[n_rows]`."""
    classes: Any = None
    """The labels that `predict` chooses from."""
    probabilities: Value | None = None
    margins: Value | None = None
    """The result of `decision_function`: one column for two classes, otherwise one for each class."""
    scores: Value | None = None
    """The result of `score_samples`."""
    distances: Value | None = None
    """The result of `transform`: the distance from each centre."""
    joint: Value | None = None
    """Logarithms of the classes' likelihoods, from which `predict_log_proba` is computed."""
    targets: tuple[Prediction, ...] = ()
    """The classifier of each of several targets, in the order of the labels' columns. Only its `index` and
    `classes` are used."""


#: The module and the function that converts an estimator, by its class. Derived classes are refused, since
#: they may compute something else.
_TRANSFORMERS: dict[str, str] = {
    "sklearn.Pipeline": "compose:pipeline",
    "imblearn.Pipeline": "compose:pipeline",
    "sklearn.ColumnTransformer": "compose:column_transformer",
    "sklearn.FeatureUnion": "compose:feature_union",
    "sklearn.FunctionTransformer": "compose:function_transformer",
    "sklearn.SimpleImputer": "imputers:simple_imputer",
    "sklearn.MissingIndicator": "imputers:missing_indicator",
    "sklearn.StandardScaler": "scalers:standard_scaler",
    "sklearn.MinMaxScaler": "scalers:min_max_scaler",
    "sklearn.MaxAbsScaler": "scalers:max_abs_scaler",
    "sklearn.RobustScaler": "scalers:robust_scaler",
    "sklearn.Normalizer": "scalers:normalizer",
    "sklearn.PolynomialFeatures": "scalers:polynomial_features",
    "sklearn.PowerTransformer": "curves:power_transformer",
    "sklearn.QuantileTransformer": "curves:quantile_transformer",
    "sklearn.SplineTransformer": "curves:spline_transformer",
    "sklearn.PCA": "dense:projection",
    "sklearn.IncrementalPCA": "dense:projection",
    "sklearn.TruncatedSVD": "dense:projection",
    "sklearn.FastICA": "dense:projection",
    "sklearn.GaussianRandomProjection": "dense:projection",
    "sklearn.SparseRandomProjection": "dense:projection",
    "sklearn.FactorAnalysis": "dense:factors",
    "sklearn.LinearDiscriminantAnalysis": "dense:discriminant_axes",
    "sklearn.KernelPCA": "features:kernel_components",
    "sklearn.Nystroem": "features:nystroem",
    "sklearn.RBFSampler": "features:fourier",
    "sklearn.FeatureAgglomeration": "features:agglomeration",
    "sklearn.KMeans": "clusters:center_distances",
    "sklearn.MiniBatchKMeans": "clusters:center_distances",
    "sklearn.Binarizer": "bins:binarizer",
    "sklearn.KBinsDiscretizer": "bins:k_bins",
    "sklearn.RandomTreesEmbedding": "leaves:random_trees",
    "sklearn.OneHotEncoder": "encoders:one_hot",
    "sklearn.OrdinalEncoder": "encoders:ordinal",
    "sklearn.TargetEncoder": "encoders:target",
}

#: Encoders of category_encoders and feature-engine, which map categories to numbers or texts.
TABLES = {
    "category_encoders": (
        "BackwardDifferenceEncoder", "BaseNEncoder", "BinaryEncoder", "CatBoostEncoder", "CountEncoder",
        "GLMMEncoder", "GrayEncoder", "HelmertEncoder", "JamesSteinEncoder", "LeaveOneOutEncoder",
        "MEstimateEncoder", "OneHotEncoder", "OrdinalEncoder", "PolynomialEncoder", "QuantileEncoder",
        "RankHotEncoder", "SumEncoder", "TargetEncoder", "WOEEncoder",
    ),
    "feature_engine": (
        "CountFrequencyEncoder", "MeanEncoder", "OneHotEncoder", "OrdinalEncoder", "RareLabelEncoder",
        "WoEEncoder",
    ),
}
_TRANSFORMERS.update(
    (f"{library}.{name}", "frames:frame_encoder") for library, names in TABLES.items() for name in names
)

#: The key of feature-engine's sines and cosines, which pass other columns of a table on as encoders do.
CYCLICAL = "feature_engine.CyclicalFeatures"
_TRANSFORMERS[CYCLICAL] = "cyclical:cyclical_features"

_MODELS: dict[str, str] = {
    "sklearn.Pipeline": "compose:pipeline_model",
    "imblearn.Pipeline": "compose:pipeline_model",
    "sklearn.DecisionTreeClassifier": "forests:tree_classifier",
    "sklearn.ExtraTreeClassifier": "forests:tree_classifier",
    "sklearn.DecisionTreeRegressor": "forests:tree_regressor",
    "sklearn.ExtraTreeRegressor": "forests:tree_regressor",
    "sklearn.RandomForestClassifier": "forests:forest_classifier",
    "sklearn.ExtraTreesClassifier": "forests:forest_classifier",
    "sklearn.RandomForestRegressor": "forests:forest_regressor",
    "sklearn.ExtraTreesRegressor": "forests:forest_regressor",
    "sklearn.GradientBoostingClassifier": "boosting:boosting_classifier",
    "sklearn.GradientBoostingRegressor": "boosting:boosting_regressor",
    "sklearn.HistGradientBoostingClassifier": "boosting:histogram_classifier",
    "sklearn.HistGradientBoostingRegressor": "boosting:histogram_regressor",
    "sklearn.LinearRegression": "linear:regressor",
    "sklearn.Ridge": "linear:regressor",
    "sklearn.RidgeCV": "linear:regressor",
    "sklearn.Lasso": "linear:regressor",
    "sklearn.LassoCV": "linear:regressor",
    "sklearn.ElasticNet": "linear:regressor",
    "sklearn.ElasticNetCV": "linear:regressor",
    "sklearn.Lars": "linear:regressor",
    "sklearn.LarsCV": "linear:regressor",
    "sklearn.LassoLars": "linear:regressor",
    "sklearn.LassoLarsCV": "linear:regressor",
    "sklearn.LassoLarsIC": "linear:regressor",
    "sklearn.OrthogonalMatchingPursuit": "linear:regressor",
    "sklearn.OrthogonalMatchingPursuitCV": "linear:regressor",
    "sklearn.BayesianRidge": "linear:regressor",
    "sklearn.ARDRegression": "linear:regressor",
    "sklearn.HuberRegressor": "linear:regressor",
    "sklearn.SGDRegressor": "linear:regressor",
    "sklearn.PassiveAggressiveRegressor": "linear:regressor",
    "sklearn.TheilSenRegressor": "linear:regressor",
    "sklearn.QuantileRegressor": "linear:regressor",
    "sklearn.LinearSVR": "linear:regressor",
    "sklearn.MultiTaskLasso": "linear:regressor",
    "sklearn.MultiTaskLassoCV": "linear:regressor",
    "sklearn.MultiTaskElasticNet": "linear:regressor",
    "sklearn.MultiTaskElasticNetCV": "linear:regressor",
    "sklearn.PLSRegression": "dense:latent_regressor",
    "sklearn.PLSCanonical": "dense:latent_regressor",
    "sklearn.CCA": "dense:latent_regressor",
    "sklearn.PoissonRegressor": "linear:generalized",
    "sklearn.GammaRegressor": "linear:generalized",
    "sklearn.TweedieRegressor": "linear:generalized",
    "sklearn.LogisticRegression": "linear:logistic",
    "sklearn.LogisticRegressionCV": "linear:logistic",
    "sklearn.RidgeClassifier": "linear:classifier",
    "sklearn.RidgeClassifierCV": "linear:classifier",
    "sklearn.LinearSVC": "linear:classifier",
    "sklearn.PassiveAggressiveClassifier": "linear:classifier",
    "sklearn.SGDClassifier": "linear:descent",
    "sklearn.Perceptron": "linear:descent",
    "sklearn.LinearDiscriminantAnalysis": "linear:discriminant",
    "sklearn.QuadraticDiscriminantAnalysis": "dense:quadratic",
    "sklearn.SVC": "vectors:classifier",
    "sklearn.NuSVC": "vectors:classifier",
    "sklearn.SVR": "vectors:regressor",
    "sklearn.NuSVR": "vectors:regressor",
    "sklearn.OneClassSVM": "vectors:one_class",
    "sklearn.SGDOneClassSVM": "vectors:linear_one_class",
    "sklearn.EllipticEnvelope": "mixtures:elliptic",
    "sklearn.GaussianMixture": "mixtures:gaussian",
    "sklearn.BayesianGaussianMixture": "mixtures:bayesian",
    "sklearn.KMeans": "clusters:centers",
    "sklearn.MiniBatchKMeans": "clusters:centers",
    "sklearn.MeanShift": "clusters:centers",
    "sklearn.NearestCentroid": "clusters:centroids",
    "sklearn.MLPClassifier": "dense:net_classifier",
    "sklearn.MLPRegressor": "dense:net_regressor",
    "sklearn.GaussianNB": "bayes:gaussian",
    "sklearn.MultinomialNB": "bayes:multinomial",
    "sklearn.ComplementNB": "bayes:complement",
    "sklearn.BernoulliNB": "bayes:bernoulli",
    "sklearn.CategoricalNB": "bayes:categorical",
    "sklearn.BaggingClassifier": "ensembles:bagging_classifier",
    "sklearn.BaggingRegressor": "ensembles:bagging_regressor",
    "sklearn.AdaBoostClassifier": "ensembles:ada_boost_classifier",
    "sklearn.IsolationForest": "ensembles:isolation_forest",
    "sklearn.RFE": "selection:model",
    "sklearn.RFECV": "selection:model",
    "sklearn.VotingClassifier": "compound:voting_classifier",
    "sklearn.VotingRegressor": "compound:voting_regressor",
    "sklearn.StackingClassifier": "compound:stacking_classifier",
    "sklearn.StackingRegressor": "compound:stacking_regressor",
    "sklearn.CalibratedClassifierCV": "compound:calibrated",
    "sklearn.FixedThresholdClassifier": "thresholds:threshold_classifier",
    "sklearn.TunedThresholdClassifierCV": "thresholds:threshold_classifier",
    "sklearn.OneVsRestClassifier": "compound:one_vs_rest",
    "sklearn._ConstantPredictor": "compound:constant",
    "sklearn.OneVsOneClassifier": "compound:one_vs_one",
    "sklearn.MultiOutputClassifier": "targets:multi_output",
    "sklearn.ClassifierChain": "targets:chain",
    "sklearn.MultiOutputRegressor": "compound:multi_output_regressor",
    "sklearn.RegressorChain": "compound:regressor_chain",
    "sklearn.TransformedTargetRegressor": "compound:transformed_target",
    "xgboost.XGBClassifier": "boosters:xgboost_classifier",
    "xgboost.XGBRFClassifier": "boosters:xgboost_classifier",
    "xgboost.XGBRegressor": "boosters:xgboost_regressor",
    "xgboost.XGBRFRegressor": "boosters:xgboost_regressor",
    "xgboost.XGBRanker": "boosters:xgboost_regressor",
    "catboost.CatBoostClassifier": "oblivious:classifier",
    "catboost.CatBoostRegressor": "oblivious:regressor",
    "lightgbm.LGBMClassifier": "boosters:lightgbm_classifier",
    "lightgbm.LGBMRegressor": "boosters:lightgbm_regressor",
    "lightgbm.LGBMRanker": "boosters:lightgbm_regressor",
}

#: The attribute with the fitted estimator that makes the predictions, for estimators that hold one.
_HOLDERS = {
    "GridSearchCV": "best_estimator_",
    "RandomizedSearchCV": "best_estimator_",
    "HalvingGridSearchCV": "best_estimator_",
    "HalvingRandomSearchCV": "best_estimator_",
    "FrozenEstimator": "estimator",
    "RANSACRegressor": "estimator_",
}


def key_of(estimator: Any) -> str:
    """The name of an estimator's class in the tables, such as `sklearn.StandardScaler`."""
    kind = type(estimator)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def held(estimator: Any) -> Any:
    """The estimator inside another one that makes its predictions, such as the best one of a search."""
    while True:
        attribute = _HOLDERS.get(type(estimator).__name__)
        inner = getattr(estimator, attribute, None) if attribute else None
        if inner is None:
            return estimator
        estimator = inner


def answering(estimator: Any) -> Any:
    """The estimator whose predictions an object returns: its last step, or the model of a selector."""
    while True:
        estimator = held(estimator)
        steps = getattr(estimator, "steps", None)
        if isinstance(steps, list) and steps:
            estimator = steps[-1][1]
        elif selects(estimator):
            estimator = estimator.estimator_
        else:
            return estimator


def selects(estimator: Any) -> bool:
    """Whether an estimator selects columns, and predicts by a model that reads these columns."""
    return _MODELS.get(key_of(estimator)) == "selection:model"


def thresholded(estimator: Any) -> Any:
    """The classifier whose scores an estimator compares with a threshold; None for other estimators."""
    if not _MODELS.get(key_of(estimator), "").startswith("thresholds:"):
        return None
    return getattr(estimator, "estimator_", estimator.estimator)


def scoring(estimator: Any) -> Any:
    """The classifier whose scores an object returns: that below all thresholds."""
    while (inner := thresholded(estimator)) is not None:
        estimator = answering(inner)
    return estimator


def log_rule(estimator: Any) -> tuple[str, float]:
    """The rule by which a classifier computes `predict_log_proba`: from probabilities (`shares`), or from
    scores that are logarithms (`scores`). The number replaces a probability of 0 in the logarithm."""
    estimator = scoring(estimator)
    kinds = {kind.__name__ for kind in type(estimator).__mro__}
    if kinds & {"_BaseNB", "DiscriminantAnalysisPredictionMixin"}:
        return "scores", 0.0
    return "shares", float(numpy.finfo("float64").tiny) if "LinearDiscriminantAnalysis" in kinds else 0.0


def is_model(estimator: Any) -> bool:
    """Whether the table has a model of this class."""
    estimator = held(estimator)
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps:
        return is_model(steps[-1][1])
    # A selector predicts if its model does.
    return key_of(estimator) in _MODELS and hasattr(estimator, "predict")


def is_known(estimator: Any) -> bool:
    """Whether the tables have a row for an estimator of this class."""
    key = key_of(held(estimator))
    return key in _TRANSFORMERS or key in _MODELS


def transform(graph: Graph, estimator: Any, columns: Columns) -> Columns:
    """Adds a transformer to the graph, by the function of its row in the table.

    Raises Unsupported for transformers without a row in the table, and for options that have no exact form.
    """
    from .selection import kept

    estimator = held(estimator)
    key = key_of(estimator)
    row = _TRANSFORMERS.get(key)
    output = output_container(estimator)
    if row is not None:
        made: Columns = _function(row)(graph, estimator, columns)
    elif (positions := kept(estimator, key)) is not None:
        # A selector that returns frames keeps the types of the columns of a frame of pandas.
        keeps = output != "default" and not columns.opaque
        made = (columns if keeps else columns.as_array(graph)).take(positions)
    else:
        raise refusal(graph, estimator)
    # The last step of a pipeline has determined the container.
    if hasattr(estimator, "steps") or (made is columns and output == "default"):
        return made
    return replace(made, opaque=output == "polars")


def predict(graph: Graph, estimator: Any, columns: Columns) -> Prediction:
    """Adds a model to the graph, by the function of its row in the table.

    Raises Unsupported, as `transform` does.
    """
    estimator = held(estimator)
    row = _MODELS.get(key_of(estimator))
    if row is None:
        raise refusal(graph, estimator)
    made: Prediction = _function(row)(graph, estimator, columns)
    return made


def refuse(graph: Graph, estimator: Any, reason: str) -> Unsupported:
    """The error for an option of an estimator."""
    where = f" (step {graph.path})" if graph.path else ""
    return Unsupported(f"the {type(estimator).__name__}{where} {reason}")


def refuse_sparse(graph: Graph, estimator: Any, does: str) -> Unsupported:
    """The error for an estimator that schedc exports only for dense columns. `does` is a verb."""
    way = "" if graph.rows_are_sparse else "; set sparse_output=False in the encoder before it"
    return refuse(graph, estimator, f"{does} a sparse matrix{way}")


def refusal(graph: Graph, estimator: Any) -> Unsupported:
    """The error for an estimator without a row in the table."""
    name = type(estimator).__name__
    where = f" (step {graph.path})" if graph.path else ""
    known = {one.partition(".")[2] for one in (*_TRANSFORMERS, *_MODELS)}
    if (advice := reason_of(name)) is not None:
        reason = advice
    elif name in known:
        reason = f"it is not scikit-learn's {name}, so that it may compute something else"
    else:
        reason = ("docs/pipelines.md lists the estimators that schedc exports; use one of these, or "
                  "run that part outside, and give schedc its numbers")
    return Unsupported(f"schedc does not export {type(estimator).__module__}.{name}{where}: {reason}")


def _function(row: str) -> Callable[..., Any]:
    module, _, name = row.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), name)
    return function
