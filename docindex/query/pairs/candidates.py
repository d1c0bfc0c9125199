"""Find the pairs of contents that may have enough groups in common, without comparing every pair.

Takes groups: a group is all contents that have the same hash, slot or feature. Gives every pair that has
enough groups in common, and some pairs that do not. Must never miss a pair.

Each group has a level, which rises with the number of its members. A content that needs n groups in common
with any partner may ignore its groups of the highest levels if it has fewer than n of them: these alone
would not be enough. So a group that nearly all contents share makes pairs only of contents with few other
groups.

This rule may ignore small groups too. An exception for groups of up to 256 members was slower and hardly
reduced the candidates: the pairs among 10 million fingerprints took 1.16 s instead of 1.04 s for resemblance
0.5, and 0.82 s instead of 0.57 s for 0.9. Without the rule they took 1.54 s and 0.89 s.

With two sets, pairs inside a set are left out, and so are groups that lie inside a set: few groups of many
old texts have a new text in them. A member then counts only the groups that it shares with the other set. All
groups of a pair are among these. So the needs that are computed from the counts are lower than those from all
groups, and never too high.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from docindex.arrays.joins import (
    Limits,
    are_alike,
    count_pairs,
    meeting_pairs,
    meetings,
    meetings_between,
    size_levels,
    sorted_in_groups,
    split_pairs,
)
from docindex.arrays.ranges import I64, U32, U64, starts_of
from docindex.query.scope import CheckCancelled

# A meeting is one pair in one group. Up to this many meetings are collected before they are counted. Each
# takes 8 bytes, and 16 bytes while it is counted.
_MEETINGS = 1 << 23

# What this many pairs need is computed at a time: a dozen arrays of this length stay in the cache.
_COMPARED = 1 << 17

# Up to this many members of groups are kept in memory for the passes after the first one, 4 bytes each. If
# there are more, each pass reads all groups again. The bands of a million notes have 12 million at
# resemblance .8, and their slots 76 million; to sort these again for each pass took three times as long.
_KEPT = 100_000_000

LARGE = 64
"""A group with more members is large. A power of 2, so that large groups have levels of their own."""

_Leveled = tuple[I64, U32, I64]
"""The sizes of some groups, the ranks of their members, ascending in each group, and the levels of the groups
before members were left out."""

Groups = tuple[I64, I64]
"""The sizes of some groups, and the members of one group after another.

