"""The virtual table `doc_index` of apsw: insert, update and delete documents with SQL.

A change is part of the transaction of the connection: a rollback undoes it. So triggers of the host's own
tables can keep the index up to date.

The table `doc_index` holds the documents of the main database. An attached database needs a table of its own,
made with ``create virtual table idx.notes using doc_index``: when a statement fails halfway, SQLite undoes
its changes only in the databases whose tables the statement names.
"""

import re
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from docindex.arguments import shown
from docindex.errors import CorruptIndex, NotAnIndex, TextNotKept
from docindex.index.items import checked_key, incoming
from docindex.query.resolve import Id
from docindex.sql.document_changes import meta_from_json, put_document
from docindex.sql.sources import ConnectionDatabases, LocatedIndex, full_text
from docindex.sql.sql_values import Value, as_integer, as_text, as_time, errors_from, writable
from docindex.sql.virtual_tables import EQUAL, TakenValues, conditions_of, declaration
from docindex.storage import check, migrations, pending
from docindex.storage.followed import rows as app_rows
from docindex.storage.followed import tables
from docindex.storage.hosts import index_there
from docindex.storage.rows import content_writer, contents, document_removal
from docindex.storage.rows.documents import Listed, id_of, listed, listed_as
from docindex.storage.rows.incoming_documents import Incoming
from docindex.storage.tables import SourceRow

_COLUMNS = ("key", "id", "text", "meta", "added_at")
_KEY, _ID, _TEXT, _META, _ADDED_AT = range(5)
_IDENTIFY = {"key", "id"}

_BATCH = 1000  # the number of documents that are read at a time

# The estimated rows of the table, and the costs of a look-up and of a row, for the order of a join.
_ROWS, _LOOK_UP, _OUR_ROW = 10_000, 100.0, 10.0

_ARGUMENT = re.compile(r"(\w+)\s*=\s*(.*)", re.DOTALL)
_QUOTES = {"'": "'", '"': '"', "`": "`", "[": "]"}
_NAMES = ("content", "key", "text", "meta", "prefix")
_EXAMPLE = "for example, doc_index(content='note', key='id', text='body')"


class DocIndexModule:
    """The module that makes virtual tables of the documents of an index."""

    def __init__(self, databases: ConnectionDatabases) -> None:
        self._databases = databases

    def Create(
        self, db: apsw.Connection, _module: str, schema: str, name: str, *arguments: str
    ) -> tuple[str, "DocIndexTable"]:
        """Declare a table for the index in a database. With arguments, the index follows an app's table."""
        is_new = self._is_made(db, schema)
        # Makes `insert or replace`, `insert or ignore` and their like work as on any other table.
        db.vtab_config(apsw.SQLITE_VTAB_CONSTRAINT_SUPPORT, 1)
        if not arguments:
            if is_new:
                self._refuse_other_database(schema)
            return declaration("doc_index", _COLUMNS, ()), DocIndexTable(self._databases, schema, db)
        with errors_from("doc_index"):
            source = followed_table(arguments)
            if schema == "temp":
                raise ValueError(
                    "a table in temp cannot follow a table; make it in the database of the table"
                )
            if is_new:
                self._databases.follow(schema, source)
        table = FollowedTable(self._databases, schema, db, source.name)
        return declaration("doc_index", _COLUMNS, (name,)), table

    Connect = Create

    def _is_made(self, db: apsw.Connection, schema: str) -> bool:
        """Whether somebody makes a table, and SQLite does not only meet one: it calls the same function then.

        Only who makes a table may write: a transaction that has read from a file does not wait for another
        writer when it begins to write. SQLite meets a table while it reads a statement, and makes one while
        the statement runs.
        """
        if db.txn_state(schema) != apsw.SQLITE_TXN_WRITE:
            return False
        with self._databases.host.undisturbed() as undisturbed:
            return index_there.is_writing_statement(undisturbed)

    def _refuse_other_database(self, schema: str) -> None:
        with self._databases.host.undisturbed() as db:
            is_index = migrations.is_index(db, schema)
        if not is_index:
            raise _not_an_index(schema)


