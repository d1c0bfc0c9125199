"""Read the text files that are named on the command line, in the same way as a scan does.

Takes the name that a person typed, and returns the text. `UnreadableFile` for a file that cannot be read or
is not text.
"""

import os
import sys
from pathlib import Path

from docindex.cli.output import remark
from docindex.cli.typed_paths import typed_path
from docindex.cli.wording import one_line, size
from docindex.errors import UnreadableFile
from docindex.folders.file_content import read_file
from docindex.folders.file_reader import LARGEST_TEXT, NotReadable
from docindex.frontends.extractor import Extractor
from docindex.frontends.text import decode
from docindex.storage.tracked_files import CONTAINER, UNDETECTED

STDIN = "-"
"""The name of standard input, for commands that accept it."""


def read_text(name: str, encoding: str | None, *, verbose: bool) -> str:
    """The text of a file; with `verbose`, a guessed encoding is named on stderr."""
    path = Path(os.fsdecode(typed_path(name)))
    if path.exists() and not path.is_file():
        raise UnreadableFile(f"{name} is not a regular file; name a text file", name)
    try:
        with Extractor() as extractor:
            content = read_file(
                os.fsencode(path), follow_symlinks=True, encoding=encoding, extractor=extractor
            )
    except NotReadable as error:
        raise UnreadableFile(f"{name} cannot be read: {error}", name) from error
    if content.text is None:
        if content.status.st_size > LARGEST_TEXT:
            raise UnreadableFile(f"{name} is too large; a text file has at most {size(LARGEST_TEXT)}", name)
        if content.kind == UNDETECTED:
            raise UnreadableFile(
                f"{name} is not UTF-8, and no other encoding is certain enough; give its --encoding", name
            )
        if content.kind == CONTAINER:
            raise UnreadableFile(
                f"{name} has no text of its own, but {len(content.parts):,} documents inside it; scan it",
                name,
            )
        if content.problem:
            raise UnreadableFile(f"{name} has no text that can be read: {content.problem}", name)
        raise UnreadableFile(f"{name} is not text; name a text file, or give its --encoding", name)
    if verbose and content.guessed:
        remark_on_guess(name, content.encoding)
    return content.text


def read_query(name: str, encoding: str | None, *, verbose: bool) -> str:
    """The text of standard input if the name is `STDIN`, otherwise of the file as `read_text` reads it."""
    if name != STDIN:
        return read_text(name, encoding, verbose=verbose)
    try:
        decoded = decode(sys.stdin.buffer.read(), encoding)
    except ValueError as error:
        raise UnreadableFile(f"standard input cannot be read: {error}", name) from error
    if decoded is None:
        raise UnreadableFile("standard input is not text; pipe text into the command", name)
    if verbose and decoded.guessed:
        remark_on_guess("standard input", decoded.encoding)
    return decoded.text


def remark_on_undetected(name: str) -> None:
    """Say on stderr that the encoding of a file was not detected."""
    remark(f"docindex: the encoding of {one_line(name)} is not known, so it has no text; --encoding sets it")


def remark_on_guess(name: str, encoding: str | None) -> None:
    """Say on stderr which encoding was guessed."""
    remark(f"docindex: {one_line(name)} was read as {encoding}, which is a guess; --encoding sets it")
