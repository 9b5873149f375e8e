"""Lookup of columns by the names of a model's features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from .findings import Refused

#: Maximum number of columns that are searched for a similar name, and of features that a message names.
_MOST_OTHERS, _MOST_NAMED = 4096, 3
_MOST_LETTERS = 80


def quoted(name: str) -> str:
    """A name in quotes, as in messages."""
    return '"' + (name if len(name) <= _MOST_LETTERS else name[:_MOST_LETTERS] + "...") + '"'


def _plain(name: str) -> str:
    return "".join(letter for letter in name[:64].lower() if letter.isalnum())


def near(name: str, others: Sequence[str]) -> str | None:
    """The name among ``others`` that ``name`` is most likely a variant of; None if none is similar. A similar
    name differs in case, blanks and punctuation, in a prefix or suffix, or in a few letters."""
    wanted = _plain(name)
    best: tuple[float, str] | None = None
    for other in others[:_MOST_OTHERS]:
        plain = _plain(other)
        if not wanted or not plain:
            continue
        short, long = sorted((wanted, plain), key=len)
        if short == long:
            score = 2.0
        elif len(short) >= 3 and (long.startswith(short) or long.endswith(short)):
            score = 1.0
        else:
            matcher = SequenceMatcher(None, wanted, plain)
            is_near = matcher.real_quick_ratio() >= 0.75 and matcher.quick_ratio() >= 0.75
            score = matcher.ratio() if is_near else 0.0
        if score >= 0.75 and (best is None or score > best[0]):
            best = (score, other)
    return best and best[1]


def wanted_columns(
    features: Sequence[str] | None, count: int,
    columns: Sequence[str | None] | Mapping[str, str | None] | None
) -> list[str | None]:
    """The name of each feature's column; None for an absent feature."""
    if isinstance(columns, str):
        raise TypeError(
            "columns is a list of names, one for each feature, or a dict from features to columns"
        )
    if columns is None:
        if features is None:
            raise Refused(
                f"the model has no names of features: columns=[...] names the columns of its {count} "
                "features, "
                "and by_position=True takes a table's columns in their order"
            )
        return list(features)
    if isinstance(columns, Mapping):
        if features is None:
            raise Refused(f"the model has no names of features: give columns as a list of {count} names")
        unknown = [name for name in columns if name not in features]
        if unknown:
            meant = near(str(unknown[0]), features)
            hint = f"; {quoted(meant)} may be meant" if meant is not None else ""
            raise Refused(f"{quoted(str(unknown[0]))} in columns is no feature of the model{hint}")
        return [columns.get(name, name) for name in features]
    if len(columns) != count:
        raise Refused(f"columns has {len(columns)} names, and the model {count} features; None stands "
                         "for one that is absent")
    return list(columns)


def renamed(features: Sequence[str], columns: Mapping[str, str | None]) -> list[str | None]:
    """The column of each feature: the one that a dict names, otherwise the one with the feature's name."""
    return wanted_columns(features, len(features), columns)


def as_lightgbm(header: Sequence[str], wanted: Sequence[str | None]) -> list[str]:
    """The names of a table's columns, in the form of LightGBM, which writes ``_`` for each blank. Only those
    change that then name a wanted column, if no other column of the table has this name."""
    lacking = {name for name in wanted if name is not None} - set(header)
    written = [name.replace(" ", "_") for name in header]
    lacking = {name for name in lacking if written.count(name) == 1}
    return [new if new in lacking else name for name, new in zip(header, written)]


def find_columns(header: Sequence[str], wanted: Sequence[str | None]) -> list[int | None]:
    """The index of each wanted column among the names of a table. Blanks around names are ignored, unless
    they distinguish two wanted columns, or a column has the wanted name without a difference in blanks.

    Raises Refused for missing names, with similar ones as help, and for duplicate names.
    """
    names = [name for name in wanted if name is not None]
    if any(not name.strip() for name in names):
        raise Refused("a feature of the model has an empty name; columns=[...] names the table's columns")
    trim = len({name.strip() for name in names}) == len(names)
    repeated = next((name for at, name in enumerate(names) if name in names[:at]), None) if not trim else None
    if repeated is not None:
        raise Refused(f"two features of the model have the column {quoted(repeated)}; columns=[...] "
                         "names one for each", "D0007")
    plain = str.strip if trim else str
    places: dict[str, list[int]] = {}
    for at, name in enumerate(header):
        places.setdefault(plain(name), []).append(at)
    found: list[int | None] = []
    lacking = []
    for want in wanted:
        there = places.get(plain(want), []) if want is not None else []
        if len(there) > 1:
            exact = [at for at in there if header[at] == want]
            there = exact if len(exact) == 1 else there
        if len(there) > 1:
            raise Refused(f"columns {there[0] + 1} and {there[1] + 1} of the table are both named "
                             f"{quoted(str(want))}", "D0007")
        if want is not None and not there:
            lacking.append(want)
        found.append(there[0] if there else None)
    if lacking and not header:
        raise Refused(f"the table has no columns, and the model reads {_listed(lacking)}; a table without "
                         "rows needs columns, too", "D0006")
    if lacking:
        others = [name for at, name in enumerate(header) if at not in found]
        raise Refused(_missing(lacking, len(names), others), "D0006")
    return found


def _listed(names: list[str]) -> str:
    """The first names, and the number of the rest."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(quoted(name) for name in names[:_MOST_NAMED]) + more


def _missing(lacking: list[str], features: int, others: list[str]) -> str:
    whose = "all features" if len(lacking) == features else "features"
    pairs = [(near(name, others), name) for name in lacking[:_MOST_NAMED]]
    meant = [f"{quoted(other)} may stand for {quoted(name)}" for other, name in pairs if other is not None]
    hint = "; " + ", ".join(meant) if meant else ""
    if not meant and len(others) == len(lacking) == features:
        hint = f"; by_position=True takes the table's {features} columns in their order"
    return (
        f"the table lacks {whose} of the model: {_listed(lacking)}{hint}; columns={{feature: column}} gives "
        "a feature another column, and None in place of the column marks an absent feature"
    )
