"""Two texts and the passages they share in, the passages side by side out, as a terminal shows them.

In colour, or between [[ and ]] where there is none. Must never let a text move the cursor.
"""

import io
import shutil
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from docindex.cli.wording import CONTROLS
from docindex.query.passages import Passage

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue")
_AROUND = 60
"""Characters of the same line that are shown before and after a passage."""

_LONGEST = 1200
"""Characters of a passage that are shown; of a longer one the middle is left out."""

_TURNING = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_HARMFUL = dict.fromkeys([*CONTROLS, *_TURNING, *range(0xD800, 0xE000)], " ")

_WIDTH = 100
"""Columns where there is no terminal that has some."""


def beside(a: str, b: str, passages: Sequence[Passage]) -> str:
    """The passages one below the other, those of `a` on the left."""
    to_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((_WIDTH, 0)).columns if to_terminal else _WIDTH
    console = Console(file=io.StringIO(), width=width, force_terminal=to_terminal, highlight=False)
    coloured = console.color_system is not None and not console.no_color
    for number, passage in enumerate(passages):
        style = f"bold {_COLOURS[number % len(_COLOURS)]}" if coloured else ""
        of_a = (a, passage.query_start, passage.query_end)
        of_b = (b, passage.start, passage.end)
        table = Table(box=box.MINIMAL, expand=True, show_edge=False, header_style="")
        table.add_column(f"A, {_lines(*of_a)}", ratio=1, overflow="fold")
        table.add_column(f"B, {_lines(*of_b)}   ({passage.length:,} symbols)", ratio=1, overflow="fold")
        table.add_row(_shown(*of_a, style), _shown(*of_b, style))
        console.print(table)
        console.print()
    printed = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO from above
    return "\n".join(line.rstrip() for line in printed.rstrip().split("\n"))


def _lines(text: str, start: int, end: int) -> str:
    first = text.count("\n", 0, start) + 1
    last = first + text.count("\n", start, end)
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _shown(text: str, start: int, end: int, style: str) -> Text:
    """A passage with what stands around it in its lines."""
    before = text[:start].rpartition("\n")[2]
    after = text[end:].partition("\n")[0]
    if len(before) > _AROUND:
        before = f"…{before[-_AROUND:]}"
    if len(after) > _AROUND:
        after = f"{after[:_AROUND]}…"
    passage = text[start:end]
    if len(passage) > _LONGEST:
        passage = f"{passage[: _LONGEST // 2]} … {passage[-_LONGEST // 2 :]}"
    passage = _harmless(passage) if style else f"[[{_harmless(passage)}]]"
    return Text.assemble(_harmless(before), (passage, style), _harmless(after))


def _harmless(text: str) -> str:
    """A text without what a terminal obeys, or what turns a line around; joiners of letters stay."""
    return text.expandtabs(4).translate(_HARMFUL)
