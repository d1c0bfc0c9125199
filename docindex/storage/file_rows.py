"""Store and read records of the files that scans have seen: the only module that knows the table `file`.

Takes and returns `Tracked` records. Must never look at the files themselves.
"""

from collections.abc import Iterable
from typing import NamedTuple

import apsw

from docindex.errors import CorruptIndex
from docindex.storage.rows import rows
from docindex.storage.tables import FILE, FileRow
from docindex.storage.values import signed

_UNDER = f"{FILE.select} where key = ?1 or (key >= ?2 and key < ?3) order by key"
_BITS = (1 << 64) - 1


TEXT, BINARY, UNDETECTED = "text", "binary", "undetected"


class Tracked(NamedTuple):  # a scan makes one for each file, and a dataclass takes longer
    """A file as it was when a scan last looked at it."""

    key: str
    """The path of the file as a key; see `docindex.folders.path_keys`."""
    size: int
    mtime_ns: int
    """When the file was changed; -1 if another change might leave this time the same."""
    device: int
    inode: int
    kind: str
    """"text" for a file that has a document, "undetected" for text in an encoding that was not detected, and
    "binary" for any other file."""
    digest: bytes | None
    """The xxh3-128 of the file's bytes; None for a binary file until another file has the same size."""


def tracked(db: apsw.Connection, root: str) -> list[Tracked]:
    """The records of the files under `root`, or of `root` itself if it is a file, ordered by key."""
    below = root if root.endswith("/") else f"{root}/"
    known = []
    for found in rows(db, _UNDER, (root, below, f"{below[:-1]}0")):  # "0" is the character after "/"
        key, size, mtime_ns, device, inode, kind, digest, _ = found
        if not FILE.is_intact(found):
            raise CorruptIndex(f"the record of the file {key!r} is damaged; scan again", db.filename)
        known.append(Tracked(key, size, mtime_ns, device & _BITS, inode & _BITS, kind, digest))
    return known


def put_files(db: apsw.Connection, files: Iterable[Tracked]) -> None:
    """Store records of files, replacing records with the same keys."""
    db.executemany(FILE.replace, FILE.with_sums(map(_row, files)))


def forget(db: apsw.Connection, key: str) -> None:
    """Remove the record of a file."""
    db.execute("delete from main.file where key = ?", (key,))


def _row(file: Tracked) -> FileRow:
    device, inode = signed(file.device & _BITS), signed(file.inode & _BITS)
    return FileRow(file.key, file.size, file.mtime_ns, device, inode, file.kind, file.digest)