A member is a number from 0 up, and occurs once in a group.
"""


class GroupSource(Protocol):
    """A source of groups, which can be read several times."""

    @property
    def count(self) -> int:
        """The number of possible members, which are 0 to `count` - 1."""

    def groups(self) -> Iterator[Groups]:
        """All groups, in batches. Groups of one member may be left out if the needs do not count them."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """How many groups the members of a pair must have in common.

    Members have an order, `ranks`. The *early* member of a pair has the lower rank, the *late* member the
    higher one.
    """

    ranks: I64
    """The rank of each member; the other arrays are indexed by rank."""
    early: I64
    """The smallest number of common groups, 1 or more, that a pair of the member and a late partner needs."""
    late: I64
    """The same for a pair of the member and an early partner; 1 for every member if nothing is known."""
    limits: Limits
    """The ranks that an early partner of the member can have."""
    of_pairs: Callable[[I64, I64], I64]
    """Gives the number of common groups that pairs of early and late ranks need."""


CrowdLabels = Callable[[I64], I64]
"""Gives the crowd of each member, 1 and up, or 0; takes how many large groups each member is in."""


def candidates(
    source: GroupSource,
    needs_of: Callable[[I64], Needs],
    check_cancelled: CheckCancelled,
    crowds_of: CrowdLabels | None = None,
) -> Iterator[tuple[I64, I64]]:
    """All pairs with enough groups in common, and some with too few; each pair once, in batches.

    `needs_of` is called with the number of groups that each member is in. With `crowds_of`, pairs of two
    members of one crowd are left out.
    """
    first = _FirstPass(source, check_cancelled)
    large = first.by_level[LARGE.bit_length() :].sum(axis=0).astype(np.int64)
    crowds = None if crowds_of is None else crowds_of(large)
    join = _Join(source, first, needs_of(first.counts), crowds, check_cancelled)
    for begin, end in join.stripes():
        yield join.pairs(begin, end)


class _FirstPass:
    """The counts of one pass over all groups, and the groups themselves, unless they are too many to keep."""

    def __init__(self, source: GroupSource, check_cancelled: CheckCancelled) -> None:
        self.counts = np.zeros(source.count, np.int64)
        self.by_level = np.zeros((1, source.count), np.int32)
        """The number of groups of each level that each member is in."""
        self.kept: list[tuple[I64, U32]] | None = []
        held = 0
        for sizes, members in source.groups():
            check_cancelled()
            self.counts += np.bincount(members, minlength=source.count)
            sizes, members = _with_several_members(sizes, members)
            held += len(members)
            if held > _KEPT:
                self.kept = None
            if self.kept is not None:
                self.kept.append((sizes, members.astype(np.uint32)))
            self._count_levels(sizes, members)

    def _count_levels(self, sizes: I64, members: I64) -> None:
        levels = size_levels(sizes)
        of_members = np.repeat(levels, sizes)
        for level in np.unique(levels).tolist():
            missing = level + 1 - len(self.by_level)
            if missing > 0:
                self.by_level = np.pad(self.by_level, ((0, missing), (0, 0)))
            found = members if level == levels.min() == levels.max() else members[of_members == level]
            self.by_level[level] += np.bincount(found, minlength=len(self.counts)).astype(np.int32)


class _Join:
    """The passes after the first one. Members are known by their ranks here."""

    def __init__(
        self,
        source: GroupSource,
        first: _FirstPass,
        needs: Needs,
        crowds: I64 | None,
        check_cancelled: CheckCancelled,
    ) -> None:
        self._source = source
        self._needs = needs
        self.members = np.empty(source.count, np.int64)
        """The member of each rank."""
        self.members[needs.ranks] = np.arange(source.count)
        self._crowds = None if crowds is None or not crowds.any() else crowds[self.members]
        """The crowd of each rank; None if there are no crowds."""
        self._check_cancelled = check_cancelled
        # For each level and member, the number of the member's groups above that level.
        above = np.zeros_like(first.by_level)
        np.cumsum(first.by_level[:0:-1], axis=0, out=above[-2::-1])
        self._above = above[:, self.members]
        # The highest level that counts for each member: the member needs more groups than it has above it.
        self._early = (self._above >= needs.early).sum(axis=0)
        self._late = (self._above >= needs.late).sum(axis=0)
        self._highest = np.maximum(self._early, self._late)
        self._kept: list[_Leveled] | None = None
        if first.kept is not None:
            self._kept = []
            while first.kept:  # one batch after the other, so that both forms need not fit in memory
                self._kept.append(self._counting(*first.kept.pop()))

    def stripes(self) -> Iterator[tuple[int, int]]:
        """Ranges of late ranks. Each range has at most `_MEETINGS` meetings, or consists of one rank."""
        meeting = np.zeros(len(self.members), np.int64)
        for _, late, _, counts in self._meetings(0, len(self.members)):
            meeting += np.bincount(late, counts, len(meeting)).astype(np.int64)
        until = np.cumsum(meeting)
        begin = int(np.searchsorted(until, 0, "right"))
        while begin < len(until):
            before = int(until[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(until, before + _MEETINGS, "right")))
            yield begin, end
            begin = int(np.searchsorted(until, until[end - 1], "right"))

    def pairs(self, begin: int, end: int) -> tuple[I64, I64]:
        """The candidates with a late rank in a range: early and late members, ascending by the late rank."""
        pairs, times = np.empty(0, np.uint64), np.empty(0, np.int64)
        waiting: list[U64] = []
        held = 0
        for early, late, begins, counts in self._meetings(begin, end):
            until = np.cumsum(counts)
            at = 0
            while at < len(until):
                self._check_cancelled()
                before = int(until[at - 1]) if at else 0
                to = max(at + 1, int(np.searchsorted(until, before + _MEETINGS, "right")))
                waiting.append(meeting_pairs(early, late[at:to], begins[at:to], counts[at:to]))
                held += len(waiting[-1])
                at = to
                if held > _MEETINGS:  # only in a stripe of one rank
                    pairs, times = _counted_together(pairs, times, waiting)
                    waiting, held = [], 0
        self._check_cancelled()
        pairs, times = _counted_together(pairs, times, waiting)
        enough = [
            self._enough(pairs[at : at + _COMPARED], times[at : at + _COMPARED])
            for at in range(0, max(1, len(pairs)), _COMPARED)
        ]
        del pairs, times, waiting  # a stripe takes up to half a gigabyte
        early_members, late_members = map(np.concatenate, zip(*enough, strict=True))
        return early_members, late_members

    def _enough(self, pairs: U64, times: I64) -> tuple[I64, I64]:
        """The pairs that may have as many groups in common as they need."""
        self._check_cancelled()
        early, late = split_pairs(pairs)
        level = np.minimum(self._early[early], self._late[late])
        ignored = np.minimum(self._above[level, early], self._above[level, late])
        enough = times + ignored >= self._needs.of_pairs(early, late)
        return self.members[early[enough]], self.members[late[enough]]

    def _meetings(self, begin: int, end: int) -> Iterator[tuple[I64, I64, I64, I64]]:
        """The result of `joins.meetings` for all groups and the late ranks in a range."""
        for sizes, ranks, levels in self._groups():
            self._check_cancelled()
            if end - begin < len(self.members):
                inside = (ranks >= begin) & (ranks < end)
                some = np.logical_or.reduceat(inside, starts_of(sizes)[:-1]) if len(sizes) else inside
                sizes, ranks, levels = sizes[some], ranks[np.repeat(some, sizes)], levels[some]
            members, level = ranks.astype(np.int64), np.repeat(levels, sizes)
            early, late = level <= self._early[members], level <= self._late[members]
            late &= (members >= begin) & (members < end)
            if self._crowds is None:
                yield meetings(sizes, members, early, late, self._needs.limits)
            else:
                crowds = self._crowds[members]
                yield from meetings_between(sizes, members, (early, late), crowds, self._needs.limits)

    def _groups(self) -> Iterator["_Leveled"]:
        """All groups that count."""
        if self._kept is not None:
            yield from self._kept
        else:
            for sizes, members in self._source.groups():
                yield self._counting(*_with_several_members(sizes, members))

    def _counting(self, sizes: I64, members: U32 | I64) -> "_Leveled":
        """The groups that count, with the ranks of those members for which they count.

        Groups within one crowd do not count.
        """
        self._check_cancelled()
        ranks, levels = self._needs.ranks[members], size_levels(sizes)
        if self._crowds is not None:
            several = ~are_alike(sizes, self._crowds[ranks], but=0)
            sizes, ranks, levels = sizes[several], ranks[np.repeat(several, sizes)], levels[several]
        counts = np.repeat(levels, sizes) <= self._highest[ranks]
        left = np.diff(starts_of(counts.astype(np.int64))[starts_of(sizes)])
        several = left > 1
        ranks = ranks[counts & np.repeat(several, sizes)]
        return left[several], sorted_in_groups(left[several], ranks).astype(np.uint32), levels[several]


def _with_several_members(sizes: I64, members: I64) -> Groups:
    """The groups with two or more members."""
    several = sizes > 1
    return sizes[several], members[np.repeat(several, sizes)]


def _counted_together(pairs: U64, times: I64, waiting: list[U64]) -> tuple[U64, I64]:
    """Count the waiting meetings, and add them to pairs that were counted before."""
    if not waiting:
        return pairs, times
    new, new_times = count_pairs(np.concatenate(waiting))
    if not len(pairs):
        return new, new_times
    return count_pairs(np.concatenate([pairs, new]), np.concatenate([times, new_times]))


def candidates_between(
    source: GroupSource,
    sides: I64 | None,
    needs_of: Callable[[I64], Needs],
    check_cancelled: CheckCancelled,
) -> Iterator[tuple[I64, I64]]:
    """The result of `candidates`, without pairs of two members of side 1, or of side 2.

    `sides` has the side of each member, and 0 for a member of both. If it is None, all pairs are found.
    """
    if sides is None:
        return candidates(source, needs_of, check_cancelled)
    return candidates(_GroupsBetween(source, sides), needs_of, check_cancelled, lambda _: sides)


class _GroupsBetween:
    """The groups that have members of both sides: a `GroupSource`."""

    def __init__(self, source: GroupSource, sides: I64) -> None:
        self._source = source
        self._sides = sides

    @property
    def count(self) -> int:
        """The number of possible members."""
        return self._source.count

    def groups(self) -> Iterator[Groups]:
        """All groups with a member of each side, in batches."""
        for sizes, members in self._source.groups():
            between = ~are_alike(sizes, self._sides[members], but=0)
            yield sizes[between], members[np.repeat(between, sizes)]
