"""Write paragraphs, and give the text of a source in a zip file: what office files and books share."""

from docindex.frontends.extracted import Extracted, SourcePart, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.nested_paragraphs import Paragraph
from docindex.frontends.safe_zip import ZipSource

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".emf", ".wmf", ".svg", ".webp")
_THUMBNAILS = ("Thumbnails/", "docProps/")


def write_paragraph(builder: TextBuilder, paragraph: Paragraph) -> None:
    """Add a paragraph to a text, unless it is empty."""
    if text := paragraph.text.strip():
        builder.begin(paragraph.place).add(text).end_paragraph()


def warn_of_damage(builder: TextBuilder, what: str, error: NotExtracted) -> None:
    """Say that a part cannot be read; raise the error again if it is about the whole source."""
    if error.reason != "damaged":
        raise error
    builder.warn(f"{what} cannot be read: {error}.")


def text_of_zip(
    builder: TextBuilder, source: ZipSource, title: str | None, parts: tuple[SourcePart, ...] = ()
) -> Extracted:
    """The whole text; `NotExtracted` if there are only pictures."""
    if not builder.length and not parts and any(_is_picture(name) for name in source.names):
        raise NotExtracted("no text", "it has pictures only")
    return builder.extracted(title, parts)


def _is_picture(name: str) -> bool:
    return name.lower().endswith(_PICTURES) and not name.startswith(_THUMBNAILS)
