"""Sketch the documents of a Spark DataFrame, with the recipe of an index.

In: a DataFrame with the columns `key` and `text`. Out: a DataFrame of sketches, whose columns
`docindex.sketching.sketch_tables.SCHEMA` names. A task holds one Arrow batch of documents at a time. The
sketches of a text must never depend on the other texts of its batch.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from docindex.arguments import shown
from docindex.recipe import Recipe
from docindex.sketching.sketch_tables import SCHEMA, SketchedDocuments, to_record_batch
from docindex.sketching.sketcher import sketch_batches
from docindex.storage.rows.contents import text_hash

SPARK_SCHEMA: StructType = from_arrow_schema(SCHEMA)
"""The columns of a DataFrame of sketches."""


def sketch(frame: DataFrame, recipe: Recipe | None = None, *, keep_text: bool = True) -> DataFrame:
    """The sketches of documents, one row for each, as `docindex.Index` would store them.

    `frame` has the columns `key` and `text`, and perhaps `meta`, which is JSON. Other columns are left out.
    With ``keep_text=False`` the texts are left out, too: the column `text` is null, and pairs are estimated
    by slots instead of counted.
    """
    columns = [F.col("key").cast("string"), F.col("text").cast("string")]
    columns.append((F.col("meta") if "meta" in frame.columns else F.lit(None)).cast("string").alias("meta"))
    work = _sketching(Recipe() if recipe is None else recipe, keep_text=keep_text)
    return frame.select(*columns).mapInArrow(work, SPARK_SCHEMA)


def refuse_other_texts(frame: DataFrame, sketches: DataFrame) -> None:
    """`ValueError` if a sketch was made of another text than the document of a DataFrame with its key.

    `frame` has texts, or the hashes that `sketch` makes. Reads it once; without both there is nothing to
    compare.
    """
    key = F.col("key").cast("string")
    if "text_hash" in frame.columns:
        given = frame.select(key, F.col("text_hash").alias("given"))
    elif "text" in frame.columns:
        texts = frame.select(key, F.col("text").cast("string")).where("text is not null")
        given = texts.mapInArrow(_hashed, "key string, given binary")
    else:
        return
    both = given.join(sketches.select("key", "text_hash"), "key")
    for row in both.where(F.col("given") != F.col("text_hash")).limit(1).collect():
        raise ValueError(
            f"the sketch with the key {shown(row.key)} was made of a different text from the document "
            "with this key; sketch the texts again with docindex.spark.sketch"
        )


def _hashed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The key of each document, and the hash of its text."""
    for batch in batches:
        hashes = [text_hash(text) for text in batch.column("text").to_pylist()]
        columns = [batch.column("key"), pa.array(hashes, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["key", "given"])


def _sketching(
    recipe: Recipe, *, keep_text: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow`. It must not refer to anything that only the driver has."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _sketched(batch, recipe, keep_text=keep_text)

    return work


def _sketched(batch: pa.RecordBatch, recipe: Recipe, *, keep_text: bool) -> Iterator[pa.RecordBatch]:
    """The sketches of a batch of documents, in batches of bounded size."""
    keys, texts, metas = (batch.column(name).to_pylist() for name in ("key", "text", "meta"))
    for key, text in zip(keys, texts, strict=True):
        if key is None or text is None:
            named = "a row has no key" if key is None else f"the row with the key {key!r} has no text"
            raise ValueError(f"{named}; leave such rows out")
    begin = 0
    for sketches in sketch_batches(texts, recipe):
        part = slice(begin, begin + len(sketches))
        begin = part.stop
        yield to_record_batch(
            SketchedDocuments(
                keys=keys[part],
                texts=texts[part] if keep_text else [None] * len(sketches),
                metas=metas[part],
                text_hashes=[text_hash(text) for text in texts[part]],
                characters=[len(text) for text in texts[part]],
                sketches=sketches,
            )
        )
