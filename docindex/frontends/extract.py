"""Extract the text of one file or of some bytes, in any format that docindex reads: `extract`.

In: a path or bytes. Out: the text, or the texts of all documents inside. Must never change a file.
"""

import dataclasses
import os
import threading
from pathlib import Path

from docindex.arguments import plain_text, shown
from docindex.errors import UnreadableFile
from docindex.frontends.encodings.text import check_encoding, decode
from docindex.frontends.extracted import Extracted
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import DEFAULT_OPTIONS, ExtractionOptions
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.recognition import may_need_front_end
from docindex.frontends.source_documents import SourceDocuments, read_source

PLAIN = "text-1"
"""The reading of plain text."""

_lock = threading.Lock()
_extractor: Extractor | None = None


def _renew_lock() -> None:
    """Make another lock: a thread that was not forked may hold the old one for ever."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def extract(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str = "",
    media_type: str | None = None,
    encoding: str | None = None,
    options: ExtractionOptions | None = None,
) -> Extracted:
    """The text of a file or of some bytes, and where each piece of it lies in the source.

    `source` is a path or the bytes. The content tells the format; if it does not, the extension of the path
    or of `name` does, and then `media_type`. `encoding` is the encoding of plain text, and of web pages,
    mail, tables and other text that does not declare one. Without it, docindex detects the encoding. A
    separate process with limited time and memory reads the formats that are not plain text. It is started
    when it is first needed, and then stays.

    The documents inside a source, such as the attachments of a mail, are not part of the result;
    `Index.add_file` stores them. `UnreadableFile` if the file cannot be opened, if it has no text that can be
    read, or if it only has documents inside it, as a mailbox has.

    >>> extract(b"<p>Dear Ada", name="letter.txt").text
    '<p>Dear Ada'
    """
    found = extract_all(source, name=name, media_type=media_type, encoding=encoding, options=options)
    if found.main is None:
        path = name if isinstance(source, bytes) else os.fspath(source)
        raise UnreadableFile(
            f"{shown(path)} has no text of its own; index.add_file stores the documents inside it: "
            f"{len(found.parts):,}",
            path,
        )
    return found.main


def extract_all(
    source: str | os.PathLike[str] | bytes,
    *,
    name: str = "",
    media_type: str | None = None,
    encoding: str | None = None,
    options: ExtractionOptions | None = None,
) -> SourceDocuments:
    """The text of a source, as `extract` gives it, and the texts of the documents inside it.

    >>> extract_all(b"Dear Ada").main.text
    'Dear Ada'
    """
    if encoding is not None:
        check_encoding(plain_text("encoding", encoding))
    if isinstance(source, bytes):
        data, path = source, name or "the source"
    else:
        path = os.fspath(source)
        try:
            data = Path(path).read_bytes()
        except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
            reason = getattr(error, "strerror", None) or error
            raise UnreadableFile(f"{shown(path)} cannot be read: {reason}", path) from error
    if not isinstance(options, ExtractionOptions | None):
        raise TypeError(f"options must be ExtractionOptions, not {type(options).__name__}")
    options = options or DEFAULT_OPTIONS
    if encoding is not None:
        options = dataclasses.replace(options, encoding=encoding)
    try:
        return _documents_of(Source(data, name or path, media_type, options=options))
    except ValueError as error:
        raise UnreadableFile(f"the text of {shown(path)} cannot be read: {error}", path) from error


def _documents_of(source: Source) -> SourceDocuments:
    global _extractor
    archives = source.options.archives
    is_plain = not may_need_front_end(source.data, source.name, archives=archives)
    if source.media_type is not None or not is_plain:
        with _lock:
            _extractor = _extractor or Extractor()
            try:
                return read_source(source, _extractor)
            except NotExtracted as error:
                if error.reason != "unknown format":
                    raise
    decoded = decode(source.data, source.options.encoding)
    if decoded is None:
        raise NotExtracted("unknown format", "it is not text, and not in a format that docindex reads")
    return SourceDocuments(Extracted(decoded.text, reading=PLAIN), {}, PLAIN, ())
