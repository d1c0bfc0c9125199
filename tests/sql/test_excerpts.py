"""Snippets show the stretch that shares most, and marks stand exactly around what is shared."""

import random

from hypothesis import given
from hypothesis import strategies as st

from docindex.sql.document_texts import Marks, highlighted, snippet

MARKS = Marks("<", ">", "~")
READING = "text/2"


def merged_places(ranges):
    return {place for start, end in ranges for place in range(start, end)}


ranges_of = st.lists(
    st.tuples(st.integers(0, 199), st.integers(1, 30)).map(lambda r: (r[0], sum(r))), max_size=8
)


@given(st.text("ab c", min_size=240, max_size=240), ranges_of)
def test_marks_stand_around_the_ranges_and_nothing_else_changes(text, ranges):
    marked = highlighted(text, ranges, MARKS)
    assert marked.replace("<", "").replace(">", "") == text
    inside, places, place = False, set(), 0
    for character in marked:
        if character in "<>":
            inside = character == "<"
        else:
            places |= {place} if inside else set()
            place += 1
    assert places == merged_places(ranges)


@given(st.integers(0, 10**6), ranges_of, st.integers(1, 120))
def test_no_stretch_of_the_length_of_a_snippet_shares_more(seed, ranges, symbols):
    rng = random.Random(seed)
    text = "".join(rng.choice("abcdefgh ") for _ in range(240))
    found = snippet(text, ranges, symbols, READING, MARKS)
    plain = found.strip("~").replace("<", "").replace(">", "")
    assert plain in text
    shared = merged_places(ranges)
    is_symbol = [character != " " for character in text]
    shown = sum(character != " " for part in found.split("<")[1:] for character in part.split(">")[0])
    letters = [place for place in range(240) if is_symbol[place]]
    best = max(
        sum(place in shared for place in letters[first : first + symbols])
        for first in range(max(1, len(letters) - symbols + 1))
    )
    assert shown == best
    assert sum(character != " " for character in plain) <= symbols


def test_a_snippet_ends_between_words_where_there_is_white_space():
    text = "one two three four five six seven eight nine ten"
    assert snippet(text, [(14, 18)], 12, READING, MARKS) == "~<four> five~"
    assert snippet(text, [], 8, READING, MARKS) == "one two~"
    assert (
        snippet(text, [(0, 3)], 100, READING, MARKS) == "<one> two three four five six seven eight nine ten"
    )
    assert snippet("漢字" * 50, [(40, 44)], 16, READING, MARKS) == "~漢字<漢字漢字>漢字~"
    assert snippet("", [], 5, READING, MARKS) == ""
