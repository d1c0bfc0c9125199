"""Write paragraphs, and give the text of a source in a zip file: what office files and books share."""

from docindex.frontends.extracted import Extracted, SourcePart, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.safe_xml import TextInside, read_xml
from docindex.frontends.safe_zip import ZipSource

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".emf", ".wmf", ".svg", ".webp")
_THUMBNAILS = ("Thumbnails/", "docProps/")


def write_paragraph(builder: TextBuilder, place: str, text: str) -> None:
    """Add a paragraph to a text, unless it is empty."""
    if text := text.strip():
        builder.add_paragraph(place, text)


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


def read_title(source: ZipSource, name: str) -> str | None:
    """The title in the member of a zip file that has the properties of a document, or None."""
    title = TextInside()
    try:
        properties = source.read_if_there(name)
        if properties is not None:
            read_xml(properties, {"title": title.start}, {"title": title.end}, title.text)
    except NotExtracted:
        return None  # a title is no reason to refuse the text
    return title.take() or None


def _is_picture(name: str) -> bool:
    return name.lower().endswith(_PICTURES) and not name.startswith(_THUMBNAILS)
