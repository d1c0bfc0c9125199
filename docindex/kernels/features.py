"""Slots in, features out: a few 64-bit numbers per document, of which near-copies share several.

Beside it the arithmetic of the filter they make, after Broder (2000): k features, each of s slots;
two documents that share r of them pass. Must never see a text, and never say how alike two documents
are: a filter only says which pairs deserve a look.
"""

import math
from dataclasses import dataclass
from typing import overload

import numpy as np

from docindex.kernels.arrays import F64, I64, U32, U64, mix

# A thousand times what rounding does to a probability here, and less than anyone can mean by an error.
_ROUNDING = 1e-9

# From the interval 0..1 down to neighbouring doubles at 1/2, where halving has nothing left to find.
_HALVINGS = 53


def features(slots: U32, k: int, s: int) -> U64:
    """One row of k features per document: feature g is a hash of slots [g*s, (g+1)*s).

    The same slots always give the same features, on every machine; slots beyond k*s are not read.
    Groups that differ in one slot only never have the same feature, nor do equal groups at different
    places; any other two meet with probability 2^-64. Modulo 2^64, on purpose.

    >>> same, changed = features(np.array([[1, 2, 3, 4], [1, 2, 3, 5]], np.uint32), k=2, s=2)
    >>> (same == changed).tolist()
    [True, False]
    """
    _check_groups(k, s)
    documents, width = slots.shape
    if k * s > width:
        raise ValueError(f"{k} features of {s} slots need {k * s} slots, but a document has {width}")
    groups = slots[:, : k * s].reshape(documents, k, s)
    # Each step is a bijection of the state, which is why one changed slot always shows; a sum
    # of mixed slots would cost the same and promise less. Groups start from different states.
    hashed = np.tile(mix(np.arange(1, k + 1, dtype=np.uint64)), (documents, 1))
    for slot in range(s):
        hashed ^= groups[:, :, slot]
        hashed = mix(hashed)
    return hashed


