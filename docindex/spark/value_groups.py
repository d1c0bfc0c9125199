"""Hold the nodes of each value of a bucket, and form the pairs of nodes that meet.

In: the arrays of packed rows of the kind `PREFIXES`. Out: groups, pairs, and arrays for packed rows again.
Must never form a pair of nodes with one label, or a pair inside one of two frames.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from docindex.kernels.arrays import I64, U8, U64, Bool, mix, owners, starts_of
from docindex.kernels.joins import (
    Limits,
    meeting_pairs,
    meetings,
    meetings_between,
    split_pairs,
    starts_of_runs,
)
from docindex.spark.packed_rows import Arrays
from docindex.spark.pair_question import PairQuestion

# About this many meetings are formed before pairs that meet several times are joined.
_MEETINGS = 1 << 21
_FIRST, _SECOND, _BOTH = 1, 2, 3
_EARLY = np.uint64(1)

_Meetings = tuple[I64, I64, I64, I64]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ValueGroups:
    """Nodes, by ascending size, and the groups of nodes that have one value."""

    ids: U64
    sizes: I64
    sides: U8
    labels: U64
    """The component of each node; empty if nothing is known."""
    groups: I64
    """The number of nodes of each value."""
    members: I64
    """The nodes of one value after the other; ascending in each."""
    early: Bool
    """For each member, whether it may be the smaller node of a pair."""
    values: U64
    """For each member, the value. The lowest bit is left out."""

    @classmethod
    def of(cls, prefixes: Arrays) -> Self:
        """The groups of gathered rows."""
        ids, firsts, nodes = np.unique(prefixes["ids"], return_index=True, return_inverse=True)
        by_size = np.lexsort((ids, prefixes["sizes"][firsts]))
        firsts = firsts[by_size]
        rank = np.empty_like(by_size)
        rank[by_size] = np.arange(len(by_size))
        members = rank[nodes][owners(starts_of(prefixes["counts"].astype(np.int64)))]
        values = prefixes["values"] >> _EARLY
        order = np.lexsort((members, values))
        return cls(
            ids=ids[by_size],
            sizes=prefixes["sizes"][firsts],
            sides=prefixes["sides"][firsts],
            labels=prefixes["labels"][firsts] if len(prefixes["labels"]) else prefixes["labels"],
            groups=np.diff(starts_of_runs(values[order])),
            members=members[order],
            early=(prefixes["values"][order] & _EARLY).astype(bool),
            values=values[order],
        )

    def only(self, chosen: Bool) -> Self:
        """Some of the groups."""
        which = np.repeat(chosen, self.groups)
        return dataclasses.replace(
            self,
            groups=self.groups[chosen],
            members=self.members[which],
            early=self.early[which],
            values=self.values[which],
        )

    def prefixes(self) -> dict[str, Any]:
        """The arrays of a packed row, without nodes that are in no group."""
        order = np.argsort(self.members, kind="stable")
        counts = np.bincount(self.members, minlength=len(self.ids))
        present = np.flatnonzero(counts)
        arrays = {
            "ids": self.ids[present],
            "sizes": self.sizes[present],
            "sides": self.sides[present],
            "counts": counts[present],
            "values": self.values[order] << _EARLY | self.early[order],
        }
        return arrays | ({"labels": self.labels[present]} if len(self.labels) else {})

    def stars(self) -> tuple[U64, U64]:
        """Each member of each group with one member of its group, another one for each value.

        The first of the two is not the larger one.
        """
        if not len(self.groups):
            return self.ids[:0], self.ids[:0]
        starts = starts_of(self.groups)[:-1]
        drawn = mix(self.ids[self.members] ^ mix(self.values))
        chosen = np.flatnonzero(drawn == np.repeat(np.minimum.reduceat(drawn, starts), self.groups))
        centres = np.repeat(self.members[chosen], self.groups)
        apart = centres != self.members
        pairs = np.sort(np.stack([centres[apart], self.members[apart]]), axis=0)
        return self.ids[pairs[0]], self.ids[pairs[1]]

    def pairs(self, question: PairQuestion) -> Iterator[tuple[U64, U64]]:
        """The pairs of nodes that meet, the smaller one first, in batches. A few come twice."""
        for pairs in _in_stripes(self._meetings(question)):
            a, b = split_pairs(pairs)
            apart = a != b
            yield self.ids[a[apart]], self.ids[b[apart]]

    def _meetings(self, question: PairQuestion) -> Iterator[_Meetings]:
        least = np.searchsorted(self.sizes, question.least_sizes(self.sizes))
        limits = Limits(np.minimum(least, np.arange(len(self.ids))))
        for roles in self._roles(is_between=question.is_between):
            if len(self.labels):
                crowds = _crowds(self.labels)[self.members]
                yield from meetings_between(self.groups, self.members, roles, crowds, limits)
            else:
                yield meetings(self.groups, self.members, *roles, limits)

    def _roles(self, *, is_between: bool) -> list[tuple[Bool, Bool]]:
        """Which members may be the smaller and the larger node of a pair; each pair is in one role."""
        early, sides = self.early, self.sides[self.members]
        if not is_between:
            return [(early, np.ones_like(early))]
        return [
            (early & (sides != _SECOND), sides != _FIRST),
            (early & (sides == _SECOND), sides != _SECOND),
            (early & (sides == _BOTH), sides == _FIRST),
        ]


def _crowds(labels: U64) -> I64:
    """A number above 0 for each label that several nodes have; 0 for the others."""
    _, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.where(counts > 1, np.cumsum(counts > 1), 0)[numbers]


def _in_stripes(all_meetings: Iterator[_Meetings]) -> Iterator[U64]:
    """The different pairs that meet, in stripes of the larger node, so that few stripes have a pair again."""
    for firsts, seconds, begins, counts in all_meetings:
        order = np.argsort(seconds, kind="stable")
        seconds, begins, counts = seconds[order], begins[order], counts[order]
        until = np.cumsum(counts)
        begin = 0
        while begin < len(until):
            before = int(until[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(until, before + _MEETINGS, "right")))
            part = slice(begin, end)
            yield np.unique(meeting_pairs(firsts, seconds[part], begins[part], counts[part]))
            begin = end
