"""Open a file from an untrusted source safely: `docindex.open(path, trusted=False)`.

Sets up a connection so that nothing in the file's schema runs, as SQLite advises
(https://sqlite.org/security.html): only harmless functions in the schema, no triggers, no views, checked
cells, low limits, an authorizer. Then checks that our tables are as our scripts make them. Must never change
the file.
"""

import contextlib
from collections.abc import Iterator

import apsw

from docindex.errors import CorruptIndex
from docindex.storage.statements import rows

_SWITCHES = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
}

# The limits that SQLite advises. Some are higher, because docindex needs more: for the long text of a
# template, for a row with many columns, and for the file that `vacuum` attaches. Statements come from
# docindex and from the host; values come from the file.
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: 100_000_000,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    apsw.SQLITE_LIMIT_COLUMN: 100,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 50,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    apsw.SQLITE_LIMIT_VDBE_OP: 25_000,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 10,
    apsw.SQLITE_LIMIT_ATTACHED: 1,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
}

_SCHEMA = (
    "select type, name, tbl_name, coalesce(sql, '') from main.sqlite_schema "
    "where not (type = 'table' and name in ('sqlite_stat1', 'sqlite_stat4'))"  # `analyze` makes these
)

_ALLOWED = {
    *(apsw.SQLITE_READ, apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE),
    *(apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE, apsw.SQLITE_TRANSACTION),
    # These make a new index. (`migrating` switches the authorizer off.)
    *(apsw.SQLITE_CREATE_TABLE, apsw.SQLITE_CREATE_INDEX, apsw.SQLITE_REINDEX),
}
_PRAGMAS = {
    *(
        "application_id",
        "auto_vacuum",
        "incremental_vacuum",
        "journal_mode",
        "cache_size",
        "foreign_keys",
        "foreign_key_check",
        "encoding",
        "table_info",
        "table_xinfo",
        "index_list",
        "index_xinfo",
    ),
    *("freelist_count", "integrity_check", "journal_size_limit", "page_count", "page_size", "synchronous"),
    *("temp_store", "wal_checkpoint"),
}


def guard(db: apsw.Connection) -> None:
    """Make sure that nothing in the file's schema runs on a connection, and restrict its statements."""
    for switch, setting in _SWITCHES.items():
        db.config(switch, setting)
    for limit, most in _LIMITS.items():
        db.limit(limit, most)
    db.execute("pragma cell_size_check = on")
    db.execute("pragma mmap_size = 0").fetchall()
    db.authorizer = _authorize


@contextlib.contextmanager
def migrating(db: apsw.Connection) -> Iterator[None]:
    """Switch the authorizer off while a migration changes the tables, which have just been checked.

    `alter table` runs internal statements of SQLite. Triggers and views stay switched off.
    """
    before, db.authorizer = db.authorizer, None
    try:
        yield
    finally:
        db.authorizer = before


def refuse_altered(db: apsw.Connection, path: str, made: apsw.Connection) -> None:
    """`CorruptIndex` unless our tables are as in `made`, an empty index, and SQLite finds them sound."""
    ours = set(made.execute(_SCHEMA))
    tables = {name for kind, name, _, _ in ours if kind == "table"}
    found = {row for row in rows(db, _SCHEMA) if row[2] in tables}
    for kind, name, table, _ in sorted(found ^ ours):
        raise CorruptIndex(
            f"{path} differs from docindex's schema: the {kind} {name!r} of table {table!r} is missing, "
            "added or changed; do not use the file, or open it with trusted=True if you know who changed it",
            path,
        )
    # Check whole tables with their indexes, because a false index hides rows. Check only our tables: somebody
    # may have made another table so that its check never ends.
    for table in sorted(tables):
        for (finding,) in rows(db, f"pragma integrity_check({table})"):
            if finding != "ok":
                raise CorruptIndex(f"{path} is damaged: {finding}; get another copy", path)
    _refuse_inflated(db, path)


# A question holds one or two whole texts in memory, as long as a value may be. All other things that it reads
# are at most a few times as large as in the file.
_LONGEST_TEXT = _LIMITS[apsw.SQLITE_LIMIT_LENGTH]

# The fingerprints alone of an honest text take a fifth of a byte for each character, or more; deflated text
# may take a thousandth. So all texts together have at most five times as many characters as the file has
# bytes, unless most of the text is white space: this leaves room for it.
_INFLATED = 50

_KEPT_TEXTS = (
    "select coalesce(max(characters), 0), total(max(characters, 0)) from main.docindex_content where kept"
)


def _refuse_inflated(db: apsw.Connection, path: str) -> None:
    """`CorruptIndex` for texts that are far too long for the file. Reading checks the length of each text."""
    ((longest, characters),) = rows(db, _KEPT_TEXTS)
    size = rows(db, "pragma page_count")[0][0] * rows(db, "pragma page_size")[0][0]
    if longest > _LONGEST_TEXT:
        found = f"a text of {longest:,} characters (at most {_LONGEST_TEXT:,} are allowed)"
    elif characters > _LONGEST_TEXT + _INFLATED * size:
        found = f"{characters:,.0f} characters of text, too many for a file of {size:,} bytes"
    else:
        return
    raise CorruptIndex(
        f"{path} is not trusted and has {found}; do not use the file, or open it with trusted=True if you "
        "know who made it",
        path,
    )


def _authorize(
    action: int, first: str | None, second: str | None, _schema: str | None, by: str | None
) -> int:
    if by is not None:  # a trigger or a view
        return apsw.SQLITE_DENY
    if action == apsw.SQLITE_FUNCTION:
        return apsw.SQLITE_DENY if second == "load_extension" else apsw.SQLITE_OK
    if action == apsw.SQLITE_PRAGMA:
        return apsw.SQLITE_OK if first is not None and first.lower() in _PRAGMAS else apsw.SQLITE_DENY
    if action == apsw.SQLITE_ATTACH:  # `vacuum` attaches a file without a name
        return apsw.SQLITE_OK if not first else apsw.SQLITE_DENY
    return apsw.SQLITE_OK if action in _ALLOWED else apsw.SQLITE_DENY
