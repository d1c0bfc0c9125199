import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.frontends.encodings.text import (
    Decoded,
    UndetectedEncoding,
    check_encoding,
    decode,
    looks_binary,
)

TEXT = "Größe: 25 µm"


@pytest.mark.parametrize(
    ("data", "encoding", "guessed"),
    [
        (TEXT.encode(), "utf-8", False),
        (TEXT.encode("utf-8-sig"), "utf-8", False),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16", False),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16", False),
        (TEXT.encode("cp1252"), "windows-1252", True),
    ],
)
def test_the_encoding_of_a_text_is_detected_and_is_a_guess_unless_the_bytes_confirm_it(
    data, encoding, guessed
):
    assert decode(data) == Decoded(TEXT, encoding, guessed)


def test_text_that_is_utf_8_but_for_few_errors_is_read_as_utf_8_which_is_a_guess():
    text = "Größe und Länge, Höhe und Tiefe: " * 11
    assert decode(text.encode() + "ä".encode()[:1]) == Decoded(text + "\ufffd", "utf-8", guessed=True)
    assert decode(text.encode() + b" Gr\xf6\xdfe").text == text + " Gr\ufffd\ufffde"
    with pytest.raises(UndetectedEncoding):
        decode("Größe".encode() * 9 + "für".encode("latin-1") * 9)


def test_text_in_an_encoding_that_is_not_certain_is_refused():
    for data in (b"\xe4\xf6", b"\xe9\x81", bytes(range(128, 256)), "ÄÖÜ ä ö ü".encode("cp850")):
        with pytest.raises(UndetectedEncoding, match="give the encoding that they were written in"):
            decode(data)


def test_japanese_in_escape_sequences_is_read_and_the_sequences_of_a_terminal_stay_as_they_are():
    text = "これは日本語の文章です。"
    assert decode(text.encode("iso2022_jp")) == Decoded(text, "iso2022_jp", guessed=True)
    assert decode(b"\x1b$Bplain text\n") == Decoded("\x1b$Bplain text\n", "utf-8", guessed=False)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_bytes_with_control_characters_after_a_byte_order_mark_are_not_text(encoding):
    assert decode("plain\n".encode(encoding)).text == "plain\n"
    for control in "\0\1\b\x1f":
        assert decode(f"PNG{control}".encode(encoding)) is None
    assert decode(codecs.BOM_UTF16_LE + bytes(10)) is None


@pytest.mark.parametrize("data", [b"PNG\0", b"\x01abc", b"\xff\xfea\0b", b"\x7fELF\x02"])
def test_bytes_with_control_characters_are_not_text(data):
    assert decode(data) is None


def test_tabs_line_ends_form_feeds_and_escapes_occur_in_text():
    assert decode(b"a\tb\r\n\f\x1b[1m").text == "a\tb\r\n\f\x1b[1m"


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])).filter(lambda text: text[:1] != "\ufeff")
)
def test_a_forced_encoding_decodes_what_it_encoded(text):
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "gb18030"):
        decoded = decode(text.encode(encoding), encoding)
        assert (decoded.text, decoded.guessed) == (text, False)
        assert decode(text.encode(encoding), decoded.encoding) == decoded


def test_a_forced_encoding_removes_the_byte_order_mark():
    assert decode(TEXT.encode("utf-8-sig"), "utf-8").text == TEXT
    assert decode(TEXT.encode("utf-16"), "utf-16-le").text == TEXT


def test_bytes_that_are_not_valid_in_a_forced_encoding_are_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"the bytes are not valid utf-8 .*byte 0xf6 in position 2"):
        decode(TEXT.encode("cp1252"), "UTF8")
    with pytest.raises(ValueError, match="the bytes are not valid utf-16"):
        decode(b"odd", "utf-16")


@pytest.mark.parametrize("name", ["utf-9", "", "hex", "rot13", "zlib", "a\0b", "ü", "\ud800", "x" * 5000])
@pytest.mark.parametrize("data", [b"", b"text"])
def test_an_encoding_that_python_does_not_know_is_an_error_that_names_it(name, data):
    with pytest.raises(ValueError, match="unknown encoding"):
        decode(data, name)
    with pytest.raises(ValueError, match="unknown encoding"):
        check_encoding(name)


def test_binary_data_is_not_text_under_a_forced_encoding():
    assert decode(b"PNG" + bytes(9), "latin-1") is None


@given(st.binary(max_size=40), st.sampled_from([None, "utf-8", "latin-1", "cp1252", "utf-16-le"]))
def test_bytes_that_look_binary_are_never_decoded_to_a_text(data, encoding):
    if looks_binary(data, encoding):
        try:
            assert decode(data, encoding) is None
        except ValueError:
            assert encoding is not None
