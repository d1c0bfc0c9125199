"""Sample the hashes of documents as Broder (1997) does: MIN_s, MOD_m and L_i.

In: the hashes of each document. Out: a sample of them.

- MIN_s is the s smallest hashes. Its size is fixed.
- MOD_m is the hashes divisible by m. It also estimates containment. Its size grows with the document.
- L_i is MOD_m with m = 2^i, where i grows with the document, so that the size is bounded.

All three sample the same permutation of the 64-bit numbers, which never changes. Must never see more of a
document than its hashes.
"""

import numpy as np

from docindex.kernels.arrays import I64, U64, Bool, mix, owners, ranges, starts_of

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
