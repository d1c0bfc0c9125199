"""Move documents between an index and lines of JSON, or with their sketches between it and Arrow tables.

Arrow's record batches have the columns that `schema/sketches.md` explains, which Spark, Parquet, DuckDB,
Polars and pandas read and write. Imports pyarrow only when it is used. Must never sketch a text.
"""

import base64
import contextlib
import importlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from docindex import arguments
from docindex.arguments import shown
from docindex.arrays.ranges import I64
from docindex.index.adding import AddProgress, Target, add_sketched, told_of
from docindex.index.items import Item, checked_key, meta_to_json
from docindex.index.keyed import document_of, each_key
from docindex.recipe import Recipe
from docindex.sketching.sketcher import batched_by_weight
from docindex.storage.file.connection import Connection, Store
from docindex.storage.rows import contents, stored_sketches
from docindex.storage.rows.document_lookup import Document
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.tables import DocumentRow
from docindex.storage.values import encodes

if TYPE_CHECKING:
    from docindex.sketching.sketch_tables import SketchedDocuments

# A batch may have millions of rows. At most this many are checked and stored at a time.
_ROWS_AT_A_TIME = 4096


def lines_of(store: Store) -> Iterator[str]:
    """A line of JSON for each document, in the order of the keys."""
    for key in each_key(store, ""):
        lines = []
        with contextlib.suppress(KeyError), store.reading() as db:  # removed in the meantime
            document = document_of(db, key)
            lines.append(_to_line(document, contents.text_of(db, document.content)))
        yield from lines


def items_of_lines(lines: Iterable[str]) -> Iterator[Item]:
    """The items in lines that `lines_of` gave."""
    numbered = (
        (number, line)
        for number, line in enumerate(arguments.many("lines", lines), 1)
        if not isinstance(line, str) or str.strip(line)
    )
    return itertools.starmap(_from_line, numbered)


def _to_line(document: Document, text: str | None) -> str:
    """A document as a line of JSON.

    A text with lone surrogates is written as base64, because JSON would join a pair of them into one
    character.
    """
    if text is not None and not encodes(text):
        coded = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
        return json.dumps({"key": document.key, "base64": coded, "meta": document.meta})
    return json.dumps({"key": document.key, "text": text, "meta": document.meta})


def _from_line(number: int, line: str) -> Item:
    """The item in a line that `_to_line` wrote; for any other line, a `ValueError` with its number.

    `TypeError` for a value that is not a line.
    """
    if not isinstance(line, (str, bytes)):
        raise TypeError(f"line {number} must be a str that export wrote, not {shown(line)}")
    line = str.__str__(line) if isinstance(line, str) else line
    try:
        found = json.loads(line)
        key, meta = found["key"], found.get("meta")
        if "base64" in found:
            return key, base64.b64decode(found["base64"]).decode("utf-8", "surrogatepass"), meta
        text = found["text"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"line {number} is not a line that export wrote: {line[:60]!r}") from error
    if text is None:
        raise ValueError(f"line {number}: the text of {shown(key)} was not kept; add it from its source")
    return key, text, meta


def load_batches(target: Target, batches: Any, progress: AddProgress | None) -> int:
    """Store documents from Arrow data with their sketches, and return their number."""
    told_of(progress, None)  # a mistake is named even without pyarrow
    arrow = _pyarrow("load_sketches")
    total = batches.num_rows if isinstance(batches, (arrow.Table, arrow.RecordBatch)) else None
    return add_sketched(target, _arriving(arrow, batches, target.recipe), told_of(progress, total))


def export_batches(store: Store, recipe: Recipe, *, keep_text: bool) -> Any:
    """All documents with their sketches, as a `pyarrow.RecordBatchReader`."""
    keep_text = arguments.switch("keep_text", keep_text)
    arrow = _pyarrow("export_sketches")
    tables = importlib.import_module("docindex.sketching.sketch_tables")
    return arrow.RecordBatchReader.from_batches(
        tables.SCHEMA, map(tables.to_record_batch, _sketched_documents(store, recipe, keep_text=keep_text))
    )


def _arriving(arrow: Any, batches: Any, recipe: Recipe) -> Iterator[list[Incoming]]:
    """The documents in some Arrow data, checked."""
    checks = importlib.import_module("docindex.sketching.sketch_checks")
    for batch in _record_batches(arrow, batches):
        checks.refuse_damaged_buffers(batch)
        for piece in _pieces(arrow, batch, recipe.slots):
            yield _checked(checks.checked_documents(piece, recipe))


def _sketched_documents(store: Store, recipe: Recipe, *, keep_text: bool) -> Iterator["SketchedDocuments"]:
    """All documents with their sketches, in the order of their ids, in batches."""
    last = 0
    while True:
        with store.reading() as db:
            batches = stored_sketches.document_batches(db, last, recipe)
        if not batches:
            return
        for batch in batches:
            with store.reading() as db:
                found = stored_sketches.still_there(db, batch)
                made = _sketched(db, recipe, found, keep_text=keep_text) if found else None
            if made is not None:
                yield made
        last = batches[-1][-1].id


