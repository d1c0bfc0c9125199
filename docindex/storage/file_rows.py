"""What scans know of files: the one room that knows the table `file`. Must never look at a file itself."""

from collections.abc import Iterable
from typing import NamedTuple

import apsw

from docindex.errors import CorruptIndex
from docindex.storage.rows import row_sum, rows
from docindex.storage.values import signed

_ALL = "select key, size, mtime_ns, device, inode, kind, digest, sum from main.file"
_BITS = (1 << 64) - 1


TEXT, BINARY = "text", "binary"


class Tracked(NamedTuple):  # of which a scan needs as many as there are files: a dataclass is slower
    """A file as it was when it was last looked at."""

    key: str
    """Its path, see `docindex.folders.path_keys`."""
    size: int
    mtime_ns: int
    """-1 if it had been changed so recently that another change might not show."""
    device: int
    inode: int
    kind: str
    """"text" for one that is a document, too; "binary" for any other."""
    digest: bytes | None
    """xxh3-128 of its bytes; None for a binary file whose size no other has had."""


def tracked(db: apsw.Connection, root: str) -> list[Tracked]:
    """The files that are known under a root, or the one that it is, by their keys."""
    # "0" is the character behind "/".
    below = root if root.endswith("/") else f"{root}/"
    found = rows(
        db,
        f"{_ALL} where key = ?1 or (key >= ?2 and key < ?3) order by key",
        (root, below, f"{below[:-1]}0"),
    )
    known = []
    for *row, stored in found:
        if row_sum(*row) != stored:
            raise CorruptIndex(f"what is known of the file {row[0]!r} is damaged; scan again", db.filename)
        key, size, mtime_ns, device, inode, kind, digest = row
        known.append(Tracked(key, size, mtime_ns, device & _BITS, inode & _BITS, kind, digest))
    return known


def put(db: apsw.Connection, files: Iterable[Tracked]) -> None:
    """Know these, instead of what was known under their keys."""
    db.executemany(
        "insert or replace into main.file (key, size, mtime_ns, device, inode, kind, digest, sum) "
        "values (?, ?, ?, ?, ?, ?, ?, ?)",
        ((*row, row_sum(*row)) for row in map(_row, files)),
    )


def forget(db: apsw.Connection, key: str) -> None:
    """Know this one no more."""
    db.execute("delete from main.file where key = ?", (key,))


def _row(file: Tracked) -> tuple[object, ...]:
    device, inode = signed(file.device & _BITS), signed(file.inode & _BITS)
    return file.key, file.size, file.mtime_ns, device, inode, file.kind, file.digest
