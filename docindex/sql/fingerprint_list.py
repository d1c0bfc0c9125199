"""The virtual table `fingerprint_list` of apsw: every fingerprint of the index (document, position, hash).

A condition `document = ...` or `hash = ...` is looked up in the index. A statement without such a condition
reads all fingerprints. Must never write.

It shows the 48 bits of a hash that the file keeps, as a number that is not negative.
"""

import functools
from collections.abc import Iterator

import apsw
import numpy as np

from docindex.index.index import open_scope
from docindex.query.scope import Scope, ScopeOpener
from docindex.sketching.sketches import HASH_SHIFT
from docindex.sql.sources import IndexSource
from docindex.sql.sql_values import Value, as_integer, schema_name
from docindex.sql.table_functions import Row
from docindex.sql.virtual_tables import (
    EQUAL,
    Condition,
    RowCursor,
    TakenValues,
    conditions_of,
    declaration,
    decoded,
)
from docindex.storage.postings import lookup
from docindex.storage.rows import contents, documents

_DOCUMENTS_AT_A_TIME = 1000

FingerprintPosition = tuple[int, int, int]
"""The id of a document, a position in symbols, and a hash."""


def fingerprint_positions(
    open_scope: ScopeOpener, *, document: int | None = None, hash_: int | None = None
) -> Iterator[FingerprintPosition]:
    """The positions of fingerprints: of one document, of one hash, of one hash in one document, or all.

    Reads one document or hash in each transaction, so that no transaction stays open while the caller works.
    """
    if document is None and hash_ is None:
        for number in _documents(open_scope):
            yield from fingerprint_positions(open_scope, document=number)
        return
    with open_scope() as scope:
        found = _of_hash(scope, hash_ or 0) if document is None else _in_document(scope, document)
    yield from (position for position in found if hash_ is None or position[2] == hash_)


def _documents(open_scope: ScopeOpener) -> Iterator[int]:
    """The ids of all documents, a thousand in each transaction."""
    last = 0
    while True:
        with open_scope() as scope:
            some = documents.listed(scope.db, last, _DOCUMENTS_AT_A_TIME)
        if not some:
            return
        yield from (document.id for document in some)
        last = some[-1].id


def _in_document(scope: Scope, document: int) -> list[FingerprintPosition]:
    """The fingerprints of a document in the order of their positions; empty if there is no such document."""
    link = documents.link_with_id(scope.db, document)
    if link is None:
        return []
    hashes, positions = contents.fingerprints_of(scope.db, link[1], scope.recipe.window)
    shown = (hashes >> HASH_SHIFT).tolist()
    return [(document, position, hash_) for position, hash_ in zip(positions.tolist(), shown, strict=True)]


def _of_hash(scope: Scope, shown: int) -> list[FingerprintPosition]:
    """The positions of a hash, ordered by document, then by position."""
    if not 0 <= shown < 1 << 64 - int(HASH_SHIFT):
        return []
    wanted = np.array([shown], np.uint64) << HASH_SHIFT
    # The inverted index may name contents that have only the high bits of the hash, or that were removed. The
    # first kind adds no position below; the second kind has no document.
    found = [np.empty(0, np.int64), *(some for _, some in lookup.look_up(scope.db, wanted))]
    places = []
    for content, _, document in scope.documents_of(np.unique(np.concatenate(found))):
        hashes, positions = contents.fingerprints_of(scope.db, content, scope.recipe.window)
        places += [(document, position, shown) for position in positions[hashes == wanted[0]].tolist()]
    return sorted(places)


_COLUMNS = ("document", "position", "hash")
_HIDDEN = ("schema",)
_NAMES = (*_COLUMNS, *_HIDDEN)
_LOOKED_UP = {"document", "hash"}

# The estimated rows of a hash, of a document and of the whole table, for the order of a join. The unit of
# cost is a row that SQLite reads: 0.2 us.
_OF_HASH, _OF_DOCUMENT, _ALL = 4, 500, 5_000_000
_LOOK_UP, _OUR_ROW = 500.0, 3.0


class FingerprintList:
    """The module of virtual tables for `fingerprint_list`, and its only table."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def Create(self, db: apsw.Connection, *_arguments: str) -> tuple[str, "FingerprintList"]:
        """Declare the table."""
        db.vtab_config(apsw.SQLITE_VTAB_INNOCUOUS)
        return declaration("fingerprint_list", _COLUMNS, _HIDDEN), self

    Connect = Create

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Choose the values that `Filter` gets, and estimate the cost; False if the schema is unknown."""
        taken = TakenValues(info)
        for condition in conditions_of(info):
            name = _looked_up(condition)
            if name == "schema" and not condition.is_known:
                return False
            if name and condition.is_known:
                # SQLite must check a document or a hash again: its comparison depends on the types of values.
                taken.take(condition, name, omit=name == "schema")
        names = taken.names
        rows = _OF_HASH if "hash" in names else _OF_DOCUMENT if "document" in names else _ALL
        info.idxStr = taken.encoded()
        info.estimatedRows = rows
        info.estimatedCost = _LOOK_UP + _OUR_ROW * rows
        return True

    def Open(self) -> RowCursor:
        """A cursor."""
        return RowCursor(self._rows)

    def Disconnect(self) -> None:
        """Do nothing: the table holds no resources."""

    Destroy = Disconnect

    def _rows(self, _number: int, plan: str, values: tuple[Value, ...]) -> Iterator[Row]:
        """The fingerprints for the values that `BestIndexObject` chose, each with its schema."""
        given = decoded(plan, values)
        schema = given.pop("schema", None)
        wanted = {name: as_integer(value) for name, value in given.items()}
        if None in wanted.values():
            return
        scopes = functools.partial(open_scope, self._source.reader(schema_name(schema)), boilerplate=False)
        document, hash_ = wanted.get("document"), wanted.get("hash")
        for position in fingerprint_positions(scopes, document=document, hash_=hash_):
            yield *position, schema


def _looked_up(condition: Condition) -> str:
    """The column of a condition `document = ...`, `hash = ...` or `schema = ...`; "" for other conditions."""
    name = _NAMES[condition.column] if 0 <= condition.column < len(_NAMES) else ""
    return name if condition.operator == EQUAL and name in (*_LOOKED_UP, *_HIDDEN) else ""
