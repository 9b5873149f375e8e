"""Sources of models: files, and objects that a trainer has fitted."""

from __future__ import annotations

import copy
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy

from .answers import (
    Answers, Array, ByClass, ByHalf, ByMargin, Classifier, Isolation, OfLabels, OneClass, Staged,
)
from .decisions import in_file
from .findings import Refused
from .parts import advice, init_of, without_encoder

#: The first release of Treelite whose importer of scikit-learn's forests keeps the default directions and the
#: exponential of histogram gradient boosting.
_LEAST_TREELITE = (4, 8)

#: CatBoost's losses of several labels.
CATBOOST_OF_LABELS = ("MultiLogloss", "MultiCrossEntropy")


@dataclass(frozen=True)
class Origin:
    """The bytes of a model's file, and the object's own predictions."""

    model: bytes
    name: str = "the model"
    """Name in messages."""
    iterations: str = "all"
    """The iterations that the object predicts with."""
    as_release: str | None = None
    """The trainer's release by whose rules the file is read; None for the release that saved it."""
    missing: float | None = None
    """A number that marks missing values, in addition to NaN."""
    single: bool = False
    """Whether the object rounds rows to single precision before it compares them."""
    names: tuple[str, ...] | None = None
    """The names of the features, if the object has them but the file lacks them."""
    by_position: bool = False
    """Whether the object was trained without names, and takes the columns of tables in their order."""
    encoded: tuple[tuple[int, list[int] | list[str]], ...] = ()
    """The features whose categories the object encodes, with the categories in the order of their codes."""
    family: str | None = None
    """The family of the object, which selects the comparison; None if the object cannot predict."""
    answers: Answers = field(default_factory=Answers)
    """The rules for the results of the object's methods."""
    markers: tuple[tuple[int, str], ...] = ()
    """Features with texts for which the pipeline accepts only one marker of missing texts, ``None`` or
    ``NaN``. The value is this marker."""
    row_types: str | None = None
    """The type of the rows that a pipeline was exported for, ``"f64"`` or ``"f32"``: scikit-learn computes in
    the type of its rows. None for models that do no arithmetic on rows but only compare them."""
    integers: tuple[tuple[tuple[int, ...], str, str], ...] = ()
    """Groups of features. If all features of a group are integers, a pipeline computes in their type, and the
    compiled model refuses the rows: integers of at most 16 bits (``narrow``), or of all sizes (``all``). Last
    the container of the rows: ``array``, also for frames of pandas, or ``frame`` for other frames."""
    unseen: Literal["error", "missing", "other"] | None = None
    """The treatment of unknown categories in calls that do not give it; None for the trainer's."""
    required: tuple[int, ...] = ()
    """Features with texts whose missing cells the object refuses. With ``unseen="error"``, the compiled model
    refuses them, too."""
    notes: tuple[str, ...] = ()
    """Notes on rows that the object refuses and the compiled model answers."""
    are_lightgbms: bool = False
    """Whether a pipeline has its names from LightGBM, which writes ``_`` for each blank."""
    decisions: Mapping[str, Any] | None = None
    """The rule for decision values in the metadata of an exported file."""


    def has_stages(self, trainer: str | None) -> bool:
        """Whether the first iterations of the model, which this trainer made, are a stage of its training."""
        if self.family == "scikit-learn":
            return "staged_predict" not in self.answers.lacks
        return trainer in _BOOSTED


#: Functions that load files of Python objects, by ending.
_LOADERS = {".pkl": "joblib.load", ".pickle": "joblib.load", ".joblib": "joblib.load",
            ".skops": "skops.io.load"}

#: Methods that only some estimators have.
_METHODS = ("predict_proba", "predict_log_proba", "decision_function", "score_samples", "staged_predict")

#: Trainers of boosted trees, whose stages are iterations.
_BOOSTED = ("XGBoost", "LightGBM", "CatBoost")


