"""Folders and an index in, the index brought up to date out, and a report of what was done.

What is unchanged since the last scan, by size, time and inode, is not opened. Must never forget a document
whose file could not be looked at; nor lose what was done when it is interrupted.
"""

import contextlib
import dataclasses
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from docindex.errors import UnreadableFile
from docindex.folders.file_reader import NotReadable, digest_of, read
from docindex.folders.path_keys import key_of, path_of
from docindex.folders.walk import Skipped, WalkedFile, WalkOptions, walk
from docindex.index.writer import Index
from docindex.storage.contents import text_hash
from docindex.storage.file_rows import BINARY, TEXT, Tracked

T = TypeVar("T")
ScanProgress = Callable[[int, int | None], object]
"""Called with how many files were looked at; then with how many were read, of so many."""

# A change so soon after another one may leave size and time as they are, for some file systems tell times
# apart by two seconds only. Such a file is read again by the next scan.
_SETTLED_NS = 2_000_000_000

_AT_RISK_S = 10.0
"""Seconds after which what was read is committed: so much an interruption costs, however slow a disk is."""

_AT_A_TIME = 2000
"""Files that are noted in one transaction."""


@dataclasses.dataclass(slots=True)
class Report:
    """What a scan did, in numbers of files."""

    unchanged: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    texts: int = 0
    """How many of those that are there now are texts."""
    binaries: int = 0
    bytes: int = 0
    """The size of all that are there."""
    read: int = 0
    """How many bytes were read."""
    skipped: Skipped = dataclasses.field(default_factory=Skipped)
    seen: set[str] = dataclasses.field(default_factory=set, repr=False)
    """The keys of all that were walked to."""

    @property
    def news(self) -> int:
        """How many are not as they were."""
        return self.added + self.changed + self.moved + self.removed

    @property
    def files(self) -> int:
        """How many files there are."""
        return self.texts + self.binaries


def scan(
    index: Index,
    roots: Sequence[bytes],
    options: WalkOptions | None = None,
    *,
    workers: int | None = None,
    progress: ScanProgress = lambda _done, _total: None,
) -> Report:
    """Take in the text files under some folders, and note the others; forget those that are gone.

    `UnreadableFile`, once all others are scanned, for a root that is not there, or has nothing it had.
    """
    options = options or WalkOptions()
    report = Report()
    missing: UnreadableFile | None = None
    for root in roots:
        try:
            _Scan(index, root, options, report, progress).run(workers)
        except UnreadableFile as error:  # the others are scanned first
            missing = missing or error
    if missing is not None:
        raise missing
    return report


