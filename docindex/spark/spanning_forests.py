"""Connect the nodes of pairs: union-find over partitions, which keeps a few edges instead of all pairs.

In: packed rows of nodes, and pairs that arrive with their sets. Out: edges, then the component of each node.
A bucket keeps a forest of its pairs: a pair of two nodes that are connected there is not even compared. One
task then joins the forests of all buckets; it holds two numbers for each node. Must never hold all pairs.

Many texts that resemble each other, a *crowd*, have many values in common, and each value has all of them. In
a first round, the members of a large group are compared with one of them only; each value draws another one.
Where all members of a group are then in one component, their pairs would change nothing. Only the other
groups, which are few, come to the second round, in which two nodes of one component do not meet.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from docindex.kernels.arrays import I64, U64, Bool, starts_of
from docindex.kernels.joins import components
from docindex.query.candidates import LARGE
from docindex.spark.candidate_rows import meeting_rows
from docindex.spark.counted_pairs import reached_among
from docindex.spark.document_rows import ARRIVALS, CROWDED, EDGES, LABELS, NODES, PREFIXES
from docindex.spark.node_tables import table_of
from docindex.spark.packed_rows import PackedRow, bucket_of, by_bucket, gathered, split_rows
from docindex.spark.pair_question import PairQuestion
from docindex.spark.value_groups import ValueGroups

_ONE_TASK = -1
"""The bucket that one task joins."""
# Edges are joined when this many have been read; a row has at most this many.
_JOINED = 1 << 22
_ROW = 1 << 17

_NOTHING = np.empty(0, np.uint64)


class SpanningForest:
    """The components of the nodes that edges connect."""

    def __init__(self) -> None:
        self.ids: U64 = _NOTHING
        """The nodes with an edge, ascending."""
        self.labels: U64 = _NOTHING
        """The least node of the component of each."""

    def add(self, a: U64, b: U64) -> None:
        """Take edges."""
        firsts, seconds = np.concatenate([self.ids, a]), np.concatenate([self.labels, b])
        self.ids, places = np.unique(np.concatenate([firsts, seconds]), return_inverse=True)
        self.labels = self.ids[components(places[: len(firsts)], places[len(firsts) :], len(self.ids))]

    def labels_of(self, ids: U64) -> U64:
        """The least node of the component of each node; a node without an edge is alone in its component."""
        if not len(self.ids):
            return ids
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, self.labels[places], ids)

    def rows(self) -> Iterator[PackedRow]:
        """The edges of the forest as packed rows."""
        inner = np.flatnonzero(self.ids != self.labels)
        for begin in range(0, len(inner), _ROW):
            part = inner[begin : begin + _ROW]
            yield PackedRow(_ONE_TASK, EDGES, {"firsts": self.ids[part], "seconds": self.labels[part]})


@dataclasses.dataclass(frozen=True, slots=True)
class MeetingCrowds:
    """The stage that forms pairs, but in large groups only those with one member."""

    question: PairQuestion

    def __call__(self, bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The pairs by the bucket of the smaller node, and the large groups on the way to one task."""
        for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
            if kind == PREFIXES:
                groups = ValueGroups.of(gathered(of_kind))
                is_large = groups.groups > LARGE
                large = groups.only(is_large)
                for pairs in itertools.chain([large.stars()], groups.only(~is_large).pairs(self.question)):
                    yield from meeting_rows(self.question.buckets, *pairs)
                if len(large.groups):
                    yield PackedRow(_ONE_TASK, CROWDED, large.prefixes(), bucket)
            else:
                yield from of_kind


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectedPairs:
    """The stage that compares pairs, and keeps a forest of those that reach the threshold."""

    question: PairQuestion

    def __call__(self, _bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The forest of the bucket; other rows as they are."""
        forest = SpanningForest()
        for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
            if kind == NODES:
                nodes = list(of_kind)
                yield from nodes
                table = table_of(gathered(nodes))
            elif kind == ARRIVALS:
                for row in of_kind:
                    others, seconds = table_of(row.arrays), row.arrays["seconds"]
                    a: I64 = row.arrays["firsts"].astype(np.int64)
                    apart = forest.labels_of(others.ids[a]) != forest.labels_of(seconds)
                    b: I64 = np.searchsorted(table.ids, seconds[apart])
                    found = reached_among(self.question, others, table, a[apart], b)
                    forest.add(others.ids[found.a], table.ids[found.b])
            else:
                yield from of_kind
        yield from forest.rows()


@dataclasses.dataclass(frozen=True, slots=True)
class JoinedForests:
    """The stage that joins all forests in one task, and returns the groups that are not connected."""

    question: PairQuestion

    def __call__(self, bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The joined forest and the groups left; other rows as they are."""
        if bucket != _ONE_TASK:
            yield from rows
            return
        forest = SpanningForest()
        for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
            if kind == EDGES:
                _join(forest, of_kind)
            else:
                for home, of_home in itertools.groupby(of_kind, lambda row: row.other):
                    groups = ValueGroups.of(gathered(of_home))
                    groups = dataclasses.replace(groups, labels=forest.labels_of(groups.ids))
                    left = groups.only(~_are_connected(groups))
                    if len(left.groups):
                        yield PackedRow(home, PREFIXES, left.prefixes())
        yield from forest.rows()


@dataclasses.dataclass(frozen=True, slots=True)
class LabelledNodes:
    """The stage that joins all forests in one task, and sends each node its component."""

    question: PairQuestion

    def __call__(self, bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The components of nodes; other rows as they are."""
        if bucket != _ONE_TASK:
            yield from rows
            return
        forest = SpanningForest()
        _join(forest, rows)
        for begin in range(0, len(forest.ids), _JOINED):
            part = slice(begin, begin + _JOINED)
            arrays = {"ids": forest.ids[part], "labels": forest.labels[part]}
            yield from split_rows(LABELS, arrays, bucket_of(forest.ids[part], self.question.buckets))


EDGE_SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int64())])
"""The columns of a DataFrame of edges."""


def unpacked_edges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The edges of packed rows, one row for each."""
    for _, rows in by_bucket(batches):
        for row in rows:
            ends = [pa.array(row.arrays[name].view(np.int64)) for name in ("firsts", "seconds")]
            yield pa.RecordBatch.from_arrays(ends, schema=EDGE_SCHEMA)


def packed_labels(batch: pa.RecordBatch, buckets: int) -> Iterator[PackedRow]:
    """The components of nodes, by the buckets of the nodes; the node of each label has it, too."""
    ids, labels = (batch.column(name).to_numpy().view(np.uint64) for name in ("node", "label"))
    roots = np.unique(labels)
    arrays = {"ids": np.concatenate([ids, roots]), "labels": np.concatenate([labels, roots])}
    return split_rows(LABELS, arrays, bucket_of(arrays["ids"], buckets))


def _join(forest: SpanningForest, rows: Iterator[PackedRow]) -> None:
    """Add the edges of rows to a forest, many at a time."""
    waiting: list[PackedRow] = []
    for row in itertools.chain(rows, [None]):
        if row is not None:
            waiting.append(row)
        if waiting and (row is None or sum(len(each.arrays["firsts"]) for each in waiting) > _JOINED):
            edges = gathered(waiting)
            forest.add(edges["firsts"], edges["seconds"])
            waiting = []


def _are_connected(groups: ValueGroups) -> Bool:
    """Whether all members of each group have one label."""
    own = groups.labels[groups.members]
    starts = starts_of(groups.groups)[:-1]
    same = own == own[np.repeat(starts, groups.groups)]
    connected: Bool = np.logical_and.reduceat(same, starts) if len(starts) else np.zeros(0, bool)
    return connected
