"""Find the pairs of contents that occur in the same groups, count them, and connect pairs into components.

In: groups, where a group is the contents that have one hash. A content is a number below 2^32. Out: pairs,
each as one number with the later content in the high half, so that sorting is enough to count them. Must
never hold two numbers for every pair, and must not know where groups come from.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from docindex.arrays.ranges import I64, U64, Bool, ranges, starts_of

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)
# Odd factors, one for each attempt. The high bits of a product depend on all bits of the other factor.
_FACTORS = [np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)]


def starts_of_runs(values: U64) -> I64:
    """Where each run of equal neighbours begins; the last entry is where the last run ends.

    >>> starts_of_runs(np.array([7, 7, 9], np.uint64)).tolist()
    [0, 2, 3]
    """
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate([[0], changes, [len(values)]]) if len(values) else np.zeros(1, np.int64)


def sorted_in_groups(sizes: I64, members: I64) -> I64:
    """The members of groups that lie end to end, sorted within each group.

    >>> sorted_in_groups(np.array([2, 3]), np.array([7, 4, 9, 8, 1])).tolist()
    [4, 7, 1, 8, 9]
    """
    keys = np.repeat(np.arange(len(sizes), dtype=np.uint64) << _HALF, sizes) | members.astype(np.uint64)
    keys.sort()
    return (keys & _LOW_HALF).astype(np.int64)


def size_levels(sizes: I64) -> I64:
    """How large each group is, on a scale that doubles: the bit length of (size - 1).

    >>> size_levels(np.array([1, 2, 3, 4, 5])).tolist()
    [0, 1, 2, 2, 3]
    """
    return np.frexp((sizes - 1).astype(np.float64))[1].astype(np.int64)


class Limits(NamedTuple):
    """Which early members a late member may meet. Indexed by the late member."""

    lowest: I64
    """The first early member that it may meet; at most the late member itself."""
    highest: I64 | None = None
    """The first early member that it may no longer meet; None if it may meet all from `lowest` on."""


def meetings(sizes: I64, members: I64, early: Bool, late: Bool, limits: Limits) -> tuple[I64, I64, I64, I64]:
    """Which members meet in groups: each late member meets the early members before it in its group.

    The members of each group must ascend; `early` and `late` mark some of them. Returns four arrays:
    the early members, the late members, and for each late member where the range of early members that it
    meets begins, and the length of that range. This takes a few passes over the members, however many meet.

    >>> every, limits = np.ones(5, bool), Limits(np.array([0, 0, 1]))
    >>> parts = meetings(np.array([3, 2]), np.array([0, 1, 2, 1, 2]), every, every, limits)
    >>> [part.tolist() for part in parts]
    [[0, 1, 2, 1, 2], [0, 1, 2, 1, 2], [0, 0, 1, 3, 3], [0, 1, 1, 0, 1]]
    """
    before = starts_of(early.astype(np.int64))
    early_members, at = members[early], np.flatnonzero(late)
    late_members, ends = members[at], before[at]
    begins = np.repeat(before[starts_of(sizes)[:-1]], sizes)[at]
    limited = np.flatnonzero(begins < ends)
    limited = limited[early_members[begins[limited]] < limits.lowest[late_members[limited]]]
    if len(limited) or limits.highest is not None:
        group = np.repeat(np.arange(len(sizes), dtype=np.uint64) << _HALF, sizes)
        keys = group[early] | early_members.astype(np.uint64)
        least = group[at[limited]] | limits.lowest[late_members[limited]].astype(np.uint64)
        begins[limited] = np.searchsorted(keys, least)
        if limits.highest is not None:
            most = np.searchsorted(keys, group[at] | limits.highest[late_members].astype(np.uint64))
            ends = np.maximum(begins, np.minimum(ends, most))
    return early_members, late_members, begins, ends - begins


def are_alike(sizes: I64, values: I64, but: int) -> Bool:
    """Whether all values of each group are the same, and not `but`. No group may be empty.

    >>> are_alike(np.array([2, 2, 1]), np.array([5, 5, 5, 4, 0]), but=0).tolist()
    [True, False, False]
    """
    firsts = np.repeat(starts_of(sizes)[:-1], sizes)
    same = (values == values[firsts]) & (values != but)
    if not len(sizes):
        return np.zeros(0, bool)
    return np.logical_and.reduceat(same, starts_of(sizes)[:-1])


def meetings_between(
    sizes: I64, members: I64, roles: tuple[Bool, Bool], crowds: I64, limits: Limits
) -> Iterator[tuple[I64, I64, I64, I64]]:
    """As `meetings`, without the meetings of two members of one crowd, in several parts.

    `roles` are the arguments `early` and `late` of `meetings`; `crowds` has the crowd of each member, or 0
    for a member that is in none. Two different numbers differ in one highest bit; so all members of different
    crowds meet if, for each bit, those that agree in all higher bits are a group, in which the members with
    that bit meet the members without it.

    >>> every, crowds = np.ones(4, bool), np.array([1, 0, 1, 2])
    >>> parts = meetings_between(
    ...     np.array([4]), np.arange(4), (every, every), crowds, Limits(np.zeros(4, np.int64)))
    >>> pairs = np.concatenate([meeting_pairs(*part) for part in parts])
    >>> sorted((early, late) for early, late in zip(*(part.tolist() for part in split_pairs(pairs))))
    [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    early, late = roles
    alone = crowds == 0
    yield meetings(sizes, members, early & alone, late, limits)
    yield meetings(sizes, members, early & ~alone, late & alone, limits)
    inside = np.flatnonzero(~alone)
    group = np.repeat(np.arange(len(sizes)), sizes)[inside]
    members, early, late, crowds = members[inside], early[inside], late[inside], crowds[inside]
    for bit in range(int(crowds.max(initial=0)).bit_length()):
        higher = crowds >> (bit + 1)
        order = np.lexsort((members, higher, group))
        changed = (np.diff(higher[order]) != 0) | (np.diff(group[order]) != 0)
        starts = np.concatenate([[0], np.flatnonzero(changed) + 1, [len(order)]])
        has_bit = (crowds[order] >> bit & 1).astype(bool)
        for first, second in ((has_bit, ~has_bit), (~has_bit, has_bit)):
            yield meetings(
                np.diff(starts), members[order], early[order] & first, late[order] & second, limits
            )


def meeting_pairs(early: I64, late: I64, begins: I64, counts: I64) -> U64:
    """One pair for each meeting; takes what `meetings` returns.

    >>> pairs = meeting_pairs(*map(np.array, ([0, 1], [5], [0], [2])))
    >>> [[key >> 32, key & 0xFFFFFFFF] for key in pairs.tolist()]
    [[5, 0], [5, 1]]
    """
    pairs = early.astype(np.uint64)[ranges(begins, counts)]
    pairs |= np.repeat(late.astype(np.uint64) << _HALF, counts)
    return pairs


def count_pairs(pairs: U64, times: I64 | None = None) -> tuple[U64, I64]:
    """The distinct pairs, ascending, and how often each occurs.

    `times` says how often each given pair counts. Without it, each pair counts once, and `pairs` is
    sorted in place.

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


def pair_numbers(early: I64, late: I64) -> U64:
    """One number for each pair, which `split_pairs` takes apart.

    >>> split_pairs(pair_numbers(np.array([3]), np.array([5])))
    (array([3]), array([5]))
    """
    return early.astype(np.uint64) | late.astype(np.uint64) << _HALF


def split_pairs(pairs: U64) -> tuple[I64, I64]:
    """The earlier and the later content of each pair.

    >>> [part.tolist() for part in split_pairs(np.array([(5 << 32) + 3], np.uint64))]
    [[3], [5]]
    """
    return (pairs & _LOW_HALF).astype(np.int64), (pairs >> _HALF).astype(np.int64)


def found_in(keys: U64, queries: U64) -> Bool:
    """True for each query that is among the keys; neither array needs to be sorted.

    Uses a hash table with at least four slots for each key. A slot holds one key; keys that another key
    displaced go into a second table, and so on. This takes 14 ns for each query, where `np.isin` takes 102 ns
    and a binary search 80 ns (for 32,768 keys, and queries of which half are keys).

    >>> found_in(np.array([3, 5], np.uint64), np.array([5, 4, 3], np.uint64)).tolist()
    [True, False, True]
    """
    found = np.zeros(len(queries), bool)
    left: I64 | None = None  # the queries that are not found yet; None means all
    for factor in _FACTORS:
        if not len(keys):
            return found
        shift = np.uint64(64 - max(1, (4 * len(keys) - 1).bit_length()))
        # Empty slots hold the first key: a query that equals it is a key, too.
        table = np.full(1 << int(64 - shift), keys[0])
        places = keys * factor >> shift
        table[places] = keys
        sought = queries if left is None else queries[left]
        hits = table[sought * factor >> shift] == sought
        keys = keys[table[places] != keys]
        if left is None:
            found, left = hits, np.flatnonzero(~hits) if len(keys) else np.empty(0, np.int64)
        else:
            found[left] = hits
            left = left[~hits]
    if len(keys):  # only if somebody chose the keys to collide
        found[left] = np.isin(queries[left], keys)
    return found


def components(a: I64, b: I64, count: int, roots: I64 | None = None) -> I64:
    """For each of `count` numbers, the least number of its connected component; pairs a-b are the edges.

    With `roots`, the result for earlier edges, these edges are added to them. `roots` stays as it is.

    Each round attaches the root of every tree to the least root that it is paired with, and then shortens all
    paths. So there are few rounds: about the logarithm of the longest path.

    >>> components(np.array([3, 1]), np.array([1, 4]), 5).tolist()
    [0, 1, 2, 1, 1]
    >>> components(np.array([3]), np.array([2]), 5, np.array([0, 1, 2, 1, 1])).tolist()
    [0, 1, 1, 1, 1]
    """
    roots = np.arange(count) if roots is None else roots.copy()
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
