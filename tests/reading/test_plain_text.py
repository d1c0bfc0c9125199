import concurrent.futures
import dataclasses
import itertools
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docindex.reading import byte_stream, code_points, plain_text, protocol, slicing
from docindex.reading.registry import symbol_reader
from docindex.reading.slicing import lines_and_columns, slices
from tests import plain, unicode_tables
from tests.reading.alphabets import ALPHABETS

READER = symbol_reader("text/2")
read, readings, offsets = READER.read, READER.readings, READER.offsets

# Letters of many kinds, characters that join or separate words, and characters that may cause errors.
odd = (
    "aZ9 \n\r\t\x00.'éÉßﬁÅ½²ǅ①Ωςσ\u0345ıİſ"
    "\u0301\u0327\u200b\u200d\u200f\ufeff\u00ad\u2028漢字仮名がか\u3099ガ한글\u1112\u1161กข\ud800\udfff🎉ﷺ"
)
# The definition uses the tables of this Python, so leave out what only newer tables have.
characters = st.characters(exclude_categories=["Cn"])
texts = st.text(st.sampled_from(odd) | characters, max_size=40)
ascii_texts = st.text(st.characters(max_codepoint=127), max_size=60)


def same(a, b):
    return all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name))
        for field in dataclasses.fields(protocol.Reading)
    )


@given(texts)
@example(odd)
def test_symbols_and_offsets_are_those_of_the_definition(text):
    expected = plain.symbols(text)
    symbols = read([text]).symbols
    assert symbols.tolist() == [symbol for symbol, _ in expected]
    assert offsets(text, np.arange(len(symbols))).tolist() == [offset for _, offset in expected]
    assert read([text]).words.tolist() == plain.word_starts(text)


@given(texts | ascii_texts)
@example(odd)
@example("".join(ALPHABETS.values()))
def test_the_symbols_of_one_text_are_those_of_its_reading(text):
    assert np.array_equal(READER.symbols(text), read([text]).symbols)


@given(st.lists(texts | ascii_texts, max_size=6))
def test_a_batch_reads_as_its_texts_do_alone(batch):
    together = read(batch, lines=True)
    for number, text in enumerate(batch):
        begin, end = together.starts[number : number + 2]
        alone = read([text], lines=True)
        assert together.symbols[begin:end].tolist() == alone.symbols.tolist()
        for own, all_of in ((alone.words, together.words), (alone.lines, together.lines)):
            assert (all_of[(all_of >= begin) & (all_of < end)] - begin).tolist() == own.tolist()


STREAMS = plain_text._ascii_stream, plain_text._any_stream


def ended(found):
    """A stream and its begins, with the one that is expected at the end."""
    stream, begins = found
    return stream, np.append(begins, len(stream) + 1)


@given(st.lists(ascii_texts, min_size=1, max_size=4))
def test_the_byte_only_path_reads_as_the_general_path_does(batch):
    found = [plain_text._read_bytes(*ended(stream(batch)), True) for stream in STREAMS]
    assert same(*found)


def is_ordered(text):
    """Whether the marks that carry meaning are in Unicode's canonical order."""
    order = [unicodedata.combining(char) for char in unicodedata.normalize("NFKD", text)]
    return not any(0 < after < before for before, after in itertools.pairwise(order))


