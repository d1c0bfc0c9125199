"""Entities and white space in marked text are read as Python's own functions read them."""

import html

from hypothesis import given
from hypothesis import strategies as st

from docindex.frontends.markup.tokens import single_spaced, unescaped, unescaped_all

ENTITIES = "&amp; &amp &lt &copyx &notit; &#65; &#65 &#x41 &#xZ &#; &#0; &#128; &#xD800; &nbsp; &amp&amp;"
PIECES = st.sampled_from([*ENTITIES.split(), *"&;#xé< \n\xa0\u2028", f"&{'a' * 40}"])
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@given(TEXTS)
def test_entities_are_decoded_as_html_does(text):
    assert unescaped(text) == html.unescape(text)


@given(st.lists(TEXTS))
def test_many_texts_are_decoded_each_by_itself(texts):
    assert unescaped_all(texts) == [unescaped(text) for text in texts]


@given(TEXTS | st.text())
def test_a_line_has_single_spaces_between_its_words(text):
    assert single_spaced(text) == " ".join(text.split())
