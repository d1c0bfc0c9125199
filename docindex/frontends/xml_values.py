"""Extract the values of XML documents: the texts of elements, without tags, comments and declarations.

If no element has a text, the values are those of the attributes. A place is a line. XML that is not
well-formed is read, too, because documents that were cut off or edited by hand are still worth comparing.
Entities that a document declares stay as they are written, so that nothing grows.
"""

import numpy as np

from docindex.frontends.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import LinePlaces, places_of_lines
from docindex.frontends.markup_tokens import XML, attributes_of, unescaped
from docindex.frontends.web_page import declared_in


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The values of an XML document."""
    source = decode_source(data, declared_in(data))
    values = _of_elements(source)
    return values if values.text else _of_attributes(source).extracted()


class _Paragraph:
    """Joins the texts of a paragraph, across the tags inside it."""

    def __init__(self, source: str, builder: TextBuilder) -> None:
        self._builder = builder
        self._source = source
        self._offsets: list[int] = []
        self._starts: list[int] = []
        self._pieces: list[str] = []
        self._start = 0

    def add(self, text: str, start: int) -> None:
        if not self._pieces:
            self._start = start
        self._pieces.append(text)

    def end(self) -> None:
        text = "".join(self._pieces).strip()
        self._pieces.clear()
        if text:
            self._offsets.append(self._start)
            self._starts.append(self._builder.length)
            self._builder.add(text).end_paragraph()

    def extracted(self) -> Extracted:
        """The text of all paragraphs."""
        offsets, starts = (np.array(each, np.int64) for each in (self._offsets, self._starts))
        return self._builder.extracted(places=places_of_lines(self._source, offsets, starts))


def _of_elements(source: str) -> Extracted:
    r"""The texts of elements.

    No schema says which elements lie inside a line. One tag between two texts does ("a<b>word</b>s"). Two
    tags side by side, or a line of their own, do not ("<a>1</a><b>2</b>").
    """
    paragraph = _Paragraph(source, TextBuilder())
    last = 0
    for mark in XML.finditer(source):
        start = mark.start()
        between = source[last:start]
        if mark["cdata"] is not None:
            paragraph.add(unescaped(between) + mark["cdata"], last)
        elif not between or (between.isspace() and "\n" in between):
            paragraph.end()
        else:
            paragraph.add(unescaped(between), last + len(between) - len(between.lstrip()))
        last = mark.end()
    paragraph.add(unescaped(source[last:]), last)
    paragraph.end()
    return paragraph.extracted()


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
)
