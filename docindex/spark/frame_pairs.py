"""Find the pairs of documents in a DataFrame of sketches that share enough text.

In: a DataFrame that `sketch` made, and a threshold. Out: a DataFrame with a row for each pair, and the
numbers that `docindex.Index.pairs` gives for the same documents. Must never compare each document with each
other one.

The stages, each of which is one shuffle: the values of each text (`document_rows`); those that several texts
have (`common_values`); the rarest ones of each text (`rarest_values`); the texts that meet in them, and the
sets of each pair in one place (`candidate_rows`); the counts (`counted_pairs`).
"""

import dataclasses
import functools

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex import argument_checks
from docindex.kernels.slot_bands import Bands, certain_bands
from docindex.query.joined_pairs import Threshold
from docindex.query.measures import SAME_WORK
from docindex.query.pair_needs import rounded_up
from docindex.query.pairs import checked_threshold
from docindex.recipe import Recipe
from docindex.spark.candidate_rows import MeetingNodes, SentSets
from docindex.spark.common_values import CommonValues
from docindex.spark.counted_pairs import counted_pairs
from docindex.spark.document_rows import IGNORED, needed_columns, packed_documents
from docindex.spark.frame_checks import FrameSizes, checked_sizes, sizes_of_both
from docindex.spark.missed_pairs import MOST_MISSED, band_design
from docindex.spark.packed_rows import packed_frame, with_stage
from docindex.spark.pair_question import FRAME_METHODS, FrameMethod, PairQuestion
from docindex.spark.rarest_values import RarestValues

# A bucket has about this many shingles: 2 MB. Fewer buckets than these would not be spread evenly.
_SHINGLES_OF_A_BUCKET = 1 << 18
_BUCKETS = 32


def pairs(
    frame: DataFrame,
    *,
    min_resemblance: float | None = None,
    min_containment: float | None = None,
    ignore_above: int | None = None,
    method: FrameMethod = "shingles",
    between: DataFrame | None = None,
    min_shared: int = 0,
    max_missed: float = MOST_MISSED,
    set_aside: Observation | None = None,
) -> DataFrame:
    """All pairs of documents that reach a minimum resemblance or a minimum containment.

    `frame` has sketches, see `sketch`. It is read twice, first for its sizes and then for its texts; so write
    it to Parquet before, or cache it. A row of the result has the keys `a` and `b`, of which `a` is the lower
    one, and the numbers of `docindex.Pair`. The rows have no order.

    Give either `min_resemblance` or `min_containment`; without them, the minimum resemblance is 0.5. A pair
    reaches `min_containment` if one document contains at least this share of the other. Pairs that share
    fewer than `min_shared` shingles are left out; with the basis "slots", fewer equal slots.

    - ``method="shingles"``: shingles are counted. No pair is missed, and the numbers are exact: the pairs
      are those of `docindex.Index.pairs`. Needs texts; if no row has a text, slots are used.
    - ``method="bands"``: the same numbers, but a pair at the threshold is missed with a probability of up
      to `max_missed`, and a pair far above it hardly ever: see `band_design`. Finds no containments.
    - ``method="slots"``: all pairs whose estimate by slots reaches the threshold, with the basis "slots".
      Needs no text.

    `between` is a second DataFrame of sketches, such as old documents. Then `a` is in `frame` and `b` is in
    `between`, and no pairs inside one of them are formed. A document that is in both may be on either side;
    if both documents are, `a` is the one with the lower key.

    `ignore_above` ignores shingles that more than this many different texts have. Without it, nothing is
    ignored, however many pairs there are; `Index.pairs` sets a limit then. `set_aside` is an `Observation` of
    Spark. It says how many different shingles were ignored: ``set_aside.get["set_aside"]`` after the pairs
    were computed.

    Exact copies, and texts with the same words, are compared once. Texts are known by 64 bits of the hash of
    their words.

        sketches = session.read.parquet("sketches")
        spark.pairs(sketches, min_resemblance=0.8).write.parquet("pairs")
        spark.pairs(new, between=old, min_containment=0.5).orderBy("containment").show()
    """
    threshold = checked_threshold(min_resemblance, min_containment, "shingles", ignore_above)
    asked = AskedPairs(
        threshold,
        argument_checks.choice("method", method, FRAME_METHODS),
        max_missed,
        min_shared=argument_checks.whole_number("min_shared", min_shared, least=0),
    )
    return _found(frame, between, asked, set_aside)


