"""The text of a PDF has the words of its source in their order, whatever program wrote it."""

import subprocess
import sys
import zlib

import pypdf
import pytest

from docindex.frontends.failures import NotExtracted
from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from tests.frontends.mutations import outcomes_of_mutations
from tests.frontends.office import docx_of
from tests.frontends.prints import (
    chromium,
    containment,
    letter,
    libreoffice,
    locked,
    pages_of,
    pdf_of,
    pdftex,
    printed_by_chromium,
    printed_by_libreoffice,
)


def read(data):
    return extracted_from(Source(data, "letter.pdf"))


def refusal(data):
    with pytest.raises(NotExtracted) as raised:
        read(data)
    return raised.value.reason


def outcome(function, *arguments):
    """The words of a text, or the reason not to have one."""
    try:
        return function(*arguments).text.split()
    except NotExtracted as error:
        return error.reason


def test_a_pdf_of_reportlab_has_the_text_the_title_and_the_pages():
    paragraphs = letter(2000)
    found = read(pdf_of(paragraphs, head="A novel", title="Pride"))
    assert containment(paragraphs, found.text) == 1.0
    assert (found.title, found.reading, found.warnings) == ("Pride", "pdf-1", ())
    assert found.places.at(0).name == "page 1"
    assert found.places.at(len(found.text) - 3).name.startswith("page ") != "page 1"
    left, bottom, right, top = found.places.at(0).box
    assert 0 < left < right < 600
    assert 0 < bottom < top < 850


def test_running_heads_and_page_numbers_are_left_out():
    found = read(pdf_of(letter(3000), head="A novel in three volumes"))
    assert "volumes" not in found.text
    assert "Page" not in found.text


def test_the_page_number_of_a_single_page_is_left_out_and_other_numbers_stay():
    found = read(pdf_of(["Dear Ada", "1", "yours"], head="Invoice 1"))
    assert found.text.split() == ["Invoice", "1", "Dear", "Ada", "1", "yours"]


def test_the_same_line_on_two_pages_stays():
    found = read(pages_of(["Dear Ada"], ["Dear Ada"]))
    assert found.text.split() == ["Dear", "Ada", "Dear", "Ada"]


def test_a_word_divided_at_the_end_of_a_line_is_joined():
    found = read(pages_of(["It was a sur-", "prise to good-", "humoured Anne-", "Marie, the good-humoured"]))
    assert found.text.split() == [
        *("It", "was", "a", "surprise", "to", "good-humoured", "Anne-", "Marie,", "the", "good-humoured")
    ]


def test_a_word_divided_at_the_end_of_a_page_is_joined():
    found = read(pages_of(["It was a sur-"], ["prise to all"]))
    assert found.text.split() == ["It", "was", "a", "surprise", "to", "all"]
    assert found.places.between(0, len(found.text)) == "page 1 to page 2"


@chromium
def test_two_columns_of_a_browser_are_read_one_after_the_other(tmp_path):
    paragraphs = letter(800)
    divided = [
        " ".join(word[:4] + "&shy;" + word[4:] if len(word) > 7 else word for word in text.split())
        for text in paragraphs
    ]
    style = "div { column-count: 2; text-align: justify; hyphens: manual; font-family: serif }"
    body = "".join(f"<p>{text}</p>" for text in divided)
    page = f"<meta charset=utf-8><title>Two columns</title><style>{style}</style><div>{body}</div>"
    found = read(printed_by_chromium(tmp_path, page))
    assert containment(paragraphs, found.text) >= 0.99
    assert found.title == "Two columns"


@chromium
def test_ligatures_and_other_scripts_are_read(tmp_path):
    text = "An efficient office offers fluffy waffles. Größe, naïve, Ελλάδα, Россия."
    page = f"<meta charset=utf-8><p style='font-variant-ligatures: common-ligatures'>{text}"
    assert read(printed_by_chromium(tmp_path, page)).text.split() == text.split()


@libreoffice
def test_a_pdf_of_libreoffice_has_the_text(tmp_path):
    paragraphs = letter(400)
    found = read(printed_by_libreoffice(tmp_path, "letter.docx", docx_of(paragraphs, title="To Ada")))
    assert containment(paragraphs, found.text) == 1.0
    assert found.title == "To Ada"
    assert len(found.text.split("\n\n")) >= len(paragraphs)


