"""Scan one root: read the files that are new or changed, and bring the index up to date with them.

`RootChanges` finds these files; `EarlierFiles` says which others are read again. Must never lose finished
work when it is interrupted.
"""

import contextlib
import itertools
import os
import stat
import time
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar

from docindex.cancellation import not_cancelled
from docindex.errors import UnreadableFile
from docindex.folders.scanning.file_changes import (
    EarlierFiles,
    ReadingOptions,
    has_changed,
    has_same_bytes,
    is_same_file,
    is_unchanged,
    keeps_documents,
    tracked_file,
    with_documents_of,
)
from docindex.folders.scanning.file_content import FileContent
from docindex.folders.scanning.file_readers import FileReaders
from docindex.folders.scanning.tally import ScanTally
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of, path_of, with_slashes
from docindex.folders.walking.walk import FolderProgress, WalkedFile, index_identities, walk_files
from docindex.frontends.extracted import PART_MARK, Extracted, text_in
from docindex.index.index import Index
from docindex.index.items import TextsOfFiles
from docindex.storage.rows.contents import text_hash
from docindex.storage.tracked_files import BINARY, PLAIN_READINGS, TEXT, Tracked

# Decide whether a known file that a walk did not find is gone or still exists.
#
# A file may still exist on a disk that is not mounted, or in a folder that could not be read, or the options
# of the scan may have excluded it. If in doubt, a file counts as existing. Must never open a file.


class FilePresence:
    """Tells which files below one root still exist."""

    def __init__(self, root: bytes, *, follow_symlinks: bool) -> None:
        self._root = root
        self._follow_symlinks = follow_symlinks

    def exists(self, file: Tracked) -> bool:
        """Whether a regular file exists at the path. True also if the system does not tell.

        False for a path through a symbolic link below the root, unless links are followed: the index knows
        that file by its own path.
        """
        path = path_of(file.key)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        below_root = path[len(self._root) :].lstrip(b"/")
        own = os.path.join(os.path.realpath(self._root), below_root)
        folder = os.path.realpath(os.path.dirname(path))
        return (
            self._follow_symlinks
            or path == self._root
            or with_slashes(folder) == with_slashes(os.path.dirname(own))
        )

    @staticmethod
    def without_hidden(
        gone: Mapping[str, Tracked], known: Mapping[str, Tracked], failed: AbstractSet[bytes]
    ) -> tuple[dict[str, Tracked], int]:
        """Leave out of `gone` the files below a failed path and those on unmounted disks.

        Returns the other files, and the number of files on unmounted disks. `known` are all files that were
        known below the root. A disk counts as mounted if the walk found a known file on it, or if the nearest
        existing folder above the file is on it.
        """
        really = {key: file for key, file in gone.items() if not (failed and _is_in(path_of(key), failed))}
        mounted = {file.device for key, file in known.items() if key not in really}
        devices: dict[bytes, int] = {}
        away = [
            key
            for key, file in really.items()
            if file.inode
            and file.device not in mounted
            and _device_above(path_of(key), devices) != file.device
        ]
        for key in away:
            del really[key]
        return really, len(away)


def check_mounted(root: bytes, known: Iterable[Tracked]) -> None:
    """`UnreadableFile` if none of the known files was on the device that the root is on now."""
    devices = {file.device for file in known if file.inode}
    if devices and not devices & {os.stat(root).st_dev, 0}:
        name = key_of(root)
        raise UnreadableFile(
            f"{name} is empty and on another device than at the last scan; mount its disk and scan again",
            name,
        )


def _device_above(path: bytes, devices: dict[bytes, int]) -> int:
    """The device of the nearest existing folder above a path. `devices` caches the answers by folder."""
    folder = os.path.dirname(path)
    if folder not in devices:
        try:
            devices[folder] = os.stat(folder).st_dev
        except OSError:
            devices[folder] = _device_above(folder, devices) if folder != path else 0
    return devices[folder]


def _is_in(path: bytes, folders: AbstractSet[bytes]) -> bool:
    """Whether the path or a folder above it is in `folders`."""
    while path not in folders:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True


# Find what changed under a root since the last scan: the files that are new, changed, moved, or gone.
#
# A file whose size, times, inode and device are unchanged is not read again, unless `EarlierFiles` says so.
# If only the time of its status has changed, its digest decides. A file that was moved keeps its documents.
# Must never forget a document whose file could not be read.

T = TypeVar("T")

NOTED_AT_A_TIME = 2000
"""Files that are noted in one transaction."""


