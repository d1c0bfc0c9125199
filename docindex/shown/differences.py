"""Lay out the words that differ between two texts for a terminal, with the words around them.

Takes both texts and their differences, and returns lines of text. Deleted words are red, or between [- and
-]; inserted words are green, or between {+ and +}. Must never let a text move the cursor.
"""

from collections.abc import Iterable, Sequence

from rich.text import Text

from docindex.query.regions.differences import Difference
from docindex.shown.side_by_side import (
    CONTEXT,
    harmless,
    line_after,
    line_before,
    middle_cut,
    terminal_console,
    without_trailing_space,
)
from docindex.shown.wording import several

_LONGEST = 600
"""Characters of a difference that are shown. The middle of a longer one is left out."""

_STYLES = {"-": "bold red", "+": "bold green"}


def difference_summary(found: Sequence[Difference]) -> str:
    """How many words differ, in one line."""
    if not found:
        return "no words differ"
    of_a, of_b = sum(each.query_words for each in found), sum(each.words for each in found)
    return f"differences: {several(of_a, 'word')} only in A, {of_b:,} only in B"


def difference_text(
    a: str, b: str, found: Sequence[Difference], limit: int | None, columns: int | None = None
) -> str:
    """The differences with their lines, from the beginning of `a`; at most `limit` places of them.

    With `columns`, the text is that wide and has no colours.
    """
    console, coloured = terminal_console(columns)
    places = list(_places(a, found))
    lines_a, lines_b = _LineNumbers(a), _LineNumbers(b)
    for place in places[:limit]:
        first, last = place[0], place[-1]
        of_a, of_b = lines_a.at(first.query_start), lines_b.at(first.start)
        console.print(Text(f"line {of_a:,} of A, line {of_b:,} of B"))
        shown = Text(line_before(a, first.query_start))
        at = first.query_start
        for each in place:
            shown.append(harmless(a[at : each.query_start]))
            shown.append(_marked("-", a[each.query_start : each.query_end], coloured))
            shown.append(_marked("+", b[each.start : each.end], coloured))
            if each.kind == "inserted" and not b[each.end : each.end + 1].isalnum():
                shown.append(" ")
            at = each.query_end
        shown.append(line_after(a, last.query_end))
        console.print(Text.assemble(shown), soft_wrap=False)
        console.print()
    if limit is not None and len(places) > limit:
        console.print(Text(f"{several(len(places) - limit, 'more place')}; --verbose shows all"))
    return without_trailing_space(console)


def _places(a: str, found: Iterable[Difference]) -> Iterable[list[Difference]]:
    """The differences, those together that are near each other on one line."""
    place: list[Difference] = []
    for each in found:
        between = a[place[-1].query_end : each.query_start] if place else ""
        if place and (len(between) > 2 * CONTEXT or "\n" in between):
            yield place
            place = []
        place.append(each)
    if place:
        yield place


def _marked(sign: str, text: str, coloured: bool) -> Text:
    if not text:
        return Text()
    short = harmless(" ".join(middle_cut(text, _LONGEST).split()))
    if coloured:
        return Text(f"{short} " if sign == "-" else short, _STYLES[sign])
    return Text(f"[-{short}-]" if sign == "-" else f"{{+{short}+}}")


class _LineNumbers:
    """The line numbers of ascending places of a text, in one pass over it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place, self._line = 0, 1

    def at(self, place: int) -> int:
        """The line of a place, counted from 1."""
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line
