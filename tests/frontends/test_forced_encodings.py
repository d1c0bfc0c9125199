"""An encoding that the caller names holds for text that declares none; a declaration comes first."""

import email.message
import zipfile

import pytest

import docindex
from docindex import folders
from docindex.errors import UnreadableFile
from docindex.frontends import ExtractionOptions

WORD = "Größe"
DOS = WORD.encode("cp850")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.html", b"<html><body><p>", b"</p>"),
        ("a.xml", b"<a>", b"</a>"),
        ("a.json", b'["', b'"]'),
        ("a.csv", b"a,b\n1,", b"\n"),
        ("a.md", b"# ", b""),
        ("a.tex", b"\\documentclass{article}\\begin{document}", b"\\end{document}"),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n", b"\n"),
        ("a.eml", b"From: ada\nMessage-ID: <1>\nMIME-Version: 1.0\n\n", b"\n"),
        ("a.txt", b"", b""),
    ],
)
def test_a_text_that_declares_no_encoding_has_the_one_that_is_named(name, before, after):
    found = docindex.extract(before + DOS + after, name=name, encoding="cp850")
    assert WORD in found.text
    assert "<p>" not in found.text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.html", b"<html><meta charset=cp850><p>" + DOS),
        ("a.html", b"<html><meta charset=utf-8><p>" + WORD.encode()),
        ("a.html", b"\xef\xbb\xbf<html><p>" + WORD.encode()),
        ("a.html", ("<html><p>" + WORD).encode("utf-16")),
        ("a.xml", b"<?xml version='1.0' encoding='cp850'?><a>" + DOS + b"</a>"),
        ("a.tex", b"\\documentclass{a}\\usepackage[cp850]{inputenc}\\begin{document}" + DOS),
    ],
)
def test_the_encoding_that_a_source_declares_comes_first(name, data):
    assert WORD in docindex.extract(data, name=name, encoding="koi8-r").text


def test_the_charset_of_a_mail_comes_first():
    mail = email.message.EmailMessage()
    mail["From"], mail["Message-ID"] = "ada", "<1>"
    mail.set_content(WORD, charset="iso-8859-15")
    assert WORD in docindex.extract(bytes(mail), name="a.eml", encoding="cp850").text


def test_a_source_that_is_not_in_the_named_encoding_is_refused():
    with pytest.raises(UnreadableFile, match="not valid ascii"):
        docindex.extract(b"<html><p>" + DOS, encoding="ascii")


def test_a_scan_reads_web_pages_and_archives_again_in_the_named_encoding(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.html").write_bytes(b"<html><p>" + DOS)
    with zipfile.ZipFile(home / "a.zip", "w") as archive:
        archive.writestr("a.txt", DOS)
        archive.writestr("a.png", b"\x89PNG\0\0")
    options = folders.WalkOptions(formats="archives")
    with docindex.open(tmp_path / "index") as index:
        folders.scan(index, [home], options=options)
        seen = folders.scan(index, [home], options=options, encoding="cp850")
        assert {key: index.text(key).strip() for key in index} == {
            f"{home}/a.html": WORD,
            f"{home}/a.zip!/a.txt": WORD,
        }
        assert seen.problems == {}
        again = ExtractionOptions(archives=True)
        assert index.add_file(home / "a.zip", key="z", encoding="cp850", options=again) == ["z!/a.txt"]
        assert index.text("z!/a.txt") == WORD
