"""Show what changed between two texts, as lines that begin with - or +.

Takes two paths as a person typed them, and returns lines for a terminal. Files in all formats that docindex
reads are compared by their texts.
"""

import difflib
from collections.abc import Iterator

from docindex.cli.wording import CONTROLS, several
from docindex.errors import UnreadableFile

_LINES = 5000
"""More lines than this are not compared: the time grows with the square of their number."""


def changed_lines(a: str, b: str, limit: int) -> Iterator[str]:
    """The lines that differ, at most `limit`; or a sentence that says why there are none."""
    from docindex.cli.text_input import read_text  # loads all formats, which few reviews need

    try:
        before, after = (read_text(name, None, verbose=False).splitlines() for name in (a, b))
    except UnreadableFile as error:
        yield f"  {error}"
        return
    if max(len(before), len(after)) > _LINES:
        yield f"  more than {_LINES:,} lines; docindex compare shows what the texts share"
        return
    found = [
        line
        for line in difflib.unified_diff(before, after, n=1, lineterm="")
        if not line.startswith(("---", "+++"))
    ]
    if not found:
        yield "  the texts are the same"
    for line in found[:limit]:
        yield f"  {line.expandtabs(4)}".translate(CONTROLS)
    if len(found) > limit:
        yield f"  {several(len(found) - limit, 'more line')}"
