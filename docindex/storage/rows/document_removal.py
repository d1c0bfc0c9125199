"""Remove documents, and contents that no document has any longer, in bulk.

Takes ids of documents or contents, inside a transaction that the caller has begun. Deletes the rows of many
documents table by table, each in the order of the table: one document after the other changes the same pages
again and again. Postings stay in the inverted index until a merge deletes them. Must never decide which
documents to remove.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw
import numpy as np

from docindex.arrays.ranges import I64
from docindex.sketching.text_parts import EXTERNAL
from docindex.storage import tallies
from docindex.storage.other_connection import bound_array
from docindex.storage.rows import extractions
from docindex.storage.rows.batch_rows import PART_BITS
from docindex.storage.rows.content_writer import SET_KEPT
from docindex.storage.rows.contents import PARTS, content_row, damaged_content, part_ids
from docindex.storage.statements import PREFIX, counter, row_sum, rows, rows_for, value

REMOVED_AT_A_TIME = 50_000
"""Remove at most this many documents with one call, which then takes 50 MB of memory.

With 10,000, removing 100,000 of a million short texts takes a quarter more time. A cache of 192 MB in place
of SQLite's 16 MB would save less than a tenth.
"""

# The rows of this many contents are in memory at a time; each takes about a kilobyte.
_CONTENTS_AT_A_TIME = 4096

_FOUND = "select d.id, d.key from carray(?) as wanted cross join main.docindex_document as d on d."
_DELETE_DOCUMENTS = (
    "delete from main.docindex_document where id in (select value from carray(?) as wanted) "
    "returning content, sum"
)
_DELETE_SOURCED = (
    "delete from main.docindex_sourced where document in (select value from carray(?) as wanted)"
)
_USED = (
    "select value from carray(?) as wanted "
    "where exists (select 1 from main.docindex_document as d where d.content = wanted.value)"
)
_DELETE_SAMPLES = "delete from main.docindex_sample where content in (select value from carray(?) as wanted)"
_DELETE_CONTENTS = (
    "delete from main.docindex_content where id in (select value from carray(?) as wanted) returning id, sum"
)
_INSERT_DEAD = "insert into main.docindex_dead (content, segment) values (?, ?)"
_EXTERNAL = (
    "select t.id from carray(?) as wanted "
    f"cross join main.docindex_text as t on t.id = wanted.value and t.codec = {EXTERNAL}"
)
_SOURCED = (
    "select s.source from main.docindex_document as d "
    "join main.docindex_sourced as s on s.document = d.id where d.content = ? limit 1"
)


class Found(NamedTuple):
    """A document to remove."""

    id: int
    key: str


def with_keys(db: apsw.Connection, keys: Sequence[str]) -> dict[str, Found]:
    """The documents with some keys. An unknown key is left out."""
    if not keys:
        return {}
    found = rows(db, f"{_FOUND}key = wanted.value", (bound_array(db, tuple(keys)),))
    return {row[1]: Found(*row) for row in found}


def with_ids(db: apsw.Connection, ids: I64) -> dict[int, Found]:
    """The documents with some ids. An unknown id is left out."""
    found = rows_for(db, f"{_FOUND}id = wanted.value", ids)
    return {row[0]: Found(*row) for row in found}


def remove_document(db: apsw.Connection, key: str) -> bool:
    """Remove the document with a key, if there is one. Returns whether there was one."""
    number = value(db, "select id from main.docindex_document where key = ?", (key,))
    if number is None:
        return False
    remove_documents(db, [number])
    return True


def remove_documents(db: apsw.Connection, ids: Sequence[int]) -> None:
    """Remove the documents with some ids, and those of their contents that no other document has."""
    if not ids:
        return
    wanted = np.sort(np.array(ids, np.int64))
    gone = rows_for(db, _DELETE_DOCUMENTS, wanted)
    db.execute(_DELETE_SOURCED, (bound_array(db, wanted),))
    extractions.remove(db, wanted.tolist())
    tallies.note(db, "document", removed=[sum_ for _, sum_ in gone])
    drop_unused(db, [content for content, _ in gone])


def drop_unused(db: apsw.Connection, contents: Iterable[int]) -> None:
    """Remove those of the given contents that no document has."""
    given = np.unique(np.array(list(contents), np.int64))
    if not len(given):
        return
    used = np.array(rows_for(db, _USED, given), np.int64).ravel()
    _forget_external_texts(db, used)
    unused = np.setdiff1d(given, used, assume_unique=True)
    if not len(unused):
        return
    for begin in range(0, len(unused), _CONTENTS_AT_A_TIME):
        some = unused[begin : begin + _CONTENTS_AT_A_TIME]
        db.execute(_DELETE_SAMPLES, (bound_array(db, some),))
        gone = dict(rows_for(db, _DELETE_CONTENTS, some))
        if len(gone) < len(some):  # it is damaged, or the document that refers to it
            raise damaged_content(db, min(set(some.tolist()).difference(gone)))
        tallies.note(db, "content", removed=gone.values())
    for table in ("fingerprint", "text"):
        db.executemany(f"delete from main.{PREFIX}{table} where {PARTS}", map(part_ids, unused.tolist()))
    newest, dead = counter(db, "segment"), unused.tolist()  # each has traits, if no fingerprints
    db.executemany(_INSERT_DEAD, [(content, newest) for content in dead])


def _forget_external_texts(db: apsw.Connection, contents: I64) -> None:
    """Note which texts are no longer kept, because only a table of the app had them, and has them no more."""
    for (number,) in rows_for(db, _EXTERNAL, contents << PART_BITS):
        content = number >> PART_BITS
        if value(db, _SOURCED, (content,)) is None:
            row = content_row(db, content)
            before, after = row_sum(*row), row_sum(*row._replace(kept=0))
            db.execute(SET_KEPT, (0, after, content))
            tallies.note(db, "content", added=[after], removed=[before])
            db.execute("delete from main.docindex_text where id = ?", (number,))
