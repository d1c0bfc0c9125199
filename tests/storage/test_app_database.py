"""An index can live in the database of an app, and leaves the app's tables and settings as they are."""

import contextlib
import random
import sqlite3

import pytest

import docindex
from docindex import Recipe
from tests.storage.texts import prose

OURS = ("document", "content", "text", "file", "segment", "recipe", "sample", "tally", "dead")


@pytest.fixture
def app(tmp_path):
    """The path of a database of an app, whose tables have the names that ours have without their prefix."""
    path = tmp_path / "app.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        for name in OURS:
            db.execute(f"create table {name} (body text, place)")
            db.execute(f"insert into {name} values ('some words of the app', 5)")
        db.execute("create index content_words on content (body)")
        db.execute("delete from document")
        db.execute("insert into document (rowid, body) values (700, 'the words of a note')")
        db.execute("pragma user_version = 41")
        db.execute("pragma application_id = 1234")
        db.commit()
    return path


def settings(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        numbers = [db.execute(f"pragma {name}").fetchone()[0] for name in ("user_version", "application_id")]
        return [*numbers, *[db.execute(f"select rowid, * from {name}").fetchall() for name in OURS]]


def test_an_index_in_the_database_of_an_app_changes_nothing_of_the_app(app):
    before = settings(app)
    with docindex.open(app, create=True, recipe=Recipe(k=8)) as index:
        index.add_many([(str(n), prose(random.Random(n), 60)) for n in range(50)])
        for n in range(40):
            index.remove(str(n))
        index.optimize()
        assert index.check() == []
        assert [match.key for match in index.search(docindex.Key("45"), limit=1)] == ["45"]
    assert settings(app) == before
    with contextlib.closing(sqlite3.connect(app)) as db:
        db.execute("pragma user_version = 42")
        db.execute("pragma application_id = 5")
    for mode in ({}, {"readonly": True}, {"trusted": False}, {"create": True}):
        with docindex.open(app, **mode) as index:
            assert (len(index), index.recipe.k) == (10, 8)


def test_a_foreign_database_is_refused_with_the_way_to_add_an_index(app):
    before = app.read_bytes()
    for mode in ({}, {"readonly": True}, {"trusted": False}, {"create": True, "readonly": True}):
        with pytest.raises(docindex.NotAnIndex, match=r"use docindex\.open\(path, create=True\)"):
            docindex.open(app, **mode)
    assert app.read_bytes() == before


def test_a_file_of_its_own_may_be_made_with_create(tmp_path):
    with docindex.open(tmp_path / "index", create=True) as index:
        index.add("a", "some text")
    with contextlib.closing(sqlite3.connect(tmp_path / "index")) as db:
        assert db.execute("pragma application_id").fetchone()[0] == int.from_bytes(b"doci")


def test_a_table_of_the_app_with_our_name_is_named_and_stays(app):
    with contextlib.closing(sqlite3.connect(app)) as db:
        db.execute("create table docindex_dead (other)")
        db.commit()
    with pytest.raises(docindex.NotAnIndex, match="docindex_dead already exists; rename"):
        docindex.open(app, create=True)
    with contextlib.closing(sqlite3.connect(app)) as db:
        names = {name for (name,) in db.execute("select name from sqlite_schema")}
    assert {name for name in names if name.startswith("docindex_")} == {"docindex_dead"}


def test_an_index_without_its_recipe_is_damage_and_no_foreign_database(app):
    docindex.open(app, create=True).close()
    with contextlib.closing(sqlite3.connect(app)) as db:
        db.execute("drop table docindex_recipe")
        db.commit()
    with pytest.raises(docindex.CorruptIndex, match="docindex_recipe is missing"):
        docindex.open(app, create=True)


@pytest.mark.parametrize("function", ["doc_simhash", "theirs"])
def test_an_index_of_the_app_on_a_function_disturbs_neither_opening_nor_check(function, app):
    with contextlib.closing(sqlite3.connect(app)) as db:
        docindex.register(db)
        db.create_function("theirs", 1, len, deterministic=True)
        db.execute(f"create index by_words on document ({function}(body))")
        db.commit()
    with docindex.open(app, create=True) as index:
        index.add("a", "some words of a text that is long enough to be found again")
        index.optimize()
        assert index.check() == []
    with contextlib.closing(sqlite3.connect(app)) as db:
        db.execute("update docindex_content set symbols = symbols + 1")
        db.commit()
    with docindex.open(app) as index:
        assert any("content 1 was changed" in finding for finding in index.check())


def test_an_app_may_attach_its_database_and_join_the_documents(app):
    with docindex.open(app, create=True) as index:
        index.add("a", "the words of a note and some others, which make it longer")
    db = sqlite3.connect(":memory:")
    docindex.register(db)
    db.execute("attach ? as side", (str(app),))
    found = db.execute(
        "select d.key, doc_containment(t.body, d.id) from side.document t, side.docindex_document d"
    ).fetchall()
    assert found == [("a", 1.0)]
    db.close()
