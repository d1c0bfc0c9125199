"""Store and read records of the files that scans have seen: the table `file`.

Takes and returns `Tracked` records. Must never look at the files themselves.
"""

from collections.abc import Iterable
from typing import Any

import apsw

from docindex.arguments import shown
from docindex.errors import CorruptIndex
from docindex.storage import tallies
from docindex.storage.other_connection import bound_array
from docindex.storage.statements import row_sums, rows
from docindex.storage.tables import FILE, FileRow, first_changed
from docindex.storage.tracked_files import Tracked
from docindex.storage.values import signed

_UNDER = f"{FILE.select} where key = ?1 or (key >= ?2 and key < ?3) order by key"
_AFTER = f"{FILE.select} where key > ? order by key limit ?"
_WITH = f"{FILE.select} where key in (select value from carray(?) as wanted)"
_SUMS = "select f.sum from carray(?) as wanted cross join main.docindex_file as f on f.key = wanted.value"
_BITS = (1 << 64) - 1


def tracked(db: apsw.Connection, root: str) -> list[Tracked]:
    """The records of the files under `root`, or of `root` itself if it is a file, ordered by key."""
    below = root if root.endswith("/") else f"{root}/"
    bounds = root, below, f"{below[:-1]}0"  # "0" is the character after "/"
    return _intact(db, rows(db, _UNDER, bounds))


def tracked_after(db: apsw.Connection, key: str, limit: int) -> list[Tracked]:
    """Up to `limit` records after a key, ordered by key."""
    return _intact(db, rows(db, _AFTER, (key, limit)))


def tracked_with(db: apsw.Connection, keys: Iterable[str]) -> list[Tracked]:
    """The records with some keys."""
    return _intact(db, rows(db, _WITH, (bound_array(db, tuple(keys)),)))


def _intact(db: apsw.Connection, stored: list[tuple[Any, ...]]) -> list[Tracked]:
    """The records in some rows, verified."""
    if not stored:
        return []
    if (place := first_changed(list(zip(*stored, strict=True)))) is not None:
        raise CorruptIndex(
            f"the record of the file {shown(stored[place][0])} is damaged; scan again", db.filename
        )
    known = []
    # All columns by name: a list of the others would take a tenth longer.
    for key, size, mtime_ns, ctime_ns, device, inode, kind, reading, parts, problem, digest, _ in stored:
        known.append(
            Tracked(
                key,
                size,
                mtime_ns,
                ctime_ns,
                device & _BITS,
                inode & _BITS,
                kind,
                reading,
                parts,
                problem,
                digest,
            )
        )
    return known


def put_files(db: apsw.Connection, files: Iterable[Tracked]) -> None:
    """Store records of files, replacing records with the same keys."""
    latest = {row.key: row for row in map(_row, files)}
    sums = row_sums(list(zip(*latest.values(), strict=True))) if latest else []
    before = _sums(db, _SUMS, bound_array(db, tuple(latest))) if latest else []
    db.executemany(FILE.replace, ((*row, sum_) for row, sum_ in zip(latest.values(), sums, strict=True)))
    tallies.note(db, "file", added=sums, removed=before)


def forget(db: apsw.Connection, key: str) -> None:
    """Remove the record of a file."""
    gone = _sums(db, "delete from main.docindex_file where key = ? returning sum", key)
    tallies.note(db, "file", removed=gone)


def _sums(db: apsw.Connection, statement: str, binding: Any) -> list[int]:
    """The checksums that a statement returns."""
    return [sum_ for (sum_,) in rows(db, statement, (binding,))]


def _row(file: Tracked) -> FileRow:
    device, inode = signed(file.device & _BITS), signed(file.inode & _BITS)
    facts = file.kind, file.reading, file.parts, file.problem, file.digest
    # `_replace` takes three times as long.
    return FileRow(file.key, file.size, file.mtime_ns, file.ctime_ns, device, inode, *facts)