def _sketched(
    db: Connection, recipe: Recipe, documents: list[DocumentRow], *, keep_text: bool
) -> "SketchedDocuments":
    tables = importlib.import_module("docindex.sketching.sketch_tables")
    of = np.array([document.content for document in documents], np.int64)
    stored = stored_sketches.contents_with_sketches(db, np.unique(of), recipe)
    hashes, characters, sketches = stored.of(of)
    texts = _kept_texts(db, stored.kept) if keep_text else {}
    for document in documents:
        if not encodes(texts.get(document.content, "")):
            raise ValueError(
                f"the text of {shown(document.key)} has a lone surrogate, which Arrow cannot hold; "
                "export with keep_text=False, or copy the documents with docindex.merge"
            )
    made: SketchedDocuments = tables.SketchedDocuments(
        keys=[document.key for document in documents],
        texts=[texts.get(document.content) for document in documents],
        metas=[document.meta for document in documents],
        text_hashes=hashes,
        characters=characters,
        sketches=sketches,
    )
    return made


def _kept_texts(db: Connection, kept: I64) -> dict[int, str]:
    """The texts of some ascending contents whose texts are kept."""
    return dict(zip(kept.tolist(), contents.texts_of(db, kept), strict=True))


def _record_batches(arrow: Any, given: Any) -> Iterator[Any]:
    """The record batches in anything that `load_sketches` takes; batches without rows are left out."""
    if isinstance(given, arrow.RecordBatch):
        if given.num_rows:
            yield given
    elif isinstance(given, arrow.Table):
        yield from (batch for batch in given.to_batches() if batch.num_rows)
    elif isinstance(given, arrow.RecordBatchReader):
        yield from (batch for batch in given if batch.num_rows)
    elif hasattr(given, "__arrow_c_stream__"):
        yield from _record_batches(arrow, arrow.RecordBatchReader.from_stream(given))
    elif hasattr(given, "__arrow_c_array__"):
        yield from _record_batches(arrow, arrow.record_batch(given))
    elif isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(
            f"batches must be Arrow tables or record batches, not the path {shown(given)}; for a file or "
            "folder of Parquet, give pyarrow.dataset.dataset(path).to_batches()"
        )
    elif isinstance(given, Iterable) and not isinstance(given, dict):
        for some in arguments.many("batches", given):
            if not hasattr(some, "__arrow_c_stream__") and not hasattr(some, "__arrow_c_array__"):
                raise TypeError(f"batches must contain Arrow tables or record batches, not {shown(some)}")
            yield from _record_batches(arrow, some)
    else:
        raise TypeError(f"batches must be an Arrow table, or an iterable of such, not {shown(given)}")


def _pieces(arrow: Any, batch: Any, slots: int) -> Iterator[Any]:
    """A record batch in pieces whose texts fit in memory."""
    sizes: Iterable[int] = itertools.repeat(0)
    if "characters" in batch.schema.names and arrow.types.is_integer(batch.column("characters").type):
        sizes = (size or 0 for size in batch.column("characters").to_pylist())
    rows = zip(range(batch.num_rows), sizes, strict=False)
    for piece in batched_by_weight(rows, lambda row: max(0, row[1]) + slots):
        for begin in range(0, len(piece), _ROWS_AT_A_TIME):
            first = piece[begin][0]
            yield batch.slice(first, min(_ROWS_AT_A_TIME, piece[-1][0] + 1 - first))


def _checked(documents: "SketchedDocuments") -> list[Incoming]:
    """The documents to store; `ValueError` for a text that is not the one that was sketched."""
    arrived = []
    for number, (key, text) in enumerate(zip(documents.keys, documents.texts, strict=True)):
        hash_, characters = documents.text_hashes[number], documents.characters[number]
        if text is not None and (len(text) != characters or contents.text_hash(text) != hash_):
            raise ValueError(
                f"the text of {shown(key)} is not the one that was sketched; sketch it again, or leave the "
                "text out"
            )
        document = Incoming(checked_key(key), text or "", _meta(key, documents.metas[number]), hash_)
        document.sketches, document.number = documents.sketches, number
        document.length = characters if text is None else None
        arrived.append(document)
    return arrived


def _meta(key: str, written: str | None) -> str | None:
    """The meta of a row as this library writes JSON."""
    if written is None:
        return None
    try:
        read = json.loads(written)
    except RecursionError as error:
        raise ValueError(f"the meta of {shown(key)} is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"the meta of {shown(key)} is not JSON: {error}") from error
    return meta_to_json(key, read)


def _pyarrow(function: str) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{function} needs the package pyarrow: pip install 'docindex[arrow]'", name="pyarrow"
        ) from error