class DocIndexTable:
    """The documents of the index in one database."""

    def __init__(self, databases: ConnectionDatabases, schema: str, db: apsw.Connection) -> None:
        self._databases = databases
        self._schema = schema
        self._connection = weakref.ref(db)  # which owns this object

    @property
    def located(self) -> LocatedIndex:
        """The index."""
        try:
            return self._databases.located(self._schema)
        except NotAnIndex as error:
            raise _not_an_index(self._schema) from error

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Choose between a look-up by key or id and a scan of all documents, and estimate the cost."""
        taken = TakenValues(info)
        for condition in conditions_of(info):
            name = "id" if condition.column < 0 else _COLUMNS[condition.column]
            is_usable = condition.operator == EQUAL and condition.is_known and name in _IDENTIFY
            if is_usable and not taken.names:
                taken.take(condition, name, omit=False)
        rows = 1 if taken.names else _ROWS
        info.idxStr = taken.encoded()
        info.idxFlags = apsw.SQLITE_INDEX_SCAN_UNIQUE if taken.names else 0
        info.estimatedRows = rows
        info.estimatedCost = _LOOK_UP + _OUR_ROW * rows
        return True

    def source_in(self, _db: apsw.Connection) -> str | None:
        """The table of the app whose rows are the documents; None for all documents."""
        return None

    def Open(self) -> "_Cursor":
        """A cursor."""
        return _Cursor(self)

    def Disconnect(self) -> None:
        """Do nothing: the table holds no resources."""

    Destroy = Disconnect

    def UpdateInsertRow(self, rowid: int | None, fields: tuple[Value, ...]) -> int:
        """Add a document, and return its id. Only `insert or replace` replaces a document with its key."""
        if rowid is not None or fields[_ID] is not None or fields[_ADDED_AT] is not None:
            raise ValueError("doc_index: the index sets id, rowid and added_at; leave them out")
        place = self.located
        with errors_from("doc_index"):
            key, text = as_text("key", fields[_KEY]), as_text("text", fields[_TEXT])
            meta = meta_from_json(fields[_META])
        with self._databases.host.undisturbed():
            db = place.transactions.database
            known = pending.known_id(db, key)
            if known is not None and self._ignores_taken(key):
                return known
            with errors_from("doc_index"):
                document = incoming((key, text, meta))
            with place.transactions.refusals():
                number = pending.queue(db, document)
                if number is not None:
                    return number
        with place.transactions.writing() as db:
            return put_document(db, place, document)

    def Begin(self) -> None:
        """Do nothing: the transaction is that of the connection."""

    def Sync(self) -> None:
        """Index the queued documents before a commit."""
        with self._databases.host.undisturbed(self._schema):
            self.located.transactions.index_waiting_now()

    Commit = Rollback = Begin

    def UpdateChangeRow(self, row: int, newrowid: int, fields: tuple[Any, ...]) -> None:
        """Change the key, the text or the meta of a document."""
        place = self.located
        if newrowid != row or not fields[_ID] is fields[_ADDED_AT] is apsw.no_change:
            raise ValueError("doc_index: only key, text and meta can be changed, not id, rowid or added_at")
        with place.transactions.reading() as db:
            (before,) = listed_as(db, row)
            with errors_from("doc_index"):
                key = before.key if fields[_KEY] is apsw.no_change else as_text("key", fields[_KEY])
            taken = key != before.key and id_of(db, key) is not None
        if taken and self._ignores_taken(key):
            return
        changed = fields[_TEXT] is not apsw.no_change and not self._is_shown(row, fields[_TEXT])
        document = _changed_document(before, key, fields)
        with place.transactions.writing() as db:
            app_rows.refuse_rows(db, [before.key, key])
            if taken:
                document_removal.remove_document(db, key)
            content_writer.relabel(db, row, key, document.meta)
            if changed:
                put_document(db, place, document)

    def _is_shown(self, row: int, text: Value) -> bool:
        """Whether a text is what this table shows for a stored text with lone surrogates.

        Then the stored text stays: an update that does not mean to change it must not lose the surrogates.
        """
        if not isinstance(text, str) or "\ufffd" not in text:
            return False
        try:
            stored = full_text(self.located.reader, Id(row))
        except TextNotKept:
            return False
        return stored != text and writable(stored) == text

    def UpdateDeleteRow(self, row: int) -> None:
        """Remove a document."""
        place = self.located
        with place.transactions.writing() as db:
            for document in listed_as(db, row):
                app_rows.refuse_rows(db, [document.key])
                document_removal.remove_document(db, document.key)

    def _ignores_taken(self, key: str) -> bool:
        """Whether the statement skips a row whose key is taken, as `or ignore` does.

        False for `or replace`, which replaces the other document. `ConstraintError` for any other clause.
        """
        connection = self._connection()
        conflict = connection.vtab_on_conflict() if connection else apsw.SQLITE_ABORT
        if conflict not in (apsw.SQLITE_IGNORE, apsw.SQLITE_REPLACE):
            raise apsw.ConstraintError(
                f"doc_index: a document {shown(key)} already exists; use update, or insert or replace"
            )
        return bool(conflict == apsw.SQLITE_IGNORE)


class FollowedTable(DocIndexTable):
    """The documents that are rows of a table of the app. They change when that table changes.

    As with FTS5, the hidden column with the name of the table takes commands: 'rebuild' indexes all rows
    again, 'integrity-check' raises an error for the first damage.
    """

    def __init__(self, databases: ConnectionDatabases, schema: str, db: apsw.Connection, source: str) -> None:
        super().__init__(databases, schema, db)
        self._source = source

    def source_in(self, db: apsw.Connection) -> str:
        """The table of the app, under the name that the index has for it."""
        with errors_from("doc_index"):  # if the index was told to follow it no longer
            return tables.source(db, self._source).name

    def Destroy(self) -> None:
        """Stop following the table, and remove its documents."""
        self._databases.unfollow(self._schema, self._source)

    def UpdateInsertRow(self, _rowid: int | None, fields: tuple[Value, ...]) -> int:
        """Do what a command says."""
        command = fields[-1]
        if command == "rebuild":
            with self.located.transactions.writing() as db:
                tables.rebuild(db, self.source_in(db))
        elif command == "integrity-check":
            with self.located.transactions.reading() as db:
                for finding in check.findings(db, self.located.reader.recipe, lambda: None):
                    raise CorruptIndex(f"doc_index: {finding}", db.filename)
        elif command is None:
            raise self._refusal()
        else:
            raise ValueError(f"doc_index: the commands are 'rebuild' and 'integrity-check', not {command!r}")
        return 0

    def UpdateChangeRow(self, _row: int, _newrowid: int, _fields: tuple[Any, ...]) -> None:
        """Refuse the change."""
        raise self._refusal()

    def UpdateDeleteRow(self, _row: int) -> None:
        """Refuse the change."""
        raise self._refusal()

    def _refusal(self) -> ValueError:
        return ValueError(f"doc_index: this table follows the table {self._source!r}; change that one")


class _Cursor:
    """A cursor over documents in the order of their ids; a text is read only if a statement uses it."""

    def __init__(self, table: DocIndexTable) -> None:
        self._table = table
        self._rows: Iterator[Listed] = iter(())
        self._row: Listed | None = None

    def Filter(self, _number: int, name: str | None, values: tuple[Value, ...]) -> None:
        """Go to the first document."""
        self._rows = self._identified(name, *values) if name else self._all()
        self.Next()

    def Next(self) -> None:
        """Go to the next document."""
        self._row = next(self._rows, None)

    def Eof(self) -> bool:
        """Whether there are no more documents."""
        return self._row is None

    def Rowid(self) -> int:
        """The id of the document."""
        return self._row.id if self._row else 0

    def Column(self, number: int) -> Value:
        """A column of the document; NULL for a text that is not stored."""
        if self._row is None:
            return None
        if number == _KEY:
            return self._row.key
        if number == _META:
            return contents.to_json(self._row.meta)
        if number == _ADDED_AT:
            return as_time(self._row.added_at)
        if number != _TEXT:
            return self._row.id
        try:
            return writable(full_text(self._table.located.reader, Id(self._row.id)))
        except TextNotKept:
            return None

    def ColumnNoChange(self, _number: int) -> object:
        """Tell SQLite that an update does not change a column, so that the column need not be read."""
        return apsw.no_change

    def Close(self) -> None:
        """Drop the documents."""
        self._rows = iter(())

    def _identified(self, name: str, value: Value) -> Iterator[Listed]:
        with self._table.located.transactions.reading() as db:
            by_key = id_of(db, value) if isinstance(value, str) else None
            number = by_key if name == "key" else as_integer(value)
            found = [] if number is None else listed_as(db, number)
            source = self._table.source_in(db)
            if source is not None:
                found = [document for document in found if app_rows.table_with(db, document.id) == source]
        yield from found

    def _all(self) -> Iterator[Listed]:
        last = 0
        while batch := self._batch_after(last):
            yield from batch
            last = batch[-1].id

    def _batch_after(self, last: int) -> list[Listed]:
        with self._table.located.transactions.reading() as db:
            return listed(db, last, _BATCH, self._table.source_in(db))


def _not_an_index(schema: str) -> NotAnIndex:
    return NotAnIndex(
        f"doc_index: the database {schema} is not a docindex index; for an attached index, run "
        "create virtual table SCHEMA.NAME using doc_index, and use the table NAME",
        schema,
    )


def _changed_document(before: Listed, key: str, fields: tuple[Any, ...]) -> Incoming:
    """A document after an update; its text is empty if the update does not change the text."""
    with errors_from("doc_index"):
        meta = before.meta if fields[_META] is apsw.no_change else meta_from_json(fields[_META])
        text = "" if fields[_TEXT] is apsw.no_change else as_text("text", fields[_TEXT])
        return incoming((key, text, meta))


def followed_table(arguments: Sequence[str]) -> SourceRow:
    """The table that some arguments tell to follow; `ValueError` for other arguments.

    >>> followed_table(["content='note'", "key=id", "text='body'"])
    SourceRow(name='note', key_column='id', text_column='body', meta_column=None, prefix='')
    """
    values: dict[str, str] = {}
    for argument in arguments:
        found = _ARGUMENT.fullmatch(argument.strip())
        if found is None or found[1] not in _NAMES or found[1] in values:
            raise ValueError(f"{argument!r} is no argument; expected {', '.join(f'{n}=...' for n in _NAMES)}")
        values[found[1]] = checked_key(_unquoted(found[2]), f"the argument {found[1]}")
    for name in ("content", "key", "text"):
        if name not in values:
            raise ValueError(f"the argument {name}=... is missing; {_EXAMPLE}")
    return SourceRow(
        values["content"], values["key"], values["text"], values.get("meta"), values.get("prefix", "")
    )


def _unquoted(value: str) -> str:
    end = _QUOTES.get(value[:1])
    if end is None or len(value) < 2 or value[-1] != end:
        return value
    return value[1:-1].replace(end * 2, end)
