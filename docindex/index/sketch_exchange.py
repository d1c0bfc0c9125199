"""Move sketched documents between an index and Arrow tables: `load_sketches` and `export_sketches`.

Takes and gives record batches with the columns that `schema/sketches.md` explains, which Spark, Parquet,
DuckDB, Polars and pandas read and write. Imports pyarrow only when it is used. Must never sketch a text.
"""

import functools
import importlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from docindex import arguments
from docindex.arguments import shown
from docindex.arrays.ranges import I64
from docindex.cancellation import checkpoint, stopped_by
from docindex.index.adding import AddProgress, DocumentAdder
from docindex.index.items import checked_key, meta_to_json
from docindex.sketching.sketcher import batched_by_weight
from docindex.storage.rows import contents, stored_sketches
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.tables import DocumentRow
from docindex.storage.values import encodes

if TYPE_CHECKING:
    from docindex.sketching.sketch_tables import SketchedDocuments

# A batch may have millions of rows. At most this many are checked and stored at a time.
_ROWS_AT_A_TIME = 4096


class SketchExchange(DocumentAdder):
    """The part of an index that adds documents with their sketches, and gives them away."""

    def load_sketches(
        self, batches: Any, *, store_text: bool = True, progress: AddProgress | None = None
    ) -> int:
        """Store documents that were sketched elsewhere, without sketching them again; return their number.

        `batches` is a `pyarrow.Table`, a record batch or a reader, an iterable of these, or any object that
        gives an Arrow stream, such as a DataFrame of Polars or a relation of DuckDB. The columns are those of
        `export_sketches` and `docindex.spark.sketch`. The file becomes the one that `add_many` would make of
        the texts. If a text is null, only its sketch is stored.

        Commits as often as `add_many`, and uses as much memory. `progress` is called with the number of
        documents that were read, and the number of rows if the input tells it, else None. `RecipeMismatch`
        if a sketch was made with another recipe than the index has; `ValueError`, with the key, for a row
        that contradicts itself or is not the sketch of its text. Where there is no text, the sketch is
        taken to be true. `ModuleNotFoundError` if the package pyarrow is not installed.
        """
        store_text = arguments.switch("store_text", store_text)
        if not (progress is None or callable(progress)):
            raise TypeError(f"progress must be a function or None, not {shown(progress)}")
        arrow = _pyarrow("load_sketches")
        total = batches.num_rows if isinstance(batches, (arrow.Table, arrow.RecordBatch)) else None
        told = None if progress is None else lambda taken: progress(taken, total)
        return self._add_sketched(self._arriving(arrow, batches), told, store_text=store_text)

    def export_sketches(self, *, keep_text: bool = True) -> Any:
        """All documents with their sketches, as a `pyarrow.RecordBatchReader`, in the order they were added.

        ``pyarrow.parquet.ParquetWriter``, DuckDB and Polars read it batch by batch, and `load_sketches` makes
        the same index of it. `schema/sketches.md` explains the columns. A text that is not kept is null; with
        ``keep_text=False``, all are. Boilerplate, the places in sources and the records of scanned files are
        not exported; `docindex.merge` copies these too.

        Documents that are added or removed while it is read may or may not be included. `ValueError` for a
        text with a lone surrogate, which Arrow cannot hold. `ModuleNotFoundError` if the package pyarrow is
        not installed.
        """
        keep_text = arguments.switch("keep_text", keep_text)
        arrow = _pyarrow("export_sketches")
        tables = importlib.import_module("docindex.sketching.sketch_tables")
        return arrow.RecordBatchReader.from_batches(
            tables.SCHEMA, map(tables.to_record_batch, self._sketched_documents(keep_text=keep_text))
        )

    def _add_sketched(
        self,
        batches: Iterator[list[Incoming]],
        progress: Callable[[int], object] | None,
        *,
        store_text: bool = True,
    ) -> int:
        """Store batches of documents that have their sketches, or whose texts the index knows."""
        self._store.refuse_readonly()
        with stopped_by(functools.partial(self._store.refuse_cancelled, self._store.cancels())):
            newest = self._newest_content()
            group: list[Incoming] = []
            taken = commits = characters = 0
            for batch in batches:
                checkpoint()
                size = sum(document.characters for document in batch)
                if group and self._is_large(len(group) + len(batch), characters + size):
                    self._commit(group, store_text)
                    group, commits, characters = [], commits + 1, 0
                group += batch
                taken += len(batch)
                characters += size
                if progress is not None:
                    progress(taken)
            self._commit(group, store_text)
            if commits:
                self._merge_added(newest)
            return taken

    def _arriving(self, arrow: Any, batches: Any) -> Iterator[list[Incoming]]:
        """The documents in some Arrow data, checked."""
        checks = importlib.import_module("docindex.sketching.sketch_checks")
        for batch in _record_batches(arrow, batches):
            checks.refuse_damaged_buffers(batch)
            for piece in _pieces(arrow, batch, self.recipe.slots):
                yield _checked(checks.checked_documents(piece, self.recipe))

    def _sketched_documents(self, *, keep_text: bool) -> Iterator["SketchedDocuments"]:
        """All documents with their sketches, in the order of their ids, in batches."""
        last = 0
        while True:
            with self._store.reading() as db:
                batches = stored_sketches.document_batches(db, last, self.recipe)
            if not batches:
                return
            for batch in batches:
                with self._store.reading() as db:
                    found = stored_sketches.still_there(db, batch)
                    made = self._sketched(db, found, keep_text=keep_text) if found else None
                if made is not None:
                    yield made
            last = batches[-1][-1].id

    def _sketched(self, db: Any, documents: list[DocumentRow], *, keep_text: bool) -> "SketchedDocuments":
        tables = importlib.import_module("docindex.sketching.sketch_tables")
        of = np.array([document.content for document in documents], np.int64)
        stored = stored_sketches.contents_with_sketches(db, np.unique(of), self.recipe)
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


def _kept_texts(db: Any, kept: I64) -> dict[int, str]:
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
