"""Scan one root: walk it, read the files that are new or changed, and bring the index up to date with them.

A file whose size, time, inode and device are unchanged is not opened, unless it was changed just before the
last scan, or it is a text and the caller forces an encoding, or it could not be read and the caller wants to
try again. Must never forget a document whose file could
not be read, nor lose finished work when it is interrupted.
"""

import contextlib
import dataclasses
import itertools
import time
from collections.abc import Container, Generator, Iterator
from typing import NamedTuple, TypeVar

from docindex.cancel_tokens import not_cancelled
from docindex.errors import UnreadableFile
from docindex.folders.file_changes import (
    has_changed,
    is_outdated,
    is_same_file,
    is_unchanged,
    keeps_documents,
    may_be_decoded_otherwise,
    reads_less,
    tracked_file,
    with_documents_of,
)
from docindex.folders.file_content import FileContent
from docindex.folders.file_presence import FilePresence, check_mounted
from docindex.folders.file_reader import NotReadable
from docindex.folders.file_readers import FileReaders
from docindex.folders.path_keys import key_of
from docindex.folders.walk import (
    FolderProgress,
    Skipped,
    WalkedFile,
    WalkOptions,
    index_identities,
    walk_files,
)
from docindex.frontends.extracted import PART_MARK, Extracted, text_in
from docindex.index.writer import Index
from docindex.storage.contents import text_hash
from docindex.storage.tracked_files import (
    BINARY,
    CONTAINER,
    PLAIN_READINGS,
    TEXT,
    UNDETECTED,
    Tracked,
)

T = TypeVar("T")

_COMMIT_AFTER_S = 10.0
"""Seconds after which the texts that were read are committed. An interruption costs at most this much work,
even on a slow disk."""

_NOTED_AT_A_TIME = 2000
"""Files that are noted in one transaction."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How to find and read files."""

    options: WalkOptions
    encoding: str | None
    workers: int | None
    rereads: bool
    """Whether text files are read even if they are unchanged."""


class UnreadFormat(NamedTuple):
    """A file in a known format whose text could not be read."""

    key: str
    format: str
    """The name of the front end, such as "pdf"; "" if no front end could be asked."""
    reason: str
    """"encrypted", "damaged", "no text", "too large", "too slow" or "not installed"."""


@dataclasses.dataclass(slots=True)
class ScanTally:
    """The counts of a scan while it runs, for all its roots."""

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
    undetected: list[str] = dataclasses.field(default_factory=list)
    unread: list[UnreadFormat] = dataclasses.field(default_factory=list)
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    seen: set[str] = dataclasses.field(default_factory=set)

    def count(self, file: Tracked) -> None:
        """Count a file that exists."""
        self.bytes += file.size
        if file.kind in (TEXT, CONTAINER):
            self.texts += 1
        else:
            self.binaries += 1
        if file.kind == UNDETECTED:
            self.undetected.append(file.key)
        elif file.kind not in (TEXT, CONTAINER, BINARY):
            asked = "" if file.reading in PLAIN_READINGS else file.reading.rpartition("-")[0]
            self.unread.append(UnreadFormat(file.key, asked, file.kind))
        if file.problem:
            self.problems[file.key] = file.problem


