"""Read the text of a file: plain text here, other formats by a front end.

In: a path. Out: a `FileContent` with the text of the file, the documents inside it, or the reason why there
is no text. Must never read the same file twice.
"""

import dataclasses
import os
from collections.abc import Mapping

import xxhash

from docindex.folders.walking.file_reader import LARGEST_TEXT, NotReadable, read_bytes
from docindex.frontends.encodings.text import UndetectedEncoding, decode, looks_binary
from docindex.frontends.extracted import Extracted
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import FrontEnd
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.recognition import by_extension, may_need_front_end, recognise
from docindex.frontends.source_documents import read_source
from docindex.storage.tracked_files import (
    BINARY,
    CONTAINER,
    NO_ARCHIVE,
    NO_DOCUMENT,
    NOT_ASKED,
    TEXT,
    UNDETECTED,
)

_TOO_LARGE = f"it has more than {LARGEST_TEXT // 1_000_000} MB"


@dataclasses.dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file as it was read."""

    status: os.stat_result
    digest: bytes | None
    """The xxh3-128 of its bytes; None if only its first bytes were read."""
    kind: str = BINARY
    """What `Tracked.kind` says."""
    text: str | None = None
    """Its text; None if it has none that could be read."""
    extracted: Extracted | None = None
    """The text and its places if the file is not plain text."""
    parts: Mapping[str, Extracted | str] = dataclasses.field(default_factory=dict)
    """The documents inside the file, by their names."""
    reading: str = ""
    """The name and version of the front end that was asked."""
    problem: str = ""
    """Why there is no text, or what could not be read, as sentences for a person."""
    encoding: str | None = None
    """The encoding of plain text."""
    guessed: bool = False
    """Whether the encoding is uncertain: nothing in the file confirms it, and the caller did not force it."""


def read_file(
    path: bytes,
    *,
    follow_symlinks: bool = False,
    encoding: str | None = None,
    extractor: Extractor | None = None,
) -> FileContent:
    """The text of a file. If its first bytes show that no text can be read, the rest is not read.

    Plain text is decoded; without `encoding`, its encoding is detected. `extractor` reads other formats;
    without one, they are binary. `NotReadable` for a file that cannot be opened, changes while it is read, is
    not a regular file, or is plain text that is not valid in `encoding`.
    """
    name = os.fsdecode(path)
    wanted = b""
    needs_front_end = False

    def may_have_text(head: bytes) -> bool:
        nonlocal wanted, needs_front_end
        needs_front_end = _needs_front_end(head, name, extractor)
        is_wanted = needs_front_end or not looks_binary(head, encoding)
        wanted = head if is_wanted else b""
        return is_wanted

    status, data = read_bytes(path, may_have_text, follow_symlinks=follow_symlinks)
    nothing = _reading_without(extractor)
    if data is None:
        reading = _asked_reading(wanted, name, extractor) or nothing
        if wanted:
            return FileContent(status, None, "too large", reading=reading, problem=_TOO_LARGE)
        return FileContent(status, None, reading=reading)
    whole = FileContent(status, xxhash.xxh3_128_digest(data), reading=nothing)
    if extractor is None:
        return whole if _is_other_format(data, name) else _plain(whole, data, encoding)
    if needs_front_end or (extractor.options.archives and _needs_front_end(data, name, extractor)):
        return _content_of(whole, data, name, encoding, extractor)
    # Text in a file with the extension of another format: nothing is left to ask.
    expected = _expected(name, extractor)
    plain = _plain(whole, data, encoding)
    return plain if expected is None else _asked(plain, expected.reading)


def _reading_without(extractor: Extractor | None) -> str:
    """The reading of a file that no front end reads."""
    if extractor is None:
        return NOT_ASKED
    return NO_ARCHIVE if extractor.options.archives else NO_DOCUMENT


def _needs_front_end(head: bytes, name: str, extractor: Extractor | None) -> bool:
    return extractor is not None and may_need_front_end(head, name, archives=extractor.options.archives)


def _expected(name: str, extractor: Extractor) -> FrontEnd | None:
    return by_extension(name, archives=extractor.options.archives)


def _asked_reading(data: bytes, name: str, extractor: Extractor | None) -> str:
    """The name and version of the front end for a file that has no text."""
    if extractor is None:
        return NOT_ASKED
    archives = extractor.options.archives
    front_end = _expected(name, extractor) or recognise(data, name, archives=archives)
    return NOT_ASKED if front_end is None else front_end.reading


def _content_of(
    whole: FileContent, data: bytes, name: str, encoding: str | None, extractor: Extractor
) -> FileContent:
    """The content of a file that a front end may read, given its bytes.

    `NotReadable` if it is plain text and not valid in `encoding`.
    """
    try:
        found = read_source(Source(data, name, options=extractor.options), extractor)
    except NotExtracted as error:
        if error.reason == "unknown format":
            expected = _expected(name, extractor)
            reading = expected.reading if expected is not None else error.reading
            return _asked(_plain(whole, data, encoding), reading)
        reading = _asked_reading(data, name, extractor) or whole.reading
        return dataclasses.replace(whole, kind=error.reason, reading=reading, problem=f"{error}")
    return dataclasses.replace(
        whole,
        kind=CONTAINER if found.main is None else TEXT,
        text=None if found.main is None else found.main.text,
        extracted=found.main,
        parts=found.parts,
        reading=found.reading,
        problem=" ".join(found.problems),
    )


def _is_other_format(data: bytes, name: str) -> bool:
    """Whether a source is in a format that is not plain text with marks. It may be written in letters."""
    if not may_need_front_end(data, name, text=False):
        return False
    front_end = recognise(data, name)
    return front_end is not None and not front_end.is_text


def _asked(content: FileContent, reading: str) -> FileContent:
    """The content of a file that a front end has left to be plain text or binary; "" if none was asked."""
    if not reading:
        return content
    extracted = None if content.text is None else Extracted(content.text, reading=reading)
    return dataclasses.replace(content, reading=reading, extracted=extracted)


def _plain(whole: FileContent, data: bytes, encoding: str | None) -> FileContent:
    """The content of a file that is plain text or binary."""
    try:
        decoded = decode(data, encoding)
    except UndetectedEncoding:
        return dataclasses.replace(whole, kind=UNDETECTED)
    except ValueError as error:
        raise NotReadable(str(error)) from error
    if decoded is None:
        return dataclasses.replace(whole, kind=BINARY)
    # Most files of a scan come here, and `dataclasses.replace` takes twice as long.
    return FileContent(
        whole.status,
        whole.digest,
        TEXT,
        decoded.text,
        reading=whole.reading,
        encoding=decoded.encoding,
        guessed=decoded.guessed,
    )
