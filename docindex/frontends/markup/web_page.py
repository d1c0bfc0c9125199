"""Extract the text of web pages: HTML and XHTML.

Gives what a browser shows as text, without pictures, forms' menus and hidden elements. Unless the options ask
for navigation, it leaves out navigation, asides, and the header and footer of the page; and if the page says
which part is the main one, the text is that part. A place is the nearest heading above, or the number
of a paragraph that comes before all headings.
"""

import re

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.markup.tokens import HTML, attributes_of, single_spaced, unescaped
from docindex.patterns import compiled_bytes

# Read a web page into paragraphs: `PageReader`. It decides which elements are shown, and where lines end.
#
# In: the text of a page. Out: a filled text builder, and the title. Memory and time are linear in the page,
# however its elements are nested: an end tag takes off the stack what lies above its own start tag, and each
# element is taken off once.


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


_BLOCKS = _words(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu "
    "nav ol optgroup option p plaintext pre search section summary table tbody td tfoot th thead tr ul "
    "xmp"
)
_HEADINGS = _words("h1 h2 h3 h4 h5 h6")
_CELLS = _words("td th")
_CHANGING = _words("main nav aside header footer dialog rt rp")
"""Elements that may change what is shown, whatever their attributes."""
_PREFORMATTED = _words("pre textarea listing xmp plaintext")
_VOID = _words("area base br col embed hr img input link meta param source track wbr")
_APART = _words("button input img object embed label textarea")
"""Elements inside a line that do not glue the words around them together."""
_SECTIONS = ("article", "section", "main")
"""A header or footer in one of these is not that of the page."""

_ENDED_BY = dict.fromkeys(_BLOCKS, frozenset(("p",))) | {
    "li": frozenset(("li", "p")),
    "dt": frozenset(("dt", "dd", "p")),
    "dd": frozenset(("dt", "dd", "p")),
    "td": frozenset(("td", "th")),
    "th": frozenset(("td", "th")),
    "tr": frozenset(("td", "th", "tr")),
    "option": frozenset(("option",)),
}
"""The elements whose end tag may be left out before each start tag."""

_SHOWN, _HIDDEN, _MAIN, _PRE = range(4)

_TELLING = re.compile(r"hidden|display|visibility|role|note|\b(?:id|title)\b", re.IGNORECASE)
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_NOTE_MARK = re.compile(r"noteref|note-ref|note-?(?:anc|sym|back)", re.IGNORECASE)
_MAIN_TAG, _MAIN_ROLE = re.compile(r"<main[\s>]"), re.compile(r"""role\s*=\s*["']?main\b""")
"""For a page in lower case: an expression that ignores case takes ten times as long."""
_ROLES = _words("navigation banner contentinfo complementary search menu menubar toolbar")
_IDS = _words("nav navbar navigation menu sidebar footer breadcrumb breadcrumbs")
"""Older pages say by these ids what newer ones say by elements. Classes say it less clearly: a page that has
a sidebar is often of the class "sidebar"."""

_ANSWERED = re.compile(
    r"""\b(?:id|class)\s*=\s*["']?(?:divRplyFwdMsg|appendonsend|yahoo_quoted)\b""", re.IGNORECASE
)
"""The elements of Outlook and Yahoo that begin the mail that is answered, without a blockquote."""

_LONGEST_NAME = 60