class _Scan:
    """One root."""

    def __init__(
        self, index: Index, root: bytes, options: WalkOptions, report: Report, progress: ScanProgress
    ) -> None:
        self._index = index
        self._root = root
        self._options = options
        self._report = report
        self._progress = progress
        self._known = {file.key: file for file in index.files.under(key_of(root))}
        self._waiting: dict[str, tuple[Tracked, bytes]] = {}
        """Texts on their way into the index, with the hashes of their texts."""
        self._noted: list[Tracked] = []
        self._own = _identities(index)
        self._due = self._done = self._arriving = 0
        """How many files are to be read, how many were, and how many texts are on their way."""

    def run(self, workers: int | None) -> None:
        """Walk, read what is new, note it, forget what is gone."""
        new, gone = self._look()
        new = self._without_moved(new, gone)
        self._due, texts = len(new), self._texts(new)
        try:
            for first in texts:
                some = itertools.chain([first], _for_a_while(texts))
                self._done += self._index.add_many(some, workers=workers, progress=self._arrived)
                self._arriving = 0
                self._note_stored()
        finally:
            # Also when it is interrupted: what is in the index need not be read again.
            self._note_stored()
        self._forget(gone)

    def _look(self) -> tuple[list[WalkedFile], dict[str, Tracked]]:
        """The files that are new or changed; and what is known of those that are not there any more."""
        new, gone = [], dict(self._known)
        try:
            for found in walk(self._root, self._options, self._report.skipped):
                key = key_of(found.path)
                if (found.status.st_ino, found.status.st_dev) in self._own:
                    self._report.skipped.counts["docindex's own"] += 1
                    continue
                known = gone.pop(key, None)
                if key in self._report.seen:  # under another root, too
                    continue
                self._report.seen.add(key)
                if known is not None and _same(known, found):
                    self._report.unchanged += 1
                    self._count(known.kind, known.size)
                else:
                    new.append(found)
                self._progress(len(self._report.seen), None)
        except OSError as error:
            root = key_of(self._root)
            raise UnreadableFile(f"{root} cannot be looked at: {error.strerror or error}", root) from error
        if gone and len(gone) == len(self._known) and not new:
            self._refuse_unmounted()
        return new, self._without_hidden(gone)

    def _without_hidden(self, gone: dict[str, Tracked]) -> dict[str, Tracked]:
        """Those that are really gone: not what is below a folder that could not be read, or on a disk that
        is not there.
        """
        failed = {path for path, _ in self._report.skipped.failed}
        if failed:
            gone = {key: file for key, file in gone.items() if not _is_in(path_of(key), failed)}
        there = {file.device for key, file in self._known.items() if key not in gone}
        above: dict[bytes, int] = {}
        away = [
            key
            for key, file in gone.items()
            if file.inode and file.device not in there and _device_above(path_of(key), above) != file.device
        ]
        self._report.skipped.counts.update({"on a disk that is not there": len(away)} if away else {})
        for key in away:
            del gone[key]
        return gone

    def _without_moved(self, new: list[WalkedFile], gone: dict[str, Tracked]) -> list[WalkedFile]:
        """Rename the documents of files that have another path now; the rest of the new ones."""
        by_identity: dict[tuple[int, ...], list[Tracked]] = {}
        for file in gone.values():
            by_identity.setdefault((file.device, file.inode, file.size), []).append(file)
        moves: dict[str, tuple[str, Tracked]] = {}
        for found in new:
            status, key = found.status, key_of(found.path)
            before = by_identity.get((status.st_dev, status.st_ino, status.st_size))
            # (One that was only left out this time is there, and this is another link to it.)
            if (
                before
                and not self._knows(key)
                and not self._is_there(before[-1])
                and _is_at(before[-1], found)
            ):
                file = before.pop()
                digest = file.digest if file.kind == TEXT else None
                moves[key] = file.key, file._replace(key=key, digest=digest)
        done: set[str] = set()
        for some in _parts(list(moves.values())):
            done |= self._index.files.move(some)
        for old in done:
            self._report.moved += 1
            file = gone.pop(old)
            self._count(file.kind, file.size)
        return [found for found in new if moves.get(key_of(found.path), ("",))[0] not in done]

    def _texts(self, new: list[WalkedFile]) -> Iterator[tuple[str, str]]:
        """The texts of some files under their keys; binary files are noted, and the others counted."""
        for number, found in enumerate(new):
            if number % _AT_A_TIME == 0:
                self._announce(new[number : number + _AT_A_TIME])
            key, began = key_of(found.path), time.time_ns()
            try:
                content = read(found.path, follow_symlinks=self._options.follow_symlinks)
            except NotReadable as error:
                self._report.skipped.counts["unreadable"] += 1
                self._report.skipped.failed.append((found.path, str(error)))
                self._pass()
                continue
            status = content.status
            file = Tracked(
                key=key,
                size=status.st_size,
                mtime_ns=status.st_mtime_ns if began - status.st_mtime_ns > _SETTLED_NS else -1,
                device=status.st_dev,
                inode=status.st_ino,
                kind=BINARY if content.text is None else TEXT,
                digest=content.digest,
            )
            if self._knows(key):
                if _has_changed(self._known[key], file):
                    self._report.changed += 1
                else:
                    self._report.unchanged += 1
            else:
                self._report.added += 1
            self._count(file.kind, file.size)
            self._report.read += status.st_size if content.digest else 0
            if content.text is None:
                self._pass()
                self._note(file)
                if key in self._known and self._known[key].kind == TEXT:
                    with contextlib.suppress(KeyError):  # somebody else has removed it
                        self._index.remove(key)
            else:
                self._waiting[key] = file, text_hash(content.text)
                yield key, content.text

    def _arrived(self, texts: int, _characters: int) -> None:
        self._arriving = texts
        self._progress(self._done + self._arriving, self._due)

    def _pass(self) -> None:
        """One more is done with that is no text."""
        self._done += 1
        self._progress(self._done + self._arriving, self._due)

    def _announce(self, some: list[WalkedFile]) -> None:
        """Know files before their documents are there, so that none is left that nobody knows of."""
        self._index.files.put(
            Tracked(key, found.status.st_size, -1, 0, 0, TEXT, None)
            for found in some
            if (key := key_of(found.path)) not in self._known
        )

    def _note(self, file: Tracked) -> None:
        self._noted.append(file)
        if len(self._noted) >= _AT_A_TIME:
            self._index.files.put(self._noted)
            self._noted.clear()

    def _note_stored(self) -> None:
        """Note the files of which the texts are in the index by now."""
        if not (self._noted or self._waiting):
            return
        hashes = {key: text for key, (_, text) in self._waiting.items()}
        stored = self._index.files.stored(hashes)
        self._index.files.put([*self._noted, *(self._waiting[key][0] for key in stored)])
        self._noted.clear()
        self._waiting.clear()

    def _forget(self, gone: dict[str, Tracked]) -> None:
        """Forget what is there no more; what was only left out this time stays as it was."""
        for some in _parts([file for file in gone.values() if not self._is_there(file)]):
            self._index.files.forget(some)
            self._report.removed += len(some)

    def _is_there(self, file: Tracked) -> bool:
        """Whether there is a regular file, or may be one: if the system says neither, nothing is forgotten.

        Not if it is reached by a link: then it is known, or will be, by its own name.
        """
        path = path_of(file.key)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        own = os.path.join(os.path.realpath(self._root), path[len(self._root) :].lstrip(b"/"))
        folder = os.path.realpath(os.path.dirname(path))
        return self._options.follow_symlinks or path == self._root or folder == os.path.dirname(own)

    def _refuse_unmounted(self) -> None:
        """`UnreadableFile` if nothing is there of what was, on another device: its disk is not there."""
        devices = {file.device for file in self._known.values() if file.inode}
        if devices and not devices & {os.stat(self._root).st_dev, 0}:
            root = key_of(self._root)
            raise UnreadableFile(
                f"{root} has nothing of what it had, and is on another device; is its disk mounted?", root
            )

    def _knows(self, key: str) -> bool:
        """Whether a file was looked at before, and not only announced by a scan that was stopped then."""
        known = self._known.get(key)
        return known is not None and known.inode != 0

    def _count(self, kind: str, size: int) -> None:
        self._report.bytes += size
        if kind == TEXT:
            self._report.texts += 1
        else:
            self._report.binaries += 1


