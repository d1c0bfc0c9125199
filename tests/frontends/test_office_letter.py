"""The same letter has the same words in every format of office programs."""

import shutil

import pytest

import docindex
from tests.frontends.office import (
    LETTER,
    WITHOUT_LIBREOFFICE,
    WITHOUT_PANDOC,
    converted,
    docx_of,
    odt_of,
    pandoc,
    pptx_of,
    read,
    xlsx_of,
)


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """The text of the letter in each format, by the program that wrote it."""
    folder = tmp_path_factory.mktemp("letters")
    found = {
        "docx of python-docx": docx_of(LETTER),
        "odt of odfpy": odt_of(LETTER),
        "pptx of python-pptx": pptx_of(["\n".join(LETTER[:3]), "\n".join(LETTER[3:])]),
        "xlsx of openpyxl": xlsx_of([[paragraph] for paragraph in LETTER]),
    }
    if shutil.which("pandoc"):
        text = "\n\n".join(LETTER)
        found |= {f"{kind} of pandoc": pandoc(folder, text, kind) for kind in ("docx", "odt", "epub", "pptx")}
    if shutil.which("soffice"):
        for source, target in (("docx", "odt"), ("odt", "docx"), ("pptx", "odp"), ("xlsx", "ods")):
            data = next(data for name, data in found.items() if name.startswith(source))
            found[f"{target} of LibreOffice"] = converted(folder, data, source, target)
    return {name: read(data).text for name, data in found.items()}


def test_the_letter_is_contained_in_every_other_format(letters):
    for name, text in letters.items():
        for other, words in letters.items():
            assert docindex.containment(text, words) >= 0.95, f"{name} in {other}"


def test_every_format_gives_the_words_of_the_letter_in_their_order(letters):
    for name, text in letters.items():
        assert text.split() == " ".join(LETTER).split(), name


@pytest.mark.skipif(not shutil.which("pandoc"), reason=WITHOUT_PANDOC)
@pytest.mark.skipif(not shutil.which("soffice"), reason=WITHOUT_LIBREOFFICE)
def test_all_writers_took_part(letters):
    assert len(letters) == 12
