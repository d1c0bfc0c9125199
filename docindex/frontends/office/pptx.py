"""Extract the text of PowerPoint presentations (.pptx, .ppsx, .potx, and those with macros).

Gives the slides in the order of the presentation, hidden ones too: the paragraphs of their shapes, tables and
diagrams in the order of the file, then the speaker's notes and the comments. Slide numbers, dates and footers
are left out, and so is what a slide inherits from its layout.
"""

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.office.drawing_ml import shape_texts
from docindex.frontends.office.ooxml import (
    SIGNATURES,
    TITLE_PART,
    has_member,
    main_part,
    refuse_encrypted,
    relations,
    targets,
)
from docindex.frontends.office.paragraphs import read_title, text_of_zip, warn_of_damage
from docindex.frontends.safe_xml import Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource

_BESIDE = (
    ("/diagramData", "slide {}"),
    ("/notesSlide", "notes of slide {}"),
    ("/comments", "comments on slide {}"),
)
"""The parts that belong to a slide, and the names of their places."""


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of a presentation."""
    refuse_encrypted(data)
    source = ZipSource(data)
    main = main_part(source, "ppt/presentation.xml")
    builder = TextBuilder()
    for number, slide in enumerate(_slides(source, main), 1):
        try:
            _write(builder, source.read(slide), f"slide {number}")
            beside = relations(source, slide)
        except NotExtracted as error:
            warn_of_damage(builder, f"Slide {number}", error)
            continue
        for kind, place in _BESIDE:
            for part in source.unread(targets(beside, kind)):
                try:
                    _write(builder, source.read(part), place.format(number))
                except NotExtracted as error:
                    warn_of_damage(builder, f"A part of the {place.format(number)}", error)
    return text_of_zip(builder, source, read_title(source, TITLE_PART))


def _slides(source: ZipSource, main: str) -> list[str]:
    """The names of the slides' parts, in the order of the presentation."""
    parts = {relation.identity: relation.target for relation in relations(source, main)}
    found: dict[str, None] = {}  # each once: a list that names one slide a million times is no presentation

    def start(attributes: Attributes) -> None:
        if attributes.get("id") in parts:
            found[parts[attributes["id"]]] = None

    read_xml(source.read(main), {"sldId": start})
    return list(found)


def _write(builder: TextBuilder, part: bytes, place: str) -> None:
    for text in shape_texts(part):
        builder.add_paragraph(place, text)


FRONT_END = FrontEnd(
    "pptx",
    1,
    extract,
    SIGNATURES,
    lambda data: has_member(data, b"ppt/presentation.xml"),
    frozenset({".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"}),
    frozenset(
        {
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
        }
    ),
)
