"""The selections that winnowing is compared with, and the densities to expect of all of them.

In: the hashes of all k-grams. Out: the places of those selected. For study: an index is built
by winnowing alone. Must never promise what winnowing does: 0 mod p finds no copy for sure.
"""

import math

import numpy as np

from docindex.kernels.arrays import I64, U64, owners


def mod_p(hashes: U64, p: int) -> I64:
    """The places of the hashes that are 0 mod p (Manber).

    >>> mod_p(np.array([77, 72, 42, 17, 8, 88], np.uint64), 4).tolist()
    [1, 4, 5]
    """
    return np.flatnonzero(hashes % np.uint64(p) == 0)


def safe_mod_p(hashes: U64, starts: I64, p: int, window: int) -> I64:
    """The places of the hashes that are 0 mod p, and of all that end a window without one.

    So every window has one, as in winnowing, but there are more of them.

    >>> safe_mod_p(np.array([4, 1, 1, 1, 8], np.uint64), np.array([0, 5]), 4, 3).tolist()
    [0, 3, 4]
    """
    good = hashes % np.uint64(p) == 0
    places = np.arange(len(hashes))
    before = starts[:-1][owners(starts)] - 1
    last_good = np.maximum.accumulate(np.maximum(np.where(good, places, -1), before))
    return np.flatnonzero(good | (places - last_good >= window))


def n_smallest(hashes: U64, starts: I64, n: int) -> I64:
    """The places of each document's n smallest different hashes (Heintze), the last place of each.

    >>> n_smallest(np.array([7, 3, 9, 3], np.uint64), np.array([0, 4]), 2).tolist()
    [0, 3]
    """
    document = owners(starts)
    order = np.lexsort((hashes, document))  # stable: equal hashes in the order of their places
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
    """The least share that safe 0 mod p selects of random hashes, (1 + ln w) / w, with p = w / ln w.

    >>> round(safe_mod_p_density(100), 3)
    0.056
    """
    return (1 + math.log(window)) / window


def least_density(window: int) -> float:
    """No local algorithm selects a smaller share: 1.5 / (w + 1).

    >>> from docindex.kernels.winnow import density
    >>> round(least_density(100) / density(100), 2)
    0.75
    """
    return 1.5 / (window + 1)
