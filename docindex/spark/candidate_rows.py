"""Form the pairs of nodes that meet, and bring the two sets of each pair together: two stages.

In: the nodes that have each value. Out: first the pairs of nodes that have a value in common and whose sizes
are alike enough; then each pair once, with the set of its smaller node, on the way to its larger one. Rows of
other kinds stay as they are. Must never hold all pairs of a bucket.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from docindex.kernels.arrays import U64
from docindex.spark.document_rows import ARRIVALS, MEETINGS, NODES, PREFIXES
from docindex.spark.node_tables import NodeTable, table_of
from docindex.spark.packed_rows import PackedRow, bucket_of, gathered, runs
from docindex.spark.pair_question import PairQuestion
from docindex.spark.value_groups import ValueGroups

# A row has about this many values and pairs.
_ROW = 1 << 17


@dataclasses.dataclass(frozen=True, slots=True)
class MeetingNodes:
    """The stage that forms pairs of the nodes with a common value."""

    question: PairQuestion

    def __call__(self, _bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The pairs, by the bucket of the smaller node."""
        for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
            if kind == PREFIXES:
                for pairs in ValueGroups.of(gathered(of_kind)).pairs(self.question):
                    yield from meeting_rows(self.question.buckets, *pairs)
            else:
                yield from of_kind


def meeting_rows(buckets: int, firsts: U64, seconds: U64) -> Iterator[PackedRow]:
    """Rows of pairs, by the buckets of both nodes."""
    homes, others = bucket_of(firsts, buckets), bucket_of(seconds, buckets)
    order = np.lexsort((others, homes))
    cells = (homes * buckets + others)[order]
    for begin, end in runs(cells):
        part = order[begin:end]
        pairs = {"firsts": firsts[part], "seconds": seconds[part]}
        yield PackedRow(int(homes[part[0]]), MEETINGS, pairs, int(others[part[0]]))


@dataclasses.dataclass(frozen=True, slots=True)
class SentSets:
    """The stage that sends the set of the smaller node of each pair to the larger node."""

    question: PairQuestion

    def __call__(self, _bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """For each bucket of larger nodes, the pairs with the smaller nodes."""
        for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
            if kind == NODES:
                own = list(of_kind)
                yield from own
                table = table_of(gathered(own))
            elif kind == MEETINGS:
                for other, of_other in itertools.groupby(of_kind, lambda row: row.other):
                    yield from _sent(table, other, gathered(of_other))
            else:
                yield from of_kind


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
