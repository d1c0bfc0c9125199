"""Index the documents that triggers and SQL functions have queued.

Takes a connection inside a transaction that may write. Must never begin or end a transaction.
"""

import logging
from collections.abc import Iterable, Iterator

import apsw

from docindex.errors import OutOfDate
from docindex.index.document_writer import write_documents
from docindex.index.items import incoming, meta_of_column
from docindex.recipe import Recipe
from docindex.sketching.text_parts import EXTERNAL
from docindex.storage import app_tables, content_writer, contents, pending
from docindex.storage.content_writer import Incoming
from docindex.storage.pending import QueuedDocument
from docindex.storage.values import can_be_stored

_log = logging.getLogger("docindex")


def index_pending(db: apsw.Connection, recipe: Recipe) -> int:
    """Index all queued documents in batches, and return their number."""
    count = 0
    for some in pending.taken(db):
        count += len(some)
        documents = [_direct(row) for row in some if row.source is None]
        for name in {row.source for row in some if row.source is not None}:
            keys = [row.key for row in some if row.source == name]
            try:
                documents += _of_source(db, name, keys, recipe)
            except (OutOfDate, KeyError) as error:  # it must not stop all questions; check() names it, too
                _log.warning("Changed rows of the table %s are not indexed: %s", name, error)
        if documents:
            write_documents(db, documents, recipe, store_text=True)
    return count


def _direct(row: QueuedDocument) -> Incoming:
    return Incoming(row.key, row.text or "", row.meta, contents.text_hash(row.text or ""), id=row.id)


def _of_source(db: apsw.Connection, name: str, keys: list[str], recipe: Recipe) -> Iterator[Incoming]:
    """The documents that rows of a table are now. Removes those whose rows are gone."""
    found = app_tables.read(db, app_tables.source(db, name), keys)
    gone = [key for key in keys if key not in found]
    remove_all(db, app_tables.own_keys(db, name, gone), recipe)
    for key, (text, meta) in found.items():
        if not can_be_stored(key):
            _log.warning("A row of the table %s is not indexed: its key has NUL characters.", name)
            continue
        document = incoming((key, text, meta_of_column(meta)))
        document.source, document.parts = name, [(EXTERNAL, name.encode())]
        yield document


def remove_all(db: apsw.Connection, keys: Iterable[str], recipe: Recipe) -> None:
    """Remove the documents with some keys, if there are any."""
    for key in keys:
        content_writer.remove_document(db, key, recipe)
