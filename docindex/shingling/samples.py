"""Sample the hashes of documents as Broder (1997) does: MIN_s, MOD_m and L_i.

In: the hashes of each document. Out: a sample of them.

- MIN_s is the s smallest hashes. Its size is fixed.
- MOD_m is the hashes divisible by m. It also estimates containment. Its size grows with the document.
- L_i is MOD_m with m = 2^i, where i grows with the document, so that the size is bounded.

All three sample the same permutation of the 64-bit numbers, which never changes. Must never see more of a
document than its hashes.
"""

import math
from dataclasses import dataclass

import numpy as np

from docindex.arrays.ranges import F64, I64, U64, Bool, mix, owners, ranges, starts_of

# The permutation is mix(hash + this number). Without the number, the hash 0 would stay 0, and so would be in
# every sample of a document that has it. The number also makes the permutation differ from a mix that the
# hashes went through before. It is 2^64 divided by the golden ratio, which has no hidden purpose.
_PERMUTATION = np.uint64(0x9E3779B97F4A7C15)


def min_s(hashes: U64, starts: I64, s: int) -> tuple[U64, I64]:
    """MIN_s of each document: its s smallest distinct permuted hashes, ascending; and the starts.

    If a document has fewer than s distinct hashes, all are returned. The first n of them are MIN_n.

    >>> hashes = np.array([10, 11, 10, 12, 13], np.uint64)
    >>> values, starts = min_s(hashes, np.array([0, 4, 4, 5]), s=2)
    >>> values.tolist()
    [192748537051019237, 4104215102866227783, 11431049236368133207]
    >>> starts.tolist()
    [0, 2, 2, 3]
    """
    if s < 1:
        raise ValueError(f"s must be at least 1; found s={s}")
    values, whole = _distinct(permuted(hashes), owners(starts), len(starts) - 1)
    kept = np.minimum(np.diff(whole), s)
    return values[ranges(whole[:-1], kept)], starts_of(kept)


def mod_m(hashes: U64, starts: I64, m: int) -> tuple[U64, I64]:
    """MOD_m of each document: its distinct permuted hashes that m divides, ascending; and the starts.

    The values are not divided by m. So the sample with modulus 2m is a subset of the sample with modulus m,
    and samples with different moduli can be compared.

    >>> values, starts = mod_m(np.arange(1000, dtype=np.uint64), np.array([0, 10, 1000]), m=4)
    >>> starts.tolist(), int(values.max()) % 4
    ([0, 2, 257], 0)
    """
    if not 1 <= m < 1 << 64:
        raise ValueError(f"the modulus must be from 1 to 2^64 - 1; found {m}")
    values = permuted(hashes)
    sampled = values % np.uint64(m) == 0
    return _distinct(values[sampled], owners(starts)[sampled], len(starts) - 1)


def sample_levels(sizes: I64, greatest: int = 100) -> I64:
    """For sets of these sizes, the least i for which L_i is expected to have at most `greatest` values.

    A set of at most `greatest` hashes is kept whole (i = 0). For a larger set, at least half of `greatest`
    values are expected. The paper contradicts itself: its text gives modulus 2^i to sizes from 100*2^i to
    100*2^(i+1), which would leave 100 to 200 values, but says that samples have 50 to 100. This function
    follows the second statement.

    >>> sample_levels(np.array([0, 100, 101, 200, 201])).tolist()
    [0, 0, 1, 1, 2]
    """
    if greatest < 1:
        raise ValueError(f"the greatest size of a sample must be at least 1; found {greatest}")
    # The least i with ceil(size / greatest) <= 2^i is the bit length of ceil(size / greatest) - 1.
    times = np.maximum(-(-sizes // greatest) - 1, 0)
    return np.frexp(times.astype(np.float64))[1].astype(np.int64)


def l_i(hashes: U64, starts: I64, greatest: int = 100) -> tuple[U64, I64, I64]:
    """L_i of each document: MOD_m with m = 2^i, where i depends on its size; the starts; and the i of each.

    The expected size is at most `greatest`, and at least half of it for a document with more hashes.

    >>> values, starts, i = l_i(np.arange(1000, dtype=np.uint64), np.array([0, 10, 1000]))
    >>> i.tolist(), starts.tolist()
    ([0, 4], [0, 10, 67])
    """
    values, whole = _distinct(permuted(hashes), owners(starts), len(starts) - 1)
    sizes = np.diff(whole)
    i = sample_levels(sizes, greatest)
    sampled = _divisible(values, np.repeat(i, sizes))
    kept = np.bincount(owners(whole)[sampled], minlength=len(sizes))
    return values[sampled], starts_of(kept), i


def coarsen(values: U64, i: int) -> U64:
    """L_i of a document, computed from its L_j for any j <= i: the values divisible by 2^i.

    Two documents are compared at the greater of their levels, so coarsen the sample with the smaller level.

    >>> values, starts, i = l_i(np.arange(1000, dtype=np.uint64), np.array([0, 100, 1000]))
    >>> short, long = values[: starts[1]], values[starts[1] :]
    >>> len(short), len(coarsen(short, 4)), len(coarsen(long, 4)) == len(long)
    (100, 7, True)
    """
    if not 0 <= i < 64:
        raise ValueError(f"the level must be from 0 to 63; found {i}")
    return values[_divisible(values, np.array(i))]


def permuted(hashes: U64) -> U64:
    """The permutation of hashes that all samples are taken from.

    >>> values = permuted(np.array([10, 11], np.uint64))
    >>> values.tolist() == sorted(mod_m(np.array([10, 11], np.uint64), np.array([0, 2]), m=1)[0].tolist())
    True
    """
    return mix(hashes + _PERMUTATION)


def _distinct(values: U64, owner: I64, documents: int) -> tuple[U64, I64]:
    """The distinct values of each document, ascending, and the starts."""
    order = np.lexsort((values, owner))
    values, owner = values[order], owner[order]
    first = np.ones(len(values), np.bool_)
    first[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
    return values[first], starts_of(np.bincount(owner[first], minlength=documents))


def _divisible(values: U64, i: I64) -> Bool:
    """True where a value is a multiple of 2^i; `i` is one number for all values, or one for each."""
    below = (np.uint64(1) << i.astype(np.uint64)) - np.uint64(1)
    divisible: Bool = (values & below) == 0
    return divisible


# Estimates of resemblance and containment from samples, with standard errors.

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


def _log_powers(base: F64, exponents: I64) -> F64:
    """The logarithm of every base to every power, along a new last axis; 0 to the power 0 is 1."""
    with np.errstate(divide="ignore"):  # log(0) is minus infinity, as intended
        logs: F64 = np.log(base)[..., np.newaxis]
    shape = (*np.shape(base), len(exponents))
    powers: F64 = np.multiply(exponents, logs, out=np.zeros(shape), where=exponents > 0)
    return powers
