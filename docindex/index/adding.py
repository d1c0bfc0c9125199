"""Add documents to an index: one text, many texts on several cores, files, and the rows of a statement.

Takes keys, texts and meta from callers, and passes checked documents to storage. Must never contain SQL.
"""

import collections
import contextlib
import functools
import itertools
import os
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Sized
from typing import Any

import apsw

from docindex import arguments
from docindex.cancellation import checkpoint, stopped_by
from docindex.errors import Busy
from docindex.frontends.extract import PLAIN, extract_all
from docindex.frontends.extracted import PART_MARK, Extracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.index.document_writer import write_documents
from docindex.index.file_records import FileRecords
from docindex.index.followed_tables import FollowedTables
from docindex.index.items import (
    Item,
    TextsOfFiles,
    checked_key,
    from_line,
    incoming,
    item_of_row,
    to_line,
)
from docindex.index.keyed_documents import document_of
from docindex.recipe import Recipe
from docindex.sketching.sketcher import batched_by_weight
from docindex.sketching.workers import MOST_WORKERS, SketchJob, SketchWorkers, default_workers
from docindex.storage.file.connection import Store
from docindex.storage.file.user_sql import UserBindings
from docindex.storage.postings import segment_writer
from docindex.storage.rows import contents
from docindex.storage.rows import files as file_rows
from docindex.storage.rows.incoming_documents import Incoming

AddProgress = Callable[[int, int | None], object]
"""Called with the number of documents that were read so far, and how many there are, or None if unknown."""

# `add_many` commits after this many characters or documents. A crash loses at most this much, and memory must
# hold it. A commit changes most pages of the SQL indexes: among 300,000 notes, commits of 10,000 would take a
# tenth more time, and 40 MB less memory.
_COMMIT = 32_000_000
_COMMITTED_DOCUMENTS = 30_000
# The workers may have this many characters to sketch: a little more than they sketch during a commit.
_AHEAD = 32_000_000
# To look up a note among 400,000 takes about a sixth of the time of sketching it. So after this many batches
# of which the index knew less than an eighth, only every 16th text of one batch in this many is looked up
# before it is sketched, and the others only if the index knows enough of these. The commit looks up all of
# them anyway.
_MOSTLY_NEW = 4
_FEW = 8
_LOOKED_UP_FIRST = 16
# A commit writes 1.6 bytes to the log for each character of random words, and less for other texts.
_LOG_BYTES_A_CHARACTER = 2


