"""Find exact copies among the files of folders without an index.

Walks the folders, and reads only files that share their size with others: their ends first, then all bytes of
those that still agree. Needs no numpy, so that the command starts quickly. Must never change a file.
"""

import contextlib
import itertools
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from docindex.cancellation import checkpoint
from docindex.errors import UnreadableFile
from docindex.folders.finding.exact_copies import copies_among
from docindex.folders.finding.groups import EXACT_KINDS, ExactKind, Findings, Walked
from docindex.folders.planning.copy_groups import ExactCopies, FolderGroup
from docindex.folders.planning.keep_rules import KeepPolicy, KeepRule, check_keep
from docindex.folders.planning.kept_files import KeepChoice, plan_groups
from docindex.folders.walking.file_kinds import media_counts
from docindex.folders.walking.file_reader import AT_ONCE, NotReadable, digest_at_once, trusted_time
from docindex.folders.walking.path_keys import Root, key_of, path_of, reference_roots, roots_of
from docindex.folders.walking.system import (
    NO_FOLLOW,
    READ_FLAGS,
    allocated_bytes,
    ask_ahead,
    blocks_read,
    opened_descriptor,
)
from docindex.folders.walking.walk import (
    FolderProgress,
    Skipped,
    WalkOptions,
    index_identities,
    missing_among,
    no_progress,
    walked_pairs,
)
from docindex.storage.file.safe_closing import close_descriptor
from docindex.storage.tracked_files import UNDETECTED, Tracked

# Let a disk read several small files at the same time, while the caller reads one file after another.
#
# Does nothing as long as the files are in memory: then it would only take time. Large files gain nothing,
# since the system reads ahead in them. Must never keep a caller from opening a file, nor report an error: the
# caller meets it anyway.

AT_A_TIME = 32
"""Files. A disk takes this number of requests at once, and a process may often open only 256 files."""


class ReadAhead:
    """Asks ahead for files, if the files before them were not in memory.

    9,000 small files on a solid-state disk are read in 210 ms instead of 790.
    """

    def __init__(self) -> None:
        self._from_disk = False

    @contextlib.contextmanager
    def reading(self, paths: Sequence[bytes]) -> Iterator[None]:
        """A block that reads some small files."""
        before = blocks_read()
        descriptors: list[int] = []
        try:
            if self._from_disk:
                _ask(paths, descriptors)
            yield
        finally:
            for descriptor in descriptors:
                close_descriptor(descriptor)
        self._from_disk = blocks_read() > before


def _ask(paths: Sequence[bytes], descriptors: list[int]) -> None:
    """Let the system begin to read some files, and add their descriptors to a list."""
    for path in paths:
        try:
            descriptors.append(opened_descriptor(path, READ_FLAGS | NO_FOLLOW))
            ask_ahead(descriptors[-1])
        except OSError:
            if descriptors:  # perhaps the process has too many files open: leave room for the caller's own
                close_descriptor(descriptors.pop())


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
    other_disks: bool = False,
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
        other_disks,
    )
    copies, choice = search.copies(), KeepChoice(policy, keys, search.freed_by)
    copied_folders: list[FolderGroup] = []
    if "folder" in wanted:
        # Imported here: that takes longer than to find the copies in a small folder.
        from docindex.folders.finding.copied_folders import grouped_copies

        copied_folders, groups = grouped_copies(copies, search.files(), keys, choice, search.skipped)
    else:
        groups = plan_groups(copies, choice)
    failed = tuple(dict.fromkeys(search.skipped.failures()))
    walked = Walked(
        files=len(search.found),
        bytes=search.size,
        skipped=dict(search.skipped.counts),
        programs=search.skipped.program_keys(),
        media=media_counts(search.found),
    )
    listed = tuple(groups) if "exact" in wanted else ()
    return Findings(listed, (), failed, walked=walked, folders=tuple(copied_folders), missing=missing)


