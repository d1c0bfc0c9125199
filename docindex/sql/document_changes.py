"""Change documents with SQL: what the table `doc_index` and the functions `doc_put` and `doc_remove` share.

Takes SQL values; checks them, and stores or removes documents. Must never begin or commit a transaction of
the host.
"""

import contextlib
import json
from collections.abc import Iterator
from types import EllipsisType
from typing import Any

import apsw

from docindex.arguments import shown
from docindex.errors import Refused
from docindex.index.adding import write_documents
from docindex.index.items import checked_key, incoming
from docindex.sql.scalars import Functions
from docindex.sql.sources import ConnectionDatabases, IndexSource, LocatedIndex
from docindex.sql.sql_values import Value, as_text, schema_name
from docindex.storage import pending
from docindex.storage.followed import rows
from docindex.storage.rows import document_removal
from docindex.storage.rows.documents import id_of
from docindex.storage.rows.incoming_documents import Incoming


class DocumentChanges:
    """The functions `doc_put` and `doc_remove` for the indexes of one source."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def all(self) -> Functions:
        """The functions."""
        return {
            "doc_put": (self.put, (2, 3, 4)),
            "doc_remove": (self.remove, (1, 2)),
            "doc_flush": (self.flush, (0, 1)),
        }

    def put(self, key: Value, text: Value, meta: Value | EllipsisType = ..., schema: Value = None) -> Value:
        """Store a document, or replace the one with its key, which keeps its meta if none is given.

        Returns its id.
        """
        item = as_text("key", key), as_text("text", text)
        document = incoming(item if meta is ... else (*item, meta_from_json(meta)))
        number = self._queued(document, schema)
        if number is not None:
            return number
        with self._changing(schema) as (db, place, is_alone):
            number = None if is_alone else pending.queue(db, document)
            if number is not None:
                return number
            place.transactions.index_waiting_now()
            return put_document(db, place, document)

    def remove(self, key: Value, schema: Value = None) -> Value:
        """Remove a document. Returns 1, or 0 if there is no such document."""
        name = checked_key(as_text("key", key))
        with self._changing(schema) as (db, place, _):
            place.transactions.index_waiting_now()
            rows.refuse_rows(db, [name])
            return int(document_removal.remove_document(db, name))

    def flush(self, schema: Value = None) -> Value:
        """Index the documents that are queued now. Returns their number."""
        with self._changing(schema) as (_, place, _):
            return place.transactions.index_waiting_now()

    def _queued(self, document: Incoming, schema: Value) -> int | None:
        """Queue a document in a transaction of the host, and return its id; None if it cannot be queued.

        A savepoint would protect nothing: what is queued is one row. In a trigger SQLite refuses savepoints,
        and this error took a third of the time of a change.
        """
        with self._databases().queueing(schema_name(schema)) as place:
            if place is None:
                return None
            with place.transactions.refusals():
                return pending.queue(place.transactions.database, document)

    @contextlib.contextmanager
    def _changing(self, schema: Value) -> Iterator[tuple[apsw.Connection, LocatedIndex, bool]]:
        """A connection for a change, the index to change, and whether the change is alone."""
        databases = self._databases()
        with databases.changing(schema_name(schema)) as (place, is_alone), place.transactions.refusals():
            yield place.transactions.database, place, is_alone

    def _databases(self) -> ConnectionDatabases:
        if not isinstance(self._source, ConnectionDatabases):
            raise ValueError(
                "SQL cannot change an index that was given to register; use its methods add and remove, "
                "or call register without an index"
            )
        return self._source


def put_document(db: apsw.Connection, place: LocatedIndex, document: Incoming) -> int:
    """Store a document, and return its id."""
    write_documents(db, [document], place.reader.recipe, store_text=True)
    number = id_of(db, document.key)
    if number is None:
        path = place.transactions.path
        raise Refused(f"doc_index: a trigger in {path} refused {shown(document.key)}", path)
    return number


def meta_from_json(value: Value) -> Any:
    """The meta that is written as JSON."""
    if value is None:
        return None
    try:
        return json.loads(as_text("meta", value))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"meta must be JSON, not {shown(value)}") from error
