"""Maintain an index file as a whole: merge its segments, shrink it, back it up, and count what it holds.

Takes an open `Store` or one of its connections. Must never change what an index answers.
"""

import dataclasses
import os
import tempfile
from pathlib import Path

import apsw

from docindex.errors import DiskFull, UnreadableFile
from docindex.kernels.winnowing import winnowing_density
from docindex.recipe import Recipe
from docindex.storage import segment_writer
from docindex.storage.connection import NO_ROOM, Store
from docindex.storage.rows import rows, value
from docindex.storage.segments import all_segments

# How many postings one commit of `optimize` merges. It takes half a second: a crash loses at most that work.
_MERGED_AT_A_TIME = 4_000_000
_PAGES_AT_A_TIME = 1000


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
    """The size of each table including its SQL indexes, by name; unused space is under "free"."""
    file_bytes: int
    """The size of the file."""


def merge_some(db: apsw.Connection) -> bool:
    """Merge a bounded number of postings towards one segment. Returns False if nothing is left to merge."""
    return segment_writer.merge(db, _MERGED_AT_A_TIME, everything=True)


def shrink(store: Store, db: apsw.Connection) -> None:
    """Return free pages to the file system. While it runs, it needs disk space for a copy of the file."""
    if db.pragma("freelist_count"):
        db.execute("pragma temp_store = file")  # the copy may not fit in memory
        db.execute("vacuum")
        db.execute("pragma temp_store = memory")
    store.shorten_journal(db)


def backup(store: Store, path: str) -> None:
    """Copy the index into a new file. The file gets its name only when it is complete.

    Raises `FileExistsError` if `path` exists, `DiskFull`, or `UnreadableFile`.
    """
    target_path = Path(path)
    try:
        handle, part = tempfile.mkstemp(prefix=f".{target_path.name}.", dir=target_path.parent)
    except OSError as error:
        why = f"{path} cannot be created: {error.strerror}; check its folder and permissions"
        raise (DiskFull if error.errno in NO_ROOM else UnreadableFile)(why, path) from error
    os.close(handle)
    copy = Store(part, readonly=False, durability="full", timeout_s=0)
    try:
        with store.reading() as source, copy.alone() as target:
            with target.backup("main", source, "main") as work:
                while not work.done:
                    work.step(_PAGES_AT_A_TIME)
            target.execute("pragma journal_mode = wal").fetchall()
            copy.shorten_journal(target)
        copy.close()
        _publish(part, target_path)
    finally:
        copy.close()
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
    documents = value(db, "select count(*) from main.document")
    ((contents, characters, symbols, fingerprints, kgrams),) = rows(
        db,
        "select count(*), total(characters), total(symbols), total(fingerprints), total(max(symbols - ?, 0)) "
        "from main.content",
        (recipe.k - 1,),
    )
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
    segments = all_segments(db)
    return Stats(
        documents=documents,
        contents=contents,
        characters=int(characters),
        symbols=int(symbols),
        fingerprints=int(fingerprints),
        postings=sum(segment.postings for segment in segments if segment.target is None),
        segments=len(segments),
        dead=value(db, "select count(*) from main.dead"),
        density=fingerprints / kgrams if kgrams else 0.0,
        expected_density=winnowing_density(recipe.window),
        bytes=sizes,
        file_bytes=page_size * pages,
    )
