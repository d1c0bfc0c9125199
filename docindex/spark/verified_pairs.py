"""Count what candidates share, and keep the pairs that reach the threshold.

In: pairs of nodes, and the texts and slots of all nodes. Out: the pairs that reach the threshold, with the
numbers that `docindex.Index.pairs` gives. Shingles are counted where both texts are kept, and slots
otherwise. This is the end of the third phase of Broder et al. (1997).

The nodes are put into blocks. A *cell* is two blocks, and a set travels once to each cell in which it has a
pair, however many pairs these are. A task holds the sets of one cell, and never all pairs of a cell.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it
from pyspark.sql.pandas.types import from_arrow_schema

from docindex.arrays.ranges import I64, U64, Bool, ranges, starts_of
from docindex.minhash.slots import EMPTY_SLOT
from docindex.query.measures import Basis, shares_of_sets, shares_of_slots
from docindex.query.pairs.joined import Threshold
from docindex.query.pairs.shared_counts import count_shared
from docindex.query.scope import never_cancelled
from docindex.recipe import Recipe
from docindex.sketching.sketcher import shingle_sets

NUMBERS = ("containment", "reverse_containment", "resemblance")
ERRORS = ("containment_error", "reverse_containment_error", "resemblance_error")

_SETS = pa.schema(
    [
        ("node", pa.int64()),
        ("size", pa.int64()),
        ("by_shingles", pa.binary()),
        ("by_slots", pa.binary()),
    ]
)
_VERIFIED = pa.schema(
    [
        *((name, pa.int64()) for name in ("u", "v")),
        *((name, pa.float64()) for name in NUMBERS),
        ("shared", pa.int64()),
        ("basis", pa.string()),
        *((name, pa.float64()) for name in ERRORS),
    ]
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How pairs are counted, and which are kept. Travels to the workers."""

    recipe: Recipe
    threshold: Threshold
    min_shared: int
    has_bare: bool
    """Whether a text is missing, so that slots are needed."""
    blocks: int
    """Into how many blocks the nodes are put."""
    tasks: int

    def sets(self, documents: DataFrame) -> DataFrame:
        """The sets of the texts: a row for each node.

        `documents` has the columns `node`, `text`, `shingles` and `slots`.
        """
        rows = documents.select("node", "text", "shingles", "slots")
        rows = rows.mapInArrow(self._sets, from_arrow_schema(_SETS))
        # Of several texts with the same words, take one that is kept.
        best = F.struct(F.col("by_shingles").isNotNull().alias("kept"), "size", "by_shingles", "by_slots")
        return rows.groupBy("node").agg(F.max_by(best, best["kept"]).alias("set"))

    def verified(self, candidates: DataFrame, sets: DataFrame) -> DataFrame:
        """The pairs `u`, `v` of the candidates that reach the threshold, with their numbers.

        `sets` are those of all nodes. A candidate may be a node with itself.
        """
        high = [(F.shiftright(name, 32) + (1 << 31)) * self.blocks for name in ("u", "v")]
        u, v = (F.shiftright(each, 32) for each in high)
        both = candidates.select("u", "v", (u * self.blocks + v).alias("cell"))
        # One row says that a pair is in a cell, and two rows that its sets are needed there.
        rows = both.select("u", "v", "cell", F.posexplode(F.array(*"uuv")).alias("role", "node"))
        other = F.when(F.col("role") == 0, F.col("v"))
        needed = rows.groupBy("node").agg(
            F.collect_set(F.struct("cell", other.alias("other"))).alias("entries")
        )
        rows = needed.join(sets, "node").select("node", "set", F.explode("entries").alias("entry"))
        own = F.when(F.col("entry.other").isNull(), F.col("set"))
        rows = rows.select("node", "entry.*", own.alias("set")).select("node", "cell", "other", "set.*")
        # The sets of a cell come before its pairs.
        rows = rows.repartition(self.tasks, "cell").sortWithinPartitions("cell", F.asc_nulls_first("other"))
        return rows.mapInArrow(self._counted, from_arrow_schema(_VERIFIED))

    def _sets(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The sets of texts: shingles of texts that are kept, and slots if they are needed."""
        for batch in batches:
            texts, begin = batch.column("text"), 0
            for hashes, starts in shingle_sets((text.as_py() or "" for text in texts), self.recipe):
                part = batch.slice(begin, len(starts) - 1)
                begin += len(part)
                is_bare = part.column("text").is_null()
                columns = [
                    part.column("node"),
                    pc.if_else(is_bare, part.column("shingles"), pa.array(np.diff(starts))),
                    pc.if_else(is_bare, None, _binary(hashes, starts)),
                    self._slots(part.column("slots")) if self.has_bare else pa.nulls(len(part), pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=_SETS)

    def _slots(self, column: pa.ListArray) -> pa.BinaryArray:
        """Sets that have equal members where two texts have equal slots."""
        slots = column.flatten().to_numpy().astype(np.uint64).reshape(-1, self.recipe.slots)
        is_full = slots[:, 0] != EMPTY_SLOT
        numbers = np.arange(self.recipe.slots, dtype=np.uint64) << np.uint64(16)
        return _binary((slots | numbers)[is_full].reshape(-1), starts_of(is_full * self.recipe.slots))

    def _counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The pairs that reach the threshold, from rows ordered by cell."""
        sets = CellSets(None)
        for batch in batches:
            if not len(batch):
                continue
            rows = pa.Table.from_batches([batch])
            is_set = rows["other"].is_null()
            sets = sets.with_rows(rows.filter(is_set))
            pairs = rows.filter(pc.invert(is_set))
            if len(pairs):
                yield from self._reached(sets, pairs["node"].to_numpy(), pairs["other"].to_numpy())
            sets = sets.of_cell(rows["cell"][-1])

    def _reached(self, sets: "CellSets", u: I64, v: I64) -> Iterator[pa.RecordBatch]:
        a, b = sets.places_of(u), sets.places_of(v)
        # Texts with the same words have the same shingles, although nobody may have counted them.
        kept = (sets.kept[a] & sets.kept[b]) | (a == b)
        bases: list[tuple[Basis, Bool]] = [("shingles", kept), ("slots", ~kept)]
        for basis, is_counted in bases:
            which = np.flatnonzero(is_counted)
            if not len(which):
                continue
            shared = sets.shared(basis, a[which], b[which])
            same, sizes = a[which] == b[which], (sets.sizes[a[which]], sets.sizes[b[which]])
            if basis == "shingles":
                shared = np.where(same, sizes[0], shared)
                shares = shares_of_sets(shared, *sizes).with_wholes(same)
            else:
                shares = shares_of_slots(shared, self.recipe.slots, *sizes)
            reached = np.flatnonzero(self.threshold.reached_by(shares) & (shared >= self.min_shared))
            columns = [
                u[which[reached]],
                v[which[reached]],
                *(share[reached] for share in shares.shares),
                shared[reached],
                pa.repeat(basis, len(reached)),
                *(error[reached] for error in shares.errors),
            ]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_VERIFIED)


