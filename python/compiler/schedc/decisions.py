"""Decision values of exported files whose graph computes them behind the trees.

The compiler keeps the sums of a file's trees, but no second function of them beside the probabilities. The
metadata of an exported file therefore says how decision values follow from the sums.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .answers import Answers, Isolation, Scores, Targets, Votes

#: The key of the rule in the metadata of an exported file.
_KEY = "schedc.decisions"
#: The field of a model of ONNX with its metadata.
_METADATA_PROPS = 14


def are_sums(made: Any) -> bool:
    """Whether the margins of an exported object are the sums of its trees: of one ensemble that reads all
    others, or of all ensembles in their order, none of which reads another."""
    producers = {node.output[0]: node for node in made.graph.nodes}
    last = producers[made.names["margins"]]
    parts = [producers.get(name) for name in last.input] if last.op_type == "Concat" else [last]
    ensembles = made.graph.ensembles
    if len(parts) != len(ensembles):
        others = {one.output[0] for one in ensembles[:-1]}
        return len(parts) == 1 and parts[0] is ensembles[-1] and others <= _read_by(ensembles[-1], producers)
    outputs = {one.output[0] for one in ensembles}
    is_in_order = all(one is other for one, other in zip(parts, ensembles))
    return is_in_order and all(outputs.isdisjoint(_read_by(one, producers)) for one in ensembles)


def _read_by(node: Any, producers: Mapping[str, Any]) -> set[str]:
    """The results of other nodes that a node depends on."""
    waiting: list[Any] = [node]
    seen: set[str] = set()
    while waiting:
        for name in waiting.pop().input:
            if name in producers and name not in seen:
                seen.add(name)
                waiting.append(producers[name])
    return seen


def with_rule(content: bytes, answers: Answers) -> bytes:
    """A file with the rule for the decision values of an object with these results in its metadata."""
    rule = _rule_of(answers)
    if rule is None:
        return content
    import onnx

    # A message of Protocol Buffers may follow another one, and adds its fields.
    entry = onnx.StringStringEntryProto(key=_KEY, value=json.dumps(rule))
    more: bytes = onnx.ModelProto(metadata_props=[entry]).SerializeToString()
    return content + more


def _rule_of(answers: Answers) -> dict[str, Any] | None:
    if isinstance(answers, Votes) and answers.classes is not None:
        return {"rule": "votes", "sums": len(answers.classes), "weight": answers.weight}
    if isinstance(answers, Isolation):
        known = {"offset": answers.offset, "normal_length": answers.normal_length}
        return {"rule": "isolation", "sums": 1, **known}
    if isinstance(answers, Scores) and type(answers) in (Scores, Targets) and answers.main == "raw":
        has_values = "decision_function" not in answers.lacks
        return {"rule": "sums", "sums": answers.columns} if has_values else None
    return None


def rules(found: Mapping[str, Any] | None, sums: int) -> Answers | None:
    """The rules for decision values from the metadata, for a model with this number of sums. None for rules
    of another release, and if the model has another number of sums."""
    if found is None or found.get("sums") != sums:
        return None
    try:
        if found["rule"] == "votes":
            return Votes(weight=float(found["weight"]))
        if found["rule"] == "isolation":
            return Isolation(offset=float(found["offset"]), normal_length=float(found["normal_length"]))
        if found["rule"] == "sums":
            return Scores(columns=sums)
    except (KeyError, TypeError, ValueError):
        pass
    return None


def in_file(content: bytes) -> Mapping[str, Any] | None:
    """The rule in the metadata of a file; None for files of other formats and programs."""
    try:
        for number, field in _fields(memoryview(content)):
            pair = dict(_fields(field)) if number == _METADATA_PROPS else {}
            if pair and bytes(pair[1]) == _KEY.encode():
                found = json.loads(bytes(pair[2]))
                return found if isinstance(found, dict) else None
    except (IndexError, KeyError, ValueError):
        pass
    return None


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message of Protocol Buffers that have a length, with their numbers.

    Raises IndexError and ValueError for bytes that are no message.
    """
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        kind = key & 7
        if kind == 2:
            size, at = _number(message, at)
            yield key >> 3, message[at : at + size]
            at += size
        elif kind == 0:
            at = _number(message, at)[1]
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("the bytes are no message")


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """The number of variable length at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
