"""Extract the text of PDF files.

Gives the text of each page in the order in which the file draws it, which is the reading order for all
writers that were tried, also for columns. A place is a page and the box of a paragraph on it. Words that are
divided at the end of a line are joined; running heads and page numbers are left out. What a form was filled
in with, and remarks on a page, are not read. Files that are attached to a PDF are parts of it.

pypdfium2 (Google's PDFium) was chosen over pypdf. Both read the same files in one run, on a busy core: pages
and MB of PDF each second, and the share of the source's runs of four words that are in the text, when divided
words are joined in the same way. Each file has 12 to 67 pages of a novel.

| written by                          | pypdf                      | pypdfium2                  |
|-------------------------------------|----------------------------|----------------------------|
| reportlab, canvas                   | 103 pages, 0.3 MB, 0.999   | 488 pages, 1.4 MB, 0.999   |
| reportlab, paragraphs, page numbers |  85 pages, 0.3 MB, 0.996   | 424 pages, 1.5 MB, 0.996   |
| LibreOffice, header and footer      |  20 pages, 0.1 MB, 0.992   | 457 pages, 1.5 MB, 0.992   |
| Chromium                            |  18 pages, 0.2 MB, 0.945   | 228 pages, 2.1 MB, 0.994   |
| Chromium, two columns, soft hyphens |   4 pages, 0.1 MB, 0.608   |  66 pages, 1.0 MB, 0.993   |
| pdfTeX, bitmap font, ligatures      |  26 pages, 0.1 MB, 0.947   | 679 pages, 3.1 MB, 0.947   |
| the same, two columns, hyphens      |  22 pages, 0.1 MB, 0.949   | 316 pages, 1.9 MB, 0.949   |

This module gets 0.999 or more from all of them, because it leaves out running heads and mends ligatures; it
takes 1.1 to 1.5 times as long as pypdfium2 alone, for the boxes of lines and the paragraphs.

pypdf (BSD) is Python: a hostile file can make it slow or large, but it cannot harm the process. PDFium (BSD
and Apache) is C++ that Chromium's developers fuzz all the time. A file may still end the process, so PDFs are
only read in the extractor's process. Both licences allow to ship the parser with any application.
"""

import collections
import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from docindex.frontends.extracted import MOST_CHARACTERS, Box, Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.part_list import PartList

# Make paragraphs from the lines of printed pages: join divided words, leave out running heads.
#
# In: lines with their boxes, page by page, in reading order. Out: a text whose places are "page 3" and the
# box of a paragraph on it. Must never know a format.


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


if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

MOST_PAGES = 100_000
"""A PDF with more pages is refused."""
_START_PAGES = 100
_BYTES_PER_PAGE = 50
"""A page with a text takes more. A file of one kilobyte can name one page a million times."""

_NEEDS_PASSWORD = 4
_UNSUPPORTED_SECURITY = 5
_DIVIDED = "\ufffe"
"""PDFium's mark for a hyphen and the line end after it."""

