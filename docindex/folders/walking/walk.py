"""Walk folders: list the regular files below a root with their status, and count the others by reason.

Opens no file except ``.gitignore``. Must never fail because of one entry: an entry that cannot be read is
counted, and the walk goes on. Must never enter a folder twice by different paths.
"""

import collections
import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from docindex.errors import UnreadableFile
from docindex.folders.walking.gitignore import IGNORE_FILE, IgnoreRules
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.program_trees import files_below, is_program_folder, names_in
from docindex.folders.walking.system import LastFolder, ListedFolder

FolderProgress = Callable[[int, int | None], object]
"""A function that receives the amount done and the total. The total is None while it is unknown.

Each function with such a parameter says whether the amounts are files or bytes.
"""


def no_progress(_done: int, _total: int | None) -> None:
    """A progress callback that does nothing."""


Formats = Literal["plain", "documents", "archives"]
"""The files whose texts are read."""


class WalkOptions(NamedTuple):
    """Which files a scan includes.

    >>> WalkOptions(hidden=True, exclude=["*.bak"]).exclude
    ['*.bak']
    """

    hidden: bool = False
    """Include files and folders whose names begin with a dot."""
    ignore: bool = True
    """Leave out files and folders that a ``.gitignore`` names."""
    exclude: Sequence[str] = ()
    """Leave out files and folders whose name, or path below the root, matches a shell pattern."""
    follow_symlinks: bool = False
    """Follow symbolic links that lead out of the root."""
    one_file_system: bool = False
    """Leave out folders on other file systems than that of the root."""
    min_size: int = 0
    """Bytes; smaller files are left out."""
    max_size: int | None = None
    """Bytes; larger files are left out. None for no limit."""
    programs: bool = False
    """Include program folders: installed packages, virtual environments, version control, build and cache
    folders, application bundles. They are recognised by what is in them."""
    formats: Formats = "documents"
    """The files whose texts are read: "plain" for plain text only, which text formats such as web pages are
    read as; "documents" for all formats of `docindex.frontends`; "archives" for these and the files inside
    zip and tar archives."""
    retry: bool = False
    """Read unchanged files again that could not be read, or only in part. Otherwise a scan reads them again
    when their front end is newer: a hostile file may take minutes each time."""


IN_PROGRAMS = "in program folders"
"""The reason why the files in program folders are left out."""


class FailedFile(NamedTuple):
    """A file or a folder that could not be read."""

    key: str
    reason: str


def missing_among(roots: Sequence[bytes], errors: Sequence[UnreadableFile]) -> tuple[FailedFile, ...]:
    """The roots that could not be read, with the reasons; raises the first error if there is no other."""
    if errors and len(errors) == len(roots):
        raise errors[0]
    return tuple(
        FailedFile(error.path, str(error).removeprefix(f"{error.path} ").removeprefix("cannot be read: "))
        for error in errors
    )


