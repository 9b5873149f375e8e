"""Compiles models to shared libraries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from schedc_runtime._native import load_handle
from schedc_runtime.findings import public

from . import _native
from .answers import Answers, labelled
from .arguments import check_options, check_rows, check_unseen, examples_of, proposing
from .checking import check_answers, is_checked
from .code import Code, Recipe
from .findings import Refused, refused
from .fitted import refused_pipeline, source_of
from .meaning import Meaning
from .model import Model, Output
from .origin import Origin
from .saving import MODELS, PICKLES
from .schedule import schedule_text, values_of

#: The first bytes of a library.
_ELF = b"\x7fELF"


@proposing
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
    check: Any = True,
    effort: Literal["background", "fast", "full"] = "full",
    cache: bool = True,
    pool: Any = None,
    labels: Any = None,
    unseen: Literal["error", "missing", "other"] | None = None,
) -> Model:
    """Compiles a model.

    ``model`` is the path or the bytes of a model's file, or a fitted object: a Booster or an estimator of
    XGBoost or LightGBM, a model of CatBoost, a forest of scikit-learn (by way of Treelite), a fitted pipeline
    of scikit-learn (by way of ONNX), a model of ONNX or Treelite.

    ``schedule`` is the text of a schedule or the path of its file. By default, a matching entry of the lock
    is used, or else the automatic schedule. ``target``, ``sets`` and ``batch_size`` are as for
    :func:`schedc.check`.

    ``lock`` is the file with measured schedules, by default ``schedc.lock`` beside the model's file. An entry
    that does not match is a warning. With ``locked=True`` a missing or mismatched entry is an error; with
    ``frozen=True`` the lock is ignored. Locks work only for models given by path.

    ``cpu`` names the processor to compile for: ``"native"`` for this machine, a level of ``schedc build
    --cpu`` such as ``"x86-64-v3"``, or a list of these. Of a list, each machine runs the best one that it
    supports. ``rows`` selects the types of rows to compile for: float32, float64 or both.

    ``output`` is what ``predict`` returns: by default the same as the object's own ``predict``, otherwise
    ``"value"``, ``"raw"``, ``"class"``, ``"leaf"`` or ``"tree"``. ``missing`` is a number that marks missing
    values in addition to NaN. ``iterations`` selects a range, as in ``"0..10"``, or ``"best"``.
    ``base_margin=True`` compiles for calls with a base margin. Objects have their own ``missing`` and best
    iteration. ``as_release`` interprets a file of XGBoost as another release does, as in ``"3.4"``.

    ``pool`` has the training rows of a CatBoost object with ``cat_features``, as a frame or a
    ``catboost.Pool``: the object keeps only hashes of the categories' names. Labels are not needed.

    ``labels`` has the labels of a classifier that was trained on their numbers: a fitted ``LabelEncoder``, or
    a list. ``predict`` then returns labels, and ``classes_`` has them.

    ``unseen`` is the treatment of unknown categories in calls with tables that do not give it, by default the
    trainer's: ``"error"`` for pipelines whose encoders raise one. Saved libraries keep it for
    :func:`schedc.load`.

    ``effort="fast"`` compiles in half the time, to code that takes up to a fifth longer.
    ``effort="background"`` returns at once: the model predicts by walking its trees, with the same results,
    while a thread compiles it with full effort. :attr:`Model.ready` says whether it is compiled, and
    :meth:`Model.wait` waits for it. A fork waits for the thread, and so does the end of the program while
    LLVM runs.

    Compiled code is kept in the folder ``artefacts`` of the user's cache (``$SCHEDC_CACHE``,
    ``$XDG_CACHE_HOME/schedc`` or ``~/.cache/schedc``). The next compilation of the same model takes it from
    there. ``cache=False`` neither uses nor fills the cache.

    The compiled model of an object is compared with the object on a few dozen rows. Their values lie on and
    beside thresholds; some are missing, and categories are known and unknown ones. ``check=False`` skips the
    comparison. Files are not compared, since there is no object. For a fitted pipeline ``check`` may also be
    rows, on which both are then compared.

    Raises :class:`Refused`, with help, for invalid models and schedules and for outputs that the model lacks,
    :class:`Difference` if the compiled model and its object predict different values, and Refused or
    TypeError for options and objects that no model has. Raises ImportError if a package is missing that reads
    the object.

    """
    if isinstance(model, Model):
        raise TypeError("the model is compiled already: give the object or the file that it is made from")
    if effort not in ("background", "fast", "full"):
        raise Refused(
            'effort: choose "full", which makes the fastest code, "fast", which compiles in half the time, '
            'or "background", which predicts meanwhile'
        )
    examples = examples_of(check)
    check_rows(rows)
    check_unseen(unseen)
    check_options(
        cpu=cpu, output=output, missing=missing, iterations=iterations, as_release=as_release, lock=lock,
        base_margin=base_margin, locked=locked, frozen=frozen, cache=cache, target=target, sets=sets,
        batch_size=batch_size,
    )
    model, origin = source_of(model, pool, rows, examples)
    if missing is not None:
        origin = replace(origin, missing=missing)
    if iterations is not None:
        origin = replace(origin, iterations=iterations)
    if as_release is not None:
        if origin.family is not None:
            raise Refused("as_release is for files: an object predicts as its own release does")
        origin = replace(origin, as_release=as_release)
    recipe = Recipe(
        schedule=None if schedule is None else schedule_text(schedule),
        cpu=(cpu,) if isinstance(cpu, str) else tuple(cpu),
        rows=_rows_of(origin, rows),
        base_margin=base_margin,
        target=target,
        sets=tuple((sets or {}).items()),
        batch_size=batch_size,
        effort="full" if effort == "background" else effort,
        cache=cache,
        **_lock_of(model, schedule, lock, locked, frozen),
    )
    answered = origin
    if output is not None:
        lacks = [method for method in origin.answers.lacks if method != "predict"]
        plain = Answers(output=output, leaves=origin.answers.leaves, lacks=lacks)
        answered = replace(origin, answers=plain)
    elif labels is not None:
        answered = replace(origin, answers=labelled(origin.answers, labels))
    if unseen is not None:
        answered = replace(answered, unseen=unseen)
    probes = check is not False and is_checked(origin)
    begun = None
    if effort == "background":
        begun = _begun(answered, recipe, probes)
        capsule = begun.walker()
        if capsule is not None:
            walker = load_handle(capsule)
            walking = Model(walker, origin, recipe)
            compared = begun.probes()
            if compared is not None:
                check_answers(model, walking, origin, compared, iterations is not None, examples)
            answering = walking if answered is origin else Model(walker, answered, recipe)
            answering._compile(begun)
            return answering
    made = _made(answered, recipe, probes) if begun is None else _warned(begun.finish())
    compiled = Model(Code.of(made), origin, recipe)
    if made.probes is not None:
        check_answers(model, compiled, origin, made.probes, iterations is not None, examples)
    return compiled if answered is origin else Model(Code.of(made), answered, recipe)


def _rows_of(origin: Origin, rows: str) -> str:
    """The types of rows to compile for."""
    if origin.single:
        return "f32"
    return origin.row_types if origin.row_types is not None and rows == "both" else rows


def _lock_of(
    model: Any,
    schedule: str | PathLike[str] | None,
    lock: str | PathLike[str] | None,
    locked: bool,
    frozen: bool,
) -> dict[str, Any]:
    """Options for the lock."""
    if lock is None and not locked:
        return {"frozen": frozen or schedule is not None or not isinstance(model, (str, PathLike))}
    if frozen:
        raise Refused("frozen=True ignores locks; omit lock= and locked=True")
    if schedule is not None:
        raise Refused("both a schedule and a lock were given; omit one")
    if not isinstance(model, (str, PathLike)):
        raise Refused(
            "a lock identifies models by their files: give the path of the model's file"
        )
    return {"lock": None if lock is None else fspath(lock), "locked": locked, "frozen": False}


def built(origin: Origin, recipe: Recipe) -> Code:
    """Compiles a model."""
    return Code.of(_made(origin, recipe, probes=False))


def _made(origin: Origin, recipe: Recipe, probes: bool) -> _native.Artefact:
    """Compiles a model to an artefact; ``probes`` requests rows for a comparison of predictions."""
    try:
        made = _native.build(origin.model, _keywords(origin, recipe, probes))
    except _native.Refused as error:
        raise refused_pipeline(refused(error), origin) from None
    except ValueError as error:
        raise public(error) from None
    return _warned(made)


def _warned(made: _native.Artefact) -> _native.Artefact:
    """Issues the compiler's warnings, such as that of a lock without an entry that matches."""
    for warning in made.warnings:
        warnings.warn(warning, stacklevel=5)
    return made


