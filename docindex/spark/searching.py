"""Search a Spark DataFrame of sketches for texts that share fingerprints with many queries, best first.

In: a DataFrame of queries and one of sketches. Out: a DataFrame of matches, whose order and numbers are those
of `docindex.Index.search`. A document can only be among the best if its highest possible score reaches the
lowest possible score of enough others; only for such documents are the frequencies of their other hashes
looked up. Must never bring documents to the driver.
"""

import dataclasses
from typing import Unpack

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex import argument_checks
from docindex.query.ranking import LEAST_MEAN, SAMPLE
from docindex.query.search_options import FingerprintParameters, SearchOptions
from docindex.spark.match_rows import MATCH_SCHEMA, match_rows
from docindex.spark.search_queries import (
    QueryFrames,
    read_queries,
    stored_hashes,
    texts_having,
    unsigned_order,
    weight_of,
)
from docindex.spark.sketching import recipe_of

_HIGHEST = 1 << 32
"""The weight of the rarest hash."""
_SLACK = 1 - 1e-9
"""Bounds may be rounded differently from scores."""


def search(
    queries: DataFrame, frame: DataFrame, *, passages: int = 1, **options: Unpack[FingerprintParameters]
) -> DataFrame:
    """The documents that share fingerprints with each query, best first, as `Index.search` finds them.

    `queries` has the columns `key` and `text`, and `frame` is made by `sketch`; no key may occur twice. The
    options are those of `docindex.Index.search`, except `exact`.

    A row of the result is a match: `query` and `key`; its `position` among the matches of the query, from 1;
    the fields of `docindex.Match`; and `set_aside`, the number of the query's hashes that were ignored
    because more than `ignore_above` texts have them. `passages` are those of the best matches of each query,
    as many as the argument says. It is null for other matches, and where the document's text is not kept.

    Reads the frame several times, so store the sketches first, or the texts are sketched anew each time.
    """
    best = argument_checks.whole_number("passages", passages, least=0)
    recipe = recipe_of(frame)
    checked = SearchOptions(**options).checked(recipe)
    rows = frame.withColumn("stored", stored_hashes(frame))
    counts = ("symbols", "shingles")
    documents = rows.select(
        "key", "text_hash", *counts, F.size("stored").alias("size"), F.explode("stored").alias("hash")
    )
    asked = read_queries(queries, documents, recipe, checked)
    found = _Search(checked, asked, documents, rows).matches()
    texts = _with_texts(found.unionByName(_same_words(asked, frame, checked)), queries, frame, best)
    work = match_rows(recipe, checked.ignore_above, best)
    return texts.mapInArrow(work, MATCH_SCHEMA)