_LINE_END = re.compile(f"(\r\n?|\n|{_DIVIDED}(?:\r\n)?)")
_MENDED = {
    **dict.fromkeys(range(32), None),
    **dict(enumerate(("\u201c", "\u201d", "\u201e", "«", "»", "\u2013", "\u2014"), 0x10)),
    **dict(enumerate(("ff", "fi", "fl", "ffi", "ffl"), 0x1B)),
    **dict(enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"), 0xFB00)),
    9: " ",
    10: " ",
    13: " ",
    0x0B: "ff",
    0x0C: "fi",
    0x0E: "ffi",
    0x0F: "ffl",
    0x7F: None,
    0xA0: " ",
    0xAD: None,
}
"""Characters that stand for others: ligatures, and control characters. TeX's bitmap fonts have these in the
place of ligatures, quotation marks and dashes (its encodings T1 and, below 16, OT1)."""

_TO_MEND = re.compile("[" + "".join(re.escape(chr(code)) for code in _MENDED if code not in (10, 13)) + "]")
_SPACES = " \t\xa0"  # str.strip would also remove TeX's ligatures
_NO_TITLES = {"untitled", "(anonymous)", "unspecified"}


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a PDF file."""
    document = _opened(data)
    try:
        pages = _Pages(document)
        builder = TextBuilder()
        add_pages(builder, pages.read())
        parts = PartList()
        _add_attachments(document, parts)
        if not builder.length and not parts.parts:
            raise NotExtracted("no text", pages.why_no_text())
        for sentence in (*pages.warnings(), *parts.warnings()):
            builder.warn(sentence)
        return builder.extracted(_title(document), parts.parts)
    finally:
        document.close()


def _opened(data: bytes) -> "PdfDocument":
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code in (_NEEDS_PASSWORD, _UNSUPPORTED_SECURITY):
            raise NotExtracted("encrypted", "it needs a password") from error
        raise NotExtracted("damaged", "it is damaged or incomplete") from error
    count = len(document)
    most = min(MOST_PAGES, _START_PAGES + len(data) // _BYTES_PER_PAGE)
    if not 0 < count <= most:
        document.close()
        if not count:
            raise NotExtracted("damaged", "it has no pages")
        raise NotExtracted("too large", f"it has {count:,} pages; a PDF of its size may have {most:,}")
    return document


class _Pages:
    """Reads the pages of a document, and counts those without text."""

    def __init__(self, document: "PdfDocument") -> None:
        self._document = document
        self._count = len(document)
        self._damaged = 0
        self._empty = 0
        self._left = MOST_CHARACTERS

    def read(self) -> list[PrintedPage]:
        """The pages that have text."""
        from pypdfium2 import PdfiumError

        found = []
        for index in range(self._count):
            try:
                page = self._page(index)
            except PdfiumError:
                self._damaged += 1
                continue
            if page.lines:
                found.append(page)
            else:
                self._empty += 1
        return found

    def _page(self, index: int) -> PrintedPage:
        page = self._document[index]
        try:
            text_page = page.get_textpage()
            try:
                text = text_page.get_text_range()
                self._left -= len(text)
                if self._left < 0:
                    raise NotExtracted(
                        "too large", f"it has more than {MOST_CHARACTERS:,} characters of text"
                    )
                lines = _lines(text, _Boxes(text_page, text))
                return PrintedPage(index + 1, page.get_height(), lines)
            finally:
                text_page.close()
        finally:
            page.close()

    def why_no_text(self) -> str:
        """Why no page has a text."""
        if self._damaged == self._count:
            raise NotExtracted("damaged", "none of its pages can be read")
        return f"its {self._count:,} pages have no text" if self._count > 1 else "its page has no text"

    def warnings(self) -> list[str]:
        """What could not be read."""
        found = []
        if self._empty:
            found.append(
                f"{self._empty:,} of {self._count:,} pages have no text: they are empty or pictures."
            )
        if self._damaged:
            found.append(f"{self._damaged:,} of {self._count:,} pages cannot be read.")
        return found


class _Boxes:
    """The boxes of the characters of a page."""

    def __init__(self, text_page: "PdfTextPage", text: str) -> None:
        import pypdfium2.raw

        self._page = text_page.raw
        self._has_gaps = text_page.count_chars() != len(text)  # some characters are not in the text
        self._index_of = pypdfium2.raw.FPDFText_GetCharIndexFromTextIndex
        self._box_of = pypdfium2.raw.FPDFText_GetLooseCharBox
        self._found = pypdfium2.raw.FS_RECTF()

    def at(self, offset: int) -> Box:
        """The box of the character at an offset of the text, as high as its font."""
        found = self._found
        index = self._index_of(self._page, offset) if self._has_gaps else offset
        self._box_of(self._page, index, found)
        return (found.left, found.bottom, found.right, found.top)


def _lines(text: str, boxes: _Boxes) -> list[PrintedLine]:
    found = []
    end = 0
    pieces = _LINE_END.split(text)
    pieces.append("")  # the last line has no end
    is_mended = _TO_MEND.search(text) is not None
    for line, mark in zip(pieces[::2], pieces[1::2], strict=True):
        start = end
        end += len(line) + len(mark)
        shown = line.strip(_SPACES)
        if not shown:
            continue
        first = start + line.index(shown)
        last = first + len(shown) - 1
        if is_mended and _TO_MEND.search(shown):
            shown = _mended(shown)
        if mark.startswith(_DIVIDED):
            shown += "-"
        if shown:
            found.append(PrintedLine(shown, boxes.at(first), boxes.at(last)))
    return found


def _mended(line: str) -> str:
    is_divided = line.endswith("\xad")
    return line.translate(_MENDED).strip(_SPACES) + ("-" if is_divided else "")


def _title(document: "PdfDocument") -> str | None:
    title: str = document.get_metadata_value("Title")
    return None if title.lower() in _NO_TITLES else title


def _add_attachments(document: "PdfDocument", parts: PartList) -> None:
    """Add the files that are attached to a document."""
    from pypdfium2 import PdfiumError

    for index in range(document.count_attachments()):
        if not parts.left:
            parts.leave_out()
            continue
        try:
            attachment = document.get_attachment(index)
            parts.add(attachment.get_name(), bytes(attachment.get_data()))
        except PdfiumError:
            parts.leave_out()


FRONT_END = FrontEnd(
    "pdf",
    1,
    extract,
    (b"%pdf-",),
    extensions=frozenset({".pdf"}),
    media_types=frozenset({"application/pdf", "application/x-pdf"}),
    package="pypdfium2",
)
