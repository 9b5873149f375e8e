"""From a model to code."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any, Literal

from . import _native
from .answers import Answers
from .checking import check_answers, is_checked
from .findings import refused
from .model import Code, Model, Output, Recipe
from .origin import Origin, origin_of
from .schedule import schedule_text, values_of


def compile(
    model: Any,
    schedule: str | PathLike[str] | None = None,
    *,
    cpu: str | Sequence[str] = "native",
    output: Output | None = None,
    rows: Literal["f32", "f64", "both"] = "both",
    missing: float | None = None,
    iterations: str | None = None,
    as_release: str | None = None,
    base_margin: bool = False,
    target: str | None = None,
    sets: Mapping[str, int] | None = None,
    batch_size: int | None = None,
    lock: str | PathLike[str] | None = None,
    locked: bool = False,
    frozen: bool = False,
    check: bool = True,
) -> Model:
    """Compiles a model.

    ``model`` is the path or the bytes of a model's file, or a fitted object: a Booster or an estimator of XGBoost or LightGBM,
    a model of CatBoost, a forest of scikit-learn (by way of Treelite), a model of ONNX or Treelite.

    ``schedule`` is the text of a schedule or the path of its file; without one, that of the lock counts, or else schedc
    chooses a good one. ``target``, ``sets`` and ``batch_size`` are as for :func:`schedc.check`.

    ``lock`` is the file with schedules that were measured, by default ``schedc.lock`` beside the model's file. An entry that does
    not fit is a warning; with ``locked=True`` it is an error, as it is that there is none. With ``frozen=True`` no lock is looked
    for. A lock is for models whose path is given.

    ``cpu`` names the processor to compile for: ``"native"`` for this machine, a level of ``schedc build --cpu`` such as
    ``"x86-64-v3"``, or a list of these. From a list, each machine picks the best one that it can run. ``rows`` selects the
    rows that code is made for: of float32, of float64 or of both.

    ``output`` is what ``predict`` returns: by default what the object's own ``predict`` does, or else ``"value"``, ``"raw"``,
    ``"class"`` or ``"leaf"``. ``missing`` is a number that stands for missing values beside NaN, ``iterations`` chooses some,
    as in ``"0..10"`` or ``"best"``, and ``base_margin=True`` prepares for calls that bring a base margin along; objects
    know their own ``missing`` and best iteration. ``as_release`` gives a file of XGBoost the meaning that another release gives it,
    as in ``"3.4"``.

    A compiled object is compared with the object itself on a few dozen rows on and beside thresholds, with missing values and
    with known and unknown categories; ``check=False`` leaves that out. A file has no object to compare with.

    Raises :class:`Refused` for models and schedules that are wrong, with a way out, and :class:`Difference` where the compiled
    model does not answer as its object does.
    """
    origin = origin_of(model)
    if missing is not None:
        origin = replace(origin, missing=missing)
    if iterations is not None:
        origin = replace(origin, iterations=iterations)
    if as_release is not None:
        if origin.family is not None:
            raise ValueError("as_release is for files: an object means what its own release computes")
        origin = replace(origin, as_release=as_release)
    recipe = Recipe(
        schedule=None if schedule is None else schedule_text(schedule),
        cpu=(cpu,) if isinstance(cpu, str) else tuple(cpu),
        rows="f32" if origin.single else rows,
        base_margin=base_margin,
        target=target,
        sets=tuple((sets or {}).items()),
        batch_size=batch_size,
        **_lock_of(model, schedule, lock, locked, frozen),
    )
    made = _made(origin, recipe, probes=check and is_checked(origin))
    compiled = Model(_code(made), origin, recipe)
    if made.probes is not None:
        check_answers(model, compiled, origin, made.probes, is_asked_for=iterations is not None)
    if output is not None:
        origin = replace(origin, answers=Answers(output=output, leaves=origin.answers.leaves))
        compiled = Model(_code(made), origin, recipe)
    return compiled


def _lock_of(
    model: Any,
    schedule: str | PathLike[str] | None,
    lock: str | PathLike[str] | None,
    locked: bool,
    frozen: bool,
) -> dict[str, Any]:
    """How the lock is used."""
    if lock is None and not locked:
        return {"frozen": frozen or schedule is not None or not isinstance(model, (str, PathLike))}
    if frozen:
        raise ValueError("frozen=True looks for no lock: leave out lock and locked")
    if schedule is not None:
        raise ValueError("the schedule of a lock is asked for, and a schedule is given: leave one of them out")
    if not isinstance(model, (str, PathLike)):
        raise ValueError("the entries of a lock name models by their files: give the path of the model's file")
    return {"lock": None if lock is None else fspath(lock), "locked": locked, "frozen": False}


def built(origin: Origin, recipe: Recipe) -> Code:
    """The code of a model."""
    return _code(_made(origin, recipe))


def _code(made: _native.Artefact) -> Code:
    return Code(made.library, made.header, tuple(made.schedules), tuple(made.notes), made.findings)


def _made(origin: Origin, recipe: Recipe, probes: bool = False) -> _native.Artefact:
    """The artefact of a model; ``probes`` asks for rows to compare predictions on."""
    try:
        made = _native.build(
            origin.model,
            values=values_of(dict(recipe.sets), recipe.target, recipe.batch_size),
            name=origin.name,
            schedule=recipe.schedule,
            cpu=list(recipe.cpu),
            rows=recipe.rows,
            missing=origin.missing,
            base_margin=recipe.base_margin,
            iterations=origin.iterations,
            as_release=origin.as_release,
            feature_names=list(origin.names or ()),
            lock=recipe.lock,
            locked=recipe.locked,
            frozen=recipe.frozen,
            encoded=list(origin.encoded),
            probes=probes,
        )
    except _native.Refused as error:
        raise refused(error) from None
    if made.miss is not None:
        warnings.warn(made.miss, stacklevel=3)
    return made


def load(library: str | PathLike[str] | bytes) -> Model:
    """Loads a library that :meth:`Model.save` or ``schedc build`` wrote, from its path or its bytes.

    Its ``predict`` is the main call of the model's trainer: a file does not say which object was compiled. Libraries run code
    as they are loaded, so they should come from a trusted place. Raises OSError for what is no library.
    """
    from pathlib import Path

    content = bytes(library) if isinstance(library, (bytes, bytearray)) else Path(library).read_bytes()
    return Model(Code(content), None, None)
