"""Compute which share of pairs passes a feature filter at each resemblance, and find the best filter.

After Broder (2000): k features of s slots each; a pair of documents passes if it shares at least r
features. In: k, s and r, or a threshold. Out: probabilities, or a `FeatureFilter`. Must never say how much
two documents resemble each other: a filter only selects the pairs that are worth comparing.
"""

import math
from dataclasses import dataclass
from typing import overload

import numpy as np

from docindex.kernels.arrays import F64, I64
from docindex.kernels.minhash import check_groups

# A thousand times the rounding error of a probability here, and below any error that a caller would ask for.
_ROUNDING = 1e-9

# Halving the interval 0..1 this often leads to neighbouring doubles at 1/2: further steps find nothing.
_HALVINGS = 53


def binomial(trials: int, hit: F64, miss: F64) -> F64:
    """The probabilities of 0, 1, 2 ... `trials` hits, along a new last axis.

    The caller passes the chance of a miss too, because 1 - `hit` would round a tiny chance to 0. However
    small the result is, twelve digits are right for 128 trials and eleven for 1,000.

    >>> binomial(2, np.array([0.5]), np.array([0.5])).round(12).tolist()
    [[0.25, 0.5, 0.25]]
    """
    hits = np.arange(trials + 1, dtype=np.int64)
    # Logarithms are needed because from 1,030 trials on the number of ways to choose the hits exceeds a
    # double.
    log_factorials = np.concatenate(([0.0], np.cumsum(np.log(hits[1:]))))
    log_ways = log_factorials[-1] - log_factorials - log_factorials[::-1]
    probabilities: F64 = np.exp(log_ways + _log_powers(hit, hits) + _log_powers(miss, hits[::-1]))
    return probabilities


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


def resemblance_at(k: int, s: int, r: int, accepted: float) -> float:
    """The resemblance at which a share `accepted` of the pairs pass the filter.

    >>> round(resemblance_at(6, 14, 2, accepted=0.01), 3)
    0.772
    """
    _check_share("accepted", accepted)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if acceptance(k, s, r, middle) < accepted:
            low = middle
        else:
            high = middle
    return high


def half_point(k: int, s: int, r: int) -> float:
    """The resemblance at which half of the pairs pass the filter.

    The filter works best as a test of "at least this resemblance": if all resemblances were equally
    frequent, it would make the fewest errors of both kinds together at this threshold.

    >>> round(half_point(6, 14, 2), 3)
    0.909
    """
    return resemblance_at(k, s, r, 0.5)


@dataclass(frozen=True, slots=True)
class FeatureFilter:
    """A filter of k features of s slots each, of which a pair must share r, and how well it works.

    `recall` is the share of the pairs at the threshold that pass. `half_point` is the resemblance at which
    half of the pairs pass. `error_point` is the resemblance at which the share that passes is as small as the
    allowed error.

    >>> broder = FeatureFilter(6, 14, 2, recall=0.989, half_point=0.909, error_point=0.772)  # threshold 0.975
    >>> broder.k * broder.s
    84
    """

    k: int
    s: int
    r: int
    recall: float
    half_point: float
    error_point: float


