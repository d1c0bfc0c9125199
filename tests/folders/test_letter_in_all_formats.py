"""One letter, saved by other people's programs in many formats, is found as one group, with its places."""

import json
import mailbox
import os
import shutil
import zipfile

import pytest

import docindex
from docindex import folders
from tests.frontends.mails import mail_of
from tests.frontends.markup import LETTER, saved
from tests.frontends.office import docx_of, odt_of, pptx_of, xlsx_of
from tests.frontends.prints import pdf_of

SAVED = ("libreoffice.html", "libreoffice.rtf", "pandoc.html", "pandoc.xhtml", "pandoc.tex", "pandoc.rtf")


@pytest.fixture(scope="module")
def paragraphs():
    text = saved("pandoc.html").text
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


@pytest.fixture(scope="module")
def home(tmp_path_factory, paragraphs):
    """The letter in 17 files of 15 formats."""
    folder = tmp_path_factory.mktemp("home")
    text = "\n\n".join(paragraphs)
    for name in SAVED:
        shutil.copy(LETTER / name, folder)
    (folder / "letter.txt").write_text(text, "utf-8")
    (folder / "letter utf-16.txt").write_text(text, "utf-16")
    (folder / "letter.docx").write_bytes(docx_of(paragraphs))
    (folder / "letter.odt").write_bytes(odt_of(paragraphs))
    (folder / "letter.pptx").write_bytes(pptx_of(paragraphs))
    (folder / "letter.xlsx").write_bytes(xlsx_of([[paragraph] for paragraph in paragraphs]))
    (folder / "letter.pdf").write_bytes(pdf_of(paragraphs))
    (folder / "letter.eml").write_bytes(mail_of(text))
    (folder / "letter.json").write_text(json.dumps({"letter": paragraphs}))
    box = mailbox.mbox(folder / "letter.mbox")
    box.add(mail_of(text))
    box.add(mail_of("Another mail, about the weather and nothing else, for a mailbox needs company."))
    box.close()
    with zipfile.ZipFile(folder / "letter.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("old/letter.txt", text)
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    return folder


@pytest.fixture(scope="module")
def index(home, tmp_path_factory):
    with docindex.open(tmp_path_factory.mktemp("index") / "index") as opened:
        seen = folders.scan(opened, [home], options=folders.WalkOptions(formats="archives"))
        assert (seen.unread, seen.problems) == ((), {})
        yield opened


def letters(index):
    return [key for key in index if "message 2" not in key]


def test_the_letter_is_contained_in_every_other_format(index):
    keys = letters(index)
    assert len(keys) == 17
    for a in keys:
        for b in keys:
            assert index.measures(docindex.Key(a), docindex.Key(b)).containment >= 0.95, (a, b)


def test_all_formats_are_one_group(home, index):
    groups = folders.find(index, [home]).likenesses
    (group,) = [group for group in groups if group.kind != "contained"]
    found = {os.path.basename(file.key) for file in group.files}
    assert found == {os.path.basename(key) for key in letters(index)}


def test_a_passage_is_found_at_its_place_in_each_format(home, index, paragraphs):
    number, paragraph = max(enumerate(paragraphs, 1), key=lambda numbered: len(numbered[1]))
    places = {}
    for match in index.search(paragraph, limit=None):
        passage = max(match.passages(), key=lambda passage: passage.length)
        places[os.path.relpath(match.key, home)] = passage.place
    expected = {
        "letter.docx": f"paragraph {number}",
        "letter.odt": f"paragraph {number}",
        "letter.pptx": f"slide {number}",
        "letter.xlsx": f"Prices!A{number}",
        "letter.pdf": "page 1",
        "letter.txt": "",
    }
    assert {name: places[name] for name in expected} == expected
    assert "letter.mbox!/message 1" in places
    assert "letter.zip!/old/letter.txt" in places


def test_an_archive_is_read_only_if_that_is_asked_for(home, tmp_path):
    options = folders.WalkOptions(formats="archives")
    shutil.copy2(home / "letter.zip", tmp_path / "letter.zip")
    with docindex.open(":memory:") as index:
        assert folders.scan(index, [tmp_path]).texts == 0
        assert folders.scan(index, [tmp_path], options=options).changed == 1
        assert list(index) == [str(tmp_path / "letter.zip!/old/letter.txt")]
        assert folders.scan(index, [tmp_path], options=options).bytes_read == 0
        assert folders.scan(index, [tmp_path]).unchanged == 1
