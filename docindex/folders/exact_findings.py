"""Find exact copies among the files of folders without an index.

Walks the folders, and reads only files that share their size with others: their ends first, then all bytes of
those that still agree. Needs no numpy, so that the command starts quickly. Must never change a file.
"""

import os
import time
from collections.abc import Iterable, Iterator

from docindex.checkpoints import checkpoint
from docindex.errors import UnreadableFile
from docindex.folders.copy_groups import FolderGroup
from docindex.folders.exact_copies import ExactCopies, copies_among
from docindex.folders.file_kinds import media_counts
from docindex.folders.file_reader import AT_ONCE, NotReadable, digest_at_once, trusted_time
from docindex.folders.found_groups import EXACT_KINDS, ExactKind, Findings, Walked
from docindex.folders.keep_rules import KeepPolicy, KeepRule, check_keep
from docindex.folders.kept_files import plan_groups
from docindex.folders.path_keys import Root, key_of, reference_roots, roots_of
from docindex.folders.read_ahead import AT_A_TIME, ReadAhead
from docindex.folders.walk import (
    FolderProgress,
    Skipped,
    WalkedFile,
    WalkOptions,
    index_identities,
    missing_among,
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
    keep: KeepRule = "original",
    reference: Iterable[Root] = _NO_ROOTS,
    prefer: Iterable[Root] = _NO_ROOTS,
    isolate: bool = False,
    kinds: Iterable[ExactKind] = EXACT_KINDS,
    without: Iterable[Root] = _NO_ROOTS,
    progress: FolderProgress = no_progress,
) -> Findings:
    """Find exact copies among the files under some roots and reference folders, without an index.

    Finds the exact copies that `scan` and `find` would find, and reads less: no file that has a size of its
    own. But it stores no digests, so each call reads the copies again. `options` say which files are
    compared. `without` names index files in use, which are left out. The other parameters are those of
    `find`. `docindex.cancelling` stops it.

    A root that does not exist is in `missing`, and the others are searched; `UnreadableFile` if there is no
    other root, and for a reference folder that does not exist. `ValueError` for a parameter out of its range.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.bin", "b.bin"):
    ...         _ = pathlib.Path(folder, name).write_bytes(bytes(100))
    ...     found = find_exact([folder])
    >>> [(group.kind, len(group.files), group.reclaimable) for group in found.groups]
    [('exact', 2, 100)]
    """
    check_keep(keep)
    wanted = {kinds} if isinstance(kinds, str) else set(kinds)
    if not wanted or wanted - set(EXACT_KINDS):
        raise ValueError(f"kinds must be folder, exact or both, not {', '.join(sorted(wanted)) or 'empty'}")
    own, references = roots_of(roots), reference_roots(reference)
    own_files = [identity for path in roots_of(without) for identity in index_identities(os.fsdecode(path))]
    search = _Search(options, set(own_files), progress)
    everywhere = list(dict.fromkeys([*own, *references]))
    errors: list[UnreadableFile] = []
    for root in everywhere:
        try:
            search.walk(root)
        except UnreadableFile as error:
            errors.append(error)
    missing = missing_among(everywhere, errors)
    keys = [key_of(root) for root in everywhere]
    policy = KeepPolicy(
        keep,
        [key_of(root) for root in references],
        [key_of(root) for root in own] if isolate else (),
        [key_of(root) for root in roots_of(prefer)],
    )
    copies = search.copies()
    copied_folders: list[FolderGroup] = []
    if "folder" in wanted:
        # Imported here: that takes longer than to find the copies in a small folder.
        from docindex.folders.copied_folders import grouped_copies

        copied_folders, groups = grouped_copies(copies, search.files(), keys, policy)
    else:
        groups = plan_groups(copies, policy)
    failed = tuple(dict.fromkeys(search.skipped.failures()))
    walked = Walked(
        files=len(search.seen),
        bytes=search.size,
        skipped=dict(search.skipped.counts),
        programs=search.skipped.program_keys(),
        media=media_counts(os.fsdecode(b"\0".join(search.seen)).split("\0")),
    )
    listed = tuple(groups) if "exact" in wanted else ()
    return Findings(listed, (), failed, walked=walked, folders=tuple(copied_folders), missing=missing)


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
        seen, by_size, left_out = self.seen, self._by_size, self._left_out
        try:
            for found in walk_files(root, self._options, self.skipped):
                path, status = found
                if path in seen:
                    continue
                if left_out and (status.st_ino, status.st_dev) in left_out:
                    self.skipped.counts["of docindex's own files"] += 1
                    continue
                seen.add(path)
                by_size.setdefault(status.st_size, []).append(found)
                if len(seen) % _NOTED == 0:
                    checkpoint()
                    self._progress(len(seen), None)
        except OSError as error:
            key = key_of(root)
            raise UnreadableFile(f"{key} cannot be read: {error.strerror or error}", key) from error

    @property
    def size(self) -> int:
        """The size of all files."""
        return sum(size * len(same_size) for size, same_size in self._by_size.items())

    def files(self) -> Iterator[tuple[str, int]]:
        """The keys and sizes of all files."""
        for size, same_size in self._by_size.items():
            for found in same_size:
                yield key_of(found.path), size

    def copies(self) -> list[ExactCopies]:
        """The groups of files with the same bytes."""
        small: list[WalkedFile] = []
        large: list[WalkedFile] = []
        read = total = 0
        for size, same_size in self._by_size.items():
            if len(same_size) > 1 and size:
                total += size * len(same_size)
                if size > AT_ONCE:
                    large += same_size
                else:
                    small += same_size
                    read += size * len(same_size)
        return [
            *self._small_copies(small, total),
            *copies_among(
                [self._record(found, None) for found in large],
                self.skipped,
                lambda done, _: self._progress(read + done, total),
                [],
            ),
        ]

    def _small_copies(self, files: list[WalkedFile], total: int) -> Iterator[ExactCopies]:
        """The groups of small files with the same bytes."""
        same_bytes: dict[tuple[int, bytes], list[WalkedFile]] = {}
        for found, content in self._digests(files, total):
            same_bytes.setdefault(content, []).append(found)
        for (size, digest), same in same_bytes.items():
            if len(same) > 1 and len({(found.status.st_ino, found.status.st_dev) for found in same}) > 1:
                yield ExactCopies(
                    size, digest, tuple(sorted([self._record(found, digest) for found in same]))
                )

    def _digests(self, files: list[WalkedFile], total: int) -> Iterator[tuple[WalkedFile, tuple[int, bytes]]]:
        """The small files that can be read, with their sizes and digests."""
        ahead, done = ReadAhead(), 0
        for begin in range(0, len(files), AT_A_TIME):
            some = files[begin : begin + AT_A_TIME]
            checkpoint()
            digests = []
            with ahead.reading([found.path for found in some]):
                for found in some:
                    path, status = found
                    size = status.st_size
                    done += size
                    try:
                        digests.append((found, (size, digest_at_once(path, status))))
                    except NotReadable as error:
                        self.skipped.fail(path, str(error))
            yield from digests
            self._progress(done, total)

    def _record(self, found: WalkedFile, digest: bytes | None) -> Tracked:
        status = found.status
        time_ns = trusted_time(status.st_mtime_ns, self._began_ns)
        key, size = key_of(found.path), status.st_size
        # By position: with the names of the fields it would take twice as long.
        return Tracked(key, size, time_ns, status.st_dev, status.st_ino, UNDETECTED, "", 0, "", digest)
