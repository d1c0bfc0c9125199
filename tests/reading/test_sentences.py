import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.reading.registry import symbol_reader
from docindex.reading.sentences import FEWEST_WORDS, MOST_WORDS, sentences_of

PLAIN = symbol_reader("text/2")


def cut(text, reader=PLAIN):
    found = sentences_of(text, reader)
    return [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("...", []),
        ("One two three. Four five six", ["One two three", "Four five six"]),
        ("He said: “One two three.” Four five six", ["He said: “One two three", "Four five six"]),
        ("It costs 3.14 at example.org today", ["It costs 3.14 at example.org today"]),
        ("A title of words\r\n\r\nThe text begins here", ["A title of words", "The text begins here"]),
        ("A line that\ngoes on here", ["A line that\ngoes on here"]),
        ("Yes! No? It begins here now. End", ["Yes! No? It begins here now", "End"]),
        ("他来了吗。我不知道！", ["他来了吗", "我不知道"]),
        ("यह एक वाक्य है। यह दूसरा वाक्य है।", ["यह एक वाक्य है", "यह दूसरा वाक्य है"]),
    ],
)
def test_sentences_end_at_the_marks_of_many_scripts(text, sentences):
    assert cut(text) == sentences


def test_a_sentence_of_source_code_is_a_line():
    assert cut("int a = 1;\nint b = 2;\n", symbol_reader("code-raw/1")) == ["int a = 1;", "int b = 2;"]


def test_words_that_begin_alike_count_as_the_same():
    plural, singular, other = sentences_of("comparisons comparison company", PLAIN).words.tolist()
    assert plural == singular != other


@given(
    st.lists(st.sampled_from(["word", "é", ".", "!", " ", "\n", "\n\n", "。", "漢", "x" * 200]), max_size=200)
)
def test_sentences_have_all_words_in_order_and_a_bounded_number_of_them(pieces):
    text = "".join(pieces)
    found = sentences_of(text, PLAIN)
    sizes = np.diff(found.first_words)
    assert found.first_words[-1] == len(found.words)
    assert (sizes <= MOST_WORDS).all()
    assert (sizes[:-1] >= FEWEST_WORDS).all()
    assert (found.starts < found.ends).all()
    assert (found.ends[:-1] <= found.starts[1:]).all()
    outside = "".join(np.array(list(text), object)[_outside(found, len(text))])
    assert not sentences_of(outside, PLAIN).words.size


def _outside(found, size):
    """The characters between sentences."""
    outside = np.ones(size, bool)
    for start, end in zip(found.starts, found.ends, strict=True):
        outside[start:end] = False
    return outside
