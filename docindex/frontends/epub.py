"""Extract the text of electronic books (.epub).

Gives the chapters in the order of the book's spine: a place is a chapter, counted from 1, with its heading.
The table of contents is left out unless the option asks for navigation. Books with copy protection count as
encrypted.
"""

import posixpath
import urllib.parse

from docindex.frontends.chapter_text import read_chapter
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.safe_xml import Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource
from docindex.frontends.written_text import text_of_zip, warn_of_damage

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
