"""The methods of `docindex.Index` by which it follows tables of an app in the same file.

Takes the names of tables and columns; the triggers are in `docindex.storage.followed.tables`. Must never
contain SQL.
"""

import dataclasses

from docindex.arguments import plain_text
from docindex.index.items import checked_key
from docindex.index.keyed_documents import KeyedDocuments
from docindex.index.pending_changes import remove_all
from docindex.storage.followed import rows, tables
from docindex.storage.tables import SourceRow


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


class FollowedTables(KeyedDocuments):
    """The tables of an app whose rows are documents of the index."""

    def follow(self, table: str, *, key: str, text: str, meta: str | None = None, prefix: str = "") -> None:
        """Index the rows of a table in the same file from now on, without a copy of their texts.

        `key`, `text` and `meta` are columns of the table. The key of a document is `prefix`, followed by the
        value in the column `key`, which must be different in each row and should have an index, because each
        text is found by it. A row whose `text` is NULL is no document. Triggers note which rows change, and
        the next question or change indexes these rows, whoever wrote them. Each text stays in the table,
        where it is read for exact numbers and passages.

        A value in the column `key` that is a number or a text is written as such, and a BLOB in hexadecimal
        digits. Only a change of the row changes its document: `add`, `update`, `rename` and `remove` refuse
        it.

        Call it again after a change of your schema, or at each start: an app that makes its table anew drops
        the triggers with the old table, and this makes them again. Otherwise it does nothing then.

        `ValueError` if there is no such table or column, if the table is followed in another way already, if
        the key of a row would be that of another document, or for a view or a virtual table, which have no
        such triggers.

        >>> import docindex, sqlite3, tempfile, contextlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with contextlib.closing(sqlite3.connect(f"{folder}/app.db")) as app:
        ...         _ = app.execute("create table note (id integer primary key, body text)")
        ...         _ = app.execute("insert into note (body) values ('The Analytical Engine')")
        ...         app.commit()
        ...     with docindex.open(f"{folder}/app.db", create=True) as index:
        ...         index.follow("note", key="id", text="body")
        ...         list(index), index.text("1")
        (['1'], 'The Analytical Engine')
        """
        row = SourceRow(
            checked_key(table, "table"),
            checked_key(key, "key"),
            checked_key(text, "text"),
            None if meta is None else checked_key(meta, "meta"),
            checked_key(prefix, "prefix"),
        )
        with self._store.writing() as db:
            tables.follow(db, row)

    def followed(self) -> list[Followed]:
        """The tables that the index follows, in the order of their names.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.followed()
        []
        """
        with self._store.reading() as db:
            return [Followed(*row, rows.count_rows(db, row)) for row in tables.sources(db)]

    def unfollow(self, table: str) -> None:
        """Remove the documents and the triggers of a followed table; `KeyError` for another table."""
        # The queue may have rows that cannot be indexed here: then this is the way out.
        with self._store.writing(indexes_queue=False) as db:
            keys = tables.unfollow(db, plain_text("table", table))
            remove_all(db, keys)

    def flush(self) -> None:
        """Index now what triggers and SQL functions have queued, so that the next question need not.

        That question would wait for other writers, too. So call this after a batch of changes.
        """
        with self._store.writing():
            pass  # it begins with the queue

    def rebuild(self, table: str) -> None:
        """Index again those rows of a followed table that changed without its triggers.

        The triggers miss all changes while they are dropped, and rows that `replace` removes because of a
        unique index on an expression, or on a part of the rows. Makes lost triggers again.
        """
        with self._store.writing() as db:
            tables.rebuild(db, plain_text("table", table))
