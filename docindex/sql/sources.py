"""Where functions of a connection find an index: on it, in its files, or the one that was given.

In: the name of a schema, or None for the first one that is an index. Out: what can be asked of it.
"""

import atexit
import contextlib
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import apsw

from docindex.errors import Cancelled, NotAnIndex, UnreadableFile
from docindex.index.reader import IndexReader
from docindex.storage import host_connection, migrations
from docindex.storage.connection import Connection, Store, Transactions
from docindex.storage.host_connection import Borrowed

_TIMEOUT_S = 10.0
_STEPS = 1000  # of SQLite's between two looks at the clock: some 10 us


class IndexSource(Protocol):
    """Where functions find an index."""

    def reader(self, schema: str | None = None) -> IndexReader:
        """What the index of a schema can be asked; `NotAnIndex` where there is none."""

    def has_index(self) -> bool:
        """Whether there is any, for functions that can do without."""


class Given:
    """One index, whatever the connection."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index

    def reader(self, schema: str | None = None) -> IndexReader:
        """That index; it has no schemas."""
        if schema is not None:
            raise NotAnIndex(f"there is no schema {schema!r}, for one index was given to register", schema)
        return self._index

    def has_index(self) -> bool:
        """There is."""
        return True


class LocatedIndex(NamedTuple):
    """An index in a database of a connection."""

    transactions: Borrowed
    reader: IndexReader


class Here:
    """The databases of an apsw connection, read on that connection, in the transaction that it has."""

    def __init__(self, db: apsw.Connection) -> None:
        # The connection holds the functions: were they to hold it, it would never be closed.
        self._connection = weakref.ref(db)
        self._known: dict[str, LocatedIndex] = {}

    def place(self, schema: str | None = None) -> LocatedIndex:
        """An index on this connection."""
        db = self.connection
        with host_connection.without_traces(db):
            schema = self._schema(db, schema)
            transactions = Borrowed(db, schema)
            recipe = transactions.recipe()
        known = self._known.get(schema)
        if known is None or (known.transactions.path, known.reader.recipe) != (transactions.path, recipe):
            known = self._known[schema] = LocatedIndex(transactions, IndexReader(transactions, recipe))
        return known

    def _schema(self, db: apsw.Connection, wanted: str | None) -> str:
        """The schema of an index: the one that is wanted, or the first."""
        names = [name for name in db.db_names() if name != "temp"]
        if wanted is not None:
            if wanted not in names or not migrations.is_index(db, wanted):
                raise _not_an_index(wanted, names)
            return wanted
        for name in host_connection.schemas(db):
            return name
        for name in names:
            migrations.is_index(db, name)  # if it is one from the future, that is what has to be said
        raise _nowhere(names)

    def reader(self, schema: str | None = None) -> IndexReader:
        """What an index on this connection can be asked."""
        return self.place(schema).reader

    def has_index(self) -> bool:
        """Whether one of the databases is an index."""
        db = self.connection
        with host_connection.without_traces(db):
            return bool(host_connection.schemas(db))

    @property
    def connection(self) -> apsw.Connection:
        """The connection, which is there as long as its functions are called."""
        connection = self._connection()
        if connection is None:
            raise ValueError("the connection is closed")
        return connection


class Beside:
    """The files of a connection of Python's sqlite3, as they were when this was made; read beside it.

    What the connection has not committed is not seen. What takes longer than `limit_s` is `Cancelled`.
    """

    def __init__(self, connection: sqlite3.Connection, limit_s: float | None) -> None:
        self._names, self._indexes = _databases(connection)
        self._limit_s = limit_s
        self._known: dict[str, tuple[Store, IndexReader]] = {}
        self._deadline = 0.0

    def begin(self) -> None:
        """Now a question begins."""
        if self._limit_s is not None:
            self._deadline = time.monotonic() + self._limit_s

    def reader(self, schema: str | None = None) -> IndexReader:
        """What an index in a file of the connection can be asked."""
        name = next(iter(self._indexes), None) if schema is None else schema
        if name is None:
            raise _nowhere(self._names)
        if name not in self._indexes:
            raise _not_an_index(name, self._names)
        store = _opened(self._indexes[name])
        known = self._known.get(name)
        if known is None or known[0] is not store:
            timed: Transactions = store if self._limit_s is None else _Timed(store, self)
            known = self._known[name] = store, IndexReader(timed, migrations.prepare(store, None))
        return known[1]

    def has_index(self) -> bool:
        """Whether one of the databases was an index."""
        return bool(self._indexes)

    def over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._deadline

    def refuse_late(self, path: str) -> None:
        """`Cancelled` once the time is over."""
        if self.over():
            raise Cancelled(
                f"the question was not answered within {self._limit_s} s, and was cancelled", path
            )


class _Timed:
    """Readings that end when the time is over."""

    def __init__(self, store: Store, clock: Beside) -> None:
        self.path = store.path
        self._store = store
        self._clock = clock

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._store.reading() as db:
            db.set_progress_handler(self._clock.over, _STEPS)
            try:
                yield db
            except apsw.InterruptError:
                self._clock.refuse_late(self.path)
                raise
            finally:
                db.set_progress_handler(None)

    def writing(self) -> contextlib.AbstractContextManager[Connection]:
        return self._store.writing()

    def cancels(self) -> int:
        return self._store.cancels()

    def refuse_cancelled(self, before: int) -> None:
        self._clock.refuse_late(self.path)
        self._store.refuse_cancelled(before)


_lock = threading.Lock()
_stores: dict[tuple[str, int, int], Store] = {}
_anchors: list[sqlite3.Connection] = []


def _opened(path: str) -> Store:
    """The store for a file that sqlite3 has open as well: one for the process, which is never closed.

    Python's sqlite3 and apsw are two copies of SQLite. When one of them closes a file, Unix drops all locks
    that this process has on it, also those of the other copy. So from now on neither closes this one.
    """
    absolute = Path(path).absolute()
    try:
        there = absolute.stat()
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read any more: {error.strerror}", path) from error
    # By its name, too: a store opens further connections by the name that it has.
    file = (str(absolute), there.st_dev, there.st_ino)
    with _lock:
        store = _stores.get(file)
        if store is None:
            uri = f"{absolute.as_uri()}?mode=ro"
            anchor = sqlite3.connect(uri, uri=True, check_same_thread=False)
            _anchors.append(anchor)
            # In a folder that cannot be written nobody has locks.
            with contextlib.suppress(sqlite3.OperationalError):
                anchor.execute("select 1 from sqlite_schema").fetchall()
            store = Store(str(absolute), readonly=True, durability="full", timeout_s=_TIMEOUT_S)
            _stores[file] = store
        return store


@atexit.register
def _close() -> None:
    for store in _stores.values():
        store.close()
    for anchor in _anchors:
        anchor.close()


def _databases(connection: sqlite3.Connection) -> tuple[list[str], dict[str, str]]:
    """The names of a connection's databases, and the paths of those that are indexes."""
    cursor, texts = connection.cursor(), connection.text_factory
    cursor.row_factory, connection.text_factory = None, str
    try:
        there = [(name, path) for _, name, path in cursor.execute("pragma database_list") if name != "temp"]
        found = {}
        for name, path in there:
            quoted = name.replace('"', '""')
            # A file that is locked now, or no database at all, is its caller's business.
            with contextlib.suppress(sqlite3.DatabaseError):
                ((application,),) = cursor.execute(f'pragma "{quoted}".application_id')
                if path and application == migrations.APPLICATION_ID:
                    found[name] = path
        return [name for name, _ in there], found
    finally:
        connection.text_factory = texts


def _nowhere(names: list[str]) -> NotAnIndex:
    return NotAnIndex(
        f"none of the databases here ({', '.join(names)}) is a docindex index; "
        "attach one, or give one to docindex.register",
        names[0],
    )


def _not_an_index(schema: str, names: list[str]) -> NotAnIndex:
    return NotAnIndex(
        f"{schema!r} is not a docindex index among the databases here ({', '.join(names)}); "
        "attach it under this name first",
        schema,
    )
