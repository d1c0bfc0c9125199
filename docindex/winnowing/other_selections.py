"""Select fingerprints from given hashes: winnowing, the selections it is compared with, and their densities.

In: the hashes of all k-grams. Out: the places of the selected hashes. For study: an index uses only
`select_fingerprints`. The other selections do not give the guarantee of winnowing: 0 mod p may miss any copy.
"""

import math

import numpy as np

from docindex.arrays.ranges import I64, U64, owners
from docindex.winnowing.selection import HASH_BITS, NO_CARRY, POSITION_BITS, select_minima, window_layout


def winnow(hashes: U64, starts: I64, window: int, *, robust: bool = True) -> I64:
    """The places of the hashes that winnowing selects, in ascending order.

    Raises `ValueError` unless all hashes are below 2^47: the other bits of a key hold the position.

    >>> winnow(np.array([5, 2, 9, 2, 8, 7], np.uint64), np.array([0, 6]), 3).tolist()
    [1, 3]
    """
    if len(hashes) and int(hashes.max()) >> HASH_BITS:
        raise ValueError(
            f"winnow takes hashes of {HASH_BITS} bits; found {int(hashes.max()):#x}. Shift them right first"
        )

    def fill(begin: int, end: int, keys: U64) -> None:
        np.left_shift(hashes[begin:end], np.uint64(POSITION_BITS), out=keys)

    positions, _, _ = select_minima(fill, window_layout(starts, window), NO_CARRY, robust=robust)
    return positions


def mod_p(hashes: U64, p: int) -> I64:
    """The places of the hashes that are 0 mod p (Manber).

    >>> mod_p(np.array([77, 72, 42, 17, 8, 88], np.uint64), 4).tolist()
    [1, 4, 5]
    """
    return np.flatnonzero(hashes % np.uint64(p) == 0)


def safe_mod_p(hashes: U64, starts: I64, p: int, window: int) -> I64:
    """The places of the hashes that are 0 mod p, and of each hash that ends a window without such a hash.

    So every window has a selected hash, as in winnowing, but more hashes are selected.

    >>> safe_mod_p(np.array([4, 1, 1, 1, 8], np.uint64), np.array([0, 5]), 4, 3).tolist()
    [0, 3, 4]
    """
    good = hashes % np.uint64(p) == 0
    places = np.arange(len(hashes))
    before = starts[:-1][owners(starts)] - 1
    last_good = np.maximum.accumulate(np.maximum(np.where(good, places, -1), before))
    return np.flatnonzero(good | (places - last_good >= window))


def n_smallest(hashes: U64, starts: I64, n: int) -> I64:
    """The places of each document's n smallest distinct hashes (Heintze); for equal hashes, the last place.

    >>> n_smallest(np.array([7, 3, 9, 3], np.uint64), np.array([0, 4]), 2).tolist()
    [0, 3]
    """
    document = owners(starts)
    order = np.lexsort((hashes, document))  # stable: equal hashes stay in the order of their places
    ordered = hashes[order]
    last = np.ones(len(order), bool)
    last[:-1] = (ordered[1:] != ordered[:-1]) | (document[1:] != document[:-1])
    order = order[last]
    document = document[order]
    rank = np.arange(len(order)) - np.searchsorted(document, document)
    return np.sort(order[rank < n])


def mod_p_density(p: int) -> float:
    """The share of random hashes that are 0 mod p.

    >>> mod_p_density(50)
    0.02
    """
    return 1 / p


def safe_mod_p_density(window: int) -> float:
    """The smallest share of random hashes that safe 0 mod p selects: (1 + ln w) / w, with p = w / ln w.

    >>> round(safe_mod_p_density(100), 3)
    0.056
    """
    return (1 + math.log(window)) / window


def least_density(window: int) -> float:
    """The smallest share that any local algorithm can select: 1.5 / (w + 1).

    >>> from docindex.winnowing.selection import winnowing_density
    >>> round(least_density(100) / winnowing_density(100), 2)
    0.75
    """
    return 1.5 / (window + 1)
