"""Groups of contents in, the pairs that occur together out, and what follows from pairs.

Contents are numbers below 2^32 here; a group is the contents that have one hash. A pair is one
number, the later content in the high half, so that to count pairs is to sort. Must never hold two
numbers for every pair there is, nor know where groups come from.
"""

import numpy as np

from docindex.kernels.arrays import I64, U64, Bool, ranges, starts_of

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)
# Odd, one for each try; the high bits of a product depend on all bits of what is multiplied.
_FACTORS = [np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)]


def starts_of_runs(values: U64) -> I64:
    """Where each run of equal neighbours begins, and at the end where the last one stops.

    >>> starts_of_runs(np.array([7, 7, 9], np.uint64)).tolist()
    [0, 2, 3]
    """
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate([[0], changes, [len(values)]]) if len(values) else np.zeros(1, np.int64)


def sorted_in_groups(sizes: I64, members: I64) -> I64:
    """The members of groups that lie end to end, in each group ascending.

    >>> sorted_in_groups(np.array([2, 3]), np.array([7, 4, 9, 8, 1])).tolist()
    [4, 7, 1, 8, 9]
    """
    keys = np.repeat(np.arange(len(sizes), dtype=np.uint64) << _HALF, sizes) | members.astype(np.uint64)
    keys.sort()
    return (keys & _LOW_HALF).astype(np.int64)


def size_levels(sizes: I64) -> I64:
    """How common each group is: so many bits has its size less one.

    >>> size_levels(np.array([1, 2, 3, 4, 5])).tolist()
    [0, 1, 2, 2, 3]
    """
    return np.frexp((sizes - 1).astype(np.float64))[1].astype(np.int64)


def meetings(sizes: I64, members: I64, early: Bool, late: Bool, lowest: I64) -> tuple[I64, I64, I64, I64]:
    """Who meets whom in groups whose members ascend: each late member those early ones that precede it.

    Of these only such as are not below `lowest` of the late one, which is never above it. Gives the
    early members end to end, the late ones, and for each late one the range of the early ones it meets.
    Costs some passes over the members, whatever the number of meetings.

    >>> every = np.ones(5, bool)
    >>> found = meetings(np.array([3, 2]), np.array([0, 1, 2, 1, 2]), every, every, np.array([0, 0, 1]))
    >>> [part.tolist() for part in found]
    [[0, 1, 2, 1, 2], [0, 1, 2, 1, 2], [0, 0, 1, 3, 3], [0, 1, 1, 0, 1]]
    """
    before = starts_of(early.astype(np.int64))
    early_members, at = members[early], np.flatnonzero(late)
    late_members, ends = members[at], before[at]
    begins = np.repeat(before[starts_of(sizes)[:-1]], sizes)[at]
    some = np.flatnonzero(begins < ends)
    some = some[early_members[begins[some]] < lowest[late_members[some]]]
    if len(some):
        group = np.repeat(np.arange(len(sizes), dtype=np.uint64) << _HALF, sizes)
        wanted = group[at[some]] | lowest[late_members[some]].astype(np.uint64)
        begins[some] = np.searchsorted(group[early] | early_members.astype(np.uint64), wanted)
    return early_members, late_members, begins, ends - begins


def meeting_pairs(early: I64, late: I64, begins: I64, counts: I64) -> U64:
    """A pair for each meeting, as `meetings` gives them.

    >>> pairs = meeting_pairs(*map(np.array, ([0, 1], [5], [0], [2])))
    >>> [[key >> 32, key & 0xFFFFFFFF] for key in pairs.tolist()]
    [[5, 0], [5, 1]]
    """
    pairs = early.astype(np.uint64)[ranges(begins, counts)]
    pairs |= np.repeat(late.astype(np.uint64) << _HALF, counts)
    return pairs


def count_pairs(pairs: U64, times: I64 | None = None) -> tuple[U64, I64]:
    """The different pairs, ascending, and how often each is there; `times` says it for each given one.

    Without `times` it sorts in place what it is given.

    >>> [part.tolist() for part in count_pairs(np.array([9, 4, 9], np.uint64))]
    [[4, 9], [1, 2]]
    >>> [part.tolist() for part in count_pairs(np.array([9, 4, 9], np.uint64), np.array([5, 1, 2]))]
    [[4, 9], [1, 7]]
    """
    if times is None:
        pairs.sort()
        runs = starts_of_runs(pairs)
        return pairs[runs[:-1]], np.diff(runs)
    order = np.argsort(pairs, kind="stable")
    runs = starts_of_runs(pairs[order])
    return pairs[order[runs[:-1]]], np.diff(starts_of(times[order])[runs])


def split_pairs(pairs: U64) -> tuple[I64, I64]:
    """The earlier and the later content of each pair.

    >>> [part.tolist() for part in split_pairs(np.array([(5 << 32) + 3], np.uint64))]
    [[3], [5]]
    """
    return (pairs & _LOW_HALF).astype(np.int64), (pairs >> _HALF).astype(np.int64)


def found_in(keys: U64, queries: U64) -> Bool:
    """True for each query that is one of the keys; neither need be in order.

    A table of four places a key, each with one key: what another one displaced is looked for in a
    second table. 14 ns a query, where `np.isin` takes 102 and a binary search 80 (32,768 keys, half of the
    queries among them).

    >>> found_in(np.array([3, 5], np.uint64), np.array([5, 4, 3], np.uint64)).tolist()
    [True, False, True]
    """
    found = np.zeros(len(queries), bool)
    left: I64 | None = None  # which queries are still open; None for all
    for factor in _FACTORS:
        if not len(keys):
            return found
        shift = np.uint64(64 - max(1, (4 * len(keys) - 1).bit_length()))
        # A key fills the places that none took: whoever meets it there is a key, too.
        table = np.full(1 << int(64 - shift), keys[0])
        places = keys * factor >> shift
        table[places] = keys
        open_ = queries if left is None else queries[left]
        hits = table[open_ * factor >> shift] == open_
        keys = keys[table[places] != keys]
        if left is None:
            found, left = hits, np.flatnonzero(~hits) if len(keys) else np.empty(0, np.int64)
        else:
            found[left] = hits
            left = left[~hits]
    if len(keys):  # somebody chose them so
        found[left] = np.isin(queries[left], keys)
    return found


def components(a: I64, b: I64, count: int) -> I64:
    """For each of `count` numbers the least one that pairs a-b connect it with, over however many steps.

    Each round hangs every tree's root below the least root it is paired with and then shortens the
    ways, so that rounds are few: about the logarithm of the longest way.

    >>> components(np.array([3, 1]), np.array([1, 4]), 5).tolist()
    [0, 1, 2, 1, 1]
    """
    roots = np.arange(count)
    while len(a):
        low, high = np.minimum(roots[a], roots[b]), np.maximum(roots[a], roots[b])
        apart = low < high
        a, b, low, high = a[apart], b[apart], low[apart], high[apart]
        np.minimum.at(roots, high, low)
        while True:
            shorter = roots[roots]
            if np.array_equal(shorter, roots):
                break
            roots = shorter
    return roots
