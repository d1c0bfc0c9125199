"""Two texts have one words hash if and only if they have the same words."""

import itertools
import unicodedata

import numpy as np
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

import docindex
from docindex import Recipe
from docindex.reading import slicing
from docindex.sketching.single_text import words_hash
from docindex.sketching.sketcher import sketch_batch, sketch_batches
from tests import plain, unicode_tables

RECIPE = Recipe()
texts = st.text(
    st.sampled_from("aA b-\n1漢🎉ßéжЖと゛ै \u0301\u00ad\u200b.*₤") | st.characters(exclude_categories=["Cn"]),
    max_size=30,
)


def digest(numbers):
    return xxhash.xxh3_128_digest(b"".join(int(number).to_bytes(4, "little") for number in numbers))


def definition(text):
    """The hash as the schema file describes it, in plain Python."""
    symbols = [symbol for symbol, _ in plain.symbols(text)]
    starts = [*plain.word_starts(text), len(symbols)]
    lengths = [end - begin for begin, end in itertools.pairwise(starts)]
    letters = []
    for char in text:
        for kind in unicode_tables.folded(ord(char)):
            code = {unicode_tables.VOICED: 0x3099, unicode_tables.HALF_VOICED: 0x309A}.get(kind)
            code = kind & unicode_tables.LETTER if code is None and kind >= 0 else code
            letters += [code] if code is not None and code > 127 else []
    if not symbols:
        unseen = {unicode_tables.BLANK, unicode_tables.INVISIBLE}
        letters = [ord(char) for char in text if not unseen & set(unicode_tables.folded(ord(char)))]
    return xxhash.xxh3_128_digest(xxhash.xxh3_128_digest(bytes(symbols)) + digest(lengths) + digest(letters))


@given(texts)
@example("")
@example("x" * 300 + " " + "ж" * 300)
def test_the_hash_is_the_one_that_the_schema_describes(text):
    assert words_hash(text, RECIPE) == definition(text) == docindex.sketch(text).words_hash


@given(st.lists(texts, min_size=1, max_size=5), st.integers(1, 9))
def test_the_hash_does_not_depend_on_batches_or_slices(batch, part):
    expected = [definition(text) for text in batch]
    assert sketch_batch(batch, RECIPE).words_hashes == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", part)
        assert [words_hash(text, RECIPE) for text in batch] == expected
        found = [own for some in sketch_batches(batch, RECIPE) for own in some.words_hashes]
    assert found == expected


@pytest.mark.parametrize("part", [100, 128, 129, 1000])
def test_a_word_that_slices_cut_is_still_one_word(monkeypatch, part):
    text = "a " + 128 * "x" + " " + 300 * "y" + " - " + 256 * "ж" + "\u0301" + 5 * "z"
    expected = definition(text)
    assert expected != definition(text.replace(128 * "y", 128 * "y" + " "))
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", part)
    assert words_hash(text, RECIPE) == expected


def blocks():
    """The letters of each 128 code points, without those that another block spells too."""
    seen = set()
    for begin in range(0, 0x33480, 128):
        letters = []
        for code in range(begin, begin + 128):
            found = unicode_tables.folded(code)
            if unicode_tables.is_known(code) and min(found) >= 0 and found not in seen:
                seen.add(found)
                letters.append(chr(code))
        if len(letters) >= 8:
            yield letters


def test_a_text_in_any_script_differs_from_its_reverse_its_shuffle_and_other_scripts():
    texts, generator = [], np.random.default_rng(1)
    for letters in blocks():
        spaced = ["".join(letters[i : i + 4]) for i in range(0, len(letters), 4)]
        text = " ".join(spaced)
        shuffled = " ".join(generator.permutation(spaced))
        texts += [text, text[::-1], shuffled if shuffled != text else text + "x"]
    assert len(texts) > 1500
    sketches = [docindex.sketch(text, Recipe(k=4, window=1)) for text in texts]
    assert len({sketch.words_hash for sketch in sketches}) == len(texts)
    assert len({sketch.hashes.tobytes() for sketch in sketches}) == len(texts)
    for i in range(0, len(texts), 3):
        assert docindex.resemblance(texts[i], texts[i + 1]) < 1, unicodedata.name(texts[i][0])