def propose_filter(
    threshold: float,
    *,
    error: float = 0.01,
    slots: int = 128,
    most_features: int | None = None,
    most_shared: int = 2,
) -> FeatureFilter:
    """The filter that passes the fewest pairs below the threshold, among those with a small enough error.

    The error is the share of the pairs at the threshold that do not pass; it is at most `error`.

    "The fewest" means the least integral of the acceptance from 0 to the threshold, computed exactly. Of
    equally good filters, the one with the fewest features is returned. Every feature costs 8 bytes for each
    document and one look-up for each query. The search takes about 20 ms for 128 slots. If every filter
    misses more, the message of the `ValueError` says which threshold, error or number of slots is enough.

    By default a pair must share at most two features, as Broder advises, so that a caller need not count how
    many features a pair shares. With `most_shared=slots` the result nearly always has one slot for each
    feature. That is the sketch itself, the sharpest filter (for 0.9: k=128, s=1, r=107), but the caller must
    count the shared features of every pair that shares any.

    >>> found = propose_filter(0.95)
    >>> found.k, found.s, found.r, round(found.recall, 3)
    (10, 12, 2, 0.995)
    >>> round(found.half_point, 2), round(found.error_point, 2)
    (0.86, 0.71)
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1; found {threshold}")
    _check_share("error", error)
    most_features = slots if most_features is None else min(most_features, slots)
    shape = _best_shape(threshold, error, slots, most_features, most_shared)
    if shape is None:
        raise ValueError(_why_impossible(threshold, error, most_features))
    return FeatureFilter(
        *shape,
        recall=acceptance(*shape, threshold),
        half_point=half_point(*shape),
        error_point=resemblance_at(*shape, error),
    )


def _best_shape(
    threshold: float, error: float, slots: int, most_features: int, most_shared: int
) -> tuple[int, int, int] | None:
    """The k, s and r that `propose_filter` looks for, or None if every filter misses more pairs."""
    if most_features < 1 or most_shared < 1:
        raise ValueError(
            "a filter needs at least one slot, one feature and one shared feature; "
            f"found slots={slots}, most_features={most_features}, most_shared={most_shared}"
        )
    # Gauss's rule is exact for polynomials of a degree below twice its points; the degree here is at most
    # `slots`.
    points, weights = np.polynomial.legendre.leggauss(slots // 2 + 1)
    points, weights = threshold * (1 + points) / 2, threshold * weights / 2
    best, least = None, math.inf
    for k in range(1, most_features + 1):
        for s in range(1, slots // k + 1):
            r = min(most_shared, _most_shared(k, s, threshold, error))
            if r == 0:
                break  # more slots per feature would lower the recall further
            # Integration by parts: P has the same integral as (threshold - x) P'(x), and P' is one term.
            passed = float(weights @ ((threshold - points) * _slope(k, s, r, points)))
            if passed < least * (1 - _ROUNDING):
                best, least = (k, s, r), passed
    return best


def _most_shared(k: int, s: int, threshold: float, error: float) -> int:
    """The greatest r that misses at most `error` of the pairs at the threshold; 0 if every r misses more."""
    missed = np.cumsum(binomial(k, *_group_chances(s, threshold)))  # missed[r - 1] share fewer than r
    return min(k, int(np.searchsorted(missed, error * (1 + _ROUNDING), side="right")))


def _slope(k: int, s: int, r: int, x: F64) -> F64:
    """The derivative of the acceptance, for 0 < x < 1: r C(k,r) s x^(sr-1) (1-x^s)^(k-r)."""
    log_x = np.log(x)
    log_unequal = np.log(-np.expm1(s * log_x))
    slope: F64 = np.exp(math.log(s * r * math.comb(k, r)) + (s * r - 1) * log_x + (k - r) * log_unequal)
    return slope


def _group_chances(s: int, x: float | F64) -> tuple[F64, F64]:
    """The chance that a whole group is equal, x^s, and that it is not; exact even if x is nearly 1."""
    with np.errstate(divide="ignore"):  # log(0) is minus infinity, as intended
        log_equal: F64 = s * np.log(np.asarray(x, np.float64))
    return np.exp(log_equal), -np.expm1(log_equal)


def _log_powers(base: F64, exponents: I64) -> F64:
    """The logarithm of every base to every power, along a new last axis; 0 to the power 0 is 1."""
    with np.errstate(divide="ignore"):  # log(0) is minus infinity, as intended
        logs: F64 = np.log(base)[..., np.newaxis]
    shape = (*np.shape(base), len(exponents))
    powers: F64 = np.multiply(exponents, logs, out=np.zeros(shape), where=exponents > 0)
    return powers


def _why_impossible(threshold: float, error: float, most: int) -> str:
    # The filter that passes most pairs has one slot for each feature, and one is shared: 1 - (1-x)^most.
    recall = -math.expm1(most * math.log1p(-threshold))
    lowest = -math.expm1(math.log(error) / most)
    enough = math.ceil(math.log(error) / math.log1p(-threshold))
    return (
        f"no filter of at most {most} features accepts {1 - error:g} of the pairs at resemblance "
        f"{threshold:g}: the most is {recall:.4g}, with k={most}, s=1, r=1. Use a threshold of at least "
        f"{math.ceil(lowest * 10_000) / 10_000:g}, a greater error, or {enough} slots and features"
    )


def _check_share(name: str, share: float) -> None:
    if not 0 < share < 1:
        raise ValueError(f"{name} must be between 0 and 1, exclusive; found {share}")


def _check_filter(k: int, s: int, r: int) -> None:
    check_groups(k, s)
    if not 1 <= r <= k:
        raise ValueError(f"r must be from 1 to k={k}; found r={r}")
