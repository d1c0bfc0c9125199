"""A VFS that records what SQLite does to files, and the disk that a loss of power may leave.

`RecordingVFS` passes everything on to SQLite's own VFS, and appends each write, truncation, sync, creation
and deletion to a list. `Disk` replays such a list, and knows what is durable: of each file, what was written
before its last sync; of the folder, the names that were there at its last sync. `Disk.after_loss` returns
one of the states that a loss may leave. Shared memory is not recorded, because it does not survive.
"""

import dataclasses
from pathlib import Path

import apsw

SECTOR = 512
DURABLE_NAMES = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
"""The files whose first sync also syncs their folder, if SQLite makes them (see `unixSync` in os_unix.c)."""
_KEPT = DURABLE_NAMES | apsw.SQLITE_OPEN_MAIN_DB


class RecordingVFS(apsw.VFS):
    """Records what is done to the files of a folder. `operations` gets tuples: (what, name, ...)."""

    def __init__(self, name, operations, known):
        """`known` are the names of the files that are there before."""
        super().__init__(name, "unix")
        self.name = name
        self.operations = operations
        self._known = set(known)

    def xOpen(self, name, flags):  # noqa: N802 - SQLite's name
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if not path or not flags[0] & _KEPT or flags[0] & apsw.SQLITE_OPEN_DELETEONCLOSE:
            return apsw.VFSFile("unix", name, flags)
        file = RecordedFile(name, flags, Path(path).name, self.operations)
        # An empty file may have been made without SQLite.
        if file.short not in self._known:
            self._known.add(file.short)
            self.operations.append(("make", file.short, bool(flags[0] & DURABLE_NAMES)))
        return file

    def xDelete(self, name, sync_folder):  # noqa: N802 - SQLite's name
        super().xDelete(name, sync_folder)
        self._known.discard(Path(name).name)
        self.operations.append(("delete", Path(name).name, sync_folder))


class RecordedFile(apsw.VFSFile):
    """A file whose changes are recorded."""

    def __init__(self, name, flags, short, operations):
        super().__init__("unix", name, flags)
        self.short = short
        self._operations = operations

    def xWrite(self, data, offset):  # noqa: N802 - SQLite's name
        super().xWrite(data, offset)
        self._operations.append(("write", self.short, offset, bytes(data)))

    def xTruncate(self, size):  # noqa: N802 - SQLite's name
        super().xTruncate(size)
        self._operations.append(("truncate", self.short, size))

    def xSync(self, flags):  # noqa: N802 - SQLite's name
        super().xSync(flags)
        self._operations.append(("sync", self.short))


@dataclasses.dataclass
class _File:
    durable: bytearray
    unsynced: list
    syncs_folder: bool


class Disk:
    """What is on the disk for certain, and what perhaps, after each operation."""

    def __init__(self, files):
        """`files` maps the names in the folder to their bytes, all of them durable."""
        self._files = {name: _File(bytearray(data), [], False) for name, data in files.items()}
        self._durable_names = dict(self._files)
        self._unsynced_names = []

    def do(self, operation):
        what, name, *rest = operation
        if what == "make":
            self._files[name] = _File(bytearray(), [], *rest)
            self._unsynced_names.append(dict(self._files))
        elif what == "delete":
            del self._files[name]
            self._unsynced_names.append(dict(self._files))
            if rest[0]:
                self._sync_folder()
        elif what == "sync":
            file = self._files[name]
            for place, data in file.unsynced:
                apply(file.durable, place, data)
            file.unsynced.clear()
            if file.syncs_folder:
                file.syncs_folder = False
                self._sync_folder()
        else:
            place, data = rest if what == "write" else (rest[0], None)
            self._files[name].unsynced.append((place, data))

    def _sync_folder(self):
        self._durable_names = dict(self._files)
        self._unsynced_names.clear()

    def after_loss(self, rng):
        """A state that a loss of power now may leave: the bytes of each file by its name."""
        # A journaling file system keeps the order of names.
        names = rng.choice([self._durable_names, *self._unsynced_names])
        return {name: bytes(_after_loss(file, rng)) for name, file in names.items()}


def _after_loss(file, rng):
    """The durable bytes of a file, and some of what was written since: the first writes, or any of them."""
    data = bytearray(file.durable)
    sector = rng.choice((SECTOR, 8 * SECTOR))
    if rng.random() < 0.3:
        until = rng.randrange(len(file.unsynced) + 1)
        for place, written in file.unsynced[:until]:
            apply(data, place, written)
        for place, written in file.unsynced[until : until + 1]:
            torn = 0 if written is None else rng.randrange(len(written) // sector + 1) * sector
            apply(data, place, (written or b"")[:torn])
        return data
    kept, garbage = rng.choice((0.0, 1.0, rng.random(), rng.random())), rng.choice((0.0, 0.3))
    whole = rng.random() < 0.5
    for place, written in file.unsynced:
        pieces = [(place, written)] if whole or written is None else sectors(place, written, sector)
        for start, piece in pieces:
            if rng.random() < kept:
                apply(data, start, piece)
            elif piece is not None and rng.random() < garbage:
                apply(data, start, rng.randbytes(len(piece)))
    return data


def sectors(place, written, sector):
    """Cut a write where sectors of the disk end.

    >>> list(sectors(6, b"abcdefghijk", 4))
    [(6, b'ab'), (8, b'cdef'), (12, b'ghij'), (16, b'k')]
    """
    first = sector - place % sector
    yield place, written[:first]
    for start in range(first, len(written), sector):
        yield place + start, written[start : start + sector]


def apply(data, place, written):
    """Write bytes at a place, beyond the end too; without bytes, truncate there.

    >>> data = bytearray(b"abc")
    >>> apply(data, 5, b"xy"); apply(data, 1, b"B"); data
    bytearray(b'aBc\\x00\\x00xy')
    >>> apply(data, 2, None); data
    bytearray(b'aB')
    """
    if written is None:
        del data[place:]
    if written != b"":
        data.extend(bytes(max(0, place - len(data))))
    if written:
        data[place : place + len(written)] = written
