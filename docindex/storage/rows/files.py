"""Store and read records of the files that scans have seen: the table `file`.

Takes and returns `Tracked` records. Must never look at the files themselves.
"""

from collections.abc import Iterable
from typing import Any

import apsw

from docindex.arguments import shown
from docindex.errors import CorruptIndex
from docindex.storage import tallies
from docindex.storage.halved_sums import file_sums
from docindex.storage.other_connection import bound_array
from docindex.storage.statements import rows
from docindex.storage.tables import FILE, FileRow
from docindex.storage.tallies import Tally
from docindex.storage.tracked_files import Tracked
from docindex.storage.values import signed

_UNDER = f"{FILE.select} where key = ?1 or (key >= ?2 and key < ?3) order by key"
_OTHERS = f"{FILE.select} where key < ?1 or (key > ?1 and key < ?2) or key >= ?3"
_AFTER = f"{FILE.select} where key > ? order by key limit ?"
_WITH = f"{FILE.select} where key in (select value from carray(?) as wanted)"
_FEW = 100
_SUMS = "select f.sum from carray(?) as wanted cross join main.docindex_file as f on f.key = wanted.value"
_BITS = (1 << 64) - 1


def tracked(db: apsw.Connection, root: str) -> list[Tracked]:
    """The records of the files under `root`, or of `root` itself if it is a file, ordered by key."""
    below = root if root.endswith("/") else f"{root}/"
    bounds = root, below, f"{below[:-1]}0"  # "0" is the character after "/"
    known = _intact(db, rows(db, _UNDER, bounds))
    others = tallies.stored(db, "file").rows - len(known)
    # A damaged key may hide a file from a root. Verify the others too, unless they are more.
    if others > max(len(known), _FEW):
        return known
    if len(_intact(db, rows(db, _OTHERS, bounds))) != others:
        raise tallies.other_rows(db, "file")
    return known


def tracked_after(db: apsw.Connection, key: str, limit: int) -> list[Tracked]:
    """Up to `limit` records after a key, ordered by key."""
    return _intact(db, rows(db, _AFTER, (key, limit)))


def tracked_with(db: apsw.Connection, keys: Iterable[str]) -> list[Tracked]:
    """The records with some keys."""
    return _intact(db, rows(db, _WITH, (bound_array(db, tuple(keys)),)))


def _intact(db: apsw.Connection, stored: list[tuple[Any, ...]]) -> list[Tracked]:
    """The records in some rows, verified."""
    known = []
    sums = file_sums(found[:-1] for found in stored)
    for found, sum_ in zip(stored, sums, strict=True):
        # All columns by name: a list of the others would take a tenth longer.
        key, size, mtime_ns, ctime_ns, device, inode, kind, reading, parts, problem, digest, stored_sum = (
            found
        )
        if sum_ != stored_sum:
            raise CorruptIndex(f"the record of the file {shown(key)} is damaged; scan again", db.filename)
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
    sums = file_sums(latest.values())
    before = _tally(db, _SUMS, bound_array(db, tuple(latest))) if latest else tallies.NOTHING
    db.executemany(FILE.replace, ((*row, sum_) for row, sum_ in zip(latest.values(), sums, strict=True)))
    tallies.note(db, {"file": tallies.tally_of(sums).without(before)})


def forget(db: apsw.Connection, key: str) -> None:
    """Remove the record of a file."""
    gone = _tally(db, "delete from main.docindex_file where key = ? returning sum", key)
    tallies.note(db, {"file": tallies.NOTHING.without(gone)})


def _tally(db: apsw.Connection, statement: str, binding: Any) -> Tally:
    """The tally of the rows whose sums a statement returns."""
    return tallies.tally_of(sum_ for (sum_,) in rows(db, statement, (binding,)))


def _row(file: Tracked) -> FileRow:
    device, inode = signed(file.device & _BITS), signed(file.inode & _BITS)
    facts = file.kind, file.reading, file.parts, file.problem, file.digest
    # `_replace` takes three times as long.
    return FileRow(file.key, file.size, file.mtime_ns, file.ctime_ns, device, inode, *facts)
