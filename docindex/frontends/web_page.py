"""Extract the text of web pages: HTML and XHTML.

Gives what a browser shows as text, without pictures, forms' menus and hidden elements. Unless the options ask
for navigation, it leaves out navigation, asides, and the header and footer of the page; and if the page says
which part is the main one, the text is that part. A place is the nearest heading above, or the number
of a paragraph that comes before all headings.
"""

import re

from docindex.frontends.decoded_source import decode_source
from docindex.frontends.extracted import Extracted
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.page_reader import PageReader
from docindex.patterns import compiled_bytes

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
