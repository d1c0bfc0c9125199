"""The time to read a text grows with its length and not with its square, whatever the text is made of.

The texts repeat the tokens of a format, alone and in pairs: what opens something that nothing closes, what
may begin many things, and what closes nothing.
"""

import contextlib
import itertools
import time

import pytest

from docindex.frontends import NotExtracted
from docindex.frontends.extracted import TextBuilder
from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.messages import Source
from docindex.frontends.mail.body import without_quotes
from docindex.frontends.office.cells import date_kind
from docindex.frontends.office.epub import read_chapter
from docindex.frontends.pdf import PrintedLine, PrintedPage, add_pages
from docindex.reading.code.syntax import _SYNTAXES, comments_and_strings
from docindex.reading.registry import symbol_reader
from docindex.reading.sentences import sentences_of
from docindex.sql.editable_table import followed_table

LENGTH = 12_000
MAIL = "From: a@b.c\nMessage-ID: <a>\nMIME-Version: 1.0\nContent-Type: "
HTML = (
    *(
        "<",
        ">",
        "</",
        "<!--",
        "-->",
        "<![CDATA[",
        "<a ",
        "<a x='",
        '"',
        "=",
        "<title>",
        "<script>",
        "</script ",
    ),
    *("&", "&#9", "<p>", "</p>", "<q hidden>", " ", "x", "<table><tr><td>", "<blockquote>"),
)
FORMATS = {
    "html": ("<html>", HTML),
    "markdown": (
        "# x\n\n",
        (
            "[",
            "](",
            "![",
            "`",
            "``",
            "*",
            "**",
            "<a ",
            "<!--",
            "{#",
            "[^",
            "]:",
            "\n",
            "~~~",
            "- ",
            "a",
            "(",
            "1. ",
        ),
    ),
    "tex": (
        "\\documentclass{a}\n\\begin{document}",
        (
            *(
                "\\begin{verbatim}",
                "\\end{",
                "\\verb|",
                "\\section{",
                "\\footnote{",
                "{",
                "}",
                "[",
                "\\",
                "%",
                "$",
            ),
            *("\\'", "^{", "\n", "\\item[", "\\begin{tabular}", "\\url{", "`", "-", " ", "a"),
        ),
    ),
    "rtf": (
        "{\\rtf1 ",
        (
            "{",
            "}",
            "\\bin9",
            "\\bin",
            "\\'e9",
            "\\u8",
            "\\*",
            "\\footnote",
            "{\\title ",
            "\\par",
            "\\tx",
            "\\",
            "a",
        ),
    ),
    "json": (
        "[",
        ("[", "{", '"', "\\", '"a":', "-1", "1.e", "/*", "//", "*/", "true", "NaN", "\n", ",", "é"),
    ),
    "subtitles": (
        "1\n00:00:01,000 --> 00:00:02,000\n",
        (
            "\n",
            "<b",
            "<i>",
            "{\\",
            "00:00:01,000 --> 00:00:02,000\n",
            "1",
            "00:",
            "-->",
            "<00:",
            " ",
            "a",
            "&",
        ),
    ),
    "csv": ("a,b\n1,2\n", ('"', ",", ";", "\t", "\n", "|", "'", "a", '""', " ")),
    "mbox": (
        "From a 10:10\nFrom: a\n\n",
        ("\nFrom a 10:10\nA:", "From ", "10:10", "\n", ">", ">From ", "A:"),
    ),
    "eml": (
        MAIL + "multipart/mixed; boundary=a\n\n",
        (
            "--a\n",
            "--a--",
            "--",
            "\n",
            "Content-Type: multipart/mixed; boundary=a\n\n",
            " ",
            "A:b\n",
            "> ",
            "x",
        ),
    ),
    "ipynb": (
        '{"cells": [{"cell_type": "markdown", "source": "',
        ("`", "[", "*", "<a ", "\\n", "](", "{#", "&"),
    ),
}
HEADERS = ("=?utf-8?q?", "?=", "=?utf-8?b?", "a", '"', "; a*0*=", ",", "%41", "(")
CODES = ("[", "]", '"', "\\", "_", "*", "[h", "d", ";", "#", "0", "@", "General", "y")
CODE = (
    "/*",
    "*/",
    "//",
    "'",
    '"',
    "\\",
    "`",
    "{-",
    "-}",
    "#",
    "[[",
    "--",
    'R"(',
    "r#",
    "=begin",
    "\n",
    "'''",
    "/",
    "a",
    ")",
)


