"""Find exact copies among the files of folders without an index.

Walks the folders, and reads only files that share their size with others: their ends first, then all bytes of
those that still agree. Needs no numpy, so that the command starts quickly. Must never change a file.
"""

import os
import time
from collections.abc import Iterable, Iterator

from docindex.checkpoints import checkpoint
from docindex.errors import UnreadableFile
from docindex.folders.exact_copies import ExactCopies, copies_among
from docindex.folders.file_changes import trusted_time
from docindex.folders.file_reader import AT_ONCE, NotReadable, digest_at_once
from docindex.folders.found_groups import Findings, Walked
from docindex.folders.kept_files import KeepPolicy, KeepRule, check_keep, plan_groups
from docindex.folders.path_keys import Root, key_of, reference_roots, roots_of
from docindex.folders.walk import (
    FolderProgress,
    Skipped,
    WalkedFile,
    WalkOptions,
    index_identities,
    no_progress,
    walk_files,
)
from docindex.storage.tracked_files import UNDETECTED, Tracked

_ALL_DEFAULTS = WalkOptions()
# The number of files between two calls of a progress callback.
_NOTED = 64
_NO_ROOTS: tuple[Root, ...] = ()


def find_exact(
    roots: Iterable[Root],
    *,
    options: WalkOptions = _ALL_DEFAULTS,
    keep: KeepRule = "shortest-path",
    reference: Iterable[Root] = _NO_ROOTS,
    isolate: bool = False,
    without: Iterable[Root] = _NO_ROOTS,
    progress: FolderProgress = no_progress,
) -> Findings:
    """Find exact copies among the files under some roots and reference folders, without an index.

    Finds the exact copies that `scan` and `find` would find, and reads less: no file that has a size of its
    own. But it stores no digests, so each call reads the copies again. `options` say which files are
    compared. `without` names index files in use, which are left out. The other parameters are those of
    `find`. `docindex.cancelling` stops it.

    `ValueError` for a parameter out of its range; `UnreadableFile` for a root or a reference folder that does
    not exist.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.bin", "b.bin"):
    ...         _ = pathlib.Path(folder, name).write_bytes(bytes(100))
    ...     found = find_exact([folder])
    >>> [(group.kind, len(group.files), group.reclaimable) for group in found.groups]
    [('exact', 2, 100)]
    """
    check_keep(keep)
    own, references = roots_of(roots), reference_roots(reference)
    own_files = [identity for path in roots_of(without) for identity in index_identities(os.fsdecode(path))]
    search = _Search(options, set(own_files), progress)
    for root in dict.fromkeys([*own, *references]):
        search.walk(root)
    copies = [*search.small_copies(), *copies_among(search.large_files(), search.skipped, progress, [])]
    isolated = [key_of(root) for root in own] if isolate else ()
    planned = plan_groups(copies, KeepPolicy(keep, [key_of(root) for root in references], isolated))
    failed = tuple(dict.fromkeys(search.skipped.failures()))
    walked = Walked(len(search.seen), search.size, dict(search.skipped.counts))
    return Findings(tuple(planned), (), failed, walked=walked)


class _Search:
    """The files that were found, and those that have the same size."""

    def __init__(
        self, options: WalkOptions, left_out: set[tuple[int, int]], progress: FolderProgress
    ) -> None:
        self._options = options
        self._left_out = left_out
        self._progress = progress
        self._by_size: dict[int, list[WalkedFile]] = {}
        self._began_ns = time.time_ns()
        self.skipped = Skipped()
        self.seen: set[bytes] = set()

    def walk(self, root: bytes) -> None:
        """Take the files below a root that no other root contains."""
        seen, by_size = self.seen, self._by_size
        try:
            for found in walk_files(root, self._options, self.skipped):
                path, status = found
                if path in seen or self._is_left_out(status):
                    continue
                seen.add(path)
                by_size.setdefault(status.st_size, []).append(found)
                if len(seen) % _NOTED == 0:
                    checkpoint()
                    self._progress(len(seen), None)
        except OSError as error:
            key = key_of(root)
            raise UnreadableFile(f"{key} cannot be read: {error.strerror or error}", key) from error

    def _is_left_out(self, status: os.stat_result) -> bool:
        if not self._left_out or (status.st_ino, status.st_dev) not in self._left_out:
            return False
        self.skipped.counts["of docindex's own files"] += 1
        return True

    @property
    def size(self) -> int:
        """The size of all files."""
        return sum(size * len(same_size) for size, same_size in self._by_size.items())

    def small_copies(self) -> Iterator[ExactCopies]:
        """The groups of small files with the same bytes."""
        for size, same_size in self._by_size.items():
            if len(same_size) > 1 and 0 < size <= AT_ONCE:
                checkpoint()
                for digest, same in self._by_digest(same_size).items():
                    if len({(found.status.st_ino, found.status.st_dev) for found in same}) > 1:
                        files = sorted(self._record(found, digest) for found in same)
                        yield ExactCopies(size, digest, tuple(files))

    def large_files(self) -> Iterator[Tracked]:
        """The records of the large files that have the size of another file."""
        for size, same_size in self._by_size.items():
            if len(same_size) > 1 and size > AT_ONCE:
                yield from (self._record(found, None) for found in same_size)

    def _by_digest(self, files: list[WalkedFile]) -> dict[bytes, list[WalkedFile]]:
        groups: dict[bytes, list[WalkedFile]] = {}
        for found in files:
            try:
                digest = digest_at_once(found.path, found.status)
            except NotReadable as error:
                self.skipped.fail(found.path, str(error))
            else:
                groups.setdefault(digest, []).append(found)
        return groups

    def _record(self, found: WalkedFile, digest: bytes | None) -> Tracked:
        status = found.status
        time_ns = trusted_time(status.st_mtime_ns, self._began_ns)
        return Tracked(
            key_of(found.path), status.st_size, time_ns, status.st_dev, status.st_ino, UNDETECTED, digest
        )
