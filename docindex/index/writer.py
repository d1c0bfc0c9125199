"""`docindex.Index`: add, change, remove and read documents, and maintain the file.

Takes keys, texts and meta from callers, and passes checked documents to storage. Must never contain SQL.
"""

import collections
import concurrent.futures
import contextlib
import functools
import itertools
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from docindex import argument_checks
from docindex.checkpoints import checkpoint, stopped_by
from docindex.errors import Busy
from docindex.index.document_writer import write_documents
from docindex.index.file_records import FileRecords
from docindex.index.items import Item, checked_key, from_line, incoming, stored_key, to_line
from docindex.index.reader import IndexReader
from docindex.kernels.arrays import I64
from docindex.recipe import Recipe
from docindex.sketching.sketcher import batched_by_weight
from docindex.sketching.workers import (
    ENOUGH_FOR_WORKERS,
    MOST_WORKERS,
    SketchedBatch,
    SketchWorkers,
    default_workers,
)
from docindex.storage import check, content_writer, contents, maintenance, postings, segment_writer, user_sql
from docindex.storage.connection import Connection, Store
from docindex.storage.connector import MEMORY
from docindex.storage.content_writer import Incoming
from docindex.storage.contents import Document
from docindex.storage.maintenance import Stats
from docindex.storage.user_sql import Rows, UserBindings

AddProgress = Callable[[int, int], object]
"""Called with the number of documents and the number of characters that have been read so far."""

# `add_many` commits after this many characters or documents. A crash loses at most this much, and memory must
# hold it.
_COMMIT = 32_000_000
_COMMITTED_DOCUMENTS = 10_000
# The workers may have this many characters to sketch: a little more than they sketch during a commit.
_AHEAD = 32_000_000
_KEYS_AT_A_TIME = 1000
# A commit writes 1.6 bytes to the log for each character of random words, and less for other texts.
_LOG_BYTES_A_CHARACTER = 2


