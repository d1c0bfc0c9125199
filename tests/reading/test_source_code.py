"""The readings of source code equal their plain definition, wherever texts are cut, and never fail."""

import itertools
import random
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import docindex
from docindex import Recipe
from docindex.reading import slicing
from docindex.reading.code import source_code
from docindex.reading.code.languages import LANGUAGES
from docindex.reading.code.source_code import language_of, symbols_and_hashes
from docindex.reading.code.tokens import plain_tokens, visible
from docindex.reading.protocol import Reading
from docindex.reading.registry import symbol_reader
from docindex.sketching.sketcher import sketch_batches
from tests.reading.plain_code import tokens_of
from tests.reading.snippets import COMMENTS, SNIPPETS

FORMS = {"code-names/1": True, "code-raw/1": False}

FRAGMENTS = """
def return class self import elif None static void public int String ; { } ( ) [ ] < > function end then local
fi esac echo done SELECT FROM WHERE select name x1 y_2 $z 0x1F 3.14 1. .5 1.2.3 += == === && ::= -> ++ -- **
" ' ` \\ // /* */ # -- --[[ ]] {- -} [[ [==[ ]==] R"( R"x( )x" )" r#" "# \""" ''' @" =begin =end =cut
fn mut impl let Vec <?php isset $this my sub qw deriving where Maybe px margin é ß
漢字 \u00a0 \ufeff \ud800 \x00 🎉 # //
""".split()  # noqa: SIM905
sources = st.lists(
    st.sampled_from(
        [*FRAGMENTS, " ", " ", "\n", "\n", "\r\n", "\t", ";\n", ":\n", "{\n", "w" * 300, "=" * 300]
    ),
    max_size=60,
).map("".join)
python = sources.map(lambda text: f"def f(self):\n  elif None\nimport x\nisinstance(cls)\n{text}")
java = sources.map(lambda text: f"public static void f(String x) {{\n  return;\n}}\n{text}")
texts_of_all_kinds = st.one_of(sources, python, java, st.text())


def assert_same_meaning(reading, starts_of_texts, expected):
    """Tokens have equal hashes exactly if they mean the same."""
    assert len(reading.symbols) == len(expected)
    hashes = reading.word_hashes.tolist()
    pairs = set(zip(hashes, expected, strict=True))
    assert len(pairs) == len(set(hashes)) == len(set(expected))
    symbols = set(zip(reading.symbols.tolist(), expected, strict=True))
    assert len(symbols) == len(set(expected))  # a token always has the same symbol
    assert reading.starts.tolist() == starts_of_texts


@pytest.mark.parametrize("name", FORMS)
@given(texts=st.lists(texts_of_all_kinds, max_size=3))
@example(texts=["0)0$0", "def f(self):\n  elif None\nimport x\nisinstance(cls)\n"])
@example(texts=["x = 1.5e3 # a\ny = 'b' + \"c\" def elif isinstance self cls None import"])
def test_a_reading_equals_its_plain_definition(name, texts):
    reader = symbol_reader(name)
    expected = [tokens_of(text, names=FORMS[name]) for text in texts]
    starts = [0, *itertools.accumulate(map(len, expected))]
    reading = reader.read(texts)
    # Another language may give the same word another symbol, so texts of different languages stand apart.
    for text, tokens, begin, end in zip(texts, expected, starts[:-1], starts[1:], strict=True):
        own = Reading(
            reading.symbols[begin:end],
            np.array([0, end - begin]),
            reading.words[begin:end],
            reading.lines,
            word_hashes=reading.word_hashes[begin:end],
        )
        assert_same_meaning(own, [0, end - begin], [meaning for _, _, meaning in tokens])
        positions = np.arange(end - begin)
        assert reader.offsets(text, positions).tolist() == [token[0] for token in tokens]
        assert reader.ends(text, positions).tolist() == [token[1] for token in tokens]
        assert reader.borders(text).tolist() == [True] * (end - begin + 1)
    assert reading.starts.tolist() == starts
    assert reading.words.tolist() == list(range(starts[-1]))


@pytest.mark.parametrize("name", FORMS)
@given(text=texts_of_all_kinds)
def test_lines_are_those_with_a_token(name, text):
    reader = symbol_reader(name)
    reading = reader.read([text], lines=True)
    begins = reader.offsets(text, np.arange(len(reading.symbols))).tolist()
    lines = [sum(map(text[:begin].count, "\n\r")) for begin in begins]
    assert reading.lines.tolist() == [n for n, line in enumerate(lines) if n == 0 or line != lines[n - 1]]


def random_source(seed, size):
    picker = random.Random(seed)
    head = picker.choice(
        ["", "public static void f(String x) {\n return;\n", "def f(self):\n elif None: isinstance(cls)\n"]
    )
    return head + "".join(
        picker.choice([*FRAGMENTS, " ", "\n", "w" * 700, "1.5" * 300, "+" * 600]) for _ in range(size)
    )


