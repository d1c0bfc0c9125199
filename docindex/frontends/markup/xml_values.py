"""Extract the values of XML documents: the texts of elements, without tags, comments and declarations.

If no element has a text, the values are those of the attributes. A place is a line. XML that is not
well-formed is read, too, because documents that were cut off or edited by hand are still worth comparing.
Entities that a document declares stay as they are written, so that nothing grows.
"""

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import LinePlaces
from docindex.frontends.markup.tokens import XML, attributes_of, unescaped_all
from docindex.frontends.markup.web_page import declared_in


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The values of an XML document."""
    source = decode_source(data, declared_in(data), options.encoding)
    values = _of_elements(source)
    return values if values.text else _of_attributes(source).extracted()


class _Paragraphs:
    """Joins the texts of paragraphs, across the tags inside them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._firsts: list[int] = []
        """The piece that begins each paragraph."""
        self._offsets: list[int] = []
        self._is_open = False

    def add(self, text: str, offset: int) -> None:
        """Add a text, with its entities, which lies at an offset of the source."""
        if not self._is_open:
            self._firsts.append(len(self._pieces))
            self._offsets.append(offset)
            self._is_open = True
        self._pieces.append(text)

    def end(self) -> None:
        self._is_open = False

    def extracted(self, source: str) -> Extracted:
        """The text of all paragraphs."""
        import numpy as np

        from docindex.frontends.markup.value_places import lengths_of, places_of_lines

        pieces = unescaped_all(self._pieces)
        ends = [*self._firsts[1:], len(pieces)]
        paragraphs = [
            "".join(pieces[first:end]).strip() for first, end in zip(self._firsts, ends, strict=False)
        ]
        sizes = lengths_of(paragraphs)
        is_given = sizes > 0
        sizes = sizes[is_given] + 2
        places = places_of_lines(
            source, np.array(self._offsets, np.int64)[is_given], np.cumsum(sizes) - sizes
        )
        text = "\n\n".join([*filter(None, paragraphs), ""])
        return TextBuilder().add(text).extracted(places=places)


def _of_elements(source: str) -> Extracted:
    r"""The texts of elements.

    No schema says which elements lie inside a line. One tag between two texts does ("a<b>word</b>s"). Two
    tags side by side, or a line of their own, do not ("<a>1</a><b>2</b>").
    """
    paragraphs = _Paragraphs()
    last = 0
    for mark in XML.finditer(source):
        start, end = mark.span()
        between = source[last:start]
        if mark.lastgroup == "cdata":
            paragraphs.add(between, last)
            paragraphs.add(mark["cdata"].replace("&", "&amp;"), last)
        elif not between or (between.isspace() and "\n" in between):
            paragraphs.end()
        else:
            paragraphs.add(between, last + len(between) - len(between.lstrip()))
        last = end
    paragraphs.add(source[last:], last)
    return paragraphs.extracted(source)


def _of_attributes(source: str) -> TextBuilder:
    builder = TextBuilder()
    places = LinePlaces(source, builder)
    for mark in XML.finditer(source):
        if mark["attributes"] and "=" in mark["attributes"]:
            values = attributes_of(mark["attributes"].rstrip("/")).values()
            places.begin(mark.start())
            builder.add("\t".join(filter(None, values))).end_line()
    return builder


FRONT_END = FrontEnd(
    "xml",
    1,
    extract,
    (b"<?xml ",),
    extensions=frozenset(
        {".xml", ".rss", ".atom", ".dbk", ".docbook", ".tei", ".jats", ".ttml", ".tmx", ".xlf", ".xliff"}
    ),
    media_types=frozenset({"application/xml", "text/xml", "application/rss+xml", "application/atom+xml"}),
    is_text=True,
    most_bytes=100_000_000,
)