def origin_of(model: Any, pool: Any = None) -> Origin:
    """The origin for an object: a path, the bytes of a file, or a fitted object. ``pool`` has the training
    rows of a CatBoost object.

    Raises TypeError for objects that are no models, Refused for unfitted ones and for options that no
    model file can express, and OSError for files that cannot be read.
    """
    if pool is not None and _reader_of(model) is not _catboost_model:
        raise Refused(
            "pool= is for fitted objects of CatBoost, whose categories it names; leave it out for others"
        )
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _of_file(bytes(model))
    if isinstance(model, (str, os.PathLike)):
        loader = _LOADERS.get(Path(model).suffix.lower())
        if loader is not None:
            raise Refused(
                f"{os.fspath(model)} holds a Python object, which schedc does not load: give the object, "
                f"schedc.compile({loader}({os.fspath(model)!r}))"
            )
        return _of_file(Path(model).read_bytes(), name=os.fspath(model))
    reader = _reader_of(model)
    if reader is not None:
        _check_fitted(model)
        return _like(model, reader(model) if pool is None else _catboost_model(model, pool))
    made_of = advice(model, is_read)
    if made_of is not None:
        raise TypeError(made_of)
    is_class = isinstance(model, type)
    what = f"the class {model.__qualname__}" if is_class else f"an object of {type(model).__qualname__}"
    raise TypeError(
        f"{what} is no model that schedc reads: give the path or the bytes of a model's file, a fitted "
        "object of XGBoost, LightGBM or CatBoost, a fitted forest or pipeline of scikit-learn, or a model of "
        "ONNX or Treelite"
    )


def _of_file(content: bytes, **more: Any) -> Origin:
    """The origin for the content of a file."""
    return Origin(content, decisions=in_file(content), **more)


def _like(model: Any, origin: Origin) -> Origin:
    """The origin of an estimator, with the methods that the estimator lacks. Objects without the interface of
    scikit-learn's estimators keep their origin."""
    if not hasattr(model, "get_params"):
        return origin
    lacks = tuple(method for method in _METHODS if not hasattr(model, method))
    return replace(origin, answers=replace(origin.answers, lacks=lacks))


def _reader_of(model: Any) -> Callable[[Any], Origin] | None:
    """The function that reads an object. None if it is no model. Also None for forests that classify several
    targets, since Treelite's files lack the classes of these."""
    if hasattr(model, "classes_") and getattr(model, "n_outputs_", 1) != 1:
        return None
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(model).__mro__)
    return next((_READERS[kind] for kind in kinds if kind in _READERS), None)


def is_read(model: Any) -> bool:
    """Whether an object is of a kind that schedc compiles."""
    return _reader_of(model) is not None


def _check_fitted(model: Any) -> None:
    """Raises Refused for an unfitted estimator with scikit-learn's interface."""
    # CatBoost's estimators have is_fitted, those of scikit-learn __sklearn_is_fitted__.
    own = getattr(model, "__sklearn_is_fitted__", getattr(model, "is_fitted", None))
    is_fitted = own() if callable(own) else not hasattr(model, "fit") or hasattr(model, "n_features_in_")
    if not is_fitted:
        raise Refused(f"the {type(model).__name__} is not fitted yet: call its fit first")


def _xgboost_booster(model: Any, **more: Any) -> Origin:
    more.setdefault("answers", Answers(leaves="float32"))
    more.setdefault("family", "Booster of XGBoost")
    more.setdefault("by_position", model.feature_names is None)
    try:
        content = bytes(model.save_raw("ubj"))
    except ValueError as error:
        # XGBoost's errors are ValueErrors whose texts have a stack trace.
        if "num_feature" not in str(error):
            raise
        raise Refused(
            "the Booster is empty: train one with xgboost.train, or read a model's file into it with "
            "load_model"
        ) from None
    return Origin(content, name="the Booster", **more)


def _xgboost_model(model: Any) -> Origin:
    booster = model.get_booster()
    stopped_early = booster.attr("best_iteration") is not None
    # A random forest of XGBoost is one iteration, even after early stopping.
    iterations = f"0..{int(booster.attr('best_iteration')) + 1}" if stopped_early else "all"
    missing = model.missing
    missing = None if missing is None or numpy.isnan(missing) else float(missing)
    answers = Answers(leaves="float32")
    if hasattr(type(model), "predict_proba"):
        count = int(model.n_classes_)
        answers = ByHalf(
            leaves="float32", classes=numpy.arange(count), softmax=model.objective == "multi:softmax"
        )
    return _xgboost_booster(booster, iterations=iterations, missing=missing, answers=answers,
                            family="XGBoost")


def _lightgbm_booster(model: Any, **more: Any) -> Origin:
    best = getattr(model, "best_iteration", -1)
    iterations = f"0..{best}" if best and best > 0 else "all"
    names = model.feature_name()
    plain = names == [f"Column_{at}" for at in range(len(names))]
    text = model.model_to_string(num_iteration=-1)
    more.setdefault("family", "Booster of LightGBM")
    return Origin(
        text.encode(), name="the Booster", iterations=iterations, names=tuple(names), by_position=plain,
        **more
    )


