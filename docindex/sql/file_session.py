"""Run an SQL statement on any SQLite file, with docindex's functions and tables."""

from pathlib import Path

from docindex.errors import NotAnIndex, ReadOnly, UnreadableFile
from docindex.sql.register import register_on
from docindex.storage.file import user_sql
from docindex.storage.file.connection import Connection, Store
from docindex.storage.file.user_sql import Rows, UserBindings
from docindex.storage.hosts import index_there

_TIMEOUT_S = 10.0


def ask(path: str, sql: str, bindings: UserBindings = (), *, write: bool = False) -> tuple[Rows, int]:
    """The rows that a statement gives, and the number of rows that it changed.

    Without `write`, a statement that would change anything raises `ReadOnly`. With `write`, the statement
    commits all its changes, or no change if it fails. `NotAnIndex` for a question to a file that is not an
    index.
    """
    store = opened(path, write=write)
    try:
        with store.writing() if write else store.reading() as db:
            register_on(db)
            try:
                if not write:
                    return _read(db, sql, bindings), 0
                return user_sql.answer_writing(db, sql, bindings), db.changes()
            except NotAnIndex as error:
                if index_there.index_schemas(db):
                    raise
                raise NotAnIndex(
                    f"{path} is not a docindex index, and the statement asks for one; name an index", path
                ) from error
    finally:
        store.close()


def _read(db: Connection, sql: str, bindings: UserBindings) -> Rows:
    try:
        return user_sql.answer(db, sql, bindings)
    except ReadOnly as error:
        raise ReadOnly(
            "only a statement that reads is accepted; use --write to let it change the file", error.path
        ) from error


def opened(path: str, *, write: bool) -> Store:
    """Open an existing SQLite file, whether it is an index or not; `UnreadableFile` if there is no file."""
    if not Path(path).is_file():
        raise UnreadableFile(f"{path} does not exist, or is not a file; name an SQLite file", path)
    return Store(str(Path(path).absolute()), readonly=not write, durability="full", timeout_s=_TIMEOUT_S)
