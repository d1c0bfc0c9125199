"""Read the files that are named on the command line, in the same way as a scan does.

Takes the name that a person typed, and returns the text. `UnreadableFile` for a file that cannot be read or
has no text.
"""

import functools
import os
import sys
from pathlib import Path

from docindex.cli.output import remark
from docindex.cli.typed_paths import typed_path
from docindex.cli.wording import one_line, several, size
from docindex.errors import UnreadableFile
from docindex.folders.file_content import FileContent, read_file
from docindex.folders.file_reader import LARGEST_TEXT, NotReadable
from docindex.frontends.extract import extract
from docindex.frontends.extracted import PART_MARK, Extracted
from docindex.frontends.extractor import Extractor
from docindex.frontends.recognition import may_need_front_end
from docindex.frontends.text import decode
from docindex.storage.tracked_files import UNDETECTED

STDIN = "-"
"""The name of standard input, for commands that accept it."""


def read_text(name: str, encoding: str | None, *, verbose: bool) -> str:
    """The text of a file; with `verbose`, a guessed encoding is named on stderr."""
    content = _read(name, encoding, verbose=verbose)
    if content.text is None:
        many = several(len(content.parts), "document")
        raise UnreadableFile(
            f"{name} has no text of its own, but {many} inside it; docindex add adds them to an index", name
        )
    return content.text


def read_documents(name: str, encoding: str | None, *, verbose: bool) -> dict[str, str | Extracted]:
    """The texts of a file and of the documents inside it, by how their keys end after the key of the file."""
    content = _read(name, encoding, verbose=verbose)
    texts: dict[str, str | Extracted] = {f"{PART_MARK}{part}": text for part, text in content.parts.items()}
    if content.text is not None:
        texts[""] = content.extracted or content.text
    return texts


def _read(name: str, encoding: str | None, *, verbose: bool) -> FileContent:
    """The content of a file that has a text, or documents inside it."""
    path = Path(os.fsdecode(typed_path(name)))
    if path.exists() and not path.is_file():
        raise UnreadableFile(f"{name} is not a regular file; name a file", name)
    try:
        content = read_file(
            os.fsencode(path), follow_symlinks=True, encoding=encoding, extractor=_extractor()
        )
    except NotReadable as error:
        raise UnreadableFile(f"{name} cannot be read: {error}", name) from error
    if content.text is None and not content.parts:
        raise UnreadableFile(f"{name} {_without_text(content)}", name)
    if verbose and content.guessed:
        remark_on_guess(name, content.encoding)
    if verbose and content.problem:
        remark(f"docindex: {one_line(name)}: {content.problem}")
    return content


@functools.cache
def _extractor() -> Extractor:
    """The extractor of this command. Its process ends with the command."""
    return Extractor()


def _without_text(content: FileContent) -> str:
    """Why a file has no text, and what to do, as the end of a sentence."""
    if content.status.st_size > LARGEST_TEXT:
        return f"is too large; a file with text has at most {size(LARGEST_TEXT)}"
    if content.kind == UNDETECTED:
        return "is not UTF-8, and no other encoding is certain enough; give its --encoding"
    if content.problem:
        return f"has no text that can be read: {content.problem}"
    return "is not text, and not in a format that docindex reads; name another file, or give its --encoding"


def read_query(name: str, encoding: str | None, *, verbose: bool) -> str:
    """The text of standard input if the name is `STDIN`, otherwise of the file as `read_text` reads it."""
    if name != STDIN:
        return read_text(name, encoding, verbose=verbose)
    data = sys.stdin.buffer.read()
    if may_need_front_end(data, "", text=False):
        return extract(data, name="standard input").text
    try:
        decoded = decode(data, encoding)
    except ValueError as error:
        raise UnreadableFile(f"standard input cannot be read: {error}", name) from error
    if decoded is None:
        raise UnreadableFile("standard input is not plain text; pipe plain text, or name the file", name)
    if verbose and decoded.guessed:
        remark_on_guess("standard input", decoded.encoding)
    return decoded.text


def remark_on_undetected(name: str) -> None:
    """Say on stderr that the encoding of a file was not detected."""
    remark(f"docindex: the encoding of {one_line(name)} is not known, so it has no text; --encoding sets it")


def remark_on_guess(name: str, encoding: str | None) -> None:
    """Say on stderr which encoding was guessed."""
    remark(f"docindex: {one_line(name)} was read as {encoding}, which is a guess; --encoding sets it")
