"""Add the text of a mail to a text: plain, HTML or RTF, without quotes if the options say so."""

import re

from docindex.frontends.extracted import TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.markup import rtf, web_page

# Leave out of a mail what it quotes of another mail.

_QUOTED = re.compile(r"[ \t]{0,3}[>|]")
_WROTE = re.compile(
    r"\b(wrote|writes|schrieb|schreibt|a écrit|escribió|escreveu|ha scritto|schreef|skrev|napisał\(?a?\)?|"
    r"kirjoitti|написала?|пишет)\b[^:]{0,200}:\s*$"
)
"""The end of the line before a quote: "On Monday, Ada wrote:", in the languages of common programs."""

_BEGINNING = re.compile(r"(On|Am|Le|El|Il|Em|Op|Den) \S.{,400}$")
"""The line before that, if the program has broken it into two."""

_ORIGINAL = re.compile(
    r"-{2,}\s*(Original Message|Original Appointment|Ursprüngliche Nachricht|Message d'origine|"
    r"Mensaje original|Messaggio originale|Mensagem original|Oorspronkelijk bericht)\s*-{2,}\s*$",
    re.IGNORECASE,
)
"""The line with which Outlook begins the mail that is answered; it is not marked line by line."""

_LONGEST_MARK = 400


def without_quotes(text: str) -> str:
    r"""A text without quoted lines, the line before them that says who wrote them, and without the mail that
    Outlook appends to an answer.

    >>> without_quotes("Yes, at four.\n\nOn Monday, Ada\nwrote:\n> Tea?\nBob").split()
    ['Yes,', 'at', 'four.', 'Bob']
    """
    kept: list[str] = []
    in_quote = False
    for line in text.split("\n"):
        if len(line) < _LONGEST_MARK and _ORIGINAL.match(line):
            break
        if not _QUOTED.match(line):
            in_quote = False
            kept.append(line)
        elif not in_quote:
            in_quote = True
            _remove_wrote(kept)
    return "\n".join(kept)


def _remove_wrote(kept: list[str]) -> None:
    """Remove the line at the end that says who wrote the following quote; it may be broken into two."""
    last = len(kept) - 1
    while last >= 0 and not kept[last].strip():
        last -= 1
    if last < 0 or len(kept[last]) > _LONGEST_MARK or not _WROTE.search(kept[last]):
        return
    is_broken = last > 0 and _BEGINNING.match(kept[last - 1]) and not _BEGINNING.match(kept[last])
    del kept[last - 1 if is_broken else last :]
    kept.append("")


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
