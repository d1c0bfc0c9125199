"""Folders in; out, again and again, those in which something has changed. Must never open a file.

What the system does not tell, because there was too much of it or a disk is of another machine, is made good:
once in an hour all folders are said to have changed.
"""

import contextlib
import errno
import os
import queue
import time
import warnings
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from docindex.errors import UnreadableFile
from docindex.folders.gitignore import IGNORE_FILE
from docindex.folders.path_keys import key_of

_SETTLED_S = 1.0
"""Without any change for so long, a person or a program is done with what they do."""

_LATEST_S = 15.0
"""So long after the first change nobody waits for the last one."""

_ALL_S = 3600.0

_LOOK_S = 10.0
"""How often it is looked whether a root is still the one that is watched."""

_RESTING = 9
"""How many times as long as a scan took it is not repeated: whatever goes on, it takes a tenth of a core."""

_CHANGES = {"created", "modified", "moved", "deleted", "closed"}


def changed_roots(roots: Sequence[bytes], *, hidden: bool, but: str) -> Iterator[list[bytes]]:
    """All roots at once, and then whenever something has changed those where it has; never ends.

    Hidden files do not matter, unless they are wanted or say what to ignore; nor do the files of the index at
    `but`.
    """
    # (It tells of each folder that comes and goes faster than it can be watched.)
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="watchdog")
    changed: queue.Queue[bytes] = queue.Queue()
    own = {os.fsencode(but + end) for end in ("", "-wal", "-shm", "-journal")}
    with contextlib.ExitStack() as stack:
        due = set(roots)
        watched: dict[bytes, _Identity] = dict.fromkeys(roots)
        for root in roots:
            with contextlib.suppress(FileNotFoundError):  # then the first scan says so
                watched[root] = _watched(root, changed, stack, own, hidden=hidden)
        latest = time.monotonic() + _ALL_S
        while True:
            began = time.monotonic()
            yield [root for root in roots if root in due]
            took = time.monotonic() - began
            due = _next(changed)
            # One that was moved away and made again is another one, of which nobody tells.
            for root in roots:
                if watched[root] != _identity(root):
                    due.add(root)
                    watched[root] = None  # until it is there, and can be watched
                    with contextlib.suppress(FileNotFoundError):
                        watched[root] = _watched(root, changed, stack, own, hidden=hidden)
            if time.monotonic() > latest:
                due, latest = set(roots), time.monotonic() + _ALL_S
            if due:
                time.sleep(max(0.0, began + took * (1 + _RESTING) - time.monotonic()))
            while not changed.empty():
                due.add(changed.get())


_Identity = tuple[int, int] | None


def _watched(
    root: bytes,
    changed: "queue.Queue[bytes]",
    stack: contextlib.ExitStack,
    own: AbstractSet[bytes],
    *,
    hidden: bool,
) -> _Identity:
    """Begin to watch a root; gives which one it is, or None if there is none."""
    identity, real = _identity(root), os.path.realpath(root)
    if identity is None:
        return None
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    observer = Observer()
    handler = _Handler(root, real, changed, own, hidden=hidden)
    observer.schedule(handler, os.fsdecode(folder), recursive=folder == real)
    try:
        observer.start()
    except OSError as error:
        name, why = key_of(root), error.strerror or str(error)
        if isinstance(error, FileNotFoundError):
            raise
        if error.errno in (errno.ENOSPC, errno.EMFILE):
            why = "there are more folders than the system watches; raise fs.inotify.max_user_watches"
        raise UnreadableFile(f"{name} cannot be watched: {why}", name) from error
    stack.callback(observer.join)
    stack.callback(observer.stop)
    return identity


def _identity(root: bytes) -> _Identity:
    try:
        status = os.stat(root)
    except OSError:
        return None
    # A file that is saved by another one that gets its name is watched by its folder.
    return (status.st_dev, status.st_ino) if os.path.isdir(root) else (status.st_dev, 0)


def _next(changed: "queue.Queue[bytes]") -> set[bytes]:
    """What changes next, together with what changes a moment later; nothing if nothing does for a while."""
    try:
        found = {changed.get(timeout=_LOOK_S)}
    except queue.Empty:
        return set()
    latest = time.monotonic() + _LATEST_S
    while (left := min(_SETTLED_S, latest - time.monotonic())) > 0:
        try:
            found.add(changed.get(timeout=left))
        except queue.Empty:
            break
    return found


class _Handler(FileSystemEventHandler):
    """Passes on that something has changed under one root."""

    def __init__(
        self,
        root: bytes,
        real: bytes,
        changed: "queue.Queue[bytes]",
        own: AbstractSet[bytes],
        *,
        hidden: bool,
    ) -> None:
        self._root = root
        self._real = real.rstrip(b"/")
        self._changed = changed
        self._own = own
        self._hidden = hidden

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called in a thread of the observer."""
        if event.event_type not in _CHANGES or (event.is_directory and event.event_type == "modified"):
            return
        for path in (os.fsencode(path) for path in (event.src_path, event.dest_path) if path):
            if self._matters(path):
                self._changed.put(self._root)

    def _matters(self, path: bytes) -> bool:
        if path in self._own or not (path + b"/").startswith(self._real + b"/"):
            return False
        below = path[len(self._real) :]
        return self._hidden or b"/." not in below.removesuffix(b"/" + IGNORE_FILE)
