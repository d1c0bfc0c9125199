"""Keep a forked process from using SQLite's state of its parent.

A child inherits SQLite's belief in locks that it does not hold, and the parent's shared memory. A file that
it would write then loses the commits of others, and closing a connection can do the same. So the child never
uses an inherited connection, never closes one, and never opens a file that was open at the fork. Other files
work as in any process.
"""

import ctypes
import os
import threading

import apsw

from docindex.errors import Forked
from docindex.storage.file.descriptors import FileId, all_open_files, file_at
from docindex.storage.file.held_files import FILES

_LONGEST_WAIT_S = 1.0
"""A fork waits this long for an open or close that is under way. It must not wait for ever: a signal handler
may fork in the thread that opens."""

_inherited: set[FileId] = set()


def refuse_inherited(file: FileId | None, path: str) -> None:
    """`Forked` for a file that was open in this process's parent at the fork."""
    if file in _inherited:
        raise inherited(path)


def inherited(path: str) -> Forked:
    """The error for a file that was open at the fork."""
    return Forked(
        f"{path} was open when this process was forked, so SQLite cannot use it in this process; "
        'start this process with multiprocessing.get_context("spawn") or "forkserver", or open the file in '
        "the parent only after the fork",
        path,
    )


def keep_alive(connection: apsw.Connection) -> None:
    """Keep a connection from ever being closed by Python, also while the interpreter ends."""
    # Modules are cleared when the interpreter ends, so a reference in one of them would not be enough.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


_forking = threading.local()


def _before() -> None:
    # While no other thread opens or closes a file: the child would inherit SQLite's mutexes as locked.
    _forking.has_lock = FILES.lock.acquire(timeout=_LONGEST_WAIT_S)


def _after_in_parent() -> None:
    if _forking.has_lock:
        FILES.lock.release()


def _after_in_child() -> None:
    _inherited.update(FILES.forget())
    for connection in apsw.connections():  # also the host's own
        keep_alive(connection)
        try:
            file = file_at(connection.filename) if connection.filename else None
        except apsw.Error:  # another thread of the parent was using it
            _inherited.update(all_open_files())
        else:
            _inherited.update([file] if file else [])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
