"""The queue of documents that SQL has changed and that are not indexed yet.

To index a document alone takes ten times as long as in a batch. So a change in a transaction of the host is
only queued, in the same transaction: a rollback undoes it. The next user of the index takes the queue. Must
never make a sketch.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import apsw

from docindex.storage.followed import rows as app_rows
from docindex.storage.rows import document_lookup
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.statements import PREFIX, checked_counter, rows, stream

_SOME = "select key, id, text, meta from main.docindex_pending order by id, key"
_PUT = "insert or replace into main.docindex_pending (key, id, text, meta) values (?, ?, ?, ?)"
_KNOWN = (
    "select (select id from main.docindex_pending where key = ?1) as queued_or_null, "
    "(select id from main.docindex_document where key = ?1) as stored_or_null, "
    "exists (select 1 from main.docindex_source), "
    "exists (select 1 from main.sqlite_schema where type = 'trigger' and tbl_name glob 'docindex_*')"
)
# The counter of the table gives the id now, so that no other document gets it.
_NEXT_ID = f"update main.sqlite_sequence set seq = seq + 1 where name = '{PREFIX}document' returning seq"
_FIRST_ID = f"insert into main.sqlite_sequence (name, seq) values ('{PREFIX}document', 1)"


class QueuedDocument(NamedTuple):
    """A document of the queue."""

    key: str
    id: int
    text: str
    meta: str | None


def queue(db: apsw.Connection, document: Incoming) -> int | None:
    """Queue a document, with the meta that it keeps, and return the id that it has or will have.

    None if the host has triggers on the tables of the index. They may refuse a document, and a refused one
    must not wait in the queue.
    """
    queued, stored, has_sources, has_rules = rows(db, _KNOWN, (document.key,))[0]
    if has_sources:
        app_rows.refuse_rows(db, [document.key])
    if has_rules:
        return None
    if document.keeps_meta and (queued or stored):
        document.meta = document_lookup.present_meta(db, document.key)
    number: int = queued or stored or _next_id(db)
    db.execute(_PUT, (document.key, number, document.text, document.meta))
    return number


def _next_id(db: apsw.Connection) -> int:
    found = rows(db, _NEXT_ID)
    if not found:
        db.execute(_FIRST_ID)
    return checked_counter(db, "document", found[0][0] if found else 1)


def known_id(db: apsw.Connection, key: str) -> int | None:
    """The id of a document that is in the queue or in the index; None for an unknown key."""
    queued, stored, *_ = rows(db, _KNOWN, (key,))[0]
    found: int | None = queued or stored
    return found


def take(db: apsw.Connection) -> list[QueuedDocument]:
    """Take documents out of the queue in the order of their ids, as many as memory should hold."""
    some = list(_bounded(db))
    db.executemany("delete from main.docindex_pending where key = ?", [(row.key,) for row in some])
    return some


def _bounded(db: apsw.Connection) -> Iterator[QueuedDocument]:
    characters = 0
    for columns in itertools.islice(stream(db, _SOME), app_rows.MOST_ROWS):
        row = QueuedDocument(*columns)
        yield row
        characters += len(row.text)
        if characters >= app_rows.MOST_CHARACTERS:
            return
