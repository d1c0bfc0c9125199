"""Read the files that are named on the command line, in the same way as a scan does.

Takes the name that a person typed, and returns the text, with its places in the file. `UnreadableFile`
for a file that cannot be read or has no text.
"""

import functools
import os
import sys
from pathlib import Path
from typing import NamedTuple

from docindex.cli.existing_index import open_existing
from docindex.cli.output import remark
from docindex.cli.typed_paths import known_name, names_of_part, typed_key, typed_parts, typed_path
from docindex.errors import UnreadableFile
from docindex.folders.scanning.file_content import FileContent, read_file
from docindex.folders.walking.file_reader import LARGEST_TEXT, NotReadable
from docindex.frontends.encodings.text import decode
from docindex.frontends.extract import extract
from docindex.frontends.extracted import PART_MARK, Extracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.recognition import by_extension, may_need_front_end
from docindex.index.index import open_scope
from docindex.query.resolve import Key, kept_text, places_of, resolve
from docindex.shown.wording import one_line, several, size
from docindex.spelling import most_alike
from docindex.storage.tracked_files import UNDETECTED

STDIN = "-"
"""The name of standard input, for commands that accept it."""


def read_text(name: str, encoding: str | None, *, verbose: bool) -> str:
    """The text of a file; with `verbose`, a guessed encoding is named on stderr."""
    return _main_text(name, _read(name, encoding, verbose=verbose)).text


class NamedText(NamedTuple):
    """The text that a person named."""

    key: str
    """The key of the document, or that it would have in an index."""
    found: Extracted
    """The text with its places."""


def read_named(name: str, encoding: str | None, index_path: str | None, *, verbose: bool) -> NamedText:
    """The text of a file, of a document in the index, or of a document inside a file, with its places.

    A file comes first; then a document of the index that has the name as its key, even if its file is gone.
    A document inside a file need not be in the index: name it as "mail.mbox!/message 2".
    """
    found = None
    if name and not _path(name).exists():
        found = _indexed(name, index_path) or _inside(name, encoding, verbose=verbose)
    return found or NamedText(typed_key(name), _main_text(name, _read(name, encoding, verbose=verbose)))


def _path(name: str) -> Path:
    return Path(os.fsdecode(typed_path(name)))


def _main_text(name: str, content: FileContent) -> Extracted:
    if content.text is None:
        many = several(len(content.parts), "document")
        first = one_line(f"{name}{PART_MARK}{next(iter(content.parts))}")
        raise UnreadableFile(
            f"{name} has no text of its own, but {many} inside it; name one of them, such as '{first}'", name
        )
    return content.extracted or Extracted(content.text)


def _indexed(name: str, index_path: str | None) -> NamedText | None:
    """A document of the index; None if there is no index, or no such document in it."""
    try:
        opened = open_existing(index_path)
    except UnreadableFile:
        return None
    with opened as index:
        key = known_name(name, index)
        if key is None:
            return None
        with open_scope(index) as scope:
            query = resolve(scope.db, Key(key))
            found = Extracted(kept_text(scope.db, query), places_of(scope.db, query))
            return NamedText(key, found)


def _inside(name: str, encoding: str | None, *, verbose: bool) -> NamedText | None:
    """A document inside a file that exists; None if no part of the name is such a file."""
    for file, part in typed_parts(name):
        if _path(file).is_file():
            parts = _read(file, encoding, verbose=verbose, archives=True).parts
            for each in names_of_part(part):
                text = parts.get(each)
                if text is not None:
                    found = text if isinstance(text, Extracted) else Extracted(text)
                    return NamedText(f"{typed_key(file)}{PART_MARK}{each}", found)
            near = most_alike(part, parts)
            hint = f"; did you mean {one_line(f'{file}{PART_MARK}{near}')}?" if near else ""
            raise UnreadableFile(f"{file} has no document {one_line(part)} inside it{hint}", name)
    return None


def read_documents(
    name: str, encoding: str | None, *, verbose: bool, archives: bool = False
) -> dict[str, str | Extracted]:
    """The texts of a file and of the documents inside it, by how their keys end after the key of the file."""
    content = _read(name, encoding, verbose=verbose, archives=archives)
    texts: dict[str, str | Extracted] = {f"{PART_MARK}{part}": text for part, text in content.parts.items()}
    if content.text is not None:
        texts[""] = content.extracted or content.text
    return texts


def _read(name: str, encoding: str | None, *, verbose: bool, archives: bool = False) -> FileContent:
    """The content of a file that has a text, or documents inside it."""
    path = _path(name)
    if path.exists() and not path.is_file():
        found = "a folder" if path.is_dir() else "not a regular file"
        raise UnreadableFile(f"{name} is {found}; name a file", name)
    try:
        content = read_file(
            os.fsencode(path),
            follow_symlinks=True,
            encoding=encoding,
            extractor=_extractor(encoding, archives=archives),
        )
    except NotReadable as error:
        raise UnreadableFile(f"{name} cannot be read: {error}", name) from error
    if content.text is None and not content.parts:
        raise UnreadableFile(f"{name} {_without_text(name, content)}", name)
    if verbose and content.guessed:
        remark_on_guess(name, content.encoding)
    if verbose and content.problem:
        remark(f"docindex: {one_line(name)}: {content.problem}")
    return content


@functools.cache
def _extractor(encoding: str | None, *, archives: bool) -> Extractor:
    """An extractor for this command. Its process ends with the command."""
    return Extractor(ExtractionOptions(archives=archives, encoding=encoding))


def _without_text(name: str, content: FileContent) -> str:
    """Why a file has no text, and what to do, as the end of a sentence."""
    if content.status.st_size > LARGEST_TEXT:
        return f"is too large; a file with text has at most {size(LARGEST_TEXT)}"
    if content.kind == UNDETECTED:
        return "is not UTF-8, and no other encoding is certain enough; give its --encoding"
    if content.problem:
        return f"has no text that can be read: {content.problem}"
    if by_extension(name) is None and by_extension(name, archives=True) is not None:
        inside = one_line(f"{name}{PART_MARK}NAME")
        return f"is an archive; name a file inside it as '{inside}', or use docindex add --archives"
    return "is not text, and not in a format that docindex reads; name another file, or give its --encoding"


def read_query(name: str, encoding: str | None, index_path: str | None, *, verbose: bool) -> NamedText:
    """The text of standard input if the name is `STDIN`, otherwise the text that `read_named` gives."""
    if name != STDIN:
        return read_named(name, encoding, index_path, verbose=verbose)
    data = sys.stdin.buffer.read()
    if may_need_front_end(data, "", text=False):
        return NamedText(STDIN, extract(data, name="standard input"))
    try:
        decoded = decode(data, encoding)
    except ValueError as error:
        raise UnreadableFile(f"standard input cannot be read: {error}", name) from error
    if decoded is None:
        raise UnreadableFile("standard input is not plain text; pipe plain text, or name the file", name)
    if verbose and decoded.guessed:
        remark_on_guess("standard input", decoded.encoding)
    return NamedText(STDIN, Extracted(decoded.text))


def remark_on_undetected(name: str) -> None:
    """Say on stderr that the encoding of a file was not detected."""
    remark(f"docindex: the encoding of {one_line(name)} is not known, so it has no text; --encoding sets it")


def remark_on_guess(name: str, encoding: str | None) -> None:
    """Say on stderr which encoding was guessed."""
    remark(f"docindex: {one_line(name)} was read as {encoding}, which is a guess; --encoding sets it")
