"""Make paragraphs from the lines of printed pages: join divided words, leave out running heads.

In: lines with their boxes, page by page, in reading order. Out: a text whose places are "page 3" and the box
of a paragraph on it. Must never know a format.
"""

import collections
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from docindex.frontends.extracted import Box, TextBuilder


class PrintedLine(NamedTuple):
    """A line on a page."""

    text: str
    """Without spaces around it; never empty. A word that goes on in the next line ends with a hyphen."""
    start: Box
    """The box of its first character."""
    end: Box
    """The box of its last character."""


class PrintedPage(NamedTuple):
    """The lines of a page, in reading order."""

    number: int
    """Counted from 1."""
    height: float
    """In points."""
    lines: list[PrintedLine]


_MARGIN = 0.12
"""The share of a page, at the top and at the bottom, where running heads stand: 3.5 cm of A4."""

_HEAD_SHARE = 0.4
"""The share of pages that a running head stands on. Left and right pages often have different ones."""

_FEWEST_HEADS = 3
"""On fewer pages, a repeated line may be part of the text: the same heading of two letters in one file."""

_LONGEST_HEAD = 200
_LONGEST_NUMBER = 30

_GAP = 0.35
"""The share of a line's height by which the gap before a paragraph exceeds the usual gap between lines."""

_PAGE_NUMBER = re.compile(
    r"(?:page|seite|página|pagina|pág\.|p\.|s\.|side|sida|sivu|strona|страница|стр\.)?"
    r"[-–— ([]*(\d{1,5})[-–— )\]]*"
    r"(?:(?:/|of|von|de|sur|di|van|av|af|z|из)\s*\d{1,5}[-–— )\]]*)?",
    re.IGNORECASE,
)
"""A page number in the margin is left out of a single page, too: most letters have one or two."""

_DIGITS = re.compile(r"\d+")
_HYPHENS = ("-", "\u2010")
_WORD = re.compile(r"\w+")
_LAST_WORD = re.compile(r"\w+$")
_COMPOUND = re.compile(r"\b\w++-\w++")
_LONGEST_WORD = 100

_HeadKey = tuple[str, int]


def add_pages(builder: TextBuilder, pages: list[PrintedPage]) -> None:
    r"""Add the text of pages to a text.

    >>> box = (0.0, 400.0, 9.0, 412.0)
    >>> page = PrintedPage(1, 800.0, [PrintedLine("a sur-", box, box), PrintedLine("prise", box, box)])
    >>> builder = TextBuilder()
    >>> add_pages(builder, [page])
    >>> builder.extracted().text
    'a surprise\n\n'
    """
    heads = _running_heads(pages)
    paragraphs = [
        (page.number, lines) for page in pages for lines in _paragraphs(_without_heads(page, heads))
    ]
    joins = _Joins(paragraphs)
    for index, (number, lines) in enumerate(paragraphs):
        builder.begin(f"page {number}", _around(lines))
        following = paragraphs[index + 1][1][0].text if index + 1 < len(paragraphs) else ""
        for below, line in enumerate(lines, 1):
            after = lines[below].text if below < len(lines) else following
            first_part = joins.first_part(line.text, after)
            if first_part is not None:
                builder.add(first_part)
            elif below < len(lines):
                builder.add(line.text).end_line()
            else:
                builder.add(line.text).end_paragraph()


def _running_heads(pages: list[PrintedPage]) -> set[_HeadKey]:
    """The lines that stand at the same place of many pages, in the top or bottom margin."""
    if len(pages) < _FEWEST_HEADS:
        return set()
    counts: collections.Counter[_HeadKey | None] = collections.Counter()
    for page in pages:
        counts.update({_head_key(line) for line in page.lines if _is_in_margin(page, line)})
    least = max(_FEWEST_HEADS, _HEAD_SHARE * len(pages))
    return {key for key, count in counts.items() if key is not None and count >= least}


def _head_key(line: PrintedLine) -> _HeadKey | None:
    """What the same running head has in common on all pages; None for a line too long to be one."""
    if len(line.text) > _LONGEST_HEAD:
        return None
    return _DIGITS.sub("0", line.text), round(_tenth(line.start[1]))


def _is_in_margin(page: PrintedPage, line: PrintedLine) -> bool:
    return not _MARGIN * page.height < line.start[1] < (1 - _MARGIN) * page.height


def _is_page_number(page: PrintedPage, line: PrintedLine) -> bool:
    found = _PAGE_NUMBER.fullmatch(line.text) if len(line.text) < _LONGEST_NUMBER else None
    return found is not None and int(found[1]) == page.number


def _without_heads(page: PrintedPage, heads: set[_HeadKey]) -> list[PrintedLine]:
    return [
        line
        for line in page.lines
        if not _is_in_margin(page, line)
        or not (_is_page_number(page, line) or (heads and _head_key(line) in heads))
    ]


def _paragraphs(lines: list[PrintedLine]) -> Iterator[list[PrintedLine]]:
    """The lines of a page in groups: a wide gap, a step up or a step to the side begins a new one."""
    import statistics  # its own imports take 5 ms

    if not lines:
        return
    gaps = [above.end[1] - below.start[3] for above, below in itertools.pairwise(lines)]
    usual = statistics.median(gaps) if gaps else 0.0
    begin = 0
    for number, (gap, above, below) in enumerate(zip(gaps, lines, lines[1:], strict=False), 1):
        height = abs(below.start[3] - below.start[1])
        if (
            gap > max(usual, 0.0) + _GAP * height
            or gap < -1.5 * height
            or (below.start[0] > above.end[2] and _is_beside(above, below))
        ):
            yield lines[begin:number]
            begin = number
    yield lines[begin:]


def _is_beside(line: PrintedLine, other: PrintedLine) -> bool:
    """Whether the other line stands to the right. Hebrew lines start at the right, and end at the left."""
    return min(other.start[0], other.end[0]) > max(line.start[2], line.end[2])


def _around(lines: list[PrintedLine]) -> Box:
    """The box of some lines, in tenths of a point, which are 0.04 mm."""
    lefts, bottoms, rights, tops = zip(
        *[box for line in lines for box in (line.start, line.end)], strict=True
    )
    return _tenth(min(lefts)), _tenth(min(bottoms)), _tenth(max(rights)), _tenth(max(tops))


def _tenth(points: float) -> float:
    return round(points, 1) if -1e6 < points < 1e6 else 0.0  # damaged files have any number, also NaN


class _Joins:
    """Decides whether a line ends with a divided word, or with a hyphen that belongs to a word."""

    def __init__(self, paragraphs: list[tuple[int, list[PrintedLine]]]) -> None:
        self._paragraphs = paragraphs
        self._compounds: set[str] | None = None

    def first_part(self, line: str, following: str) -> str | None:
        """A line whose last word goes on in the following line; None if it ends with a whole word.

        Without its hyphen, unless the text has the word with a hyphen elsewhere: "good-humoured".
        """
        if not line.endswith(_HYPHENS) or not following[:1].islower() or not line[-2:-1].isalpha():
            return None
        if self._compounds is None:
            texts = (line.text for _, lines in self._paragraphs for line in lines if "-" in line.text)
            self._compounds = {word for text in texts for word in _COMPOUND.findall(text)}
        first, second = _LAST_WORD.search(line[-_LONGEST_WORD:-1]), _WORD.match(following[:_LONGEST_WORD])
        word = f"{first.group()}-{second.group()}" if first and second else ""
        return line[:-1] + "-" if word in self._compounds else line[:-1]