class FoundChanges(NamedTuple):
    """What changed under a root."""

    to_read: list[WalkedFile]
    """The files that are new or changed."""
    moved: set[str]
    """The new keys of moved files, which are counted already."""
    gone: dict[str, Tracked]
    """The known files that no longer exist, or that the options exclude."""


class RootChanges:
    """Finds the changes under one root, and renames and forgets the documents of files."""

    def __init__(
        self,
        index: Index,
        root: bytes,
        earlier: EarlierFiles,
        tally: ScanTally,
        on_walked: Callable[[], object],
    ) -> None:
        """`on_walked` is called after each file that is found, and may raise an exception."""
        self._index = index
        self._root = root
        self._earlier = earlier
        self._options = earlier.reading.options
        self._tally = tally
        self._on_walked = on_walked
        self._presence = FilePresence(root, follow_symlinks=self._options.follow_symlinks)
        self._index_files = index_identities(index.path)

    def find(self) -> FoundChanges:
        """Walk the root. Renames the documents of moved files."""
        new, gone = self._new_and_gone()
        moved = self._renamed(new, gone) if gone else {}
        if not moved:  # in a first scan, for example
            return FoundChanges(new, set(), gone)
        keyed = ((found, moved.get(key_of(found.path))) for found in new)
        to_read = [found for found, file in keyed if file is None or self._earlier.is_read_again(file)]
        return FoundChanges(to_read, set(moved), gone)

    def _new_and_gone(self) -> tuple[list[WalkedFile], dict[str, Tracked]]:
        """The files that are new or changed, and the known files that are gone."""
        new, gone = [], dict(self._earlier.by_key)
        same_bytes: list[Tracked] = []
        earlier, tally, seen = self._earlier, self._tally, self._tally.seen  # looked up for each file
        for found in self._walked():
            key = key_of(found.path)
            if (found.status.st_ino, found.status.st_dev) in self._index_files:
                tally.skipped.leave_out(found.path, "of docindex's own files")
                continue
            known = gone.pop(key, None)
            if key in seen:  # another root contains it too
                continue
            seen.add(key)
            if known is None or earlier.is_read_again(known):
                new.append(found)
            elif (is_same := is_unchanged(known, found)) or has_same_bytes(known, found):
                tally.unchanged += 1
                tally.count(known)
                if not is_same:
                    same_bytes.append(known._replace(ctime_ns=found.status.st_ctime_ns))
            else:
                new.append(found)
            self._on_walked()
        for batch in _batches_of(same_bytes):
            self._index.files.put(batch)
        if gone and len(gone) == len(self._earlier.by_key) and not new:
            check_mounted(self._root, self._earlier.by_key.values())
        return new, self._really_gone(gone)

    def _walked(self) -> Iterator[WalkedFile]:
        """The files below the root; `UnreadableFile` if it cannot be read."""
        try:
            yield from walk_files(self._root, self._options, self._tally.skipped)
        except OSError as error:
            root = key_of(self._root)
            raise UnreadableFile(f"{root} cannot be read: {error.strerror or error}", root) from error

    def _really_gone(self, gone: dict[str, Tracked]) -> dict[str, Tracked]:
        """The files that are gone, without those on unmounted disks or in folders that could not be read."""
        failed = {path for path, _ in self._tally.skipped.failed}
        gone, away = self._presence.without_hidden(gone, self._earlier.by_key, failed)
        if away:
            self._tally.skipped.counts["on a disk that is not mounted"] += away
        return gone

    def _renamed(self, new: list[WalkedFile], gone: dict[str, Tracked]) -> dict[str, Tracked]:
        """Rename the documents of files that were moved; returns the new records by their keys."""
        moves = self._moves(new, gone)
        done: set[str] = set()
        for batch in _batches_of(list(moves.values())):
            done |= self._index.files.move(batch)
        renamed = {key: file for key, (old, file) in moves.items() if old in done}
        for old in done:
            gone.pop(old)
        for file in renamed.values():
            self._tally.moved += 1
            if not self._earlier.is_read_again(file):
                self._tally.count(file)
        self._earlier.by_key.update(renamed)
        return renamed

    def _moves(self, new: list[WalkedFile], gone: dict[str, Tracked]) -> dict[str, tuple[str, Tracked]]:
        """The old key and the new record of each new file that is one of the gone files, by its new key."""
        by_identity: dict[tuple[int, ...], list[Tracked]] = {}
        for file in gone.values():
            by_identity.setdefault((file.device, file.inode, file.size), []).append(file)
        moves: dict[str, tuple[str, Tracked]] = {}
        for found in new:
            status, key = found.status, key_of(found.path)
            before = by_identity.get((status.st_dev, status.st_ino, status.st_size))
            # If the known file exists and the options only excluded it, this is another hard link to it.
            if (
                before
                and not self._earlier.was_read(key)
                and not self._presence.exists(before[-1])
                and is_same_file(before[-1], found)
            ):
                file = before.pop()
                digest = None if file.kind == BINARY else file.digest
                moves[key] = file.key, file._replace(key=key, ctime_ns=status.st_ctime_ns, digest=digest)
        return moves

    def forget(self, gone: dict[str, Tracked]) -> None:
        """Forget the files that no longer exist, but not those that the options excluded."""
        for batch in _batches_of([file for file in gone.values() if not self._presence.exists(file)]):
            self._index.files.forget(batch)
            self._tally.removed += len(batch)