class RootScan:
    """The scan of one root. Call `run` once."""

    def __init__(
        self, index: Index, root: bytes, reading: ReadingOptions, tally: ScanTally, progress: FolderProgress
    ) -> None:
        self._index = index
        self._root = root
        self._reading = reading
        self._tally = tally
        self._formats = reading.options.formats
        self._progress = progress
        self._known = {file.key: file for file in index.files.under(key_of(root))}
        self._presence = FilePresence(root, follow_symlinks=reading.options.follow_symlinks)
        self._waiting: list[tuple[Tracked, dict[str, bytes]]] = []
        """The files whose texts are being added to the index, with the hashes of these texts by key."""
        self._noted: list[Tracked] = []
        self._moved: set[str] = set()
        """The new keys of moved files, which are counted already."""
        self._index_files = index_identities(index.path)
        self._check_cancelled = index.files.cancel_check()
        self._due = self._done = 0
        """The number of files to read, and of those that were read."""

    def run(self) -> None:
        """Walk the root, read new and changed files, and forget files that are gone."""
        new, gone = self._new_and_gone()
        new = self._without_moved(new, gone)
        self._due = len(new)
        try:
            with contextlib.closing(self._texts(new)) as texts:
                self._add(texts)
        finally:
            # This also runs after an interruption, so that the next scan need not read these files again.
            with not_cancelled():
                self._note_stored()
        self._forget(gone)

    def _add(self, texts: Iterator[tuple[str, str | Extracted]]) -> None:
        """Add texts to the index, with a commit every few seconds."""
        for first in texts:
            batch = itertools.chain([first], _for_a_while(texts))
            self._index.add_many(batch, workers=self._reading.workers)
            self._note_stored()

    def _new_and_gone(self) -> tuple[list[WalkedFile], dict[str, Tracked]]:
        """The files that are new or changed, and the known files that are gone."""
        new, gone = [], dict(self._known)
        for found in self._walked():
            key = key_of(found.path)
            if (found.status.st_ino, found.status.st_dev) in self._index_files:
                self._tally.skipped.counts["of docindex's own files"] += 1
                continue
            known = gone.pop(key, None)
            if key in self._tally.seen:  # another root contains it too
                continue
            self._tally.seen.add(key)
            if known is not None and is_unchanged(known, found) and not self._rereads(known):
                self._tally.unchanged += 1
                self._tally.count(known)
            else:
                new.append(found)
            self._check_cancelled()
            self._progress(len(self._tally.seen), None)
        if gone and len(gone) == len(self._known) and not new:
            check_mounted(self._root, self._known.values())
        return new, self._really_gone(gone)

    def _walked(self) -> Iterator[WalkedFile]:
        """The files below the root; `UnreadableFile` if it cannot be read."""
        try:
            yield from walk_files(self._root, self._reading.options, self._tally.skipped)
        except OSError as error:
            root = key_of(self._root)
            raise UnreadableFile(f"{root} cannot be read: {error.strerror or error}", root) from error

    def _really_gone(self, gone: dict[str, Tracked]) -> dict[str, Tracked]:
        """The files that are gone, without those on unmounted disks or in folders that could not be read."""
        failed = {path for path, _ in self._tally.skipped.failed}
        gone, away = self._presence.without_hidden(gone, self._known, failed)
        if away:
            self._tally.skipped.counts["on a disk that is not mounted"] += away
        return gone

    def _without_moved(self, new: list[WalkedFile], gone: dict[str, Tracked]) -> list[WalkedFile]:
        """Rename the documents of files that were moved, and return the new files that must be read."""
        moves = self._moves(new, gone)
        done: set[str] = set()
        for batch in _batches_of(list(moves.values())):
            done |= self._index.files.move(batch)
        renamed = {key: file for key, (old, file) in moves.items() if old in done}
        for old in done:
            gone.pop(old)
        for file in renamed.values():
            self._tally.moved += 1
            if not self._rereads(file):
                self._tally.count(file)
        self._moved.update(renamed)
        self._known.update(renamed)
        keyed = ((found, renamed.get(key_of(found.path))) for found in new)
        return [found for found, file in keyed if file is None or self._rereads(file)]

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
                and not self._was_read(key)
                and not self._presence.exists(before[-1])
                and is_same_file(before[-1], found)
            ):
                file = before.pop()
                digest = None if file.kind == BINARY else file.digest
                moves[key] = file.key, file._replace(key=key, digest=digest)
        return moves

    def _texts(self, new: list[WalkedFile]) -> Generator[tuple[str, str | Extracted], None, None]:
        """Yield the keys and texts of the documents in files. Other files are noted or counted."""
        with FileReaders(
            follow_symlinks=self._reading.options.follow_symlinks,
            encoding=self._reading.encoding,
            workers=self._reading.workers,
            formats=self._reading.options.formats,
            check=self._check_cancelled,
        ) as readers:
            for found, began, content in readers.read(self._announced(new)):
                if isinstance(content, NotReadable):
                    self._tally.skipped.fail(found.path, str(content))
                    self._count_done()
                else:
                    yield from self._documents(key_of(found.path), began, content)

    def _announced(self, new: list[WalkedFile]) -> Iterator[WalkedFile]:
        """The files, each of which is noted before it is read."""
        for number, found in enumerate(new):
            if number % _NOTED_AT_A_TIME == 0:
                self._announce(new[number : number + _NOTED_AT_A_TIME])
            yield found

    def _documents(self, key: str, began: int, content: FileContent) -> Iterator[tuple[str, str | Extracted]]:
        """The documents of a file that was read, and of the documents inside it."""
        file = tracked_file(key, content, began)
        if self._was_read(key) and keeps_documents(before := self._known[key], content, self._formats):
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
        self._announce_parts(file)
        self._count_done()
        hashes: dict[str, bytes] = {}
        for each, text in texts.items():
            hashes[each] = text_hash(text_in(text))
            if len(hashes) == len(texts):  # a commit may come in the middle of a file
                self._waiting.append((file, hashes))
            yield each, text

    def _count_read(self, file: Tracked, content: FileContent, *, is_stored: bool) -> None:
        if file.key not in self._moved:
            if not self._was_read(file.key):
                self._tally.added += 1
            elif has_changed(before := self._known[file.key], file) or (
                self._rereads(before) and not is_stored and (file.kind == TEXT or file.kind != before.kind)
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
        known = self._known.get(key)
        if text is None or known is None or not self._rereads(known):
            return False
        return bool(self._index.files.stored({key: text_hash(text)}))

    def _is_plain(self, file: Tracked) -> bool:
        """Whether a known file was plain text, and is plain text now."""
        return {file.reading, self._known[file.key].reading} <= PLAIN_READINGS

    def _count_done(self) -> None:
        """Count a file that was read."""
        self._done += 1
        self._check_cancelled()
        self._progress(self._done, self._due)

    def _announce(self, files: list[WalkedFile]) -> None:
        """Note files before their documents are added, so that after a kill each document has a file."""
        self._index.files.put(
            Tracked(key, found.status.st_size, -1, 0, 0, TEXT, "", 0, "", None)
            for found in files
            if (key := key_of(found.path)) not in self._known
        )

    def _announce_parts(self, file: Tracked) -> None:
        """Note that a known file will have documents inside it, if it had none, before they come."""
        known = self._known.get(file.key)
        if file.parts and known is not None and not known.parts and self._was_read(file.key):
            self._index.files.put([known._replace(mtime_ns=-1, parts=file.parts)])

    def _note(self, file: Tracked) -> None:
        """Note a file that adds no text."""
        self._noted.append(file)
        if len(self._noted) >= _NOTED_AT_A_TIME:
            self._index.files.put(self._noted)
            self._noted.clear()

    def _remove_document(self, key: str) -> None:
        """Remove the document of a file that has no text any longer."""
        if key in self._known and self._known[key].kind == TEXT:
            with contextlib.suppress(KeyError):  # another process has removed it
                self._index.remove(key)

    def _remove_parts(self, key: str, texts: Container[str]) -> None:
        """Remove the documents that are no longer inside a file."""
        if key in self._known and (self._known[key].parts or not self._was_read(key)):
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

    def _forget(self, gone: dict[str, Tracked]) -> None:
        """Forget the files that no longer exist, but not those that the options excluded."""
        for batch in _batches_of([file for file in gone.values() if not self._presence.exists(file)]):
            self._index.files.forget(batch)
            self._tally.removed += len(batch)

    def _rereads(self, file: Tracked) -> bool:
        """Whether a known file is read even if it is unchanged.

        If the caller forces an encoding, a file that may declare none is. So is a file that another front end
        would read, and one that was not read as a whole if the caller wants to try again. A file that only an
        earlier scan could read, because it also read archives or other formats, keeps its documents.
        """
        if reads_less(file, self._formats):
            return False
        is_forced = self._reading.rereads and may_be_decoded_otherwise(file)
        is_retried = self._reading.options.retry and file.problem != ""
        return is_forced or is_retried or is_outdated(file, self._formats)

    def _was_read(self, key: str) -> bool:
        """Whether an earlier scan read a file. A scan that is stopped may only have announced it."""
        known = self._known.get(key)
        return known is not None and known.inode != 0


def _for_a_while(items: Iterator[T]) -> Iterator[T]:
    """The items until the next commit is due."""
    end = time.monotonic() + _COMMIT_AFTER_S
    for item in items:
        yield item
        if time.monotonic() > end:
            return


def _batches_of(things: list[T]) -> Iterator[list[T]]:
    """The items in batches, each for one transaction."""
    for start in range(0, len(things), _NOTED_AT_A_TIME):
        yield things[start : start + _NOTED_AT_A_TIME]
