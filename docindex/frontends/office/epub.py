"""Extract the text of electronic books (.epub).

Gives the chapters in the order of the book's spine: a place is a chapter, counted from 1, with its heading.
The table of contents is left out unless the option asks for navigation. Books with copy protection count as
encrypted.
"""

import html.entities
import posixpath
import re
import urllib.parse
from typing import NamedTuple

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.markup.tokens import single_spaced, unescaped
from docindex.frontends.office.paragraphs import text_of_zip, warn_of_damage
from docindex.frontends.safe_xml import OTHERS, Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource

# Read the paragraphs of a chapter of a book (XHTML): `read_chapter`.
#
# In: the bytes of a chapter. Out: its paragraphs and its first heading. Elements such as scripts are left
# out, the marks of footnotes too, because they would become a part of the word before them.

_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "div", "dl", "dt"),
    *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
    *("hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "th"),
    *("thead", "tr", "ul"),
}
"""The elements that begin and end a paragraph."""

_LEFT_OUT = {"head", "script", "style", "rt", "rp", "template", "annotation", "annotation-xml"}
_MARKS = {"noteref", "doc-noteref", "doc-backlink", "backlink", "pagebreak", "doc-pagebreak"}
"""The types and roles of the marks of footnotes, of the arrows back to them, and of printed pages."""

_HEADINGS = {"h1", "h2", "h3"}


class Chapter(NamedTuple):
    """The text of a chapter."""

    paragraphs: list[str]
    heading: str | None


def read_chapter(data: bytes) -> Chapter:
    r"""The text of a chapter. One that is not well-formed is read as far as its marks can be told from text.

    >>> read_chapter(b"<html><body><h1>The <i>End</i></h1><p>All&nbsp;is<br/>well.</p></body></html>")
    Chapter(paragraphs=['The End', 'All is\nwell.'], heading='The End')
    >>> read_chapter(b"<p>Bread & butter<p>Tea").paragraphs
    ['Bread & butter', 'Tea']
    """
    try:
        reader = _Reader()
        read_xml(_NAMED.sub(_by_number, data), reader.starts, reader.ends, reader.text)
    except NotExtracted:
        reader = _Reader()
        _read_loosely(data, reader)
    reader.end_paragraph()
    return Chapter(reader.paragraphs, reader.heading)


class _Reader:
    """Collects the paragraphs of a chapter. `starts`, `ends` and `text` are its functions for `read_xml`."""

    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self.heading: str | None = None
        self._pieces: list[str] = []
        self._depth = 0
        self._left_out_at = 0  # the depth of the element whose text is left out; 0 outside of one
        self.starts = {
            **dict.fromkeys(_BLOCKS, self._start_block),
            **dict.fromkeys(_LEFT_OUT, self._leave_out),
            "br": self._start_break,
            OTHERS: self._start,
        }
        self.ends = {
            **dict.fromkeys(_BLOCKS, self._end_block),
            **dict.fromkeys(_HEADINGS, self._end_heading),
            OTHERS: self._end,
        }

    def read_empty(self, name: str) -> None:
        """Read an element without attributes, text and elements."""
        self.starts.get(name, self._start)({})
        self.ends.get(name, self._end)()

    def text(self, text: str) -> None:
        """Read a text between two tags."""
        if not self._left_out_at:
            self._pieces.append(text)

    def end_paragraph(self) -> str:
        """End the paragraph, and return its text."""
        if not self._pieces:
            return ""
        text = "".join(self._pieces)
        self._pieces.clear()
        if "\0" in text:
            text = "\n".join(filter(None, map(single_spaced, text.split("\0"))))
        else:
            text = single_spaced(text)
        if text:
            self.paragraphs.append(text)
        return text

    def _start(self, attributes: Attributes) -> None:
        self._depth += 1
        if attributes and not self._left_out_at and not _MARKS.isdisjoint(_kinds(attributes)):
            self._left_out_at = self._depth

    def _end(self) -> None:
        if self._left_out_at == self._depth:
            self._left_out_at = 0
        self._depth -= 1

    def _leave_out(self, _: Attributes) -> None:
        self._depth += 1
        self._left_out_at = self._left_out_at or self._depth

    def _start_block(self, attributes: Attributes) -> None:
        self._start(attributes)
        if not self._left_out_at:
            self.end_paragraph()

    def _end_block(self) -> None:
        if not self._left_out_at:
            self.end_paragraph()
        self._end()

    def _end_heading(self) -> None:
        if not self._left_out_at and (text := self.end_paragraph()):
            self.heading = self.heading or single_spaced(text)
        self._end()

    def _start_break(self, attributes: Attributes) -> None:
        self._start(attributes)
        self.text("\0")


def _kinds(attributes: Attributes) -> list[str]:
    return f"{attributes.get('type', '')} {attributes.get('role', '')}".split()


_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,31});")


def _by_number(found: re.Match[bytes]) -> bytes:
    """The number of a character that HTML names and XML does not; an unknown name stays as it is."""
    name = found[1]
    text = html.entities.html5.get(f"{name.decode()};")
    if text is None:
        return found[0]
    return "".join(f"&#{ord(character)};" for character in text).encode()


