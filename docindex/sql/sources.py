"""Find the index that an SQL function reads or writes.

There are two sources: an index that was given to `register`, and the databases of the connection. Each takes
the name of a schema, or None for the first database that is an index, and gives an `Index`. Must never
write.

`asked` decides which text or document an argument means. TEXT is always a text, and an INTEGER is the id of a
document. TEXT that is exactly the key of a document is an error: whoever writes a key means the document, and
would get a silent 0.0 for the text "ada.txt".
"""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple, Protocol, cast

import apsw

from docindex.arguments import shown
from docindex.errors import NotAnIndex
from docindex.index.following import remove_all
from docindex.index.index import Index, open_scope
from docindex.query.resolve import Id, Text, kept_text, resolve, unknown
from docindex.query.scope import Scope
from docindex.recipe import Recipe
from docindex.sql.sql_values import Value, text_or_id
from docindex.storage import migrations
from docindex.storage.file.connection import Store
from docindex.storage.followed import schema as app_schema
from docindex.storage.followed import tables
from docindex.storage.hosts import index_there
from docindex.storage.hosts.connections import Host
from docindex.storage.hosts.index_there import HostTransactions, change_of_its_own
from docindex.storage.migrations import Version
from docindex.storage.rows.documents import id_of, is_key
from docindex.storage.tables import SourceRow


class IndexSource(Protocol):
    """A place where functions find an index."""

    def reader(self, schema: str | None = None) -> Index:
        """The index in a schema; `NotAnIndex` if there is no such index."""

    def first(self) -> Index | None:
        """The first index, or None. Functions that take only texts need no index."""

    def refuse_interrupted(self) -> None:
        """Raise an error if the host has interrupted its connection, or a time limit has passed."""


class GivenIndex:
    """The index that was given to `register`. It is used on any connection."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def reader(self, schema: str | None = None) -> Index:
        """The given index; `NotAnIndex` if a schema is named."""
        if schema is not None:
            raise NotAnIndex(
                f"the schema {schema!r} cannot be used, because an index was given to register; leave it out",
                schema,
            )
        return self._index

    def first(self) -> Index:
        """The given index."""
        return self._index

    def refuse_interrupted(self) -> None:
        """Do nothing: nobody knows the connection."""


class LocatedIndex(NamedTuple):
    """An index in a database of a host's connection."""

    transactions: HostTransactions
    reader: Index
    version: Version


