"""Lay out the passages or regions of two texts in two columns for a terminal.

Takes both texts and their passages or regions, and returns lines of text. These are in colour, or between
[[ and ]] if there is no colour. Must never let a text move the cursor.
"""

import io
import shutil
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from docindex.query.regions.passages import Passage
from docindex.query.regions.regions import Region
from docindex.shown.stretches import stretch_size
from docindex.shown.wording import CONTROLS

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue")
CONTEXT = 60
"""Characters of the same line that are shown before and after a passage or a difference."""

_LONGEST = 1200
"""Characters of a passage that are shown. The middle of a longer passage is left out."""

_HARMFUL = dict.fromkeys([*CONTROLS, *range(0xD800, 0xE000)], " ")
"""Characters that join letters are kept."""

_WIDTH = 100
"""Columns, if the width of the terminal is not known."""


def terminal_console(columns: int | None = None) -> tuple[Console, bool]:
    """A console that writes to memory, as wide as the terminal; and whether it has colours.

    In a pipe, it is as wide as the variable COLUMNS says. With `columns`, it is that wide, without colours.
    """
    to_terminal = columns is None and sys.stdout.isatty()
    width = columns or shutil.get_terminal_size((_WIDTH, 0)).columns
    console = Console(file=io.StringIO(), width=width, force_terminal=to_terminal, highlight=False)
    return console, console.color_system is not None and not console.no_color


def without_trailing_space(console: Console) -> str:
    """The text that was printed to a console of `terminal_console`."""
    printed = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO from above
    return "\n".join(line.rstrip() for line in printed.rstrip().split("\n"))


def side_by_side(a: str, b: str, found: Sequence[Passage | Region]) -> str:
    """The passages or regions from top to bottom, with text `a` on the left and text `b` on the right."""
    console, coloured = terminal_console()
    for number, each in enumerate(found):
        style = f"bold {_COLOURS[number % len(_COLOURS)]}" if coloured else ""
        of_a = (a, each.query_start, each.query_end)
        of_b = (b, each.start, each.end)
        table = Table(box=box.MINIMAL, expand=True, show_edge=False, header_style="")
        place_a, place_b = (harmless(place) for place in (each.query_place, each.place))
        table.add_column(f"A, {place_a or _lines(*of_a)}", ratio=1, overflow="fold")
        table.add_column(f"B, {place_b or _lines(*of_b)}   ({stretch_size(each)})", ratio=1, overflow="fold")
        table.add_row(_passage_in_context(*of_a, style), _passage_in_context(*of_b, style))
        console.print(table)
        console.print()
    return without_trailing_space(console)


def _lines(text: str, start: int, end: int) -> str:
    first = text.count("\n", 0, start) + 1
    last = first + text.count("\n", start, end)
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _passage_in_context(text: str, start: int, end: int, style: str) -> Text:
    """A passage with the rest of its first and its last line."""
    passage = harmless(middle_cut(text[start:end], _LONGEST))
    passage = passage if style else f"[[{passage}]]"
    return Text.assemble(line_before(text, start), (passage, style), line_after(text, end))


def line_before(text: str, place: int) -> str:
    """What the line of a place has before it, without the beginning of a long line."""
    line = text[max(0, place - CONTEXT - 1) : place].rpartition("\n")[2]
    return harmless(f"…{line[1:]}" if len(line) > CONTEXT else line)


def line_after(text: str, place: int) -> str:
    """What the line of a place has after it, without the end of a long line."""
    line = text[place : place + CONTEXT + 1].partition("\n")[0]
    return harmless(f"{line[:-1]}…" if len(line) > CONTEXT else line)


def middle_cut(text: str, longest: int) -> str:
    """A text without its middle if it is too long."""
    return f"{text[: longest // 2]} … {text[-longest // 2 :]}" if len(text) > longest else text


def harmless(text: str) -> str:
    """A text with spaces for the characters that move the cursor or change the direction of a line."""
    return text.expandtabs(4).translate(_HARMFUL)
