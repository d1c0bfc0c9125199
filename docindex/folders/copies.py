"""What scans know of files in, groups of files with the same bytes out.

A file is read only if another one has its size, and then the end of it first. What is learnt is noted in the
index for the next time. Must never call files copies of which not all bytes were read.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet

from docindex.folders.file_reader import TAIL, NotReadable, digest_of, tail_of
from docindex.folders.path_keys import path_of
from docindex.folders.walk import Skipped
from docindex.index.writer import Index
from docindex.storage.file_rows import Tracked

CompareProgress = Callable[[int, int], object]
"""Called with how many bytes are compared by now, of how many."""


@dataclasses.dataclass(frozen=True, slots=True)
class Copies:
    """Two or more files with the same bytes, by their keys."""

    size: int
    digest: bytes
    files: tuple[Tracked, ...]

    @property
    def reclaimable(self) -> int:
        """How many bytes could be given back: hard links to one file take its room once."""
        return self.size * (len({(file.device, file.inode) for file in self.files}) - 1)


def copies(
    index: Index,
    roots: Iterable[str],
    skipped: Skipped,
    progress: CompareProgress = lambda _done, _total: None,
    *,
    among: AbstractSet[str] | None = None,
) -> list[Copies]:
    """The files under some folders that have the same bytes, those with the most to give back first.

    Empty files are left out, and so are files that are nothing but links to each other. What cannot be read,
    or was changed since it was scanned, is counted. With `among`, only what has one of these keys is meant.
    """
    known = {
        file.key: file
        for root in roots
        for file in index.files.under(root)
        # (One without a number was never read: a scan was stopped before it.)
        if file.size and file.inode and (among is None or file.key in among)
    }
    candidates = _alike(known.values(), lambda file: file.size)
    total = sum(file.size for same_size in candidates for file in same_size)
    compared = behind = 0

    def read(size: int) -> None:
        nonlocal compared
        compared += size
        progress(compared, total)

    search = _Search(skipped, read)
    found: list[Copies] = []
    try:
        for same_size in candidates:
            found += search.among(same_size)
            behind += same_size[0].size * len(same_size)
            read(behind - compared)  # most need not be read to the end
    finally:
        index.files.put(search.learnt)
    return sorted(found, key=lambda group: (-group.reclaimable, group.files[0].key))


def _alike(files: Iterable[Tracked], what: Callable[[Tracked], Hashable]) -> list[list[Tracked]]:
    """Groups of two and more files that are alike in something."""
    groups: dict[Hashable, list[Tracked]] = {}
    for file in files:
        groups.setdefault(what(file), []).append(file)
    return [group for group in groups.values() if len(group) > 1]


class _Search:
    """Compares files of one size."""

    def __init__(self, skipped: Skipped, progress: Callable[[int], object]) -> None:
        self.learnt: list[Tracked] = []
        """Files of which more is known now."""
        self._skipped = skipped
        self._progress = progress

    def among(self, files: list[Tracked]) -> Iterator[Copies]:
        """The groups of the same bytes among some files of one size."""
        links: dict[tuple[int, int], list[Tracked]] = {}
        for file in files:
            links.setdefault((file.device, file.inode), []).append(file)
        different = [some[0] for some in links.values()]  # of files with several names each is read once
        if len(different) < 2:
            return
        for some in self._same_tail(different):
            for same in _alike(self._with_digests(some), lambda file: file.digest):
                members = [link for file in same for link in links[file.device, file.inode]]
                digest = same[0].digest or b""
                yield Copies(same[0].size, digest, tuple(sorted(members, key=lambda file: file.key)))

    def _same_tail(self, files: list[Tracked]) -> list[list[Tracked]]:
        """Files of one size in groups that end alike; all of them if it is as cheap to read them whole."""
        if files[0].size <= TAIL or all(file.digest for file in files):
            return [files]
        tails = {}
        for file in files:
            tail = self._read(file, tail_of)
            if tail is not None:
                tails[file.key] = tail
        return _alike([file for file in files if file.key in tails], lambda file: tails[file.key])

    def _with_digests(self, files: list[Tracked]) -> Iterator[Tracked]:
        """Those of some files that can be read, with what their bytes amount to."""
        for file in files:
            if file.digest:
                yield file
                continue
            digest = self._read(file, digest_of)
            if digest is not None:
                known = file._replace(digest=digest)
                self.learnt.append(known)
                yield known

    def _read(self, file: Tracked, what: Callable[[bytes, int, int], bytes]) -> bytes | None:
        path = path_of(file.key)
        try:
            found = what(path, file.size, file.mtime_ns)
        except NotReadable as error:
            self._skipped.counts["unreadable"] += 1
            self._skipped.failed.append((path, str(error)))
            return None
        if what is digest_of:
            self._progress(file.size)
        return found
