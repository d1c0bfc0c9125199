"""`docindex.Index`: an index of documents in one file, which its base classes read and change.

Opens and closes the file, maintains it, and runs the statements of users. Must never contain SQL.
"""

import contextlib
import functools
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from docindex.arrays.ranges import I64
from docindex.errors import DocIndexError
from docindex.index.hints import Hints
from docindex.index.pending_changes import index_some
from docindex.index.sketch_exchange import SketchExchange
from docindex.recipe import Recipe
from docindex.storage import check, maintenance
from docindex.storage.file import user_sql
from docindex.storage.file.connection import Connection, Store
from docindex.storage.file.connector import MEMORY
from docindex.storage.file.user_sql import Rows, UserBindings
from docindex.storage.maintenance import Stats
from docindex.storage.postings import lookup, segment_writer


class Index(SketchExchange):
    """An index of documents in one file, opened by `docindex.open`. Threads can share it.

    - ``len(index)`` is the number of documents
    - ``index[key]`` is a `Document`, or raises `UnknownKey`, a `KeyError`
    - ``key in index`` tells whether there is a document with this key
    - iterating gives the keys in ascending order. It may or may not include documents that are added or
      removed during the iteration
    """

    def __init__(self, store: Store, recipe: Recipe, add_functions: Callable[[Connection], None]) -> None:
        """`add_functions` registers docindex's SQL functions on a connection, for `execute`."""
        super().__init__(store, recipe)
        store.index_pending = functools.partial(index_some, recipe=recipe)
        self._hints = Hints(recipe)
        self._add_functions = add_functions
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

    def __repr__(self) -> str:
        state = "closed or busy"
        with contextlib.suppress(DocIndexError, ValueError):
            count = len(self)
            state = f"{count:,} document{'' if count == 1 else 's'}"
        return f"<docindex.Index {self.path!r}: {state}>"

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
            return lookup.document_frequencies(db)