def _read_loosely(data: bytes, reader: _Reader) -> None:
    """Read marks that do not match each other; linear in the size, which `html.parser` is not."""
    text = data.decode("utf-8", "replace").replace("\0", " ")
    for before_comment in text.split("<!--"):
        _, is_comment, rest = before_comment.rpartition("-->")
        _read_tags(rest if is_comment else before_comment, reader)


def _read_tags(text: str, reader: _Reader) -> None:
    before, *pieces = text.split("<")
    reader.text(unescaped(before))
    is_script = ""
    for piece in pieces:
        tag, _, rest = piece.partition(">")
        found = _TAG.match(tag)
        name = found[2].lower() if found else ""
        if is_script:
            is_script = "" if name == is_script and tag.startswith("/") else is_script
        elif name in _LEFT_OUT and not tag.startswith("/") and not tag.endswith("/"):
            is_script = name
        elif found is None and not tag.startswith(("!", "?")):
            reader.text(f"<{unescaped(piece)}")
            continue
        elif name:
            reader.read_empty(name)
        if not is_script:
            reader.text(unescaped(rest))


_TAG = re.compile(r"(/?)([A-Za-z][A-Za-z0-9]*)")


_MEDIA_TYPE = "application/epub+zip"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = ("html", "xml")
"""The ends of the media types of chapters; others are pictures."""

_LONGEST_HEADING = 60


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a book."""
    source = ZipSource(data)
    book = _Package(source)
    encrypted = _encrypted(source)
    builder = TextBuilder()
    number = 0
    for name, is_navigation in book.chapters.items():
        if is_navigation and not options.navigation:
            continue
        number += not is_navigation
        if name in encrypted:
            raise NotExtracted("encrypted", "it has copy protection")
        try:
            chapter = read_chapter(source.read(name))
        except NotExtracted as error:
            warn_of_damage(builder, f"Chapter {number}", error)
            continue
        builder.begin("table of contents" if is_navigation else _place(number, chapter.heading or ""))
        if chapter.paragraphs:
            builder.add("\n\n".join(chapter.paragraphs)).end_paragraph()
    return text_of_zip(builder, source, book.title)


def _place(number: int, heading: str) -> str:
    if len(heading) > _LONGEST_HEADING:
        heading = f"{heading[:_LONGEST_HEADING].rstrip()}..."
    return f"chapter {number}, {heading}" if heading else f"chapter {number}"


class _Package:
    """The list of the chapters of a book, and its title."""

    def __init__(self, source: ZipSource) -> None:
        self.title: str | None = None
        self.chapters: dict[str, bool] = {}
        """The names of the chapters in their order, and whether each is the table of contents."""
        self._name = _package_name(source)
        self._items: dict[str, Attributes] = {}
        self._spine: list[str] = []
        self._pieces: list[str] | None = None
        starts = {"item": self._add_item, "itemref": self._add_reference, "title": self._start_title}
        read_xml(source.read(self._name), starts, {"title": self._end_title}, self._text)
        for identity in self._spine:
            item = self._items.get(identity, {})
            if item.get("media-type", "html").endswith(_PAGES) and "svg" not in item.get("media-type", ""):
                is_navigation = "nav" in item.get("properties", "").split()
                self.chapters[_resolved(self._name, item.get("href", ""))] = is_navigation

    def _add_item(self, attributes: Attributes) -> None:
        self._items[attributes.get("id", "")] = attributes

    def _add_reference(self, attributes: Attributes) -> None:
        self._spine.append(attributes.get("idref", ""))

    def _start_title(self, _: Attributes) -> None:
        if self.title is None:
            self._pieces = []

    def _end_title(self) -> None:
        if self._pieces is not None:
            self.title = "".join(self._pieces)
            self._pieces = None

    def _text(self, text: str) -> None:
        if self._pieces is not None:
            self._pieces.append(text)


def _package_name(source: ZipSource) -> str:
    """The name of the member that lists the parts of the book."""
    found: list[str] = []

    def start(attributes: Attributes) -> None:
        found.append(attributes.get("full-path", ""))

    read_xml(source.read(_CONTAINER), {"rootfile": start})
    if not found:
        raise NotExtracted("damaged", "it does not say where the list of its chapters is")
    return found[0]


def _encrypted(source: ZipSource) -> set[str]:
    """The names of the members that need a key."""
    found: set[str] = set()

    def start(attributes: Attributes) -> None:
        found.add(_resolved("", attributes.get("URI", "")))

    listed = source.read_if_there(_ENCRYPTION)
    if listed is not None:
        read_xml(listed, {"CipherReference": start})
    return found


def _resolved(base: str, reference: str) -> str:
    """The name of the member that a reference in another member means."""
    path = urllib.parse.unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path))[1:]


FRONT_END = FrontEnd(
    "epub",
    1,
    extract,
    (b"pk\3\4",),
    lambda data: data[30:38] == b"mimetype" and _MEDIA_TYPE.encode() in data[:400],
    frozenset({".epub"}),
    frozenset({_MEDIA_TYPE}),
)