@given(texts.filter(is_ordered), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
@example("がガ゛ｶﾞぱ㋀½ﷺ한क़", "NFKD")
def test_unicode_normalization_changes_no_symbol_and_no_word(text, form):
    assert same(read([unicodedata.normalize(form, text)]), read([text]))


@given(ascii_texts)
def test_ascii_words_are_runs_of_letters_and_digits(text):
    reading = read([text])
    ends = np.append(reading.words[1:], len(reading.symbols))
    found = [reading.symbols[b:e].tobytes().decode() for b, e in zip(reading.words, ends, strict=False)]
    assert found == plain.words(text)


@given(ascii_texts)
def test_a_line_begins_at_the_first_symbol_after_a_line_end(text):
    lines = ["".join(plain.words(line)) for line in text.replace("\r", "\n").split("\n")]
    expected = np.cumsum([0, *(len(line) for line in lines if line)])[:-1]
    assert read([text], lines=True).lines.tolist() == expected.tolist()


def test_an_offset_of_a_symbol_that_the_text_does_not_have_is_an_error():
    with pytest.raises(IndexError, match="has 2 symbols"):
        offsets("ab", np.array([0, 2]))


def words_of(text):
    reading = read([text])
    found = offsets(text, reading.words)
    return [text[b:e].strip(" \u200b\u200f") for b, e in zip(found, [*found[1:], len(text)], strict=True)]


def test_letters_of_scripts_without_spaces_are_words_and_marks_do_not_separate_words():
    assert words_of("漢字かな交じり") == list("漢字かな交じり")
    assert words_of("ABC漢def") == ["ABC", "漢", "def"]
    assert words_of("cafe\u0301s\u00ad\u200dx \u200fנעים") == ["cafe\u0301s\u00ad\u200dx", "נעים"]
    assert words_of("한국어 글") == ["한국어", "글"]
    assert words_of("กข ကခ កខ") == ["ก", "ข", "က", "ခ", "ក", "ខ"]
    assert words_of("\uf900\u4e00") == ["\uf900", "\u4e00"]
    assert words_of("カタカナ ab\u20ddc") == ["カタカナ", "ab\u20ddc"]
    assert words_of("one\u200btwo") == ["one", "two"]


def test_every_code_point_has_the_symbols_and_words_of_the_definition():
    for begin in range(0, sys.maxunicode + 1, 1 << 12):
        codes = range(begin, begin + (1 << 12))
        text = " ".join(chr(code) for code in codes if unicode_tables.is_known(code))
        assert read([text]).symbols.tolist() == [symbol for symbol, _ in plain.symbols(text)]
        assert read([text]).words.tolist() == plain.word_starts(text)


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
def test_the_letters_of_an_alphabet_do_not_share_a_symbol(alphabet):
    letters, _ = READER.letters([" ".join(alphabet)])
    different = sorted(set(letters.tolist()))
    assert len({read([chr(letter)]).symbols.tobytes() for letter in different}) == len(different) > 20


@given(texts, st.integers(1, 9))
def test_offsets_do_not_depend_on_where_a_long_text_is_cut(text, part):
    expected = [offset for _, offset in plain.symbols(text)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", part)
        assert offsets(text, np.arange(len(expected))).tolist() == expected
        assert "".join(slices(text)) == text
        assert all(len(piece) <= part for piece in slices(text))


@given(st.text("ab\r\n\u2028é", max_size=20), st.sampled_from([1, 2, 3, slicing.PIECE_CHARACTERS]))
def test_lines_and_columns_are_those_that_an_editor_shows(text, part):
    expected, line, column = [], 1, 1
    for offset, char in enumerate(text):
        expected.append((line, column))
        ends_line = char == "\n" or (char == "\r" and text[offset + 1 : offset + 2] != "\n")
        line, column = (line + 1, 1) if ends_line else (line, column + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", part)
        lines, columns = lines_and_columns(text, np.arange(len(text)))
    assert list(zip(lines.tolist(), columns.tolist(), strict=True)) == expected


@given(texts, st.integers(1, 9), st.booleans())
@example("\u0301\u0302 \u0301", 1, True)
@example("a\n" + 3 * "long-windedly " + "b", 4, True)
def test_a_text_read_in_slices_has_the_symbols_words_and_lines_of_the_whole(text, part, lines):
    whole = read([text], lines=lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", part)
        parts = list(readings(text, lines=lines))
    starts = np.cumsum([0, *(len(found.symbols) for found in parts)])
    assert b"".join(found.symbols.tobytes() for found in parts) == whole.symbols.tobytes()
    for name in ("words", "lines"):
        found = [getattr(found, name) + start for found, start in zip(parts, starts, strict=False)]
        assert np.concatenate(found).tolist() == getattr(whole, name).tolist()


def test_a_word_of_several_slices_is_cut_after_a_multiple_of_the_longest_unit(monkeypatch):
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 100)
    parts = list(readings("two " + 1000 * "x" + " end"))
    assert [len(found.symbols) for found in parts if len(found.symbols)] == [
        3,
        *7 * [128],
        1000 - 7 * 128 + 3,
    ]


def test_several_threads_may_read_while_the_tables_are_filled(monkeypatch):
    text = "".join(map(chr, range(0x100, 0x3000))) + "ﬁ漢字ﷺ🎉𒀀"
    expected = read([text]).symbols.tolist()
    for _ in range(5):
        for name in ("_spellings", "_values", "_counts"):
            monkeypatch.setattr(code_points, name, np.zeros_like(getattr(code_points, name)))
        monkeypatch.setattr(code_points, "_filled", set())
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            found = [threads.submit(read, [text]) for _ in range(4)]
        assert all(reading.result().symbols.tolist() == expected for reading in found)


@given(st.lists(texts | ascii_texts, min_size=1, max_size=6), st.booleans())
def test_a_stream_read_in_parts_reads_as_the_whole(batch, lines):
    batch = ["漢字", *batch, "漢字🎉"]
    stream = ended(plain_text._any_stream(batch))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "_PART", 8)
        assert same(plain_text._read_in_parts(*stream, lines), plain_text._read_bytes(*stream, lines))


@pytest.mark.parametrize("few", [1, 1 << 20])
@given(text=texts)
def test_looking_up_all_or_only_odd_characters_gives_the_same_stream(few, text):
    expected = read([text])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_stream, "_FEW_ODD", few)
        patch.setattr(byte_stream, "_FEW_SPECIAL", few)
        assert same(read([text]), expected)
