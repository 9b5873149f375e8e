"""The table of well-known estimators that schedc does not export: the reason, and what to use instead."""

from __future__ import annotations

_OUTSIDE = "run that part outside, and give schedc the numbers that it makes"

#: Reasons with help, each with the classes that it holds for.
_FAMILIES: tuple[tuple[str, str], ...] = (
    (_OUTSIDE, "CountVectorizer TfidfVectorizer HashingVectorizer TfidfTransformer FeatureHasher "
     "DictVectorizer HashingEncoder PatchExtractor"),
    ("it encodes labels, and is no model; compile and export take it as labels= of a classifier that has its "
     "numbers as classes; OrdinalEncoder and OneHotEncoder encode columns", "LabelEncoder LabelBinarizer"),
    ("it encodes several labels of a row, and is no model; fit a classifier of several targets on its "
     "numbers, such as OneVsRestClassifier, and compile that", "MultiLabelBinarizer"),
    ("it needs the training rows for each row; run that part outside, and give schedc its numbers",
     "KNNImputer IterativeImputer KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer "
     "RadiusNeighborsClassifier RadiusNeighborsRegressor RadiusNeighborsTransformer NearestNeighbors "
     "LocalOutlierFactor GaussianProcessRegressor GaussianProcessClassifier KernelDensity LabelPropagation "
     "LabelSpreading Isomap LocallyLinearEmbedding"),
    ("it predicts the weighted median of its trees, which no sum of trees is; use GradientBoostingRegressor "
     "or RandomForestRegressor", "AdaBoostRegressor"),
    ("it compares rows with all training rows by a kernel; use SVR, or Nystroem before Ridge", "KernelRidge"),
    (f"it solves a problem of optimization for each row; use PCA or TruncatedSVD, or {_OUTSIDE}",
     "DictionaryLearning MiniBatchDictionaryLearning SparseCoder SparsePCA MiniBatchSparsePCA NMF "
     "MiniBatchNMF LatentDirichletAllocation"),
    ("it has no results for rows that it was not fitted on; fit a classifier or a regressor on its results, "
     "and compile that", "AgglomerativeClustering DBSCAN HDBSCAN OPTICS SpectralClustering "
     "SpectralBiclustering SpectralCoclustering SpectralEmbedding TSNE MDS ClassicalMDS"),
    ("its search for the nearest centre is not exported; use KMeans or MiniBatchKMeans",
     "AffinityPropagation Birch BisectingKMeans"),
    ("its approximation of a kernel is not exported; use Nystroem or RBFSampler",
     "AdditiveChi2Sampler SkewedChi2Sampler PolynomialCountSketch"),
    ("its projection is not exported; use PCA, LinearDiscriminantAnalysis or PLSRegression",
     "NeighborhoodComponentsAnalysis PLSSVD BernoulliRBM"),
    ("it centres a matrix of kernels; KernelPCA, which is exported, centres its own", "KernelCenterer"),
    ("it estimates a covariance, and predicts nothing; EllipticEnvelope is exported",
     "EmpiricalCovariance GraphicalLasso GraphicalLassoCV LedoitWolf MinCovDet OAS ShrunkCovariance"),
    ("it compares scores with code words; use OneVsRestClassifier or OneVsOneClassifier",
     "OutputCodeClassifier"),
    ("its estimator_ makes the predictions; compile that", "SelfTrainingClassifier"),
    ("it predicts the same for each row, which needs no compiled model", "DummyClassifier DummyRegressor"),
    ("it is a curve of one column; use HistGradientBoostingRegressor with monotonic_cst, or "
     'CalibratedClassifierCV with method="isotonic" around a classifier', "IsotonicRegression"),
    ("it makes several statistics of each category; put TargetEncoder, CountEncoder or QuantileEncoder "
     "side by side in a FeatureUnion", "CountTargetEncoder SummaryEncoder"),
    ("it splits texts into several categories; split them outside, and use OneHotEncoder", "MultiHotEncoder"),
    ("it fits an encoder for each part of the rows or for each class; use scikit-learn's TargetEncoder",
     "NestedCVWrapper PolynomialWrapper"),
    (f"it compares the letters of texts; use OneHotEncoder, or {_OUTSIDE}", "StringSimilarityEncoder"),
    (f"it reads letters or dates; {_OUTSIDE}",
     "TextFeatures DatetimeFeatures DatetimeOrdinal DatetimeSubtraction"),
    ("it replaces values by those of a tree; give the columns to a forest, or use MeanEncoder for categories",
     "DecisionTreeEncoder DecisionTreeDiscretiser DecisionTreeFeatures"),
    ("it reads other rows beside each row; run that part outside, and give schedc its numbers",
     "LagFeatures WindowFeatures ExpandingWindowFeatures"),
    ("it removes rows, which a compiled model cannot; remove them before fit",
     "OutlierTrimmer DropMissingData"),
    ("use scikit-learn's KBinsDiscretizer, which is exported", "ArbitraryDiscretiser "
     "EqualFrequencyDiscretiser EqualWidthDiscretiser GeometricWidthDiscretiser"),
    ("use scikit-learn's SimpleImputer or MissingIndicator, which are exported",
     "AddMissingIndicator ArbitraryNumberImputer CategoricalImputer EndTailImputer MeanMedianImputer "
     "RandomSampleImputer"),
    ("use scikit-learn's PowerTransformer, MinMaxScaler(clip=True), or FunctionTransformer with a "
     "function of NumPy, which are exported",
     "ArbitraryOutlierCapper Winsorizer ArcSinhTransformer ArcsinTransformer BoxCoxTransformer "
     "YeoJohnsonTransformer LogTransformer LogCpTransformer ReciprocalTransformer MeanNormalizationScaler"),
    ("use scikit-learn's PolynomialFeatures, which is exported, or compute these columns outside",
     "MathFeatures RelativeFeatures GeoDistanceFeatures"),
    ("it selects or arranges columns; do that by a ColumnTransformer, or by a selector of scikit-learn",
     "DropConstantFeatures DropCorrelatedFeatures DropDuplicateFeatures DropFeatures DropHighPSIFeatures "
     "MRMR MatchCategories MatchVariables ProbeFeatureSelection RecursiveFeatureAddition "
     "RecursiveFeatureElimination SelectByInformationValue SelectByShuffling "
     "SelectBySingleFeaturePerformance SelectByTargetMeanPerformance SmartCorrelatedSelection"),
    ("it applies a transformer of scikit-learn to some columns; do that by a ColumnTransformer",
     "SklearnTransformerWrapper"),
)
_REASONS = {name: reason for reason, names in _FAMILIES for name in names.split()}


def reason_of(name: str) -> str | None:
    """The reason to refuse a class of estimators, and what to use instead; None for classes without a row."""
    return _REASONS.get(name)