@dataclasses.dataclass(frozen=True, slots=True)
class _Search:
    """The steps from hashes to matches."""

    options: SearchOptions
    asked: QueryFrames
    documents: DataFrame
    """A row for each document and hash."""
    rows: DataFrame
    """A row for each document, with its different hashes as the column `stored`."""

    def matches(self) -> DataFrame:
        """The best documents of each query, with what their numbers are computed from."""
        candidates = self._candidates()
        whole, weight = F.col("whole"), F.col("weight")
        if self.options.ignore_above is None and self.options.rank == "excerpt":
            found = candidates.withColumn("score", weight / (whole + F.lit(0.0)))
        else:
            found = self._scored(candidates)
        return _best(found.where(F.col("score") > 0), self.options.limit)

    def _candidates(self) -> DataFrame:
        """The pairs of a query and a document that may be among the best matches."""
        pairs = self.documents.drop("text_hash").join(self.asked.hashes, "hash")
        of_pair = ("own", "part", "whole", "set_aside", "size", "symbols", "shingles")
        found = pairs.groupBy("query", "key").agg(
            F.count("*").alias("shared"),
            F.sum(F.col("looked_up").cast("long")).alias("hits"),
            F.sum("weight").alias("weight"),
            *(F.first(name).alias(name) for name in of_pair),
        )
        found = found.where((F.col("hits") > 0) & (F.col("hits") >= self._least_hits()))
        found = found.where(self._met(F.col("size"), sizes_known=self.options.ignore_above is None))
        return self._promising(found)

    def _least_hits(self) -> Column:
        """The number of looked-up hashes that a candidate must have: `QueryHashes.least` as a column."""
        share = F.col("part") * F.lit(self.options.min_containment)
        spread = 4 * F.sqrt(share * F.lit(1 - self.options.min_containment))
        all_looked_up = F.greatest(share - 1e-6, F.lit(float(self.options.min_shared)))
        return F.when(F.col("part") == F.col("own"), all_looked_up).otherwise(share - spread)

    def _met(self, size: Column, *, sizes_known: bool) -> Column:
        """Whether a document reaches the minimums; those that need its size only if that is known."""
        options, shared, own = self.options, F.col("shared"), F.col("own")
        met = (shared >= options.min_shared) & (shared / own >= options.min_containment)
        if sizes_known:
            met &= F.coalesce(shared / size, F.lit(0.0)) >= options.min_reverse_containment
            met &= shared / (own + size - shared) >= options.min_resemblance
        return met

    def _promising(self, found: DataFrame) -> DataFrame:
        """The candidates whose highest possible score reaches the lowest possible one of `limit` others."""
        options = self.options
        filtered_later = options.ignore_above is not None and (
            options.min_reverse_containment or options.min_resemblance
        )
        if options.limit is None or filtered_later:
            return found
        others = F.lit(0.0)
        if options.rank == "likeness":
            others = F.col("part") / F.col("own") * (F.col("size") - F.col("shared"))
        lowest = F.col("weight") / (F.col("whole") + others * _HIGHEST)
        if options.ignore_above is not None:
            others = F.lit(0.0)
        highest = F.col("weight") / (F.col("whole") + others * LEAST_MEAN)
        place = F.row_number().over(Window.partitionBy("query").orderBy(F.desc("lowest")))
        found = found.withColumn("lowest", lowest).withColumn("highest", highest).withColumn("place", place)
        last = F.max(F.when(F.col("place") == options.limit, F.col("lowest"))).over(
            Window.partitionBy("query")
        )
        found = found.withColumn("last", F.coalesce(last, F.lit(0.0)))
        found = found.where(F.col("highest") >= F.col("last") * _SLACK)
        return found.drop("lowest", "highest", "place", "last")

    def _scored(self, candidates: DataFrame) -> DataFrame:
        """The candidates with their scores and the sizes that count."""
        options, pair = self.options, ["query", "key"]
        own = self.asked.hashes.groupBy("query").agg(F.collect_list("hash").alias("asked"))
        hashes = candidates.select(*pair).join(self.rows.select("key", "stored"), "key").join(own, "query")
        others = F.array_except("stored", "asked")
        if options.ignore_above is None:
            others = F.slice(F.array_sort(F.transform(others, unsigned_order)), 1, SAMPLE)
            others = F.transform(others, unsigned_order)
        looked_up = hashes.select(*pair, F.explode(others).alias("hash"))
        looked_up = looked_up.join(texts_having(self.documents, looked_up), "hash")
        if options.ignore_above is not None:
            looked_up = looked_up.where(F.col("having") <= options.ignore_above)
        weighed = F.struct(
            unsigned_order("hash").alias("order"), weight_of(F.col("having"), options.rank).alias("weight")
        )
        other = looked_up.groupBy(*pair).agg(
            F.count("*").alias("others"),
            F.slice(F.array_sort(F.collect_list(weighed)), 1, SAMPLE).alias("sample"),
        )
        found = candidates.join(other, pair, "left")
        counted = F.coalesce(F.col("others"), F.lit(0))
        if options.ignore_above is None:
            counted = F.col("size") - F.col("shared")
        found = found.withColumn("others", counted).withColumn("size", F.col("shared") + counted)
        sample = F.coalesce(F.col("sample"), F.array().cast("array<struct<order:bigint,weight:bigint>>"))
        total = F.aggregate(sample, F.lit(0).cast("long"), lambda sum_, one: sum_ + one["weight"])
        mean = F.greatest(total / F.greatest(F.size(sample), F.lit(1)), F.lit(float(LEAST_MEAN)))
        weight = F.col("part") / F.col("own") * (F.col("others") * mean)
        if options.rank == "excerpt":
            weight = F.lit(0.0)
        found = found.withColumn("score", F.col("weight") / (F.col("whole") + weight)).drop(
            "others", "sample"
        )
        return found.where(self._met(F.col("size"), sizes_known=True))


def _best(found: DataFrame, limit: int | None) -> DataFrame:
    """The first documents of each query, by score and then by key, with their `position`."""
    numbers = ("query", "key", "score", "shared", "own", "size", "symbols", "shingles", "set_aside")
    order = Window.partitionBy("query").orderBy(F.desc("score"), "key")
    found = found.select(*numbers).withColumn("position", F.row_number().over(order))
    return found if limit is None else found.where(F.col("position") <= limit)


def _same_words(asked: QueryFrames, frame: DataFrame, options: SearchOptions) -> DataFrame:
    """The matches of queries without hashes that count: the documents that have exactly their words."""
    words = asked.words.join(asked.hashes.select("query").distinct(), "query", "left_anti")
    found = words.join(frame.select("key", "words_hash", "symbols", "shingles"), "words_hash")
    zeros = {name: F.lit(0).cast("long") for name in ("shared", "own", "size")}
    # Such a query has no hashes, or all were set aside.
    set_aside = F.col("hashes").cast("long")
    return _best(found.withColumns({**zeros, "set_aside": set_aside, "score": F.lit(1.0)}), options.limit)


def _with_texts(found: DataFrame, queries: DataFrame, frame: DataFrame, best: int) -> DataFrame:
    """The matches with those texts of queries and documents that are needed."""
    needed = (F.col("position") <= best) | (F.col("own") == 0)
    of_queries = queries.select(
        F.col("key").cast("string").alias("query"), F.col("text").cast("string").alias("asked")
    )
    found = found.withColumn("wanted", F.when(needed, F.col("query"))).withColumn(
        "found", F.when(needed, F.col("key"))
    )
    found = found.join(of_queries.withColumnRenamed("query", "wanted"), "wanted", "left")
    texts = frame.select(F.col("key").alias("found"), "text")
    return found.join(texts, "found", "left").drop("wanted", "found")