class CellSets:
    """The sets of nodes of a few cells, found by their nodes."""

    def __init__(self, rows: pa.Table | None) -> None:
        self._rows = rows
        nodes = np.empty(0, np.int64) if rows is None else rows["node"].to_numpy()
        self._nodes, self._first = np.unique(nodes, return_index=True)
        if rows is not None:
            self.sizes = rows["size"].to_numpy()
            self.kept: Bool = rows["by_shingles"].is_valid().to_numpy()

    def with_rows(self, rows: pa.Table) -> "CellSets":
        """These sets and more."""
        if not len(rows):
            return self
        return CellSets(rows if self._rows is None else pa.concat_tables([self._rows, rows]))

    def of_cell(self, cell: pa.Scalar) -> "CellSets":
        """The sets of one cell."""
        if self._rows is None:
            return self
        is_of_cell = pc.equal(self._rows["cell"], cell)
        return self if pc.all(is_of_cell).as_py() else CellSets(self._rows.filter(is_of_cell))

    def places_of(self, nodes: I64) -> I64:
        """The place of the set of each node."""
        places: I64 = self._first[np.searchsorted(self._nodes, nodes)]
        return places

    def shared(self, basis: Basis, a: I64, b: I64) -> I64:
        """How many members the sets at each two places have in common."""
        assert self._rows is not None
        source = _BinarySets(self._rows[f"by_{basis}"].combine_chunks())
        return np.concatenate([part.shared for part in count_shared(source, a, b, never_cancelled)])


class _BinarySets:
    """The sets in a binary column as a `SetSource`."""

    def __init__(self, column: pa.BinaryArray) -> None:
        column = column.fill_null(b"")
        _, ends, data = column.buffers()
        ends = np.frombuffer(ends, "<i4")[column.offset : column.offset + len(column) + 1]
        self._starts = ends.astype(np.int64) // 8
        self._values: U64 = np.frombuffer(data or b"", "<u8", count=int(self._starts[-1]))

    def weights(self) -> I64:
        """The size of each set."""
        return np.diff(self._starts)

    def sets_of(self, places: I64) -> tuple[U64, I64]:
        """The sets at some places, and where each begins."""
        sizes = self.weights()[places]
        return self._values[ranges(self._starts[places], sizes)], starts_of(sizes)


def _binary(values: U64, starts: I64) -> pa.BinaryArray:
    """A binary column of sets that lie end to end."""
    buffers = [None, pa.py_buffer((starts * 8).astype("<i4")), pa.py_buffer(values.astype("<u8"))]
    return pa.BinaryArray.from_buffers(pa.binary(), len(starts) - 1, buffers)
