"""The words that differ between two texts: what they must say, and that the time stays in proportion."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.query.regions.differences import differences
from docindex.recipe import Recipe

RECIPE = Recipe()
FIRST = "The engine weaves algebraical patterns just as the loom weaves flowers and leaves."
SECOND = "Ada wrote many letters to her mother about it in the long winter of that year."


def shown(a, b):
    return [
        (each.kind, a[each.query_start : each.query_end], b[each.start : each.end])
        for each in differences(a, b, RECIPE)
    ]


def words_outside(text, ranges):
    """The words of a text without those in some ranges."""
    for start, end in sorted(ranges, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text.casefold().split()


few_words = st.lists(st.sampled_from(["a", "bee", "dee", "é", "日本", "ж"]), max_size=40).map(" ".join)


@given(few_words, few_words)
def test_without_the_differences_both_texts_have_the_same_words(a, b):
    found = differences(a, b, RECIPE)
    rest_a = words_outside(a, [(each.query_start, each.query_end) for each in found])
    rest_b = words_outside(b, [(each.start, each.end) for each in found])
    assert rest_a == rest_b
    for each in found:
        assert (each.query_words > 0, each.words > 0) == {
            "deleted": (True, False),
            "inserted": (False, True),
        }.get(each.kind, (True, True))


@given(few_words)
def test_a_text_does_not_differ_from_itself_in_other_case_and_punctuation(text):
    assert differences(text, f"  {text.upper().replace(' ', ', ')}.", RECIPE) == []


def test_replaced_deleted_and_inserted_words_are_told_apart():
    text = f"{FIRST} {SECOND}"
    changed = text.replace("mother", "sister").replace("long ", "")
    assert shown(text, f"{changed} And then!") == [
        ("replaced", "mother", "sister"),
        ("deleted", "long", ""),
        ("inserted", "", "And then"),
    ]
    assert shown(f"{FIRST} {SECOND}", f"{SECOND} {FIRST}") in (
        [("deleted", FIRST[:-1], ""), ("inserted", "", FIRST[:-1])],
        [("inserted", "", SECOND[:-1]), ("deleted", SECOND[:-1], "")],
    )


def test_letters_that_share_a_symbol_are_different_words():
    letters = [chr(code) for code in range(0x430, 0x450)]
    for letter in letters[1:]:
        assert shown(letters[0], letter) == [("replaced", letters[0], letter)]


@pytest.mark.parametrize(
    ("form", "found"),
    [("names", [("+=", "-=")]), ("raw", [("i", "k"), ("+= i", "-= k"), ("2", "3")])],
)
def test_tokens_of_programs_are_words(form, found):
    a = "s = 0\nfor i in items:\n    s += i * 2\n"
    b = "s = 0\n# a comment\nfor k in items:\n    s -= k * 3\n"
    assert [
        (a[each.query_start : each.query_end], b[each.start : each.end])
        for each in differences(a, b, Recipe.code(form))
    ] == found


def test_a_change_in_a_text_that_repeats_itself_is_found():
    line = "the same words again and again, "
    a = line * 300
    assert shown(a, f"{line * 150}but {line * 150}") == [("inserted", "", "but")]


@pytest.mark.parametrize("kind", ["unrelated", "periodic", "shuffled", "alternating", "repeated in gaps"])
def test_the_time_grows_in_proportion_to_the_texts(kind):
    took = []
    for size in (5_000, 40_000):
        rng = random.Random(4)
        a = rng.choices([f"w{number}" for number in range(50)], k=size)
        b = {"unrelated": rng.choices("uvxyz", k=size), "periodic": ["w1", "w2"] * (size // 2)}.get(kind)
        b = b or rng.sample(a, len(a))
        if kind == "alternating":
            a, b = ([f"w{n}" if n % 2 else f"{rng.random()}" for n in range(size)] for _ in "ab")
        elif kind == "repeated in gaps":
            a, b = (
                [
                    word
                    for n in range(size // 20)
                    for word in (*["anchor"] * 9, f"w{n}", *rng.choices("xy", k=10))
                ]
                for _ in "ab"
            )
        begun = time.thread_time()
        differences(" ".join(a), " ".join(b), RECIPE)
        took.append(time.thread_time() - begun)
    assert took[1] < 30 * took[0] + 0.5, took