def _batches_of(things: list[T]) -> Iterator[list[T]]:
    """The items in batches, each for one transaction."""
    for start in range(0, len(things), NOTED_AT_A_TIME):
        yield things[start : start + NOTED_AT_A_TIME]


_COMMIT_AFTER_S = 10.0
"""Seconds after which the texts that were read are committed. An interruption costs at most this much work,
even on a slow disk."""


class RootScan:
    """The scan of one root. Call `run` once."""

    def __init__(
        self, index: Index, root: bytes, reading: ReadingOptions, tally: ScanTally, progress: FolderProgress
    ) -> None:
        self._index = index
        self._root = root
        self._reading = reading
        self._tally = tally
        self._progress = progress
        self._earlier = EarlierFiles(index.files.under(key_of(root)), reading)
        self._waiting: list[tuple[Tracked, dict[str, bytes]]] = []
        """The files whose texts are being added to the index, with the hashes of these texts by key."""
        self._new: dict[str, Tracked] = {}
        """The new files with one text that is being added, by key. They are noted with their texts."""
        self._noted: list[Tracked] = []
        self._moved: set[str] = set()
        """The new keys of moved files, which are counted already."""
        self._check_cancelled = index.files.cancel_check()
        self._due = self._done = 0
        """The number of files to read, and of those that were read."""

    def run(self) -> None:
        """Walk the root, read new and changed files, and forget files that are gone."""
        changes = RootChanges(self._index, self._root, self._earlier, self._tally, self._count_walked)
        new, self._moved, gone = changes.find()
        self._due = len(new)
        try:
            with contextlib.closing(self._texts(new)) as texts:
                self._add(texts)
        finally:
            # This also runs after an interruption, so that the next scan need not read these files again.
            with not_cancelled():
                self._note_stored()
        changes.forget(gone)

    def _add(self, texts: Iterator[tuple[str, str | Extracted]]) -> None:
        """Add texts to the index, with a commit every few seconds."""
        for first in texts:
            batch = itertools.chain([first], _for_a_while(texts))
            items = TextsOfFiles(batch, self._taken)
            self._index.add_many(items, workers=self._reading.workers)
            self._note_stored()

    def _texts(self, new: list[WalkedFile]) -> Generator[tuple[str, str | Extracted], None, None]:
        """Yield the keys and texts of the documents in files. Other files are noted or counted."""
        with FileReaders(
            follow_symlinks=self._reading.options.follow_symlinks,
            encoding=self._reading.encoding,
            workers=self._reading.workers,
            formats=self._reading.options.formats,
            check=self._check_cancelled,
        ) as readers:
            for found, began, content in readers.read(_emptied(new)):
                if isinstance(content, NotReadable):
                    self._tally.skipped.fail(found.path, str(content))
                    self._count_done()
                else:
                    yield from self._documents(key_of(found.path), began, content)

    def _taken(self, keys: Iterable[str]) -> list[Tracked]:
        """The records of those new files that have these keys. Each is given once."""
        return [self._new.pop(key) for key in keys if key in self._new]

    def _documents(self, key: str, began: int, content: FileContent) -> Iterator[tuple[str, str | Extracted]]:
        """The documents of a file that was read, and of the documents inside it."""
        file = tracked_file(key, content, began)
        if key not in self._earlier.by_key and content.text is not None and not content.parts:
            # Nearly all files of a first scan, for which the questions below take 2 us.
            self._count_read(file, content, is_stored=False)
            self._count_done()
            self._new[key] = file
            yield key, content.extracted or content.text
            return
        before = self._earlier.read_before(key)
        if before is not None and keeps_documents(before, content, self._reading.options.formats):
            file = with_documents_of(before, file)
            self._count_read(file, content, is_stored=True)
            self._note(file)
            self._count_done()
            return
        is_stored = self._is_stored(key, content.text)
        self._count_read(file, content, is_stored=is_stored)
        texts: dict[str, str | Extracted] = {
            f"{key}{PART_MARK}{name}": text for name, text in content.parts.items()
        }
        # The places in an extracted text may have changed although the text has not.
        if content.text is not None and not (is_stored and self._is_plain(file)):
            texts[key] = content.extracted or content.text
        if content.text is None:
            self._remove_document(key)
        self._remove_parts(key, texts)
        if not texts:
            self._note(file)
            self._count_done()
            return
        self._announce(file)
        self._count_done()
        hashes: dict[str, bytes] = {}
        for each, text in texts.items():
            hashes[each] = text_hash(text_in(text))
            if len(hashes) == len(texts):  # a commit may come in the middle of a file
                self._waiting.append((file, hashes))
            yield each, text

    def _count_read(self, file: Tracked, content: FileContent, *, is_stored: bool) -> None:
        if file.key not in self._moved:
            if not self._earlier.was_read(file.key):
                self._tally.added += 1
            elif has_changed(before := self._earlier.by_key[file.key], file) or (
                self._earlier.is_read_again(before)
                and not is_stored
                and (file.kind == TEXT or file.kind != before.kind)
            ):
                self._tally.changed += 1
            else:
                self._tally.unchanged += 1
        self._tally.count(file)
        self._tally.bytes_read += file.size if content.digest else 0
        if content.guessed and content.encoding is not None:
            self._tally.guessed[file.key] = content.encoding

    def _is_stored(self, key: str, text: str | None) -> bool:
        """Whether a file that was read again has the text of its document, which then stays as it is."""
        known = self._earlier.by_key.get(key)
        if text is None or known is None or not self._earlier.is_read_again(known):
            return False
        return bool(self._index.files.stored({key: text_hash(text)}))

    def _is_plain(self, file: Tracked) -> bool:
        """Whether a known file was plain text, and is plain text now."""
        return {file.reading, self._earlier.by_key[file.key].reading} <= PLAIN_READINGS

    def _count_walked(self) -> None:
        """Count a file that was found."""
        self._check_cancelled()
        self._progress(len(self._tally.seen), None)

    def _count_done(self) -> None:
        """Count a file that was read."""
        self._done += 1
        self._check_cancelled()
        self._progress(self._done, self._due)

    def _announce(self, file: Tracked) -> None:
        """Note that a file will have documents inside it, if it had none, before they come.

        After a kill, each document has a file.
        """
        known = self._earlier.by_key.get(file.key)
        if known is None:
            self._index.files.put([Tracked(file.key, file.size, -1, 0, 0, 0, TEXT, "", 0, "", None)])
        elif file.parts and not known.parts and self._earlier.was_read(file.key):
            self._index.files.put([known._replace(mtime_ns=-1, parts=file.parts)])

    def _note(self, file: Tracked) -> None:
        """Note a file that adds no text."""
        self._noted.append(file)
        if len(self._noted) >= NOTED_AT_A_TIME:
            self._index.files.put(self._noted)
            self._noted.clear()

    def _remove_document(self, key: str) -> None:
        """Remove the document of a file that has no text any longer."""
        if key in self._earlier.by_key and self._earlier.by_key[key].kind == TEXT:
            with contextlib.suppress(KeyError):  # another process has removed it
                self._index.remove(key)

    def _remove_parts(self, key: str, texts: Container[str]) -> None:
        """Remove the documents that are no longer inside a file."""
        if key in self._earlier.by_key and (
            self._earlier.by_key[key].parts or not self._earlier.was_read(key)
        ):
            gone = [part for part in self._index.files.parts_of(key) if part not in texts]
            with contextlib.suppress(KeyError):
                self._index.remove_many(gone)

    def _note_stored(self) -> None:
        """Note the files that add no text, and those text files whose texts are now in the index."""
        if not (self._noted or self._waiting):
            return
        stored = self._index.files.stored(
            {key: text for _, texts in self._waiting for key, text in texts.items()}
        )
        whole = [file for file, texts in self._waiting if texts.keys() <= stored]
        self._index.files.put([*self._noted, *whole])
        self._noted.clear()
        self._waiting.clear()


def _emptied(new: list[WalkedFile]) -> Iterator[WalkedFile]:
    """The files of a list, which is emptied: it has their statuses, which are not needed any more."""
    while some := new[:NOTED_AT_A_TIME]:
        del new[:NOTED_AT_A_TIME]
        yield from some


def _for_a_while(items: Iterator[T]) -> Iterator[T]:
    """The items until the next commit is due."""
    end = time.monotonic() + _COMMIT_AFTER_S
    for item in items:
        yield item
        if time.monotonic() > end:
            return