def binomial(trials: int, hit: F64, miss: F64) -> F64:
    """The probabilities of 0, 1, 2 ... `trials` hits, along a new last axis.

    Takes the chance of a miss beside that of a hit, so that whoever knows a tiny one exactly does not
    lose it in 1 - x. However small the result, twelve digits are right for 128 trials, eleven for 1,000.

    >>> binomial(2, np.array([0.5]), np.array([0.5])).round(12).tolist()
    [[0.25, 0.5, 0.25]]
    """
    hits = np.arange(trials + 1, dtype=np.int64)
    # By logarithms, for from 1,030 trials on the number of ways to choose the hits exceeds a double.
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

    Exact but for rounding, also where next to nothing passes: a sum of positive terms.

    >>> round(acceptance(6, 14, 2, 0.909), 2), f"{acceptance(6, 14, 2, 0.5):.2g}"
    (0.5, '5.6e-08')
    """
    _check_filter(k, s, r)
    if not np.all((np.asarray(x) >= 0) & (np.asarray(x) <= 1)):
        raise ValueError(f"a resemblance lies between 0 and 1, this is {x}")
    passing: F64 = binomial(k, *_group_chances(s, x))[..., r:].sum(axis=-1)
    passing = np.minimum(passing, 1.0)  # rounding may leave a certain pass a little above 1
    return passing if isinstance(x, np.ndarray) else float(passing)


def resemblance_at(k: int, s: int, r: int, accepted: float) -> float:
    """The resemblance at which a share `accepted` of the pairs pass the filter.

    >>> round(resemblance_at(6, 14, 2, accepted=0.01), 3)
    0.772
    """
    if not 0 < accepted < 1:
        raise ValueError(f"a share that some filter reaches lies between 0 and 1, this is {accepted}")
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if acceptance(k, s, r, middle) < accepted:
            low = middle
        else:
            high = middle
    return high


def half_point(k: int, s: int, r: int) -> float:
    """The resemblance at which every second pair passes the filter.

    This is the threshold the filter is best at: were all resemblances equally frequent, it would make
    the fewest errors in total, of both kinds, as a test of "at least this resemblance".

    >>> round(half_point(6, 14, 2), 3)
    0.909
    """
    return resemblance_at(k, s, r, 0.5)


def steepest_group(resemblance: float) -> float:
    """The slots per feature, s = 1/ln(1/x), whose x^s is steepest at this resemblance.

    A number to start a search from, not yet rounded.

    >>> round(steepest_group(0.931), 1)
    14.0
    """
    if not 0 < resemblance < 1:
        raise ValueError(f"only a resemblance between 0 and 1 has a steepest group, this is {resemblance}")
    return -1 / math.log(resemblance)


@dataclass(frozen=True, slots=True)
class Filter:
    """k features of s slots each, r of which a pair must share; and what that does.

    `recall` is the share of the pairs at the threshold that pass, `half_point` the resemblance at
    which every second one does, `error_point` the one at which no more than the allowed error does.

    >>> broder = Filter(6, 14, 2, recall=0.989, half_point=0.909, error_point=0.772)  # threshold 0.975
    >>> broder.k * broder.s
    84
    """

    k: int
    s: int
    r: int
    recall: float
    half_point: float
    error_point: float


def propose(
    threshold: float,
    *,
    error: float = 0.01,
    slots: int = 128,
    most_features: int | None = None,
    most_shared: int = 2,
) -> Filter:
    """The filter that keeps all but `error` of the pairs at the threshold and lets the least through below.

    "The least" is the integral of the acceptance from 0 to the threshold, computed exactly; of equal
    filters the one with fewer features is taken. A feature costs 8 bytes per document and a look-up
    per query. ValueError says what is possible when nothing is. Takes about 20 ms for 128 slots.

    Two shared features at most, as Broder advises: then nobody has to count what a pair shares. With
    `most_shared=slots` the answer is nearly always one slot per feature, the sketch itself: the sharpest
    filter (for 0.9: k=128, s=1, r=107), but one that must count for every pair that shares anything.

    >>> found = propose(0.95)
    >>> found.k, found.s, found.r, round(found.recall, 3)
    (10, 12, 2, 0.995)
    >>> round(found.half_point, 2), round(found.error_point, 2)
    (0.86, 0.71)
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"a threshold is a resemblance above 0 and at most 1, this is {threshold}")
    if not 0 < error < 1:
        raise ValueError(f"an error is a share between 0 and 1, this is {error}")
    most_features = slots if most_features is None else min(most_features, slots)
    if most_features < 1 or most_shared < 1:
        raise ValueError(
            f"a filter needs a slot, a feature and a shared feature, but at most {slots} slots, "
            f"{most_features} features and {most_shared} shared features are allowed"
        )
    # Gauss's rule is exact for polynomials of degree below twice its points; ours has at most `slots`.
    points, weights = np.polynomial.legendre.leggauss(slots // 2 + 1)
    points, weights = threshold * (1 + points) / 2, threshold * weights / 2
    best, least = None, math.inf
    for k in range(1, most_features + 1):
        for s in range(1, slots // k + 1):
            r = min(most_shared, _most_shared(k, s, threshold, error))
            if r == 0:
                break  # more slots per feature would lower the recall further
            # By parts, the integral of P is that of (threshold - x) P'(x), and P' is a single term.
            passed = float(weights @ ((threshold - points) * _slope(k, s, r, points)))
            if passed < least * (1 - _ROUNDING):
                best, least = (k, s, r), passed
    if best is None:
        raise ValueError(_why_impossible(threshold, error, most_features))
    return Filter(
        *best,
        recall=acceptance(*best, threshold),
        half_point=half_point(*best),
        error_point=resemblance_at(*best, error),
    )


def _most_shared(k: int, s: int, threshold: float, error: float) -> int:
    """The greatest r that misses no more than `error` of the pairs at the threshold; 0 if none does."""
    missed = np.cumsum(binomial(k, *_group_chances(s, threshold)))  # missed[r - 1] share fewer than r
    return min(k, int(np.searchsorted(missed, error * (1 + _ROUNDING), side="right")))


def _slope(k: int, s: int, r: int, x: F64) -> F64:
    """The derivative of the acceptance, for 0 < x < 1: r C(k,r) s x^(sr-1) (1-x^s)^(k-r)."""
    log_x = np.log(x)
    log_unequal = np.log(-np.expm1(s * log_x))
    slope: F64 = np.exp(math.log(s * r * math.comb(k, r)) + (s * r - 1) * log_x + (k - r) * log_unequal)
    return slope


def _group_chances(s: int, x: float | F64) -> tuple[F64, F64]:
    """The chance that a whole group is equal, x^s, and that it is not, exact also where x is nearly 1."""
    with np.errstate(divide="ignore"):  # log(0) is minus infinity, which is meant
        log_equal: F64 = s * np.log(np.asarray(x, np.float64))
    return np.exp(log_equal), -np.expm1(log_equal)


def _log_powers(base: F64, exponents: I64) -> F64:
    """The logarithm of every base to every power, along a new last axis; 0 to the power 0 is 1."""
    with np.errstate(divide="ignore"):  # log(0) is minus infinity, which is meant
        logs: F64 = np.log(base)[..., np.newaxis]
    shape = (*np.shape(base), len(exponents))
    powers: F64 = np.multiply(exponents, logs, out=np.zeros(shape), where=exponents > 0)
    return powers


def _why_impossible(threshold: float, error: float, most: int) -> str:
    # Nothing passes more pairs than one slot per feature, one of them shared: 1 - (1-x)^most.
    recall = -math.expm1(most * math.log1p(-threshold))
    lowest = -math.expm1(math.log(error) / most)
    enough = math.ceil(math.log(error) / math.log1p(-threshold))
    return (
        f"no filter of at most {most} features accepts {1 - error:g} of the pairs at resemblance "
        f"{threshold:g}: the most is {recall:.4g}, with k={most}, s=1, r=1. Take a threshold of at least "
        f"{math.ceil(lowest * 10_000) / 10_000:g}, a greater error, or {enough} slots and features"
    )


def _check_groups(k: int, s: int) -> None:
    if k < 1 or s < 1:
        raise ValueError(f"there must be a feature and a slot to it, these are k={k} and s={s}")


def _check_filter(k: int, s: int, r: int) -> None:
    _check_groups(k, s)
    if not 1 <= r <= k:
        raise ValueError(f"a filter asks for 1 to k={k} shared features, this one for r={r}")