def containments(
    frame: DataFrame,
    min_containment: float = SAME_WORK,
    *,
    ignore_above: int | None = None,
    method: FrameMethod = "shingles",
    between: DataFrame | None = None,
    set_aside: Observation | None = None,
) -> DataFrame:
    """The pairs of documents in which the second, `b`, contains at least this share of the first, `a`.

    The other parameters are those of `pairs`. With `between`, `a` is in `frame`, and `b` is in `between`.

        spark.containments(sketches, 0.9).select("a").distinct()    # documents that lie inside others
    """
    threshold = checked_threshold(None, min_containment, "shingles", ignore_above)
    asked = AskedPairs(threshold, argument_checks.choice("method", method, FRAME_METHODS), is_directed=True)
    return _found(frame, between, asked, set_aside)


@dataclasses.dataclass(frozen=True, slots=True)
class AskedPairs:
    """The checked arguments of a question."""

    threshold: Threshold
    method: FrameMethod
    max_missed: float = MOST_MISSED
    min_shared: int = 0
    is_directed: bool = False

    def question(self, sizes: FrameSizes, *, is_between: bool) -> PairQuestion:
        """The question to sketches of these sizes; `ValueError` if they cannot answer it."""
        recipe, method = sizes.recipe or Recipe(), self.method
        if method == "shingles" and not sizes.kept:
            method = "slots"
        if method != "slots" and sizes.kept < sizes.rows:
            raise ValueError(
                f"{sizes.rows - sizes.kept:,} of {sizes.rows:,} rows have no text, so their shingles cannot "
                'be counted; sketch them with keep_text=True, or use method="slots"'
            )
        if method != "shingles" and self.threshold.ignore_above is not None:
            raise ValueError(
                f'method="{method}" cannot ignore common text; leave ignore_above out, or use '
                'method="shingles" with texts'
            )
        bands = self._bands(recipe, method)
        values = sizes.shingles if bands is None else sizes.rows * len(bands.members)
        return PairQuestion(
            recipe=recipe,
            threshold=self.threshold,
            method=method,
            buckets=max(_BUCKETS, values // _SHINGLES_OF_A_BUCKET),
            rows=sizes.rows,
            bands=bands,
            min_shared=self.min_shared,
            is_between=is_between,
            is_directed=self.is_directed,
        )

    def _bands(self, recipe: Recipe, method: FrameMethod) -> Bands | None:
        least, is_containment = self.threshold.least, self.threshold.measure == "containment"
        if method == "shingles":
            return None
        if method == "bands":
            if is_containment:
                raise ValueError(
                    'method="bands" finds resembling texts only, because a small text inside a large one has '
                    'hardly an equal slot; use method="shingles"'
                )
            return band_design(least, self.max_missed, recipe)
        return certain_bands(recipe.slots, max(1, int(rounded_up(least * recipe.slots))))


def _found(
    frame: DataFrame, between: DataFrame | None, asked: AskedPairs, set_aside: Observation | None
) -> DataFrame:
    """The pairs of documents."""
    question, rows = rarest_values_of(frame, between, asked, set_aside)
    rows = with_stage(with_stage(rows, MeetingNodes(question)), SentSets(question))
    return counted_pairs(rows, question)


def rarest_values_of(
    frame: DataFrame, between: DataFrame | None, asked: AskedPairs, set_aside: Observation | None
) -> tuple[PairQuestion, DataFrame]:
    """The question to some sketches, and packed rows of the nodes and of their rarest values."""
    sizes = checked_sizes(frame)
    if between is not None:
        sizes = sizes_of_both(sizes, checked_sizes(between))
    question = asked.question(sizes, is_between=between is not None)
    columns = needed_columns(frame, question, side=1)
    if between is not None:
        columns = columns.union(needed_columns(between, question, side=2))
    rows = packed_frame(columns, functools.partial(packed_documents, question=question))
    rows = with_stage(rows, CommonValues(question))
    if set_aside is not None:
        ignored = F.when(F.col("kind") == IGNORED, F.col("other"))
        rows = rows.observe(set_aside, F.coalesce(F.sum(ignored), F.lit(0)).alias("set_aside"))
    return question, with_stage(rows, RarestValues(question))
