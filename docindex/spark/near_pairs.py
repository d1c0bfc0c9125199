"""Find all pairs of documents of a Spark DataFrame whose simhashes differ in at most a few bits.

In: one or two DataFrames of sketches. Out: a DataFrame of pairs, set for set those of `docindex.Index.near`.
The batch job of Manku et al. ("Detecting Near-Duplicates for Web Crawling", 2007), with the tables of
`simhashing.table_design`: two values that are near agree in the prefix of at least one table, so each
table is a join on its prefix. Each value is joined once, however many documents have it. Must never give a
crowd of documents with one simhash, or of values with one prefix, to a single task.
"""

import dataclasses
import math

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex import arguments
from docindex.query.near import DEFAULT_DISTANCE
from docindex.simhashing.table_design import TableDesign, useful_designs
from docindex.spark.crowd_parts import BOTH, CrowdParts
from docindex.spark.named_pairs import named_pairs, placed_documents

# Processor time in nanoseconds: to move a value into a table and sort it there, and to compare two values.
_MOVED, _COMPARED = 2000, 40
_TASK = 1e9
"""About how long a task should take."""


def near(
    frame: DataFrame, distance: int = DEFAULT_DISTANCE, *, between: DataFrame | None = None
) -> DataFrame:
    """All pairs of documents whose simhashes differ in at most `distance` bits: columns `a`, `b`, `distance`.

    `frame` has the columns `key` and `simhash`, as `sketch` makes them; no key may occur twice. `a` and `b`
    are keys, and `a` is the first of the two in the order of their bytes. With `between`, a second DataFrame
    of sketches, `a` is a document of `frame` and `b` one of `between`. A document that is in both never makes
    a pair with itself; if both documents are in both, `a` is the first.

    All documents without words have one simhash, so each two of them are a pair, as they are in
    `docindex.Index.near`. The number of pairs grows with the square of such a crowd.

    Counts the values at once, to choose the tables; the pairs are found when the result is used. Both read
    the DataFrames, so store the sketches first, or the texts are sketched anew each time.
    """
    distance = arguments.whole_number("distance", distance, least=0, most=63)
    documents = placed_documents(frame, between, F.col("simhash"))
    search = _NearSearch(documents, distance, directed=between is not None)
    return search.pairs()


def cheapest_design(count: int, distance: int) -> TableDesign:
    """The tables with which all pairs of `count` values are found with the least work.

    >>> cheapest_design(100, 3).tables, cheapest_design(1_000_000, 3).tables
    (1, 4)
    """
    designs = useful_designs(64, distance, math.log2(max(1, count)))
    return min(designs, key=lambda design: _nanoseconds(design, count))


def _nanoseconds(design: TableDesign, count: int) -> float:
    """The processor time of a design."""
    candidates = design.candidates(math.log2(max(1, count))) / 2
    return design.tables * count * (_MOVED + _COMPARED * candidates)


@dataclasses.dataclass(frozen=True, slots=True)
class _NearSearch:
    """The steps from documents to pairs."""

    documents: DataFrame
    """The columns `key`, `value` and `side`; the value is the simhash."""
    distance: int
    directed: bool
    """Whether `a` is a document of the first DataFrame and `b` one of the second."""

    def pairs(self) -> DataFrame:
        """All pairs of documents."""
        values = self.documents.groupBy("value").agg(
            F.count("*").alias("size"), F.bit_or("side").alias("side")
        )
        ((count, equal),) = values.agg(F.count("*"), F.sum(F.col("size") * F.col("size"))).collect()
        same = values.where((F.col("size") > 1) & (F.col("side") == BOTH))
        same = same.select(F.col("value").alias("u"), F.col("value").alias("v"), F.lit(0).alias("distance"))
        found = self._near_values(values, count).unionAll(same)
        tasks = self._tasks(_COMPARED * (equal or 0))
        rows = named_pairs(self.documents, found, tasks, directed=self.directed)
        return rows.select("a", "b", F.col("distance").cast("int").alias("distance"))

    def _tasks(self, nanoseconds: float) -> int:
        """Into how many tasks work is cut; at most as many as the session allows."""
        most = int(self.documents.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        return max(1, min(most, math.ceil(nanoseconds / _TASK)))

    def _near_values(self, values: DataFrame, count: int) -> DataFrame:
        """The pairs `u`, `v` of different values within the distance, with their distance; each occurs once.

        If they are directed, `u` is in the first DataFrame and `v` in the second; else `u` is the smaller.
        """
        design = cheapest_design(count, self.distance)
        masks = F.array(*(F.lit(mask) for mask in prefix_masks(design)))
        tables = values.select("value", "side", F.posexplode(masks).alias("table", "mask"))
        prefix = F.col("value").bitwiseAND(F.col("mask")).alias("prefix")
        rows = tables.select("table", prefix, "value", "side")
        crowds = CrowdParts.of(rows, ("table", "prefix"))
        met = crowds.meetings(rows, "value", self._tasks(_nanoseconds(design, count)))
        both = F.col("u").bitwiseXOR(F.col("v"))
        # Only the first table whose prefix agrees gives a pair, so none has to be found twice and left out.
        earlier = F.exists(F.slice(masks, F.lit(1), F.col("table")), lambda mask: both.bitwiseAND(mask) == 0)
        found = met.where((both != 0) if self.directed else (F.col("u") < F.col("v")))
        distance = F.bit_count(both)
        return (
            found.where(distance <= self.distance)
            .where(~earlier)
            .select("u", "v", distance.alias("distance"))
        )


def prefix_masks(design: TableDesign) -> list[int]:
    """For each table, the bits of a value that its prefix compares, as a signed number.

    >>> prefix_masks(TableDesign(64, 1, (2,)))
    [-4294967296, 4294967295]
    """
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    found = []
    for layout in design.layouts:
        leading = ~np.uint64((1 << (64 - layout.prefix)) - 1)
        found.append(np.bitwise_or.reduce(bits[(layout.permute(bits) & leading) != 0], initial=np.uint64(0)))
    masks: list[int] = np.array(found, np.uint64).view(np.int64).tolist()
    return masks
