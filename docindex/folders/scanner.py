"""Bring an index up to date with folders: add new and changed texts, note other files, forget what is gone.

Files with the size, time and inode of the last scan are not opened. Must never forget a document whose file
could not be looked at, nor lose finished work when it is interrupted.
"""

import contextlib
import dataclasses
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar

from docindex.errors import UnreadableFile
from docindex.folders.file_presence import FilePresence, check_mounted
from docindex.folders.file_reader import FileContent, NotReadable, digest_of, read_file
from docindex.folders.path_keys import Root, key_of, roots_of
from docindex.folders.walk import (
    FailedFile,
    FolderProgress,
    Skipped,
    WalkedFile,
    WalkOptions,
    no_progress,
    walk_files,
)
from docindex.frontends.text import check_encoding
from docindex.index.writer import Index
from docindex.storage.contents import text_hash
from docindex.storage.file_rows import BINARY, TEXT, Tracked

T = TypeVar("T")

# A change soon after another one may leave size and time as they are: some file systems tell times apart by
# two seconds only. The next scan reads such a file again.
_SETTLED_NS = 2_000_000_000

_COMMIT_AFTER_S = 10.0
"""Seconds after which what was read is committed: the most that an interruption costs, even on a slow disk."""

_ALL_DEFAULTS = WalkOptions()

