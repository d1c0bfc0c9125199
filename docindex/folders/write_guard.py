"""Keep other programs from writing to a file while it is compared and removed.

Takes an open file. The kernel's lease is the protection: as long as it holds, nobody can open the file for
writing, and nobody had it open when it began. Where the kernel grants no lease, the open files of all
processes are looked through. Must never make a program wait for longer than one step of the work.

The kernel leaves one gap: a program may have looked up the name of a file and not opened it yet when the file
is deleted. So `act` keeps the lease for a moment after deleting a file. If such a program opens it then, it
may finish, and the file is written again with what it wrote. Its bytes are lost only if it needs longer than
that moment to open the file, or keeps the deleted file open for more than ten seconds. With `trash` there is
no such gap. Not seen at all are other computers that use the same disk, and without a lease the processes of
other users and of other containers.
"""

import os
import time
from typing import Literal, Self

from docindex.folders.file_reader import NotReadable
from docindex.folders.open_writers import open_writers
from docindex.folders.system import end_lease, lease_holds, take_lease

Guard = Literal["lease", "processes", "own processes"]
"""How it was found out that no other program was writing to a file. Lease: the kernel kept every program from
opening it. Processes: no process of this computer had it open for writing. Own processes: no process that
this person may look at had it open for writing; a process of another user may have had."""

GUARDS: tuple[Guard, ...] = ("lease", "processes", "own processes")
"""Every value of `Guard`, the safest first."""

IN_USE = "in use by another program"
KEPT_IN_USE = "the kept file is in use by another program"
_PATIENCE_S = 10
_STEP_S = 0.01


class WriteGuard:
    """Says whether another program can be writing to an open file; a context manager.

    `NotReadable` with the reason `in_use` on entering and from `check`, if one can.
    """

    def __init__(self, descriptor: int, path: bytes, in_use: str = IN_USE) -> None:
        self._descriptor = descriptor
        self._path = path
        self._in_use = in_use
        self._has_lease = False
        self.guard: Guard = "own processes"

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def check(self, path: bytes | None = None) -> None:
        """`NotReadable` if another program opens the file for writing now; `path` is its present path."""
        if self._has_lease:
            self.check_lease()
        else:
            self._look_at_processes(path or self._path)

    def check_lease(self) -> None:
        """Like `check`, but looks at the lease only, if there is one: that costs a microsecond."""
        if self._has_lease and not lease_holds(self._descriptor):
            raise NotReadable(self._in_use)

    def end(self) -> None:
        """Let a program that waits for the file go on."""
        if self._has_lease:
            self._has_lease = False
            end_lease(self._descriptor)

    def wait_for_writer(self) -> None:
        """Let a program that waits for the file write to it and close it, for at most ten seconds."""
        self.end()
        for _ in range(int(_PATIENCE_S / _STEP_S)):
            time.sleep(_STEP_S)
            try:
                self._take()
            except NotReadable:
                continue
            return

    def _take(self) -> None:
        try:
            take_lease(self._descriptor)
        except BlockingIOError as error:
            raise NotReadable(self._in_use) from error
        except OSError:
            self._look_at_processes(self._path)
        else:
            self._has_lease = True
            self.guard = "lease"

    def _look_at_processes(self, path: bytes) -> None:
        writers = open_writers(os.fstat(self._descriptor), path)
        if writers.processes:
            raise NotReadable(self._in_use)
        self.guard = "processes" if writers.is_complete else "own processes"
