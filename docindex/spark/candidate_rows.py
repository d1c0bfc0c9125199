"""Form the pairs of nodes that meet, and bring the two sets of each pair together: two stages.

In: the nodes that have each value. Out: first the pairs of nodes that have a value in common and whose sizes
are alike enough; then each pair once, with the set of its smaller node, on the way to its larger one. Pairs
inside a frame are not formed if only pairs between two frames are wanted. Must never hold all pairs of a
bucket.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from docindex.kernels.arrays import I64, U64, Bool, owners, starts_of
from docindex.kernels.joins import Limits, meeting_pairs, meetings, split_pairs, starts_of_runs
from docindex.spark.document_rows import ARRIVALS, MEETINGS, NODES
from docindex.spark.node_tables import NodeTable, table_of
from docindex.spark.packed_rows import PackedRow, bucket_of, gathered, runs
from docindex.spark.pair_question import PairQuestion

# About this many meetings are formed before pairs that meet several times are joined.
_MEETINGS = 1 << 21
# A row has about this many values and pairs.
_ROW = 1 << 17
_FIRST, _SECOND, _BOTH = 1, 2, 3
_EARLY = np.uint64(1)


@dataclasses.dataclass(frozen=True, slots=True)
class MeetingNodes:
    """The stage that forms pairs of the nodes with a common value."""

    question: PairQuestion

    def __call__(self, _bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The nodes as they are, and the pairs, by the bucket of the smaller node."""
        for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
            if kind == NODES:
                yield from of_kind
            else:
                yield from self._pairs(gathered(of_kind))

    def _pairs(self, prefixes: dict[str, Any]) -> Iterator[PackedRow]:
        ids, firsts, nodes = np.unique(prefixes["ids"], return_index=True, return_inverse=True)
        sizes, sides = prefixes["sizes"][firsts], prefixes["sides"][firsts]
        by_size = np.lexsort((ids, sizes))
        rank = np.empty_like(by_size)
        rank[by_size] = np.arange(len(by_size))
        ids, sizes, sides = ids[by_size], sizes[by_size], sides[by_size]
        members = rank[nodes][owners(starts_of(prefixes["counts"].astype(np.int64)))]
        values = prefixes["values"] >> _EARLY
        order = np.lexsort((members, values))
        members, early = members[order], (prefixes["values"][order] & _EARLY).astype(bool)
        groups = np.diff(starts_of_runs(values[order]))
        limits = Limits(
            np.minimum(np.searchsorted(sizes, self.question.least_sizes(sizes)), np.arange(len(ids)))
        )
        for pairs in _in_stripes(groups, members, self._roles(early, sides[members]), limits):
            a, b = split_pairs(pairs)
            yield from self._rows(ids[a[a != b]], ids[b[a != b]])

    def _roles(self, early: Bool, sides: Any) -> list[tuple[Bool, Bool]]:
        """Which members may be the smaller and the larger node of a pair; each pair is in one role."""
        if not self.question.is_between:
            return [(early, np.ones_like(early))]
        return [
            (early & (sides != _SECOND), sides != _FIRST),
            (early & (sides == _SECOND), sides != _SECOND),
            (early & (sides == _BOTH), sides == _FIRST),
        ]

    def _rows(self, firsts: U64, seconds: U64) -> Iterator[PackedRow]:
        buckets = self.question.buckets
        homes, others = bucket_of(firsts, buckets), bucket_of(seconds, buckets)
        order = np.lexsort((others, homes))
        cells = (homes * buckets + others)[order]
        for begin, end in runs(cells):
            part = order[begin:end]
            pairs = {"firsts": firsts[part], "seconds": seconds[part]}
            yield PackedRow(int(homes[part[0]]), MEETINGS, pairs, int(others[part[0]]))


def _in_stripes(groups: I64, members: I64, roles: list[tuple[Bool, Bool]], limits: Limits) -> Iterator[U64]:
    """The different pairs that meet, in stripes of the larger node, so that few stripes have a pair again."""
    for early, late in roles:
        firsts, seconds, begins, counts = meetings(groups, members, early, late, limits)
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


@dataclasses.dataclass(frozen=True, slots=True)
class SentSets:
    """The stage that sends the set of the smaller node of each pair to the larger node."""

    question: PairQuestion

    def __call__(self, _bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The nodes as they are; and for each bucket of larger nodes, the pairs with the smaller nodes."""
        kinds = itertools.groupby(rows, lambda row: row.kind)
        for kind, of_kind in kinds:
            if kind == NODES:
                own = list(of_kind)
                yield from own
                table = table_of(gathered(own))
            else:
                for other, of_other in itertools.groupby(of_kind, lambda row: row.other):
                    yield from _sent(table, other, gathered(of_other))


def _sent(table: NodeTable, bucket: int, pairs: dict[str, Any]) -> Iterator[PackedRow]:
    firsts = np.searchsorted(table.ids, pairs["firsts"])
    order = np.lexsort((pairs["seconds"], firsts))
    firsts, seconds = firsts[order], pairs["seconds"][order]
    new_node = np.append(True, firsts[1:] != firsts[:-1])
    new = new_node | np.append(True, seconds[1:] != seconds[:-1])
    firsts, seconds, new_node = firsts[new], seconds[new], new_node[new]
    weights = np.where(new_node, table.counts[firsts] + table.documents[firsts], 0) + 1
    for part in np.split(np.arange(len(firsts)), np.flatnonzero(np.diff(np.cumsum(weights) // _ROW)) + 1):
        places, numbers = np.unique(firsts[part], return_inverse=True)
        arrays = table.only(places).arrays()
        arrays |= {"firsts": numbers, "seconds": seconds[part]}
        yield PackedRow(bucket, ARRIVALS, arrays)
