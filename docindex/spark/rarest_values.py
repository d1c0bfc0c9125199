"""Choose the values by which each node is looked for: a stage of a question for pairs.

In: the nodes of one bucket, and the values that each has in common with others. Out: the nodes, and for each
node its rarest values. If a pair must share n values, and a node has c, then the c - n + 1 rarest of them
have one of the shared ones; so the commonest values, such as a header that many texts have, make hardly a
pair. All nodes order their values alike. Must never leave out a value that a pair needs to meet.

A value that very many nodes have is split: its nodes are put into parts, and each two parts meet elsewhere.
"""

import dataclasses
import itertools
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from docindex.kernels.arrays import I64, U8, U32, U64, Bool, mix, owners, ranges, starts_of
from docindex.spark.document_rows import COUNTED, DOCUMENTS, LOST, PREFIXES
from docindex.spark.node_tables import NodeTable, table_of_documents
from docindex.spark.packed_rows import PackedRow, bucket_of, gathered, scattered
from docindex.spark.pair_question import PairQuestion

SPLIT_ABOVE = 1 << 14
"""The nodes of a value are split into parts of this size."""

_EARLY = np.uint64(1)
_PART = np.uint64(0xD6E8FEB86659FD93)  # odd, so that all parts of a value differ


@dataclasses.dataclass(frozen=True, slots=True)
class RarestValues:
    """The stage that chooses the rarest values of each node."""

    question: PairQuestion
    split_above: int = SPLIT_ABOVE

    def __call__(self, bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The nodes that may be in a pair, and the values by which they are looked for."""
        found = {kind: gathered(of_kind) for kind, of_kind in itertools.groupby(rows, lambda row: row.kind)}
        if DOCUMENTS not in found:  # only the number of ignored values came to this bucket
            return
        table = table_of_documents(found[DOCUMENTS])
        if LOST in found:
            lost = np.bincount(_places(table, found[LOST]["ids"]), found[LOST]["lost"], len(table))
            table = dataclasses.replace(table, sizes=table.sizes - lost.astype(np.int64))
        nodes, values, frequencies = _values_of_nodes(table, found.get(COUNTED))
        if self.question.bands is None:
            counts = np.bincount(nodes, minlength=len(table))
            table = dataclasses.replace(table, counts=counts, values=values)
        in_pairs = yield from self._chosen(table, nodes, values, frequencies)
        yield from table.only(np.flatnonzero(in_pairs | (table.documents > 1))).rows(bucket)

    def _chosen(
        self, table: NodeTable, nodes: I64, values: U64, frequencies: U32
    ) -> Generator[PackedRow, None, Bool]:
        """The rows of the rarest values. Returns which nodes have any."""
        counts = np.bincount(nodes, minlength=len(table))
        places = np.arange(len(nodes)) - starts_of(counts)[nodes]
        early, late = (counts - need for need in self.question.needs(table.sizes))
        is_early = places <= early[nodes]
        chosen = np.flatnonzero(is_early | (places <= late[nodes]))
        has_any: Bool = np.bincount(nodes[chosen], minlength=len(table)) > 0
        marked = values[chosen] & ~_EARLY | is_early[chosen]
        owner, marked = self._split(table.ids, nodes[chosen], marked, frequencies[chosen])
        sides: U8 = np.bitwise_or.reduceat(table.sides, table.starts[:-1]) if len(table) else table.sides
        yield from scattered(
            PREFIXES,
            {"ids": table.ids, "sizes": table.sizes, "sides": sides},
            owner,
            {"values": marked},
            bucket_of(mix(marked >> _EARLY), self.question.buckets),
        )
        return has_any

    def _split(self, ids: U64, nodes: I64, marked: U64, frequencies: U32) -> tuple[I64, U64]:
        """The nodes and their values; a value that very many nodes have becomes one for each two parts."""
        common = frequencies > self.split_above
        if not common.any():
            return nodes, marked
        own, value = nodes[common], marked[common]
        parts = -(-frequencies[common].astype(np.int64) // self.split_above)
        part = (mix(ids[own]) % parts.astype(np.uint64)).astype(np.int64)
        others = ranges(np.zeros_like(parts), parts)
        own_part, value = np.repeat(part, parts), np.repeat(value, parts)
        low, high = np.minimum(own_part, others), np.maximum(own_part, others)
        number = (low * np.repeat(parts, parts) + high + 1).astype(np.uint64)
        apart = low != high
        split = mix((value | _EARLY) + (number * _PART << _EARLY)) & ~_EARLY | value & _EARLY
        both = np.concatenate([nodes[~common], np.repeat(own, parts)[apart]])
        order = np.argsort(both, kind="stable")
        return both[order], np.concatenate([marked[~common], split[apart]])[order]


def _values_of_nodes(table: NodeTable, counted: dict[str, Any] | None) -> tuple[I64, U64, U32]:
    """The node, the value and its frequency, of one node after the other; the rarest values first."""
    if counted is None:
        return np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint32)
    nodes = _places(table, counted["ids"])[owners(starts_of(counted["counts"].astype(np.int64)))]
    values, frequencies = counted["values"], counted["frequencies"]
    order = np.lexsort((values, frequencies, nodes))
    return nodes[order], values[order], frequencies[order]


def _places(table: NodeTable, ids: U64) -> I64:
    return np.searchsorted(table.ids, ids)
