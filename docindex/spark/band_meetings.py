"""Find the texts that may resemble each other: those that share a band of slots.

In: nodes with their slots. A *node* is a text, or several texts with the same words. Out: pairs of nodes that
share a band, or a few pairs that connect the same nodes. This is the third phase of Broder et al. ("Syntactic
Clustering of the Web", 1997), with bands of slots in place of shingles. Must never let a pair count that
nobody has verified: these pairs are only candidates.
"""

import dataclasses

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.kernels.minhash import EMPTY_SLOT
from docindex.kernels.slot_bands import Bands
from docindex.spark.crowd_parts import CrowdParts


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
        found = CrowdParts.of(self.rows, ("band",)).meetings(self.rows, "node", self.tasks)
        apart = F.col("u") != F.col("v") if directed else F.col("u") < F.col("v")
        return found.where(apart).select("u", "v").distinct()

    def stars(self) -> DataFrame:
        """Pairs of each node with one node of each of its bands. Each band draws another one."""
        drawn = F.struct(F.xxhash64("node", "band").alias("drawn"), "node")
        centre = F.min(drawn).over(Window.partitionBy("band"))["node"]
        found = self.rows.select("node", centre.alias("centre")).where("node != centre")
        return found.select(
            F.least("node", "centre").alias("u"), F.greatest("node", "centre").alias("v")
        ).distinct()

    def pairs_apart(self, labels: DataFrame) -> DataFrame:
        """The pairs `u`, `v` that share a band and have different labels.

        `labels` has the columns `node` and `label`. A node without a row there is its own label.
        """
        label, band = F.col("label"), Window.partitionBy("band")
        rows = self.rows.join(labels, "node", "left").withColumn("label", F.coalesce("label", "node"))
        rows = rows.withColumn("is_apart", F.min(label).over(band) != F.max(label).over(band))
        rows = rows.where("is_apart")
        found = CrowdParts.of(rows, ("band",)).meetings(rows, "node", self.tasks, also=["label"])
        return found.where("u < v and label_u != label_v").select("u", "v").distinct()


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
