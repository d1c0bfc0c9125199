"""Count what the nodes of each pair share, and name the pairs that reach the threshold: the last stage.

In: the nodes of one bucket, and the smaller nodes of their pairs. Out: record batches of pairs of documents,
with the numbers that `docindex.Index.pairs` gives. Must never hold the pairs of all documents.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from docindex.kernels.arrays import I64, U8, U64, Bool, ranges, starts_of
from docindex.query.measures import Basis, ShareColumns, shares_of_sets, shares_of_slots
from docindex.query.scope import never_cancelled
from docindex.query.shared_counts import count_shared
from docindex.spark.document_rows import NODES
from docindex.spark.node_tables import NodeTable, table_of
from docindex.spark.packed_rows import PackedRow, bucketed, by_bucket, gathered
from docindex.spark.pair_question import PairQuestion

_NUMBERS = ("containment", "reverse_containment", "resemblance")
_ERRORS = ("containment_error", "reverse_containment_error", "resemblance_error")
PAIR_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("a", "b")),
        *((name, pa.float64()) for name in _NUMBERS),
        ("shared", pa.int64()),
        ("basis", pa.string()),
        *((name, pa.float64()) for name in _ERRORS),
    ]
)
"""The columns of pairs: those of `docindex.Pairs.to_arrow`, without the ids of documents."""

# About this many pairs of documents are named at a time.
_NAMED = 1 << 17
_FIRST, _SECOND, _BOTH = 1, 2, 3


class ReachedPairs(NamedTuple):
    """Pairs of nodes that reach the threshold."""

    a: I64
    """The places of the first nodes in their table."""
    b: I64
    """The places of the second nodes in theirs."""
    shared: I64
    shares: ShareColumns


class _TwoTables:
    """The sets of two tables as one `SetSource`: the places of the second table follow those of the first."""

    def __init__(self, first: NodeTable, second: NodeTable) -> None:
        self._sizes = np.concatenate([first.counts, second.counts])
        self._values = np.concatenate([first.values, second.values])
        self._starts = starts_of(self._sizes)

    def weights(self) -> I64:
        """The size of each set."""
        return self._sizes

    def sets_of(self, places: I64) -> tuple[U64, I64]:
        """The sets at some places, and where each begins."""
        sizes = self._sizes[places]
        return self._values[ranges(self._starts[places], sizes)], starts_of(sizes)


def counted_pairs(frame: DataFrame, question: PairQuestion) -> DataFrame:
    """The pairs of documents that the packed rows of `SentSets` stand for."""
    return bucketed(frame).mapInArrow(_Naming(question), from_arrow_schema(PAIR_SCHEMA))


@dataclasses.dataclass(frozen=True, slots=True)
class _Naming:
    question: PairQuestion

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, rows in by_bucket(batches):
            for table, others, found in reached_pairs(self.question, rows):
                yield from _named(self.question, table, others, found)


def reached_pairs(
    question: PairQuestion, rows: Iterator[PackedRow]
) -> Iterator[tuple[NodeTable, NodeTable, ReachedPairs]]:
    """The pairs of nodes of a bucket, with the tables that their first and their second nodes are in.

    First come the pairs of nodes with themselves, for which both tables are one.
    """
    for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
        if kind == NODES:
            own = table_of(gathered(of_kind))
            yield own, own, _of_copies(question, own)
        else:
            for row in of_kind:
                others = table_of(row.arrays)
                a = row.arrays["firsts"].astype(np.int64)
                b = _places_of(own, row.arrays["seconds"])
                yield others, own, reached_among(question, others, own, a, b)


def _places_of(table: NodeTable, ids: U64) -> I64:
    return np.searchsorted(table.ids, ids)


def _of_copies(question: PairQuestion, table: NodeTable) -> ReachedPairs:
    """Each node with several documents, and itself."""
    nodes = np.flatnonzero(table.documents > 1)
    sizes = table.sizes[nodes]
    shared = np.full(len(nodes), question.recipe.slots) if question.method == "slots" else sizes
    chosen = shared >= question.min_shared
    nodes, shared, sizes = nodes[chosen], shared[chosen], sizes[chosen]
    shares = shares_of_sets(sizes, sizes, sizes).with_wholes(np.ones(len(nodes), bool))
    return ReachedPairs(nodes, nodes, shared, shares)


def reached_among(
    question: PairQuestion, first: NodeTable, second: NodeTable, a: I64, b: I64
) -> ReachedPairs:
    """Those of some pairs that reach the threshold. `a` are places in the first table, `b` in the second."""
    order = np.argsort(b, kind="stable")
    a, b = a[order], b[order]
    shared = np.empty(len(a), np.int64)
    for part, found, _, _ in count_shared(_TwoTables(first, second), a, b + len(first), never_cancelled):
        shared[part] = found
    sizes = first.sizes[a], second.sizes[b]
    if question.method == "slots":
        shares = shares_of_slots(shared, question.recipe.slots, *sizes)
    else:
        shares = shares_of_sets(shared, *sizes)
    reached = np.flatnonzero(question.threshold.reached_by(shares) & (shared >= question.min_shared))
    return ReachedPairs(a[reached], b[reached], shared[reached], _only(shares, reached))


def _only(shares: ShareColumns, which: I64) -> ShareColumns:
    return ShareColumns(*(column[which] for column in (*shares.shares, *shares.errors)))


def _named(
    question: PairQuestion, first: NodeTable, second: NodeTable, found: ReachedPairs
) -> Iterator[pa.RecordBatch]:
    """The pairs of the documents of pairs of nodes."""
    of_a, of_b = first.documents[found.a], second.documents[found.b]
    starts = starts_of(of_a * of_b)
    for begin in range(0, int(starts[-1]), _NAMED):
        places = np.arange(begin, min(begin + _NAMED, int(starts[-1])))
        pair = np.searchsorted(starts, places, "right") - 1
        of_pair = places - starts[pair]
        a = first.starts[found.a[pair]] + of_pair // of_b[pair]
        b = second.starts[found.b[pair]] + of_pair % of_b[pair]
        wanted = _orientations(question, first, second, (a, b), _only(found.shares, pair))
        columns = [
            _columns(question, (first, second), (a[ahead], b[ahead]), found, pair[ahead])
            for ahead in [np.flatnonzero(wanted[0])]
        ]
        if first is not second:
            back = np.flatnonzero(wanted[1])
            turned = found._replace(shares=_turned(found.shares))
            columns.append(_columns(question, (second, first), (b[back], a[back]), turned, pair[back]))
        for arrays in columns:
            if len(arrays[0]):
                yield pa.RecordBatch.from_arrays(arrays, schema=PAIR_SCHEMA)


def _orientations(
    question: PairQuestion,
    first: NodeTable,
    second: NodeTable,
    documents: tuple[I64, I64],
    shares: ShareColumns,
) -> tuple[Bool, Bool]:
    """Which pairs of documents are wanted as they are, and which with their documents exchanged.

    Inside one table, each two documents occur in both orders; so only pairs as they are count there.
    """
    a, b = documents
    same = (a == b) if first is second else np.zeros(len(a), bool)
    if question.is_directed:
        least = question.threshold.least
        ahead, back = shares.containment >= least, shares.reverse_containment >= least
        return ahead & ~same, back & ~same
    less: Bool = pc.less(first.keys.take(pa.array(a)), second.keys.take(pa.array(b))).to_numpy(
        zero_copy_only=False
    )
    if not question.is_between:
        return less & ~same, ~less & ~same
    side_a, side_b = first.sides[a], second.sides[b]
    return _between(side_a, side_b, less) & ~same, _between(side_b, side_a, ~less) & ~same


def _between(a: U8, b: U8, less: Bool) -> Bool:
    """Whether the first document is in the first frame, and the second one in the second frame.

    If both are in both frames, the first one has the lower key.
    """
    wanted: Bool = (a != _SECOND) & (b != _FIRST) & ((a != _BOTH) | (b != _BOTH) | less)
    return wanted


def _turned(shares: ShareColumns) -> ShareColumns:
    return ShareColumns(
        shares.reverse_containment,
        shares.containment,
        shares.resemblance,
        shares.reverse_containment_error,
        shares.containment_error,
        shares.resemblance_error,
    )


def _columns(
    question: PairQuestion,
    tables: tuple[NodeTable, NodeTable],
    documents: tuple[I64, I64],
    found: ReachedPairs,
    pair: I64,
) -> list[Any]:
    keys = [
        table.keys.take(pa.array(own)).cast(pa.string()) for table, own in zip(tables, documents, strict=True)
    ]
    basis: Basis = "slots" if question.method == "slots" else "shingles"
    return [
        *keys,
        *(pa.array(share[pair]) for share in found.shares.shares),
        pa.array(found.shared[pair]),
        pa.repeat(basis, len(pair)),
        *(pa.array(error[pair]) for error in found.shares.errors),
    ]
