"""A lone surrogate, which SQLite cannot pass on, hides no other text, and no update loses it by chance."""

import json
import sqlite3

import apsw
import pytest

import docindex
from docindex.sql.table_functions import TABLES
from tests.query.corpus import RECIPE

PLAIN = "the quick brown fox jumps over the lazy dog and runs through the whole of the forest to the lake"
TEXT = f"an opening \udc80 {PLAIN} \ud800 and an end"
SHOWN = f"an opening \ufffd {PLAIN} \ufffd and an end"
EVERYTHING = "select key, text, meta from doc_index order by key"


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "index.docindex")
    with docindex.open(path, recipe=RECIPE) as index:
        index.add("lone", TEXT, meta={"by": "Ada"})
        index.add("plain", PLAIN)
    return path


@pytest.fixture
def db(path):
    db = apsw.Connection(path)
    docindex.register(db)
    yield db
    db.close()


def stored(path):
    with docindex.open(path) as index:
        assert index.check() == []
        return {key: index.text(key) for key in index}


def test_every_document_can_be_read_and_offsets_stay_the_same(db, path):
    assert db.execute(EVERYTHING).fetchall() == [("lone", SHOWN, '{"by":"Ada"}'), ("plain", PLAIN, None)]
    with docindex.open(path) as index:
        assert index.execute(EVERYTHING) == db.execute(EVERYTHING).fetchall()
        (start, end, text), *_ = index.execute("select query_start, query_end, text from doc_passages(1, 2)")
        passage = index.compare("lone", "plain").passages[0]
        assert (start, end) == (passage.query_start, passage.query_end)
        assert text == SHOWN[start:end]


@pytest.mark.parametrize("connect", [apsw.Connection, sqlite3.connect])
def test_every_function_of_one_document_gives_text_that_sqlite_can_pass_on(path, connect):
    db = connect(path)
    docindex.register(db)
    calls = [
        "doc_canonical(1)",
        "doc_resemblance(1, 2)",
        "doc_simhash(1)",
        "doc_sketch(1)",
        "doc_features(1)",
    ]
    calls += [f"{table.name}_json({', '.join('12'[: table.required])})" for table in TABLES]
    for call in calls:
        assert db.execute(f"select {call}").fetchall() != [(None,)]
    ((texts,),) = db.execute(
        "select json_group_array(value ->> 'text') from json_each(doc_passages_json(1, 2))"
    ).fetchall()
    assert json.loads(texts) == [PLAIN]
    db.close()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("update doc_index set meta = '[1]'", "lone"),
        ("update doc_index set meta = '[1]' where text like 'an opening%'", "lone"),
        ("update doc_index set meta = '[1]' from (select 'lone' as k) where key = k", "lone"),
        ("update doc_index set key = 'renamed' where key = 'lone'", "renamed"),
        ("update doc_index set text = text", "lone"),
        ("update doc_index set key = 'renamed', text = text, meta = meta where id = 1", "renamed"),
    ],
)
def test_an_update_that_does_not_change_the_text_keeps_the_surrogates(db, path, change, key):
    db.execute(change)
    db.close()
    assert stored(path) == {key: TEXT, "plain": PLAIN}


def test_an_update_that_changes_the_text_stores_what_it_says(db, path):
    db.execute("update doc_index set text = text || '!' where key = 'lone'")
    db.execute("update doc_index set text = 'odd \ufffd' where key = 'plain'")
    db.execute("update doc_index set text = 'odd \ufffd' where key = 'plain'")
    db.close()
    assert stored(path) == {"lone": f"{SHOWN}!", "plain": "odd \ufffd"}


def test_meta_with_a_lone_surrogate_is_refused_because_json_functions_could_not_read_it(path):
    with docindex.open(path) as index:
        for meta in ("\ud800", {"\udc80": 1}, ["\ud83d", {"a": ["\ude00"]}], "\ud83d" + "\ude00"):
            with pytest.raises(ValueError, match="the meta of 'a' cannot be stored as JSON: it has a lone"):
                index.add("a", "text", meta=meta)
        index.add("a", "text", meta={"\U0001f600": "\\ud800", "b": "\u0000"})
        assert index.meta("a") == {"\U0001f600": "\\ud800", "b": "\u0000"}
        ((found,),) = index.execute("select meta ->> '\U0001f600' from docindex_document where key = 'a'")
        assert found == "\\ud800"
    db = apsw.Connection(path)
    docindex.register(db)
    with pytest.raises(ValueError, match="it has a lone surrogate"):
        db.execute("""insert into doc_index (key, text, meta) values ('b', 'text', '"\\ud800"')""")
    db.close()
