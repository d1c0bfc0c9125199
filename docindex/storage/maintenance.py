"""The file as a whole: merged, shrunk, copied and counted."""

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

# What one commit of `optimize` merges: half a second's work, and as much lost to a crash.
_MERGED_AT_A_TIME = 4_000_000
_PAGES_AT_A_TIME = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Stats:
    """How much there is of everything in an index."""

    documents: int
    contents: int
    """Different texts."""
    characters: int
    """Of all different texts."""
    symbols: int
    fingerprints: int
    postings: int
    segments: int
    dead: int
    """Contents that are gone but still have postings; `Index.optimize` forgets them."""
    density: float
    """Fingerprints for each k-gram, as measured."""
    expected_density: float
    """The same for random text, 2 / (window + 1)."""
    bytes: dict[str, int]
    """Of the file, by table (indexes and all), with what is free as "free"."""
    file_bytes: int


def merge_some(db: apsw.Connection) -> bool:
    """Merge a bounded stretch of everything into one segment; False when that is done."""
    return segment_writer.merge(db, _MERGED_AT_A_TIME, everything=True)


def shrink(store: Store, db: apsw.Connection) -> None:
    """Give free pages back to the file system. Needs room for a copy of the file meanwhile."""
    if db.pragma("freelist_count"):
        db.execute("pragma temp_store = file")  # the copy of all there is would not fit in memory
        db.execute("vacuum")
        db.execute("pragma temp_store = memory")
    store.shorten_journal(db)


def backup(store: Store, path: str) -> None:
    """Copy the index into a new file, which appears under its name when it is complete."""
    target_path = Path(path)
    try:
        handle, part = tempfile.mkstemp(prefix=f".{target_path.name}.", dir=target_path.parent)
    except OSError as error:
        why = f"{path} cannot be made: {error.strerror}; check its folder and permissions"
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
    """Give a file its name, unless another has it."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system
        if path.exists():
            raise FileExistsError(f"{path} is there already; name a new file") from None
        Path(part).rename(path)


def stats(db: apsw.Connection, recipe: Recipe) -> Stats:
    """Counts of one commit's state; reads the sizes of all contents, not their fingerprints."""
    documents = value(db, "select count(*) from main.document")
    ((contents, characters, symbols, fingerprints, places),) = rows(
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
        density=fingerprints / places if places else 0.0,
        expected_density=winnowing_density(recipe.window),
        bytes=sizes,
        file_bytes=page_size * pages,
    )
