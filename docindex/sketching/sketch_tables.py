"""Turn sketches into Arrow record batches and back: the form in which they leave an index and enter one.

In: documents with their sketches. Out: a `pyarrow.RecordBatch` with a row for each document, whose columns
`schema/sketches.md` explains; and back. Spark, Parquet, DuckDB, Polars and pandas read these columns without
docindex. Needs the package pyarrow. Must never sketch a text.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docindex.arrays.ranges import I64, starts_of
from docindex.recipe import Recipe
from docindex.sketching.sketches import Sketches

_OPTIONAL = ("text", "meta")
_LISTS = ("hashes", "gaps", "slots", "features", "min_s", "mod_m", "level")

# No number is unsigned, because neither Spark nor the JVM has such types: 64 bits are stored as signed ones.
SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("meta", pa.string()),
        pa.field("recipe", pa.string(), nullable=False),
        pa.field("text_hash", pa.binary(), nullable=False),
        pa.field("words_hash", pa.binary(), nullable=False),
        *(
            pa.field(name, pa.int64(), nullable=False)
            for name in ("characters", "symbols", "shingles", "different", "simhash")
        ),
        *(
            pa.field(name, pa.list_(pa.field("element", element, nullable=False)), nullable=False)
            for name, element in zip(
                _LISTS,
                (pa.int64(), pa.int32(), pa.int16(), *[pa.int64()] * 4),
                strict=True,
            )
        ),
    ]
)
"""The columns of a table of sketches."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SketchedDocuments:
    """Documents with their sketches, in one order."""

    keys: Sequence[str]
    texts: Sequence[str | None]
    """The texts; None for a text that is not kept."""
    metas: Sequence[str | None]
    """JSON, or None."""
    text_hashes: Sequence[bytes]
    """The `text_hash` of each text."""
    characters: Sequence[int]
    """The number of code points of each text."""
    sketches: Sketches


def to_record_batch(documents: SketchedDocuments) -> pa.RecordBatch:
    """A record batch with a row for each document."""
    sketches, size = documents.sketches, len(documents.keys)
    columns: dict[str, Any] = {
        "key": documents.keys,
        "text": documents.texts,
        "meta": documents.metas,
        "recipe": pa.repeat(sketches.recipe.to_json(), size),
        "text_hash": documents.text_hashes,
        "words_hash": sketches.words_hashes,
        "characters": documents.characters,
        "symbols": sketches.symbols,
        "shingles": sketches.shingles,
        "different": sketches.different,
        "simhash": sketches.simhashes.view(np.int64),
        "hashes": (sketches.hashes.view(np.int64), sketches.starts),
        "gaps": (sketches.gaps, sketches.starts),
        **{name: _flat(getattr(sketches, name)) for name in ("slots", "features")},
        **{
            name: (values.view(np.int64), starts)
            for name in ("min_s", "mod_m", "level")
            for values, starts in [getattr(sketches, name)]
        },
    }
    return pa.RecordBatch.from_arrays([_array(columns[field.name], field) for field in SCHEMA], schema=SCHEMA)


def columns_of(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The columns of a batch that this module knows, by their names and with the types of `SCHEMA`.

    `ValueError` if a column is missing, occurs twice, or has values of another type. `text` and `meta` may be
    missing.
    """
    columns = {}
    for field in SCHEMA:
        found = batch.schema.names.count(field.name)
        if found > 1:
            raise ValueError(f"a table of sketches has {found} columns {field.name}; leave all but one out")
        if not found:
            if field.name in _OPTIONAL:
                continue
            raise ValueError(
                f"a table of sketches must have the column {field.name}; it has {batch.schema.names}"
            )
        column = batch.column(field.name)
        try:
            columns[field.name] = _without_views(column).cast(field.type)
        # pyarrow says that a cast is "not implemented" if no value of one type can become the other.
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ValueError(
                f"the column {field.name} must have values of the type {field.type}, not {column.type}: "
                f"{error}"
            ) from error
    return columns


def documents_in(column: Mapping[str, pa.Array]) -> SketchedDocuments:
    """The documents in some columns that `columns_of` returned; `ValueError` if they have several recipes."""
    recipes = column["recipe"].unique().to_pylist()
    if len(recipes) != 1:
        raise ValueError(f"the sketches of a batch must be of one recipe; found {len(recipes)}")
    recipe, size = Recipe.from_json(recipes[0]), len(column["key"])
    absent = [None] * size
    hashes, starts = list_of(column["hashes"])
    sketches = Sketches(
        recipe=recipe,
        symbols=_numbers(column["symbols"]),
        hashes=hashes.view(np.uint64),
        gaps=list_of(column["gaps"])[0].astype(np.uint16),
        starts=starts,
        different=_numbers(column["different"]),
        shingles=_numbers(column["shingles"]),
        slots=list_of(column["slots"])[0].astype(np.uint16).reshape(size, recipe.slots),
        features=list_of(column["features"])[0].view(np.uint64).reshape(size, recipe.features[0]),
        simhashes=_numbers(column["simhash"]).view(np.uint64),
        words_hashes=column["words_hash"].to_pylist(),
        **{
            name: (values.view(np.uint64), begins)
            for name in ("min_s", "mod_m", "level")
            for values, begins in [list_of(column[name])]
        },
    )
    return SketchedDocuments(
        keys=column["key"].to_pylist(),
        texts=column["text"].to_pylist() if "text" in column else absent,
        metas=column["meta"].to_pylist() if "meta" in column else absent,
        text_hashes=column["text_hash"].to_pylist(),
        characters=column["characters"].to_pylist(),
        sketches=sketches,
    )


def _without_views(column: pa.Array) -> pa.Array:
    """The column with lists instead of views of lists: `cast` makes an array of these that is too short."""
    if not (pa.types.is_list_view(column.type) or pa.types.is_large_list_view(column.type)):
        return column
    sizes = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    nulls = column.is_null() if column.null_count else None
    starts = pa.array(starts_of(sizes.astype(np.int64)))
    return pa.LargeListArray.from_arrays(starts, column.flatten(), mask=nulls)


def _flat(rows: Any) -> tuple[Any, I64]:
    """The numbers of rows of one length end to end, and where each row begins."""
    flat = rows.reshape(-1)
    signed = flat.view(np.int64) if flat.dtype == np.uint64 else flat
    return signed, starts_of(np.full(len(rows), rows.shape[1]))


def _array(column: Any, field: pa.Field) -> pa.Array:
    if not pa.types.is_list(field.type):
        return column if isinstance(column, pa.Array) else pa.array(column, field.type)
    values, starts = column
    return pa.ListArray.from_arrays(
        pa.array(starts, pa.int32()),
        pa.array(values.astype(field.type.value_type.to_pandas_dtype(), copy=False)),
        type=field.type,
    )


def _numbers(array: pa.Array) -> I64:
    numbers: I64 = np.array(array.to_numpy(zero_copy_only=False), np.int64)
    return numbers


def list_of(array: pa.Array) -> tuple[Any, I64]:
    """The numbers in all lists of a column end to end, and where each list begins."""
    starts = array.offsets.to_numpy().astype(np.int64)
    values = array.values.to_numpy(zero_copy_only=False)[starts[0] : starts[-1]]
    return np.ascontiguousarray(values), starts - starts[0]