class _Search:
    """The files that were found, and those of them that have the same bytes."""

    def __init__(
        self, options: WalkOptions, left_out: set[tuple[int, int]], progress: FolderProgress
    ) -> None:
        self._options = options
        self._left_out = left_out
        self._progress = progress
        self._began_ns = time.time_ns()
        self.skipped = Skipped()
        self.found: dict[bytes, os.stat_result] = {}
        """The status of each file by its path, in the order of the walk."""
        self.size = 0
        """The size of all files. `copies` counts it."""

    def walk(self, root: bytes) -> None:
        """Take the files below a root."""
        walked = walked_pairs(root, self._options, self.skipped)
        if self._left_out:
            walked = self._without_own_files(walked)
        try:
            while some := list(itertools.islice(walked, _NOTED)):
                self.found.update(some)  # another root may contain them, too
                checkpoint()
                self._progress(len(self.found), None)
        except OSError as error:
            key = key_of(root)
            raise UnreadableFile(f"{key} cannot be read: {error.strerror or error}", key) from error

    def _without_own_files(
        self, walked: Iterator[tuple[bytes, os.stat_result]]
    ) -> Iterator[tuple[bytes, os.stat_result]]:
        for path, status in walked:
            if (status.st_ino, status.st_dev) in self._left_out:
                self.skipped.leave_out(path, "of docindex's own files")
            else:
                yield path, status

    def files(self) -> Iterator[tuple[str, int]]:
        """The keys and sizes of all files."""
        for path, status in self.found.items():
            yield key_of(path), status.st_size

    def freed_by(self, file: Tracked) -> int:
        """The bytes that one of the files gives back if it is removed."""
        return allocated_bytes(self.found[path_of(file.key)])

    def copies(self) -> list[ExactCopies]:
        """The groups of files with the same bytes."""
        counts = Counter([status.st_size for status in self.found.values()])
        self.size = sum([size * count for size, count in counts.items()])
        shared = {size: count for size, count in counts.items() if count > 1 and size}
        total = sum([size * count for size, count in shared.items()])
        # Each list is in the order of the walk: to read the small files in this order takes nine tenths of
        # the time of reading them size by size.
        small: list[bytes] = []
        large: list[bytes] = []
        for path, status in self.found.items():
            if status.st_size in shared:
                (small if status.st_size <= AT_ONCE else large).append(path)
        found = self._small_copies(small, total)
        read = total - sum([self.found[path].st_size for path in large])
        records = [self._record(path, None) for path in large]
        found += copies_among(records, self.skipped, lambda done, _: self._progress(read + done, total), [])
        return found

    def _small_copies(self, paths: list[bytes], total: int) -> list[ExactCopies]:
        """The groups of small files with the same bytes.

        Two threads would read 10,000 files in 59 ms, and one thread reads them in 43: the calls are too short
        to let another thread in.
        """
        first: dict[tuple[int, bytes], bytes] = {}
        """The first file with some bytes: for most files there is no other one."""
        same_bytes: dict[tuple[int, bytes], list[bytes]] = {}
        ahead, done = ReadAhead(), 0
        for begin in range(0, len(paths), AT_A_TIME):
            some = paths[begin : begin + AT_A_TIME]
            checkpoint()
            with ahead.reading(some):
                for path in some:
                    status = self.found[path]
                    done += status.st_size
                    try:
                        content = status.st_size, digest_at_once(path, status)
                    except NotReadable as error:
                        self.skipped.fail(path, str(error))
                        continue
                    if (earlier := first.setdefault(content, path)) is not path:
                        same_bytes.setdefault(content, [earlier]).append(path)
            self._progress(done, total)
        return [
            ExactCopies(size, digest, tuple(sorted([self._record(path, digest) for path in same])))
            for (size, digest), same in same_bytes.items()
            if len(set(map(self._identity, same))) > 1  # not only links to one file
        ]

    def _identity(self, path: bytes) -> tuple[int, int]:
        """The device and the inode of a file."""
        status = self.found[path]
        return status.st_dev, status.st_ino

    def _record(self, path: bytes, digest: bytes | None) -> Tracked:
        status = self.found[path]
        time_ns = trusted_time(status.st_mtime_ns, self._began_ns)
        facts = status.st_size, time_ns, status.st_ctime_ns, status.st_dev, status.st_ino
        return Tracked(key_of(path), *facts, UNDETECTED, "", 0, "", digest)
