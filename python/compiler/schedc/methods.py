"""Methods of fitted objects besides ``predict``. A compiled model has those that its object has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy
import schedc_runtime
from schedc_runtime.findings import public

from .answers import Answers, Array, OneClass, table, two_columns
from .device import refuse_gpu
from .elsewhere import output_of
from .estimator import Estimator, conditional
from .findings import Refused
from .fitted import FAMILY
from .meaning import Meaning

#: The defaults of the options of a call.
_OPTIONS: Mapping[str, Any] = {
    "base_margin": None, "threads": 0, "unseen": None, "by_position": None, "columns": None,
    "categories": None, "device": None, "stream": None,
}


class Methods(Estimator):
    """Methods that compute their results from a model's outputs. The subclass calls the library."""

    _meaning: Meaning
    _native: schedc_runtime.Model
    #: The word for predictions of a classifier that are no probabilities: ``classes``, ``labels``,
    #: ``numbers`` or ``scores``. None for probabilities, and for models that are no classifiers.
    _values: str | None
    #: The output with the decision values of a file's classifier, and how many of its first columns they are.
    #: None if the file does not say, and for objects.
    _decisions: Mapping[str, Any] | None
    #: The rules for the decision values of an exported file, if :attr:`_decisions` is None.
    _decider: Answers | None
    #: The types of arrays that the library reads without a conversion.
    _direct: tuple[numpy.dtype[Any], ...]

    @conditional
    def predict_proba(self, X: Any, *, out: Array | None = None, **more: Any) -> Any:
        """The probability of each class, with one column per class: an array, or a list with an array for
        each target, as the object returns it. The keywords are those of ``predict``.

        Models of objects without this method lack it. So do files without classes, and files whose
        predictions are decision values or classes.
        """
        model = self
        if more:
            model = self._variant(more.pop("iteration_range", None), more.get("base_margin") is not None)
        rules, call = model._rules(X, more)
        # A model that was compiled from a file has no rules of an object.
        answer = two_columns(call("value")) if type(rules) is Answers else rules.predict_proba(call)
        answer = rules.typed("predict_proba", answer)
        return answer if out is None else put(answer, out)

    @conditional
    def predict_log_proba(self, X: Any, **more: Any) -> Any:
        """The logarithm of :meth:`predict_proba`, as the object computes it.

        Models of objects without this method lack it, too.
        """
        if self._answers.logarithm == "scores":
            rules, call = self._rules(X, more)
            return rules.typed("predict_proba", rules.log_softmax(call))
        with numpy.errstate(divide="ignore"):
            chances = self.predict_proba(X, **more)
            return each(lambda shares: numpy.log(self._answers.positive(shares)), chances)

    @conditional
    def apply(self, X: Any, **more: Any) -> Array:
        """The leaf that each tree reaches, in the trainer's numbering, with one column per tree.

        Models of pipelines lack it.
        """
        model = self._variant(more.pop("iteration_range", None), False)
        return self._answers.apply(model._rules(X, more)[1])

    @conditional
    def score_samples(self, X: Any, **more: Any) -> Array:
        """The object's score of each row: the negated anomaly score of an outlier detector, or the logarithm
        of a mixture's density.

        Models of other objects lack it.
        """
        rules, call = self._rules(X, more)
        scores: Array = rules.typed("score_samples", rules.score_samples(call))
        return scores

    @conditional
    def transform(self, X: Any, **more: Any) -> Array:
        """The columns that a pipeline without a model computes from rows, or the distances from the centres
        of clusters.

        Models of other objects lack it.
        """
        rules, call = self._rules(X, more)
        columns: Array = rules.typed("transform", rules.transform(call))
        return columns

    @conditional
    def decision_function(self, X: Any, **more: Any) -> Array:
        """Margins, or the score of an outlier detector, which is negative for outliers. The keywords are
        those of ``predict``.

        Models of objects without this method lack it, too, since scikit-learn's tools prefer it to
        probabilities. So do ONNX files without an output of classifiers called `margins` or
        `decision_function`, and without a rule in their metadata.
        """
        rules, call = self._rules(X, more)
        if type(rules) is Answers and self._decider is not None:
            rules = self._decider
        if self._decisions is None or type(rules) is not Answers:
            margins: Array = rules.typed("decision_function", rules.decision_function(call))
            return margins
        columns = table(call(self._decisions["output"]))[:, : self._decisions.get("columns")]
        return columns[:, 0] if columns.shape[1] == 1 else columns

    def _rules(self, X: Any, more: dict[str, Any]) -> tuple[Answers, Callable[[str], Array]]:
        """The rules for the results of rows, and a function that computes an output of the model for them."""
        if not more and type(X) is numpy.ndarray and X.dtype in self._direct:
            return self._answers, partial(self._direct_call, X)
        refuse_gpu(X)
        options, model = self._options(more), self._for(X)
        return model._answers, lambda kind: model._call(X, kind, None, options)

    def _direct_call(self, X: Array, kind: Any, threads: int = 0) -> Any:
        """One call of the library on an array that it reads without a conversion."""
        try:
            return self._native.predict(X, kind, threads=threads)
        except ValueError as error:
            raise public(error) from None

    def _options(self, more: Mapping[str, Any]) -> Mapping[str, Any]:
        if not more:
            return _OPTIONS
        others = {name: value for name, value in more.items() if name not in _OPTIONS}
        if others and output_of(others) is not None:
            raise TypeError("only predict takes options that select an output")
        return {**_OPTIONS, **{name: value for name, value in more.items() if name in _OPTIONS}}

    # The subclass defines these.

    @property
    def _about(self) -> dict[str, Any]:
        raise NotImplementedError

    def _call(self, X: Any, output: Any, out: Array | None, more: Mapping[str, Any]) -> Array:
        raise NotImplementedError

    def _variant(self, iteration_range: tuple[int, int] | None, base_margin: bool) -> Methods:
        raise NotImplementedError

    def _for(self, X: Any) -> Methods:
        raise NotImplementedError


def lacking(answers: Answers, family: str | None, has_shares: bool, has_decisions: bool) -> frozenset[str]:
    """The methods that a model's object lacks. ``has_shares`` is true if the model computes classes, and its
    predictions are their probabilities; ``has_decisions`` if its margins or predictions may be decision
    values."""
    kind, found = type(answers), set(answers.lacks)
    if kind.predict_proba is Answers.predict_proba and not (kind is Answers and has_shares):
        found |= {"predict_proba", "predict_log_proba"}
    if kind.score_samples is Answers.score_samples:
        found.add("score_samples")
    found.add("apply" if family == FAMILY else "transform")
    if answers.kind not in ("classifier", "regressor"):
        found.add("score")
    # Classifiers of LightGBM have decision values from 4.7 on.
    known = family in (None, "scikit-learn", "LightGBM", "Treelite", FAMILY) and kind is not OneClass
    if not known or (family is None and kind is Answers and not has_decisions):
        found.add("decision_function")
    return frozenset(found)


def each(change: Callable[[Array], Array], answer: Any) -> Any:
    """The result of a function for an array, or for each array of a list."""
    return [change(one) for one in answer] if isinstance(answer, list) else change(answer)


def put(answer: Array, out: Array) -> Array:
    """Copies an answer into the array ``out``, and returns that. Raises Refused for another type or shape,
    and for an answer that is a list of arrays.
    """
    if isinstance(answer, list):
        raise Refused("the answer is a list with an array for each target, which out= does not take")
    if out.shape != answer.shape or out.dtype != answer.dtype:
        raise Refused(f"out must be an array of {answer.dtype} with the shape {answer.shape}")
    out[...] = answer
    return out
