"""The documents as a virtual table of apsw that can be changed: `doc_index` (key, text, meta, id).

What is inserted, updated and deleted happens on the connection itself, in its transaction, and is undone
with it. So a trigger of the host's own table can keep the index current.

The table `doc_index` is about the main database. For an attached one a table has to be made there, as by
``create virtual table idx.notes using doc_index``: when a statement fails halfway, SQLite undoes what it did
in those databases only whose tables it names.
"""

import json
from collections.abc import Iterator
from typing import Any

import apsw

from docindex.errors import NotAnIndex, Refused, TextNotKept
from docindex.index.document_writer import write_documents
from docindex.index.items import incoming
from docindex.query.resolve import Id
from docindex.sql.scalars import Value, named, naming, whole
from docindex.sql.sources import Here, LocatedIndex
from docindex.sql.virtual_tables import EQUAL, constraints, declared
from docindex.storage import contents, host_connection, migrations
from docindex.storage.contents import Incoming
from docindex.storage.documents import Listed, id_of, listed, listed_as

_NAMES = ("key", "text", "meta", "id")
_KEY, _TEXT, _META, _ID = range(4)
_IDENTIFY = {"key", "id"}

_AT_A_TIME = 1000

# In rows that SQLite reads, 0.2 us each: to look a document up, and a row of ours.
_LOOK_UP, _A_ROW = 100.0, 10.0


class DocIndex:
    """The module."""

    def __init__(self, here: Here) -> None:
        self._here = here

    def Create(
        self, db: apsw.Connection, _module: str, schema: str, _name: str, *_arguments: str
    ) -> tuple[str, "DocIndexTable"]:
        """Declare a table for the index in a database."""
        with host_connection.without_traces(db):
            there = migrations.is_index(db, schema)
        if not there:
            raise NotAnIndex(
                f"doc_index: the database {schema} is not a docindex index; for one that is attached, say "
                "create virtual table SCHEMA.NAME using doc_index, and use the table NAME",
                schema,
            )
        # So that `insert or replace` and `insert or ignore` mean here what they mean elsewhere.
        db.vtab_config(apsw.SQLITE_VTAB_CONSTRAINT_SUPPORT, 1)
        return declared("doc_index", _NAMES, ()), DocIndexTable(self._here, schema)

    Connect = Create


