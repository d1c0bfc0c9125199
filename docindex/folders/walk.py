"""Folders in, the regular files in them out, with what the system says of each; and why others are not.

Never opens a file, but those with rules of what to ignore. Must never fail for one entry: what cannot be read
is counted, and the rest of the walk goes on.
"""

import collections
import dataclasses
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docindex.folders.gitignore import IGNORING, Rules
from docindex.folders.system import FOLDER, LONGEST, open_file


@dataclasses.dataclass(frozen=True, slots=True)
class WalkOptions:
    """Which files are walked to."""

    hidden: bool = False
    ignore: bool = True
    """Whether what ``.gitignore`` names is left out."""
    exclude: Sequence[str] = ()
    """Patterns of names, or of paths below the root, that are left out."""
    follow_symlinks: bool = False
    one_file_system: bool = False
    min_size: int = 0
    max_size: int | None = None


@dataclasses.dataclass(slots=True)
class Skipped:
    """What was not walked to: how many entries for which reason, and those that could not be read."""

    counts: "collections.Counter[str]" = dataclasses.field(default_factory=collections.Counter)
    failed: list[tuple[bytes, str]] = dataclasses.field(default_factory=list)
    """Paths, and what the system said of them."""

    def fail(self, path: bytes, error: OSError) -> None:
        """One more that could not be read."""
        self.counts["unreadable"] += 1
        self.failed.append((path, error.strerror or str(error)))


class WalkedFile(NamedTuple):  # made for every file: a frozen dataclass costs three times as much
    """A regular file."""

    path: bytes
    status: os.stat_result


def walk(root: bytes, options: WalkOptions, skipped: Skipped) -> Iterator[WalkedFile]:
    """The regular files under a folder, or the one that it is, in the order of their names.

    `OSError` if there is nothing at the root at all.
    """
    at_root = os.stat(root)
    if not stat.S_ISDIR(at_root.st_mode):
        reason = _refused(at_root, options, at_root.st_dev)
        if reason is None:
            yield WalkedFile(root, at_root)
        else:
            skipped.counts[reason] += 1
        return
    rules = Rules(root, options.exclude)
    been = {(at_root.st_dev, at_root.st_ino)}
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            entries = _entries(folder, follow=options.follow_symlinks)
        except OSError as error:
            skipped.fail(folder, error)
            continue
        if options.ignore and any(entry.name == IGNORING for entry in entries):
            rules.read(folder)
        below = []
        for name, path, status, is_link in entries:
            if not options.hidden and name.startswith(b"."):
                skipped.counts["hidden"] += 1
            elif isinstance(status, OSError):
                if isinstance(status, FileNotFoundError):
                    skipped.counts["vanished"] += 1
                else:
                    skipped.fail(path, status)
            else:
                is_folder = stat.S_ISDIR(status.st_mode)
                reason = rules.refused(path, is_folder=is_folder) or _refused(status, options, at_root.st_dev)
                if reason is None and is_link and _is_below(os.path.realpath(path), root):
                    reason = "loop" if is_folder else "symlink"  # each file has one name: its own
                if reason is None and is_folder and (status.st_dev, status.st_ino) in been:
                    reason = "loop"
                if reason is not None:
                    skipped.counts[reason] += 1
                elif is_folder:
                    been.add((status.st_dev, status.st_ino))
                    below.append(path)
                else:
                    yield WalkedFile(path, status)
        waiting += reversed(below)


class _Entry(NamedTuple):
    name: bytes
    path: bytes
    status: os.stat_result | OSError
    """What the system says of it, or why it does not."""
    is_link: bool
    """Whether it is a link that is to be followed."""


def _entries(folder: bytes, *, follow: bool) -> list[_Entry]:
    """What is in a folder, by name."""
    if len(folder) < LONGEST:
        with os.scandir(folder) as entries:
            found = [_Entry(one.name, one.path, *_looked_at(one, follow=follow)) for one in entries]
    else:
        descriptor = open_file(folder, FOLDER)
        try:
            with os.scandir(descriptor) as names:
                found = [
                    _Entry(name, os.path.join(folder, name), *_looked_at(one, follow=follow))
                    for one in names
                    for name in [os.fsencode(one.name)]
                ]
        finally:
            os.close(descriptor)
    return sorted(found)


def _looked_at(
    entry: "os.DirEntry[bytes] | os.DirEntry[str]", *, follow: bool
) -> tuple[os.stat_result | OSError, bool]:
    try:
        return entry.stat(follow_symlinks=follow), follow and entry.is_symlink()
    except OSError as error:
        return error, False


def _is_below(path: bytes, root: bytes) -> bool:
    real = os.path.realpath(root).rstrip(b"/")
    return path == real or path.startswith(real + b"/")


def _refused(status: os.stat_result, options: WalkOptions, device: int) -> str | None:
    """Why something is not walked to, as far as the system says what it is; None if it is."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        if status.st_size < options.min_size:
            return "too small"
        return "too large" if options.max_size is not None and status.st_size > options.max_size else None
    if stat.S_ISDIR(mode):
        return "other file system" if options.one_file_system and status.st_dev != device else None
    return "symlink" if stat.S_ISLNK(mode) else "special"
