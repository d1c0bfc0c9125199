import dataclasses
import itertools
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from docindex.query.regions import passages as template_runs
from docindex.query.regions.passages import Alignment, Passage, align, default_min_length, passages
from docindex.reading import slicing
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.sketching.single_text import text_fingerprints
from docindex.storage.rows.contents import as_stored
from tests import plain
from tests.winnowing.test_common_runs import definition

READER = symbol_reader("text/2")
read, offsets, ends, borders = READER.read, READER.offsets, READER.ends, READER.borders

# Letters of one and of several symbols, marks, separators and line ends. The two symbols of "东" are the
# same, and each of them is that of "ผ": runs begin and end inside the letter.
odd = "aabbfi1éÉผﬁ½東东京漢가각ﷺe\u0301\u0327\u00ad\u200d\u200b\ufeff🎉👍🏽 .,\r\n"

recipes = st.builds(Recipe, k=st.integers(1, 6), window=st.integers(1, 5))


@st.composite
def texts(draw):
    """Two texts made of common pieces, some of them written in another way."""
    alphabet = draw(st.sampled_from([odd, "fiﬁ\n", "东ผ", "东京ผ", "가각\u1161 "]))
    pieces = draw(st.lists(st.text(st.sampled_from(alphabet), max_size=15), min_size=1, max_size=3))
    written = st.sampled_from(
        [
            str,
            str.upper,
            lambda piece: unicodedata.normalize("NFD", piece),
            lambda piece: unicodedata.normalize("NFKC", piece),
            lambda piece: piece.replace("\n", "\r\n"),
            lambda piece: "\u00ad".join(piece),
        ]
    )
    written_piece = st.builds(lambda write, piece: write(piece), written, st.sampled_from(pieces))
    text = st.lists(written_piece | st.text(st.sampled_from(alphabet), max_size=3), max_size=5).map("".join)
    return draw(text), draw(text)


def end_of(text, offset):
    """The end of a character and of the marks after it that are neither symbols nor separators."""
    offset += 1
    while offset < len(text) and not plain.symbols(text[offset]):
        silent = unicodedata.category(text[offset]) in {"Mn", "Mc", "Me", "Cf"} and text[offset] != "\u200b"
        if not silent:
            break
        offset += 1
    return offset


def line_of(text, offset):
    return len((text[:offset].replace("\r\n", "\n").replace("\r", "\n") + ".").split("\n"))


def in_templates(symbols, k, grams):
    """For each symbol, whether it lies in a k-gram of a template."""
    inside = [False] * len(symbols)
    for place in range(len(symbols) - k + 1):
        if symbols[place : place + k] in grams:
            inside[place : place + k] = [True] * k
    return inside


def grams_of(templates, k):
    return {
        symbols[place : place + k]
        for symbols in map(symbols_of, templates)
        for place in range(len(symbols) - k + 1)
    }


def ignored_hashes(templates, recipe):
    """What an index stores of templates."""
    every = dataclasses.replace(recipe, window=1)
    return as_stored(np.concatenate([text_fingerprints(template, every)[0] for template in ["", *templates]]))


