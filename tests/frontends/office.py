"""Sources in the formats of office programs, written by other people's libraries."""

import io

import docx


def docx_of(paragraphs, title=None):
    """The bytes of a Word document that python-docx writes."""
    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if title:
        document.core_properties.title = title
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()
