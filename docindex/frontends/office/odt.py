"""Extract the text of documents of LibreOffice Writer and others (.odt, .ott).

Gives the paragraphs of the body, of tables, text boxes, foot- and endnotes and comments, in the order that
Word documents have. A place is a paragraph of the body, counted from 1, also in tables.
"""

import functools

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.office.opendocument import SIGNATURE, OpenDocument, OpenDocumentText, is_open_document
from docindex.frontends.office.paragraphs import text_of_zip, write_paragraph
from docindex.frontends.safe_xml import read_xml


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a text document."""
    document = OpenDocument(data)
    builder = TextBuilder()

    write = functools.partial(write_paragraph, builder)
    text = OpenDocumentText(write, _place)
    read_xml(document.content(), text.starts, text.ends, text.text)
    for note in text.notes():
        write(*note)
    return text_of_zip(builder, document.source, document.title())


def _place(kind: str, number: int) -> str:
    return f"text box in paragraph {number}" if kind == "text box" else f"{kind} {number}"


FRONT_END = FrontEnd(
    "odt",
    1,
    extract,
    (SIGNATURE,),
    lambda data: is_open_document(data, "text"),
    frozenset({".odt", ".ott", ".odm"}),
    frozenset({"application/vnd.oasis.opendocument.text"}),
)
