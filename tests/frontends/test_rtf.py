"""The text of RTF is that of the document: every code page, and nothing of its tables and pictures."""

import pytest

from docindex.frontends.failures import NotExtracted
from tests.frontends.markup import containment, extracted, places, saved


def rtf(body, fonts=r"{\f0\fcharset0 Arial;}", page=1252):
    return rf"{{\rtf1\ansi\ansicpg{page}\deff0{{\fonttbl{fonts}}}{body}}}"


def escaped(text, encoding):
    return "".join(rf"\'{byte:02x}" for byte in text.encode(encoding))


def raw_letters(text, encoding):
    """Bytes as they are, but for those that have a meaning in RTF."""
    return b"".join(rb"\'%02x" % byte if byte in rb"\{}" else bytes([byte]) for byte in text.encode(encoding))


@pytest.mark.parametrize("name", ["libreoffice.rtf", "pandoc.rtf"])
def test_the_rtf_of_other_writers_gives_the_words_of_the_page(name):
    page, found = saved("pandoc.html"), saved(name)
    assert containment(page.text, found.text) >= 0.95
    assert containment(found.text, page.text) >= 0.95
    assert "Größe, naïve, Łódź, Москва, Αθήνα, 東京 and, because you like such things, 😀." in found.text


def test_libreoffice_gives_a_title_and_a_note_after_the_text():
    found = saved("libreoffice.rtf")
    assert found.title == "A letter to Ada"
    assert places(found)[-1][0] == "note 1"
    assert places(found)[-1][1].startswith("The baker says")


def test_a_place_is_a_paragraph_counted_as_in_a_word_processor():
    found = extracted(rtf(r"One\par\par Three {\b bo}ld\line line\par{\trowd a\cell b\cell\row}end"), "a.rtf")
    assert places(found) == [
        ("paragraph 1", "One\n\n"),
        ("paragraph 3", "Three bold\nline\n\n"),
        ("paragraph 4", "a\n\n"),
        ("paragraph 5", "b\n\n"),
        ("paragraph 6", "end\n\n"),
    ]


@pytest.mark.parametrize(
    ("text", "encoding", "charset"),
    [
        ("Größe “x”", "cp1252", 0),
        ("Москва", "cp1251", 204),
        ("Αθήνα", "cp1253", 161),
        ("日本ソ能", "cp932", 128),
        ("中文", "gbk", 134),
        ("한국", "cp949", 129),
        ("中文", "big5", 136),
    ],
)
def test_letters_of_each_code_page_are_read_by_font_and_by_document(text, encoding, charset):
    fonts = rf"{{\f0\fcharset0 A;}}{{\f7\fcharset{charset} B;}}"
    body = rf"caf\'e9 {{\f7 {escaped(text, encoding)}}} \f7 {escaped(text, encoding)}\par"
    assert extracted(rtf(body, fonts), "a.rtf").text == f"café {text} {text}\n\n"
    page = {"gbk": 936, "big5": 950}.get(encoding) or int(encoding.removeprefix("cp"))
    raw = rtf("TEXT", "", page).encode().replace(b"TEXT", raw_letters(text, encoding))
    assert extracted(raw, "a.rtf").text == f"{text}\n\n"


def test_the_replacements_of_unicode_characters_are_skipped():
    assert extracted(rtf(r"\u228?\u-10179\'3f\u-8704\'3f\uc2\u8364\'45\'55x{\uc0\u228 }y"), "a.rtf").text == (
        "ä😀€xäy\n\n"
    )


def test_pictures_fields_hidden_and_deleted_text_are_left_out():
    body = (
        r"a{\pict\wmetafile8 010203}b{\*\shppict{\pict\pngblip\bin12 {}}}}\\abcdef}c{\*\unknown zzz}"
        r"{\field{\*\fldinst HYPERLINK http://x}{\fldrslt link}}{\v hidden}{\deleted gone}"
        r"{\header page 1\par}d"
    )
    assert extracted(rtf(body), "a.rtf").text == "abclinkd\n\n"


def test_a_document_that_was_cut_off_gives_its_beginning():
    assert extracted(rtf(r"One\par {\b Two {\footnote note")[:-1], "a.rtf").text == "One\n\nTwo\n\nnote\n\n"


def test_a_file_that_only_has_the_extension_is_left_to_plain_text():
    with pytest.raises(NotExtracted) as raised:
        extracted("Dear Ada", "a.rtf")
    assert raised.value.reason == "unknown format"


def test_a_million_groups_are_read_and_more_are_refused():
    assert extracted("{\\rtf1 a" + "{b" * 300_000, "a.rtf").text == "a" + "b" * 300_000 + "\n\n"
    with pytest.raises(NotExtracted, match="nested more than"):
        extracted("{\\rtf1 " + "{" * 1_000_001, "a.rtf")
