"""Follow tables of an app: which they are, and when an index may follow one.

Each table that is followed is a source. Must never change a row of the app.
"""

from collections.abc import Iterator, Sequence

import apsw

from docindex.arguments import shown
from docindex.errors import CorruptIndex, OutOfDate
from docindex.storage.followed import rows as app_rows
from docindex.storage.followed import schema, triggers
from docindex.storage.statements import rows
from docindex.storage.tables import SOURCE, SourceRow

_OF_SOURCE = (
    "select d.key from main.docindex_sourced as s "
    "cross join main.docindex_document as d on d.id = s.document where s.source = ?1"
)


def sources(db: apsw.Connection) -> list[SourceRow]:
    """The tables that are followed, verified."""
    found = [SOURCE.checked(row) for row in rows(db, SOURCE.select)]
    if None in found:
        raise CorruptIndex("a row of docindex_source was changed; follow the table again", db.filename)
    return [row for row in found if row is not None]


def source(db: apsw.Connection, name: str) -> SourceRow:
    """The followed table with a name; `KeyError` if the index does not follow it."""
    found = sources(db)
    for row in found:
        if schema.same_name(row.name, name):
            return row
    known = ", ".join(repr(row.name) for row in found) or "no table"
    raise KeyError(f"the index does not follow a table {name!r}; it follows {known}")


def follow(db: apsw.Connection, wanted: SourceRow) -> None:
    """Index a table from now on: make its triggers, and queue all its rows.

    Following it again makes lost triggers again. `ValueError` if the table or one of the columns does not
    exist, if it is followed in another way, or if a key is not clear. `Refused` if the table cannot be read
    on this connection.
    """
    row = schema.as_in_schema(db, wanted)
    known = sources(db)
    for other in known:
        if schema.same_name(other.name, row.name):
            _refuse_another_way(other, row)
            if triggers.make_lost_triggers(db, other):
                app_rows.queue_all(db, other)
            return
    app_rows.refuse_unreadable(db, row)  # else all questions would fail at the queue
    _refuse_unclear_keys(db, row, known)
    db.execute(SOURCE.insert, SOURCE.with_sum(row))
    triggers.make_lost_triggers(db, row)
    app_rows.queue_all(db, row)


def rebuild(db: apsw.Connection, name: str) -> None:
    """Queue all rows of a followed table, and make its lost triggers again."""
    row = source(db, name)
    app_rows.refuse_unreadable(db, row)
    schema.as_in_schema(db, row)  # it may have become a view
    triggers.make_lost_triggers(db, row)
    app_rows.queue_all(db, row)


def unfollow(db: apsw.Connection, name: str) -> list[str]:
    """Stop following a table. Returns the keys of its documents, which the caller removes."""
    name = source(db, name).name
    triggers.drop_triggers(db, name)
    keys = [key for (key,) in rows(db, _OF_SOURCE, (name,))]
    db.execute("delete from main.docindex_changed where source = ?", (name,))
    db.execute("delete from main.docindex_sourced where source = ?", (name,))
    db.execute("delete from main.docindex_source where name = ?", (name,))
    return keys


def external_texts(db: apsw.Connection, content: int) -> Iterator[str]:
    """The texts that those rows have now whose documents have a content, in all tables."""
    for row in sources(db):
        yield from app_rows.texts(db, row, content)


def out_of_date(db: apsw.Connection, name: str) -> OutOfDate:
    """The error for a row whose text is not the one that was indexed."""
    return OutOfDate(
        f"a row of the table {name!r} was changed without its trigger, so the index has no text for it; "
        f"rebuild the documents of {name!r}",
        db.filename,
    )


def _refuse_another_way(known: SourceRow, row: SourceRow) -> None:
    names = zip(known[:-1], row[:-1], strict=True)
    if known.prefix != row.prefix or not all(schema.same_name(a, b) for a, b in names):
        raise ValueError(
            f"the table {row.name!r} is followed already, with the columns {known.key_column!r} and "
            f"{known.text_column!r}, the meta {known.meta_column!r} and the prefix {known.prefix!r}; "
            "unfollow it first"
        )


def _refuse_unclear_keys(db: apsw.Connection, row: SourceRow, known: Sequence[SourceRow]) -> None:
    for other in known:
        if other.prefix == row.prefix:
            raise ValueError(
                f"the documents of the table {other.name!r} have the prefix {row.prefix!r} too, so two "
                f"rows could have one key; follow {row.name!r} with another prefix, such as '{row.name}/'"
            )
    twice = app_rows.repeated_key(db, row)
    if twice is not None:
        raise ValueError(
            f"two rows of the table {row.name!r} have the key {shown(twice)}; name "
            "a key column whose values are all different"
        )
    taken = app_rows.taken_key(db, row)
    if taken is not None:
        raise ValueError(
            f"the index has a document {shown(taken)} already, as a row of {row.name!r} would be called; "
            f"follow the table with another prefix, such as '{row.name}/'"
        )
