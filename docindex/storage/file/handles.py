"""Make and release every connection of apsw to a file: the only module that may open or close one.

A released connection is closed only when this process has no other descriptor of its file, because closing
would drop the locks of other libraries on the file. Until then it is parked, and the next `acquire` of the
same file, in the same way, uses it again, so the number of connections stays bounded. What is still parked
when the process ends is never closed.
"""

import atexit
import contextlib
import os
import time
from collections import deque
from collections.abc import Iterable

import apsw

from docindex.errors import Busy
from docindex.private_files import FILE_MODE
from docindex.storage.file import held_files
from docindex.storage.file.descriptors import CLOSING_DROPS_LOCKS, file_at, open_count
from docindex.storage.file.forks import keep_alive, refuse_inherited
from docindex.storage.file.held_files import FILES, OPEN_FLAGS, HeldFile, beside

Way = tuple[str, int, bool]
"""How a connection is opened: the name for SQLite, the flags, and whether it is restricted."""

_WAIT_S = 0.01
# If the host opens and closes equally many files between two questions, it is noticed after this time.
_LOOK_S = 0.01
# A library needs longer to open a file and to begin a transaction.
_ASK_S = 0.000_05
_SQLITE = b"SQLite format 3\0"
_WRITE_AHEAD = b"\2\2"  # bytes 18 and 19 of a database in write-ahead mode
_NEVER_AGAIN: Way = ("", 0, False)


class Handle(apsw.Connection):
    """A connection to a file, from `acquire`. It is given back with `release`, never closed."""

    held: HeldFile | None = None
    """The file; None on Windows, where closing a file drops no locks of another library."""
    way: Way = _NEVER_AGAIN
    former_way: Way = _NEVER_AGAIN
    is_lent = False

    def __del__(self) -> None:
        if self.is_lent and self.held is not None:  # an interrupt came before anybody could keep it
            self.held.lent.pop(id(self), None)


def acquire(
    path: str, flags: int, *, name: str | None = None, is_restricted: bool = False, timeout_s: float = 0.0
) -> apsw.Connection:
    """A connection to the file at a path, as new. SQLite opens it under `name`, if that is given.

    A connection that `is_restricted` is never used again as another one. `Busy` if the file cannot be opened
    safely because another library in this process has it open, `Forked` if it was open at the fork.
    """
    way = name or path, flags, is_restricted
    if not CLOSING_DROPS_LOCKS:
        return Handle(way[0], flags)
    if FILES.is_locked_here():
        raise Busy(_UNDER_WAY.format(path), path)
    deadline = time.monotonic() + timeout_s
    while True:
        file = file_at(path)
        refuse_inherited(file, path)
        with FILES.lock:
            _park_dropped()
            held = FILES.get(file)
            if held is not None and not held.lent:
                FILES.close_parked(held)
                held = FILES.get(file)
            connection = _acquired(path, way, held)
        if connection is not None:
            return connection
        if time.monotonic() >= deadline:
            raise Busy(_CANNOT_GUARD.format(path), path)
        time.sleep(_WAIT_S)


def release(connection: apsw.Connection, *, is_in_use: bool = False) -> None:
    """Close a connection as soon as that drops no lock of another library. Releasing twice does no harm.

    With `is_in_use`, a block or a cursor of another thread may go on to use it: its next statement fails.
    """
    if not isinstance(connection, Handle) or connection.held is None:
        connection.close(True)
        return
    if is_in_use and connection.way != _NEVER_AGAIN:
        connection.former_way, connection.way = connection.way, _NEVER_AGAIN
    if FILES.is_locked_here():
        _dropped.append(connection)
        return
    with FILES.lock:
        _park_dropped()
        _park(connection, connection.held)
        # Files that were only read are parked too, perhaps because the connection had them open.
        for held in FILES.all():
            if not held.connections:
                FILES.close_parked(held)


def drop(connections: Iterable[apsw.Connection]) -> None:
    """Release the connections of an object that was freed without being closed."""
    if _Ending.has_begun:
        return
    _dropped.extend(connections)
    # A free object may be found anywhere, also in the middle of `release`. Then the next call parks them.
    if not FILES.is_locked_here():
        with FILES.lock:
            _park_dropped()


