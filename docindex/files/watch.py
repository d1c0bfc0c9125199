"""Folders in; out, again and again, those in which something has changed. Must never open a file.

What the system does not tell, because there was too much of it or a disk is of another machine, is made good:
once in an hour all folders are said to have changed.
"""

import errno
import os
import queue
import time
from collections.abc import Iterator, Sequence

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from docindex.errors import UnreadableFile
from docindex.files.names import key_of

_SETTLED_S = 1.0
"""Without any change for so long, a person or a program is done with what they do."""

_LATEST_S = 15.0
"""So long after the first change nobody waits for the last one."""

_ALL_S = 3600.0

_RESTING = 9
"""How many times as long as a scan took it is not repeated: whatever goes on, it takes a tenth of a core."""

_CHANGES = {"created", "modified", "moved", "deleted", "closed"}


def changes(roots: Sequence[bytes], *, hidden: bool, but: str) -> Iterator[list[bytes]]:
    """All roots at once, and then whenever something has changed those where it has; never ends.

    Hidden files do not matter, unless they are wanted, nor do those whose paths begin with `but`.
    """
    changed: queue.Queue[bytes] = queue.Queue()
    observer = Observer()
    for root in roots:
        folder = root if os.path.isdir(root) else os.path.dirname(root)
        handler = _Handler(root, changed, hidden=hidden, but=but)
        observer.schedule(handler, os.fsdecode(folder), recursive=folder == root)
    try:
        observer.start()
    except OSError as error:
        names = ", ".join(map(key_of, roots))
        why = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EMFILE):
            why = "there are more folders than the system watches; raise fs.inotify.max_user_watches"
        raise UnreadableFile(f"{names} cannot be watched: {why}", names) from error
    try:
        due = set(roots)
        while True:
            began = time.monotonic()
            yield [root for root in roots if root in due]
            took = time.monotonic() - began
            due = _next(changed) or set(roots)
            time.sleep(max(0.0, began + took * (1 + _RESTING) - time.monotonic()))
            while not changed.empty():
                due.add(changed.get())
    finally:
        observer.stop()
        observer.join()


def _next(changed: "queue.Queue[bytes]") -> set[bytes]:
    """What changes next, together with what changes a moment later; nothing if nothing does."""
    try:
        found = {changed.get(timeout=_ALL_S)}
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

    def __init__(self, root: bytes, changed: "queue.Queue[bytes]", *, hidden: bool, but: str) -> None:
        self._root = root
        self._changed = changed
        self._hidden = hidden
        self._but = os.fsencode(but)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Called in a thread of the observer."""
        if event.event_type not in _CHANGES or (event.is_directory and event.event_type == "modified"):
            return
        for path in (os.fsencode(path) for path in (event.src_path, event.dest_path) if path):
            if self._matters(path):
                self._changed.put(self._root)

    def _matters(self, path: bytes) -> bool:
        if path.startswith(self._but) or not (path + b"/").startswith(self._root.rstrip(b"/") + b"/"):
            return False
        return self._hidden or b"/." not in path[len(self._root.rstrip(b"/")) :]
