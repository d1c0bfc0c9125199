"""Bring an index up to date with folders: add new and changed texts, record other files, forget missing ones.

Takes an index and the roots to scan, and returns a `Scan` that says what changed. `root_scan` scans each
root. If a root is missing, the other roots must still be scanned.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from docindex.errors import UnreadableFile
from docindex.folders.scanning.file_changes import ReadingOptions
from docindex.folders.scanning.root_scan import RootScan
from docindex.folders.scanning.tally import ScanTally, UnreadFormat
from docindex.folders.walking.file_kinds import MediaKind, media_counts
from docindex.folders.walking.path_keys import Root, roots_of
from docindex.folders.walking.walk import (
    FailedFile,
    FolderProgress,
    Skipped,
    WalkOptions,
    missing_among,
    no_progress,
)
from docindex.frontends.encodings.text import check_encoding
from docindex.index.index import Index

_ALL_DEFAULTS = WalkOptions()


@dataclasses.dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan. A number without a unit counts files."""

    unchanged: int
    added: int
    changed: int
    moved: int
    removed: int
    texts: int
    """The text files that were found."""
    binaries: int
    """The other files that were found."""
    bytes: int
    """The size of all files that were found."""
    bytes_read: int
    """The size of the files that were read to their end, because they were new or changed."""
    skipped: Mapping[str, int]
    """How many entries were left out, by reason."""
    programs: tuple[str, ...]
    """The program folders that were left out, by their keys."""
    media: Mapping[MediaKind, int]
    """How many files are photos, songs and videos, by their extensions."""
    failed: tuple[FailedFile, ...]
    """The files and folders that could not be read; the next scan tries them again."""
    guessed: Mapping[str, str]
    """The encoding of each text that this scan read with a guessed encoding, by key."""
    undetected: tuple[str, ...]
    """The files that seem to be text, but in an encoding that was not detected, by key. They are recorded as
    other files are, and have no document. A scan with `encoding` reads them."""
    unread: tuple[UnreadFormat, ...]
    """The files in known formats whose texts could not be read, with the reasons. They have no document."""
    problems: Mapping[str, str]
    """What could not be read in the files that were found, in sentences, by the key of the file: those of
    `unread`, and files that were read in part."""
    seen: AbstractSet[str] = dataclasses.field(repr=False)
    """The keys of all files that were found."""
    missing: tuple[FailedFile, ...] = ()
    """The roots that do not exist or seem unmounted. The other roots were scanned."""
    left_out: Skipped = dataclasses.field(default_factory=Skipped, repr=False, compare=False)
    """The entries that were left out, for `find`: a folder that has some is no exact copy."""

    @property
    def changes(self) -> int:
        """How many files were added, changed, moved or removed."""
        return self.added + self.changed + self.moved + self.removed

    @property
    def files(self) -> int:
        """How many files were found."""
        return self.texts + self.binaries


def scan(
    index: Index,
    roots: Iterable[Root],
    *,
    options: WalkOptions = _ALL_DEFAULTS,
    encoding: str | None = None,
    workers: int | None = None,
    progress: FolderProgress = no_progress,
) -> Scan:
    """Bring an index up to date with the files under some roots, and return what changed.

    Texts are added with their paths as keys; see `key_of`. Other files are recorded, so that `find` can
    compare them. Documents of files that are gone are removed; files on a disk that is not mounted stay. A
    file whose size, time, inode and device are unchanged is not read again, unless it was changed just before
    the last scan.

    `encoding` is the encoding of plain text, and of web pages, mail, tables and other text that does not
    declare one; without it, the encoding is detected. With `encoding`, unchanged texts are read again. A
    document inside a file, such as a message of a mailbox, has the key of the file, ``!/`` and its name.
    `workers` is the number of processes that read and sketch. `progress` is called with the number of files
    found, and then with the number of files read and the total to read.

    A root that does not exist or seems unmounted is in `missing`, and the others are scanned;
    `UnreadableFile` if there is no other root, and `Cancelled` after `Index.cancel`. Finished work stays in
    the index even if the scan fails.

    >>> import docindex, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, docindex.open(":memory:") as index:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("some text")
    ...     result = scan(index, [folder])
    >>> result.added, result.texts, result.bytes
    (1, 1, 9)
    """
    check_index(index)
    if encoding is not None:
        check_encoding(encoding)
    reading = ReadingOptions(options, encoding, workers)
    tally = ScanTally()
    own = roots_of(roots)
    missing: list[UnreadableFile] = []
    for root in own:
        try:
            RootScan(index, root, reading, tally, progress).run()
        except UnreadableFile as error:  # the other roots are scanned
            missing.append(error)
    return _result(tally, missing_among(own, missing))


def check_index(index: object) -> None:
    """`TypeError` unless this is an index that `docindex.open` returned."""
    if not isinstance(index, Index):
        raise TypeError(f"an index must be one that docindex.open returned, not {index!r}")


def _result(tally: ScanTally, missing: tuple[FailedFile, ...]) -> Scan:
    return Scan(
        unchanged=tally.unchanged,
        added=tally.added,
        changed=tally.changed,
        moved=tally.moved,
        removed=tally.removed,
        texts=tally.texts,
        binaries=tally.binaries,
        bytes=tally.bytes,
        bytes_read=tally.bytes_read,
        skipped=dict(tally.skipped.counts),
        programs=tally.skipped.program_keys(),
        media=media_counts(map(str.encode, tally.seen)),
        failed=tally.skipped.failures(),
        guessed=tally.guessed,
        undetected=tuple(sorted(tally.undetected)),
        unread=tuple(sorted(tally.unread)),
        problems=tally.problems,
        seen=tally.seen,
        missing=missing,
        left_out=tally.skipped,
    )