def _begun(origin: Origin, recipe: Recipe, probes: bool) -> _native.Compilation:
    """Begins to compile a model."""
    try:
        return _native.begin(origin.model, _keywords(origin, recipe, probes))
    except _native.Refused as error:
        raise refused_pipeline(refused(error), origin) from None
    except ValueError as error:
        raise public(error) from None


def _keywords(origin: Origin, recipe: Recipe, probes: bool) -> _native.Keywords:
    return {
        "values": values_of(dict(recipe.sets), recipe.target, recipe.batch_size),
        "name": origin.name,
        "schedule": recipe.schedule,
        "cpu": list(recipe.cpu),
        "rows": recipe.rows,
        "missing": origin.missing,
        "base_margin": recipe.base_margin,
        "iterations": origin.iterations,
        "as_release": origin.as_release,
        "feature_names": list(origin.names or ()),
        "lock": recipe.lock,
        "locked": recipe.locked,
        "frozen": recipe.frozen,
        "encoded": list(origin.encoded),
        "probes": probes,
        "object": Meaning.of(origin).text(),
        "output": origin.answers.output,
        "effort": recipe.effort,
        "cache": recipe.cache,
    }


def load(library: str | PathLike[str] | bytes) -> Model:
    """Loads a library that :meth:`Model.save` or ``schedc build`` wrote, from its path or its bytes.

    A library that :meth:`Model.save` wrote predicts as the saved model did. ``predict`` of one by ``schedc
    build`` is the main call of the model's trainer. Loading a library runs its code, so load only trusted
    ones. Raises OSError if it is not a library.

    """
    if isinstance(library, (bytes, bytearray)):
        return Model(Code(bytes(library)), None, None)
    path = Path(library)
    content = path.read_bytes()
    if content[:4] != _ELF:
        raise OSError(_no_library(path))
    return Model(Code(content), None, None)


def _no_library(path: Path) -> str:
    """The message that a file is no library, and how to get one."""
    if path.suffix.lower() in PICKLES:
        return f"{path} is no library: load the pickled object, and give it to schedc.compile"
    if path.suffix.lower() in MODELS:
        return f'{path} is a model and no library: schedc.compile("{path}") compiles it'
    return (
        f"{path} is no library of schedc; schedc.compile(model).save(\"model.so\") and `schedc build "
        "model.json -o model.so` write one"
    )