def _lightgbm_model(model: Any) -> Origin:
    answers = Answers()
    if hasattr(type(model), "predict_proba"):
        if callable(model.objective):
            raise Refused(
                "the classifier has a custom objective, which its file does not contain; give its "
                "booster_, which predicts raw scores"
            )
        answers = Classifier(classes=numpy.asarray(model.classes_))
    return _lightgbm_booster(model.booster_, answers=answers, family="LightGBM")


def _catboost_model(model: Any, pool: Any = None) -> Origin:
    name = type(model).__name__
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        try:
            model.save_model(str(path), format="json", pool=pool)
        except Exception as error:
            if pool is None:
                raise
            raise Refused(
                f"pool= has no rows for the {name}, whose columns are "
                f"{', '.join(map(str, model.feature_names_))}: {error}"
            ) from error
        content = path.read_bytes()
    if pool is None and b'"OneHotFeature"' in content and b'"OnlineCtr"' not in content:
        raise Refused(
            f"the trees of the {name} test categories, and the object keeps only hashes of their names: give "
            "the rows that it was trained on, schedc.compile(model, pool=X_train)"
        )
    names = list(model.feature_names_ or [])
    plain = names == [str(at) for at in range(len(names))]
    answers: Answers = Answers()
    if hasattr(type(model), "predict_proba"):
        # If there is a margin for each class, labels form a column, even for two classes.
        is_column = numpy.size(model.get_scale_and_bias()[1]) > 1
        is_of_labels = model.get_all_params().get("loss_function") in CATBOOST_OF_LABELS
        classes = numpy.asarray(model.classes_)
        answers = OfLabels() if is_of_labels else ByClass(classes=classes, column=is_column)
    elif name == "CatBoost":
        # The base class CatBoost predicts margins by default.
        answers = Answers(output="raw")
    return Origin(
        content, name=f"the {name}", names=tuple(names) or None, by_position=plain, family="CatBoost",
        answers=answers
    )


def _onnx_model(model: Any) -> Origin:
    return _of_file(model.SerializeToString(), name="the ONNX model")


def _treelite_model(model: Any) -> Origin:
    return Origin(bytes(model.serialize_bytes()), name="the model of Treelite", family="Treelite")


def _treelite(name: str) -> Any:
    """Treelite, with its importer of scikit-learn's forests."""
    try:
        import treelite
        import treelite.sklearn
    except ImportError:
        raise ImportError(
            f"a {name} of scikit-learn is read by way of Treelite, which is not installed: pip install "
            "'treelite>=4.8'"
        ) from None
    found = tuple(int(part) for part in re.findall(r"[0-9]+", treelite.__version__)[:2])
    if found < _LEAST_TREELITE:
        raise ImportError(
            f"a {name} of scikit-learn is read by way of Treelite, and Treelite {treelite.__version__} "
            "loses the directions of missing values and the exponential of some losses; install 4.8 or "
            "later: pip install -U 'treelite>=4.8'"
        )
    return treelite


def _by_treelite(model: Any, answers: Answers, single: bool, **more: Any) -> Origin:
    """A forest of scikit-learn. Treelite's importer converts it exactly."""
    name = type(model).__name__
    treelite = _treelite(name)
    trees = getattr(model, "estimators_", None)
    if trees is not None:
        # Treelite's importer trusts this parameter, which differs from the number of trees after early
        # stopping or set_params.
        model = copy.copy(model)
        model.n_estimators = len(trees)
    made = treelite.sklearn.import_model(model)
    if getattr(model, "loss", None) == "exponential":
        # The probability is the sigmoid of twice the margin; Treelite's importer omits the factor.
        made.get_header_accessor().set_field("sigmoid_alpha", numpy.array([2.0], dtype="float32"))
    content = bytes(made.serialize_bytes())
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else tuple(known)
    return Origin(
        content, name=f"the {name}", single=single, names=names, by_position=names is None,
        family="scikit-learn", answers=answers, **more,
    )


def _forest_regressor(model: Any) -> Origin:
    return _by_treelite(model, Answers(leaves="int64"), single=True)


def _forest_classifier(model: Any) -> Origin:
    classes = numpy.asarray(model.classes_)
    made = OneClass if len(classes) == 1 else Classifier
    return _by_treelite(model, made(classes=classes, leaves="int64"), single=True)


def _check(model: Any, reason_of: Callable[[Any], str | None]) -> None:
    """Raises Refused for an estimator that has a reason to be refused."""
    if (reason := reason_of(model)) is not None:
        raise Refused(f"the {type(model).__name__} {reason}")


def _boosting_regressor(model: Any) -> Origin:
    _check(model, init_of)
    return _by_treelite(model, Answers(leaves="float64"), single=True)