_NOTED_AT_A_TIME = 2000
"""Files that are noted in one transaction."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan, in numbers of files."""

    unchanged: int
    added: int
    changed: int
    moved: int
    removed: int
    texts: int
    """Text files that exist now."""
    binaries: int
    """Other files that exist now."""
    bytes: int
    """The size of all files that exist now."""
    bytes_read: int
    skipped: Mapping[str, int]
    """How many entries were left out, by reason."""
    failed: tuple[FailedFile, ...]
    """The files and folders that could not be read; the next scan tries them again."""
    guessed: Mapping[str, str]
    """The encoding of each text that was read now and whose encoding is a guess, by key."""
    seen: AbstractSet[str] = dataclasses.field(repr=False)
    """The keys of all files that were found."""

    @property
    def changes(self) -> int:
        """How many files are not as they were."""
        return self.added + self.changed + self.moved + self.removed

    @property
    def files(self) -> int:
        """How many files exist now."""
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

    Texts are added under their paths, see `key_of`; other files are noted, so that `find` can compare them.
    Documents of files that are gone are removed; files on a disk that is not mounted stay. `encoding` forces
    the encoding of all texts that are read; else it is detected. `progress` is called with files: first with
    those found, then with those read of those to be read. `workers` is that of `Index.add_many`.

    `UnreadableFile`, after all other roots are scanned, for a root that does not exist or seems unmounted;
    `Cancelled` after `Index.cancel`. Finished work stays in the index, whatever ends the scan.

    >>> import docindex, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, docindex.open(":memory:") as index:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("some text")
    ...     result = scan(index, [folder])
    >>> result.added, result.texts, result.bytes
    (1, 1, 9)
    """
    if encoding is not None:
        check_encoding(encoding)
    reading = _Reading(options, encoding, workers)
    tally = _Tally()
    missing: UnreadableFile | None = None
    for root in roots_of(roots):
        try:
            _RootScan(index, root, reading, tally, progress).run()
        except UnreadableFile as error:  # the other roots are scanned first
            missing = missing or error
    if missing is not None:
        raise missing
    return tally.result()


@dataclasses.dataclass(frozen=True, slots=True)
class _Reading:
    """How files are found and read."""

    options: WalkOptions
    encoding: str | None
    workers: int | None


@dataclasses.dataclass(slots=True)
class _Tally:
    """The counts of a scan that goes on."""

    unchanged: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    texts: int = 0
    binaries: int = 0
    bytes: int = 0
    bytes_read: int = 0
    skipped: Skipped = dataclasses.field(default_factory=Skipped)
    guessed: dict[str, str] = dataclasses.field(default_factory=dict)
    seen: set[str] = dataclasses.field(default_factory=set)

    def count(self, kind: str, size: int) -> None:
        """Count a file that exists."""
        self.bytes += size
        if kind == TEXT:
            self.texts += 1
        else:
            self.binaries += 1

    def result(self) -> Scan:
        """The counts as they are now."""
        return Scan(
            unchanged=self.unchanged,
            added=self.added,
            changed=self.changed,
            moved=self.moved,
            removed=self.removed,
            texts=self.texts,
            binaries=self.binaries,
            bytes=self.bytes,
            bytes_read=self.bytes_read,
            skipped=dict(self.skipped.counts),
            failed=self.skipped.failures(),
            guessed=self.guessed,
            seen=self.seen,
        )


class _RootScan:
    """The scan of one root."""

    def __init__(
        self, index: Index, root: bytes, reading: _Reading, tally: _Tally, progress: FolderProgress
    ) -> None:
        self._index = index
        self._root = root
        self._reading = reading
        self._tally = tally
        self._progress = progress
        self._known = {file.key: file for file in index.files.under(key_of(root))}
        self._presence = FilePresence(root, follow_symlinks=reading.options.follow_symlinks)
        self._waiting: dict[str, tuple[Tracked, bytes]] = {}
        """The texts that are being added to the index: the file, and the hash of its text."""
        self._noted: list[Tracked] = []
        self._index_files = _identities(index)
        self._check_cancelled = index.files.cancel_check()
        self._due = self._done = self._arriving = 0
        """How many files are to be read, how many are done, and how many texts are being added."""

    def run(self) -> None:
        """Walk the root, read what is new, note it, and forget what is gone."""
        new, gone = self._look()
        new = self._without_moved(new, gone)
        self._due, texts = len(new), self._texts(new)
        try:
            for first in texts:
                some = itertools.chain([first], _for_a_while(texts))
                self._done += self._index.add_many(
                    some, workers=self._reading.workers, progress=self._text_arrived
                )
                self._arriving = 0
                self._note_stored()
        finally:
            # Also after an interruption: what is in the index need not be read again.
            self._note_stored()
        self._forget(gone)

    def _look(self) -> tuple[list[WalkedFile], dict[str, Tracked]]:
        """The files that are new or changed, and the known files that are gone."""
        new, gone = [], dict(self._known)
        try:
            for found in walk_files(self._root, self._reading.options, self._tally.skipped):
                key = key_of(found.path)
                if (found.status.st_ino, found.status.st_dev) in self._index_files:
                    self._tally.skipped.counts["docindex's own"] += 1
                    continue
                known = gone.pop(key, None)
                if key in self._tally.seen:  # it was found under another root
                    continue
                self._tally.seen.add(key)
                if known is not None and _is_unchanged(known, found):
                    self._tally.unchanged += 1
                    self._tally.count(known.kind, known.size)
                else:
                    new.append(found)
                self._check_cancelled()
                self._progress(len(self._tally.seen), None)
        except OSError as error:
            root = key_of(self._root)
            raise UnreadableFile(f"{root} cannot be read: {error.strerror or error}", root) from error
        if gone and len(gone) == len(self._known) and not new:
            check_mounted(self._root, self._known.values())
        return new, self._without_hidden(gone)

    def _without_hidden(self, gone: dict[str, Tracked]) -> dict[str, Tracked]:
        """The files that are really gone: without those on unmounted disks or in folders that failed."""
        failed = {path for path, _ in self._tally.skipped.failed}
        gone, away = self._presence.without_hidden(gone, self._known, failed)
        if away:
            self._tally.skipped.counts["on a disk that is not mounted"] += away
        return gone

    def _without_moved(self, new: list[WalkedFile], gone: dict[str, Tracked]) -> list[WalkedFile]:
        """Rename the documents of files that were moved, and return the other new files."""
        by_identity: dict[tuple[int, ...], list[Tracked]] = {}
        for file in gone.values():
            by_identity.setdefault((file.device, file.inode, file.size), []).append(file)
        moves: dict[str, tuple[str, Tracked]] = {}
        for found in new:
            status, key = found.status, key_of(found.path)
            before = by_identity.get((status.st_dev, status.st_ino, status.st_size))
            # A file that was only left out this time still exists; then this is another link to it.
            if (
                before
                and not self._was_read(key)
                and not self._presence.exists(before[-1])
                and _is_same_file(before[-1], found)
            ):
                file = before.pop()
                digest = file.digest if file.kind == TEXT else None
                moves[key] = file.key, file._replace(key=key, digest=digest)
        done: set[str] = set()
        for batch in _batches_of(list(moves.values())):
            done |= self._index.files.move(batch)
        for old in done:
            self._tally.moved += 1
            file = gone.pop(old)
            self._tally.count(file.kind, file.size)
        return [found for found in new if moves.get(key_of(found.path), ("",))[0] not in done]

    def _texts(self, new: list[WalkedFile]) -> Iterator[tuple[str, str]]:
        """The key and the text of each text file; binary and failed files are noted or counted."""
        for number, found in enumerate(new):
            if number % _NOTED_AT_A_TIME == 0:
                self._announce(new[number : number + _NOTED_AT_A_TIME])
            key, began = key_of(found.path), time.time_ns()
            try:
                content = read_file(
                    found.path,
                    follow_symlinks=self._reading.options.follow_symlinks,
                    encoding=self._reading.encoding,
                )
            except NotReadable as error:
                self._tally.skipped.fail(found.path, str(error))
                self._count_done()
                continue
            file = _tracked(key, content, began)
            self._count_read(file, content)
            if content.text is None:
                self._note_binary(file)
                self._count_done()
            else:
                self._waiting[key] = file, text_hash(content.text)
                yield key, content.text

    def _count_read(self, file: Tracked, content: FileContent) -> None:
        if not self._was_read(file.key):
            self._tally.added += 1
        elif _has_changed(self._known[file.key], file):
            self._tally.changed += 1
        else:
            self._tally.unchanged += 1
        self._tally.count(file.kind, file.size)
        self._tally.bytes_read += file.size if content.digest else 0
        if content.guessed and content.encoding is not None:
            self._tally.guessed[file.key] = content.encoding

    def _text_arrived(self, texts: int, _characters: int) -> None:
        self._arriving = texts
        self._progress(self._done + self._arriving, self._due)

    def _count_done(self) -> None:
        """Count a file that is done with and is not a text."""
        self._done += 1
        self._check_cancelled()
        self._progress(self._done + self._arriving, self._due)

    def _announce(self, some: list[WalkedFile]) -> None:
        """Note files before their documents are added: after a kill, every document has a noted file."""
        self._index.files.put(
            Tracked(key, found.status.st_size, -1, 0, 0, TEXT, None)
            for found in some
            if (key := key_of(found.path)) not in self._known
        )

    def _note_binary(self, file: Tracked) -> None:
        self._noted.append(file)
        if len(self._noted) >= _NOTED_AT_A_TIME:
            self._index.files.put(self._noted)
            self._noted.clear()
        if file.key in self._known and self._known[file.key].kind == TEXT:
            with contextlib.suppress(KeyError):  # somebody else has removed it
                self._index.remove(file.key)

    def _note_stored(self) -> None:
        """Note the binary files, and the text files whose texts are in the index by now."""
        if not (self._noted or self._waiting):
            return
        hashes = {key: text for key, (_, text) in self._waiting.items()}
        stored = self._index.files.stored(hashes)
        self._index.files.put([*self._noted, *(self._waiting[key][0] for key in stored)])
        self._noted.clear()
        self._waiting.clear()

    def _forget(self, gone: dict[str, Tracked]) -> None:
        """Forget the files that do not exist any more; those that were only left out this time stay."""
        for batch in _batches_of([file for file in gone.values() if not self._presence.exists(file)]):
            self._index.files.forget(batch)
            self._tally.removed += len(batch)

    def _was_read(self, key: str) -> bool:
        """Whether an earlier scan read a file, and did not only announce it before it was stopped."""
        known = self._known.get(key)
        return known is not None and known.inode != 0


def _tracked(key: str, content: FileContent, began_ns: int) -> Tracked:
    """What the index notes of a file that was read; its time only if it changed well before that."""
    status = content.status
    return Tracked(
        key=key,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns if began_ns - status.st_mtime_ns > _SETTLED_NS else -1,
        device=status.st_dev,
        inode=status.st_ino,
        kind=BINARY if content.text is None else TEXT,
        digest=content.digest,
    )


def _is_unchanged(known: Tracked, found: WalkedFile) -> bool:
    status = found.status
    return (
        known.mtime_ns == status.st_mtime_ns
        and known.size == status.st_size
        and known.inode == status.st_ino
        and known.device == status.st_dev
    )


def _has_changed(known: Tracked, file: Tracked) -> bool:
    """Whether a file that had to be read again differs from what was known."""
    if known.digest and file.digest:
        return known.digest != file.digest
    # A file whose time is too recent to trust, and that has no digest, counts as unchanged.
    return known._replace(mtime_ns=-1) != known or (known.size, known.inode) != (file.size, file.inode)


def _is_same_file(file: Tracked, found: WalkedFile) -> bool:
    """Whether a known file is found at another path; its size and its inode are known to be the same."""
    if file.kind == BINARY:
        return file.mtime_ns == found.status.st_mtime_ns
    try:
        # Another file may have got its inode, and even its time.
        return digest_of(found.path, file.size, file.mtime_ns) == file.digest
    except NotReadable:
        return False


def _identities(index: Index) -> set[tuple[int, int]]:
    """The inode and the device of the index's own files, which every scan changes."""
    found = set()
    for name in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            status = os.stat(index.path + name)
            found.add((status.st_ino, status.st_dev))
    return found


def _for_a_while(items: Iterator[T]) -> Iterator[T]:
    """The next items, as many as come before the next commit is due."""
    end = time.monotonic() + _COMMIT_AFTER_S
    for item in items:
        yield item
        if time.monotonic() > end:
            return


def _batches_of(things: list[T]) -> Iterator[list[T]]:
    """Batches of the size that one transaction notes."""
    for start in range(0, len(things), _NOTED_AT_A_TIME):
        yield things[start : start + _NOTED_AT_A_TIME]
