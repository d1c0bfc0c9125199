"""Say how many groups a pair must have in common to reach a resemblance or a containment.

Takes the number of groups that each content is in; gives the `Needs` for `candidates`. The needs may be lower
than necessary, but must never be too high: then pairs would be missed.
"""

import numpy as np
from numpy.typing import NDArray

from docindex.kernels.arrays import I64
from docindex.kernels.joins import Limits
from docindex.query.candidates import Needs
from docindex.query.joined_pairs import Measure

# The product of a share and a size is rounded, and may be too large. So candidates need this fraction less,
# and then their exact numbers decide.
_ROUNDING = 1e-9


def needs_of_sets(measure: Measure, counts: I64, slack: I64, least: float) -> Needs:
    """The needs of pairs of sets. A set may have up to `slack` more members in common than groups."""
    needs = _needs_of_resemblance if measure == "resemblance" else _needs_of_containment
    return needs(counts, slack, least)


def _needs_of_resemblance(counts: I64, slack: I64, least: float) -> Needs:
    """The needs of pairs that have at least `least` of their union in common.

    That is `least` / (1 + `least`) of the sum of both sizes, or more.
    """
    ranks, counts, slack = _by_size(counts, slack)
    half = least / (1 + least)
    early = np.maximum(1, rounded_up(2 * half * counts) - slack)  # the late member is not smaller
    late = np.maximum(1, rounded_up(least * counts) - slack)
    too_small = np.searchsorted(counts, rounded_up(least * counts) - slack.max(initial=0))
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


def rounded_up(numbers: NDArray[np.floating] | float) -> I64:
    """The numbers rounded up to whole numbers, after a reduction by the fraction `_ROUNDING`."""
    return np.ceil(np.asarray(numbers) * (1 - _ROUNDING)).astype(np.int64)
