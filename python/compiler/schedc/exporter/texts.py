"""Columns in which a fitted object expects texts, since a step has categories there. Columns are traced back
through earlier steps."""

from __future__ import annotations

from typing import Any

import numpy

from .frames import categories_of, encoded_columns, is_frame_encoder
from .graph import TEXT
from .imputers import filled_columns
from .selection import kept
from .stages import CYCLICAL, held, key_of, thresholded
from .versions import column_positions


def text_columns(estimator: Any, count: int) -> set[int]:
    """The columns in which a fitted object expects text."""
    estimator = held(estimator)
    found: set[int] = set()
    if isinstance(getattr(estimator, "steps", None), list):
        places = {at: at for at in range(count)}
        for step, width in _steps(estimator, count):
            found |= {places[at] for at in text_columns(step, width) if at in places}
            places = _behind(step, width, places)
        return found
    if hasattr(estimator, "transformers_"):
        for name, step, _ in estimator.transformers_:
            positions = column_positions(estimator, name)
            if not isinstance(step, str):
                found |= {positions[at] for at in text_columns(step, len(positions))}
        return found
    if hasattr(estimator, "transformer_list"):
        return found.union(*(text_columns(step, count) for _, step in estimator.transformer_list
                             if not isinstance(step, str)))
    if getattr(estimator, "_preprocessor", None) is not None:
        return text_columns(estimator._preprocessor, count)
    if is_frame_encoder(estimator):
        names = list(getattr(estimator, "feature_names_in_", []))
        return {names.index(name) for name in encoded_columns(estimator)
                if name in names and any(isinstance(key, str) for key in categories_of(estimator, name))}
    found = {positions[at] for part, positions in _parts(estimator, count)
             for at in text_columns(part, len(positions)) if at < len(positions)}
    if found:
        return found
    lists = getattr(estimator, "categories_", None)
    if lists is None:
        statistics = numpy.asarray(getattr(estimator, "statistics_", []), TEXT)
        lists = [[value] for value in statistics.tolist()]
    return {at for at, known in enumerate(lists) if any(isinstance(value, str) for value in known)}


def _steps(pipeline: Any, count: int) -> list[tuple[Any, int]]:
    """The steps of a pipeline that change rows or read them, each with the number of its columns."""
    steps = [held(step) for _, step in pipeline.steps if step is not None and not isinstance(step, str)]
    steps = [step for step in steps if not hasattr(step, "fit_resample")]
    # Some estimators of other trainers have None before they are fitted.
    return [(step, int(getattr(step, "n_features_in_", None) or count)) for step in steps]


def _behind(step: Any, width: int, places: dict[int, int]) -> dict[int, int]:
    """Maps the columns behind a step to columns of the rows; `places` maps the columns before the step."""
    return {at: places[one] for at, one in handed_on(step, width).items() if one in places}


def handed_on(estimator: Any, count: int) -> dict[int, int]:
    """The columns that a fitted transformer passes on, perhaps with missing values filled. Maps their
    positions in the result to positions among the `count` columns of its rows."""
    estimator = held(estimator)
    every = {at: at for at in range(count)}
    if isinstance(estimator, str):
        return every if estimator == "passthrough" else {}
    key = key_of(estimator)
    if isinstance(getattr(estimator, "steps", None), list):
        for step, width in _steps(estimator, count):
            every = _behind(step, width, every)
        return every
    if key == "sklearn.ColumnTransformer":
        return _of_parts(estimator)
    if key == "sklearn.FeatureUnion":
        return _of_union(estimator, count)
    if key == "sklearn.FunctionTransformer":
        return every if estimator.func is None else {}
    if is_frame_encoder(estimator) or key == CYCLICAL:
        return _beside_encoded(estimator)
    chosen = filled_columns(estimator, count) if key == "sklearn.SimpleImputer" else kept(estimator, key)
    return dict(enumerate(chosen or []))


def _of_parts(estimator: Any) -> dict[int, int]:
    """The columns that a ColumnTransformer passes on."""
    made: dict[int, int] = {}
    # A transformer without columns lacks the attribute.
    places = getattr(estimator, "output_indices_", {})
    for name, step, _ in estimator.transformers_ if places else []:
        positions, first = column_positions(estimator, name), places[name].start
        made.update((first + at, positions[one]) for at, one in handed_on(step, len(positions)).items())
    return made


def _of_union(estimator: Any, count: int) -> dict[int, int]:
    """The columns that a FeatureUnion passes on, up to the first part whose number of columns is unknown."""
    made: dict[int, int] = {}
    first = 0
    for _, step in estimator.transformer_list:
        part = handed_on(step, count)
        made.update((first + at, one) for at, one in part.items())
        try:
            first += len(part) if isinstance(step, str) else len(step.get_feature_names_out())
        except (AttributeError, ValueError):
            break
    return made


def _beside_encoded(estimator: Any) -> dict[int, int]:
    """The columns of a table that a step of feature-engine or category_encoders does not encode, which keep
    their names."""
    names, encoded = list(getattr(estimator, "feature_names_in_", [])), set(encoded_columns(estimator))
    return {at: names.index(name) for at, name in enumerate(estimator.get_feature_names_out())
            if name in names and name not in encoded}


def _parts(estimator: Any, count: int) -> list[tuple[Any, list[int]]]:
    """The fitted parts of an estimator that read its rows, each with the columns that it reads. Such
    estimators are voting, stacking, bagging, and models with a part for each class or target."""
    parts = [part for name in ("estimators_", "calibrated_classifiers_")
             if isinstance(made := getattr(estimator, name, None), (list, tuple)) for part in made]
    if (inner := thresholded(estimator)) is not None:
        parts = [inner]
    # A calibrated classifier holds another classifier, a model with a transformed target a regressor.
    parts += [part for name in ("regressor_", "estimator")
              if hasattr(part := getattr(estimator, name, None), "predict") and not parts]
    chosen = getattr(estimator, "estimators_features_", None)
    every = [list(range(count))] * len(parts) if chosen is None else [list(map(int, one)) for one in chosen]
    return list(zip(parts, every))
