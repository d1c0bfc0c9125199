"""Hold the nodes of a bucket: texts with the same words, with their documents and their sets.

In: packed rows of documents or of nodes. Out: a table, and packed rows of some of its nodes. Must never hold
two nodes with the same words.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docindex.kernels.arrays import I64, U8, U64, are_first, ranges, starts_of
from docindex.spark.document_rows import NODES
from docindex.spark.packed_rows import Arrays, PackedRow

# A row has at most about this many values and documents together, or one node.
_ROW = 1 << 17


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """Nodes, ascending by id."""

    ids: U64
    sizes: I64
    """How many shingles each node has that count."""
    counts: I64
    values: U64
    """The sets of all nodes, end to end, without values that no other node has; `counts` are their sizes."""
    documents: I64
    """How many documents each node has."""
    keys: pa.Array
    """The keys of the documents of all nodes, end to end; ascending in each node."""
    sides: U8
    """In which frame each document is."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def starts(self) -> I64:
        """Where the documents of each node begin."""
        return starts_of(self.documents)

    def only(self, places: I64) -> "NodeTable":
        """The nodes at some places, which must ascend."""
        of_values = ranges(starts_of(self.counts)[places], self.counts[places])
        of_documents = ranges(self.starts[places], self.documents[places])
        return NodeTable(
            self.ids[places],
            self.sizes[places],
            self.counts[places],
            self.values[of_values],
            self.documents[places],
            self.keys.take(pa.array(of_documents)),
            self.sides[of_documents],
        )

    def arrays(self) -> dict[str, Any]:
        """The arrays of a packed row."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def rows(self, bucket: int) -> Iterator[PackedRow]:
        """The nodes as packed rows."""
        weights = np.cumsum(self.counts + self.documents) // _ROW
        for part in np.split(np.arange(len(self)), np.flatnonzero(np.diff(weights)) + 1):
            if len(part):
                yield PackedRow(bucket, NODES, self.only(part).arrays())


def table_of(arrays: Arrays) -> NodeTable:
    """The table whose rows, gathered, have these arrays."""
    order = np.argsort(arrays["ids"], kind="stable")
    signed = {name: arrays[name].astype(np.int64) for name in ("sizes", "counts", "documents")}
    table = NodeTable(
        arrays["ids"],
        signed["sizes"],
        signed["counts"],
        arrays["values"],
        signed["documents"],
        arrays["keys"],
        arrays["sides"],
    )
    return table if (order == np.arange(len(order))).all() else table.only(order)


def table_of_documents(arrays: Arrays) -> NodeTable:
    """The nodes of documents. Two documents with one key and the same words are one, in both frames."""
    both = pa.table({"id": pa.array(arrays["ids"]), "key": arrays["keys"]})
    order = pc.sort_indices(both, [("id", "ascending"), ("key", "ascending")]).to_numpy().astype(np.int64)
    ids, keys, sides = arrays["ids"][order], arrays["keys"].take(pa.array(order)), arrays["sides"][order]
    new = are_first(ids)
    if len(keys) > 1:
        new[1:] |= pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    documents = np.flatnonzero(new)
    sides = np.bitwise_or.reduceat(sides, documents) if len(sides) else sides
    ids, keys = ids[documents], keys.take(pa.array(documents))
    firsts = np.flatnonzero(are_first(ids))
    chosen = order[documents[firsts]]
    counts = arrays["counts"].astype(np.int64) if len(arrays["counts"]) else np.zeros(len(new), np.int64)
    values = ranges(starts_of(counts)[chosen], counts[chosen])
    return NodeTable(
        ids[firsts],
        arrays["sizes"][chosen],
        counts[chosen],
        arrays["values"][values],
        np.diff(np.append(firsts, len(ids))),
        keys,
        sides,
    )
