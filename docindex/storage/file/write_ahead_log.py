"""Bound the size of a file's write-ahead log: restart the log when it is long, and name who prevents that.

SQLite appends each commit to the log. It starts again at the beginning of the log when all of it was copied
into the file and nobody reads from it. If readers overlap, that moment never comes, and the log grows without
end. So a writer that finds a long log asks SQLite for a checkpoint that waits for the readers. Readers that
begin during the wait read from the file, and prevent nothing. Must never wait longer than the caller allows,
and never inside a transaction.
"""

import contextlib
import logging
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import apsw

from docindex.errors import Busy

# Find the processes that hold locks on an SQLite file in write-ahead mode, to name them in messages.
#
# Takes the path of the file and the number of a lock; returns process ids and names. Only Linux tells them:
# elsewhere no holder is found. Must never open the file: closing it would drop this process's own locks on
# it.

# The bytes of the shared-memory file that SQLite locks (https://sqlite.org/walformat.html).
WRITER = range(120, 121)
READERS = range(123, 128)

_HEADER_BYTES = 136


class Holder(NamedTuple):
    """A process that holds a lock."""

    process: int
    byte: int
    """The byte that is locked. Readers of one state of the file lock the same byte."""
    frames: int = 0
    """Of a reader: that state, as a number of frames of the log; 0 if that is not known."""


def lock_holders(path: str, kind: Literal["READ", "WRITE"], locks: range) -> set[Holder]:
    """The processes that hold a kind of lock on some bytes of the file's shared memory."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = Path(os.path.realpath(path) + "-shm").stat().st_ino
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        return {
            Holder(int(fields[4]), byte)
            for fields in lines
            if kind in fields and "->" not in fields and fields[5].endswith(f":{inode}")
            for byte in locks
            if int(fields[6]) <= byte <= int(fields[7])
        }
    return set()


def blocking_readers(path: str) -> set[Holder]:
    """The readers that keep the log from being copied into the file; or all readers, if that is not known."""
    holders = lock_holders(path, "READ", READERS)
    header = _shared_header(path)
    if header is None:
        return holders
    # See walIndexHdr and walCkptInfo in https://sqlite.org/walformat.html: the number of frames in the log,
    # how many are copied, and up to which frame the readers that lock each byte read.
    (frames,), (copied, *marks) = struct.unpack_from("=I", header, 16), struct.unpack_from("=6I", header, 96)
    # If all frames are copied, the readers of the first byte read from the file only.
    blocks = [copied < frames, *(copied == frames or mark < frames for mark in marks[1:])]
    slots = [(holder, holder.byte - READERS.start) for holder in holders]
    return {holder._replace(frames=marks[slot]) for holder, slot in slots if blocks[slot]}


def frames_in_log(path: str) -> int | None:
    """How many frames of a file's log hold commits; None if the system does not tell."""
    header = _shared_header(path)
    return None if header is None else int(struct.unpack_from("=I", header, 16)[0])


def _shared_header(path: str) -> bytes | None:
    """The header of the shared memory, read through the descriptor with which SQLite has it open here."""
    descriptor = open_descriptor(path + "-shm")
    if descriptor is not None:
        with contextlib.suppress(OSError):  # closed in the meantime
            header = os.pread(descriptor, _HEADER_BYTES, 0)
            return header if len(header) == _HEADER_BYTES else None
    return None


def open_descriptor(path: str) -> int | None:
    """A descriptor with which SQLite has a file open in this process; None if the system does not tell."""
    if not hasattr(os, "pread"):
        return None
    with contextlib.suppress(OSError):
        wanted = Path(os.path.realpath(path)).stat()
        for entry in Path("/dev/fd").iterdir():
            with contextlib.suppress(OSError):  # closed in the meantime
                if os.path.samestat(os.fstat(int(entry.name)), wanted):
                    return int(entry.name)
    return None


def process_name(process: int) -> str:
    """The number and the command of a process, for a message."""
    if process == os.getpid():
        return f"process {process} (this process, through another connection)"
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return f"process {process}"
    words = command.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return f"process {process} ({words[:60]})"


BOUND = 64 << 20
"""A writer restarts a log of this many bytes, and refuses to let it grow to twice as many.

SQLite itself copies the log into the file about every 8 MB, which is enough if readers do not overlap. A
restart makes a writer wait for as long as one or two searches take. With 64 MB, two writers among six
searching threads commit as often as without a bound. A commit of `add_many` also has to fit: 32 million
characters of random words write 52 MB.
"""

_HEADER = 32  # bytes at the beginning of the log
_FRAME_HEADER = 24  # bytes of the log before each page
# A transaction is expected to write this share of the bound if the caller does not say how much it writes.
_SHARE_OF_TRANSACTION = 1 / 16
# If the log could not be restarted, the next attempt is when it has grown by this share of the bound. So a
# long reader makes at most four commits of each process wait.
_SHARE_BETWEEN_ATTEMPTS = 1 / 4
# How long one attempt waits for readers: longer than most questions take. It locks out other writers of the
# file, also those of the host, which often give up after five seconds.
_ATTEMPT_S = 1.0
# Pauses between attempts: long enough for other writers, which look again after 0.1 s, to have their turn.
_TRIES_IN_PAUSE = 20

_log = logging.getLogger("docindex")

KeepWaiting = Callable[[int], bool]
"""A busy handler of SQLite: it waits for a moment, and returns whether to try again."""


