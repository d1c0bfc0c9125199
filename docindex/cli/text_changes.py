"""Show what changed between two texts, as lines that begin with - or +.

Takes two paths as a person typed them, and returns lines for a terminal. Files in all formats that docindex
reads are compared by their texts.
"""

import difflib
import re
import textwrap
from collections.abc import Iterator

from docindex.cli.text_input import read_text
from docindex.cli.wording import one_line
from docindex.errors import UnreadableFile

_LINES = 5000
"""More lines than this are not compared: the time grows with the square of their number."""

_LONG = 160
"""A longer line is a paragraph, of which the sentences are compared."""

_WRAPPED = 10_000
"""Characters that are wrapped at a time: the time grows with the square of the length of a word."""


def changed_lines(a: str, b: str, columns: int) -> Iterator[str]:
    """The sentences or lines that differ, wrapped; or a sentence that says why nothing is shown."""
    try:
        before, after = (_parts(read_text(name, None, verbose=False)) for name in (a, b))
    except UnreadableFile as error:
        yield one_line(str(error))
        return
    if max(len(before), len(after)) > _LINES:
        yield f"More than {_LINES:,} lines; docindex compare shows what the texts share."
        return
    found = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    if not found:
        yield "The texts are the same."
    for line in found:
        mark, text = (
            ("...", "") if line.startswith("@@") else (f"{line[0]} ", one_line(line[1:].expandtabs(4)))
        )
        # In the middle of a word, too: a line without spaces would hide what follows.
        yield from (
            f"  {mark}{part}"
            for begin in range(0, len(text) or 1, _WRAPPED)
            for part in textwrap.wrap(
                text[begin : begin + _WRAPPED], max(20, columns - 5), break_on_hyphens=False
            )
            or [""]
        )


def _parts(text: str) -> list[str]:
    """The lines of a text, and the sentences of long lines."""
    return [
        part
        for line in text.splitlines()
        for part in (re.split(r"(?<=[.!?;:])\s+", line) if len(line) > _LONG else [line])
    ]
