"""Compute which share of pairs passes a feature filter at each resemblance.

After Broder (2000): k features of s slots each; a pair of documents passes if it shares at least r
features. In: k, s and r. Out: probabilities. Must never say how much two documents resemble each other: a
filter only selects the pairs that are worth comparing.
"""

import math
from typing import overload

import numpy as np

from docindex.arrays.ranges import F64
from docindex.minhash.slots import check_groups
from docindex.shingling.samples import binomial


@overload
def acceptance(k: int, s: int, r: int, x: float) -> float: ...
@overload
def acceptance(k: int, s: int, r: int, x: F64) -> F64: ...
def acceptance(k: int, s: int, r: int, x: float | F64) -> float | F64:
    """P_{k,s,r}(x): the share of the pairs at resemblance x that have at least r features in common.

    Exact except for rounding, even if very few pairs pass, because all terms of the sum are positive.

    >>> round(acceptance(6, 14, 2, 0.909), 2), f"{acceptance(6, 14, 2, 0.5):.2g}"
    (0.5, '5.6e-08')
    """
    _check_filter(k, s, r)
    if not np.all((np.asarray(x) >= 0) & (np.asarray(x) <= 1)):
        raise ValueError(f"resemblance must be from 0 to 1; found {x}")
    passing: F64 = binomial(k, *_group_chances(s, x))[..., r:].sum(axis=-1)
    passing = np.minimum(passing, 1.0)  # rounding can raise a probability of 1 slightly above 1
    return passing if isinstance(x, np.ndarray) else float(passing)


def _group_chances(s: int, x: float | F64) -> tuple[F64, F64]:
    """The chance that a whole group is equal, x^s, and that it is not; exact even if x is nearly 1."""
    with np.errstate(divide="ignore"):  # log(0) is minus infinity, as intended
        log_equal: F64 = s * np.log(np.asarray(x, np.float64))
    return np.exp(log_equal), -np.expm1(log_equal)


def _check_filter(k: int, s: int, r: int) -> None:
    check_groups(k, s)
    if not 1 <= r <= k:
        raise ValueError(f"r must be from 1 to k={k}; found r={r}")


# The number of slots for each feature that Broder (2000) derives from a resemblance.
#
# In: a resemblance. Out: the number. For study: no index uses it. Must never be taken for the best filter.


def steepest_group(resemblance: float) -> float:
    """The number of slots s = 1/ln(1/x) for which x^s is steepest at the resemblance x; not rounded.

    >>> round(steepest_group(0.931), 1)
    14.0
    """
    if not 0 < resemblance < 1:
        raise ValueError(f"resemblance must be between 0 and 1, exclusive; found {resemblance}")
    return -1 / math.log(resemblance)
