"""The canonical form of a text contains its words as they are compared, and nothing else."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.reading.plain_text import canonical
from docindex.reading.registry import symbol_reader

TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from("aÉß \n-½ﬁ㎞⑴가か漢字ไทยŉİ\u200b\u0301\u00ad豈")), max_size=40
)


@given(TEXTS)
def test_a_text_and_its_canonical_form_read_the_same(text):
    once = symbol_reader("text/2").read([text])
    again = symbol_reader("text/2").read([canonical(text)])
    assert once.symbols.tobytes() == again.symbols.tobytes()
    assert np.array_equal(once.words, again.words)


@given(TEXTS)
def test_the_canonical_form_of_a_canonical_form_is_itself(text):
    assert canonical(canonical(text)) == canonical(text)


@given(st.text(st.characters(codec="ascii")))
def test_the_canonical_form_of_ascii_text_is_its_words_in_lower_case(text):
    assert canonical(text) == " ".join(re.findall("[a-z0-9]+", text.lower()))
