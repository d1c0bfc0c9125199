"""The facade: what an index can be told and asked. Must never contain SQL or arithmetic."""

import collections
import concurrent.futures
import contextlib
import itertools
import operator
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from docindex.index.file_records import FileRecords
from docindex.index.items import Item, checked_key, from_line, incoming, to_line
from docindex.index.reader import IndexReader
from docindex.kernels.arrays import I64
from docindex.recipe import Recipe
from docindex.sketching.sketcher import batched_by_weight
from docindex.sketching.workers import ENOUGH_FOR_WORKERS, SketchedBatch, SketchWorkers, default_workers
from docindex.storage import check, contents, maintenance, postings, user_sql
from docindex.storage.connection import MEMORY, Connection, Store
from docindex.storage.contents import Document, Incoming
from docindex.storage.maintenance import Stats
from docindex.storage.user_sql import Bindings, Rows
from docindex.storage.values import can_be_stored

Progress = Callable[[int, int], object]
"""Called with how many documents and how many characters have been taken in."""

# How much text `add_many` commits at a time: what a crash can cost, and what memory must hold.
_COMMIT = 32_000_000
_COMMITTED_DOCUMENTS = 10_000
# How much may be with the workers: a little more than they sketch while a commit is being written.
_AHEAD = 32_000_000
_KEYS_AT_A_TIME = 1000