def expected(query, text, recipe, min_length, templates=()):
    """The definition: the common runs of symbols, shortened to whole words, as ranges of characters.

    If too little is left, a run as long as the guarantee, or all of a text, has whole characters instead.
    """
    (a, of_query), (b, of_text) = (
        zip(*plain.symbols(source), strict=True) if plain.symbols(source) else ((), ())
        for source in (query, text)
    )

    def whole(places, place):
        return place in (0, len(places)) or places[place - 1] != places[place]

    words = [{*read([source]).words.tolist(), len(plain.symbols(source))} for source in (query, text)]
    found, grams = [], grams_of(templates, recipe.k)
    own = [in_templates(bytes(symbols), recipe.k, grams).count(False) for symbols in (a, b)]
    shortest = max(recipe.k, min(min_length, *own))
    for i, j, length in definition(bytes(a), bytes(b), recipe.k, recipe.window):
        cuts = [n for n in range(length + 1) if whole(of_query, i + n) and whole(of_text, j + n)]
        at_words = [n for n in cuts if i + n in words[0] and j + n in words[1]]
        if at_words and at_words[-1] - at_words[0] >= shortest:
            cuts = at_words
        elif cuts and cuts[-1] - cuts[0] < min(recipe.guarantee, *own):
            cuts = []
        if cuts and cuts[-1] - cuts[0] >= shortest:
            first, last = cuts[0], cuts[-1] - 1
            starts = of_query[i + first], of_text[j + first]
            inside = in_templates(bytes(a[i + first : i + last + 1]), recipe.k, grams)
            longest_own = max(len(list(run)) * (not known) for known, run in itertools.groupby(inside))
            found.append(
                Passage(
                    query_start=starts[0],
                    query_end=end_of(query, of_query[i + last]),
                    start=starts[1],
                    end=end_of(text, of_text[j + last]),
                    length=last - first + 1,
                    query_line=line_of(query, starts[0]),
                    line=line_of(text, starts[1]),
                    boilerplate=longest_own < shortest,
                )
            )
    return sorted(found, key=lambda passage: (passage.query_start, passage.start))


def symbols_of(text):
    return bytes(symbol for symbol, _ in plain.symbols(text))


@given(texts(), recipes, st.sampled_from([1, 3, slicing.PIECE_CHARACTERS]), st.integers(1, 12))
@example(("东" * 9, "ผ" + "东" * 9), Recipe(k=3, window=2), 2, 1)
@example(("ﬁnal of", "an inal oﬁ"), Recipe(k=3, window=2), 2, 1)
@example(("ofﬁce\r\nhours", "in the of\u00adfi\u0301\nce hours"), Recipe(k=2, window=2), 3, 1)
@settings(max_examples=500)
def test_passages_are_the_common_runs_of_whole_characters_at_their_places_in_both_texts(
    pair, recipe, part, min_length
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", part)
        found = passages(*pair, recipe, min_length)
    assert found == expected(*pair, recipe, min_length)


@st.composite
def texts_with_templates(draw):
    """Two texts, and templates of which some are parts of the texts."""
    pair = draw(texts())
    parts = [text[first : first + size] for text in pair for first in (0, 3, 8) for size in (5, 10, 30)]
    return pair, draw(st.lists(st.sampled_from(parts) | st.text(st.sampled_from(odd)), max_size=3))


@given(texts_with_templates(), recipes, st.integers(1, 9), st.sampled_from([1, 2, 7, 1 << 20]))
@example((("abcabcab", "abcabcab"), ["abc"]), Recipe(k=3, window=2), 1, 2)
@example((("xtemplatey", "ztemplatey"), ["template"]), Recipe(k=4, window=1), 9, 3)
@example((("xtemplateabc", "ztemplateabc"), ["template"]), Recipe(k=3, window=1), 3, 3)
@example((("xabctemplate", "zabctemplate"), ["template"]), Recipe(k=3, window=1), 3, 3)
@settings(max_examples=500)
def test_a_passage_is_boilerplate_if_it_has_no_stretch_beside_templates_that_is_long_enough(
    texts, recipe, min_length, part
):
    (query, text), templates = texts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template_runs, "_SLICE", part)
        found = align(query, text, recipe, min_length, ignored_hashes(templates, recipe))
        other = align(text, query, recipe, min_length, ignored_hashes(templates, recipe))
    assert found.passages == expected(query, text, recipe, min_length, templates)
    assert (other.query_coverage, other.coverage) == (found.coverage, found.query_coverage)
    assert sorted(passage.boilerplate for passage in other.passages) == sorted(
        passage.boilerplate for passage in found.passages
    )


@given(texts_with_templates(), recipes, st.integers(1, 9))
@settings(max_examples=500)
def test_coverage_counts_symbols_outside_of_templates(texts, recipe, min_length):
    pair, templates = texts
    alignment = align(*pair, recipe, min_length, ignored_hashes(templates, recipe))
    grams = grams_of(templates, recipe.k)
    for text, share, start, end in (
        (pair[0], alignment.query_coverage, "query_start", "query_end"),
        (pair[1], alignment.coverage, "start", "end"),
    ):
        symbols = plain.symbols(text)
        inside = in_templates(symbols_of(text), recipe.k, grams)
        own = [place for (_, place), known in zip(symbols, inside, strict=True) if not known]
        ranges = [(getattr(p, start), getattr(p, end)) for p in alignment.passages if not p.boilerplate]
        covered = [place for place in own if any(first <= place < last for first, last in ranges)]
        assert share == (len(covered) / len(own) if own else 0.0)


