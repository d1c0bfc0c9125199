"""Say how many groups a pair must have in common to reach a resemblance or a containment.

Takes the number of groups that each content is in, or bounds of the size of its set; gives the `Needs` for
`candidates`. The needs may be lower than necessary, but must never be too high: then pairs would be missed.
"""

from typing import NamedTuple

import numpy as np

from docindex.arrays.joins import Limits
from docindex.arrays.ranges import I64
from docindex.query.measures import rounded_up
from docindex.query.pairs.candidates import Needs
from docindex.query.pairs.joined import Measure


class SizesOfSets(NamedTuple):
    """What is known of the sizes of some sets."""

    at_least: I64
    slack: I64
    """How many more members each set may have in common with another one than groups."""
    at_most: I64


def needs_of_sets(measure: Measure, sizes: SizesOfSets, least: float) -> Needs:
    """The needs of pairs of sets."""
    if measure == "resemblance":
        return _needs_of_resemblance(sizes, least)
    return _needs_of_containment(sizes.at_least, sizes.slack, least)


def _needs_of_resemblance(sizes: SizesOfSets, least: float) -> Needs:
    """The needs of pairs that have at least `least` of their union in common.

    That is `least` / (1 + `least`) of the sum of both sizes, or more.
    """
    ranks, counts, slack = _by_size(sizes.at_least, sizes.slack)
    largest = np.empty_like(counts)
    largest[ranks] = sizes.at_most
    half = least / (1 + least)
    early = np.maximum(1, rounded_up(2 * half * counts) - slack)  # the late member is not smaller
    late = np.maximum(1, rounded_up(least * counts) - slack)
    # The early set has all that both have in common. Only its largest size tells that it is too small.
    largest = np.maximum.accumulate(largest)
    too_small = np.searchsorted(largest, rounded_up(least * counts) - slack.max(initial=0))
    return Needs(
        ranks,
        early,
        late,
        Limits(np.minimum(too_small, np.arange(len(counts)))),
        lambda a, b: np.maximum(
            1, rounded_up(half * (counts[a] + counts[b])) - np.minimum(slack[a], slack[b])
        ),
    )


def _needs_of_containment(counts: I64, slack: I64, least: float) -> Needs:
    """The needs of pairs that have at least `least` of the smaller member in common."""
    ranks, counts, slack = _by_size(counts, slack)
    return Needs(
        ranks,
        np.maximum(1, rounded_up(least * counts) - slack),
        np.ones_like(counts),
        Limits(np.zeros_like(counts)),
        lambda a, b: np.maximum(1, rounded_up(least * counts[a]) - np.minimum(slack[a], slack[b])),
    )


def _by_size(counts: I64, slack: I64) -> tuple[I64, I64, I64]:
    """The rank of each member by its size; and sizes and slacks by rank."""
    order = np.argsort(counts, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks, counts[order], slack[order]