class Index(IndexReader):
    """Documents, and which of them share text. Made by `docindex.open`; may be used by several threads."""

    _store: Store

    def __init__(self, store: Store, recipe: Recipe, add_functions: Callable[[Connection], None]) -> None:
        """`add_functions` puts docindex's SQL functions on a connection that `execute` uses."""
        super().__init__(store, recipe)
        self._add_functions = add_functions
        self.files = FileRecords(store, recipe)
        """What scans of folders know of files."""
        self._with_functions: weakref.WeakSet[Connection] = weakref.WeakSet()

    @property
    def path(self) -> str:
        """The file."""
        return self._store.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file. Closing twice does no harm."""
        self._store.close()

    def cancel(self) -> None:
        """Stop what other threads are doing with this index: they get `Cancelled`; commits made stay."""
        self._store.cancel()

    def add(self, key: str, text: str, *, meta: Any = None, store_text: bool = True) -> None:
        """Store a text under a key, instead of what was there, its meta too. The same again is no work.

        `meta` is anything JSON can say. A text that is kept already stays, whatever `store_text` says.
        When this returns, the document is in the file for good.
        """
        self.add_many([(key, text, meta)], workers=1, store_text=store_text)

    def add_many(
        self,
        items: Iterable[Item],
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        store_text: bool = True,
    ) -> int:
        """Store many documents, given as (key, text) or (key, text, meta); gives how many there were.

        Takes any number of them one after the other: a commit for every 32 million characters, or ten
        thousand documents, and one at the end. Sketches are made in worker processes: as many as there
        are cores, up to four, once there is enough work; ``workers=1`` keeps to this process. What comes
        out is the same. An error in `items` or in `progress` leaves in what was committed before it.
        """
        if workers is not None and (isinstance(workers, bool) or operator.index(workers) < 1):
            raise ValueError(f"workers must be a whole number of 1 or more, not {workers!r}")
        self._store.refuse_readonly()
        before = self._store.cancels()
        taken = characters = out = uncommitted = 0
        group: list[Incoming] = []
        waiting: collections.deque[_Batch] = collections.deque()

        def arrive() -> None:
            """The oldest batch joins the group, which is committed when it is large."""
            nonlocal taken, characters, out, uncommitted
            batch = waiting.popleft()
            group.extend(batch.arrived())
            taken += len(batch.documents)
            characters += batch.characters
            uncommitted += batch.characters
            out -= batch.characters
            self._store.refuse_cancelled(before)
            if progress is not None:
                progress(taken, characters)
            if uncommitted >= _COMMIT or len(group) >= _COMMITTED_DOCUMENTS:
                self._commit(group, store_text)
                group.clear()
                uncommitted = 0

        with contextlib.ExitStack() as stack:
            sketchers = stack.enter_context(SketchWorkers(self.recipe, workers or 1))
            for documents in _in_batches(items, self.recipe):
                batch = self._sketching(documents, sketchers, store_text)
                waiting.append(batch)
                out += batch.characters
                # With workers, so much is handed out ahead that none waits while we write.
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
        """Forget a document; `KeyError` if there is none under this key."""
        with self._store.writing() as db:
            if not (can_be_stored(key) and contents.remove(db, str.__str__(key), self.recipe)):
                raise KeyError(key)

    def rename(self, old: str, new: str) -> None:
        """Give a document another key: its id, text and meta stay."""
        new = checked_key(new)
        with self._store.writing() as db:
            if old != new and contents.get(db, new) is not None:
                raise ValueError(f"there is a document {new!r} already; remove it first")
            if not (can_be_stored(old) and contents.rename(db, str.__str__(old), new)):
                raise KeyError(old)

    def __getitem__(self, key: str) -> Document:
        with self._store.reading() as db:
            return self._document(db, key)

    def __contains__(self, key: object) -> bool:
        with self._store.reading() as db:
            return (
                isinstance(key, str) and can_be_stored(key) and contents.get(db, str.__str__(key)) is not None
            )

    def __len__(self) -> int:
        with self._store.reading() as db:
            return contents.count(db)

    def __iter__(self) -> Iterator[str]:
        """All keys in their order. What is added or removed meanwhile may be in or not."""
        last = None
        while True:
            with self._store.reading() as db:
                keys = contents.keys_after(db, last, _KEYS_AT_A_TIME)
            yield from keys
            if not keys:
                return
            last = keys[-1]

    def text(self, key: str) -> str | None:
        """A document's text as it was given, or None where it was not to be kept."""
        with self._store.reading() as db:
            return contents.text_of(db, self._document(db, key).content)

    def meta(self, key: str) -> Any:
        """What was stored beside a document's text, or None."""
        return self[key].meta

    def check(self) -> list[str]:
        """Everything that is wrong with the file, one sentence each; an empty list when it is healthy.

        Reads all of it: SQLite's own structures, every checksum, every text, and whether the
        inverted index says what the documents do.
        """
        before = self._store.cancels()
        with self._store.reading() as db:
            return check.findings(db, self.recipe, lambda: self._store.refuse_cancelled(before))

    def optimize(self) -> None:
        """Merge all there is to merge, forget what was removed, and give the space back.

        Works in short commits and can be stopped at any time; the next call goes on.
        """
        before = self._store.cancels()
        going_on = True
        while going_on:
            with self._store.writing() as db:
                going_on = maintenance.merge_some(db)
            self._store.refuse_cancelled(before)
        with self._store.alone() as db:
            maintenance.shrink(self._store, db)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """A copy of the index as it is now, in a new file, while others read and write."""
        name = os.fsdecode(path)
        if name == MEMORY or Path(name).exists() or Path(name).is_symlink():
            raise FileExistsError(f"{name} is there already, or no file; name a new file")
        maintenance.backup(self._store, name)

    def stats(self) -> Stats:
        """How much there is of everything, and what it costs."""
        with self._store.reading() as db:
            return maintenance.stats(db, self.recipe)

    def execute(self, sql: str, bindings: Bindings = ()) -> Rows:
        """The rows of a reading statement of SQL, as tuples; `columns` has their names.

        All of docindex's SQL functions and tables are there.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine", meta={"by": "Ada"})
        ...     index.execute("select key, meta ->> 'by' as author, doc_canonical(id) from document")
        [('ada.txt', 'Ada', 'the analytical engine')]
        """
        with self._store.reading() as db:
            if db not in self._with_functions:
                self._add_functions(db)
                self._with_functions.add(db)
            return user_sql.answer(db, sql, bindings)

    def document_frequencies(self) -> I64:
        """How many texts have each fingerprint hash, the most common first; goes through all of them."""
        with self._store.reading() as db:
            return postings.document_frequencies(db)

    def export(self) -> Iterator[str]:
        """All documents in the order of their keys, a line of JSON each, for `load`.

        A text that was not kept is null; `load` will refuse it.
        """
        for key in self:
            lines = []
            with contextlib.suppress(KeyError), self._store.reading() as db:  # it may have been removed
                document = self._document(db, key)
                lines.append(to_line(document, contents.text_of(db, document.content)))
            yield from lines

    def load(self, lines: Iterable[str], *, progress: Progress | None = None) -> int:
        """Add what `export` wrote; gives how many documents there were."""
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        return self.add_many(itertools.starmap(from_line, numbered), progress=progress)

    def _document(self, db: Connection, key: str) -> Document:
        document = contents.get(db, str.__str__(key)) if can_be_stored(key) else None
        if document is None:
            raise KeyError(key)
        return document

    def _sketching(self, documents: list[Incoming], sketchers: SketchWorkers, keep: bool) -> "_Batch":
        """A batch on its way: those texts that the index does not know are being sketched."""
        with self._store.reading() as db:
            known = contents.known(db, (document.hash for document in documents), self.recipe.reading)
        new = list({d.hash: d for d in documents if d.hash not in known}.values())
        return _Batch(documents, new, sketchers.submit([d.text for d in new], keep=keep) if new else None)

    def _commit(self, group: list[Incoming], store_text: bool) -> None:
        if not group:
            return
        with self._store.writing() as db:
            postings.add(db, contents.put(db, group, self.recipe, store_text=store_text))


class _Batch:
    """Documents that arrive together, once the sketches of the new ones among them do."""

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
        """The documents, the new ones with their sketches; waits for those."""
        if self._made is not None:
            made = self._made.result()
            for number, document in enumerate(self._new):
                document.sketches, document.number = made.sketches, number
                document.parts = made.parts[number] if made.parts else None
        return self.documents


def _in_batches(items: Iterable[Item], recipe: Recipe) -> Iterator[list[Incoming]]:
    return batched_by_weight(map(incoming, items), lambda document: len(document.text) + recipe.slots)