@given(texts(), recipes)
@settings(max_examples=500)
def test_both_sides_of_a_passage_read_alone_give_its_symbols(pair, recipe):
    query, text = pair
    for passage in passages(query, text, recipe, 1):
        sides = query[passage.query_start : passage.query_end], text[passage.start : passage.end]
        of_query, of_text = (read([side]).symbols.tobytes() for side in sides)
        assert of_query == of_text == symbols_of(sides[0])
        assert len(of_query) == passage.length >= recipe.k


@given(texts(), recipes, st.integers(1, 12))
def test_coverage_is_the_share_of_symbols_that_lie_in_a_passage_that_is_shown(pair, recipe, min_length):
    alignment = align(*pair, recipe, min_length)
    assert alignment.passages == passages(*pair, recipe, min_length)
    for text, share, name in (
        (pair[0], alignment.query_coverage, "query_start query_end"),
        (pair[1], alignment.coverage, "start end"),
    ):
        start, end = name.split()
        places = [offset for _, offset in plain.symbols(text)]
        if places:
            inside = [
                any(
                    getattr(passage, start) <= place < getattr(passage, end) for passage in alignment.passages
                )
                for place in places
            ]
            assert share == sum(inside) / len(places)


def test_nothing_covers_a_text_without_symbols():
    assert align("", "...", Recipe()) == Alignment([], 0.0, 0.0)
    assert align("", "a", Recipe()) == Alignment([], 0.0, 0.0)
    assert align("?!", "some text", Recipe(k=2, window=2)) == Alignment([], 0.0, 0.0)


@given(texts(), recipes)
def test_exchanging_two_texts_exchanges_the_sides_of_their_passages(pair, recipe):
    def turned(passage):
        return dataclasses.replace(
            passage,
            query_start=passage.start,
            query_end=passage.end,
            start=passage.query_start,
            end=passage.query_end,
            query_line=passage.line,
            line=passage.query_line,
        )

    def in_order(found):
        return sorted(found, key=lambda passage: (passage.query_start, passage.start))

    assert in_order(map(turned, passages(*pair, recipe, 1))) == passages(*reversed(pair), recipe, 1)


LETTERS = "thequickbrownfoxjumpsoverthelazydogandranawayfromeverybodyelse"


@pytest.mark.parametrize(
    ("length", "recipe", "default"),
    [
        (35, Recipe(), 36),
        (36, Recipe(), 36),
        (8, Recipe(k=5, window=4), 8),
        (7, Recipe(k=5, window=4), 8),
        (36, Recipe(k=5, window=60), 36),
    ],
)
def test_by_default_a_passage_has_36_symbols_or_the_guarantee_if_that_is_less(length, recipe, default):
    # The run has a fingerprint: with a window of all its k-grams, winnowing selects one of them.
    query, text = f"0 {LETTERS[:length]} 1", f"2 {LETTERS[:length]} 3"
    assert default_min_length(recipe) == default
    assert [found.length for found in passages(query, text, recipe)] == [length] * (length >= default)
    assert [found.length for found in passages(query, text, recipe, 1)] == [length]


def test_a_run_that_is_a_whole_text_is_a_passage_however_short_it_is():
    whole, longer = LETTERS[:20], f"{LETTERS[:20]}1"
    assert [found.length for found in passages(whole, longer, Recipe())] == [20]
    assert [found.length for found in passages(longer, whole, Recipe(), 60)] == [20]
    assert align(longer, whole, Recipe(), 60).coverage == 1.0
    assert passages(longer, f"2{whole}", Recipe()) == []


