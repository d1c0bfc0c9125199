"""Extract the text of Rich Text Format (.rtf).

Gives the paragraphs of the body and of tables and text boxes, then foot- and endnotes and comments. Headers
and footers of pages, the numbers of lists, hidden and deleted text are left out. A place is a paragraph,
counted as in a word processor: from 1, also in tables.
"""

from docindex.frontends.extracted import Extracted
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.rtf_reader import RtfReader


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of an RTF document."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise NotExtracted("damaged", "it does not begin like an RTF file")
    reader = RtfReader(data.decode("latin-1"))
    return reader.builder.extracted(reader.title)


FRONT_END = FrontEnd(
    "rtf",
    1,
    extract,
    (b"{\\rtf",),
    extensions=frozenset({".rtf"}),
    media_types=frozenset({"application/rtf", "text/rtf", "text/richtext"}),
    most_bytes=100_000_000,
)