class DocIndexTable:
    """The documents of the index in one database."""

    def __init__(self, here: Here, schema: str) -> None:
        self._here = here
        self._schema = schema
        self._size = 10_000  # until it is used: see `virtual.Module`

    @property
    def place(self) -> LocatedIndex:
        """The index."""
        return self._here.place(self._schema)

    def look(self) -> None:
        """See how many documents there are, for the next plan."""
        self._size = self.place.reader.approximate_counts()[0]

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Say what an access costs: to one document by its key or id, or to all."""
        name = ""
        for which, column, operator, known in constraints(info):
            wanted = "id" if column < 0 else _NAMES[column]
            if operator == EQUAL and known and not name and wanted in _IDENTIFY:
                name = wanted
                info.set_aConstraintUsage_argvIndex(which, 1)
        rows = 1 if name else self._size
        info.idxStr = name
        info.idxFlags = apsw.SQLITE_INDEX_SCAN_UNIQUE if name else 0
        info.estimatedRows = rows
        info.estimatedCost = _LOOK_UP + _A_ROW * rows
        return True

    def Open(self) -> "_Cursor":
        """A cursor."""
        return _Cursor(self)

    def Disconnect(self) -> None:
        """Nothing is left behind."""

    Destroy = Disconnect

    def UpdateInsertRow(self, rowid: int | None, fields: tuple[Value, ...]) -> int:
        """A new document; another one under a known key only with `or replace`."""
        if rowid is not None or fields[_ID] is not None:
            raise ValueError("doc_index: ids are given by the index; leave id and rowid out")
        place = self.place
        key, text, meta = _text("key", fields[_KEY]), _text("text", fields[_TEXT]), _meta(fields[_META])
        conflict = self._here.connection.vtab_on_conflict()
        with place.transactions.reading() as db:
            known = id_of(db, key)
        if known is not None and conflict == apsw.SQLITE_IGNORE:
            return known
        if known is not None and conflict != apsw.SQLITE_REPLACE:
            raise _known(key)
        with naming("doc_index"):
            document = incoming((key, text, meta))
        with place.transactions.writing() as db:
            return _put(db, place, document)

    def UpdateChangeRow(self, row: int, newrowid: int, fields: tuple[Any, ...]) -> None:
        """Another key, text or meta for a document."""
        place = self.place
        if newrowid != row or fields[_ID] is not apsw.no_change:
            raise ValueError("doc_index: only key, text and meta can be changed, not id or rowid")
        conflict = self._here.connection.vtab_on_conflict()
        with place.transactions.reading() as db:
            (before,) = listed_as(db, row)
            key = before.key if fields[_KEY] is apsw.no_change else _text("key", fields[_KEY])
            taken = key != before.key and id_of(db, key) is not None
        if taken and conflict == apsw.SQLITE_IGNORE:
            return
        if taken and conflict != apsw.SQLITE_REPLACE:
            raise _known(key)
        meta = before.meta if fields[_META] is apsw.no_change else _meta(fields[_META])
        changed = fields[_TEXT] is not apsw.no_change
        with naming("doc_index"):
            document = incoming((key, _text("text", fields[_TEXT]) if changed else "", meta))
        with place.transactions.writing() as db:
            if taken:
                contents.remove(db, key, place.reader.recipe)
            contents.relabel(db, row, key, document.meta)
            if changed:
                _put(db, place, document)

    def UpdateDeleteRow(self, row: int) -> None:
        """Forget a document."""
        place = self.place
        with place.transactions.writing() as db:
            for document in listed_as(db, row):
                contents.remove(db, document.key, place.reader.recipe)


class _Cursor:
    """Goes through documents in the order of their ids; a text is read only if it is asked for."""

    def __init__(self, table: DocIndexTable) -> None:
        self._table = table
        self._rows: Iterator[Listed] = iter(())
        self._row: Listed | None = None

    def Filter(self, _number: int, name: str | None, values: tuple[Value, ...]) -> None:
        """Begin with the first document."""
        self._table.look()
        self._rows = self._named(name, *values) if name else self._all()
        self.Next()

    def Next(self) -> None:
        """Go on to the next one."""
        self._row = next(self._rows, None)

    def Eof(self) -> bool:
        """Whether there is none any more."""
        return self._row is None

    def Rowid(self) -> int:
        """The id of the document."""
        return self._row.id if self._row else 0

    def Column(self, number: int) -> Value:
        """A column of the document; NULL for a text that is not kept."""
        if self._row is None:
            return None
        if number == _KEY:
            return self._row.key
        if number == _META:
            return contents.to_json(self._row.meta)
        if number != _TEXT:
            return self._row.id
        try:
            return self._table.place.reader.whole_text(Id(self._row.id))
        except TextNotKept:
            return None

    def ColumnNoChange(self, _number: int) -> object:
        """An update that does not touch a column need not know it."""
        return apsw.no_change

    def Close(self) -> None:
        """Let go of the documents."""
        self._rows = iter(())

    def _named(self, name: str, value: Value) -> Iterator[Listed]:
        with self._table.place.transactions.reading() as db:
            by_key = id_of(db, value) if isinstance(value, str) else None
            number = by_key if name == "key" else whole(value)
            some = [] if number is None else listed_as(db, number)
        yield from some

    def _all(self) -> Iterator[Listed]:
        last = 0
        while some := self._some(last):
            yield from some
            last = some[-1].id

    def _some(self, last: int) -> list[Listed]:
        with self._table.place.transactions.reading() as db:
            return listed(db, last, _AT_A_TIME)


def _put(db: apsw.Connection, place: LocatedIndex, document: Incoming) -> int:
    """Store a document; gives its id."""
    write_documents(db, [document], place.reader.recipe, store_text=True)
    number = id_of(db, document.key)
    if number is None:
        path = place.transactions.path
        raise Refused(f"doc_index: a trigger in {path} did not let {document.key!r} in", path)
    return number


def _known(key: str) -> apsw.ConstraintError:
    return apsw.ConstraintError(
        f"doc_index: there is a document {key!r} already; update it, or say insert or replace"
    )


def _text(column: str, value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"doc_index: {column} must be TEXT, not {named(value)}")
    return value


def _meta(value: Value) -> Any:
    try:
        return (
            json.loads(value) if isinstance(value, str) else None if value is None else _text("meta", value)
        )
    except ValueError as error:
        raise ValueError(f"doc_index: meta must be JSON, not {value!r}") from error
