"""Maintain an index file as a whole: merge its segments, shrink it, back it up, and count what it holds.

Takes an open `Store` or one of its connections. Must never change what an index answers.
"""

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np

from docindex.errors import DiskFull, UnreadableFile
from docindex.recipe import Recipe
from docindex.storage.file import write_ahead_log
from docindex.storage.file.connection import Store
from docindex.storage.file.connector import NO_ROOM
from docindex.storage.postings import lookup as postings
from docindex.storage.postings import segment_writer
from docindex.storage.postings.segments import FINGERPRINTS, segments_of
from docindex.storage.rows import document_lookup
from docindex.storage.statements import PREFIX, column_lists, rows, value
from docindex.winnowing.selection import winnowing_density

_PAGES_AT_A_TIME = 1000
_ROWS_AT_A_TIME = 1 << 15

_OTHER_TABLES = (
    f"select 1 from main.sqlite_schema where type = 'table' and name not glob '{PREFIX}*' "
    "and name not glob 'sqlite_*'"
)
_LENGTHS = "select id, characters, symbols, fingerprints from main.docindex_content"


@dataclasses.dataclass(frozen=True, slots=True)
class Stats:
    """What an index holds, and how large its file is: the result of `Index.stats`.

    - `documents`, `contents`: documents, and different texts among them
    - `characters`, `symbols`, `fingerprints`: how many the different texts have
    - `postings`, `segments`, `dead`: the inverted index: entries, parts, and removed texts still in it
    - `density`, `expected_density`: selected k-grams as a share of all; the same for random text
    - `bytes`, `file_bytes`: the size of each table by name, and of the file
    """

    documents: int
    """How many documents there are."""
    contents: int
    """How many different texts the documents have: exact copies share one content."""
    characters: int
    """The total length of the contents, in code points."""
    symbols: int
    """The total number of symbols (letters, digits and pictures) that the contents were reduced to."""
    fingerprints: int
    """The total number of fingerprints of the contents."""
    postings: int
    """How many postings the inverted index holds. A posting is a hash and a content that has it."""
    segments: int
    """How many segments the inverted index consists of. A search reads each of them."""
    dead: int
    """How many removed contents may still have postings. `Index.optimize` deletes those postings."""
    density: float
    """Fingerprints divided by k-grams, as measured in this index."""
    expected_density: float
    """The density for random text: 2 / (window + 1)."""
    bytes: dict[str, int]
    """The size of each table including its SQL indexes, by name; unused space is under "free".

    SQLite's own list of pages is under "page map".
    """
    file_bytes: int
    """The size of the file."""


def merge_some(db: apsw.Connection) -> bool:
    """Merge a bounded number of postings towards one segment. Returns False if nothing is left to merge."""
    return segment_writer.merge_postings(db, segment_writer.MERGED_AT_A_TIME, everything=True)


def shrink(store: Store) -> None:
    """Return free pages to the file system.

    Rewrites a small file, which also fills its pages. (Not one with tables of an app: `vacuum` may change
    their rowids.) In a large file, moves pages from the end of the file
    to free places, some in each commit: `vacuum` would write the whole file to the write-ahead log at once.
    (The file is 12 to 22% larger than after `vacuum`, if a third to two thirds of the texts were removed.)
    """
    before = store.cancels()
    with store.alone() as db:
        page_size, free = db.pragma("page_size"), db.pragma("freelist_count")
        used = page_size * (db.pragma("page_count") - free)
        is_ours = not value(db, _OTHER_TABLES)
    if free and is_ours and used <= write_ahead_log.BOUND:
        with store.alone(log_bytes=used) as db:
            db.execute("vacuum")
        free = 0
    # Each page that is moved changes a page that refers to it.
    log_bytes = write_ahead_log.BOUND // 4
    pages = max(1, log_bytes // page_size // 2)
    while free:
        with store.writing(log_bytes=log_bytes) as db:
            rows(db, f"pragma incremental_vacuum({pages})")
            left = db.pragma("freelist_count")
        if left >= free:  # another program made the file, in a mode in which SQLite does not move pages
            break
        free = left
        store.refuse_cancelled(before)
    empty_log(store)


def empty_log(store: Store) -> None:
    """Move the write-ahead log into the file, unless somebody is reading from it."""
    with store.alone() as db:
        store.shorten_journal(db)


def backup(store: Store, path: str) -> None:
    """Copy the index into a new file. The file gets its name only when it is complete.

    Raises `FileExistsError` if `path` exists, `DiskFull`, or `UnreadableFile`.
    """
    with new_file(path) as part:
        copy = Store(part, readonly=False, durability="full", timeout_s=0)
        try:
            with store.reading() as source, copy.alone() as target:
                with target.backup("main", source, "main") as work:
                    while not work.done:
                        work.step(_PAGES_AT_A_TIME)
                target.execute("pragma journal_mode = wal").fetchall()
                copy.shorten_journal(target)
        finally:
            copy.close()


@contextlib.contextmanager
def new_file(path: str) -> Iterator[str]:
    """The name of a temporary file in the same folder. At the end, the file gets the name `path`.

    After an error, it is removed. The block must close the file. Raises `FileExistsError` if `path` exists,
    `DiskFull`, or `UnreadableFile`.
    """
    target_path = Path(path)
    try:
        handle, part = tempfile.mkstemp(prefix=f".{target_path.name}.", dir=target_path.parent)
    except OSError as error:
        why = f"{path} cannot be created: {error.strerror}; check its folder and permissions"
        raise (DiskFull if error.errno in NO_ROOM else UnreadableFile)(why, path) from error
    os.close(handle)
    try:
        yield part
        _publish(part, target_path)
    finally:
        for end in ("", "-wal", "-shm"):
            Path(part + end).unlink(missing_ok=True)


def _publish(part: str, path: Path) -> None:
    """Rename a file; `FileExistsError` if there is a file with the new name."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system
        if path.exists():
            raise FileExistsError(f"{path} already exists; name a new file") from None
        Path(part).rename(path)


def stats(db: apsw.Connection, recipe: Recipe) -> Stats:
    """The counts and sizes of an index. Reads the row of each content, but not its fingerprints."""
    documents = document_lookup.document_total(db)
    stored, totals = 0, np.zeros(4, np.int64)
    for some in column_lists(db, _LENGTHS, most=_ROWS_AT_A_TIME):
        columns = np.array(some, np.int64)
        stored += columns.shape[1]
        kgrams = np.maximum(columns[2] - (recipe.k - 1), 0)
        totals += np.array([*columns[1:], kgrams]).sum(axis=1)
    characters, symbols, fingerprints, grams = totals.tolist()
    sizes = dict(
        rows(
            db,
            "select coalesce(s.tbl_name, d.name), sum(d.pgsize) from dbstat as d "
            "left join main.sqlite_schema as s using (name) group by 1",
        )
    )
    page_size = db.pragma("page_size")
    pages = db.pragma("page_count")
    sizes["free"] = page_size * db.pragma("freelist_count")
    sizes["page map"] = page_size * pages - sum(sizes.values())
    segments = segments_of(db, FINGERPRINTS)
    return Stats(
        documents=documents,
        contents=stored,
        characters=characters,
        symbols=symbols,
        fingerprints=fingerprints,
        postings=sum(segment.postings for segment in segments if segment.target is None),
        segments=len(segments),
        dead=len(postings.dead(db)),
        density=fingerprints / grams if grams else 0.0,
        expected_density=winnowing_density(recipe.window),
        bytes=sizes,
        file_bytes=page_size * pages,
    )
