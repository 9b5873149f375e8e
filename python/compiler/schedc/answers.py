"""Results of a fitted object's methods, computed from its compiled model.

Each class here implements the rules of one family of objects. The argument ``call`` of its methods is a
function that computes an output of the model: ``"value"``, ``"raw"``, ``"class"`` or ``"leaf"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy
from schedc_runtime._native import both_classes

from .findings import Refused
from .labels import labels_in, labels_of

Array = numpy.ndarray[Any, Any]
Call = Callable[[str], Array]

Kind = Literal[
    "regressor", "classifier", "outlier_detector", "clusterer", "density_estimator", "transformer"
]


@dataclass(frozen=True)
class Answers:
    """The rules of most regressors and files: ``predict`` returns the main result of the trainer."""

    output: str = "value"
    """The output of the model that ``predict`` returns."""
    classes: Array | list[Array] | None = None
    """The labels of the classes, in the order of the columns of probabilities; a list of these for several
    targets."""
    leaves: str = "int32"
    """The type of leaf indices."""

    kind: Kind = "regressor"
    lacks: Sequence[str] = ()
    """Methods that the object lacks, or that the model's outputs cannot answer."""
    logarithm: Literal["shares", "scores"] = "shares"
    """The numbers that ``predict_log_proba`` is computed from: probabilities (``shares``), or margins that
    are logarithms of unnormalized probabilities (``scores``)."""
    smallest: float = 0.0
    """The number that stands for a probability of 0 in logarithms."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The types of the floats that methods return, by method. A library has one type for all its results."""

    def typed(self, method: str, answer: Any) -> Any:
        """The result of a method in its type: an array, or a list of arrays."""
        kind = self.types.get(method)
        if kind is None:
            return answer
        if isinstance(answer, list):
            return [one.astype(kind, copy=False) for one in answer]
        return answer.astype(kind, copy=False)

    def in_library(self, model: Mapping[str, Any]) -> Answers:
        """The rules for a loaded library, which may lack some of the object's data. ``model`` is the
        library's information about its model."""
        return self

    def predict(self, call: Call) -> Array:
        """The result of ``predict``."""
        return call(self.output)

    def predict_proba(self, call: Call) -> Array:
        """The result of ``predict_proba``: a column for each class."""
        raise AttributeError("the model is no classifier: it has no probabilities")

    def decision_function(self, call: Call) -> Array:
        """The result of ``decision_function``: margins."""
        return call("raw")

    def score_samples(self, call: Call) -> Array:
        """The result of ``score_samples``: a number for each row."""
        raise AttributeError("the model has no scores of samples")

    def transform(self, call: Call) -> Array:
        """The result of ``transform``: columns."""
        return table(call("value"))

    def log_softmax(self, call: Call) -> Array:
        """The logarithms of probabilities: the log-softmax of the margins."""
        scores = self.decision_function(call)
        if scores.ndim == 1:
            scores = numpy.column_stack((numpy.zeros_like(scores), scores))
        below = scores - scores.max(axis=1)[:, None]
        logarithms: Array = below - numpy.log(numpy.exp(below).sum(axis=1))[:, None]
        return logarithms

    def positive(self, shares: Array) -> Array:
        """Probabilities with the object's number in place of 0."""
        return numpy.where(shares == 0.0, self.smallest, shares) if self.smallest else shares

    def apply(self, call: Call) -> Array:
        """The result of ``apply``: the leaf that each tree reaches."""
        return call("leaf").astype(self.leaves, copy=False)


@dataclass(frozen=True)
class Column(Answers):
    """A regressor that predicts a table of one column, for its only target."""

    def predict(self, call: Call) -> Array:
        return table(call(self.output))


@dataclass(frozen=True)
class Transformer(Answers):
    """A pipeline without a model, whose results are columns."""

    kind: Kind = "transformer"
    columns: str | None = None
    """The type of the columns if they are truth values or whole numbers."""

    def transform(self, call: Call) -> Array:
        made = super().transform(call)
        return made if self.columns is None else made.astype(self.columns)


def table(numbers: Array) -> Array:
    """Numbers with columns: a vector is one column."""
    return numbers[:, None] if numbers.ndim == 1 else numbers


def two_columns(probabilities: Array) -> Array:
    """Probabilities of both classes as two columns, from those of the second class."""
    if probabilities.ndim == 2 and probabilities.shape[1] == 1:
        probabilities = probabilities[:, 0]
    return probabilities if probabilities.ndim == 2 else both_classes(probabilities)


@dataclass(frozen=True)
class Classifier(Answers):
    """A classifier that predicts the class with the highest probability; of equal ones, the first."""

    kind: Kind = "classifier"

    def predict_proba(self, call: Call) -> Array:
        return two_columns(call("value"))

    def predict(self, call: Call) -> Array:
        return self._labels(numpy.argmax(self.predict_proba(call), axis=1))

    def _labels(self, numbers: Array) -> Array:
        labels: Array = numbers if self.classes is None else self.classes[numbers]
        return labels