class Skipped:
    """The entries that walks left out: their paths, their number by reason, and what could not be read."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.paths: list[bytes] = []
        """The paths of all entries in the walked folders that were left out or could not be read."""
        self.failed: list[tuple[bytes, str]] = []
        """The path and the reason of each entry that could not be read."""
        self.programs: list[bytes] = []
        """The program folders. Their files are counted as "in program folders"."""
        self.empty_folders: list[bytes] = []
        """The folders without an entry."""
        self.entered: dict[tuple[int, int], bytes] = {}
        """The path of each folder that a walk has entered, by device and inode. A folder that is mounted at
        another path, too, is the same folder, and its files are no copies."""

    def leave_out(self, path: bytes, reason: str) -> None:
        """Count an entry that is left out."""
        self.counts[reason] += 1
        self.paths.append(path)

    def leave_program(self, folder: bytes) -> None:
        """Count a program folder and the files in it."""
        self.programs.append(folder)
        self.paths.append(folder)
        self.counts[IN_PROGRAMS] += files_below(folder)

    def program_keys(self) -> tuple[str, ...]:
        """The keys of the program folders."""
        return tuple(dict.fromkeys(map(key_of, self.programs)))

    def fail(self, path: bytes, reason: str) -> None:
        """Count an entry that could not be read."""
        self.leave_out(path, "unreadable")
        self.failed.append((path, reason))

    def failures(self) -> tuple[FailedFile, ...]:
        """The entries that could not be read, with their keys and the reasons."""
        return tuple(FailedFile(key_of(path), reason) for path, reason in self.failed)


class WalkedFile(NamedTuple):
    """A regular file and its status."""

    path: bytes
    status: os.stat_result


def walk_files(root: bytes, options: WalkOptions, skipped: Skipped) -> Iterator[WalkedFile]:
    """Yield the regular files below the root, folder by folder; or the root itself, if it is a file.

    Counts the other entries in `skipped`. `OSError` if nothing exists at the root.
    """
    return itertools.starmap(WalkedFile, walked_pairs(root, options, skipped))


def walked_pairs(
    root: bytes, options: WalkOptions, skipped: Skipped
) -> Iterator[tuple[bytes, os.stat_result]]:
    """The files of `walk_files` as plain tuples, which Python makes in a third of the time."""
    at_root = os.stat(root)
    if not stat.S_ISDIR(at_root.st_mode):
        reason = _excluded_by_status(at_root, options, at_root.st_dev)
        if reason is None:
            yield root, at_root
        else:
            skipped.leave_out(root, reason)
        return
    if skipped.entered.setdefault((at_root.st_dev, at_root.st_ino), root) != root:
        skipped.leave_out(root, _ENTERED)
        return
    yield from _Walk(root, at_root, options, skipped).files()


def index_identities(path: str) -> set[tuple[int, int]]:
    """The inode and the device of each file of the index at a path, which every scan changes."""
    found = set()
    for name in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            status = os.stat(path + name)
            found.add((status.st_ino, status.st_dev))
    return found


class _Walk:
    """The walk of one folder."""

    def __init__(self, root: bytes, at_root: os.stat_result, options: WalkOptions, skipped: Skipped) -> None:
        self._root = root
        self._device = at_root.st_dev
        self._options = options
        self._skipped = skipped
        self._rules = IgnoreRules(root, options.exclude)
        self._has_limits = options.min_size > 0 or options.max_size is not None

    def files(self) -> Iterator[tuple[bytes, os.stat_result]]:
        """The regular files, folder by folder."""
        with contextlib.closing(LastFolder()) as last:
            yield from self._files(last)

    def _files(self, last: LastFolder) -> Iterator[tuple[bytes, os.stat_result]]:
        waiting, options = [(self._root, _NO_NAMES)], self._options
        hidden, programs, follow = options.hidden, options.programs, options.follow_symlinks
        while waiting:
            folder, beside = waiting.pop()
            listed = self._listed(folder, last)
            names = _NO_NAMES if programs else frozenset(listed.names)
            if not programs and folder != self._root and is_program_folder(folder, names, beside):
                self._skipped.leave_program(folder)
                continue
            is_limited = self._has_limits or self._rules.exist
            below, inside = [], folder if folder.endswith(b"/") else folder + b"/"
            _, prefix, descriptor = listed
            for name in listed.names:
                if not hidden and name.startswith(b"."):
                    self._leave_out(
                        "hidden", inside + name, names, is_folder=_is_folder(name, listed, follow)
                    )
                    continue
                path, is_link = inside + name, False
                try:
                    status = os.stat(prefix + name, dir_fd=descriptor, follow_symlinks=False)
                    if follow and stat.S_ISLNK(status.st_mode):
                        status, is_link = os.stat(prefix + name, dir_fd=descriptor), True
                except OSError as error:
                    self._count_error(path, error)
                    continue
                if stat.S_ISREG(status.st_mode) and not (is_link or is_limited):  # most files
                    yield path, status
                elif (reason := self._reason_to_skip(path, status, is_link)) is not None:
                    self._leave_out(reason, path, names, is_folder=stat.S_ISDIR(status.st_mode))
                elif stat.S_ISDIR(status.st_mode):
                    below.append((path, names))
                else:
                    yield path, status
            waiting += reversed(below)

    def _leave_out(self, reason: str, path: bytes, beside: frozenset[bytes], *, is_folder: bool) -> None:
        """Count an entry that is left out. A hidden or ignored program folder counts as a program folder."""
        if (
            is_folder
            and reason in ("hidden", "ignored")
            and not self._options.programs
            and is_program_folder(path, names_in(path), beside)
        ):
            self._skipped.leave_program(path)
        else:
            self._skipped.leave_out(path, reason)

    def _listed(self, folder: bytes, last: LastFolder) -> ListedFolder:
        """Read the rules of a folder, and return the names in it; no names if it cannot be read."""
        try:
            listed = last.list(folder)
        except OSError as error:
            self._skipped.fail(folder, error.strerror or str(error))
            return ListedFolder([], b"", None)
        if not listed.names and folder != self._root:
            self._skipped.empty_folders.append(folder)
        if self._options.ignore and IGNORE_FILE in listed.names:
            self._rules.read(folder)
        return listed

    def _count_error(self, path: bytes, error: OSError) -> None:
        if isinstance(error, FileNotFoundError):
            self._skipped.counts["vanished"] += 1
        else:
            self._skipped.fail(path, error.strerror or str(error))

    def _reason_to_skip(self, path: bytes, status: os.stat_result, is_link: bool) -> str | None:
        is_folder = stat.S_ISDIR(status.st_mode)
        reason = self._rules.refused(path, is_folder=is_folder) or _excluded_by_status(
            status, self._options, self._device
        )
        if reason is not None:
            return reason
        if is_link and _is_below(os.path.realpath(path), self._root):
            return "loop" if is_folder else "symlink"  # the key of a file is its own path, not a link
        if not is_folder:
            return None
        first = self._skipped.entered.setdefault((status.st_dev, status.st_ino), path)
        return None if first == path else _ENTERED


_ENTERED = "seen under another path"
_NO_NAMES: frozenset[bytes] = frozenset()


def _is_folder(name: bytes, listed: ListedFolder, follow: bool) -> bool:
    try:
        status = os.stat(listed.prefix + name, dir_fd=listed.descriptor, follow_symlinks=follow)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode)


def _is_below(path: bytes, root: bytes) -> bool:
    real = os.path.realpath(root).rstrip(b"/")
    return path == real or path.startswith(real + b"/")


def _excluded_by_status(status: os.stat_result, options: WalkOptions, device: int) -> str | None:
    """The reason to leave an entry out because of its status, or None."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        if status.st_size < options.min_size:
            return "too small"
        return "too large" if options.max_size is not None and status.st_size > options.max_size else None
    if stat.S_ISDIR(mode):
        return "other file system" if options.one_file_system and status.st_dev != device else None
    return "symlink" if stat.S_ISLNK(mode) else "special"
