"""A scan says which files it could not read and why, as long as they cannot be read, and tries when asked."""

import os
import zipfile

import pytest

import docindex
from docindex import folders
from docindex.cli import main
from docindex.folders.scanning import file_content
from docindex.folders.walking import file_reader
from docindex.frontends import Extracted, FrontEnd, NotExtracted
from tests.frontends.offered import offer
from tests.frontends.office import docx_of
from tests.frontends.prints import pdf_of

RETRY = folders.WalkOptions(retry=True)


@pytest.fixture
def index(tmp_path):
    with docindex.open(tmp_path / "index") as opened:
        yield opened


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def write(path, data, time_s=1e9):
    path.write_bytes(data)
    os.utime(path, (time_s, time_s))  # old enough for a scan to trust it


@pytest.fixture
def slow(monkeypatch):
    """A format whose sources take too long, until the list has an item."""
    quick, asked = [], []

    def extract(data, _):
        asked.append(data)
        if not quick:
            raise NotExtracted("too slow", "it takes more than 60 seconds to read")
        return Extracted(data.decode())

    offer(monkeypatch, FrontEnd("slow", 1, extract, signatures=(b"slowly",)))
    return quick, asked


def test_a_file_that_was_too_slow_is_read_again_only_if_somebody_asks(home, index, slow):
    quick, asked = slow
    write(home / "a letter", b"slowly written")
    for expected in (1, 1):
        seen = folders.scan(index, [home])
        assert len(asked) == expected
        assert [(unread.format, unread.reason) for unread in seen.unread] == [("slow", "too slow")]
    again = folders.scan(index, [home], options=RETRY)
    assert (len(asked), again.unchanged, again.changed) == (2, 1, 0)
    quick.append(True)
    assert folders.scan(index, [home], options=RETRY).changed == 1
    assert index.text(f"{home}/a letter") == "slowly written"
    folders.scan(index, [home], options=RETRY)
    assert len(asked) == 3


def test_the_reasons_are_given_at_every_scan_until_the_file_can_be_read(home, index, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.txt", "some text " * 9)
        archive.writestr("b.txt", "more text " * 9)
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[data.index(b"more text") + 2] ^= 1
    write(home / "cut.zip", bytes(data))
    write(home / "letter.docx", b"PK\3\4 damaged")
    archives = folders.WalkOptions(formats="archives")
    first = folders.scan(index, [home], options=archives)
    assert {os.path.basename(key) for key in first.problems} == {"cut.zip", "letter.docx"}
    again = folders.scan(index, [home], options=archives)
    assert (again.unchanged, again.problems) == (2, first.problems)
    index.close()
    main(["scan", "-v", "--archives", "--index", index.path, str(home)])
    printed = capsys.readouterr().out
    assert "read in part: 1 file\n" in printed
    for problem in first.problems.values():
        assert problem in printed
    write(home / "letter.docx", b"now plain text")
    write(home / "cut.zip", (tmp_path / "x.zip").read_bytes(), time_s=1.1e9)
    with docindex.open(index.path) as opened:
        assert folders.scan(opened, [home], options=archives).problems == {}


@pytest.mark.parametrize(("formats", "encoding"), [("all", None), ("all", "utf-8"), ("plain", "utf-8")])
def test_reading_again_keeps_the_documents_that_only_an_earlier_scan_could_read(
    home, index, formats, encoding
):
    cut = docx_of(["Dear Ada"] * 50)
    with zipfile.ZipFile(home / "a.zip", "w") as archive:
        archive.writestr("letter.docx", cut)
        archive.writestr("damaged.docx", cut[: len(cut) // 2])
    write(home / "a.zip", (home / "a.zip").read_bytes())
    first = folders.scan(index, [home], options=folders.WalkOptions(formats="archives"))
    assert list(first.problems) == [f"{home}/a.zip"]
    options = folders.WalkOptions(formats=formats, retry=True)
    seen = folders.scan(index, [home], options=options, encoding=encoding)
    assert (seen.unchanged, seen.problems) == (1, first.problems)
    assert list(index) == [f"{home}/a.zip!/letter.docx"]


def test_an_archive_that_is_too_new_to_trust_its_time_keeps_its_documents(home, index):
    with zipfile.ZipFile(home / "a.zip", "w") as archive:
        archive.writestr("letter.txt", "Dear Ada " * 9)
    folders.scan(index, [home], options=folders.WalkOptions(formats="archives"))
    seen = folders.scan(index, [home])
    assert (seen.unchanged, list(index)) == (1, [f"{home}/a.zip!/letter.txt"])
    os.utime(home / "a.zip", (1e9, 1e9))
    for _ in range(2):
        assert folders.scan(index, [home]).unchanged == 1
    assert list(index) == [f"{home}/a.zip!/letter.txt"]
    (home / "a.zip").write_bytes(b"no archive")
    folders.scan(index, [home])
    assert list(index) == [f"{home}/a.zip"]


def test_without_formats_a_pdf_in_letters_is_no_text_in_an_unknown_encoding(home, index):
    write(home / "letter.pdf", pdf_of(["Dear Ada"]).replace(b"\0", b"\xe9"))
    write(home / "ascii.pdf", b"%PDF-1.4\nstream\nendstream\n")
    seen = folders.scan(index, [home], options=folders.WalkOptions(formats="plain"))
    assert (seen.undetected, seen.texts, seen.binaries) == ((), 0, 2)
    assert len(folders.scan(index, [home]).unread) + len(index) == 2


def test_a_text_that_is_too_large_is_named(home, index, monkeypatch):
    monkeypatch.setattr(file_reader, "LARGEST_TEXT", 1000)
    monkeypatch.setattr(file_content, "LARGEST_TEXT", 1000)
    write(home / "mail", b"From ada Mon Jan  1 10:00:00 2001\nFrom: ada\nSubject: tea\n\nAt four.\n" * 90)
    write(home / "list.txt", b"tea\n" * 900)
    write(home / "film", b"\0" * 9000)
    for _ in range(2):
        seen = folders.scan(index, [home])
        assert [(os.path.basename(each.key), each.format, each.reason) for each in seen.unread] == [
            ("list.txt", "", "too large"),
            ("mail", "mbox", "too large"),
        ]
        assert len(seen.problems) == 2
    (home / "mail").rename(home / "inbox")
    assert folders.scan(index, [home]).moved == 1
