"""Add the text of a mail to a text: plain, HTML or RTF, without quotes if the options say so."""

import re

from docindex.frontends import rtf, web_page
from docindex.frontends.extracted import TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.quoted_lines import without_quotes

_PARAGRAPH_END = re.compile(r"\n(?:[ \t]*\n)+")


class MailText:
    r"""Adds the bodies of a mail to a text.

    >>> builder = TextBuilder()
    >>> MailText(builder, ExtractionOptions(quotes=False)).add_plain("At four.\n\nAda wrote:\n> When?")
    >>> builder.extracted().text
    'At four.\n\n'
    """

    def __init__(self, builder: TextBuilder, options: ExtractionOptions) -> None:
        self._builder = builder
        self._options = options
        self._paragraphs = 0

    def add_plain(self, text: str) -> None:
        """Add a plain text. A place is a paragraph."""
        text = text.replace("\r\n", "\n")
        for paragraph in _PARAGRAPH_END.split(text if self._options.quotes else without_quotes(text)):
            if paragraph := paragraph.strip():
                self._paragraphs += 1
                self._builder.begin(f"paragraph {self._paragraphs}").add(paragraph).end_paragraph()

    def add_page(self, page: bytes) -> None:
        """Add the text of a page in HTML. A place is that of a web page; without quotes, a paragraph."""
        if self._options.quotes or len(page) > web_page.FRONT_END.most_bytes:
            self._add(web_page.FRONT_END, page)
        else:
            self.add_plain(web_page.text_with_marked_quotes(page, self._options))

    def add_rtf(self, document: bytes) -> None:
        """Add the text of a document in RTF."""
        self._add(rtf.FRONT_END, document)

    def _add(self, front_end: FrontEnd, data: bytes) -> None:
        try:
            found = front_end.extract_within_limits(data, self._options)
        except NotExtracted as error:
            if error.reason != "no text":
                self._builder.warn(f"A part of the message cannot be read: {error}.")
            return
        begins = [0, *found.places.starts]
        ends = [*found.places.starts, len(found.text)]
        names = ["", *(place.name for place in found.places.places)]
        for begin, end, name in zip(begins, ends, names, strict=True):
            if name:
                self._builder.begin(name)
            self._builder.add(found.text[begin:end])
        for warning in found.warnings:
            self._builder.warn(warning)