class ConnectionDatabases:
    """The databases of a connection, read on that connection, inside its own transaction."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._known: dict[str, LocatedIndex] = {}

    def located(self, schema: str | None = None) -> LocatedIndex:
        """The index in a schema, with its transactions."""
        name = "main" if schema is None else schema
        with self.host.undisturbed(name) as db:
            return self._unchanged(name) or self._in_schema(_index_schema(db, schema))

    @contextlib.contextmanager
    def changing(self, schema: str | None = None) -> Iterator[tuple[LocatedIndex, bool]]:
        """The same, for a change that is done completely or not at all; and whether it is alone.

        `host_connection.Change` says what that means.
        """
        with self.host.undisturbed(schema or "main") as db, change_of_its_own(db) as change:
            place = self._locked(db, schema)
            if place is not None:
                change.locked.append(place.transactions.schema)
                yield place, change.is_alone
            else:
                yield self.located(schema), True  # raises the error that fits

    @contextlib.contextmanager
    def queueing(self, schema: str | None = None) -> Iterator[LocatedIndex | None]:
        """The same, for a single row that waits in the queue; None if the host is not in a transaction."""
        with self.host.undisturbed(schema or "main") as db:
            yield self._locked(db, schema) if db.in_transaction else None

    def _locked(self, db: apsw.Connection, schema: str | None) -> LocatedIndex | None:
        """The index in a schema, whose tables are locked; None if there is no such index."""
        # Nothing is read before: a transaction that has read does not wait for another writer.
        for name in self._names(db) if schema is None else [schema]:
            if index_there.lock_tables(db, name) and (place := self._if_index(db, name)):
                return place
        return None

    def reader(self, schema: str | None = None) -> Index:
        """The index in a schema."""
        return self.located(schema).reader

    def first(self) -> Index | None:
        """The first database that is an index, or None."""
        with self.host.undisturbed() as db:
            if known := self._unchanged("main"):
                return known.reader
            schemas = index_there.index_schemas(db)
            return self._in_schema(schemas[0]).reader if schemas else None

    def refuse_interrupted(self) -> None:
        """Raise an error if the host has interrupted its connection, or a time limit has passed."""
        with self.host.undisturbed():
            self.host.refuse_interrupted()

    def follow(self, schema: str, source: SourceRow) -> None:
        """Let the index in a database follow a table there. Makes the index if it is missing."""
        with self.host.undisturbed(schema):
            db = self.host.database(schema)
            app_schema.as_in_schema(db, source)  # first, so that a mistake makes no index
            if not migrations.has_index(db):
                migrations.make_index(db, Recipe())
            place = self.located(schema)
            with place.transactions.writing(indexes_queue=False) as writing:
                tables.follow(writing, source)

    def unfollow(self, schema: str, name: str) -> None:
        """Let the index in a database no longer follow a table, and remove its documents."""
        place = self.located(schema)
        with (
            # The queue may have rows that cannot be indexed here: then this is the way out.
            place.transactions.writing(indexes_queue=False) as db,
            contextlib.suppress(KeyError),  # it was unfollowed before
        ):
            remove_all(db, tables.unfollow(db, name))

    def _names(self, db: apsw.Connection) -> Iterator[str]:
        """The names of all databases. The main one is most often right, and asking is a statement."""
        if "main" in self._known:
            yield "main"
        yield from index_there.all_schemas(db)

    def _if_index(self, db: apsw.Connection, schema: str) -> LocatedIndex | None:
        if known := self._unchanged(schema):
            return known
        return self._in_schema(schema) if migrations.is_index(db, schema, newer=False) else None

    def _unchanged(self, schema: str) -> LocatedIndex | None:
        """A known index, if its database still is an index with the same recipe. Costs two statements."""
        known = self._known.get(schema)
        with contextlib.suppress(apsw.SQLError):  # no such database, or no such table
            if known is not None and migrations.version_of(known.transactions.database) == known.version:
                return known
        return None

    def _in_schema(self, schema: str) -> LocatedIndex:
        """The index in a database that is an index."""
        if known := self._unchanged(schema):
            return known
        transactions = HostTransactions(self.host, schema)
        db = transactions.database
        recipe = migrations.stored_recipe(db, transactions.path)
        # Questions need only the transactions of a store. Changes do not go through this index.
        reader = Index(cast("Store", transactions), recipe)
        located = self._known[schema] = LocatedIndex(transactions, reader, migrations.version_of(db))
        return located


def _index_schema(db: apsw.Connection, wanted: str | None) -> str:
    """The name of a schema that is an index: the wanted one, or the first."""
    names = index_there.all_schemas(db)
    if wanted is not None:
        if wanted not in names or not migrations.is_index(db, wanted):
            raise _not_an_index(wanted, names)
        return wanted
    for name in index_there.index_schemas(db):
        return name
    for name in names:
        migrations.is_index(db, name)  # raises SchemaTooNew, which says more than the error below
    raise _no_index(names)


def full_text(reader: Index, query: str | Id) -> str:
    """The text of a query to an index; `TextNotKept` for a document whose text is not kept."""
    with open_scope(reader, boilerplate=False) as scope:
        return kept_text(scope.db, resolve(scope.db, query))


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


def asked(reader: Index | None, *values: Value) -> list[Text | Id]:
    """The texts and documents that some arguments of a question to an index mean.

    `ValueError` for TEXT that is the key of a document; `TypeError` for a value that means nothing.
    """
    if reader is None or not any(isinstance(value, str) for value in values):
        return [text_or_id(value) for value in values]
    with open_scope(reader, boilerplate=False) as scope:
        return asked_in(scope, *values)


def asked_in(scope: Scope, *values: Value) -> list[Text | Id]:
    """The same, for a question that has begun already."""
    found = [text_or_id(value) for value in values]
    for value in values:
        if isinstance(value, str) and is_key(scope.db, value):
            raise ValueError(
                f"{shown(value)} is the key of a document; write doc_key(...) for that document, "
                "or doc_literal(...) for the text"
            )
    return found


def document_with_key(reader: Index, key: str) -> int:
    """The id of the document with a key. For an unknown key, a `ValueError` with a similar key."""
    with open_scope(reader, boilerplate=False) as scope:
        found = id_of(scope.db, key)
        if found is not None:
            return found
        error = unknown(scope.db, key)
    raise ValueError(str(error)) from error
