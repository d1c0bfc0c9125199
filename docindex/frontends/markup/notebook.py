"""Extract the text of Jupyter notebooks (.ipynb): the sources of the cells, without their outputs.

Outputs are left out because they are made from the sources: two runs of one notebook are copies. A place is
a cell, counted from 1.
"""

import json
from collections.abc import Iterator
from typing import Any

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.markup.markdown import without_marks


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a notebook."""
    source = decode_source(data, forced=options.encoding)
    try:
        notebook = json.loads(source, strict=False)
    except (ValueError, RecursionError) as error:
        raise NotExtracted("damaged", f"it is not valid JSON: {error}") from error
    builder = TextBuilder()
    for number, cell in enumerate(_cells(notebook), 1):
        builder.begin(f"cell {number}")
        if isinstance(cell, dict):
            text = _joined(cell.get("source", cell.get("input"))).strip("\n")
            is_markdown = cell.get("cell_type") == "markdown"
            builder.add(without_marks(text) if is_markdown else text).end_paragraph()
    return builder.extracted(_title(notebook))


def _cells(notebook: Any) -> Iterator[Any]:
    """The cells; before version 4 they lie in worksheets."""
    if not isinstance(notebook, dict):
        raise NotExtracted("damaged", "it is JSON, but not a notebook")
    sheets = notebook.get("worksheets")
    holders = [notebook, *(sheets if isinstance(sheets, list) else [])]
    lists = [holder["cells"] for holder in holders if isinstance(holder, dict) and "cells" in holder]
    if not lists or not all(isinstance(cells, list) for cells in lists):
        raise NotExtracted("damaged", "it is JSON, but has no list of cells")
    for cells in lists:
        yield from cells


def _joined(source: Any) -> str:
    """A source, which is a string or a list of lines."""
    if isinstance(source, list):
        return "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""


def _title(notebook: Any) -> str | None:
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else None
    return title if isinstance(title, str) else None


def _is_notebook(data: bytes) -> bool:
    return b'"nbformat"' in data and b'"cells"' in data


FRONT_END = FrontEnd(
    "ipynb",
    1,
    extract,
    (b"{",),
    _is_notebook,
    frozenset({".ipynb"}),
    frozenset({"application/x-ipynb+json"}),
    most_bytes=100_000_000,
)
