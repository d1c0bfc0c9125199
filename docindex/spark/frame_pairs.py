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

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex import arguments
from docindex.arguments import shown
from docindex.errors import RecipeMismatch
from docindex.minhash.bands import Bands
from docindex.minhash.slots import EMPTY_SLOT
from docindex.query.defaults import PAIR_RESEMBLANCE
from docindex.query.pairs.joined import Threshold
from docindex.recipe import Recipe
from docindex.spark.crowd_parts import BOTH, FIRST, SECOND
from docindex.spark.missed_pairs import MOST_MISSED, band_design
from docindex.spark.named_pairs import named_pairs, placed_documents
from docindex.spark.verified_pairs import ERRORS, NUMBERS, Verification

# Find the texts that may resemble each other: those that share a band of slots.
#
# In: nodes with their slots. A *node* is a text, or several texts with the same words. Out: pairs of nodes
# that share a band, or a few pairs that connect the same nodes. This is the third phase of Broder et al.
# ("Syntactic Clustering of the Web", 1997), with bands of slots in place of shingles. Must never let a pair
# count that nobody has verified: these pairs are only candidates.

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


# Check a DataFrame of sketches before it is compared, and count its rows and shingles.
#
# In: a DataFrame. Out: its recipe and sizes, or an error that says what is wrong and what to do. Runs one
# job, which reads narrow columns of all rows. Must never read a text.

_NEEDED = ("key", "text", "recipe", "text_hash", "words_hash", "shingles", "slots")


@dataclasses.dataclass(frozen=True, slots=True)
class FrameSizes:
    """The sizes of a DataFrame of sketches, which a question needs to know."""

    recipe: Recipe | None
    """The recipe of all rows; None if there are no rows."""
    rows: int
    shingles: int
    """The shingles of all rows together."""
    kept: int
    """How many rows have a text."""


def checked_sizes(frame: DataFrame) -> FrameSizes:
    """The sizes of a DataFrame of sketches.

    `ValueError` if a column is missing, a key is null, or two rows have one key; `TypeError` if it is not a
    DataFrame; `RecipeMismatch` if rows have different recipes.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"sketches must be a DataFrame of Spark, not {shown(frame)}")
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise ValueError(
            f"a DataFrame of sketches must have the column {missing[0]}; make it with docindex.spark.sketch "
            f"(it has {', '.join(frame.columns) or 'no columns'})"
        )
    by_key = frame.groupBy("key").agg(
        F.count("*").alias("rows"),
        F.sum("shingles").alias("shingles"),
        F.count("text").alias("kept"),
        F.min("recipe").alias("least"),
        F.max("recipe").alias("greatest"),
    )
    repeated = F.when(F.col("rows") > 1, F.col("key"))
    (found,) = by_key.agg(
        F.sum("rows").alias("rows"),
        F.sum("shingles").alias("shingles"),
        F.sum("kept").alias("kept"),
        F.min("least").alias("least"),
        F.max("greatest").alias("greatest"),
        F.min(repeated).alias("repeated"),
        F.count_if(F.col("key").isNull()).alias("nameless"),
    ).collect()
    if found.nameless:
        raise ValueError("a row of the sketches has no key; leave such rows out")
    if found.repeated is not None:
        raise ValueError(
            f"several rows of the sketches have the key {shown(found.repeated)}; give each document a key of "
            "its own, or leave rows out with dropDuplicates(['key'])"
        )
    if found.least != found.greatest:
        recipes = Recipe.from_json(found.least), Recipe.from_json(found.greatest)
        raise _recipe_mismatch(*recipes)
    recipe = None if found.least is None else Recipe.from_json(found.least)
    return FrameSizes(recipe, found.rows or 0, found.shingles or 0, found.kept or 0)


def sizes_of_both(first: FrameSizes, second: FrameSizes) -> FrameSizes:
    """The sizes of two DataFrames together; `RecipeMismatch` if their recipes differ."""
    if first.recipe and second.recipe and first.recipe != second.recipe:
        raise _recipe_mismatch(first.recipe, second.recipe)
    return FrameSizes(
        first.recipe or second.recipe,
        first.rows + second.rows,
        first.shingles + second.shingles,
        first.kept + second.kept,
    )


def _recipe_mismatch(first: Recipe, second: Recipe) -> RecipeMismatch:
    """The error for sketches that cannot be compared."""
    return RecipeMismatch(
        "the sketches were made with different recipes, so they cannot be compared; sketch all texts with "
        f"one recipe (found {first.to_json()} and {second.to_json()})",
        first,
        second,
    )


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
