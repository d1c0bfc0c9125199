"""Every expression takes linear time on any text, and atomic groups match what possessive ones match."""

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex import patterns
from tests.regexes import hard_texts, regexes

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


def seconds(regex, text):
    begin = time.thread_time()
    regex.read(text)
    return time.thread_time() - begin


# Texts that never get long: the reason.
SHORT = {
    "docindex.frontends.pdf._LAST_WORD": "the last hundred characters of a line",
    "docindex.patterns._TOKEN": "patterns of docindex itself",
}


@pytest.mark.parametrize("regex", regexes(), ids=lambda regex: regex.place)
def test_every_expression_takes_linear_time_on_any_text(regex):
    """A text of 24,000 characters takes 8 times as long as one of 3,000, and not 64 times."""
    if regex.place in SHORT:
        pytest.skip(SHORT[regex.place])
    for number, text in enumerate(hard_texts(regex.pattern, 3000)):
        if seconds(regex, text) < 0.001:  # most take a tenth of this
            continue
        short = min(seconds(regex, text) for _ in range(3))
        if short > 0.0007:
            *_, longer = (
                each for each, _ in zip(hard_texts(regex.pattern, 24_000), range(number + 1), strict=False)
            )
            assert seconds(regex, longer) < 24 * short, text[:20]