class DocumentAdder(FollowedTables):
    """The part of an index that adds documents."""

    def __init__(self, store: Store, recipe: Recipe) -> None:
        super().__init__(store, recipe)
        self.files = FileRecords(store, recipe)
        """The files that `docindex.folders.scan` has seen; ``index.files.under(folder)`` lists them."""

    def add(self, key: str, text: str | Extracted, *, meta: Any = ..., store_text: bool = True) -> None:
        """Store a text under a key. Replaces the text that the key had before.

        `text` may also be what `docindex.extract` returned; then passages know their places in the source.

        `meta` is any value that JSON can express. Without it, a document that exists keeps its meta;
        ``meta=None`` removes it, and `update` changes the meta alone. With ``store_text=False`` only the
        sketch of the text is stored; if the file already has the text, it stays. When `add` returns, the
        document is committed. Adding the same document again changes nothing.
        """
        item = (key, text) if meta is ... else (key, text, meta)
        self.add_many([item], workers=1, store_text=store_text)

    def add_file(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | None = None,
        encoding: str | None = None,
        meta: Any = ...,
        store_text: bool = True,
        options: ExtractionOptions | None = None,
    ) -> list[str]:
        """Store the text of a file in any format that `docindex.extract` reads, and return the keys.

        The key of the document is `key`, or else the path as it is given; a scan and the command use absolute
        paths. A document inside the file, such as a message of a mailbox, has that key followed by ``!/`` and
        its name. If it is not in the file any more, its document is removed. With
        ``ExtractionOptions(archives=True)`` as `options`, the files inside zip and tar archives are read too.
        `UnreadableFile` if the file has no text that can be read.

        >>> import docindex, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, docindex.open(":memory:") as index:
        ...     _ = pathlib.Path(folder, "ada.txt").write_text("The Analytical Engine")
        ...     index.add_file(pathlib.Path(folder, "ada.txt"), key="ada")
        ['ada']
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path must be a str or an os.PathLike, not {arguments.shown(path)}")
        key = os.fspath(path) if key is None else checked_key(key)
        found = extract_all(path, encoding=encoding, options=options)
        texts: dict[str, str | Extracted] = {
            f"{key}{PART_MARK}{name}": text for name, text in found.parts.items()
        }
        if found.main is not None:
            texts[key] = found.main.text if found.main.reading == PLAIN else found.main
        before = [*self.files.parts_of(key), *([key] if key in self else [])]
        self.add_many(
            ((each, text) if meta is ... else (each, text, meta) for each, text in texts.items()),
            store_text=store_text,
        )
        self.remove_many([part for part in before if part not in texts])
        return list(texts)

    def add_many(
        self,
        items: Iterable[Item],
        *,
        workers: int | None = None,
        progress: AddProgress | None = None,
        commit_every: int | None = None,
        store_text: bool = True,
    ) -> int:
        """Store many documents, given as (key, text) or (key, text, meta), and return their number.

        Reads the items one after the other, and commits about every 32 million characters or 30,000
        documents, and at the end. With ``commit_every=n`` it also commits after each n documents: a crash
        loses fewer, and others see them sooner, but each commit takes some milliseconds. `progress` is called
        with the number of documents that were read, and with the number of all items if ``len(items)`` tells
        it, else None. If there is much text, other processes help to make the sketches: with this one, they
        are as many as the cores, but at most four, or `workers`. ``workers=1`` uses this process only, with
        the same result. After an error in `items` or in `progress`, earlier commits stay in the file.
        """
        if workers is not None:
            workers = arguments.whole_number("workers", workers, most=MOST_WORKERS)
        if not (progress is None or callable(progress)):
            raise TypeError(f"progress must be a function or None, not {arguments.shown(progress)}")
        if commit_every is not None:
            commit_every = arguments.whole_number("commit_every", commit_every)
        most = min(commit_every or _COMMITTED_DOCUMENTS, _COMMITTED_DOCUMENTS)
        store_text = arguments.switch("store_text", store_text)
        given = arguments.many("items", items)
        total = len(items) if isinstance(items, Sized) else None
        told = None if progress is None else lambda taken: progress(taken, total)
        self._store.refuse_readonly()
        with stopped_by(functools.partial(self._store.refuse_cancelled, self._store.cancels())):
            files = items if isinstance(items, TextsOfFiles) else None
            sketchers = SketchWorkers(
                self.recipe,
                default_workers() if workers is None else workers,
                automatic=workers is None,
            )
            return self._add_all(given, sketchers, told, most, store_text=store_text, files=files)

    def _add_all(
        self,
        items: Iterator[Item],
        sketchers: SketchWorkers,
        progress: Callable[[int], object] | None,
        most: int,
        *,
        store_text: bool,
        files: TextsOfFiles | None,
    ) -> int:
        """Do the work of `add_many`; a commit has at most `most` documents."""
        is_often = most < _COMMITTED_DOCUMENTS
        taken = out = uncommitted = 0
        group: list[Incoming] = []
        waiting: collections.deque[_Batch] = collections.deque()

        newest: int | None = None

        def arrive() -> None:
            """Add the oldest batch to the group, and commit the group if it is large."""
            nonlocal taken, out, uncommitted, newest
            batch = waiting.popleft()
            group.extend(batch.arrived())
            taken += len(batch.documents)
            uncommitted += batch.characters
            out -= batch.characters
            checkpoint()
            if progress is not None:
                progress(taken)
            while uncommitted >= _COMMIT or len(group) >= most:
                newest = self._newest_content() if newest is None else newest
                self._commit(group[:most], store_text, files)
                del group[:most]
                uncommitted = 0

        with sketchers:
            mostly_new = 0
            for number, documents in enumerate(_in_batches(items, self.recipe, most)):
                known = self._known_where_it_pays(documents, number, mostly_new)
                mostly_new = mostly_new + 1 if _are_few(known, documents) else 0
                batch = _sketching(documents, known, sketchers, store_text)
                waiting.append(batch)
                out += batch.characters
                # Give the workers enough text in advance, so that they never wait during a commit.
                while waiting and (sketchers.alone or out > _AHEAD or (is_often and waiting[0].is_made())):
                    arrive()
            while waiting:
                arrive()
        self._commit(group, store_text, files)
        if newest is not None and not is_often:
            self._merge_added(newest)
        return taken

    def add_from(
        self, connection: apsw.Connection | sqlite3.Connection, sql: str, bindings: UserBindings = ()
    ) -> int:
        """Store the rows of a statement on a connection of yours as documents, and return their number.

        The columns are key, text, and meta if there is a third one. A key that is a number becomes text; meta
        is JSON, or any other text or number. As fast as `add_many`, which says when it commits.

        >>> import docindex, sqlite3
        >>> notes = sqlite3.connect(":memory:")
        >>> _ = notes.execute("create table note (id integer primary key, body text)")
        >>> _ = notes.execute("insert into note (body) values ('The Analytical Engine')")
        >>> with docindex.open(":memory:") as index:
        ...     index.add_from(notes, "select id, body from note"), index.text("1")
        (1, 'The Analytical Engine')
        """
        if not isinstance(connection, (apsw.Connection, sqlite3.Connection)):
            raise TypeError(f"connection must be one of apsw or sqlite3, not {arguments.shown(connection)}")
        statement = arguments.plain_text("sql", sql)
        return self.add_many(map(item_of_row, connection.execute(statement, bindings)))

    def export(self) -> Iterator[str]:
        """Yield a line of JSON for each document, in the order of the keys. `load` reads these lines.

        The text is null if it is not kept. `load` refuses such a line.
        """
        for key in self:
            lines = []
            with contextlib.suppress(KeyError), self._store.reading() as db:  # removed in the meantime
                document = document_of(db, key)
                lines.append(to_line(document, contents.text_of(db, document.content)))
            yield from lines

    def load(self, lines: Iterable[str], *, progress: AddProgress | None = None) -> int:
        """Add the documents that `export` wrote, and return their number."""
        numbered = (
            (number, line)
            for number, line in enumerate(arguments.many("lines", lines), 1)
            if not isinstance(line, str) or str.strip(line)
        )
        return self.add_many(itertools.starmap(from_line, numbered), progress=progress)

    def _known_where_it_pays(
        self, documents: list[Incoming], number: int, mostly_new: int
    ) -> dict[bytes, int]:
        """The contents of the texts of a batch that the index knows, or of some of them.

        `number` is that of the batch. In `mostly_new` batches before it, the index knew few texts.
        """
        if mostly_new < _MOSTLY_NEW:
            return self._known(documents)
        if number % _MOSTLY_NEW:
            return {}
        first = documents[::_LOOKED_UP_FIRST]
        known = self._known(first)
        return known if _are_few(known, first) else self._known(documents)

    def _known(self, documents: list[Incoming]) -> dict[bytes, int]:
        """The contents of those texts that the index has."""
        with self._store.reading() as db:
            return contents.known(db, (document.hash for document in documents))

    def _is_large(self, documents: int, characters: int) -> bool:
        """Whether this many documents and characters are too much for one commit."""
        return documents > _COMMITTED_DOCUMENTS or characters > _COMMIT

    def _commit(self, group: list[Incoming], store_text: bool, files: TextsOfFiles | None = None) -> None:
        if not group:
            return
        log_bytes = _LOG_BYTES_A_CHARACTER * sum(document.characters for document in group)
        with self._store.writing(log_bytes=log_bytes) as db:
            unmerged = write_documents(db, group, self.recipe, store_text=store_text)
            if files is not None:
                file_rows.put_files(db, files.records(document.key for document in group))
        # The documents are stored. If somebody reads for too long now, a later commit merges instead.
        with contextlib.suppress(Busy):
            self._merge(unmerged)

    def _merge(self, postings: int) -> None:
        """Merge this many postings, in short commits."""
        while postings > 0:
            checkpoint()
            with self._store.writing(log_bytes=segment_writer.MERGE_LOG_BYTES) as db:
                segment_writer.merge_postings(db, min(postings, segment_writer.MERGED_AT_A_TIME))
            postings -= segment_writer.MERGED_AT_A_TIME

    def _newest_content(self) -> int:
        with self._store.reading() as db:
            return contents.newest_content(db)

    def _merge_added(self, newest: int) -> None:
        """Leave few segments after many documents were added; `newest` was the newest content before."""
        due = 1
        with contextlib.suppress(Busy):
            while due:
                with self._store.writing() as db:
                    due = segment_writer.begin_merge_of_added(db, newest)
                self._merge(due)


class _Batch:
    """Documents whose new texts are sketched together."""

    def __init__(
        self,
        documents: list[Incoming],
        new: list[Incoming],
        made: SketchJob | None,
    ) -> None:
        self.documents = documents
        self.characters = sum(document.characters for document in documents)
        self._new = new
        self._made = made

    def is_made(self) -> bool:
        """Whether `arrived` would not wait."""
        return self._made is None or self._made.done()

    def arrived(self) -> list[Incoming]:
        """Wait for the sketches, and return the documents with their sketches."""
        if self._made is not None:
            made = self._made.result()
            for number, document in enumerate(self._new):
                document.sketches, document.number = made.sketches, number
                document.parts = made.parts[number] if made.parts else None
        return self.documents


def _are_few(known: Sized, documents: Sized) -> bool:
    """Whether too few texts of some documents are known for a look-up of all to pay."""
    return len(known) * _FEW <= len(documents)


def _sketching(
    documents: list[Incoming], known: Container[bytes], sketchers: SketchWorkers, keep: bool
) -> _Batch:
    """Pass the texts of a batch, except those with some known hashes, to the sketchers."""
    new = list({d.hash: d for d in documents if d.hash not in known}.values())
    return _Batch(documents, new, sketchers.submit([d.text for d in new], keep=keep) if new else None)


def _in_batches(items: Iterable[Item], recipe: Recipe, most: int) -> Iterator[list[Incoming]]:
    """The documents in batches of bounded size, none of which has more than `most` documents."""
    documents = map(incoming, items)
    for first in documents:
        some = itertools.chain([first], itertools.islice(documents, most - 1))
        yield from batched_by_weight(some, lambda document: len(document.text) + recipe.slots)