def test_a_passage_keeps_the_accents_at_its_end_and_takes_no_separator():
    for end in ("\u0301", "\u0301\u0327", "\u00ad", "\u200d\u0301"):
        (found,) = passages(f"(un cafe{end}) ", f"Un Cafe{end}\u200b!", Recipe(k=3, window=2))
        assert (found.query_start, found.query_end) == (1, 8 + len(end))
        assert (found.start, found.end) == (0, 7 + len(end))


def test_a_text_of_many_slices_has_its_passages_at_their_places():
    letters = (
        np.random.default_rng(0)
        .integers(97, 123, 3 * slicing.PIECE_CHARACTERS)
        .astype(np.uint8)
        .tobytes()
        .decode()
    )
    quote = letters[2 * slicing.PIECE_CHARACTERS - 40 : 2 * slicing.PIECE_CHARACTERS + 60]
    (found,) = passages(f"é\r\n{quote}\r\n", letters.replace("q", "q\u0301"), Recipe())
    assert (found.query_start, found.query_end, found.length, found.query_line) == (3, 103, 100, 2)


positions = st.lists(st.integers(0, 40), max_size=8).map(sorted)


@given(st.text(st.sampled_from(odd), max_size=40), positions, st.integers(1, 9))
def test_ends_and_borders_do_not_depend_on_where_a_long_text_is_cut(text, positions, part):
    places = [offset for _, offset in plain.symbols(text)]
    wanted = [position for position in positions if position < len(places)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", part)
        found = ends(text, np.array(wanted, np.int64))
        between = borders(text)
    assert found.tolist() == [end_of(text, places[position]) for position in wanted]
    assert between.tolist() == [
        place in (0, len(places)) or places[place - 1] != places[place] for place in range(len(places) + 1)
    ]


def test_an_end_is_given_only_for_a_symbol_that_exists():
    for text in ("ab", "éa\u0301"):
        with pytest.raises(IndexError, match="has 2 symbols"):
            ends(text, np.array([0, 2]))
        assert offsets(text, np.array([0, 1])).tolist() == [0, 1]


def test_a_passage_begins_and_ends_at_words_of_both_texts():
    query = "Our diversity, equal employment opportunity and so on."
    text = "A university: equal employment opportunity anders"
    (found,) = passages(query, text, Recipe(), 20)
    assert query[found.query_start : found.query_end] == "equal employment opportunity"
    assert text[found.start : found.end] == "equal employment opportunity"


def test_a_run_of_the_guarantee_inside_one_word_is_a_passage():
    word = LETTERS[: Recipe().guarantee]
    (found,) = passages(f"a0{word}0b", f"c1{word}1d", Recipe())
    assert (found.query_start, found.length) == (2, Recipe().guarantee)


SENTENCE = "it was the best of times it was the worst of times it was the age of wisdom"


def test_passages_that_follow_each_other_closely_are_joined():
    query = f"{SENTENCE}, I think; {LETTERS} is next."
    text = f"(1) {SENTENCE} {LETTERS} and more"
    first, second = passages(query, text, Recipe())
    (joined,) = passages(query, text, Recipe(), join=10)
    assert (joined.query_start, joined.query_end) == (first.query_start, second.query_end)
    assert (joined.start, joined.end) == (first.start, second.end)
    assert joined.length == first.length + second.length
    assert joined.identical == joined.length / (joined.length + len("ithink"))
    assert passages(query, text, Recipe(), join=5) == [first, second]


@given(texts(), recipes, st.integers(0, 20))
def test_joining_neither_loses_nor_adds_a_stretch_and_leaves_coverage_as_it_is(pair, recipe, join):
    alone, joined = align(*pair, recipe, 1), align(*pair, recipe, 1, join=join)
    assert (joined.query_coverage, joined.coverage) == (alone.query_coverage, alone.coverage)
    assert len(joined.passages) <= len(alone.passages)
    for passage in alone.passages:
        assert any(
            other.query_start <= passage.query_start <= passage.query_end <= other.query_end
            and other.start <= passage.start <= passage.end <= other.end
            for other in joined.passages
        )
    assert all(0 < passage.identical <= 1 for passage in joined.passages)