def _acquired(path: str, way: Way, held: HeldFile | None) -> Handle | None:
    """A connection to a file; None while the log that another library uses cannot be guarded."""
    if held is None or held.main < 0:
        held = _first_held(path, way[1])
    try:
        if held.lent or held.connections:
            refuse_another_library(held, path, is_change=True)
        elif not _is_safe(held, path):
            return None
        connection = _parked(held, way) or _opened(held, way)
        held.lent[id(connection)] = connection.readonly("main")
        connection.is_lent = True
        return connection
    finally:
        if not held.lent:
            FILES.close_parked(held)


def _first_held(path: str, flags: int) -> HeldFile:
    """What is open of a file to which there is no connection yet: a descriptor."""
    try:
        make = os.O_CREAT if flags & apsw.SQLITE_OPEN_CREATE else 0
        descriptor = os.open(path, OPEN_FLAGS | make, FILE_MODE)
    except OSError as error:
        raise apsw.CantOpenError(str(error)) from error
    held = FILES.of_descriptor(descriptor)
    held.main = descriptor
    return held


def _notice(connection: apsw.Connection) -> None:
    """Count a new connection of the host, as its descriptor may stay open when it is closed."""
    if not isinstance(connection, Handle) and FILES.all():
        with FILES.lock:
            for held in FILES.all():
                held.count_hosts(connection)


if CLOSING_DROPS_LOCKS:
    apsw.connection_hooks.append(_notice)


def _parked(held: HeldFile, way: Way) -> Handle | None:
    for connection in held.connections:
        if isinstance(connection, Handle) and connection.way == way and _is_as_new(connection):
            held.connections.remove(connection)
            return connection
    return None


def _opened(held: HeldFile, way: Way) -> Handle:
    connection = Handle(way[0], way[1])
    connection.held, connection.way = held, way
    if held.lent or held.connections:
        held.count_opened(connection.readonly("main"))
        return connection
    with contextlib.suppress(apsw.Error):  # then what is open besides our own is never closed
        connection.execute("pragma schema_version").fetchall()  # takes the lock that `hosts` needs
        held.count_hosts()
    return connection


def _is_safe(held: HeldFile, path: str) -> bool:
    """Whether SQLite may open a file. Guards the log of a file in write-ahead mode."""
    os.lseek(held.main, 0, os.SEEK_SET)
    header = os.read(held.main, 20)
    has_journal = os.path.exists(beside(path, "-journal"))
    if not header.startswith(_SQLITE) and not has_journal:
        return True  # a new file, or one of another kind
    if header[18:] != _WRITE_AHEAD or has_journal:
        # A journal may be left from a crash while the file became one in write-ahead mode. SQLite applies it
        # when nobody else uses the file: the guard of the log would keep SQLite from that.
        if held.is_open_in_another_library():
            raise Busy(_ANOTHER_LIBRARY.format(path), path)
        return True
    if not held_files.CAN_LOCK:
        refuse_another_library(held, path, is_change=True)
        return True
    # Always, and before SQLite opens the file: another library may be opening it at this moment.
    try:
        guard = held.guard or held.make_guard(beside(path, "-shm"))
    except OSError:
        return not held.is_open_elsewhere()  # nobody may write here, so nobody has locks to lose
    if not guard.hold(held.main):
        refuse_another_library(held, path, is_change=True)
    return guard.is_held


def refuse_another_library(held: HeldFile | None, path: str, *, is_change: bool) -> None:
    """`Busy` if another SQLite library of this process uses the file.

    Locks belong to the process: one library takes those of the other for its own, and ends them. So both may
    write at once, and a reader may see pages of two states.

    A look at all descriptors takes longer than reading a document. So it is done only if their number has
    changed, or after a moment; or before each change, on a system that does not tell their number.
    """
    if held is None:
        return
    now = time.monotonic()
    last, asks, due = held.looked
    if now < asks and (last or not is_change):
        return
    count = open_count()
    if count != last or now >= due or (is_change and not count):
        if held.is_used_by_another_library(path):
            raise Busy(_ANOTHER_LIBRARY.format(path), path)
        due = now + _LOOK_S
    held.looked = count, now + _ASK_S, due


