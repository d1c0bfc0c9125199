"""A string in SQL is always a text; documents are named by ids; and functions show the texts of documents."""

import random
import sqlite3

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import docindex
from docindex.sql.document_texts import Marks, highlighted, snippet
from tests.sql.test_register import connected, failure, one

TEXT = "It is a truth universally acknowledged, that a single man in possession of a good fortune"
FOOTER = "Printed by Spottiswoode and Company, New-street Square, London"


@pytest.fixture(params=["apsw", "sqlite3"])
def db(request, tmp_path):
    path = tmp_path / "index.docindex"
    with docindex.open(path) as index:
        index.add_many([("ada.txt", TEXT), ("letters/bob.txt", f"He wrote: {TEXT}! {FOOTER}."), ("12", "12")])
        index.add("not kept", TEXT + " again", store_text=False)
        index.boilerplate.add(FOOTER)
    connection = connected(request.param, path)
    yield connection
    connection.close()


ON_TEXTS = [
    *("doc_resemblance({}, 'x')", "doc_resemblance('x', {})", "doc_containment(1, {})", "doc_basis({}, 2)"),
    *("doc_simhash({})", "doc_sketch({})", "doc_features({})", "doc_canonical({})", "doc_common({})"),
    *("doc_search_json({})", "doc_similar_json({})", "doc_near_json({})", "doc_fingerprints_json({})"),
    *("doc_passages_json({}, 'x')", "doc_passages_json(1, {})"),
    *("doc_snippet(1, {})", "doc_highlight(1, {})"),
]


@pytest.mark.parametrize("call", ON_TEXTS)
def test_the_key_of_a_document_is_no_text(db, call):
    name = call.partition("(")[0]
    message = (
        f"{name}: 'ada.txt' is the key of a document; write doc_key(...) for that document, "
        "or doc_literal(...) for the text"
    )
    assert failure(db, "select " + call.format("'ada.txt'")) == message
    as_text, other = (
        one(db, "select " + call.format(what)) for what in ("doc_literal('ada.txt')", "'ada.t'")
    )
    assert type(as_text) is type(other)
    one(db, "select " + call.format("doc_key('ada.txt')"))


@pytest.mark.parametrize("table", ["doc_search", "doc_similar", "doc_near", "doc_fingerprints"])
def test_tables_refuse_the_key_of_a_document_too(table):
    with docindex.open(":memory:") as index:
        index.add("ada.txt", TEXT)
        with pytest.raises(ValueError, match=rf"^{table}: 'ada.txt' is the key of a document; write doc_key"):
            index.execute(f"select * from {table}('ada.txt')")
        by_key = index.execute(f"select * from {table}(doc_key('ada.txt'))")
        assert by_key == index.execute(f"select * from {table}(1)") != []
        assert index.execute(f"select * from {table}(doc_literal(?))", [TEXT]) == by_key


def test_a_literal_means_its_text_wherever_it_goes(db):
    db.execute("create temp table t (text)")
    db.execute(
        "insert into t values (doc_literal('ada.txt')), (doc_literal(doc_text(1))), (doc_literal(null))"
    )
    found = db.execute("select doc_canonical(text), doc_resemblance(text, 1) from t").fetchall()
    assert found == [("ada txt", 0.0), (one(db, "select doc_canonical(1)"), 1.0), (None, None)]
    assert failure(db, "select doc_literal(1)") == "doc_literal: text must be TEXT, not INTEGER"


def test_doc_key_gives_the_id_or_names_similar_keys(db):
    assert one(db, "select doc_key('letters/bob.txt')") == 2
    assert one(db, "select doc_key(null)") is None
    assert one(db, "select doc_key('12', 'main')") == 3
    for key, message in [
        ("ada.tx", "there is no document 'ada.tx'. Did you mean 'ada.txt'?"),
        ("letters/Bob.txt", "there is no document 'letters/Bob.txt'. Did you mean 'letters/bob.txt'?"),
        ("something else", "there is no document 'something else'"),
    ]:
        assert failure(db, "select doc_key(?)", key) == f"doc_key: {message}"
    assert failure(db, "select doc_key(1)") == "doc_key: key must be TEXT, not INTEGER"


def test_doc_text_gives_the_text_of_a_document(db):
    assert one(db, "select doc_text(doc_key('ada.txt'))") == TEXT
    assert one(db, "select doc_text(null)") is None
    assert one(db, "select doc_text(doc_key('not kept'))") is None
    assert failure(db, "select doc_text(99)") == "doc_text: there is no document 99"
    assert failure(db, "select doc_text('ada.txt')") == (
        "doc_text: expected the INTEGER id of a document, as doc_key(...) gives it, not TEXT"
    )


def test_highlights_mark_what_document_and_query_share_without_boilerplate(db):
    query = f"a TRUTH, universally acknowledged that a single man. {FOOTER}"
    marked = "a truth universally acknowledged, that a single man"
    expected = TEXT.replace(marked, f"<b>{marked}</b>")
    assert one(db, "select doc_highlight(1, ?, '<b>', '</b>')", query) == expected
    assert one(db, "select doc_highlight(2, ?, '<b>', '</b>')", query) == f"He wrote: {expected}! {FOOTER}."
    assert one(db, "select doc_highlight(1, ?)", query) == TEXT.replace(marked, f"[{marked}]")
    assert one(db, "select doc_highlight(1, 'nothing of the kind')") == TEXT
    assert one(db, "select doc_highlight(1, 2, '', '')") == TEXT
    assert one(db, "select doc_highlight(doc_key('not kept'), 1)") is None
    assert one(db, "select doc_highlight(1, doc_key('not kept'))") is None


def test_snippets_show_the_best_stretch(db):
    query = "universally acknowledged, that a single man"
    call = "select doc_snippet(2, ?, '<', '>', '~', 60)"
    assert one(db, call, query) == f"~It is a truth <{query}> in possession~"
    assert one(db, "select doc_snippet(1, ?)", query) == TEXT.replace(query, f"[{query}]")
    assert one(db, "select doc_snippet(2, 'nothing', null, null, null, 20)") == "He wrote: It is a truth…"
    assert one(db, "select doc_snippet(doc_key('not kept'), ?)", query) is None
    assert failure(db, "select doc_snippet(1, 'x', 1)") == "doc_snippet: open must be TEXT, not INTEGER"
    assert failure(db, "select doc_snippet(1, 'x', null, null, null, 0)").startswith(
        "doc_snippet: symbols must"
    )


def test_without_an_index_a_string_is_a_text():
    for library in (apsw, sqlite3):
        connection = library.Connection(":memory:")
        docindex.register(connection)
        assert one(connection, "select doc_resemblance('ada.txt', doc_literal('Ada, txt'))") == 1.0
        connection.close()


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
