"""The words that differ between two texts: what they must say, and that the time stays in proportion."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.query import differences as module
from docindex.query.differences import differences
from docindex.reading.registry import symbol_reader

READER = symbol_reader("text/2")
FIRST = "The engine weaves algebraical patterns just as the loom weaves flowers and leaves."
SECOND = "Ada wrote many letters to her mother about it in the long winter of that year."


def shown(a, b):
    return [
        (each.kind, a[each.query_start : each.query_end], b[each.start : each.end])
        for each in differences(a, b, READER)
    ]


def words_outside(text, ranges):
    """The words of a text without those in some ranges."""
    for start, end in sorted(ranges, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text.casefold().split()


few_words = st.lists(st.sampled_from(["a", "bee", "dee", "é", "日本", "ж"]), max_size=40).map(" ".join)


@given(few_words, few_words)
def test_without_the_differences_both_texts_have_the_same_words(a, b):
    found = differences(a, b, READER)
    rest_a = words_outside(a, [(each.query_start, each.query_end) for each in found])
    rest_b = words_outside(b, [(each.start, each.end) for each in found])
    assert rest_a == rest_b
    for each in found:
        if each.kind == "moved":
            assert a[each.query_start : each.query_end] == b[each.start : each.end]
        assert (each.query_words > 0, each.words > 0) == {
            "deleted": (True, False),
            "inserted": (False, True),
        }.get(each.kind, (True, True))


@given(few_words)
def test_a_text_does_not_differ_from_itself_in_other_case_and_punctuation(text):
    assert differences(text, f"  {text.upper().replace(' ', ', ')}.", READER) == []


def test_replaced_deleted_inserted_and_moved_words_are_told_apart():
    moved, text = "Then she came back to the old house", f"{FIRST} {SECOND}"
    changed = text.replace("mother", "sister").replace("long ", "")
    assert shown(f"{moved}. {text}", f"{changed} And {moved}!") == [
        ("moved", moved, moved),
        ("replaced", "mother", "sister"),
        ("deleted", "long", ""),
        ("inserted", "", "And"),
    ]


def test_letters_that_share_a_symbol_are_different_words():
    letters = [chr(code) for code in range(0x430, 0x450)]
    for letter in letters[1:]:
        assert shown(letters[0], letter) == [("replaced", letters[0], letter)]


@pytest.mark.parametrize(
    ("reading", "found"),
    [("code-names/1", [("+=", "-=")]), ("code-raw/1", [("i", "k"), ("+= i", "-= k"), ("2", "3")])],
)
def test_tokens_of_programs_are_words(reading, found):
    a = "s = 0\nfor i in items:\n    s += i * 2\n"
    b = "s = 0\n# a comment\nfor k in items:\n    s -= k * 3\n"
    assert [
        (a[each.query_start : each.query_end], b[each.start : each.end])
        for each in differences(a, b, symbol_reader(reading))
    ] == found


def test_a_change_in_a_text_that_repeats_itself_is_found():
    line = "the same words again and again, "
    a = line * 300
    assert shown(a, f"{line * 150}but {line * 150}") == [("inserted", "", "but")]


@pytest.mark.parametrize("kind", ["unrelated", "periodic", "shuffled"])
def test_the_work_grows_in_proportion_to_the_texts(kind, monkeypatch):
    compared = []
    by_word = module._matched_by_word
    monkeypatch.setattr(
        module, "_matched_by_word", lambda a, b, gap: compared.append(gap) or by_word(a, b, gap)
    )
    rng = random.Random(4)
    words = [f"w{number}" for number in range(50)]
    a = rng.choices(words, k=4000)
    b = {"unrelated": rng.choices("uvxyz", k=4000), "periodic": ["w1", "w2"] * 2000}.get(kind)
    b = b or rng.sample(a, len(a))
    differences(" ".join(a), " ".join(b), READER)
    steps = sum(gap.a_end - gap.a + gap.b_end - gap.b for gap in compared)
    assert steps <= len(a) + len(b)  # no word is compared in two gaps, and each gap has a bound