@dataclass(frozen=True)
class OneClass(Classifier):
    """A classifier that was trained on a single class, which it always predicts."""

    def predict_proba(self, call: Call) -> Array:
        probabilities = call("value")
        return probabilities.reshape(len(probabilities), 1)

    def log_softmax(self, call: Call) -> Array:
        return numpy.log(self.predict_proba(call))


@dataclass(frozen=True)
class ByMargin(Classifier):
    """A classifier that predicts the class with the highest margin. Of two classes, the second one if the
    margin is above 0 (or equal to 0, if `zero_counts`)."""

    zero_counts: bool = False

    def predict(self, call: Call) -> Array:
        raw = call("raw")
        if raw.ndim == 2 and raw.shape[1] > 1:
            return self._labels(numpy.argmax(raw, axis=1))
        raw = raw.reshape(len(raw))
        return self._labels((raw >= 0 if self.zero_counts else raw > 0).astype(int))


@dataclass(frozen=True)
class OfLabels(Classifier):
    """CatBoost's of several labels: a row has each label whose margin is above 0."""

    def predict_proba(self, call: Call) -> Array:
        return table(call("value"))

    def predict(self, call: Call) -> Array:
        return (table(call("raw")) > 0).astype(numpy.int64)


@dataclass(frozen=True)
class ByHalf(Classifier):
    """A classifier of XGBoost, whose classes are numbers. Of two classes, it predicts the second one if its
    probability is above one half."""

    softmax: bool = False
    """Whether the model itself computes classes."""

    def predict_proba(self, call: Call) -> Array:
        if not self.softmax:
            return two_columns(call("value"))
        raw = call("raw")
        power = numpy.exp(raw - numpy.max(raw, axis=1, keepdims=True))
        shares: Array = power / numpy.sum(power, axis=1, keepdims=True)
        return shares

    def predict(self, call: Call) -> Array:
        value = call("value")
        if self.softmax:
            return self._labels(value.astype(numpy.int32))
        if value.ndim == 2 and self.classes is not None and len(self.classes) != 2:
            return self._labels(numpy.argmax(value, axis=1))
        if value.ndim == 2:
            labels = numpy.zeros(value.shape)
            labels[value > 0.5] = 1
            return labels
        return self._labels((value > 0.5).astype(numpy.int64))

    @cached_property
    def _are_numbers(self) -> bool:
        """Whether the labels of classes are their numbers."""
        return self.classes is None or numpy.array_equal(self.classes, range(len(self.classes)))

    def _labels(self, numbers: Array) -> Array:
        return numbers if self._are_numbers else super()._labels(numbers)


@dataclass(frozen=True)
class ByClass(Classifier):
    """A classifier whose library computes the classes. For more than two classes of CatBoost, the result is a
    column."""

    column: bool = False

    def predict(self, call: Call) -> Array:
        labels = self._labels(call("class").astype(numpy.int64))
        return table(labels) if self.column else labels


@dataclass(frozen=True)
class Scores(ByClass):
    """A classifier of scikit-learn without trees. The first margins of the compiled model are its scores:
    one for two classes, otherwise one for each class."""

    columns: int = 1
    """The number of scores."""
    main: str = "raw"
    """The output of the model whose first columns are the scores."""

    def decision_function(self, call: Call) -> Array:
        scores = table(call(self.main))[:, : self.columns]
        return scores[:, 0] if self.columns == 1 else scores


@dataclass(frozen=True)
class Targets(Scores):
    """A classifier of scikit-learn for several targets. The number of a class is its position among the
    labels of all targets, one target after the other. Probabilities have the same order of columns."""

    targets: tuple[Array, ...] = ()
    """The labels of each target, in the order of the columns of ``predict``."""
    lists: bool = False
    """Whether ``predict_proba`` returns a list with an array for each target."""
    labels: str = "int64"
    """The type of the labels that ``predict`` returns."""
    chosen: tuple[Array, ...] = ()
    """The labels of each target that the library has, if it lacks some."""

    def in_library(self, model: Mapping[str, Any]) -> Answers:
        counts = model.get("targets") or []
        if len(counts) != len(self.targets) or counts == list(map(len, self.targets)):
            return self
        found = labels_in(model)
        return replace(self, chosen=tuple(_kept(*one) for one in zip(self.targets, found)))

    def predict(self, call: Call) -> Array:
        numbers = table(call("class").astype(numpy.int64))
        made = numpy.empty(numbers.shape, self.labels)
        chosen = self.chosen or self.targets
        for at, (start, known) in enumerate(zip([0, *_ends(chosen)], chosen)):
            made[:, at] = known[numbers[:, at] - start]
        return made

    def decision_function(self, call: Call) -> Array:
        return table(call(self.main))[:, : self.columns]

    def predict_proba(self, call: Call) -> Any:
        shares = table(call("value"))
        if not self.lists:
            return shares
        return numpy.split(shares, self.ends(), axis=1)

    def ends(self) -> list[int]:
        """The columns of probabilities at which the second and each later target begin."""
        return _ends(self.targets)


