import numpy as np
import pytest

from docindex.arrays.ranges import starts_of
from docindex.sketching.tokens import STOP_WORDS, stemmed


def stems(*words):
    starts = starts_of(np.array([len(word) for word in words], np.int64))
    symbols = np.frombuffer("".join(words).encode(), np.uint8)
    return [
        symbols[b:e].tobytes().decode()
        for b, e in zip(starts, stemmed(symbols, starts[:-1], starts[1:]), strict=False)
    ]


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("copy", "copies"),
        ("house", "houses"),
        ("day", "days"),
        ("text", "texts"),
        ("tie", "ties"),
        ("fly", "flies"),
    ],
)
def test_a_word_and_its_plural_have_one_stem(singular, plural):
    assert len(set(stems(singular, plural))) == 1


@pytest.mark.parametrize(
    "word",
    [
        "glass",
        "corpus",
        "is",
        "s",
        "y",
        "shoes",
        "trees",
        "vertebraes",
        "my",
        "day",
        "key",
        "boy",
        "guy",
        "skiy",
    ],
)
def test_a_word_that_is_not_a_regular_plural_stays_as_it_is(word):
    assert stems(word) == [word]


@pytest.mark.parametrize("word", ["abaies", "abeies"])
def test_an_ies_that_is_not_the_plural_of_y_loses_only_its_s(word):
    assert stems(word) == [word[:-1]]


def test_the_letters_of_neighbouring_words_change_no_stem():
    assert stems("ie", "s", "a", "y", "ies") == ["ie", "s", "a", "y", "ie"]


def test_stop_words_are_sorted_lower_case_and_unique():
    assert sorted(set(STOP_WORDS)) == list(STOP_WORDS)
    assert all(word.isascii() and word.islower() and word.isalpha() for word in STOP_WORDS)
