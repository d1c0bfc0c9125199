"""Find the texts that may resemble each other: those that share a band of slots.

In: nodes with their slots. A *node* is a text, or several texts with the same words. Out: pairs of nodes that
share a band, or a few pairs that connect the same nodes. This is the third phase of Broder et al. ("Syntactic
Clustering of the Web", 1997), with bands of slots in place of shingles. Must never let a pair count that
nobody has verified: these pairs are only candidates.
"""

import dataclasses

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.minhash.bands import Bands
from docindex.minhash.slots import EMPTY_SLOT
from docindex.spark.crowd_parts import FIRST, SECOND

_PART = 1000
"""About how many nodes of a band are compared with as many others in one place."""


@dataclasses.dataclass(frozen=True, slots=True)
class BandMembers:
    """The nodes that have each band."""

    rows: DataFrame
    """The columns `band`, `node` and `side`, and the `size` of the band: how many nodes have it."""
    tasks: int
    """Into how many tasks the work is cut."""

    def where(self, condition: Column) -> "BandMembers":
        """Some of the rows."""
        return BandMembers(self.rows.where(condition), self.tasks)

    def pairs(self, *, directed: bool = False) -> DataFrame:
        """All pairs `u`, `v` of nodes that share a band; each once.

        If they are `directed`, `u` is in the first DataFrame and `v` in the second; else `u` is the smaller.
        """
        first, second = F.col("first"), F.col("second")
        if not directed:
            return self.meetings(first["node"] < second["node"])
        sides = first["side"].bitwiseAND(F.lit(FIRST)) > 0, second["side"].bitwiseAND(F.lit(SECOND)) > 0
        return self.meetings((first["node"] != second["node"]) & sides[0] & sides[1])

    def stars(self) -> DataFrame:
        """Pairs of each node with one node of each of its bands. Each band draws another one."""
        drawn = F.struct(F.xxhash64("node", "band").alias("drawn"), "node")
        centre = F.min(drawn).over(Window.partitionBy("band"))["node"]
        found = self.rows.select("node", centre.alias("centre")).where("node != centre")
        ends = F.least("node", "centre").alias("u"), F.greatest("node", "centre").alias("v")
        return found.select(*ends).distinct()

    def pairs_apart(self, labels: DataFrame) -> DataFrame:
        """The pairs `u`, `v` that share a band and have different labels.

        `labels` has the columns `node` and `label`. A node without a row there is its own label.
        """
        label, band = F.col("label"), Window.partitionBy("band")
        rows = self.rows.join(labels, "node", "left").withColumn("label", F.coalesce("label", "node"))
        rows = rows.withColumn("is_apart", F.min(label).over(band) != F.max(label).over(band))
        first, second = F.col("first"), F.col("second")
        apart = (first["node"] < second["node"]) & (first["label"] != second["label"])
        return BandMembers(rows.where("is_apart"), self.tasks).meetings(apart)

    def meetings(self, condition: Column) -> DataFrame:
        """The pairs `u`, `v` of which `first` and `second` share a band and meet a condition.

        A large band is cut into parts, and each two parts meet in one place.
        """
        parts = F.ceil(F.col("size") / _PART).cast("int")
        part = F.pmod(F.xxhash64("node", "band"), parts).cast("int")
        others = F.sequence(F.lit(0), parts - 1)
        rows = self.rows.withColumn("part", part).withColumn("other", F.explode(others))
        place = ["band", "low", "high"]
        rows = rows.withColumn("low", F.least("part", "other")).withColumn(
            "high", F.greatest("part", "other")
        )
        member = F.struct(*(name for name in rows.columns if name in ("node", "side", "part", "label")))
        rows = rows.repartition(self.tasks, *place).groupBy(*place).agg(F.collect_list(member).alias("all"))
        rows = rows.select("*", F.explode("all").alias("first"))
        rows = rows.select("low", "high", "first", F.explode("all").alias("second"))
        elsewhere = (F.col("low") != F.col("high")) & (F.col("first.part") == F.col("second.part"))
        found = rows.where(condition & ~elsewhere)
        return found.select(F.col("first.node").alias("u"), F.col("second.node").alias("v")).distinct()


def band_members(nodes: DataFrame, bands: Bands, tasks: int) -> BandMembers:
    """The bands that several nodes have. `nodes` has the columns `node`, `side` and `slots`."""
    width = bands.width
    numbers = F.sequence(F.lit(0), F.lit(len(bands.members) - 1))
    of_text = F.transform(
        numbers, lambda number: F.xxhash64(number, F.slice("slots", number * width + 1, F.lit(width)))
    )
    full = nodes.where(F.col("slots")[0] != F.lit(int(EMPTY_SLOT)))
    rows = full.select("node", "side", F.explode(of_text).alias("band"))
    rows = rows.withColumn("size", F.count("*").over(Window.partitionBy("band")))
    return BandMembers(rows.where("size > 1"), tasks)