def _ends(targets: Sequence[Array]) -> list[int]:
    """The positions at which the labels of the second and each later target begin."""
    return list(accumulate(len(known) for known in targets[:-1]))


def _kept(known: Array, found: Array) -> Array:
    """The labels ``found`` of a target in a library, in the type of the ``known`` ones: the file of the model
    may have them as text."""
    values = found.tolist()
    texts = set(map(str, values))
    kept = [label in values or str(label) in texts for label in known.tolist()]
    labels: Array = known[kept]
    return labels


@dataclass(frozen=True)
class Detector(Scores):
    """A detector of outliers without trees: margins are its scores."""

    offset: float = 0.0
    """The score of a sample whose decision is 0."""
    kind: Kind = "outlier_detector"

    def score_samples(self, call: Call) -> Array:
        return self.decision_function(call) + self.offset


@dataclass(frozen=True)
class Mixture(Scores):
    """A mixture of distributions: the margin is the logarithm of the density."""

    kind: Kind = "density_estimator"

    def predict_proba(self, call: Call) -> Array:
        if self.classes is None or len(self.classes) > 1:
            return super().predict_proba(call)
        shares = call("value")
        return shares.reshape(len(shares), 1)

    def score_samples(self, call: Call) -> Array:
        return self.decision_function(call)


@dataclass(frozen=True)
class Clusters(ByClass):
    """A clustering, which predicts numbers of clusters. The main result of the compiled model is the
    distances from the centres."""

    kind: Kind = "clusterer"


@dataclass(frozen=True)
class Staged(ByMargin):
    """Gradient boosting of scikit-learn. Its leaf indices have the shape rows, iterations, classes."""

    classes_of_iteration: int = 1

    def apply(self, call: Call) -> Array:
        leaves = call("leaf")
        iterations = leaves.shape[1] // self.classes_of_iteration
        return leaves.reshape(len(leaves), iterations, self.classes_of_iteration).astype(self.leaves)


@dataclass(frozen=True)
class Votes(Classifier):
    """AdaBoost of trees in scikit-learn. The margins of the compiled model are sums of votes, one for each
    class."""

    weight: float = 1.0
    """Sum of the weights of all trees."""

    def decision_function(self, call: Call) -> Array:
        votes = call("raw") / self.weight
        decisions: Array = votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes
        return decisions

    def predict_proba(self, call: Call) -> Array:
        decisions = self.decision_function(call)
        if decisions.ndim == 1:
            decisions = numpy.column_stack((-decisions, decisions)) / 2
        else:
            decisions = decisions / (decisions.shape[1] - 1)
        power = numpy.exp(decisions - numpy.max(decisions, axis=1, keepdims=True))
        shares: Array = power / numpy.sum(power, axis=1, keepdims=True)
        return shares

    def predict(self, call: Call) -> Array:
        decisions = self.decision_function(call)
        return self._labels(decisions.argmax(axis=1) if decisions.ndim == 2 else (decisions > 0).astype(int))


@dataclass(frozen=True)
class ThresholdVotes(Votes):
    """AdaBoost below a threshold, whose library computes the classes and the probabilities."""

    def predict_proba(self, call: Call) -> Array:
        return two_columns(call("value"))

    def predict(self, call: Call) -> Array:
        return self._labels(call("class").astype(numpy.int64))


@dataclass(frozen=True)
class Isolation(Answers):
    """scikit-learn's IsolationForest: 1 for inliers, -1 for outliers."""

    offset: float = -0.5
    normal_length: float | None = None
    """Average path length of a tree of `max_samples_` samples. None if only the compiled code has the length,
    in single precision."""
    kind: Kind = "outlier_detector"

    def score_samples(self, call: Call) -> Array:
        """The negated anomaly score of the paper."""
        if self.normal_length is None:
            return -call("value")
        lengths = call("raw")
        # Trees of a single sample have no length, and every score is one half.
        ratios = lengths / self.normal_length if self.normal_length else numpy.ones_like(lengths)
        # A power of 2 as scikit-learn computes it; numpy.exp2 rounds differently.
        return -numpy.power(2.0, -ratios)

    def decision_function(self, call: Call) -> Array:
        """The negated anomaly score plus the offset: negative for outliers."""
        return self.score_samples(call) - self.offset

    def predict(self, call: Call) -> Array:
        return numpy.where(self.decision_function(call) < 0, -1, 1)


def labelled(answers: Answers, labels: Any) -> Answers:
    """The results of a classifier with labels in place of the numbers of labels.

    Raises Refused if the object is no classifier, or its classes are no numbers of labels.
    """
    if answers.kind != "classifier" or answers.classes is None or isinstance(answers, Targets):
        raise Refused("labels= is for fitted classifiers of one label: the model is none")
    return replace(answers, classes=labels_of(labels, answers.classes))
