"""Extract the text of LaTeX documents (.tex): without comments, commands and the preamble.

Math stays as text, with Greek letters as such. Other files are not followed. Footnotes stand at
the end. A place is a line.
"""

import re

from docindex.frontends.decoded_source import decode_source
from docindex.frontends.extracted import Extracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.tex_reader import TexReader

_ENCODING = re.compile(rb"\\usepackage\s*\[([a-z0-9]{2,20})\]\s*\{inputenc\}")
_INPUT_ENCODINGS = {b"ansinew": "cp1252", b"latin9": "iso-8859-15", b"applemac": "macintosh"}


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a LaTeX document."""
    reader = TexReader(decode_source(data, _declared(data), options.encoding))
    return reader.builder.extracted(reader.title)


def _declared(data: bytes) -> str | None:
    found = _ENCODING.search(data[:20_000])
    return _INPUT_ENCODINGS.get(found[1], found[1].decode("ascii")) if found else None


_MARK = re.compile(rb"\\document(?:class|style)\b")


def _is_document(data: bytes) -> bool:
    return _MARK.search(data[:4096]) is not None


FRONT_END = FrontEnd(
    "tex",
    1,
    extract,
    (b"\\documentclass", b"\\documentstyle", b"% "),
    _is_document,
    frozenset({".tex", ".latex", ".ltx"}),
    frozenset({"application/x-tex", "text/x-tex", "application/x-latex"}),
    is_text=True,
    most_bytes=100_000_000,
)
