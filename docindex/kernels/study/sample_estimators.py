"""Samples in, resemblance or containment out: the estimators of Broder (1997), each with its standard error.

For study: an index answers from shingles, fingerprints or slots, not from these samples.
"""

import math
from dataclasses import dataclass

import numpy as np

from docindex.kernels.arrays import U64
from docindex.kernels.feature_filter import binomial

# How far s * (r + epsilon) may lie from the whole number it stands for: a thousand times
# the rounding of doubles, and far below what anyone can ask for.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated share and its standard error; an error of 0 says that the value is exact.

    The error counts one hit and one miss more than were seen, so that a sample without a miss does
    not pass for certainty.

    >>> Estimate(value=0.5, error=0.05)
    Estimate(value=0.5, error=0.05)
    """

    value: float
    error: float


def resemblance_of_min_s(a: U64, b: U64, s: int) -> Estimate:
    """The resemblance of two documents, estimated without bias from their MIN_s.

    The share of the s smallest values of either that are in both (Theorem 1). Two sketches of fewer
    than s values are whole sets: then all of them count and the answer is exact, 1.0 for two empty ones.
    The sketches must be of s values or more: a shorter one would pass for a whole set.

    >>> ten, other = np.arange(10, dtype=np.uint64), np.arange(5, 15, dtype=np.uint64)
    >>> resemblance_of_min_s(ten, other, s=11)
    Estimate(value=0.3333333333333333, error=0.0)
    >>> resemblance_of_min_s(ten, other, s=10).value
    0.5
    """
    if s < 1:
        raise ValueError(f"a sample has at least one value, this is s={s}")
    whole = len(a) < s and len(b) < s
    values, times = np.unique(np.concatenate((a[:s], b[:s])), return_counts=True)
    seen = len(values) if whole else s
    return _share(int(np.count_nonzero(times[:seen] == 2)), seen, otherwise=1.0, unseen=0.0 if whole else 1.0)


def resemblance_of_mod_m(a: U64, b: U64, m: int | None = None) -> Estimate:
    """The resemblance of two documents, estimated without bias from their MOD_m, or L_i of one i.

    The share of the values of either that are in both (Theorem 1); 1.0 if neither sample has any. The
    modulus is only needed to know how much was not seen: with m=1 nothing, and the answer is exact.

    >>> a, b = np.array([4, 8, 12], np.uint64), np.array([8, 12, 16], np.uint64)
    >>> resemblance_of_mod_m(a, b).value, resemblance_of_mod_m(a, b, m=1).error
    (0.5, 0.0)
    """
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return _share(shared, len(a) + len(b) - shared, otherwise=1.0, unseen=_unseen(m))


def containment_of_mod_m(a: U64, b: U64, m: int | None = None) -> Estimate:
    """The containment of a in b, estimated without bias from their MOD_m, or L_i of one i.

    The share of a's values that are b's too (Theorem 1). If a's sample is empty there is no evidence:
    1.0 if b's is empty as well, 0.0 if not, for what was not seen must not be reported as a copy.
    The modulus is only needed to know how much was not seen: with m=1 nothing, and the answer is exact.

    >>> a, b = np.array([4, 8], np.uint64), np.array([8, 12, 16], np.uint64)
    >>> containment_of_mod_m(a, b).value, round(containment_of_mod_m(b, a).value, 2)
    (0.5, 0.33)
    """
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return _share(shared, len(a), otherwise=0.0 if len(b) else 1.0, unseen=_unseen(m))


def probability_within(s: int, r: float, epsilon: float) -> float:
    """p(s, r, epsilon): how probably s samples put a resemblance r no further than epsilon off.

    Binomial, which takes the document for much larger than the sample. Both ends count, also where
    s*(r + epsilon) is a whole number that doubles miss.

    >>> round(probability_within(100, 0.5, 0.1), 3), round(probability_within(200, 0.5, 0.1), 3)
    (0.965, 0.996)
    """
    if s < 1 or not 0 <= r <= 1 or epsilon < 0:
        raise ValueError(f"no such estimate: s={s} samples, resemblance r={r}, within epsilon={epsilon}")
    slack = s * _ROUNDING
    low = max(math.ceil(s * (r - epsilon) - slack), 0)
    high = min(math.floor(s * (r + epsilon) + slack), s)
    chances = binomial(s, np.array(r), np.array(1 - r))
    return min(float(chances[low : high + 1].sum()), 1.0)


def _unseen(m: int | None) -> float:
    """The share of a set that a sample of modulus m leaves out; without the modulus, as if nearly all."""
    return 1.0 if m is None else 1 - 1 / m


def _share(hits: int, seen: int, *, otherwise: float, unseen: float) -> Estimate:
    """The share of hits among those seen, or else `otherwise`, and its error.

    The error is the deviation of the share's distribution given the sample, when before it every share
    was as likely as the next: sqrt(x(1-x)/seen) for large samples, but never 0 and defined for none.
    Sampling without replacement narrows it by the root of what was not seen.
    """
    likely = (hits + 1) / (seen + 2)
    error = math.sqrt(unseen * likely * (1 - likely) / (seen + 3))
    return Estimate(hits / seen if seen else otherwise, error)
