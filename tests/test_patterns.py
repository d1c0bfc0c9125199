"""Atomic groups match what possessive ones match."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex import patterns

# Each with the same pattern for a Python that reads possessive groups wrongly.
PATTERNS = {
    r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?": r"/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?",
    r"\"(?:[^\"\\]++|\\.)*+(b)?+": r"\"(?>(?:[^\"\\]++|\\.)*)(?>(b)?)",
    r"([*/(]\()?+(?:[)(]|\((?:a++|b(?!a))*+\))++": r"(?>([*/(]\()?)(?>(?:[)(]|\((?>(?:a++|b(?!a))*)\))+)",
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_possessive_groups_become_atomic(pattern):
    assert patterns.with_atomic_groups(pattern) == PATTERNS[pattern]


@pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="this Python reads possessive groups wrongly")
@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=st.text('/*"\\()ab', max_size=12))
def test_atomic_groups_match_what_possessive_ones_match(pattern, text):
    possessive, atomic = map(patterns.re.compile, (pattern, patterns.with_atomic_groups(pattern)))
    assert [match.span() for match in atomic.finditer(text)] == [
        match.span() for match in possessive.finditer(text)
    ]


def test_a_round_that_fails_is_not_read_on_any_python():
    assert patterns.compiled(r"\?(?:[^?]++|\?(?!>))*+\?>").match("?xml a?>rest").end() == 8
    assert patterns.compiled_bytes(rb"\?(?:[^?]++|\?(?!>))*+\?>").match(b"?xml \xff?>rest").end() == 8
