"""Rows on both sides of the thresholds that trees test behind steps that mix columns, such as projections."""

from __future__ import annotations

from typing import Any

import numpy

from .bounds import with_outputs
from .check import run
from .graph import FLOAT64, Promise

#: Number of tests for which rows are made, each with a row on either side.
_TESTS = 64
#: Number of halvings of the distance between the two rows.
_HALVINGS = 20


def crossing_rows(made: Any, rows: Any) -> Any:
    """Rows between some of `rows` such that a tested value lies closely below or above a threshold; None if
    trees test only values that equal scikit-learn's, which rows are made for from fitted statistics."""
    source = numpy.random.default_rng(6)
    found = [_crossing(made, rows, node, source) for node in _mixed(made.graph)]
    found = [one for one in found if one is not None]
    return joined(found) if found else None


def joined(parts: list[Any]) -> Any:
    """Rows below other rows."""
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts, ignore_index=True)
    return numpy.concatenate(parts)


def _mixed(graph: Any) -> list[Any]:
    """The ensembles of trees behind steps that round differently."""
    names = {node.output[0]: node.name for node in graph.nodes}
    tested = [(node, graph.values.get(names.get(node.input[0])))
              for node in graph.nodes if node.op_type == "TreeEnsemble"]
    return [node for node, value in tested if value is not None and value.promise is not Promise.EQUAL]


def _crossing(made: Any, rows: Any, node: Any, source: Any) -> Any:
    """Rows on both sides of some tests of an ensemble."""
    from onnx import numpy_helper

    options = {one.name: one for one in node.attribute}
    features = numpy.array(options["nodes_featureids"].ints)
    splits = numpy_helper.to_array(options["nodes_splits"].t).astype(FLOAT64)
    tests = numpy.unique(numpy.column_stack([features, splits]), axis=0)
    tests = source.permutation(tests)[:_TESTS]
    part, used = with_outputs(made.content, [node.input[0]])
    places = tests[:, 0].astype(int)

    def passes(some: Any) -> numpy.ndarray:
        feeds = {name: array for name, array in made.feeds(some).items() if name in used}
        values = run(part, feeds)[node.input[0]]
        passed: numpy.ndarray = values[numpy.arange(len(places)), places] <= tests[:, 1]
        return passed

    first, second = (source.integers(len(rows), size=len(tests)) for _ in range(2))
    low, high = numpy.zeros(len(tests)), numpy.ones(len(tests))
    start = passes(_between(rows, first, second, low))
    crosses = start != passes(_between(rows, first, second, high))
    if not crosses.any():
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_start = passes(_between(rows, first, second, middle)) == start
        low, high = numpy.where(is_start, middle, low), numpy.where(is_start, high, middle)
    return joined([_between(rows, first[crosses], second[crosses], end[crosses]) for end in (low, high)])


def _between(rows: Any, first: numpy.ndarray, second: numpy.ndarray, share: numpy.ndarray) -> Any:
    """Rows between pairs of rows. Columns without fractions are those of the first row of each pair."""
    if not hasattr(rows, "iloc"):
        if rows.dtype.kind != "f":
            return rows[first]
        return _blended(rows[first], rows[second], share[:, None])
    made = rows.iloc[first].reset_index(drop=True)
    for name in made.columns:
        if made[name].dtype.kind == "f":
            values = rows[name].to_numpy()
            made[name] = _blended(values[first], values[second], share)
    return made


def _blended(first: numpy.ndarray, second: numpy.ndarray, share: numpy.ndarray) -> numpy.ndarray:
    blended: numpy.ndarray = (first + (second - first) * share).astype(first.dtype)
    return blended
