"""Sources in the formats of office programs, written by other people's programs."""

import io
import shutil
import subprocess
import zipfile

import docx
import openpyxl
import pptx
import pytest
from odf import opendocument, table, text

from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.messages import Source

WITHOUT_LIBREOFFICE = "LibreOffice is a program of its own, which pip does not install"
WITHOUT_PANDOC = "pandoc is a program of its own, which pip does not install"

CONTAINER = '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
PACKAGE = """<package><metadata><title>A book</title></metadata><manifest>
<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/></spine></package>"""

LETTER = [
    "Dear Ada,",
    "thank you for your notes on the engine, which arrived on Tuesday together with the drawings; I have read"
    " them twice, and each time I found something that I had not expected to see there.",
    "The table of the operations is the part that I like best. It shows, step by step, how a machine of brass"
    " could find numbers that no person has the patience to find, and it does so without one needless word.",
    "There is a small error in the fourth line, where two columns are exchanged; otherwise everything agrees"
    " with my own calculations, and with those that our friend in Turin published last autumn.",
    "Would you permit me to show the notes to the society, or do you prefer to wait until they are printed?",
    "Your friend Charles",
]


def read(data, name=""):
    """The text of a source, read in this process."""
    return extracted_from(Source(data, name))


def places(found):
    """The names of the places of a text, each with its text."""
    ends = (*found.places.starts, len(found.text))[1:]
    return [
        (place.name, found.text[start:end].strip())
        for place, start, end in zip(found.places.places, found.places.starts, ends, strict=True)
    ]


def saved(document):
    """The bytes of what a library writes."""
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def docx_of(paragraphs, title=None):
    """The bytes of a Word document that python-docx writes."""
    document = docx.Document()
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if title:
        document.core_properties.title = title
    return saved(document)


def pptx_of(slides):
    """The bytes of a presentation with a text on each slide."""
    presentation = pptx.Presentation()
    for words in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.placeholders[1].text = words
    return saved(presentation)


def xlsx_of(rows, title="Prices"):
    """The bytes of a workbook with one sheet."""
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    return saved(book)


def odt_of(paragraphs):
    """The bytes of a text document that odfpy writes."""
    document = opendocument.OpenDocumentText()
    for paragraph in paragraphs:
        document.text.addElement(text.P(text=paragraph))
    return saved(document)


def epub_of(paragraphs):
    """A book with one chapter, in the layout of the standard."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as book:
        chapter = "".join(f"<p>{each}</p>" for each in paragraphs)
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", CONTAINER)
        book.writestr("p.opf", PACKAGE)
        book.writestr("a.xhtml", f"<html><body><h1>One</h1>{chapter}</body></html>")
    return written.getvalue()


def ods_of(rows):
    """The bytes of a workbook that odfpy writes."""
    document = opendocument.OpenDocumentSpreadsheet()
    sheet = table.Table(name="Prices")
    for row in rows:
        line = table.TableRow()
        for words in row:
            cell = table.TableCell(valuetype="string")
            cell.addElement(text.P(text=words))
            line.addElement(cell)
        sheet.addElement(line)
    document.spreadsheet.addElement(sheet)
    return saved(document)


def odp_of(slides):
    """A presentation of odfpy, whose pages need only their names here."""
    data = odt_of(slides)
    pages = b'<office:presentation><draw:page xmlns:draw="urn:d"><draw:frame><draw:text-box>'

    def change(name, member):
        if name == "content.xml":
            member = member.replace(b"<office:text>", pages)
            return member.replace(
                b"</office:text>", b"</draw:text-box></draw:frame></draw:page></office:presentation>"
            )
        return member.replace(b"opendocument.text", b"opendocument.presentation")

    return rezipped(data, change)


def converted(folder, data, source, target):
    """The bytes of a document that LibreOffice has converted from one format to another."""
    program = shutil.which("soffice")
    if program is None:
        pytest.skip(WITHOUT_LIBREOFFICE)
    (folder / f"from.{source}").write_bytes(data)
    command = [program, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless"]
    command += ["--convert-to", target, "--outdir", folder / "to", folder / f"from.{source}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return (folder / "to" / f"from.{target}").read_bytes()


def pandoc(folder, markdown, target):
    """The bytes of a document that pandoc has made."""
    program = shutil.which("pandoc")
    if program is None:
        pytest.skip(WITHOUT_PANDOC)
    command = [program, "-f", "markdown", "-o", folder / f"to.{target}"]
    subprocess.run(command, check=True, input=markdown.encode(), timeout=60, capture_output=True)
    return (folder / f"to.{target}").read_bytes()


def rezipped(data, change):
    """A zip file whose members are what `change(name, bytes)` makes of them; None removes a member."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(written, "w") as target:
        for info in source.infolist():
            changed = change(info.filename, source.read(info))
            if changed is not None:
                target.writestr(info, changed)
    return written.getvalue()
