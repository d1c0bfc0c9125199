"""Read many files, those that need a front end on several cores: `FileReaders`.

In: files that a walk has found. Out: the content of each, or the reason why it cannot be read, in nearly the
same order. Extracting a PDF takes a hundred times as long as reading it, so files in such formats are read
ahead, each thread with an extracting process of its own. Memory holds a few files at a time.
"""

import collections
import concurrent.futures
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import NamedTuple, Self

from docindex.folders.scanning.file_content import FileContent, read_file
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.walk import Formats, WalkedFile
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.recognition import by_extension
from docindex.sketching.workers import default_workers

_AHEAD = 2
"""How many files wait for each thread. More would fill the memory with large files."""

_CHECK_EVERY_S = 0.1


class ReadFile(NamedTuple):
    """A file that was read."""

    found: WalkedFile
    began_ns: int
    """When reading began."""
    content: FileContent | NotReadable


class FileReaders:
    """Reads files for one scan."""

    def __init__(
        self,
        *,
        follow_symlinks: bool,
        encoding: str | None,
        workers: int | None,
        formats: Formats,
        check: Callable[[], object],
    ) -> None:
        """`check` is called while a file is read, and may raise an exception."""
        self._check = check
        self._follow_symlinks = follow_symlinks
        self._encoding = encoding
        self._count = default_workers() if workers is None else workers
        options = ExtractionOptions(archives=formats == "archives", encoding=encoding)
        self._archives = options.archives
        self._made = [Extractor(options) for _ in range(self._count + 1)] if formats != "plain" else []
        self._idle = list(self._made)
        """The extractors that no thread uses, the last used one last: most scans need only one process."""
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.ExitStack() as stack:  # a second interrupt must not keep an extractor open
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
                stack.callback(self._pool.shutdown)
            for extractor in self._made:
                stack.callback(extractor.close)  # ends what a thread waits for

    def read(self, files: Iterable[WalkedFile]) -> Iterator[ReadFile]:
        """The files with their contents. Plain text comes at once, other formats when they are read."""
        ahead: collections.deque[concurrent.futures.Future[ReadFile]] = collections.deque()
        for found in files:
            if self._made and self._takes_long(found):
                ahead.append(self._threads().submit(self._read, found))
                while len(ahead) > _AHEAD * self._count or (ahead and ahead[0].done()):
                    yield self._result(ahead.popleft())
            else:
                yield self._read(found)
        while ahead:
            yield self._result(ahead.popleft())

    def _result(self, reading: concurrent.futures.Future[ReadFile]) -> ReadFile:
        """Wait until a file is read, or until the caller does not want it any more."""
        while not concurrent.futures.wait([reading], _CHECK_EVERY_S).done:
            self._check()
        return reading.result()

    def _threads(self) -> concurrent.futures.ThreadPoolExecutor:
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self._count, "docindex")
        return self._pool

    def _takes_long(self, found: WalkedFile) -> bool:
        return by_extension(os.fsdecode(found.path), archives=self._archives) is not None

    def _read(self, found: WalkedFile) -> ReadFile:
        # There are as many extractors as threads, this one included, so one is always idle.
        extractor = self._idle.pop() if self._made else None
        began = time.time_ns()
        try:
            content: FileContent | NotReadable = read_file(
                found.path,
                follow_symlinks=self._follow_symlinks,
                encoding=self._encoding,
                extractor=extractor,
            )
        except NotReadable as error:
            content = error
        finally:
            if extractor is not None:
                self._idle.append(extractor)
        return ReadFile(found, began, content)