class Index(IndexReader):
    """An index of documents in one file, opened by `docindex.open`. Threads can share it.

    - ``len(index)`` is the number of documents
    - ``index[key]`` is a `Document`, or raises `KeyError`
    - ``key in index`` tells whether there is a document with this key
    - iterating gives the keys in ascending order. It may or may not include documents that are added or
      removed during the iteration
    """

    _store: Store

    def __init__(self, store: Store, recipe: Recipe, add_functions: Callable[[Connection], None]) -> None:
        """`add_functions` registers docindex's SQL functions on a connection, for `execute`."""
        super().__init__(store, recipe)
        self._add_functions = add_functions
        self.files = FileRecords(store, recipe)
        """The files that `docindex.folders.scan` has seen; ``index.files.under(folder)`` lists them."""
        self._with_functions: weakref.WeakSet[Connection] = weakref.WeakSet()

    @property
    def path(self) -> str:
        """The absolute path of the file; ``":memory:"`` for an index in memory.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.path
        ':memory:'
        """
        return self._store.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice does no harm."""
        self._store.close()

    def cancel(self) -> None:
        """Stop the work of all other threads on this index: they get `Cancelled`. Committed work stays.

        `docindex.cancelling` stops the work of one block only.
        """
        self._store.cancel()

    def add(self, key: str, text: str, *, meta: Any = None, store_text: bool = True) -> None:
        """Store a text under a key. Replaces the text and the meta that the key had before.

        `meta` is any value that JSON can express. With ``store_text=False`` only the sketch of the text is
        stored; if the file already has the text, it stays. When `add` returns, the document is committed.
        Adding the same document again changes nothing.
        """
        self.add_many([(key, text, meta)], workers=1, store_text=store_text)

    def add_many(
        self,
        items: Iterable[Item],
        *,
        workers: int | None = None,
        progress: AddProgress | None = None,
        store_text: bool = True,
    ) -> int:
        """Store many documents, given as (key, text) or (key, text, meta), and return their number.

        Reads the items one after the other, and commits about every 32 million characters or ten thousand
        documents, and at the end. If there is much text, worker processes make the sketches: one for each
        core, but at most four. ``workers=1`` uses this process only, with the same result. After an error in
        `items` or in `progress`, earlier commits stay in the file.
        """
        if workers is not None:
            workers = argument_checks.whole_number("workers", workers, most=MOST_WORKERS)
        if not (progress is None or callable(progress)):
            raise TypeError(f"progress must be a function or None, not {argument_checks.shown(progress)}")
        store_text = argument_checks.switch("store_text", store_text)
        self._store.refuse_readonly()
        with stopped_by(functools.partial(self._store.refuse_cancelled, self._store.cancels())):
            return self._add_all(items, workers, progress, store_text=store_text)

    def _add_all(
        self, items: Iterable[Item], workers: int | None, progress: AddProgress | None, *, store_text: bool
    ) -> int:
        """Do the work of `add_many`."""
        taken = characters = out = uncommitted = 0
        group: list[Incoming] = []
        waiting: collections.deque[_Batch] = collections.deque()

        def arrive() -> None:
            """Add the oldest batch to the group, and commit the group if it is large."""
            nonlocal taken, characters, out, uncommitted
            batch = waiting.popleft()
            group.extend(batch.arrived())
            taken += len(batch.documents)
            characters += batch.characters
            uncommitted += batch.characters
            out -= batch.characters
            checkpoint()
            if progress is not None:
                progress(taken, characters)
            if uncommitted >= _COMMIT or len(group) >= _COMMITTED_DOCUMENTS:
                self._commit(group, store_text)
                group.clear()
                uncommitted = 0

        with contextlib.ExitStack() as stack:
            sketchers = stack.enter_context(SketchWorkers(self.recipe, workers or 1))
            for documents in _in_batches(argument_checks.many("items", items), self.recipe):
                batch = self._sketching(documents, sketchers, store_text)
                waiting.append(batch)
                out += batch.characters
                # Give the workers enough text in advance, so that they never wait during a commit.
                while waiting and (sketchers.alone or out > _AHEAD):
                    arrive()
                if workers is None and characters >= ENOUGH_FOR_WORKERS:
                    workers = default_workers()
                    sketchers = stack.enter_context(SketchWorkers(self.recipe, workers, optional=True))
            while waiting:
                arrive()
        self._commit(group, store_text)
        return taken

    def remove(self, key: str) -> None:
        """Remove a document; `KeyError` for an unknown key."""
        key = stored_key(key)
        with self._store.writing() as db:
            if not content_writer.remove_document(db, key, self.recipe):
                raise KeyError(key)

    def rename(self, old: str, new: str) -> None:
        """Give a document another key. Its id, text and meta stay the same.

        `KeyError` if no document has the key `old`, `ValueError` if another document has the key `new`.
        """
        old, new = stored_key(old), checked_key(new)
        with self._store.writing() as db:
            if old != new and contents.get(db, new) is not None:
                raise ValueError(f"a document with the key {new!r} exists already; remove it first")
            if not content_writer.rename(db, old, new):
                raise KeyError(old)

    def __getitem__(self, key: str) -> Document:
        with self._store.reading() as db:
            document = self._document(db, key)
        return contents.with_text(document, functools.partial(self._text_of, document.key, document.content))

    def __contains__(self, key: object) -> bool:
        with contextlib.suppress(KeyError), self._store.reading() as db:
            return contents.get(db, stored_key(key)) is not None
        return False

    def __len__(self) -> int:
        with self._store.reading() as db:
            return contents.count(db)

    def __iter__(self) -> Iterator[str]:
        last = None
        while True:
            with self._store.reading() as db:
                keys = contents.keys_after(db, last, _KEYS_AT_A_TIME)
            yield from keys
            if not keys:
                return
            last = keys[-1]

    def text(self, key: str) -> str | None:
        """The text of a document, or None if it is not kept; `KeyError` for an unknown key."""
        with self._store.reading() as db:
            return contents.text_of(db, self._document(db, key).content)

    def meta(self, key: str) -> Any:
        """The meta of a document, or None; `KeyError` for an unknown key."""
        return self[key].meta

    def check(self) -> list[str]:
        """All damage in the file, one sentence each; an empty list if the file is healthy.

        Reads the whole file: SQLite's own structures, every checksum and every text. Compares the inverted
        index with the fingerprints of the documents. In the database of an app, its tables are checked too,
        unless they use functions that only the app has.
        """
        before = self._store.cancels()
        with self._store.reading() as db:
            self._provide_functions(db)
            return check.findings(db, self.recipe, lambda: self._store.refuse_cancelled(before))

    def optimize(self) -> None:
        """Merge all segments, delete what removed documents left behind, and return unused disk space.

        Makes searches faster. Works in short commits and can be stopped at any time; the next call continues.
        In a file of more than 64 MB, and in the database of an app, pages that are partly full stay so;
        SQLite's `vacuum` fills them.
        """
        before = self._store.cancels()
        unfinished = True
        while unfinished:
            with self._store.writing(log_bytes=segment_writer.MERGE_LOG_BYTES) as db:
                unfinished = maintenance.merge_some(db)
            self._store.refuse_cancelled(before)
        maintenance.shrink(self._store)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the index as it is now into a new file. Others can read and write during the copy."""
        name = os.fsdecode(path)
        if name == MEMORY or Path(name).exists() or Path(name).is_symlink():
            raise FileExistsError(f"{name} already exists, or is not a file; name a new file")
        maintenance.backup(self._store, name)

    def stats(self) -> Stats:
        """Counts of documents, contents and fingerprints, and the sizes of the tables."""
        with self._store.reading() as db:
            return maintenance.stats(db, self.recipe)

    def execute(self, sql: str, bindings: UserBindings = ()) -> Rows:
        """Run one SQL statement that reads, and return its rows as tuples, with the names of the `columns`.

        The statement can use docindex's SQL functions and tables. `ReadOnly` for a statement that would
        write.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine", meta={"by": "Ada"})
        ...     index.execute("select key, meta ->> 'by' as author, doc_canonical(id) from docindex_document")
        [('ada.txt', 'Ada', 'the analytical engine')]
        """
        with self._store.reading() as db:
            self._provide_functions(db)
            return user_sql.answer(db, sql, bindings)

    def _provide_functions(self, db: Connection) -> None:
        """Register docindex's SQL functions, which the host's statements and indexes may use."""
        if db not in self._with_functions:
            self._add_functions(db)
            self._with_functions.add(db)

    def document_frequencies(self) -> I64:
        """In how many texts each fingerprint hash occurs, the largest number first. Reads the whole index.

        Helps to choose a limit for `ignore_above`: the hashes of boilerplate occur in far more texts than
        others.

        >>> import docindex
        >>> with docindex.open(":memory:", recipe=docindex.Recipe(k=5, window=8)) as index:
        ...     index.add("a", "The Analytical Engine")
        ...     index.add("b", "The Analytical Engine weaves")
        ...     index.document_frequencies().tolist()
        [2, 2, 1]
        """
        with self._store.reading() as db:
            return postings.document_frequencies(db)

    def export(self) -> Iterator[str]:
        """Yield a line of JSON for each document, in the order of the keys. `load` reads these lines.

        The text is null if it is not kept. `load` refuses such a line.
        """
        for key in self:
            lines = []
            with contextlib.suppress(KeyError), self._store.reading() as db:  # removed in the meantime
                document = self._document(db, key)
                lines.append(to_line(document, contents.text_of(db, document.content)))
            yield from lines

    def load(self, lines: Iterable[str], *, progress: AddProgress | None = None) -> int:
        """Add the documents that `export` wrote, and return their number."""
        numbered = (
            (number, line)
            for number, line in enumerate(argument_checks.many("lines", lines), 1)
            if not isinstance(line, str) or str.strip(line)
        )
        return self.add_many(itertools.starmap(from_line, numbered), progress=progress)

    def _text_of(self, key: str, content: int) -> str | None:
        """The text that a document had when it was looked up; `KeyError` if it has that text no longer."""
        with self._store.reading() as db:
            if not contents.is_there(db, content):
                raise KeyError(key)
            return contents.text_of(db, content)

    def _document(self, db: Connection, key: str) -> Document:
        key = stored_key(key)
        document = contents.get(db, key)
        if document is None:
            raise KeyError(key)
        return document

    def _sketching(self, documents: list[Incoming], sketchers: SketchWorkers, keep: bool) -> "_Batch":
        """Pass those texts of a batch that are new to the index to the sketchers."""
        with self._store.reading() as db:
            known = contents.known(db, (document.hash for document in documents), self.recipe.reading)
        new = list({d.hash: d for d in documents if d.hash not in known}.values())
        return _Batch(documents, new, sketchers.submit([d.text for d in new], keep=keep) if new else None)

    def _commit(self, group: list[Incoming], store_text: bool) -> None:
        if not group:
            return
        log_bytes = _LOG_BYTES_A_CHARACTER * sum(len(document.text) for document in group)
        with self._store.writing(log_bytes=log_bytes) as db:
            unmerged = write_documents(db, group, self.recipe, store_text=store_text)
        # The documents are stored. If somebody reads for too long now, a later commit merges instead.
        with contextlib.suppress(Busy):
            while unmerged:
                with self._store.writing(log_bytes=segment_writer.MERGE_LOG_BYTES) as db:
                    segment_writer.merge(db, min(unmerged, segment_writer.MERGED_AT_A_TIME))
                unmerged = max(0, unmerged - segment_writer.MERGED_AT_A_TIME)


class _Batch:
    """Documents whose new texts are sketched together."""

    def __init__(
        self,
        documents: list[Incoming],
        new: list[Incoming],
        made: "concurrent.futures.Future[SketchedBatch] | None",
    ) -> None:
        self.documents = documents
        self.characters = sum(len(document.text) for document in documents)
        self._new = new
        self._made = made

    def arrived(self) -> list[Incoming]:
        """Wait for the sketches, and return the documents with their sketches."""
        if self._made is not None:
            made = self._made.result()
            for number, document in enumerate(self._new):
                document.sketches, document.number = made.sketches, number
                document.parts = made.parts[number] if made.parts else None
        return self.documents


def _in_batches(items: Iterable[Item], recipe: Recipe) -> Iterator[list[Incoming]]:
    return batched_by_weight(map(incoming, items), lambda document: len(document.text) + recipe.slots)
