"""Keep the values that several nodes have: the stage of a question for pairs that counts them.

In: the values of one bucket, each with the nodes that have it. Out: for each node, the values that it has in
common with others, and how many nodes have each. Most shingles belong to one text, and end here. Values that
too many contents have are left out and counted. Nothing depends on how many copies a node has.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from docindex.kernels.arrays import I64, U8, U32, U64, Bool
from docindex.kernels.joins import starts_of_runs
from docindex.spark.document_rows import COUNTED, DOCUMENTS, IGNORED, LOST
from docindex.spark.packed_rows import PackedRow, bucket_of, gathered, scattered, split_rows
from docindex.spark.pair_question import PairQuestion

_BOTH = 3


@dataclasses.dataclass(frozen=True, slots=True)
class CommonValues:
    """The stage that counts the nodes of each value."""

    question: PairQuestion

    def __call__(self, bucket: int, rows: Iterator[PackedRow]) -> Iterator[PackedRow]:
        """The documents as they are, and the values that several nodes have."""
        for kind, of_kind in itertools.groupby(rows, lambda row: row.kind):
            if kind == DOCUMENTS:
                yield from of_kind
            else:
                yield from self._counted(bucket, gathered(of_kind))

    def _counted(self, bucket: int, postings: dict[str, Any]) -> Iterator[PackedRow]:
        ids, nodes = np.unique(postings["ids"], return_inverse=True)
        texts = np.repeat(np.arange(len(nodes)), postings["counts"])
        order = np.argsort(postings["values"])
        values = postings["values"][order]
        starts = starts_of_runs(values)
        several = np.repeat(np.diff(starts) > 1, np.diff(starts))
        values, texts = values[several], texts[order[several]]
        ignored = self._ignored(values, texts, postings["contents"])
        lost = _of_each_node(values[ignored], nodes[texts[ignored]], len(ids))
        if ignored.any():
            yield PackedRow(bucket, IGNORED, {}, len(starts_of_runs(values[ignored])) - 1)
        values, texts = values[~ignored], texts[~ignored]
        found, owners, frequencies = self._shared(values, texts, nodes, postings["sides"])
        order = np.argsort(owners, kind="stable")
        found, owners, frequencies = found[order], owners[order], frequencies[order]
        homes = bucket_of(ids, self.question.buckets)
        yield from scattered(
            COUNTED,
            {"ids": ids},
            owners,
            {"values": found, "frequencies": frequencies},
            homes[owners],
        )
        losers = np.flatnonzero(lost)
        yield from split_rows(LOST, {"ids": ids[losers], "lost": lost[losers]}, homes[losers])

    def _ignored(self, values: U64, texts: I64, contents: U64) -> Bool:
        """Which values more than `ignore_above` contents have."""
        limit = self.question.threshold.ignore_above
        if limit is None:
            return np.zeros(len(values), bool)
        own = contents[texts]
        order = np.lexsort((own, values))
        new = np.ones(len(values), bool)
        new[1:] = (values[1:] != values[:-1]) | (own[order][1:] != own[order][:-1])
        starts = starts_of_runs(values)
        different = np.add.reduceat(new, starts[:-1]) if len(values) else np.zeros(0, np.int64)
        return np.repeat(different > limit, np.diff(starts))

    def _shared(self, values: U64, texts: I64, nodes: I64, sides: U8) -> tuple[U64, I64, U32]:
        """The values that several nodes have, each with a node, and the number of nodes that have it."""
        own = nodes[texts]
        order = np.lexsort((own, values))
        values, own, sides = values[order], own[order], sides[texts[order]]
        new = np.ones(len(values), bool)
        new[1:] = (values[1:] != values[:-1]) | (own[1:] != own[:-1])
        if not len(values):
            return values, own, np.zeros(0, np.uint32)
        either = np.bitwise_or.reduceat(sides, starts_of_runs(values)[:-1])
        sizes = np.diff(starts_of_runs(values[new]))
        counts = sizes > 1
        if self.question.is_between:
            counts &= either == _BOTH
        chosen = np.flatnonzero(new)[np.repeat(counts, sizes)]
        return values[chosen], own[chosen], np.repeat(sizes[counts], sizes[counts]).astype(np.uint32)


def _of_each_node(values: U64, nodes: I64, count: int) -> U32:
    """How many different values each node has; the values of a run are together."""
    order = np.lexsort((nodes, values))
    values, nodes = values[order], nodes[order]
    new = np.ones(len(values), bool)
    new[1:] = (values[1:] != values[:-1]) | (nodes[1:] != nodes[:-1])
    return np.bincount(nodes[new], minlength=count).astype(np.uint32)