def _boosting_classifier(model: Any) -> Origin:
    _check(model, init_of)
    answers = Staged(
        leaves="float64",
        classes=numpy.asarray(model.classes_),
        zero_counts=True,
        classes_of_iteration=model.estimators_.shape[1],
    )
    return _by_treelite(model, answers, single=True)


def _histogram_regressor(model: Any) -> Origin:
    return _histogram(model, Answers())


def _histogram_classifier(model: Any) -> Origin:
    return _histogram(model, ByMargin(classes=numpy.asarray(model.classes_)))


def _histogram(model: Any, answers: Answers) -> Origin:
    """Histogram gradient boosting. If it encodes categories, its trees are imported without the encoder, and
    test the codes."""
    _check(model, without_encoder)
    plain = copy.copy(model)
    if answers.kind == "classifier" and len(model.classes_) == 1:
        # The trees are those of two classes, which the importer expects.
        plain.classes_ = numpy.arange(2)
    encoder = getattr(model, "_preprocessor", None)
    if encoder is None:
        return _by_treelite(plain, answers, single=False)
    features = numpy.flatnonzero(model.is_categorical_).tolist()
    known = encoder.named_transformers_["encoder"].categories_
    encoded = tuple((at, _categories(model, at, values)) for at, values in zip(features, known))
    plain._preprocessor = _Codes(encoder, [numpy.arange(len(values)) for _, values in encoded])
    return _by_treelite(plain, answers, single=False, encoded=encoded)


class _Codes:
    """A preprocessor for Treelite's importer. It only reorders columns, and so keeps codes."""

    def __init__(self, theirs: Any, codes: list[Array]) -> None:
        (name, encoder, columns), *rest = theirs.transformers_
        encoder = copy.copy(encoder)
        encoder.categories_ = codes
        self.transformers_ = [(name, encoder, columns), *rest]


def _categories(model: Any, feature: int, values: Array) -> list[int] | list[str]:
    """The categories of a feature: whole numbers, or names. Missing values are excluded."""
    known = [value for value in values.tolist() if value is not None and value == value]
    if all(isinstance(value, str) for value in known):
        return known
    if all(_is_code(value) for value in known):
        return [int(value) for value in known]
    odd = next(value for value in known if not _is_code(value))
    raise Refused(
        f"the {type(model).__name__} has the category {odd!r} in feature {feature}, and schedc takes "
        "categories that are "
        "all names or all whole numbers from 0 on; put sklearn.preprocessing.OrdinalEncoder before it, "
        "which numbers them "
        "so, fit both again, and compile the fitted estimator"
    )


def _is_code(value: Any) -> bool:
    """Whether a category is a whole number that fits a set, or a truth value, which scikit-learn takes for 0
    or 1."""
    return isinstance(value, (int, float)) and 0 <= value < 2**32 and value == int(value)


def _isolation_forest(model: Any) -> Origin:
    answers = Isolation(
        offset=float(model.offset_), normal_length=_average_path_length(int(model.max_samples_))
    )
    return _by_treelite(model, answers, single=True)


def _average_path_length(samples: int) -> float:
    """Average length of an unsuccessful search in a binary search tree of `samples` samples. Treelite's file
    has it in single precision."""
    if samples <= 2:
        return float(max(samples, 1) - 1)
    length = 2.0 * (numpy.log(samples - 1.0) + numpy.euler_gamma) - 2.0 * (samples - 1.0) / samples
    return float(length)


#: The function that reads an object, by library and class. It also reads objects of derived classes.
_READERS: dict[tuple[str, str], Callable[[Any], Origin]] = {
    ("xgboost", "Booster"): _xgboost_booster,
    ("xgboost", "XGBModel"): _xgboost_model,
    ("lightgbm", "Booster"): _lightgbm_booster,
    ("lightgbm", "LGBMModel"): _lightgbm_model,
    ("catboost", "CatBoost"): _catboost_model,
    ("onnx", "ModelProto"): _onnx_model,
    ("treelite", "Model"): _treelite_model,
    ("sklearn", "RandomForestRegressor"): _forest_regressor,
    ("sklearn", "ExtraTreesRegressor"): _forest_regressor,
    ("sklearn", "RandomForestClassifier"): _forest_classifier,
    ("sklearn", "ExtraTreesClassifier"): _forest_classifier,
    ("sklearn", "GradientBoostingRegressor"): _boosting_regressor,
    ("sklearn", "GradientBoostingClassifier"): _boosting_classifier,
    ("sklearn", "HistGradientBoostingRegressor"): _histogram_regressor,
    ("sklearn", "HistGradientBoostingClassifier"): _histogram_classifier,
    ("sklearn", "IsolationForest"): _isolation_forest,
}
