"""Whatever an office file or a book contains, it is read or refused with a reason, within bounds."""

import io
import random
import zipfile

import msoffcrypto.format.ooxml
import pptx
import pytest

from docindex.frontends.failures import NotExtracted
from docindex.frontends.recognition import recognise
from tests.frontends.amplifiers import document, drawings, sheets
from tests.frontends.mutations import outcomes_of_mutations
from tests.frontends.office import (
    docx_of,
    epub_of,
    odp_of,
    ods_of,
    odt_of,
    pptx_of,
    read,
    rezipped,
    saved,
    xlsx_of,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(99)

SAMPLES = {
    "docx": docx_of(["Dear Ada", "yours"], title="A letter"),
    "pptx": pptx_of(["Dear Ada", "yours"]),
    "xlsx": xlsx_of([["Dear Ada", 1.5], ["yours", True]]),
    "odt": odt_of(["Dear Ada", "yours"]),
    "ods": ods_of([["Dear Ada", "yours"], ["yours"]]),
    "odp": odp_of(["Dear Ada", "yours"]),
    "epub": epub_of(["Dear Ada &amp; yours"]),
}
MAIN = {
    "docx": "word/document.xml",
    "pptx": "ppt/presentation.xml",
    "xlsx": "xl/workbook.xml",
    "odt": "content.xml",
    "ods": "content.xml",
    "odp": "content.xml",
    "epub": "p.opf",
}
every_format = pytest.mark.parametrize("kind", SAMPLES)


def refused(data, name=""):
    with pytest.raises(NotExtracted) as raised:
        read(data, name)
    return raised.value


@every_format
def test_a_source_is_recognised_by_its_content_whatever_its_name(kind):
    assert recognise(SAMPLES[kind], "x.zip").name == kind
    assert "Dear Ada" in read(SAMPLES[kind], "x.bin").text


@every_format
def test_a_zip_file_that_holds_a_source_is_not_one(kind):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("letter", SAMPLES[kind])
    assert recognise(written.getvalue(), "letters.zip") is None


@every_format
def test_plain_text_and_pictures_with_the_extension_are_no_source(kind):
    for data in (b"Dear Ada", PNG, b"", b"P"):
        assert refused(data, f"x.{kind}").reason == "unknown format"


@every_format
def test_a_source_without_its_main_part_is_damaged(kind):
    data = rezipped(SAMPLES[kind], lambda name, member: None if name == MAIN[kind] else member)
    error = refused(data, f"x.{kind}")
    assert error.reason == "damaged"
    assert str(error) == f"its member {MAIN[kind]!r} is missing"


@every_format
def test_a_source_that_is_cut_is_damaged(kind):
    assert refused(SAMPLES[kind][:-99], f"x.{kind}").reason == "damaged"


@pytest.mark.parametrize("kind", ["docx", "odt"])
def test_a_source_whose_properties_are_damaged_has_its_text_and_no_title(kind):
    properties = {"docx": "docProps/core.xml", "odt": "meta.xml"}[kind]
    data = bytearray(SAMPLES[kind])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        at = archive.getinfo(properties).header_offset
    data[at : at + 4] = b"none"
    found = read(bytes(data))
    assert found.title is None
    assert found.text.startswith("Dear Ada")


@every_format
@pytest.mark.parametrize(
    "declared", ['ENTITY a "aaaaaaaaaa"', 'ATTLIST x a CDATA "aaaaaaaaaa"', "ELEMENT x ANY"]
)
def test_declarations_inside_a_source_are_refused(kind, declared):
    bomb = f"<!DOCTYPE x [<!{declared}>]><x/>".encode()
    data = rezipped(SAMPLES[kind], lambda name, member: bomb if name == MAIN[kind] else member)
    assert "contains a DTD" in str(refused(data, f"x.{kind}"))


@every_format
def test_a_million_nested_marks_are_refused(kind):
    deep = b"<p>" * 1_000_000
    data = rezipped(SAMPLES[kind], lambda name, member: deep if name == MAIN[kind] else member)
    assert "levels deep" in str(refused(data, f"x.{kind}"))


@every_format
def test_a_source_with_pictures_only_has_no_text(kind):
    def without_text(_, member):
        for words in (b"Dear Ada &amp; yours", b"Dear Ada", b"yours", b"One"):
            member = member.replace(words, b"")
        return member

    data = rezipped(SAMPLES[kind], without_text)
    if kind == "xlsx":
        data = xlsx_of([])
    assert read(data, f"x.{kind}").text == ""
    written = io.BytesIO(data)
    with zipfile.ZipFile(written, "a") as archive:
        archive.writestr("Pictures/scan.png", PNG)
    error = refused(written.getvalue(), f"x.{kind}")
    assert (error.reason, str(error)) == ("no text", "it has pictures only")


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_a_file_of_office_that_needs_a_password_is_encrypted(kind):
    written = io.BytesIO()
    msoffcrypto.format.ooxml.OOXMLFile(io.BytesIO(SAMPLES[kind])).encrypt("secret", written)
    assert refused(written.getvalue(), f"x.{kind}").reason == "encrypted"


@pytest.mark.parametrize("kind", ["odt", "ods", "odp"])
def test_an_open_document_that_needs_a_password_is_encrypted(kind):
    """As the standard says: the manifest names the encryption, and the members are noise."""

    def change(name, member):
        if name == "META-INF/manifest.xml":
            return member.replace(b"</manifest:manifest>", b"<manifest:encryption-data/></manifest:manifest>")
        return random.Random(7).randbytes(500) if name == "content.xml" else member

    assert refused(rezipped(SAMPLES[kind], change)).reason == "encrypted"


def test_a_presentation_that_names_a_slide_a_million_times_is_read_once():
    document = pptx.Presentation()
    document.slides.add_slide(document.slide_layouts[1]).shapes.title.text = "once"
    mark = b"<p:sldIdLst>"

    def change(name, member):
        entry = member[member.find(b"<p:sldId ") : member.find(b"</p:sldIdLst>")]
        return member.replace(mark, mark + entry * 300_000) if name == MAIN["pptx"] else member

    assert read(rezipped(saved(document), change)).text == "once\n\n"


def test_a_part_that_is_named_a_hundred_thousand_times_is_read_once():
    entry = b'<Relationship Id="n" Type="http://x/comments" Target="styles.xml"/>'

    def change(name, member):
        if name == "word/_rels/document.xml.rels":
            return member.replace(b"</Relationships>", entry * 100_000 + b"</Relationships>")
        if name == "word/styles.xml":
            return b"<comments><comment><p><t>once</t></p></comment></comments>"
        return member

    assert read(rezipped(SAMPLES["docx"], change)).text.count("once") == 1


def test_a_sheet_that_a_workbook_lists_a_thousand_times_is_read_once():
    assert read(sheets(1000)).text.split() == ["1"] * 1000
    assert read(drawings(100)).text.split().count("x") == 15_000


def test_a_namespace_of_a_megabyte_is_refused():
    assert "namespace of more than 1,000 characters" in str(refused(document(b"", b"u" * 1_000_000)))
    assert read(document(b"", b"u" * 1000)).text == ""


def test_a_shared_text_that_a_million_cells_repeat_is_refused_when_it_becomes_too_long():
    shared = b"<sst><si><t>" + b"long " * 10_000 + b"</t></si></sst>"
    cells = b'<row><c t="s"><v>0</v></c></row>' * 1_000_000

    def change(name, member):
        if name == "xl/theme/theme1.xml":
            return shared
        if name.endswith("sheet1.xml"):
            return b"<sheetData>" + cells + b"</sheetData>"
        return member.replace(b'relationships/theme"', b'relationships/sharedStrings"')

    assert refused(rezipped(xlsx_of([["x"]]), change)).reason == "too large"


@every_format
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_mutated_source_is_read_or_refused_with_a_reason(kind):
    assert 10 < outcomes_of_mutations([SAMPLES[kind]], kind)["text"] < 290
