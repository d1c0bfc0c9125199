"""Find the index that an SQL function reads.

There are three sources: an index that was given to `register`, the databases of a connection of apsw, and the
files of a connection of Python's sqlite3. Each takes the name of a schema, or None for the first database
that is an index, and gives an `IndexReader`. Must never write.
"""

import contextlib
import sqlite3
import time
import weakref
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import apsw

from docindex.errors import Cancelled, NotAnIndex
from docindex.index.reader import IndexReader, open_scope
from docindex.query.fingerprint_positions import approximate_counts
from docindex.query.resolve import Id, kept_text, resolve
from docindex.storage import host_connection, migrations
from docindex.storage.connection import Connection, Store, Transactions
from docindex.storage.host_connection import HostTransactions
from docindex.storage.sqlite3_files import attached_files, shared_store

_STEPS = 1000  # instructions of SQLite's virtual machine between two looks at the clock: about 10 us


class IndexSource(Protocol):
    """A place where functions find an index."""

    def reader(self, schema: str | None = None) -> IndexReader:
        """The index in a schema; `NotAnIndex` if there is no such index."""

    def has_index(self) -> bool:
        """Whether there is an index. Functions that take only texts need no index."""


class GivenIndex:
    """The index that was given to `register`. It is used on any connection."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index

    def reader(self, schema: str | None = None) -> IndexReader:
        """The given index; `NotAnIndex` if a schema is named."""
        if schema is not None:
            raise NotAnIndex(
                f"the schema {schema!r} cannot be used, because an index was given to register; leave it out",
                schema,
            )
        return self._index

    def has_index(self) -> bool:
        """Always true."""
        return True


class LocatedIndex(NamedTuple):
    """An index in a database of an apsw connection."""

    transactions: HostTransactions
    reader: IndexReader


class ConnectionDatabases:
    """The databases of an apsw connection, read on that connection, inside its own transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        # The connection owns the functions. If they owned the connection too, nothing would ever close it.
        self._connection = weakref.ref(db)
        self._known: dict[str, LocatedIndex] = {}

    def located(self, schema: str | None = None) -> LocatedIndex:
        """The index in a schema, with its transactions."""
        db = self.connection
        with host_connection.without_traces(db):
            schema = self._index_schema(db, schema)
            transactions = HostTransactions(db, schema)
            recipe = transactions.recipe()
        known = self._known.get(schema)
        if known is None or (known.transactions.path, known.reader.recipe) != (transactions.path, recipe):
            known = self._known[schema] = LocatedIndex(transactions, IndexReader(transactions, recipe))
        return known

    def _index_schema(self, db: apsw.Connection, wanted: str | None) -> str:
        """The name of a schema that is an index: the wanted one, or the first."""
        names = [name for name in db.db_names() if name != "temp"]
        if wanted is not None:
            if wanted not in names or not migrations.is_index(db, wanted):
                raise _not_an_index(wanted, names)
            return wanted
        for name in host_connection.index_schemas(db):
            return name
        for name in names:
            migrations.is_index(db, name)  # raises SchemaTooNew, which says more than the error below
        raise _no_index(names)

    def reader(self, schema: str | None = None) -> IndexReader:
        """The index in a schema."""
        return self.located(schema).reader

    def has_index(self) -> bool:
        """Whether one of the databases is an index."""
        db = self.connection
        with host_connection.without_traces(db):
            return bool(host_connection.index_schemas(db))

    @property
    def connection(self) -> apsw.Connection:
        """The connection. It exists whenever SQLite calls one of its functions."""
        connection = self._connection()
        if connection is None:
            raise ValueError("the connection is closed")
        return connection


class ConnectionFiles:
    """The files that a connection of Python's sqlite3 had attached when this object was made.

    docindex reads them on connections of its own, so it sees only committed changes. A question that takes
    longer than `limit_s` raises `Cancelled`.
    """

    def __init__(self, connection: sqlite3.Connection, limit_s: float | None) -> None:
        self._names, self._indexes = attached_files(connection)
        self._limit_s = limit_s
        self._known: dict[str, tuple[Store, IndexReader]] = {}
        self._deadline = 0.0

    @property
    def has_limit(self) -> bool:
        """Whether questions have a time limit."""
        return self._limit_s is not None

    def start_clock(self) -> None:
        """Start the time limit of a question."""
        if self._limit_s is not None:
            self._deadline = time.monotonic() + self._limit_s

    def reader(self, schema: str | None = None) -> IndexReader:
        """The index in a file of the connection."""
        name = next(iter(self._indexes), None) if schema is None else schema
        if name is None:
            raise _no_index(self._names)
        if name not in self._indexes:
            raise _not_an_index(name, self._names)
        store = shared_store(self._indexes[name])
        known = self._known.get(name)
        if known is None or known[0] is not store:
            timed: Transactions = store if self._limit_s is None else _TimedStore(store, self)
            known = self._known[name] = store, IndexReader(timed, migrations.prepare(store, None))
        return known[1]

    def has_index(self) -> bool:
        """Whether one of the files is an index."""
        return bool(self._indexes)

    def is_late(self) -> bool:
        """Whether the time limit has passed."""
        return time.monotonic() > self._deadline

    def refuse_late(self, path: str) -> None:
        """Raise `Cancelled` if the time limit has passed."""
        if self.is_late():
            raise Cancelled(
                f"the question was not answered within {self._limit_s:g} s, and was cancelled", path
            )


class _TimedStore:
    """A store that interrupts its read transactions when the time limit has passed."""

    def __init__(self, store: Store, clock: ConnectionFiles) -> None:
        self.path = store.path
        self._store = store
        self._clock = clock

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._store.reading() as db:
            db.set_progress_handler(self._clock.is_late, _STEPS)
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


def full_text(reader: IndexReader, query: str | Id) -> str:
    """The text of a query to an index; `TextNotKept` for a document whose text is not kept."""
    with open_scope(reader, boilerplate=False) as scope:
        return kept_text(scope.db, resolve(scope.db, query))


def document_count(reader: IndexReader) -> int:
    """The approximate number of documents in an index, for the plans of SQLite; very cheap."""
    with open_scope(reader, boilerplate=False) as scope:
        return approximate_counts(scope)[0]


def _no_index(names: list[str]) -> NotAnIndex:
    return NotAnIndex(
        f"no database of this connection ({', '.join(names)}) is a docindex index; "
        "attach one, or give one to docindex.register",
        names[0],
    )


def _not_an_index(schema: str, names: list[str]) -> NotAnIndex:
    return NotAnIndex(
        f"{schema!r} is not a docindex index among the databases of this connection ({', '.join(names)}); "
        "attach it under this name first",
        schema,
    )
