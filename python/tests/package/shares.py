"""The shares of long lists of cases that every run has. Nightly runs, in which `SCHEDC_NIGHTLY` is set, have
all cases."""

import itertools
import os


def is_nightly():
    """Whether this is a nightly run."""
    return "SCHEDC_NIGHTLY" in os.environ


def in_turn(number, values):
    """The values for case `number`: one of them, in turn; each night all of them."""
    return values if is_nightly() else (values[number % len(values)],)


def combined(*lists):
    """Combinations that have each member of each list; each night all combinations."""
    least = 1 if is_nightly() else min(map(len, lists))
    places = itertools.product(*(range(len(one)) for one in lists))
    return [tuple(one[at] for one, at in zip(lists, place)) for place in places if sum(place) % least == 0]
