"""Find the pairs of documents in a DataFrame of sketches that share enough text.

In: a DataFrame that `sketch` made, and a threshold. Out: a DataFrame with a row for each pair, and the
numbers that `docindex.Index.pairs` gives for the same documents. Must never compare each document with each
other one.

The stages: the texts that share a band of slots (`band_meetings`); the counts of what these share
(`verified_pairs`); the documents of each text (`named_pairs`).
"""

import dataclasses
import math
from typing import Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex import arguments
from docindex.query.defaults import PAIR_RESEMBLANCE
from docindex.query.pairs.joined import Threshold
from docindex.recipe import Recipe
from docindex.spark.band_meetings import BandMembers, band_members
from docindex.spark.crowd_parts import BOTH, FIRST, SECOND
from docindex.spark.frame_checks import checked_sizes, sizes_of_both
from docindex.spark.missed_pairs import MOST_MISSED, band_design
from docindex.spark.named_pairs import named_pairs, placed_documents
from docindex.spark.verified_pairs import ERRORS, NUMBERS, Verification

# A block has about this many members of sets, 8 MB, and at most about this many nodes. Fewer blocks than
# these would not be spread evenly.
_MEMBERS_OF_A_BLOCK = 1 << 20
_ROWS_OF_A_BLOCK = 1 << 16
_BLOCKS = 32
# Work is cut into tasks of this many pairs, if all texts were alike.
_MEETINGS_OF_A_TASK = 1 << 23


def pairs(
    frame: DataFrame,
    *,
    min_resemblance: float = PAIR_RESEMBLANCE,
    between: DataFrame | None = None,
    min_shared: int = 0,
    max_missed: float = MOST_MISSED,
) -> DataFrame:
    """The pairs of documents that reach a minimum resemblance.

    `frame` has sketches, see `sketch`. It is read several times; so write it to Parquet before, or cache it.
    A row of the result has the keys `a` and `b`, of which `a` is the lower one, and the numbers of
    `docindex.Pair`. The rows have no order.

    Texts that share a band of slots are compared, so a pair at the threshold is missed with a probability of
    up to `max_missed`, and a pair far above it hardly ever: see `band_design`. Each pair that is found is
    verified. Where both texts are kept, shingles are counted, and the numbers are exact: those of
    `docindex.Index.pairs`. Other pairs are estimated by their slots, with the basis "slots". Pairs that share
    fewer than `min_shared` shingles are left out; with the basis "slots", fewer equal slots. Nothing is
    ignored, however many pairs there are.

    `between` is a second DataFrame of sketches, such as old documents. Then `a` is in `frame` and `b` is in
    `between`, and no pairs inside one of them are formed. If both documents are in both, `a` is the one with
    the lower key. Two versions of a document, with one key, are no pair.

    Exact copies, and texts with the same words, are compared once. Texts are known by 64 bits of the hash of
    their words.

        sketches = session.read.parquet("sketches")
        spark.pairs(sketches, min_resemblance=0.8).write.parquet("pairs")
        spark.pairs(new, between=old).orderBy("resemblance").show()
    """
    least = arguments.whole_number("min_shared", min_shared, least=0)
    question = FrameQuestion.of(frame, between, min_resemblance, max_missed=max_missed, min_shared=least)
    copies = question.documents.groupBy("value").agg(
        F.count("*").alias("size"), F.bit_or("side").alias("side")
    )
    copies = (
        copies.where((F.col("size") > 1) & (F.col("side") == BOTH)).select("value", "value").toDF("u", "v")
    )
    directed = between is not None
    candidates = question.members.pairs(directed=directed).unionAll(copies)
    found = question.verified(candidates)
    rows = named_pairs(question.documents, found, question.members.tasks, directed=directed)
    a_in_b, b_in_a = (_of_ordered(*names) for names in (NUMBERS[:2], NUMBERS[1::-1]))
    error_a, error_b = (_of_ordered(*names) for names in (ERRORS[:2], ERRORS[1::-1]))
    return rows.select("a", "b", a_in_b, b_in_a, NUMBERS[2], "shared", "basis", error_a, error_b, ERRORS[2])


def _of_ordered(name: str, reverse: str) -> Column:
    """A number of a pair whose documents may have been exchanged."""
    return F.when(F.col("is_turned"), F.col(reverse)).otherwise(F.col(name)).alias(name)


@dataclasses.dataclass(frozen=True, slots=True)
class FrameQuestion:
    """The texts of one or two DataFrames, and how pairs of them are found and counted."""

    documents: DataFrame
    """The `key` of each document, its node as `value`, and its `side`."""
    members: BandMembers
    sets: DataFrame
    """The sets of all nodes."""
    verification: Verification

    @classmethod
    def of(
        cls,
        frame: DataFrame,
        between: DataFrame | None,
        min_resemblance: float,
        *,
        max_missed: float,
        min_shared: int = 0,
    ) -> Self:
        """Check the arguments, and count the rows of the DataFrames."""
        threshold = Threshold(measure="resemblance", least=min_resemblance).checked()
        sizes = checked_sizes(frame)
        if between is not None:
            sizes = sizes_of_both(sizes, checked_sizes(between))
        recipe = sizes.recipe or Recipe()
        bands = band_design(threshold.least, max_missed, recipe)
        most = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        meetings = sizes.rows**2 * len(bands.members) // 2
        tasks = max(1, min(most, math.ceil(meetings / _MEETINGS_OF_A_TASK)))
        has_bare = sizes.kept < sizes.rows
        in_sets = sizes.shingles + sizes.rows * recipe.slots * has_bare
        verification = Verification(
            recipe=recipe,
            threshold=threshold,
            min_shared=min_shared,
            has_bare=has_bare,
            blocks=max(_BLOCKS, in_sets // _MEMBERS_OF_A_BLOCK, sizes.rows // _ROWS_OF_A_BLOCK),
            tasks=tasks,
        )
        # Texts with the same words may have different lines.
        node = F.xxhash64("text_hash" if recipe.token == "line" else "words_hash")
        sides = [(frame, BOTH)] if between is None else [(frame, FIRST), (between, SECOND)]
        rows, *others = (
            each.select(node.alias("node"), "text", "shingles", "slots", F.lit(side).alias("side"))
            for each, side in sides
        )
        for other in others:
            rows = rows.unionAll(other)
        # Copies of one text meet nobody else, so one of them is enough.
        nodes = rows.groupBy("node").agg(F.bit_or("side").alias("side"), F.first("slots").alias("slots"))
        documents = placed_documents(frame, between, node)
        return cls(documents, band_members(nodes, bands, tasks), verification.sets(rows), verification)

    def verified(self, candidates: DataFrame) -> DataFrame:
        """The pairs of nodes that reach the threshold, with their numbers."""
        return self.verification.verified(candidates, self.sets)
