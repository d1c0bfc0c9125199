"""Find files with the same bytes, among those that a scan has seen or that a walk has found.

A file is read only if another file has the same size, and its end is read first. The digests of scanned files
are stored in the index, so that the next call need not read them again. Must never report files as copies
unless all their bytes were read.
"""

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from docindex.cancellation import checkpoint, stopped_by
from docindex.errors import ReadOnly
from docindex.folders.planning.copy_groups import ExactCopies
from docindex.folders.walking.file_reader import TAIL, NotReadable, digest_of, tail_of
from docindex.folders.walking.path_keys import path_of
from docindex.folders.walking.walk import FolderProgress, Skipped, no_progress
from docindex.storage.tracked_files import Tracked

if TYPE_CHECKING:  # numpy, which the index needs, takes longer to import than a small folder to search
    from docindex.index.index import Index


def known_files(index: "Index", roots: Sequence[str], among: AbstractSet[str] | None = None) -> list[Tracked]:
    """The files under some roots, as the last scans found them. With `among`, only files with these keys."""
    known = {
        file.key: file
        for root in roots
        for file in index.files.under(root)
        # A file without an inode was announced by a scan that ended before it could read the file.
        if file.inode and (among is None or file.key in among)
    }
    return list(known.values())


def find_copies(
    index: "Index", known: Sequence[Tracked], skipped: Skipped, progress: FolderProgress = no_progress
) -> list[ExactCopies]:
    """The groups of known files that have the same bytes, the largest reclaimable size first.

    As `copies_among`, but the index keeps the digests of the files that are read. `Cancelled` after
    `Index.cancel`.
    """
    digested: list[Tracked] = []
    try:
        with stopped_by(index.files.cancel_check()):
            return copies_among(known, skipped, progress, digested)
    finally:
        with contextlib.suppress(ReadOnly):  # then the next call reads the files again
            index.files.put(digested)


def copies_among(
    files: Iterable[Tracked], skipped: Skipped, progress: FolderProgress, digested: list[Tracked]
) -> list[ExactCopies]:
    """The groups of files that have the same bytes, the largest reclaimable size first.

    Leaves out empty files, and files that are only hard links to each other. Files that cannot be read, or
    differ from their records, are added to `skipped`. Files whose digests were not known are added to
    `digested`, with their digests. `progress` counts bytes.
    """
    candidates = _groups((file for file in files if file.size), lambda file: file.size)
    total = sum(file.size for same_size in candidates for file in same_size)
    compared = accounted = 0

    def add(size: int) -> None:
        nonlocal compared
        compared += size
        checkpoint()
        progress(compared, total)

    comparison = _Comparison(skipped, add, digested)
    found: list[ExactCopies] = []
    for same_size in candidates:
        found += comparison.copies_among(same_size)
        accounted += same_size[0].size * len(same_size)
        add(accounted - compared)  # most files are not read to their end
    return sorted(found, key=lambda group: (-group.reclaimable, group.files[0].key))


def _groups(files: Iterable[Tracked], fact: Callable[[Tracked], Hashable]) -> list[list[Tracked]]:
    """The groups of two or more files that have the same `fact`."""
    groups: dict[Hashable, list[Tracked]] = {}
    for file in files:
        groups.setdefault(fact(file), []).append(file)
    return [group for group in groups.values() if len(group) > 1]


class _Comparison:
    """Compares files of one size."""

    def __init__(self, skipped: Skipped, progress: Callable[[int], object], digested: list[Tracked]) -> None:
        self._digested = digested
        self._skipped = skipped
        self._progress = progress

    def copies_among(self, files: list[Tracked]) -> Iterator[ExactCopies]:
        """The groups of files with the same bytes among files of one size."""
        links: dict[tuple[int, int], list[Tracked]] = {}
        for file in files:
            links.setdefault((file.device, file.inode), []).append(file)
        different = [names[0] for names in links.values()]  # a file with several names is read once
        if len(different) < 2:
            return
        for same_tail in self._same_tail(different):
            for same in _groups(self._with_digests(same_tail), lambda file: file.digest):
                members = [link for file in same for link in links[file.device, file.inode]]
                digest = same[0].digest or b""
                yield ExactCopies(same[0].size, digest, tuple(sorted(members, key=lambda file: file.key)))

    def _same_tail(self, files: list[Tracked]) -> list[list[Tracked]]:
        """The groups of files with the same end; or all files, if reading them whole costs no more."""
        if files[0].size <= TAIL or all(file.digest for file in files):
            return [files]
        tails = {}
        for file in files:
            tail = self._read(file, tail_of)
            if tail is not None:
                tails[file.key] = tail
        return _groups([file for file in files if file.key in tails], lambda file: tails[file.key])

    def _with_digests(self, files: list[Tracked]) -> Iterator[Tracked]:
        """The files that can be read, with their digests."""
        for file in files:
            if file.digest:
                yield file
                continue
            digest = self._read(file, digest_of)
            if digest is not None:
                known = Tracked(*file[:-1], digest)  # `_replace` takes three times as long
                self._digested.append(known)
                yield known

    def _read(self, file: Tracked, reader: Callable[[bytes, int, int], bytes]) -> bytes | None:
        path = path_of(file.key)
        try:
            found = reader(path, file.size, file.mtime_ns)
        except NotReadable as error:
            self._skipped.fail(path, str(error))
            return None
        if reader is digest_of:
            self._progress(file.size)
        return found
