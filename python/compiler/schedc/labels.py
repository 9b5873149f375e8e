"""Labels of classes: from a library, or for models that were trained on numbers instead of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from .findings import Refused


def labels_in(model: Mapping[str, Any]) -> numpy.ndarray[Any, Any] | list[numpy.ndarray[Any, Any]]:
    """The labels that a library has of its model: an array, or a list with an array for each target.

    Raises AttributeError if there are none.
    """
    labels, counts = model.get("labels"), model.get("targets")
    if not labels:
        raise AttributeError("the model has no labels of classes")
    ends = numpy.cumsum(counts or [len(labels)]).tolist()
    parts = [numpy.array(labels[start:end]) for start, end in zip([0, *ends], ends)]
    return parts if counts else parts[0]


def labels_of(labels: Any, classes: Any, are_all: bool = True) -> numpy.ndarray[Any, Any]:
    """The label of each class. ``classes`` are the classes that a model was trained on: positions in the list
    of labels. ``are_all`` is false for the classes of some rows.

    ``labels`` is a fitted ``LabelEncoder``, or lists the labels.

    Raises Refused if a class is no position in the list, and if the list has labels behind the last class. An
    encoder may have labels that the training lacked.
    """
    is_list = isinstance(labels, (list, tuple, numpy.ndarray))
    known = labels if is_list else getattr(labels, "classes_", None)
    if known is None:
        raise Refused("labels= takes a fitted LabelEncoder, or the labels in the order of their numbers")
    known, numbers = numpy.asarray(known), numpy.asarray(classes)
    if known.ndim != 1:
        raise Refused("labels= has one label for each class, as a list or an array of one dimension")
    are_numbers = numbers.dtype.kind in "biu" and len(numbers) > 0
    if not are_numbers or numbers.min() < 0 or numbers.max() >= len(known):
        raise Refused(
            f"labels= names classes by the numbers 0 to {len(known) - 1}, and the model has the classes "
            f"{', '.join(map(str, numbers[:3].tolist()))}{', ...' if len(numbers) > 3 else ''}"
        )
    if is_list and are_all and len(known) > numbers.max() + 1:
        raise Refused(
            f"labels= has {len(known)} labels, and the last class of the model is {numbers.max()}: list one "
            "label for each number up to this one, or give the fitted LabelEncoder"
        )
    named: numpy.ndarray[Any, Any] = known[numbers.astype(numpy.int64)]
    return named
