"""Find the index files that a connection of Python's sqlite3 has open, and open them for reading with apsw.

Python's sqlite3 and apsw are two copies of SQLite in one process. When one of them closes a file, Unix drops
all locks of the process on that file, also the locks of the other copy. So every file that is opened here
stays open until the process ends. Must never write.
"""

import atexit
import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import NamedTuple

from docindex.errors import UnreadableFile
from docindex.storage import migrations
from docindex.storage.connection import Store

_TIMEOUT_S = 10.0


class AttachedFiles(NamedTuple):
    """The databases of a connection."""

    names: list[str]
    """The names of all databases except `temp`, in the order in which SQLite searches them."""
    indexes: dict[str, str]
    """The paths of the databases that are indexes, by name."""


def attached_files(connection: sqlite3.Connection) -> AttachedFiles:
    """The databases of a connection, as attached now."""
    cursor, texts = connection.cursor(), connection.text_factory
    cursor.row_factory, connection.text_factory = None, str
    try:
        files = [(name, path) for _, name, path in cursor.execute("pragma database_list") if name != "temp"]
        indexes = {}
        for name, path in files:
            quoted = name.replace('"', '""')
            # Ignore a file that is locked, or is not a database: a statement that uses it gets the error.
            with contextlib.suppress(sqlite3.DatabaseError):
                ((application,),) = cursor.execute(f'pragma "{quoted}".application_id')
                if path and application == migrations.APPLICATION_ID:
                    indexes[name] = path
        return AttachedFiles([name for name, _ in files], indexes)
    finally:
        connection.text_factory = texts


_lock = threading.Lock()
_stores: dict[tuple[str, int, int], Store] = {}
_anchors: list[sqlite3.Connection] = []


def shared_store(path: str) -> Store:
    """The read-only store for a file that sqlite3 has open too. It is shared, and is never closed."""
    absolute = Path(path).absolute()
    try:
        status = absolute.stat()
    except OSError as error:
        raise UnreadableFile(f"{path} can no longer be read: {error.strerror}", path) from error
    # The name is part of the key because a store opens further connections by its name.
    file = (str(absolute), status.st_dev, status.st_ino)
    with _lock:
        store = _stores.get(file)
        if store is None:
            uri = f"{absolute.as_uri()}?mode=ro"
            anchor = sqlite3.connect(uri, uri=True, check_same_thread=False)
            _anchors.append(anchor)
            # This fails in a folder without write permission. There are no locks to keep there.
            with contextlib.suppress(sqlite3.OperationalError):
                anchor.execute("select 1 from sqlite_schema").fetchall()
            store = Store(str(absolute), readonly=True, durability="full", timeout_s=_TIMEOUT_S)
            _stores[file] = store
        return store


@atexit.register
def _close() -> None:
    for store in _stores.values():
        store.close()
    for anchor in _anchors:
        anchor.close()