def expect(connection: apsw.Connection) -> None:
    """Note that the descriptors that a new connection has just opened are our own: no look is needed."""
    held = connection.held if isinstance(connection, Handle) else None
    if held is not None:
        now = time.monotonic()
        held.looked = open_count(), now + _ASK_S, now + _LOOK_S


_ANOTHER_LIBRARY = (
    "{} is in use in this process through another SQLite library, such as Python's sqlite3, and two "
    "libraries in one process can lose each other's changes: close that connection, or call "
    "docindex.register(connection) on it and ask there, or keep the index in a file of its own"
)
_UNDER_WAY = (
    "{} cannot be opened now: a signal handler interrupted docindex while it was opening or closing a file; "
    "open it after the handler has returned"
)
_CANNOT_GUARD = (
    "{} cannot be opened now: another connection or program is opening or closing it, or has locked it, so "
    "its write-ahead log cannot be protected; try again when that is done"
)


def guard_log(connection: apsw.Connection) -> None:
    """Keep the log of an open database from other libraries of this process, if the system can."""
    held = connection.held if isinstance(connection, Handle) else None
    if held is None:
        return
    with FILES.lock:
        index_path = f"{connection.filename}-shm"
        # Without the file, another program has switched the log off. Without permission, nobody can write.
        if held.guard is None and file_at(index_path) is not None:
            with contextlib.suppress(OSError):
                held.make_guard(index_path)
        if held.guard is not None:
            held.guard.hold(held.main)


def _is_as_new(connection: Handle) -> bool:
    """Whether a parked connection has nothing left of its former use that could change an answer."""
    return (
        connection.txn_state() == apsw.SQLITE_TXN_NONE
        and connection.db_names() == ["main", "temp"]
        and not connection.execute("select count(*) from temp.sqlite_schema").get
    )


def _park(connection: Handle, held: HeldFile) -> None:
    if not connection.is_lent or FILES.get(held.file) is not held:
        return  # it was released before, or it belongs to the parent of this process
    # The handler holds the former owner, which could otherwise not be freed.
    connection.set_busy_handler(None)
    connection.authorizer = None
    with contextlib.suppress(apsw.Error):
        if connection.in_transaction:
            connection.execute("rollback")
    connection.is_lent = False
    held.lent.pop(id(connection), None)
    held.connections.append(connection)
    if connection.way == _NEVER_AGAIN and held.guard is not None:
        FILES.suspended.add(held.guard.file)
    FILES.close_parked(held)
    if connection.way == _NEVER_AGAIN and connection in held.connections:
        _close_before_others(connection, held)


def _close_before_others(connection: Handle, held: HeldFile) -> None:
    """Close a connection whose cursors somebody keeps: they hold a state of the file, or a lock.

    SQLite keeps a descriptor open as long as another of its connections has locks on the file. So this drops
    no lock, if there is such a connection.
    """
    held.connections.remove(connection)
    if not (held.lent or held.connections):
        other = _opened(held, connection.former_way)
        held.connections.append(other)
        other.execute("select 1 from main.sqlite_schema").fetchall()  # locks the file as long as it is open
    kind = connection.readonly("main")
    connection.close(True)
    held.spare[kind] += 1


_dropped: deque[apsw.Connection] = deque()


def _park_dropped() -> None:
    while _dropped:
        connection = _dropped.popleft()
        if isinstance(connection, Handle) and connection.held is not None:
            _park(connection, connection.held)


class _Ending:
    has_begun = False


@atexit.register
def _end() -> None:
    """Keep what is parked, and what its owner did not close, from being closed while the interpreter ends.

    The host may still be in a transaction, and its locks would be dropped.
    """
    with FILES.lock:
        _park_dropped()
        _Ending.has_begun = True
        kept = []
        for held in FILES.all():
            FILES.close_parked(held)
            if held.is_open_elsewhere():
                kept += [one for one in apsw.connections() if isinstance(one, Handle) and one.held is held]
    for connection in kept:
        keep_alive(connection)
