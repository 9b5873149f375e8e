"""The interface of scikit-learn's estimators for compiled models."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, NoReturn, TypeVar, cast

import numpy

from .answers import Answers, Targets
from .elsewhere import no_attribute
from .findings import Refused

_FROZEN = (
    'sklearn.frozen.FrozenEstimator(model), or cv="prefit" before scikit-learn 1.6, lets other estimators '
    "calibrate or combine the model without fitting it"
)


Method = TypeVar("Method", bound=Callable[..., Any])


class _Conditional:
    """A method that models lack if their `_lacking` contains its name. Such a method is no attribute of the
    model, since scikit-learn's tools find out by `hasattr` what a model can do."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.name = function, function.__name__
        update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.function
        if self.name in model._lacking:
            raise AttributeError(no_attribute(self.name))
        return MethodType(self.function, model)


def conditional(function: Method) -> Method:
    """Makes a function of a class a method that some of its objects lack."""
    return cast(Method, _Conditional(function))


class Estimator:
    """A fitted estimator that cannot be fitted again."""

    _answers: Answers
    #: The methods that the object lacks.
    _lacking: frozenset[str]

    def fit(self, X: Any = None, y: Any = None, **_: Any) -> NoReturn:
        """Raises TypeError: a compiled model cannot be fitted."""
        raise TypeError(
            "a compiled model is fitted and cannot be fitted again: fit the estimator that it was compiled "
            f"from, and compile that; {_FROZEN}"
        )

    def __sklearn_clone__(self) -> NoReturn:
        raise TypeError(
            "a compiled model has no unfitted copy, which clone, cross_val_score and GridSearchCV need to "
            "fit it to parts of the data: give them the estimator that it was compiled from, and compile the "
            f"one that they fit; {_FROZEN}"
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns no parameters: all options are fixed at compilation."""
        return {}

    def set_params(self, **params: Any) -> Any:
        """Returns the model itself. Raises Refused for any parameter."""
        if params:
            raise Refused(f"a compiled model has no parameter {next(iter(params))!r}: set it on the "
                             "estimator, fit that, and compile it again")
        return self

    @conditional
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of a classifier with labels, or the coefficient of determination of a regressor. Needs
        scikit-learn. For several targets, a row is right if all its labels are. Other models lack the
        method."""
        from sklearn.metrics import accuracy_score, r2_score

        predict: Any = getattr(self, "predict")  # noqa: B009
        if isinstance(self._answers, Targets):
            right = (numpy.asarray(y) == predict(X)).all(axis=1)
            return float(numpy.average(right, weights=sample_weight))
        measure = accuracy_score if self._answers.kind == "classifier" else r2_score
        return float(measure(y, predict(X), sample_weight=sample_weight))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def _estimator_type(self) -> str | None:
        return None if self._answers.kind == "transformer" else self._answers.kind

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind = self._answers.kind
        return Tags(
            estimator_type=self._estimator_type,
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            transformer_tags=TransformerTags() if kind == "transformer" else None,
            input_tags=InputTags(allow_nan=True, sparse=True),
        )
