"""Methods of fitted objects beside ``predict``, which a compiled model has where the object has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from types import MethodType
from typing import Any, TypeVar, cast

import numpy

from .answers import Answers, Array, Classifier, OneClass, two_columns
from .elsewhere import no_attribute, output_of
from .estimator import Estimator
from .fitted import FAMILY
from .meaning import Meaning


Method = TypeVar("Method", bound=Callable[..., Any])


class _Conditional:
    """A method that a model has if its `_require` allows it. Otherwise it is no attribute, since
    scikit-learn's tools look at a model's methods before they call them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.function
        model._require(self.function.__name__)
        return MethodType(self.function, model)


def conditional(function: Method) -> Method:
    """Makes a function of a class a method that some of its objects lack."""
    return cast(Method, _Conditional(function))


class Methods(Estimator):
    """Answers that follow from a model's outputs. A subclass makes the calls."""

    _meaning: Meaning

    @conditional
    def predict_proba(self, X: Any, *, out: Array | None = None, **more: Any) -> Array:
        """The probability of each class, with one column per class. The keywords are those of ``predict``.

        Models of objects without this method lack it, too. Raises AttributeError if a file has no classifier.
        """
        model = self._variant(more.pop("iteration_range", None), more.get("base_margin") is not None)
        call = model._caller(X, more)
        if type(self._answers) is Answers:
            if not self._about["outputs"]["class"]:
                raise AttributeError("the model is no classifier: it has no probabilities")
            answer = two_columns(call("value"))
        else:
            answer = self._answers.predict_proba(call)
        return answer if out is None else put(answer, out)

    @conditional
    def predict_log_proba(self, X: Any, **more: Any) -> Array:
        """The logarithm of :meth:`predict_proba`, as the object computes it.

        Models of objects without this method lack it, too.
        """
        if self._answers.logarithm == "scores":
            return self._answers.log_shares(self._caller(X, more))
        with numpy.errstate(divide="ignore"):
            logarithms: Array = numpy.log(self._answers.positive(self.predict_proba(X, **more)))
        return logarithms

    def apply(self, X: Any, **more: Any) -> Array:
        """The leaf that each tree reaches, in the trainer's numbering, with one column per tree.

        Raises AttributeError for pipelines, which have no such method.
        """
        if self._meaning.family == FAMILY:
            raise AttributeError(no_attribute("apply"))
        model = self._variant(more.pop("iteration_range", None), False)
        return self._answers.apply(model._caller(X, more))

    @conditional
    def score_samples(self, X: Any, **more: Any) -> Array:
        """The object's score of each row: the negated anomaly score of an outlier detector, or the logarithm
        of a mixture's density.

        Models of other objects lack it.
        """
        return self._answers.score_samples(self._caller(X, more))

    @conditional
    def transform(self, X: Any, **more: Any) -> Array:
        """The columns that a pipeline without a model makes of rows, or the distances from the centres of
        clusters.

        Models of other objects lack it.
        """
        made = self._caller(X, more)("value")
        return made.reshape(len(made), -1)

    @conditional
    def decision_function(self, X: Any, **more: Any) -> Array:
        """Margins, or the score of an outlier detector, which is negative for outliers. The keywords are
        those of ``predict``.

        Models of objects without this method lack it, too, since scikit-learn's tools prefer it to
        probabilities.
        """
        return self._answers.decision_function(self._caller(X, more))

    def _require(self, method: str) -> None:
        """Raises AttributeError if the object lacks a method."""
        answers, family = self._answers, self._meaning.family
        lacks = method in answers.lacks
        if method == "score_samples":
            lacks |= type(answers).score_samples is Answers.score_samples
        elif method == "transform":
            lacks |= family != FAMILY
        elif method == "decision_function":
            lacks |= family not in (None, "scikit-learn", "Treelite", FAMILY)
            lacks |= type(answers) in (Classifier, OneClass)
        if lacks:
            raise AttributeError(no_attribute(method))

    def _caller(self, X: Any, more: dict[str, Any]) -> Callable[[str], Array]:
        """A function that computes an output of the model for rows."""
        options = self._options(more)
        return lambda kind: self._call(X, kind, None, options)

    def _options(self, more: Mapping[str, Any]) -> dict[str, Any]:
        known = {
            "base_margin": None, "threads": 0, "unseen": None, "by_position": None, "columns": None,
            "categories": None,
        }
        others = {name: value for name, value in more.items() if name not in known}
        if others and output_of(others) is not None:
            raise TypeError("predict alone takes options that select an output")
        return {**known, **{name: value for name, value in more.items() if name in known}}

    # A subclass has these.

    @property
    def _about(self) -> dict[str, Any]:
        raise NotImplementedError

    def _call(self, X: Any, output: Any, out: Array | None, more: dict[str, Any]) -> Array:
        raise NotImplementedError

    def _variant(self, iteration_range: tuple[int, int] | None, base_margin: bool) -> Methods:
        raise NotImplementedError


def put(answer: Array, out: Array) -> Array:
    """Copies an answer into the array ``out``, and returns that. Raises ValueError for another type or shape.
    """
    if out.shape != answer.shape or out.dtype != answer.dtype:
        raise ValueError(f"out must be an array of {answer.dtype} with the shape {answer.shape}")
    out[...] = answer
    return out
