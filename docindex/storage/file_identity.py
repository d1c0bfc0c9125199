"""Notice that an open file was replaced, moved or removed, and keep its log away from the file that came.

SQLite opens a file by its name, then writes to it by its handle, whatever has happened to the name since. Its
write-ahead log, though, stays beside the *name*: the next program that opens the name would take the log for
that of the new file, and destroy it. Takes paths, and compares device and inode. Must never write to a file
that replaced ours.
"""

import contextlib
import os
from pathlib import Path

import apsw

from docindex.errors import FileReplaced
from docindex.storage.descriptors import FileId, file_at


class OpenedFile:
    """The file that a store has opened under a name."""

    def __init__(self, path: str, before: FileId | None) -> None:
        """Takes the path of a file that was just opened, and the identity that it had before that."""
        self._path = path
        # SQLite follows symbolic links once, when it opens a file. The log is beside the real file.
        self._real = os.path.realpath(path)
        self._identity = file_at(path)
        self._log: dict[str, FileId] = {}
        self._found: FileReplaced | None = None
        if before not in (None, self._identity):
            raise self._replaced()

    def refuse_replaced(self) -> None:
        """`FileReplaced` if the name does not lead to the file that was opened, now or at an earlier call."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - a `Path` takes three times as long
        except OSError:
            raise self._replaced() from None
        if (status.st_dev, status.st_ino) != self._identity or self._found is not None:
            raise self._replaced()

    def remember_log(self) -> None:
        """Note which files are the log. The caller has read: nobody removes a log that is in use."""
        if not self._log:
            found = {name: file_at(name) for name in (self._real + "-wal", self._real + "-shm")}
            self._log = {name: identity for name, identity in found.items() if identity is not None}

    def settle_log(self, db: apsw.Connection) -> None:
        """Remove our log from beside a name that no longer leads to our file.

        First moves the commits in the log to the file that they belong to, wherever that is now: `db`, which
        writes, still has it open. Does nothing if the name leads to our file, or if the log was moved too.
        """
        if not self.left_log_at(self._real):
            return
        # If somebody is reading from the log, it must stay: it may be all there is of the latest commits.
        with contextlib.suppress(apsw.BusyError, apsw.LockedError, apsw.InterruptError):
            ((busy, _, _),) = db.execute("pragma wal_checkpoint(truncate)")
            for name, identity in self._log.items():
                if not busy and file_at(name) == identity:
                    Path(name).unlink()

    def left_log_at(self, real: str) -> bool:
        """Whether our log is beside a real path that no longer leads to our file."""
        return (
            real == self._real
            and file_at(real) != self._identity
            and any(file_at(name) == identity for name, identity in self._log.items())
        )

    def _replaced(self) -> FileReplaced:
        if self._found is None:
            there = file_at(self._path) is not None
            what = "was replaced by another file" if there else "was moved or removed"
            self._found = FileReplaced(
                f"{self._path} {what} while the index was open. Nothing was written after that; "
                f"close the index, {'then' if there else 'put the file back, then'} open it again",
                self._path,
            )
        return FileReplaced(str(self._found), self._path)