class PageReader:
    """The text of a page in `builder`, and its `title`."""

    def __init__(self, source: str, *, everything: bool, marks_quotes: bool = False) -> None:
        """With `marks_quotes`, quoted lines begin with > as in a plain mail, and an answered mail that is not
        marked as a quote with the line that Outlook writes into plain mails.
        """
        self.builder = TextBuilder()
        self.title: str | None = None
        self._everything = everything
        self._marks_quotes = marks_quotes
        self._in_main_only = not everything and _has_main(source)
        self._open: list[tuple[str, int]] = []
        self._counts: dict[str, int] = {}
        self._kinds = [0, 0, 0, 0]
        self._visible = not self._in_main_only
        self._pieces: list[str] = []  # of the line
        self._lines: list[str] = []  # of the paragraph
        self._heading = False
        self._under_heading = False
        self._paragraphs = 0
        self._read(source)
        self._end_paragraph()

    def _read(self, source: str) -> None:
        last = 0
        for mark in HTML.finditer(source):
            start, end = mark.span()
            if start > last and self._visible:
                text = source[last:start]
                if self._pieces or self._kinds[_PRE] or not text.isspace():
                    self._pieces.append(text)
            last = end
            name, is_end, attributes = mark.group("name", "end", "attributes")
            if name is None:
                self._read_other(mark)
            elif is_end is None:
                self._start(name.lower(), attributes)
            else:
                self._end(name.lower())
        if self._visible:
            self._pieces.append(source[last:])

    def _read_other(self, mark: re.Match[str]) -> None:
        if mark["title"] is not None and self.title is None:
            self.title = unescaped(mark["title"])
        elif mark["cdata"] is not None and self._visible:
            self._pieces.append(mark["cdata"].replace("&", "&amp;"))
        elif mark["raw"] is not None and self._visible:
            self._pieces.append(" ")

    def _start(self, name: str, attributes: str) -> None:
        if name in _BLOCKS:
            self._end_open(_ENDED_BY[name])
            self._break(name)
            if self._marks_quotes and _ANSWERED.search(attributes):
                self._lines.append("-----Original Message-----")
                self._end_paragraph()
            self._heading = name in _HEADINGS
        elif name == "br":
            self._end_line()
            return
        elif name in _APART and self._visible:
            self._pieces.append(" ")
        if name in _VOID:
            return
        kind = self._kind(name, attributes)
        # An inline element matters only if it hides its text, or lies in a hidden element.
        if kind or name in _BLOCKS or self._kinds[_HIDDEN]:
            self._open.append((name, kind))
            self._counts[name] = self._counts.get(name, 0) + 1
            self._change(kind, 1)

    def _end(self, name: str) -> None:
        if name in _BLOCKS:
            self._break(name)
        elif name in _APART and self._visible:
            self._pieces.append(" ")
        if self._counts.get(name):
            while self._take_off() != name:
                pass

    def _end_open(self, names: frozenset[str]) -> None:
        while self._open and self._open[-1][0] in names:
            self._take_off()

    def _take_off(self) -> str:
        name, kind = self._open.pop()
        self._counts[name] -= 1
        self._change(kind, -1)
        return name

    def _change(self, kind: int, by: int) -> None:
        if kind:
            if kind == _PRE:
                self._end_line()
            self._kinds[kind] += by
            self._visible = not self._kinds[_HIDDEN] and (not self._in_main_only or self._kinds[_MAIN] > 0)

    def _kind(self, name: str, attributes: str) -> int:
        """How an element changes what is shown."""
        is_telling = attributes and _TELLING.search(attributes)
        if not is_telling and name not in _CHANGING:
            return _PRE if name in _PREFORMATTED else _SHOWN
        found = attributes_of(attributes) if is_telling else {}
        if found and self._is_hidden(found):
            return _HIDDEN
        role = found.get("role", "").lower()
        if name == "main" or role == "main":
            return _MAIN
        if not self._everything and self._is_navigation(name, role, attributes, found):
            return _HIDDEN
        if name in ("rt", "rp") or (name == "dialog" and " open" not in attributes.lower()):
            return _HIDDEN
        return _PRE if name in _PREFORMATTED else _SHOWN

    def _is_hidden(self, found: dict[str, str]) -> bool:
        if "hidden" in found or _INVISIBLE.search(found.get("style", "")):
            return True
        return _NOTE_MARK.search(f"{found.get('class', '')} {found.get('role', '')}") is not None

    def _is_navigation(self, name: str, role: str, attributes: str, found: dict[str, str]) -> bool:
        if role in _ROLES or found.get("id", "").lower() in _IDS:
            return name not in ("body", "html")
        if name == "div" and found.get("title") in ("header", "footer"):  # as LibreOffice writes them
            return True
        if name in ("header", "footer"):  # pandoc puts the title of a document into a header
            return "title" not in attributes and not any(map(self._counts.get, _SECTIONS))
        return name == "nav" or (name == "aside" and "footnote" not in attributes)

    def _break(self, name: str) -> None:
        """End what a block element ends. The cells of a row are one line if they have no blocks."""
        if name in _CELLS:
            if self._pieces:
                self._pieces.append("\t")
        elif name == "tr":
            self._end_line()
        else:
            self._end_paragraph()

    def _end_line(self) -> None:
        if not self._pieces:
            return
        text = unescaped("".join(self._pieces))
        self._pieces.clear()
        if self._kinds[_PRE]:
            line = text.strip("\n").rstrip()
        elif "\t" in text and self._counts.get("table"):
            cells = (single_spaced(cell) for cell in text.split("\t"))
            line = "\t".join(filter(None, cells))
        else:
            line = single_spaced(text)
        if line and self._marks_quotes and self._counts.get("blockquote"):
            line = "> " + line.replace("\n", "\n> ")
        if line:
            self._lines.append(line)

    def _end_paragraph(self) -> None:
        self._end_line()
        if self._lines:
            text = "\n".join(self._lines)
            self._lines.clear()
            self._begin_place(text)
            self.builder.add(text).end_paragraph()
        self._heading = False

    def _begin_place(self, text: str) -> None:
        self._paragraphs += 1
        if self._heading:
            name = single_spaced(text)
            cut = f"{name[:_LONGEST_NAME].rstrip()}…" if len(name) > _LONGEST_NAME else name
            self.builder.begin(f'under "{cut}"')
            self._under_heading = True
        elif not self._under_heading:
            self.builder.begin(f"paragraph {self._paragraphs}")


