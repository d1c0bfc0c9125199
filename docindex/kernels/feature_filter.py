"""Compute which share of pairs passes a feature filter at each resemblance.

After Broder (2000): k features of s slots each; a pair of documents passes if it shares at least r
features. In: k, s and r. Out: probabilities. Must never say how much two documents resemble each other: a
filter only selects the pairs that are worth comparing.
"""

from typing import overload

import numpy as np

from docindex.kernels.arrays import F64, I64
from docindex.kernels.minhash import check_groups


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


def _check_filter(k: int, s: int, r: int) -> None:
    check_groups(k, s)
    if not 1 <= r <= k:
        raise ValueError(f"r must be from 1 to k={k}; found r={r}")
