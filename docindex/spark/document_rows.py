"""Turn a DataFrame of sketches into packed rows: the first stage of a question for pairs.

In: record batches with some columns of `sketch_tables.SCHEMA`, and the number of the frame. Out: the values
by which texts are looked for, and the documents with their nodes. Texts with the same words are one *node*.
Copies cost as much as any other text here; the next stages put them together.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.kernels.arrays import I64, U16, U64, mix, owners, starts_of
from docindex.kernels.minhash import EMPTY_SLOT
from docindex.kernels.slot_bands import band_numbers
from docindex.sketching.sketcher import shingle_sets
from docindex.spark.packed_rows import PackedRow, bucket_of, entries, scattered, split_rows
from docindex.spark.pair_question import PairQuestion

DOCUMENTS, NODES, POSTINGS, COUNTED, LOST, IGNORED, PREFIXES, MEETINGS, ARRIVALS, EDGES, CROWDED, LABELS = (
    range(12)
)
"""The kinds of packed rows, in the order in which the stages make them."""

# Rows for all buckets are made of about this many values at a time, and of this many for each bucket.
_VALUES = 1 << 16
_VALUES_OF_A_BUCKET = 1 << 11


def needed_columns(frame: DataFrame, question: PairQuestion, side: int) -> DataFrame:
    """The columns that the question needs."""
    node = "text_hash" if question.recipe.token == "line" else "words_hash"
    named = [F.col("key"), F.col(node).alias("node"), F.lit(side).cast("int").alias("side")]
    if question.method != "slots":
        named.append(F.col("text"))
    if question.bands is not None:
        named += [F.col("slots"), F.col("shingles")]
    if question.threshold.ignore_above is not None:
        named.append(F.col("text_hash").alias("content"))
    return frame.select(*named)


def packed_documents(batch: pa.RecordBatch, question: PairQuestion) -> Iterator[PackedRow]:
    """The rows of the documents in a batch."""
    column = {name: batch.column(name) for name in batch.schema.names}
    documents: dict[str, Any] = {
        "ids": _half_of(column["node"]),
        "sides": column["side"].to_numpy().astype(np.uint8),
        "keys": column["key"].cast(pa.large_string()),
    }
    if "content" in column:
        documents["contents"] = _half_of(column["content"])
    if question.bands is None:
        yield from _by_shingles(documents, column["text"], question)
    else:
        yield from _by_bands(documents, column, question)


def _by_shingles(documents: dict[str, Any], texts: pa.Array, question: PairQuestion) -> Iterator[PackedRow]:
    least = max(_VALUES, _VALUES_OF_A_BUCKET * question.buckets)
    begin, end = 0, 0
    waiting: list[U64] = []
    sizes = np.zeros(len(texts), np.int64)
    for hashes, starts in shingle_sets((text.as_py() for text in texts), question.recipe):
        sizes[end : end + len(starts) - 1] = np.diff(starts)
        end += len(starts) - 1
        waiting.append(hashes)
        if sum(map(len, waiting)) >= least or end == len(texts):
            part = np.arange(begin, end)
            some = entries({**documents, "sizes": sizes}, part)
            yield from _postings(some, np.concatenate(waiting), sizes[part], question.buckets)
            yield from _documents(some, question.buckets)
            begin, waiting = end, []


def _by_bands(
    documents: dict[str, Any], column: dict[str, pa.Array], question: PairQuestion
) -> Iterator[PackedRow]:
    slots = column["slots"].flatten().to_numpy().astype(np.uint16).reshape(-1, question.recipe.slots)
    documents["sizes"] = column["shingles"].to_numpy()
    full = np.flatnonzero(slots[:, 0] != EMPTY_SLOT)
    counts = np.zeros(len(slots), np.int64)
    if question.method == "slots":
        counts[full] = question.recipe.slots
        numbers = np.arange(question.recipe.slots, dtype=np.uint64) << np.uint64(16)
        documents["values"] = (slots[full] | numbers).reshape(-1)
    else:
        sets = list(shingle_sets((text.as_py() for text in column["text"]), question.recipe))
        counts = np.concatenate([np.diff(starts) for _, starts in sets])
        documents["values"] = np.concatenate([hashes for hashes, _ in sets])
        documents["sizes"] = counts
    documents["counts"] = counts
    yield from _documents(documents, question.buckets)
    assert question.bands is not None
    members = question.bands.members
    at_once = max(1, max(_VALUES, _VALUES_OF_A_BUCKET * question.buckets) // len(members))
    for begin in range(0, len(full), at_once):
        part = full[begin : begin + at_once]
        bands = _bands(slots[part], members)
        yield from _postings(
            entries({"ids": documents["ids"], "sides": documents["sides"]}, part),
            bands.reshape(-1),
            np.full(len(part), len(members)),
            question.buckets,
        )


def _bands(slots: U16, members: Any) -> U64:
    """The bands of each text as mixed numbers: a row for each text."""
    columns = np.ascontiguousarray(slots.T)
    numbers = [band_numbers(columns[list(band)])[0].astype(np.uint64) for band in members]
    places = np.arange(len(members), dtype=np.uint64) << np.uint64(32)
    return mix(np.stack(numbers, axis=1) | places)


def _postings(documents: dict[str, Any], values: U64, sizes: I64, buckets: int) -> Iterator[PackedRow]:
    owned: dict[str, Any] = {
        name: documents[name] for name in ("ids", "sides", "contents") if name in documents
    }
    return scattered(
        POSTINGS, owned, owners(starts_of(sizes)), {"values": values}, bucket_of(values, buckets)
    )


def _documents(documents: dict[str, Any], buckets: int) -> Iterator[PackedRow]:
    own = {name: array for name, array in documents.items() if name != "contents"}
    return split_rows(DOCUMENTS, own, bucket_of(own["ids"], buckets))


def _half_of(hashes: pa.Array) -> U64:
    """The first 64 bits of hashes of 128 bits."""
    halves: U64 = np.frombuffer(b"".join(hashes.to_pylist()), "<u8").reshape(-1, 2)[:, 0]
    return halves
