"""The documents as a virtual table of apsw that can be changed: `doc_index` (key, text, meta, id).

What is inserted, updated and deleted happens on the connection itself, in its transaction, and is undone
with it. So a trigger of the host's own table can keep the index current.
"""

import json
from collections.abc import Iterator
from typing import Any

import apsw

from docindex.errors import TextNotKept
from docindex.items import incoming
from docindex.query.asking import Id
from docindex.sql.homes import Here, Place
from docindex.sql.scalars import Value, named, schema_of, whole
from docindex.sql.virtual import EQUAL, constraints, declared
from docindex.storage import contents, postings
from docindex.storage.documents import Listed, id_of, listed, listed_as

_NAMES = ("key", "text", "meta", "id", "schema")
_KEY, _TEXT, _META, _ID, _SCHEMA = range(5)
_IDENTIFY = {"key", "id", "rowid"}

# Ids have 43 bits; the number of a row says above them in which schema it is.
_ID_BITS = 43
_AT_A_TIME = 1000

# In rows that SQLite reads, 0.2 us each: to look a document up, and a row of ours.
_LOOK_UP, _A_ROW = 100.0, 10.0


class DocIndex:
    """The module, and its one table."""

    def __init__(self, here: Here) -> None:
        self._here = here
        self._schemas = ["main"]

    def Create(self, db: apsw.Connection, *_arguments: str) -> tuple[str, "DocIndex"]:
        """Declare the table."""
        # So that `insert or replace` and `insert or ignore` mean here what they mean elsewhere.
        db.vtab_config(apsw.SQLITE_VTAB_CONSTRAINT_SUPPORT, 1)
        return declared("doc_index", _NAMES[:_SCHEMA], _NAMES[_SCHEMA:]), self

    Connect = Create

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Say what an access costs: to one document by its key or id, or to all."""
        taken: list[str] = []
        for which, column, operator, known in constraints(info):
            name = "rowid" if column < 0 else _NAMES[column]
            if operator != EQUAL or name in taken:
                continue
            if name == "schema" and not known:
                return False
            if known and (name == "schema" or (name in _IDENTIFY and not _IDENTIFY & set(taken))):
                taken.append(name)
                info.set_aConstraintUsage_argvIndex(which, len(taken))
                info.set_aConstraintUsage_omit(which, name == "schema")
        found = bool(_IDENTIFY & set(taken))
        rows = 1 if found else self._here.asked().sizes()[0] if self._here.has_index() else 0
        info.idxStr = ",".join(taken)
        info.idxFlags = apsw.SQLITE_INDEX_SCAN_UNIQUE if found else 0
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
        place = self.place(fields[_SCHEMA])
        key, text, meta = _text("key", fields[_KEY]), _text("text", fields[_TEXT]), _meta(fields[_META])
        conflict = self._here.connection.vtab_on_conflict()
        with place.home.reading() as db:
            known = id_of(db, key)
        if known is not None and conflict == apsw.SQLITE_IGNORE:
            return self.row(place.schema, known)
        if known is not None and conflict != apsw.SQLITE_REPLACE:
            raise _known(key)
        return self.row(place.schema, _put(place, key, text, meta))

    def UpdateChangeRow(self, row: int, newrowid: int, fields: tuple[Any, ...]) -> None:
        """Another key, text or meta for a document."""
        schema, number = self.at(row)
        place = self.place(schema)
        if newrowid != row or any(fields[column] is not apsw.no_change for column in (_ID, _SCHEMA)):
            raise ValueError("doc_index: only key, text and meta can be changed, not id, rowid or schema")
        with place.home.reading() as db:
            (before,) = listed_as(db, number)
            key = before.key if fields[_KEY] is apsw.no_change else _text("key", fields[_KEY])
            if key != before.key and id_of(db, key) is not None:
                raise _known(key)
        meta = before.meta if fields[_META] is apsw.no_change else _meta(fields[_META])
        text = None if fields[_TEXT] is apsw.no_change else _text("text", fields[_TEXT])
        with place.home.writing() as db:
            contents.relabel(db, number, key, contents.to_json(meta))
        if text is not None:
            _put(place, key, text, meta)

    def UpdateDeleteRow(self, row: int) -> None:
        """Forget a document."""
        schema, number = self.at(row)
        place = self.place(schema)
        with place.home.writing() as db:
            for document in listed_as(db, number):
                contents.remove(db, document.key, place.asked.recipe)

    def place(self, schema: Value) -> Place:
        """The index that is meant."""
        return self._here.place(schema_of(schema))

    def row(self, schema: str, number: int) -> int:
        """The number of a row: in the main schema the id of the document."""
        if schema not in self._schemas:
            self._schemas.append(schema)
        return self._schemas.index(schema) << _ID_BITS | number

    def at(self, row: int) -> tuple[str, int]:
        """The opposite: schema and id; no schema for a number that no row has."""
        schema = row >> _ID_BITS
        known = 0 <= schema < len(self._schemas)
        return self._schemas[schema] if known else "", row & ((1 << _ID_BITS) - 1)


class _Cursor:
    """Goes through documents in the order of their ids; a text is read only if it is asked for."""

    def __init__(self, table: DocIndex) -> None:
        self._table = table
        self._place: Place | None = None
        self._schema: Value = None
        self._rows: Iterator[Listed] = iter(())
        self._row: Listed | None = None

    def Filter(self, _number: int, taken: str | None, values: tuple[Value, ...]) -> None:
        """Begin with the first document."""
        given = dict(zip(taken.split(",") if taken else (), values, strict=True))
        self._schema = given.pop("schema", None)
        self._place = self._table.place(self._schema)
        self._rows = self._found(self._place, given)
        self.Next()

    def Next(self) -> None:
        """Go on to the next one."""
        self._row = next(self._rows, None)

    def Eof(self) -> bool:
        """Whether there is none any more."""
        return self._row is None

    def Rowid(self) -> int:
        """The id of the document, and where it is."""
        assert self._row is not None
        assert self._place is not None
        return self._table.row(self._place.schema, self._row.id)

    def Column(self, number: int) -> Value:
        """A column of the document; NULL for a text that is not kept."""
        assert self._row is not None
        assert self._place is not None
        match number:
            case 0:
                return self._row.key
            case 1:
                try:
                    return self._place.asked.whole_text(Id(self._row.id))
                except TextNotKept:
                    return None
            case 2:
                return contents.to_json(self._row.meta)
            case 3:
                return self._row.id
            case 4:
                return self._schema
        return self.Rowid()

    def ColumnNoChange(self, _number: int) -> object:
        """An update that does not touch a column need not know it."""
        return apsw.no_change

    def Close(self) -> None:
        """Let go of the documents."""
        self._rows = iter(())

    def _found(self, place: Place, given: dict[str, Value]) -> Iterator[Listed]:
        if not given:
            last = 0
            while some := self._some(place, last):
                yield from some
                last = some[-1].id
            return
        with place.home.reading() as db:
            number = self._number(db, place, *given.popitem())
            some = [] if number is None else listed_as(db, number)
        yield from some

    def _number(self, db: apsw.Connection, place: Place, name: str, value: Value) -> int | None:
        """The id of the document that a value names, or None."""
        if name == "key":
            return id_of(db, value) if isinstance(value, str) else None
        number = whole(value)
        if name == "id" or number is None:
            return number
        schema, number = self._table.at(number)
        return number if schema == place.schema else None

    def _some(self, place: Place, last: int) -> list[Listed]:
        with place.home.reading() as db:
            return listed(db, last, _AT_A_TIME)


def _put(place: Place, key: str, text: str, meta: Any) -> int:
    """Store a document; gives its id."""
    document = incoming((key, text, meta))
    with place.home.writing() as db:
        postings.add(db, contents.put(db, [document], place.asked.recipe, store_text=True))
        return id_of(db, key) or 0


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