def joined(reader, text, *, lines):
    """The symbols, hashes, words and lines of all slices."""
    parts = list(reader.readings(text, lines=lines))
    sizes = [0, *itertools.accumulate(len(part.symbols) for part in parts)]
    return (
        np.concatenate([part.symbols for part in parts]).tolist(),
        np.concatenate([part.word_hashes for part in parts]).tolist(),
        [
            place + size
            for part, size in zip(parts, sizes, strict=False)
            for place in part.lines[int(part.continues) :].tolist()
        ],
        len(parts),
    )


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("seed", range(30))
def test_slices_have_the_tokens_and_lines_of_the_whole_text(name, seed, monkeypatch):
    reader, text = symbol_reader(name), random_source(seed, 300)
    monkeypatch.setattr(source_code, "PART_CHARACTERS", 1 << 30)
    whole = joined(reader, text, lines=True)
    places = np.arange(len(whole[0]))
    offsets, ends = reader.offsets(text, places).tolist(), reader.ends(text, places).tolist()
    written = reader.canonical(text)
    for size in (600, 613, 1500):
        monkeypatch.setattr(source_code, "PART_CHARACTERS", size)
        parts = joined(reader, text, lines=True)
        assert parts[3] > whole[3] == 1
        assert parts[:3] == whole[:3]
        assert reader.offsets(text, places).tolist() == offsets
        assert reader.ends(text, places).tolist() == ends
        assert reader.canonical(text) == written


@pytest.mark.parametrize("token", ["word", "line", "letter"])
@pytest.mark.parametrize("name", FORMS)
def test_a_long_text_has_the_sketch_that_it_has_in_a_batch(name, token, monkeypatch):
    recipe = Recipe(reading=name, k=5, window=4, shingle=3, token=token, min_s=8)
    texts = [random_source(seed, 400) for seed in range(6)]
    (batch,) = sketch_batches(texts, recipe)
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 1000)
    monkeypatch.setattr(source_code, "PART_CHARACTERS", 700)
    fields = ("symbols", "hashes", "positions", "shingles", "slots", "features", "simhash", "words_hash")
    for number, text in enumerate(texts):
        (long,) = sketch_batches([text], recipe)
        for field in fields:
            assert np.array_equal(getattr(long[0], field), getattr(batch[number], field)), field


ODD = [
    "/*",
    '"""',
    "'",
    '"',
    "`",
    'R"x(',
    "[[",
    "--[[",
    "{-",
    "\n=a",
    '@"',
    'r#"',
    "\\",
    "#",
    "//",
    "--",
    "1.",
    "é",
]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("syntax", ["", "int f;{\n", "def f(self):\n", "fn mut impl;{\n", "local nil end\n"])
def test_time_is_linear_however_odd_a_text_is(odd, syntax):
    reader = symbol_reader("code-raw/1")

    def seconds(count):
        text = syntax * 5 + odd * count
        begin = time.thread_time()
        reader.read([text])
        return time.thread_time() - begin

    seconds(1000)
    few = min(seconds(4000) for _ in range(3))
    assert min(seconds(32_000) for _ in range(3)) < 20 * few + 0.1


def test_a_line_of_five_megabytes_is_read():
    line = "x=f(1);" * 750_000
    reading = symbol_reader("code-raw/1").read([line])
    assert len(reading.symbols) == 7 * 750_000


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("seed", range(100))
def test_mutated_sources_are_read(name, seed):
    picker, source = random.Random(seed), "".join(map(random_source, range(seed, seed + 2), (40, 40)))
    chars = list(source)
    for _ in range(20):
        at = picker.randrange(len(chars))
        chars[at : at + picker.randrange(3)] = picker.choice(
            ["", "\x00", "\ud800", "\\", '"', "'", "/*", "\n", "\x85"]
        )
    text = "".join(chars)
    reader = symbol_reader(name)
    reading = reader.read([text])
    assert len(reading.symbols) == len(reader.offsets(text, np.arange(len(reading.symbols))))


def test_keywords_of_a_language_have_different_symbols():
    for number, language in enumerate(LANGUAGES):
        words = sorted({word.lower() if language.folds_case else word for word in language.keywords})
        text = " ".join(words)
        tokens = plain_tokens(visible(text), np.array([0, len(text)]))
        symbols, _ = symbols_and_hashes(tokens, np.array([number]), names=True)
        assert len(set(symbols.tolist())) == len(words), language.name
        assert not words or min(symbols) >= 0x80


@pytest.mark.parametrize("language", SNIPPETS)
def test_the_language_of_a_few_lines_is_recognised(language):
    assert LANGUAGES[language_of(SNIPPETS[language])].name == language


PROSE = [
    """Permission is granted, free of charge, to use, copy, modify, merge and sell the Software, and to do
    so IN WHOLE or in part, if this notice is NOT removed (see section 2). IT IS PROVIDED "AS IS".""",
    """SELECT a table from the list of all values, join the group where you order, and SET the limit; then
    CREATE or UPDATE your own. Any function returns to its default, in an IN or ON or AS clause.""",
    """# Title\n\nThis class, like each module, will import things for you: while they last, try to return
    them. If it is not so, print this, or else raise it with None (see www.example.org).""",
]


@pytest.mark.parametrize("prose", PROSE)
def test_prose_with_the_words_of_programs_is_no_code(prose):
    assert LANGUAGES[language_of(prose)].name == ""
    assert symbol_reader("code-names/1").canonical(prose) == symbol_reader("code-raw/1").canonical(prose)


@pytest.mark.parametrize("language", COMMENTS)
@pytest.mark.parametrize("name", FORMS)
def test_comments_do_not_count(language, name):
    source = SNIPPETS[language]
    commented = f"{source}\n{COMMENTS[language]}\n{source}"
    once, both = (symbol_reader(name).read([text]).symbols.tolist() for text in (source, commented))
    assert once + once == both
    assert docindex.containment(source, commented, Recipe.code()) == 1
