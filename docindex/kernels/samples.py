"""Hashes in, a sample of them out: Broder's MIN_s, MOD_m and L_i.

The two sketches of Broder (1997): MIN_s, the s smallest of a set, whose size is fixed; and MOD_m, those
divisible by m, which also knows containment, and whose size grows with the set unless m does (L_i).
Both sample one permutation of the 64-bit numbers, the same for every document ever. Must never see
more of a document than its hashes.
"""

import numpy as np

from docindex.kernels.arrays import I64, U64, Bool, mix, owners, ranges, starts_of

# The permutation is mix(hash + this). Without it 0 would stay 0, and a document that has the hash 0
# have it in every sample; with it the permutation also differs from a mix the hashes went through
# before. 2^64 divided by the golden ratio: an odd number with nothing up its sleeve.
_PERMUTATION = np.uint64(0x9E3779B97F4A7C15)


def min_s(hashes: U64, starts: I64, s: int) -> tuple[U64, I64]:
    """MIN_s of each document: the s smallest of its permuted hashes, ascending, each once; and the starts.

    A document of fewer than s distinct hashes has them all. The first n of them are MIN_n, for n < s.

    >>> hashes = np.array([10, 11, 10, 12, 13], np.uint64)
    >>> values, starts = min_s(hashes, np.array([0, 4, 4, 5]), s=2)
    >>> values.tolist()
    [192748537051019237, 4104215102866227783, 11431049236368133207]
    >>> starts.tolist()
    [0, 2, 2, 3]
    """
    if s < 1:
        raise ValueError(f"a sample has at least one value, this is s={s}")
    values, whole = _distinct(_permuted(hashes), owners(starts), len(starts) - 1)
    kept = np.minimum(np.diff(whole), s)
    return values[ranges(whole[:-1], kept)], starts_of(kept)


def mod_m(hashes: U64, starts: I64, m: int) -> tuple[U64, I64]:
    """MOD_m of each document: its permuted hashes divisible by m, ascending, each once; and the starts.

    The values are multiples of m, not divided by it: a sample with modulus 2m is a part of the one
    with m, and samples of different moduli can be compared.

    >>> values, starts = mod_m(np.arange(1000, dtype=np.uint64), np.array([0, 10, 1000]), m=4)
    >>> starts.tolist(), int(values.max()) % 4
    ([0, 2, 257], 0)
    """
    if not 1 <= m < 1 << 64:
        raise ValueError(f"a modulus lies between 1 and 2^64, this is {m}")
    permuted = _permuted(hashes)
    sampled = permuted % np.uint64(m) == 0
    return _distinct(permuted[sampled], owners(starts)[sampled], len(starts) - 1)


def sample_levels(sizes: I64, greatest: int = 100) -> I64:
    """For sets of these sizes, the least i with which L_i is expected to have at most `greatest` values.

    So above `greatest` half of it at least, and a set no larger than `greatest` is kept whole (i = 0).
    The paper's text pairs sizes 100*2^i .. 100*2^(i+1) with modulus 2^i, which would leave 100 to 200
    values; that its samples are of 50 to 100 is what is kept here.

    >>> sample_levels(np.array([0, 100, 101, 200, 201])).tolist()
    [0, 0, 1, 1, 2]
    """
    if greatest < 1:
        raise ValueError(f"a sample has room for at least one value, this is {greatest}")
    # The least i with ceil(size / greatest) <= 2^i is the bit length of the left side less one.
    times = np.maximum(-(-sizes // greatest) - 1, 0)
    return np.frexp(times.astype(np.float64))[1].astype(np.int64)


def l_i(hashes: U64, starts: I64, greatest: int = 100) -> tuple[U64, I64, I64]:
    """L_i of each document, MOD_m with m = 2^i as its size demands; the starts; and each document's i.

    Its expected size is at most `greatest`, and at least half of it for any larger set.

    >>> values, starts, i = l_i(np.arange(1000, dtype=np.uint64), np.array([0, 10, 1000]))
    >>> i.tolist(), starts.tolist()
    ([0, 4], [0, 10, 67])
    """
    values, whole = _distinct(_permuted(hashes), owners(starts), len(starts) - 1)
    sizes = np.diff(whole)
    i = sample_levels(sizes, greatest)
    sampled = _divisible(values, np.repeat(i, sizes))
    kept = np.bincount(owners(whole)[sampled], minlength=len(sizes))
    return values[sampled], starts_of(kept), i


def coarsen(values: U64, i: int) -> U64:
    """L_i from the same document's L_j, for any j <= i: the values divisible by 2^i.

    Two documents are compared at the greater of their levels, so one of them is coarsened first.

    >>> values, starts, i = l_i(np.arange(1000, dtype=np.uint64), np.array([0, 100, 1000]))
    >>> short, long = values[: starts[1]], values[starts[1] :]
    >>> len(short), len(coarsen(short, 4)), len(coarsen(long, 4)) == len(long)
    (100, 7, True)
    """
    if not 0 <= i < 64:
        raise ValueError(f"a level lies between 0 and 63, this is {i}")
    return values[_divisible(values, np.array(i))]


def _permuted(hashes: U64) -> U64:
    return mix(hashes + _PERMUTATION)


def _distinct(values: U64, owner: I64, documents: int) -> tuple[U64, I64]:
    """Each document's values ascending and each once, and the starts."""
    order = np.lexsort((values, owner))
    values, owner = values[order], owner[order]
    first = np.ones(len(values), np.bool_)
    first[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
    return values[first], starts_of(np.bincount(owner[first], minlength=documents))


def _divisible(values: U64, i: I64) -> Bool:
    """True where a value is a multiple of 2^i; one i for all, or one for each."""
    below = (np.uint64(1) << i.astype(np.uint64)) - np.uint64(1)
    divisible: Bool = (values & below) == 0
    return divisible
