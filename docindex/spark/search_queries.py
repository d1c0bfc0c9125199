"""Read the queries of a search on Spark: their hashes, which of them count, and which are looked up.

In: a DataFrame of queries, the hashes of the documents, and the options of a search. Out: DataFrames of
hashes and of words. The rules are those of `docindex.query.hash_lookup`. Must never read a text on the
driver.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it
from pyspark.sql.pandas.types import from_arrow_schema

from docindex.kernels.arrays import U64
from docindex.query.search_options import Rank, SearchOptions
from docindex.recipe import Recipe
from docindex.sketching.single_text import window_hashes, words_hash
from docindex.storage.contents import as_stored
from docindex.storage.segments import POSTING_HASH_BITS

_SCHEMA = pa.schema(
    [
        pa.field("query", pa.string(), nullable=False),
        pa.field("words_hash", pa.binary(), nullable=False),
        pa.field("hashes", pa.list_(pa.int64()), nullable=False),
        pa.field("coarse", pa.list_(pa.bool_()), nullable=False),
    ]
)
_LEAST = -(1 << 63)
_STORED = as_stored(np.array([2**64 - 1], np.uint64)).view(np.int64)[0].item()
"""The bits of a hash that a file stores, as a signed number."""
_ONE = 1 << 32


def unsigned_order(value: str | Column) -> Column:
    """A number by which signed 64-bit values are sorted as unsigned ones."""
    return (F.col(value) if isinstance(value, str) else value).bitwiseXOR(F.lit(_LEAST))


def stored_hashes(frame: DataFrame) -> Column:
    """The different hashes of a document as a file stores them."""
    return F.array_distinct(F.transform(frame["hashes"], lambda value: value.bitwiseAND(F.lit(_STORED))))


def weight_of(having: Column, rank: Rank) -> Column:
    """The weight of a hash that so many texts have: `docindex.query.ranking.weights_of` as a column."""
    number = F.greatest(having, F.lit(1))
    if rank == "excerpt":
        return F.greatest(F.floor(F.lit(_ONE) / (number * number)), F.lit(1)).cast("long")
    return (F.lit(float(_ONE)) / F.sqrt(number)).cast("long")


@dataclasses.dataclass(frozen=True, slots=True)
class QueryFrames:
    """What a search knows of its queries."""

    words: DataFrame
    """The `query` and `words_hash` of all queries, and the number of their `hashes`."""
    hashes: DataFrame
    """A row for each `query` and `hash` that counts: its `weight`, which is 0 if it is not `looked_up`.

    And for each query: the number `own` of its hashes that count, how many of them are looked up (`part`),
    their weight (`whole`), and the number `set_aside` of hashes that too many texts have."""


def read_queries(
    queries: DataFrame, documents: DataFrame, recipe: Recipe, options: SearchOptions
) -> QueryFrames:
    """The queries, which have a `key` and a `text`; `documents` has a row for each `text_hash` and `hash`."""
    texts = queries.select(F.col("key").cast("string").alias("query"), F.col("text").cast("string"))
    read = texts.mapInArrow(_reading(recipe, options.window), from_arrow_schema(_SCHEMA))
    rows = read.select("query", F.explode(F.arrays_zip("hashes", "coarse")).alias("one"))
    rows = rows.select("query", F.col("one.hashes").alias("hash"), F.col("one.coarse").alias("coarse"))
    rows = rows.join(texts_having(documents, rows), "hash", "left").fillna(0, ["having"])
    of_query = Window.partitionBy("query")
    common = F.lit(False) if options.ignore_above is None else F.col("having") > options.ignore_above
    rows = rows.withColumn("set_aside", F.sum(common.cast("long")).over(of_query)).where(~common)
    # If the larger window selects only hashes that do not count, all that count are looked up.
    rows = rows.withColumn("eligible", F.col("coarse") | ~F.max("coarse").over(of_query))
    place = F.row_number().over(Window.partitionBy("query", "eligible").orderBy(unsigned_order("hash")))
    within = F.lit(True) if options.budget is None else place <= options.budget
    rows = rows.withColumn("looked_up", F.col("eligible") & within)
    weight = F.when(F.col("looked_up"), weight_of(F.col("having"), options.rank)).otherwise(0)
    rows = rows.withColumn("weight", weight)
    totals = {
        "own": F.count("*"),
        "part": F.sum(F.col("looked_up").cast("long")),
        "whole": F.sum("weight"),
    }
    for name, total in totals.items():
        rows = rows.withColumn(name, total.over(of_query))
    names = ("query", "hash", "looked_up", "weight", *totals, "set_aside")
    return QueryFrames(
        read.select("query", "words_hash", F.size("hashes").alias("hashes")), rows.select(*names)
    )


def texts_having(documents: DataFrame, wanted: DataFrame) -> DataFrame:
    """The columns `hash` and `having`: how many different texts have each `hash` of the rows `wanted`.

    An index looks up only the high bits of a hash, and rarely takes two for one. Counts that differed from
    those of an index would change the order of weak matches, so hashes are told apart by the same bits here.
    """
    looked_up = F.shiftright("hash", 64 - POSTING_HASH_BITS).alias("looked_up")
    hashes = wanted.select("hash", looked_up).distinct()
    found = documents.select(looked_up, "text_hash").join(
        hashes.select("looked_up"), "looked_up", "left_semi"
    )
    counts = found.groupBy("looked_up").agg(F.count_distinct("text_hash").alias("having"))
    return hashes.join(counts, "looked_up").select("hash", "having")


def _reading(
    recipe: Recipe, window: int | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow` that reads queries."""
    windows = (recipe.window, window or recipe.window)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keys, texts = (batch.column(name).to_pylist() for name in ("query", "text"))
            for key, text in zip(keys, texts, strict=True):
                if key is None or text is None:
                    raise ValueError(
                        f"the query with the key {key!r} has no {'key' if key is None else 'text'}"
                    )
            hashes = [_hashes(text, recipe, windows) for text in texts]
            columns = [
                keys,
                [words_hash(text, recipe) for text in texts],
                [all_hashes.view(np.int64) for all_hashes, _ in hashes],
                [np.isin(all_hashes, coarse) for all_hashes, coarse in hashes],
            ]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    return work


def _hashes(text: str, recipe: Recipe, windows: tuple[int, int]) -> tuple[U64, U64]:
    """The different hashes of a text, ascending, and those that the larger window selects."""
    hashes, coarse = map(as_stored, window_hashes(text, recipe, windows))
    return hashes, coarse
