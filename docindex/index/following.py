"""Index what an app changed in the file: rows of the tables that `Index.follow` names, and the queue.

Triggers note the changed rows (`docindex.storage.followed.tables` makes them), and SQL functions queue
documents. Takes a connection inside a transaction that may write. Must never begin or end a transaction, and
must never contain SQL.
"""

import dataclasses
import logging
from collections.abc import Iterable

import apsw

from docindex.index.adding import write_documents
from docindex.index.items import incoming, meta_of_column
from docindex.recipe import Recipe
from docindex.sketching.text_parts import EXTERNAL
from docindex.storage import pending
from docindex.storage.followed import rows, schema, tables
from docindex.storage.followed.rows import AppRow
from docindex.storage.rows import contents, document_removal
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.tables import SourceRow

_log = logging.getLogger("docindex")


@dataclasses.dataclass(frozen=True, slots=True)
class Followed:
    """A table of an app whose rows are documents. An item of `Index.followed`."""

    table: str
    key: str
    """The column whose value follows `prefix` in the key of a document."""
    text: str
    """The column with the texts."""
    meta: str | None
    """The column with the meta, if there is one."""
    prefix: str
    documents: int
    """The number of rows that are documents."""


def index_some(db: apsw.Connection, recipe: Recipe) -> int:
    """Index as much of the queue as memory should hold. Returns how much that was: 0 for an empty queue."""
    queued = pending.take(db)
    if queued:
        taken = rows.others(db, [row.key for row in queued], None)
        _warn(taken, "rows of a followed table have these keys: %s")
        documents = [
            Incoming(row.key, row.text, row.meta, contents.text_hash(row.text), id=row.id)
            for row in queued
            if row.key not in taken
        ]
        _write(db, documents, recipe)
        return len(queued)
    name = rows.changed_source(db)
    return 0 if name is None else _index_rows(db, name, recipe)


def _index_rows(db: apsw.Connection, name: str, recipe: Recipe) -> int:
    """Make documents of changed rows of a table, and remove those whose rows are gone."""
    source = next((row for row in tables.sources(db) if row.name == name), None)
    if source is None or schema.is_gone(db, source):  # must not stop all questions; check() names it, too
        _log.warning("Changed rows of the table %s are not indexed: the table or a column is gone.", name)
        return rows.drop_changes(db, name)
    changes = rows.take_changes(db, source)
    if changes.without_key:
        _log.warning(
            "%d rows of the table %s are not indexed: their keys are not valid text.",
            changes.without_key,
            name,
        )
    _warn(changes.repeated, f"other rows of {name} have the same keys: %s")
    remove_all(db, changes.gone)
    taken = rows.others(db, [row.key for row in changes.rows], name)
    _warn(taken, f"other documents have the keys of these rows of {name}: %s")
    documents = [_document(source, row) for row in changes.rows if row.key not in taken]
    _write(db, documents, recipe)
    return changes.taken


def _write(db: apsw.Connection, documents: list[Incoming], recipe: Recipe) -> None:
    if documents:
        write_documents(db, documents, recipe, store_text=True)


def _warn(keys: set[str], reason: str) -> None:
    if keys:
        _log.warning("%d documents are not indexed; " + reason, len(keys), ", ".join(sorted(keys)[:5]))


def _document(source: SourceRow, row: AppRow) -> Incoming:
    document = incoming((row.key, row.text, meta_of_column(row.meta)))
    document.source, document.value = source.name, row.value
    document.parts = [(EXTERNAL, source.name.encode())]
    return document


def remove_all(db: apsw.Connection, keys: Iterable[str]) -> None:
    """Remove the documents with some keys, if there are any."""
    for key in keys:
        document_removal.remove_document(db, key)