class WriteAheadLog:
    """The log of one file, as the writer of a `Store` sees it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._frame = 0
        self._last_size = 0
        self._again = 0.0
        self._named: set[object] = set()
        # When each question of this store began, by connection.
        self._open: dict[apsw.Connection, float] = {}

    def question_begins(self, connection: apsw.Connection) -> None:
        """Note that a connection reads from now on, so that a message can tell for how long."""
        self._open[connection] = time.monotonic()

    def question_ends(self, connection: apsw.Connection) -> None:
        """Note that a connection no longer reads."""
        self._open.pop(connection, None)

    def has_room(self, db: apsw.Connection, expected: int) -> bool:
        """Whether a transaction that writes about `expected` bytes can begin at once."""
        size = self._size(db)
        if size < BOUND:
            self._again = 0.0
            return expected <= BOUND or not _is_full(size, expected)
        return size < self._again and not _is_full(size, expected)

    def make_room(self, db: apsw.Connection, expected: int, keep_waiting: KeepWaiting) -> Busy | None:
        """Restart the log. Returns an error if that failed, and the log has no room for the transaction.

        `db` has `keep_waiting` as its handler.
        """
        size = self._size(db)
        full = _is_full(size, expected)
        began, readers = time.monotonic(), blocking_readers(self._path)
        if _restarted(db, keep_waiting, keep_trying=full):
            self._again = 0.0
            self._named.clear()
            return None
        self._again = size + BOUND * _SHARE_BETWEEN_ATTEMPTS
        readers &= blocking_readers(self._path)
        if full:
            return Busy(self._refusal(size, began, readers), self._path)
        self._warn(size, began, readers)
        return None

    def give_back_room(self, db: apsw.Connection) -> None:
        """Cut off the end of the log, which holds no commits, and try to empty the log.

        Does what it can: a log with commits stays if the disk is so full that they cannot be copied into the
        file.
        """
        with contextlib.suppress(apsw.Error, OSError):
            frame = db.pragma("page_size") + _FRAME_HEADER
            # While nobody else can write, nobody uses what follows the last commit.
            db.execute("begin immediate")
            try:
                frames = frames_in_log(self._path)
                if frames is not None:
                    os.truncate(f"{self._path}-wal", frames and _HEADER + frames * frame)
            finally:
                db.execute("rollback")
        with contextlib.suppress(apsw.Error):
            db.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _size(self, db: apsw.Connection) -> int:
        """The bytes of the log that hold commits. (The file may be longer.)"""
        # 0.4 microseconds. It includes the commits of other processes, unlike the hook of the connection.
        try:
            frames, _ = db.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_NOOP)
        except apsw.BusyError:
            # Another process writes the header of the log at this moment. SQLite does not wait for that here,
            # but it does when the transaction begins.
            return self._last_size
        if frames > 0 and not self._frame:
            self._frame = db.pragma("page_size") + _FRAME_HEADER
        self._last_size = max(0, frames) * self._frame  # -1 in a file without write-ahead log
        return self._last_size

    def _refusal(self, size: int, began: float, readers: set[Holder]) -> str:
        names = [name for _, name in self._long_readers(began, readers)]
        waited_s = time.monotonic() - began
        return (
            f"{self._path} was not changed: its write-ahead log has {_megabytes(size)}, and can only be "
            f"emptied when nobody reads from it. Still reading after {waited_s:.1f} s: {_listed(names)}. "
            "End long questions, or try again later"
        )

    def _warn(self, size: int, began: float, readers: set[Holder]) -> None:
        """Log a warning that names the readers that have not been named since the log was last restarted."""
        found = dict(self._long_readers(began, readers))
        new = [name for reader, name in found.items() if reader not in self._named]
        self._named.update(found)
        if new:
            _log.warning(
                "The write-ahead log of %s has %s, and can only be emptied when nobody reads from it. "
                "Still reading: %s. When the log has %s, changes are refused with Busy.",
                *(self._path, _megabytes(size), _listed(new), _megabytes(2 * BOUND)),
            )

    def _long_readers(self, began: float, readers: set[Holder]) -> Iterator[tuple[object, str]]:
        """Readers that began before a moment and still read: something that identifies each, and its name."""
        now = time.monotonic()
        by_process = {reader.process: reader for reader in readers}
        if not by_process or os.getpid() in by_process:
            for connection, since in list(self._open.items()):
                if since <= began:
                    by_process.pop(os.getpid(), None)
                    name = f"this process, through a question that has been open for {now - since:.0f} s"
                    yield (connection, since), name
        for process, reader in sorted(by_process.items()):
            yield reader, process_name(process)


def _is_full(size: int, expected: int) -> bool:
    return size > 0 and size + max(expected, BOUND * _SHARE_OF_TRANSACTION) > 2 * BOUND


def _restarted(db: apsw.Connection, keep_waiting: KeepWaiting, *, keep_trying: bool) -> bool:
    """Make SQLite begin at the start of the log; False if readers prevent it.

    Makes one attempt; or attempts until `keep_waiting` says that the time is up.
    """
    last = time.monotonic() + _ATTEMPT_S
    while True:
        if _attempt(db, keep_waiting):
            return True
        # SQLite does not wait at all while another process restarts the log.
        if time.monotonic() >= last and not keep_trying:
            return False
        if not all(keep_waiting(number) for number in range(1, _TRIES_IN_PAUSE)):
            return False


def _attempt(db: apsw.Connection, keep_waiting: KeepWaiting) -> bool:
    until = time.monotonic() + _ATTEMPT_S
    db.set_busy_handler(lambda tries: time.monotonic() < until and keep_waiting(tries))
    try:
        db.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_RESTART)
    except apsw.BusyError:
        return False
    finally:
        db.set_busy_handler(keep_waiting)
    return True


def _megabytes(size: float) -> str:
    return f"{size / (1 << 20):.0f} MB"


def _listed(names: list[str]) -> str:
    return "; ".join(names) or "another process"
