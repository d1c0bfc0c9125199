"""Compute the numbers and passages of the matches of a search on Spark, in Arrow batches.

In: batches with the counts of matches, and some texts. Out: batches of matches. The numbers are made by
`docindex.query.measures`, the passages by `docindex.query.passages`. Must never depend on other rows.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from docindex.errors import TextNotKept
from docindex.query.measures import (
    Ignoring,
    Measures,
    by_shingles,
    measures_of,
    same_words,
    shares_of_sets,
    unit_errors,
)
from docindex.query.passages import align
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set

_PLACES = ("query_start", "query_end", "start", "end", "length", "query_line", "line")
_PASSAGE = pa.struct([pa.field(name, pa.int64(), nullable=False) for name in _PLACES])
_SHARES = ("containment", "reverse_containment", "resemblance")
_ERRORS = tuple(f"{name}_error" for name in _SHARES)
_SCHEMA = pa.schema(
    [
        pa.field("query", pa.string(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        *(pa.field(name, pa.float64(), nullable=False) for name in ("score", *_SHARES)),
        pa.field("shared", pa.int64(), nullable=False),
        pa.field("basis", pa.string(), nullable=False),
        *(pa.field(name, pa.float64(), nullable=False) for name in _ERRORS),
        pa.field("set_aside", pa.int64(), nullable=False),
        pa.field("passages", pa.list_(pa.field("element", _PASSAGE, nullable=False))),
    ]
)
MATCH_SCHEMA: StructType = from_arrow_schema(_SCHEMA)
"""The columns of a DataFrame of matches."""


def match_rows(
    recipe: Recipe, ignore_above: int | None, best: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow`; the `best` matches of each query get passages."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.to_pylist()
            if not rows:
                continue
            made = _by_fingerprints(batch, recipe, ignore_above)
            matches = [
                _match(row, _by_words(row, recipe) if row["own"] == 0 else measures, recipe, best)
                for row, measures in zip(rows, made, strict=True)
            ]
            yield pa.RecordBatch.from_pylist(matches, schema=_SCHEMA)

    return work


def _by_fingerprints(batch: pa.RecordBatch, recipe: Recipe, ignore_above: int | None) -> list[Measures]:
    """The measures of each match by counting fingerprints."""
    names = ("shared", "own", "size", "symbols", "shingles")
    shared, own, size, symbols, shingles = (
        batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in names
    )
    ignoring: Ignoring = "nothing" if ignore_above is None else "common text"
    errors = unit_errors(symbols, shingles, recipe, ignoring)
    shares = shares_of_sets(shared, own, size, errors)
    return measures_of(shares, shared, itertools.repeat("fingerprints", len(shared)))


def _by_words(row: dict[str, Any], recipe: Recipe) -> Measures:
    """The measures of a query and a document that have the same words."""
    if row["text"] is not None:
        sets = (shingle_set(text, recipe) for text in (row["asked"], row["text"]))
        return by_shingles(*sets, alike=True)
    if recipe.token == "line":
        raise TextNotKept(
            f"the text of {row['key']!r} was not kept, so its lines cannot be counted; "
            "sketch it with keep_text=True",
            "",
        )
    return same_words(row["shingles"])


def _match(row: dict[str, Any], measures: Measures, recipe: Recipe, best: int) -> dict[str, Any]:
    passages = None
    if row["position"] <= best and row["text"] is not None:
        found = align(row["asked"], row["text"], recipe).passages
        passages = [{name: getattr(each, name) for name in _PLACES} for each in found]
    return {**row, **dataclasses.asdict(measures), "passages": passages}