def hard_texts(tokens, length):
    pairs = [(token,) for token in tokens] + [*itertools.permutations(tokens, 2)]
    for pair in pairs:
        word = "".join(pair)
        yield word * (length // len(word))


def refuse_square_time(read, tokens, head="", end=""):
    """Read hard texts of one length and, if that takes a while, of eight times that length."""
    for short, long in zip(hard_texts(tokens, LENGTH), hard_texts(tokens, 8 * LENGTH), strict=True):
        took = seconds(read, head + short + end)
        if took > 0.02:
            took = min(took, seconds(read, head + short + end))
            assert seconds(read, head + long + end) < 24 * max(took, 0.02), short[:40]


def seconds(read, text):
    begin = time.thread_time()
    with contextlib.suppress(NotExtracted, ValueError):
        read(text)
    return time.thread_time() - begin


@pytest.mark.parametrize("name", FORMATS)
def test_reading_a_format_takes_linear_time(name):
    head, tokens = FORMATS[name]
    refuse_square_time(lambda text: extracted_from(Source(text.encode(), format=name)), tokens, head)


@pytest.mark.parametrize("header", ["Subject", "Content-Type", "Content-Disposition: attachment; filename"])
def test_reading_the_headers_of_a_mail_takes_linear_time(header):
    join = "=" if "filename" in header else ": "
    head = f"From: a@b.c\nMessage-ID: <a>\n{header}{join}"
    refuse_square_time(
        lambda text: extracted_from(Source(text.encode(), format="eml")), HEADERS, head, "\n\ntext\n"
    )


def test_reading_a_chapter_takes_linear_time():
    refuse_square_time(lambda text: read_chapter(text.encode()), HTML, "<p>")


def test_a_chapter_may_have_a_character_with_a_very_long_number():
    assert read_chapter(b"<p>Ada &#%b; & Bob" % (b"9" * 5000)).paragraphs == ["Ada \ufffd & Bob"]


def test_reading_quotes_and_number_formats_and_printed_lines_takes_linear_time():
    refuse_square_time(without_quotes, ("> ", "\n", "On ", "wrote:", "-----", " ", ":", "| "))
    refuse_square_time(date_kind, CODES)
    refuse_square_time(add_line, ("a", "-", "1", " ", "("), "a-")


def test_reading_the_arguments_of_a_virtual_table_takes_linear_time():
    refuse_square_time(lambda text: followed_table([text]), ("a", "=", " ", "'"), "content=x", "x")


def add_line(text):
    box = (0.0, 400.0, 9.0, 412.0)
    lines = [PrintedLine(each, box, box) for each in (text + "-", "a" * 30)]
    add_pages(TextBuilder(), [PrintedPage(1, 800.0, lines)])


@pytest.mark.parametrize("syntax", _SYNTAXES)
def test_finding_comments_and_strings_takes_linear_time(syntax):
    refuse_square_time(lambda text: list(comments_and_strings(text, syntax)), CODE)


@pytest.mark.parametrize("recipe", ["text/2", "code-names/1"])
def test_reading_sentences_takes_linear_time(recipe):
    reader = symbol_reader(recipe)
    refuse_square_time(
        lambda text: sentences_of(text, reader), (".", '"', "\r", "\n", " ", "\u0301", "a", "漢", "/*")
    )
