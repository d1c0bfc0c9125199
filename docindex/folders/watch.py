"""Watch folders for changes, and repeatedly yield the roots below which something has changed.

The system may not report every change, because there are too many of them or because another machine makes
them on a network disk. So all roots count as changed once per hour. Must never open a file.
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
"""Seconds without any change after which a person or a program is assumed to have finished."""

_LATEST_S = 15.0
"""Seconds after the first change at which the root is yielded, even if changes go on."""

_ALL_S = 3600.0
"""Seconds after which all roots count as changed."""

_CHECK_S = 10.0
"""Seconds between two checks that each root is still the folder that is watched."""

_REST_FACTOR = 9
"""After a scan that took one second, the next scan waits nine seconds. So scans use a tenth of a core at
most, even if changes never stop."""

_CHANGES = {"created", "modified", "moved", "deleted", "closed"}


def changed_roots(roots: Sequence[bytes], *, hidden: bool, index_path: str) -> Iterator[list[bytes]]:
    """Yield all roots at first, and later the roots below which something has changed; never ends.

    Ignores changes of the index at `index_path`. Without `hidden`, also ignores changes of hidden files,
    except ``.gitignore``, which decides which files a scan includes. A yielded list may be empty.
    """
    # watchdog warns about each folder that is removed before it can be watched.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="watchdog")
    watch = _Watch(
        frozenset(os.fsencode(index_path + end) for end in ("", "-wal", "-shm", "-journal")), hidden=hidden
    )
    with contextlib.closing(watch):
        due = set(roots)
        for root in roots:
            watch.renew(root)
        latest = time.monotonic() + _ALL_S
        while True:
            began = time.monotonic()
            yield [root for root in roots if root in due]
            took = time.monotonic() - began
            due = watch.next_changes()
            due |= {root for root in roots if watch.renew(root)}
            if time.monotonic() > latest:
                due, latest = set(roots), time.monotonic() + _ALL_S
            if due:
                time.sleep(max(0.0, began + took * (1 + _REST_FACTOR) - time.monotonic()))
            due |= watch.changes_so_far()


_Identity = tuple[int, int] | None


class _Watch:
    """The observers of some roots, and the changes that they report."""

    def __init__(self, index_files: AbstractSet[bytes], *, hidden: bool) -> None:
        self._index_files = index_files
        self._hidden = hidden
        self._changed: queue.Queue[bytes] = queue.Queue()
        self._identities: dict[bytes, _Identity] = {}
        self._observers = contextlib.ExitStack()

    def close(self) -> None:
        """Stop all observers."""
        self._observers.close()

    def renew(self, root: bytes) -> bool:
        """Watch a root, unless it is watched already; return whether it is a new folder.

        If a folder is moved away and a new one is made, the new folder has no observer yet.
        """
        if root in self._identities and self._identities[root] == _identity(root):
            return False
        self._identities[root] = None  # until the root exists and can be watched
        with contextlib.suppress(FileNotFoundError):  # the scan reports a root that does not exist
            self._identities[root] = self._observe(root)
        return True

    def next_changes(self) -> set[bytes]:
        """Wait for a change, and return the roots that change within a moment; empty if nothing changes."""
        try:
            found = {self._changed.get(timeout=_CHECK_S)}
        except queue.Empty:
            return set()
        latest = time.monotonic() + _LATEST_S
        while (left := min(_SETTLED_S, latest - time.monotonic())) > 0:
            try:
                found.add(self._changed.get(timeout=left))
            except queue.Empty:
                break
        return found

    def changes_so_far(self) -> set[bytes]:
        """The roots whose changes were reported in the meantime."""
        found = set()
        while not self._changed.empty():
            found.add(self._changed.get())
        return found

    def _observe(self, root: bytes) -> _Identity:
        """Start an observer of a root; return the identity of the root, or None if it does not exist."""
        identity, real = _identity(root), os.path.realpath(root)
        if identity is None:
            return None
        folder = real if os.path.isdir(real) else os.path.dirname(real)
        observer = Observer()
        handler = _Handler(root, real, self._changed, self._index_files, hidden=self._hidden)
        observer.schedule(handler, os.fsdecode(folder), recursive=folder == real)
        try:
            observer.start()
        except OSError as error:
            name, reason = key_of(root), error.strerror or str(error)
            if isinstance(error, FileNotFoundError):
                raise
            if error.errno in (errno.ENOSPC, errno.EMFILE):
                reason = "it has more folders than the system can watch; raise fs.inotify.max_user_watches"
            raise UnreadableFile(f"{name} cannot be watched: {reason}", name) from error
        self._observers.callback(observer.join)
        self._observers.callback(observer.stop)
        return identity


def _identity(root: bytes) -> _Identity:
    try:
        status = os.stat(root)
    except OSError:
        return None
    # A file that an editor replaces gets another inode. The observer of its folder still reports it.
    return (status.st_dev, status.st_ino) if os.path.isdir(root) else (status.st_dev, 0)


class _Handler(FileSystemEventHandler):
    """Reports changes below one root."""

    def __init__(
        self,
        root: bytes,
        real: bytes,
        changed: "queue.Queue[bytes]",
        index_files: AbstractSet[bytes],
        *,
        hidden: bool,
    ) -> None:
        self._root = root
        self._real = real.rstrip(b"/")
        self._changed = changed
        self._index_files = index_files
        self._hidden = hidden

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Report the root; watchdog calls this in a thread of its own."""
        if event.event_type not in _CHANGES or (event.is_directory and event.event_type == "modified"):
            return
        for path in (os.fsencode(path) for path in (event.src_path, event.dest_path) if path):
            if self._is_relevant(path):
                self._changed.put(self._root)

    def _is_relevant(self, path: bytes) -> bool:
        if path in self._index_files or not (path + b"/").startswith(self._real + b"/"):
            return False
        below = path[len(self._real) :]
        return self._hidden or b"/." not in below.removesuffix(b"/" + IGNORE_FILE)
