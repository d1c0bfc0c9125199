"""Every text gets an answer, whatever its characters; a value that is not a text gets a clear error."""

import contextlib
import copy
import pickle
import re
import sqlite3

import pytest

import docindex
from docindex import Recipe

HARD = {
    "empty": "",
    "lone surrogates": "\ud800 lone \udfff surrogates \udc80" * 20,
    "NUL": "one\0two\0\0three" * 20,
    "direction marks": "\u200fשלום\u200e hello \u202eolleh\u202c" * 20,
    "nothing but marks": "\u0301\u0302\u0345\u20dd" * 500,
    "nothing but punctuation": "?!... --- (*)" * 100,
    "the last code points": "\U0010ffff\U000e0001\ufffe\uffff",
    "long expansions": "\ufdfa\u3300" * 300,
    "one long word": "x" * 600_000,
    "a line of half a million words": "word " * 500_000,
    "spaces": " " * 600_000,
}


@pytest.mark.parametrize("name", HARD)
def test_every_text_gets_an_answer_and_resembles_itself(name):
    text = HARD[name]
    found = docindex.fingerprints(text)
    assert len(found.hashes) == len(found.positions) == len(found.offsets)
    assert docindex.resemblance(text, text) == docindex.containment(text, text) == 1.0
    assert docindex.distance(docindex.simhash(text), docindex.simhash(text)) == 0
    assert docindex.sketch(text).symbols >= 0


def test_ten_million_equal_characters_get_an_answer():
    text = "0" * 10_000_000
    assert len(docindex.fingerprints(text)) == pytest.approx(10_000_000 / docindex.Recipe().window, rel=0.001)
    assert docindex.sketch(text).symbols == 10_000_000


@pytest.mark.parametrize("what", [b"bytes", None, 5, ["a"]])
def test_a_value_that_is_not_a_str_is_refused_with_its_type(what):
    for ask in (docindex.fingerprints, docindex.sketch, docindex.simhash):
        with pytest.raises(TypeError, match=f"must be str, not {type(what).__name__}"):
            ask(what)
    for ask in (docindex.resemblance, docindex.containment):
        with pytest.raises(TypeError, match=f"must be str, not {type(what).__name__}"):
            ask("a text", what)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_a_simhash_of_more_than_64_bits_is_refused(value):
    with pytest.raises(ValueError, match="64"):
        docindex.distance(value, 0)


@pytest.mark.parametrize("value", ["12", 1.5, None])
def test_a_simhash_that_is_not_a_whole_number_is_refused(value):
    with pytest.raises(TypeError, match="int"):
        docindex.distance(value, 0)


def test_resemblance_and_containment_of_texts_without_a_shingle_are_0_or_1():
    assert docindex.resemblance("?!", " ? !") == docindex.containment("", "\n") == 1.0
    assert docindex.resemblance("", "?!") == docindex.containment("?!", "!?") == 0.0
    assert (
        docindex.resemblance("", "word")
        == docindex.containment("", "word")
        == docindex.containment("word", "")
        == 0.0
    )


def test_texts_shorter_than_a_shingle_resemble_only_texts_with_their_words():
    assert docindex.resemblance("Hello!", "hello") == 1.0
    assert docindex.resemblance("hello", "world", Recipe(shingle=9)) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: docindex.open(5), "the path of an index must be str, bytes or os.PathLike, not 5"),
        (
            lambda _: docindex.open(":memory:", timeout_s="a"),
            "timeout_s must be a number of seconds, not 'a'",
        ),
        (lambda _: docindex.distance("a", 1), "simhash values must be of type int, not 'a' and 1"),
        (lambda index: index.add_many(5), "items must be a list or another iterable, not 5"),
        (lambda index: index.load(5), "lines must be a list or another iterable, not 5"),
        (lambda index: index.load([1]), "line 1 must be a str that export wrote, not 1"),
        (lambda index: index.execute(5), "a statement must be SQL as a str, not 5"),
        (lambda _: docindex.Text(5), "a text must be str, not 5"),
        (lambda _: docindex.Key(b"a"), "a key must be str, not b'a'"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_in_one_sentence(call, message):
    with docindex.open(":memory:") as index, pytest.raises(TypeError, match=re.escape(message)):
        call(index)


@pytest.mark.parametrize("kind", [docindex.Text, docindex.Key])
def test_a_marked_string_can_be_copied_and_pickled(kind):
    marked = kind("ada.txt")
    for other in (copy.deepcopy(marked), pickle.loads(pickle.dumps(marked)), kind(marked)):
        assert (type(other), other) == (kind, "ada.txt")


def test_a_time_limit_that_is_not_a_number_is_refused():
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(TypeError, match="limit_s must be a number of seconds, not 'a'"),
    ):
        docindex.register(connection, limit_s="a")


@pytest.mark.parametrize(
    "error",
    [
        docindex.RecipeMismatch("message", stored=docindex.Recipe(), wanted=docindex.Recipe(k=5)),
        *(kind("message", "path") for kind in docindex.errors.FileError.__subclasses__()),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_can_be_passed_to_another_process(error):
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), vars(other)) == (type(error), "message", vars(error))