def _has_main(source: str) -> bool:
    """Whether a page says which part of it is the main one."""
    lower = source.lower()
    return _MAIN_TAG.search(lower) is not None or _MAIN_ROLE.search(lower) is not None


_DECLARATION = re.compile(rb"""<\?xml[^>]{0,100}encoding\s*=\s*["']([\w.:-]{1,40})""", re.IGNORECASE)
_META = re.compile(rb"""<meta\b[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_MOST_HEAD = 4096
"""Browsers look for the encoding in the first 1,024 bytes; some pages have long comments before it."""


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a web page."""
    source = decode_source(data, declared_in(data), options.encoding)
    page = PageReader(source, everything=options.navigation)
    if page.builder.length == 0 and not options.navigation:  # a page that is nothing but navigation
        page = PageReader(source, everything=True)
    if page.builder.length == 0:
        raise NotExtracted("no text", "it shows no text unless a browser runs its scripts")
    return page.builder.extracted(page.title)


def text_with_marked_quotes(data: bytes, options: ExtractionOptions) -> str:
    """The text of a page in a mail, with > before the lines that it quotes."""
    source = decode_source(data, declared_in(data), options.encoding)
    return PageReader(source, everything=options.navigation, marks_quotes=True).builder.extracted().text


def declared_in(data: bytes) -> str | None:
    """The encoding that a page or an XML document declares, or None.

    >>> declared_in(b'<meta charset="koi8-r">'), declared_in(b"<?xml version='1.0' encoding='big5'?>")
    ('koi8-r', 'big5')
    """
    head = data[:_MOST_HEAD]
    found = _DECLARATION.match(head.lstrip()) or _META.search(head)
    return found[1].decode("ascii", "replace") if found else None


# Other XML has elements of the same names inside: <head> in TEI, <body> in JATS, <html> in XSLT.
_FIRST_ELEMENT = compiled_bytes(
    rb"(?:[\s\xef\xbb\xbf]++|<\?[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->)*+<(?:!doctype\s+html|html|head|body)[\s>/]",
    re.IGNORECASE,
)


def _is_page(data: bytes) -> bool:
    return _FIRST_ELEMENT.match(data[:_MOST_HEAD]) is not None


FRONT_END = FrontEnd(
    "html",
    1,
    extract,
    (b"<!doctype", b"<html", b"<head", b"<body", b"<!--", b"<?xml"),
    _is_page,
    frozenset({".html", ".htm", ".xhtml", ".xht"}),
    frozenset({"text/html", "application/xhtml+xml"}),
    is_text=True,
    most_bytes=100_000_000,
)
