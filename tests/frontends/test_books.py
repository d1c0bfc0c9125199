"""E-books give the words of their chapters in the order of the book, and name the chapters."""

import io
import zipfile

import pytest

from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.messages import Source
from tests.frontends.office import epub_of, pandoc, places, read, rezipped

MARKDOWN = """---
title: Book of Ada
---
# The first

Dear Ada,[^1] it is *half*way.

- one
- two

[^1]: The note.

# The second

| a | b |
|---|---|
| c | d |
"""
ENCRYPTED = """<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherData><CipherReference URI="{}"/></CipherData>
</EncryptedData></encryption>"""


@pytest.fixture
def book(tmp_path):
    return pandoc(tmp_path, MARKDOWN, "epub")


def test_chapters_come_in_the_order_of_the_spine_with_their_headings(book):
    found = read(book)
    assert found.title == "Book of Ada"
    assert places(found) == [
        ("chapter 1, Book of Ada", "Book of Ada"),
        ("chapter 2, The first", "The first\n\nDear Ada, it is halfway.\n\none\n\ntwo\n\nThe note."),
        ("chapter 3, The second", "The second\n\na\n\nb\n\nc\n\nd"),
    ]
    turned = rezipped(book, lambda _, data: data.replace(b'idref="title_page_xhtml"', b'idref="ch002_xhtml"'))
    assert [name for name, _ in places(read(turned))] == ["chapter 1, The second", "chapter 2, The first"]


def test_the_table_of_contents_is_navigation(book):
    spine = b'<spine toc="ncx">'
    data = rezipped(book, lambda _, old: old.replace(spine, spine + b'<itemref idref="nav"/>'))
    assert places(read(data)) == places(read(book))
    with_navigation = extracted_from(Source(data, options=ExtractionOptions(navigation=True)))
    assert places(with_navigation)[0][0] == "table of contents"
    assert "The first\n\nThe second" in places(with_navigation)[0][1]
    assert places(with_navigation)[1:] == places(read(book))


def chapter_of(book, data):
    """The text of the first chapter when its bytes are these."""
    return dict(places(read(rezipped(book, lambda name, old: data if "ch001" in name else old))))


@pytest.mark.parametrize(
    ("chapter", "expected"),
    [
        (b"<html><body><p>a&nbsp;b&eacute; &amp; c</p></body></html>", "a bé & c"),
        (b"<!DOCTYPE html PUBLIC 'x' 'http://x/'><html><p>a&nbsp;b</p></html>", "a b"),
        (
            b"<p>Bread & butter<p>Tea<br>and <b>ca<i>ke</b></i><!-- x <p>no --> too",
            "Bread & butter\n\nTea\nand cake too",
        ),
        (b"<p>one<script>if (a<b) c()</script>two<style>p{}</style></P>x < y", "onetwo\n\nx < y"),
        (b"<html><head><title>no</title></head><body><td>a</td><td>b</td></body></html>", "a\n\nb"),
        (b"<p><ruby>\xe6\xbc\xa2<rp>(</rp><rt>kan</rt><rp>)</rp></ruby></p>", "漢"),
        (b"<p>see<a role='doc-noteref'>1</a> here</p>", "see here"),
        ("<?xml version='1.0' encoding='utf-16'?><p>größer</p>".encode("utf-16"), "größer"),
    ],
)
def test_a_chapter_gives_the_words_that_a_reader_sees(book, chapter, expected):
    assert chapter_of(book, chapter)["chapter 2"] == expected


def test_a_long_chapter_without_order_is_read_in_linear_time(book):
    for data in (
        b"<!--" * 1_000_000,
        b"<a " * 1_000_000,
        b"<p>" * 500_000,
        b"&" * 2_000_000,
        b"<" * 2_000_000,
    ):
        chapter_of(book, data)


def test_a_chapter_that_is_missing_is_named_and_the_others_are_read(book):
    found = read(rezipped(book, lambda name, data: None if "ch001" in name else data))
    assert [name for name, _ in places(found)] == ["chapter 1, Book of Ada", "chapter 3, The second"]
    assert found.warnings == ("Chapter 2 cannot be read: its member 'EPUB/text/ch001.xhtml' is missing.",)


@pytest.mark.parametrize(
    ("member", "is_readable"), [("EPUB/text/ch001.xhtml", False), ("EPUB/font.otf", True)]
)
def test_protected_chapters_count_as_encrypted_and_protected_fonts_do_not(book, member, is_readable):
    written = io.BytesIO(book)
    with zipfile.ZipFile(written, "a") as target:
        target.writestr("META-INF/encryption.xml", ENCRYPTED.format(member))
    if is_readable:
        assert read(written.getvalue()) == read(book)
    else:
        with pytest.raises(NotExtracted, match="copy protection") as raised:
            read(written.getvalue())
        assert raised.value.reason == "encrypted"


def test_the_text_of_a_chapter_with_declarations_comes_out():
    declared = b'<!DOCTYPE html [<!ATTLIST p class CDATA "x">]><html><body><p>Dear Ada</p></body></html>'
    data = rezipped(epub_of(["x"]), lambda name, member: declared if name == "a.xhtml" else member)
    assert "Dear Ada" in read(data).text
