"""Scan one root: read the files that are new or changed, and bring the index up to date with them.

`RootChanges` finds these files; `EarlierFiles` says which others are read again. Must never lose finished
work when it is interrupted.
"""

import contextlib
import itertools
import time
from collections.abc import Container, Generator, Iterable, Iterator
from typing import TypeVar

from docindex.cancellation import not_cancelled
from docindex.folders.scanning.file_changes import (
    EarlierFiles,
    ReadingOptions,
    has_changed,
    keeps_documents,
    tracked_file,
    with_documents_of,
)
from docindex.folders.scanning.file_content import FileContent
from docindex.folders.scanning.file_readers import FileReaders
from docindex.folders.scanning.root_changes import NOTED_AT_A_TIME, RootChanges
from docindex.folders.scanning.tally import ScanTally
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.walk import FolderProgress, WalkedFile
from docindex.frontends.extracted import PART_MARK, Extracted, text_in
from docindex.index.items import TextsOfFiles
from docindex.index.writer import Index
from docindex.storage.rows.contents import text_hash
from docindex.storage.tracked_files import PLAIN_READINGS, TEXT, Tracked

T = TypeVar("T")

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