def _same(known: Tracked, found: WalkedFile) -> bool:
    status = found.status
    return (
        known.mtime_ns == status.st_mtime_ns
        and known.size == status.st_size
        and known.inode == status.st_ino
        and known.device == status.st_dev
    )


def _has_changed(known: Tracked, file: Tracked) -> bool:
    """Whether a file that had to be read again is another than it was."""
    if known.digest and file.digest:
        return known.digest != file.digest
    # What was too new to tell, and is not told by its bytes either, is taken for what it was.
    return known._replace(mtime_ns=-1) != known or (known.size, known.inode) != (file.size, file.inode)


def _is_at(file: Tracked, found: WalkedFile) -> bool:
    """Whether a file that was known by another path is found there; its size and number are the same."""
    if file.kind == BINARY:
        return file.mtime_ns == found.status.st_mtime_ns
    try:
        # Another file may have got its number, and even its time.
        return digest_of(found.path, file.size, file.mtime_ns) == file.digest
    except NotReadable:
        return False


def _identities(index: Index) -> set[tuple[int, int]]:
    """The files of the index itself, which are changed by every scan."""
    found = set()
    for name in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            status = os.stat(index.path + name)
            found.add((status.st_ino, status.st_dev))
    return found


def _device_above(path: bytes, known: dict[bytes, int]) -> int:
    """On which device the nearest folder above a path is that is there; `known` are those found before."""
    folder = os.path.dirname(path)
    if folder not in known:
        try:
            known[folder] = os.stat(folder).st_dev
        except OSError:
            known[folder] = _device_above(folder, known) if folder != path else 0
    return known[folder]


def _is_in(path: bytes, some: AbstractSet[bytes]) -> bool:
    """Whether a path, or a folder above it, is among some."""
    while path not in some:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True


def _for_a_while(items: Iterator[T]) -> Iterator[T]:
    """The next ones, as many as come in a while."""
    end = time.monotonic() + _AT_RISK_S
    for item in items:
        yield item
        if time.monotonic() > end:
            return


def _parts(things: list[T]) -> Iterator[list[T]]:
    """As many as are noted in one transaction, again and again."""
    for start in range(0, len(things), _AT_A_TIME):
        yield things[start : start + _AT_A_TIME]
