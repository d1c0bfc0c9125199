"""Estimate resemblance and containment from samples, as Broder (1997) does, with standard errors.

In: samples that `kernels.samples` made. Out: estimates. For study: an index answers from shingles,
fingerprints or slots, and must never use these samples.
"""

import math
from dataclasses import dataclass

import numpy as np

from docindex.kernels.arrays import U64
from docindex.kernels.feature_filter import binomial

# How far s * (r + epsilon) may be from the whole number that it stands for: a thousand times the rounding
# error of a double, and far below any difference that a caller would ask for.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated share and its standard error; if the error is 0, the value is exact.

    The error counts one more hit and one more miss than were seen, so that a sample without a miss is not
    taken for certainty.

    >>> Estimate(value=0.5, error=0.05)
    Estimate(value=0.5, error=0.05)
    """

    value: float
    error: float


def resemblance_of_min_s(a: U64, b: U64, s: int) -> Estimate:
    """The resemblance of two documents, estimated without bias from their MIN_s.

    This is the share of the s smallest values of the union that are in both samples (Theorem 1). Two
    samples of fewer than s values are whole sets: then all values count and the answer is exact, and 1.0 if
    both are empty. The samples must be MIN_s or larger: a smaller sample would be taken for a whole set.

    >>> ten, other = np.arange(10, dtype=np.uint64), np.arange(5, 15, dtype=np.uint64)
    >>> resemblance_of_min_s(ten, other, s=11)
    Estimate(value=0.3333333333333333, error=0.0)
    >>> resemblance_of_min_s(ten, other, s=10).value
    0.5
    """
    if s < 1:
        raise ValueError(f"s must be at least 1; found s={s}")
    whole = len(a) < s and len(b) < s
    values, times = np.unique(np.concatenate((a[:s], b[:s])), return_counts=True)
    seen = len(values) if whole else s
    return _share(int(np.count_nonzero(times[:seen] == 2)), seen, otherwise=1.0, unseen=0.0 if whole else 1.0)


def resemblance_of_mod_m(a: U64, b: U64, m: int | None = None) -> Estimate:
    """The resemblance of two documents, estimated without bias from their MOD_m, or from L_i with equal i.

    This is the share of the values of the union that are in both samples (Theorem 1), and 1.0 if both are
    empty. The modulus only says how much was not seen: with m=1 everything was seen, and the answer is exact.

    >>> a, b = np.array([4, 8, 12], np.uint64), np.array([8, 12, 16], np.uint64)
    >>> resemblance_of_mod_m(a, b).value, resemblance_of_mod_m(a, b, m=1).error
    (0.5, 0.0)
    """
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return _share(shared, len(a) + len(b) - shared, otherwise=1.0, unseen=_unseen(m))


def containment_of_mod_m(a: U64, b: U64, m: int | None = None) -> Estimate:
    """The containment of a in b, estimated without bias from their MOD_m, or from L_i with equal i.

    This is the share of the values of a that are also in b (Theorem 1). If the sample of a is empty, there is
    no evidence: then the result is 1.0 if b is empty too, and otherwise 0.0, because a copy must not be
    reported without evidence. The modulus only says how much was not seen: with m=1 everything was seen, and
    the answer is exact.

    >>> a, b = np.array([4, 8], np.uint64), np.array([8, 12, 16], np.uint64)
    >>> containment_of_mod_m(a, b).value, round(containment_of_mod_m(b, a).value, 2)
    (0.5, 0.33)
    """
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return _share(shared, len(a), otherwise=0.0 if len(b) else 1.0, unseen=_unseen(m))


def probability_within(s: int, r: float, epsilon: float) -> float:
    """p(s, r, epsilon): the probability that s samples estimate a resemblance r with an error up to epsilon.

    Uses the binomial distribution, as if the document were much larger than the sample. An error of exactly
    epsilon counts, even if s*(r + epsilon) is a whole number that a double misses.

    >>> round(probability_within(100, 0.5, 0.1), 3), round(probability_within(200, 0.5, 0.1), 3)
    (0.965, 0.996)
    """
    if s < 1 or not 0 <= r <= 1 or epsilon < 0:
        raise ValueError(
            "expected s of at least 1, r from 0 to 1 and epsilon of at least 0; "
            f"found s={s}, r={r}, epsilon={epsilon}"
        )
    slack = s * _ROUNDING
    low = max(math.ceil(s * (r - epsilon) - slack), 0)
    high = min(math.floor(s * (r + epsilon) + slack), s)
    chances = binomial(s, np.array(r), np.array(1 - r))
    return min(float(chances[low : high + 1].sum()), 1.0)


def _unseen(m: int | None) -> float:
    """The share of a set that a sample with modulus m leaves out; nearly 1 is assumed if m is not known."""
    return 1.0 if m is None else 1 - 1 / m


def _share(hits: int, seen: int, *, otherwise: float, unseen: float) -> Estimate:
    """The share of hits among the values seen, or `otherwise` if no value was seen; and its error.

    The error is the standard deviation of the share's distribution given the sample, if all shares were
    equally likely before sampling. For large samples it is sqrt(x(1-x)/seen), but it is never 0, and it is
    defined for an empty sample. Sampling without replacement multiplies it by the square root of the unseen
    share.
    """
    likely = (hits + 1) / (seen + 2)
    error = math.sqrt(unseen * likely * (1 - likely) / (seen + 3))
    return Estimate(hits / seen if seen else otherwise, error)
