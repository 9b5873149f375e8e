"""The meaning of a model's predictions: data in a section of a saved library, with which the loaded model
returns the same results as the object."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy

from . import answers as _answers
from .answers import Answers, Array
from .findings import Refused
from .origin import Origin

#: The name of the section. The functions of the C interface do not read it.
SECTION = ".schedc.object"

#: The note of a model that takes the columns of tables in their order.
IN_ORDER = (
    "the model was trained without names of features: it takes the columns of tables in their order, as its "
    "own predict does"
)

#: The version of the section's JSON. A reader ignores sections of other versions.
_VERSION = 1

_CLASSES: dict[str, type[Answers]] = {
    kind.__name__: kind
    for kind in vars(_answers).values() if isinstance(kind, type) and issubclass(kind, Answers)
}


@dataclass(frozen=True)
class Meaning:
    """Data of an object that a compiled model needs in order to return the object's results."""

    answers: Answers = field(default_factory=Answers)
    """The rules for the results of the object's methods."""
    single: bool = False
    """Whether the object rounds rows to single precision before it compares them."""
    by_position: bool = False
    """Whether the object was trained without names, and takes the columns of tables in their order."""
    names: tuple[str, ...] | None = None
    """The names of the features, if the object has them but the library lacks them."""
    family: str | None = None
    """The object's family; None if the model was a file."""
    numbered: tuple[tuple[int, str], ...] = ()
    """Features whose categories are whole numbers that differ from their codes. The value lists the first
    categories, for messages."""
    row_types: str | None = None
    """The type of the rows that a pipeline was exported for. None for models that do no arithmetic on rows
    but only compare them."""
    markers: tuple[tuple[int, str], ...] = ()
    """Features with texts for which the pipeline accepts only one marker of missing texts, ``None`` or
    ``NaN``. The value is this marker."""
    integers: tuple[tuple[tuple[int, ...], str, str], ...] = ()
    """Groups of features for which a pipeline computes in the type of integers, as in ``Origin``."""
    decisions: Mapping[str, Any] | None = None
    """The rule for the decision values of an exported file."""
    unseen: Literal["error", "missing", "other"] | None = None
    """The treatment of unknown categories in calls that do not give it; None for the trainer's."""
    are_lightgbms: bool = False
    """Whether a pipeline has its names from LightGBM, which writes ``_`` for each blank."""
    required: tuple[int, ...] = ()
    """Features with texts whose missing cells calls with ``unseen="error"`` refuse."""
    notes: tuple[str, ...] = ()
    """Notes on rows that the object refuses and the compiled model answers."""

    @staticmethod
    def of(origin: Origin) -> Meaning:
        """The meaning of an object's predictions."""
        return Meaning(
            origin.answers, origin.single, origin.by_position, origin.names, origin.family,
            tuple((at, _shown(known)) for at, known in origin.encoded if _are_numbers(known)),
            origin.row_types, origin.markers, origin.integers,
            origin.decisions, origin.unseen, origin.are_lightgbms, origin.required, origin.notes,
        )

    def refuse_codes(self) -> None:
        """Raises Refused if categories of a feature are whole numbers, since codes would be mistaken for
        these."""
        if self.numbered:
            feature, shown = self.numbered[0]
            raise Refused(
                f"the categories of feature {feature} are the numbers {shown}, and codes would be mistaken "
                'for them; give the numbers themselves, without categories="codes"'
            )

    def text(self) -> str:
        """The content of the section: JSON. It is empty if the labels of the classes have a type that JSON
        lacks, such as dates."""
        answers = {at.name: getattr(self.answers, at.name) for at in dataclasses.fields(self.answers)}
        for field_of_labels in ("classes", "targets"):
            labels = answers.pop(field_of_labels, None)
            if labels is not None:
                packed = _packed(labels)
                if packed is None:
                    return ""
                answers[field_of_labels] = packed
        names = None if self.names is None else [str(name) for name in self.names]
        return json.dumps({
            "version": _VERSION, "kind": type(self.answers).__name__, "answers": answers,
            "single": self.single, "by_position": self.by_position, "names": names, "family": self.family,
            "numbered": self.numbered, "row_types": self.row_types,
            "markers": self.markers, "integers": self.integers,
            "decisions": self.decisions, "unseen": self.unseen,
            "are_lightgbms": self.are_lightgbms, "required": self.required, "notes": self.notes,
        })

    @staticmethod
    def read(content: bytes | None) -> Meaning | None:
        """Reads a section. None if there is no section, or if it has the form of another release."""
        if not content:
            return None
        try:
            found = json.loads(content)
            if found["version"] != _VERSION:
                return None
            fields = dict(found["answers"])
            for field_of_labels in ("classes", "targets"):
                if field_of_labels in fields:
                    fields[field_of_labels] = _unpacked(fields[field_of_labels])
            names = found["names"]
            return Meaning(_CLASSES[found["kind"]](**fields), found["single"], found["by_position"],
                           None if names is None else tuple(names), found["family"],
                           tuple((at, shown) for at, shown in found.get("numbered", ())),
                           found.get("row_types"),
                           tuple((at, marker) for at, marker in found.get("markers", ())),
                           tuple((tuple(group), *more) for group, *more in found.get("integers", ())),
                           found.get("decisions"), found.get("unseen"), found.get("are_lightgbms", False),
                           tuple(found.get("required", ())), tuple(found.get("notes", ())))
        except (KeyError, TypeError, ValueError):
            return None


def _packed(labels: Array | Sequence[Array]) -> Any:
    """Labels, or lists of the labels of several targets, as values of JSON. None if JSON lacks their type."""
    if not isinstance(labels, numpy.ndarray):
        every = [_packed(one) for one in labels]
        return None if None in every else every
    values = labels.tolist()
    plain = (bool, int, float, str, type(None))
    if labels.dtype.kind not in "biufUO" or not all(isinstance(value, plain) for value in values):
        return None
    return {"type": labels.dtype.str, "values": values}


def _unpacked(packed: Any) -> Any:
    if isinstance(packed, list):
        return [_unpacked(one) for one in packed]
    return numpy.array(packed["values"], dtype=numpy.dtype(packed["type"]))


def _are_numbers(categories: list[int] | list[str]) -> bool:
    """Whether categories are whole numbers that differ from their codes."""
    is_text = bool(categories) and isinstance(categories[0], str)
    return not is_text and categories != list(range(len(categories)))


def _shown(categories: list[int] | list[str]) -> str:
    """The first categories as text."""
    return ", ".join(map(str, categories[:3])) + (", ..." if len(categories) > 3 else "")