@pdftex
def test_ligatures_and_quotation_marks_of_bitmap_fonts_are_read(tmp_path):
    text = (
        "fine efficient office fluffy waffles, \u201cquoted\u201d \u2013 so \u2014 that the affair is final"
    )
    written = text.translate({0x201C: "``", 0x201D: "''", 0x2013: "--", 0x2014: "---"})
    head = "\\documentclass{article}\\usepackage[T1]{fontenc}\\pagestyle{empty}"
    page = f"{head}\\begin{{document}}{written}\\end{{document}}"
    (tmp_path / "x.tex").write_text(page, "ascii")
    command = ["pdflatex", "-interaction=batchmode", "x.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    assert read((tmp_path / "x.pdf").read_bytes()).text.split() == text.split()


def test_a_pdf_that_needs_a_password_is_encrypted_and_one_that_does_not_is_read():
    assert refusal(pages_of(["Dear Ada"], encrypt=locked("secret"))) == "encrypted"
    assert read(pages_of(["Dear Ada"], encrypt=locked(""))).text.split() == ["Dear", "Ada"]


def test_pictures_have_no_text_and_among_others_they_are_counted():
    assert refusal(pages_of([], [])) == "no text"
    found = read(pages_of(["Dear Ada"], [], []))
    assert found.warnings == ("2 of 3 pages have no text: they are empty or pictures.",)


def test_what_is_no_pdf_is_damaged_or_unknown():
    assert refusal(b"%PDF-1.4 and so on") == "damaged"
    assert refusal(b"plain text") == "unknown format"
    assert refusal(b"\0\1\2\3") == "unknown format"


def plain_pdf(*objects):
    """A PDF without compression and without a table of objects, which readers rebuild."""
    numbered = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, each) for n, each in enumerate(objects, 1))
    return b"%PDF-1.4\n" + numbered + b"trailer\n<</Root 1 0 R>>\n%%EOF"


CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R" + FONT


def drawing(content, filters=b""):
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), filters, content)


def test_loops_of_pages_and_drawings_end():
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    loop = b"<</Type/Pages/Kids[2 0 R 3 0 R]/Count 9>>"
    text = drawing(b"BT /F1 12 Tf 72 700 Td (Dear Ada) Tj ET /Self Do")
    itself = PAGE + b"/XObject<</Self 5 0 R>>>>>>"
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<</Self 5 0 R>>>>"
    form += b"/Length 8>>stream\n/Self Do\nendstream"
    assert read(plain_pdf(CATALOG, pages, itself, text, form)).text.split() == ["Dear", "Ada"]
    assert outcome(read, plain_pdf(CATALOG, loop, itself, text, form)) in (
        ["Dear", "Ada"],
        "damaged",
        "no text",
    )


def test_a_million_pages_that_are_not_there_are_refused_fast():
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 1000000>>"
    assert refusal(plain_pdf(CATALOG, pages, PAGE + b">>>>", drawing(b""))) in (
        "too large",
        "no text",
        "damaged",
    )


@pytest.fixture(scope="module")
def bombs():
    """Drawings of 100 MB to 1 GB, which are compressed."""
    text = b"BT /F1 12 Tf 72 700 Td (Dear Ada) Tj ET\n"
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    packer = zlib.compressobj(1)
    piece = text * 25_000
    once = b"".join([*(packer.compress(piece) for _ in range(100)), packer.flush()])
    packer = zlib.compressobj(1)
    spaces = b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(1000)), packer.flush()])
    one = b"/Filter/FlateDecode"
    return [
        plain_pdf(CATALOG, pages, PAGE + b">>>>", drawing(once, one)),
        plain_pdf(CATALOG, pages, PAGE + b">>>>", drawing(spaces, one)),
        plain_pdf(
            CATALOG, pages, PAGE + b">>>>", drawing(zlib.compress(spaces), b"/Filter[" + one[7:] * 2 + b"]")
        ),
    ]


DRAWN = ["Dear", "Ada"]  # all at one place
OUTCOMES = (DRAWN, "too large", "too slow", "too much work", "damaged", "no text")


def test_huge_drawings_are_given_up_within_the_limits(bombs):
    with Extractor(limit_s=6) as extractor:
        for bomb in bombs:
            assert outcome(extractor.extract, Source(bomb, "bomb.pdf")) in OUTCOMES
        assert extractor.extract(Source(pages_of(["Dear Ada"]), "a.pdf")).text == "Dear Ada\n\n"


LEAK = """
import resource, sys
from docindex.frontends.isolated import child
from docindex.frontends.isolated.messages import Source
child._limit_memory()
data = sys.stdin.buffer.read()
def size():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
for number in range(1000):
    child.extracted_from(Source(data, "x.pdf"))
    if number == 100:
        first = size()
print((size() - first) // 1000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_thousand_pdfs_in_one_process_do_not_leak():
    data = pdf_of(letter(400))
    ran = subprocess.run(
        [sys.executable, "-c", LEAK], input=data, capture_output=True, check=True, timeout=120
    )
    assert int(ran.stdout) < 4000, "kilobytes"


def test_attached_files_are_parts(tmp_path):
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_attachment("letter.txt", b"Dear Ada")
    writer.write(tmp_path / "x.pdf")
    (part,) = read((tmp_path / "x.pdf").read_bytes()).parts
    assert (part.name, part.data) == ("letter.txt", b"Dear Ada")


def test_mutated_pdfs_have_a_text_or_a_reason():
    sources = [pdf_of(letter(200)), pages_of(["Dear Ada", "yours"], [], encrypt=locked("")), pages_of(["x"])]
    found = outcomes_of_mutations(sources, "pdf")
    assert set(found) <= {"text", "damaged", "no text", "encrypted", "too large"}
    assert found["text"] > 50
