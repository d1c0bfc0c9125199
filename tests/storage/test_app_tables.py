"""An index follows a table of an app: its documents are the rows, and their texts stay in the table."""

import contextlib
import dataclasses
import random
import re
import sqlite3

import apsw
import pytest

import docindex
from docindex.index.adding import write_documents
from docindex.storage.followed import rows
from tests.storage.texts import prose

NOTES = 60


def text_of(number, version=0):
    rng = random.Random(number // 2)  # two notes share much
    return f"{prose(rng, 70)} {prose(random.Random(1000 * version + number), 8)}"


@pytest.fixture
def app(tmp_path):
    """The database of an app with a table of notes."""
    path = tmp_path / "app.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute('create table "my ""notes""" (id integer primary key, body text, author, hidden)')
        db.executemany(
            'insert into "my ""notes""" (body, author) values (?, ?)',
            [(text_of(number), f"author {number}") for number in range(1, NOTES + 1)],
        )
        db.commit()
    with docindex.open(path, create=True) as index:
        index.follow('my "notes"', key="id", text="body", meta="author")
    return path


def change(path, *statements):
    """Run statements as a program that knows nothing of docindex; "note" stands for the table."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("begin")
        for statement in statements:
            db.execute(re.sub(r"\bnote\b", '"my ""notes"""', statement))
        db.execute("commit")


def rows_of(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        return {str(number): body for number, body in db.execute('select id, body from "my ""notes"""')}


def answers(index):
    """The answers of every kind of question."""
    keys = list(index)
    return {
        "texts": [(key, index.text(key), index.meta(key)) for key in keys],
        "pairs": sorted((p.a, p.b, p.resemblance, p.basis) for p in index.pairs(min_resemblance=0.1)),
        "contained": sorted((p.a, p.b, p.containment) for p in index.containments(min_containment=0.3)),
        "similar": [[(m.key, m.resemblance) for m in index.similar(docindex.Key(k), 0.1)] for k in keys],
        "search": [[(m.key, m.shared, m.containment) for m in index.search(docindex.Key(k))] for k in keys],
        "exact": [[(m.key, m.containment) for m in index.search(docindex.Key(k), exact=True)] for k in keys],
        "near": [[(n.key, n.distance) for n in index.near(k, 20)] for k in keys],
        "passages": [
            [dataclasses.astuple(p) for p in index.compare(docindex.Key(k), docindex.Key("1")).passages]
            for k in keys
        ],
    }


def test_every_answer_is_that_of_an_index_that_keeps_the_texts(app, tmp_path):
    change(
        app,
        "update note set body = 'something else, of which no other note has as much as a line' where id = 5",
        "delete from note where id between 20 and 25",
        "insert into note (id, body, author) values (500, 'a late note with quite different words', null)",
        "update note set id = 600 where id = 7",
        "update note set hidden = 1",
    )
    with docindex.open(tmp_path / "kept") as kept, docindex.open(app) as index:
        with contextlib.closing(sqlite3.connect(app)) as db:
            kept.add_from(db, 'select id, body, author from "my ""notes"""')
        assert answers(index) == answers(kept)
        assert index.check() == []


def test_the_index_keeps_no_text_of_a_followed_table(app):
    with contextlib.closing(sqlite3.connect(app)) as db:
        assert db.execute("select count(*) from docindex_changed").fetchone() == (NOTES,)
    with docindex.open(app) as index:
        assert len(index) == NOTES
    with contextlib.closing(sqlite3.connect(app)) as db:
        assert db.execute("select count(*), max(length(data)) from docindex_text").fetchone() == (NOTES, 10)
        assert db.execute("select count(*) from docindex_changed").fetchone() == (0,)


@pytest.mark.parametrize("library", ["apsw", "sqlite3"])
def test_a_rollback_and_a_savepoint_undo_what_was_queued(library, app):
    db = apsw.Connection(str(app)) if library == "apsw" else sqlite3.connect(app, isolation_level=None)
    docindex.register(db)
    table = '"my ""notes"""'
    asked = "zebras graze in the tall grass of the wide plain"
    count = f"select count(*) from json_each(doc_search_json('{asked}', 36))"
    text = "'zebras graze in the tall grass of the wide plain and drink from the river'"
    db.execute("begin")
    db.execute(f"insert into {table} (body) values ({text})")
    assert db.execute(count).fetchall() == [(1,)]  # seen inside the transaction
    db.execute("rollback")
    assert db.execute(count).fetchall() == [(0,)]
    db.execute("begin")
    db.execute("savepoint one")
    db.execute(f"insert into {table} (body) values ({text})")
    db.execute("rollback to one")
    db.execute(f"insert into {table} (body) values ({text})")
    db.execute("commit")
    assert db.execute(count).fetchall() == [(1,)]
    db.close()
    with docindex.open(app) as index:
        assert len(index) == NOTES + 1
        assert index.check() == []


def test_random_changes_of_an_app_are_always_in_the_index(app):
    rng = random.Random(3)
    with docindex.open(app) as index:
        for version in range(1, 12):
            for _ in range(rng.randrange(1, 12)):
                number = rng.randrange(1, NOTES + 5)
                body = text_of(rng.choice([number, 2, 3]), rng.choice([0, version])).replace("'", "''")
                change(
                    app,
                    rng.choice(
                        [
                            f"insert or replace into note (id, body) values ({number}, '{body}')",
                            f"update note set body = '{body}' where id = {number}",
                            f"delete from note where id = {number}",
                            f"update or ignore note set id = {NOTES + 10 + number} where id = {number}",
                            f"update note set body = null where id = {number}",
                        ]
                    ),
                )
            expected = {key: body for key, body in rows_of(app).items() if body is not None}
            assert {key: index.text(key) for key in index} == expected
        assert index.check() == []
        index.optimize()
        assert index.check() == []


def test_an_index_that_may_not_write_says_that_it_is_out_of_date(app):
    with (
        docindex.open(app, readonly=True) as index,
        pytest.raises(docindex.OutOfDate, match=r"after docindex\.register\(connection\)"),
    ):
        len(index)
    for db in (
        apsw.Connection(str(app), flags=apsw.SQLITE_OPEN_READONLY),
        sqlite3.connect(f"file:{app}?mode=ro", uri=True),
    ):
        docindex.register(db)
        with pytest.raises((docindex.OutOfDate, sqlite3.OperationalError)):
            db.execute("select doc_search_json('some words')").fetchall()
        if isinstance(db, sqlite3.Connection):
            assert "may not write" in db.execute("select doc_error()").fetchone()[0]
        db.close()
    with docindex.open(app) as index:
        assert len(index) == NOTES
    with docindex.open(app, readonly=True) as index:
        assert len(index) == NOTES


def test_a_change_behind_the_trigger_is_named_and_rebuild_mends_it(app):
    with docindex.open(app) as index:
        assert len(index) == NOTES
        change(
            app,
            'drop trigger "docindex_update_my ""notes"""',
            "update note set body = 'new words' where id = 3",
        )
        change(
            app, 'drop trigger "docindex_insert_my ""notes"""', "insert into note values (900, 'late', 0, 0)"
        )
        with pytest.raises(docindex.OutOfDate, match="changed without its trigger"):
            index.text("3")
        findings = index.check()
        assert any("changed without its trigger" in finding for finding in findings)
        assert any("not in the index: 1;" in finding for finding in findings)
        index.rebuild('my "notes"')
        assert (index.text("3"), index.text("900"), index.check()) == ("new words", "late", [])


def test_a_document_with_its_own_text_keeps_it_when_the_row_goes(app):
    with docindex.open(app) as index:
        index.add("mine", text_of(4))
        index.add("only a sketch", text_of(9), store_text=False)
        change(app, "delete from note where id in (4, 9)")
        assert index.text("mine") == text_of(4)
        assert index.text("only a sketch") is None
        assert index.check() == []
        index.add("another", text_of(30))
        assert index.check() == []


def test_unfollow_removes_the_documents_and_the_triggers_and_no_other(app):
    with docindex.open(app) as index:
        index.add("mine", text_of(4))
        index.unfollow('my "notes"')
        assert list(index) == ["mine"]
        assert index.check() == []
        with pytest.raises(KeyError, match="does not follow"):
            index.unfollow('my "notes"')
        index.follow('my "notes"', key="id", text="body", prefix="note ")
        assert len(index) == NOTES + 1
    with contextlib.closing(sqlite3.connect(app)) as db:
        triggers = db.execute("select count(*) from sqlite_schema where type = 'trigger'").fetchone()
    assert triggers == (3,)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"table": "nothing"}, "no table 'nothing'"),
        ({"key": "nothing"}, "no column 'nothing'; it has 'id', 'body'"),
        ({"meta": "nothing"}, "no column 'nothing'"),
        ({}, "is followed already"),
        ({"table": "docindex_document"}, "belongs to docindex or SQLite"),
        ({"table": 5}, "^table must be str"),
        ({"key": "a\0b"}, "^key must be text without NUL"),
        ({"text": None}, "^text must be str"),
        ({"meta": b"x"}, "^meta must be str"),
        ({"prefix": "\ud800"}, "^prefix must be text without NUL or lone surrogates"),
    ],
)
def test_a_table_that_cannot_be_followed_is_refused_with_the_reason(names, message, app):
    given = {"table": 'my "notes"', "key": "id", "text": "body", **names}
    with docindex.open(app) as index:
        if names:
            index.unfollow('my "notes"')
        with pytest.raises((ValueError, TypeError), match=message):
            index.follow(given.pop("table"), **given)


def test_rows_with_odd_values_are_documents_or_left_out(app):
    with contextlib.closing(sqlite3.connect(app)) as db:
        insert = 'insert into "my ""notes""" values (?, ?, ?, 0)'
        db.execute(insert, (901, b"bytes \xff", 1e999))
        db.execute(insert, (902, 12345, b"blob"))
        db.execute(insert, (903, "text", '{"a": [1]}'))
        db.execute(insert, (904, None, None))
        db.commit()
    with docindex.open(app) as index:
        found = {key: (index.text(key), index.meta(key)) for key in index if key > "900"}
        assert found == {"901": ("bytes \ufffd", "inf"), "902": ("12345", None), "903": ("text", {"a": [1]})}
        assert index.check() == []


def test_two_tables_with_the_same_text_do_not_need_each_other(app):
    change(
        app, "create table task (id integer primary key, body)", "insert into task select id, body from note"
    )
    with docindex.open(app) as index:
        index.follow("task", key="id", text="body", prefix="task ")
        index.flush()
        change(app, "delete from note where id = 1")
        assert index.text("task 1") == text_of(1)
        index.unfollow('my "notes"')
        assert index.text("task 2") == text_of(2)
        assert index.check() == []
        assert len(index.pairs(min_resemblance=0.5)) > 0


def test_a_table_in_utf_16_is_followed(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "app.db")) as db:
        db.execute("pragma encoding = 'UTF-16'")
        db.execute("create table note (id integer primary key, body text)")
        db.execute("insert into note (body) values ('Größe 漢字 🫨')")
        db.commit()
    with docindex.open(tmp_path / "app.db", create=True) as index:
        index.follow("note", key="id", text="body")
        assert index.text("1") == "Größe 漢字 🫨"
        assert index.check() == []


def test_every_clause_of_a_conflict_works_on_a_followed_table(app):
    with docindex.open(app) as index:
        index.flush()
        change(
            app,
            "insert into note (id, body) values (1, 'x') on conflict (id) do update set body = 'upserted'",
            "update or fail note set body = 'failed' where id = 2",
            "update or abort note set body = 'aborted' where id = 2",
            "update or rollback note set body = 'rolled' where id = 3",
            "insert or fail into note (id, body) values (700, 'late')",
            "update or fail note set body = 'later' where id = 700",
            "insert or ignore into note (id, body) values (700, 'ignored')",
        )
        assert [index.text(key) for key in ("1", "2", "3", "700")] == [
            "upserted",
            "aborted",
            "rolled",
            "later",
        ]
        assert index.check() == []


@pytest.mark.parametrize(
    "given", [{"connection": None}, {"sql": 5}, {"sql": "select 1"}, {"sql": "select null, 'a'"}]
)
def test_add_from_refuses_what_it_cannot_read(given):
    with docindex.open(":memory:") as index, contextlib.closing(sqlite3.connect(":memory:")) as db:
        with pytest.raises((TypeError, ValueError), match="must"):
            index.add_from(**{"connection": db, "sql": "select 'a', 'b'"} | given)
        assert len(index) == 0


def test_a_row_removes_no_document_that_somebody_added_under_its_key(app, caplog):
    with docindex.open(app) as index:
        index.add("100", "a text of my own, which is not in any table of the app")
        change(app, "insert into note (id, body) values (100, null)", "delete from note where id = 100")
        assert index.text("100").startswith("a text of my own")
        change(app, "insert into note (id, body) values (100, 'a row')")
        assert index.text("100").startswith("a text of my own")
        assert 'other documents have the keys of these rows of my "notes": 100' in caplog.text
        assert index.check() == [
            "rows of the table 'my \"notes\"' that are not in the index: 1; rebuild its documents"
        ]
        index.remove("100")
        index.rebuild('my "notes"')
        assert index.text("100") == "a row"
        assert index.check() == []


@pytest.mark.parametrize(
    "change_document",
    [
        lambda index: index.add("4", "another text"),
        lambda index: index.add_many([("new", "a text"), ("4", "another text")]),
        lambda index: index.remove("4"),
        lambda index: index.remove(docindex.Id(index["4"].id)),
        lambda index: index.rename("4", "four"),
        lambda index: index.rename_prefix("4", "four"),
        lambda index: index.update("4", meta=None),
    ],
)
def test_a_document_that_is_a_row_changes_only_with_its_row(change_document, app):
    with docindex.open(app) as index:
        before = list(index), index.text("4")
        with pytest.raises(ValueError, match="'4' is a row of a table that the index follows"):
            change_document(index)
        assert (list(index), index.text("4")) == before
        assert index.check() == []


@pytest.mark.parametrize(
    "statement",
    [
        "select doc_put('4', 'another text')",
        "select doc_remove('4')",
        "begin; select doc_put('4', 'another text')",
        "insert into doc_index (key, text) values ('4', 'another text')",
        "insert or replace into doc_index (key, text) values ('4', 'another text')",
        "update doc_index set text = 'another text' where key = '4'",
        "update or replace doc_index set key = '4' where key = 'mine'",
        "delete from doc_index where key = '4'",
    ],
)
def test_a_document_that_is_a_row_changes_only_with_its_row_in_sql(statement, app):
    with contextlib.closing(apsw.Connection(str(app))) as db:
        docindex.register(db)
        db.execute("insert into doc_index (key, text) values ('mine', 'a text of my own')")
        with pytest.raises((ValueError, apsw.ConstraintError)):
            db.execute(statement).fetchall()
    with docindex.open(app) as index:
        assert index.text("4") == text_of(4)
        assert index.text("mine") == "a text of my own"
        assert index.check() == []


def test_follow_refuses_rows_whose_keys_other_documents_have(app):
    change(app, "create table task (id integer primary key, body)", "insert into task values (1, 'a task')")
    with docindex.open(app) as index:
        with pytest.raises(
            ValueError, match="two rows could have one key; follow 'task' with another prefix"
        ):
            index.follow("task", key="id", text="body")
        index.add("task/1", "a text of my own")
        with pytest.raises(ValueError, match="the index has a document 'task/1' already"):
            index.follow("task", key="id", text="body", prefix="task/")
        change(app, "create table twice (name collate nocase, body)")
        change(app, "insert into twice values ('x', 'one'), ('X', 'two'), (7, 'three'), ('7', 'four')")
        with pytest.raises(
            ValueError, match="two rows of the table 'twice' have the key '7'; name a key column whose"
        ):
            index.follow("twice", key="name", text="body", prefix="twice ")
        index.follow("task", key="id", text="body", prefix="task ")
        assert index.text("task 1") == "a task"
        assert index.check() == []


@pytest.mark.parametrize("declared", ["", "any", "real", "numeric", "blob", "text"])
def test_each_type_of_key_is_followed(declared, tmp_path):
    values = [1, 2.5, "two", b"\x01\xff", "a\0b", None, "1e3"]
    with contextlib.closing(sqlite3.connect(tmp_path / "app.db")) as db:
        db.execute(f"create table page (k {declared} unique, body text)")
        db.executemany("insert into page values (?, ?)", [(v, f"the text of {v!r}") for v in values])
        db.execute("insert into page values (cast(x'ff61' as text), 'a key that is not UTF-8')")
        db.commit()
        keys = db.execute(
            "select case typeof(k) when 'blob' then hex(k) else k || '' end, body from page "
            "where k is not null and instr(cast(k as blob), x'00') = 0 and body not like '%UTF-8'"
        ).fetchall()
    with docindex.open(tmp_path / "app.db", create=True) as index:
        index.follow("page", key="k", text="body")
        assert {key: index.text(key) for key in index} == dict(keys)
        assert len(keys) == 5
        change(tmp_path / "app.db", "update page set body = 'new: ' || body")
        assert {key: index.text(key) for key in index} == {key: f"new: {text}" for key, text in keys}
        change(tmp_path / "app.db", "delete from page")
        assert list(index) == []
        assert index.check() == []


@pytest.mark.parametrize("collation", ["nocase", "rtrim"])
def test_a_key_that_is_written_in_another_way_is_another_document(collation, tmp_path):
    path = tmp_path / "app.db"
    change(path, f"create table page (k text collate {collation} primary key, body text)")
    change(path, "insert into page values ('a', 'the text of a')")
    other = {"nocase": "A", "rtrim": "a  "}[collation]
    with docindex.open(path, create=True) as index:
        index.follow("page", key="k", text="body")
        assert list(index) == ["a"]
        change(path, f"update page set k = '{other}'")
        assert (list(index), index.text(other), index.check()) == ([other], "the text of a", [])
        change(path, "insert or replace into page values ('a', 'a text after replace')")
        assert (list(index), index.text("a"), index.check()) == (["a"], "a text after replace", [])


def test_a_row_that_another_row_replaces_is_no_document(tmp_path):
    path = tmp_path / "app.db"
    change(
        path, "create table page (id integer primary key, path text unique, a, b, body text, unique (a, b))"
    )
    change(path, *(f"insert into page values ({n}, 'path {n}', {n}, 1, '{text_of(n)}')" for n in range(1, 9)))
    with docindex.open(path, create=True) as index:
        index.follow("page", key="id", text="body")
        assert len(index) == 8
        change(path, f"insert or replace into page values (20, 'path 3', 4, 1, '{text_of(20)}')")
        assert sorted(index, key=int) == ["1", "2", "5", "6", "7", "8", "20"]
        change(path, "update or replace page set path = 'path 5' where id = 20")
        change(path, "update or replace page set body = 'nobody is replaced' where id = 20")
        assert sorted(index, key=int) == ["1", "2", "6", "7", "8", "20"]
        assert index.check() == []
        assert len(index.pairs(min_resemblance=0.1)) > 0


@pytest.mark.parametrize(
    ("table", "before", "replace"),
    [
        (
            "k integer primary key, name text collate nocase unique",
            "(1, 'A')",
            "insert or replace into page values (2, 'a'",
        ),
        ("k, name unique", "(1, 1.0)", "insert or replace into page values (2, 1"),
        ("k text primary key, name", "('a', 0)", "insert or replace into page values ('a', 1"),
        ("k primary key, name", "(1.0, 0)", "insert or replace into page values (1, 1"),
        (
            "k text collate nocase, name unique",
            "('a', 1), ('A', 2)",
            "update or replace page set name = 2 where name = (1",
        ),
    ],
)
def test_each_way_in_which_a_row_replaces_another_is_noticed(table, before, replace, tmp_path):
    path = tmp_path / "app.db"
    change(path, f"create table page ({table}, body text default '{text_of(1)}')")
    change(path, f"insert into page (k, name) values {before}")
    with docindex.open(path, create=True) as index:
        index.follow("page", key="k", text="body")
        assert len(index) == before.count("(")
        change(path, f"{replace}, 'new')" if replace.startswith("insert") else f"{replace})")
        assert len(index) == 1
        assert index.check() == []


def test_a_row_gets_another_rowid_under_each_of_its_names(tmp_path):
    path = tmp_path / "app.db"
    change(
        path, "create table page (id integer primary key, body text)", "insert into page values (1, 'a page')"
    )
    with docindex.open(path, create=True) as index:
        index.follow("page", key="id", text="body")
        for number, name in enumerate(["rowid", "oid", "_rowid_", "id"], 5):
            assert len(index) == 1
            change(path, f"update page set {name} = {number}")
            assert list(index) == [str(number)]
        assert index.check() == []


def test_a_change_of_another_column_queues_nothing(app):
    with docindex.open(app) as index:
        index.flush()
        change(app, "update note set hidden = hidden + 1")
        with contextlib.closing(sqlite3.connect(app)) as db:
            assert db.execute("select count(*) from docindex_changed").fetchone() == (0,)


def test_a_part_of_a_primary_key_is_not_taken_for_the_whole(tmp_path):
    path = tmp_path / "app.db"
    change(
        path, "create table page (book integer, page integer, k text, body text, primary key (book, page))"
    )
    change(path, *(f"insert into page values (1, {n}, 'k{n}', 'body {n}')" for n in range(20)))
    with docindex.open(path, create=True) as index:
        index.follow("page", key="k", text="body")
        index.flush()
        change(path, "insert into page values (1, 20, 'k20', 'body 20')")
        with contextlib.closing(sqlite3.connect(path)) as db:
            assert db.execute("select value from docindex_changed").fetchall() == [("k20",)]


def test_a_trigger_for_an_index_that_is_gone_goes_when_the_table_is_followed_again(tmp_path):
    path = tmp_path / "app.db"
    change(path, "create table page (id integer primary key, name text, body text)")
    change(path, "create unique index by_name on page (name)")
    with docindex.open(path, create=True) as index:
        index.follow("page", key="id", text="body")
        change(path, "drop index by_name")
        assert any("are missing or changed" in finding for finding in index.check())
        index.follow("page", key="id", text="body")
        assert index.check() == []
        change(path, "alter table page drop column name")
        assert index.check() == []


def test_tables_whose_names_begin_alike_have_their_own_triggers(tmp_path):
    path = tmp_path / "app.db"
    tables = ["page", "page_before", "before_page", "insert_page", "page_before_insert"]
    with docindex.open(path) as index:
        for table in tables:
            change(path, f"create table {table} (id integer primary key, name unique, body text)")
            index.follow(table, key="id", text="body", prefix=f"{table}/")
        change(path, *(f"insert into {table} values (1, 'a', 'a page')" for table in tables))
        assert sorted(index) == sorted(f"{table}/1" for table in tables)
        index.unfollow("page")
        change(path, *(f"insert into {table} values (2, 'b', 'a page')" for table in tables))
        assert len(index) == 2 * (len(tables) - 1)
        assert index.check() == []


def test_two_values_that_read_the_same_are_one_document_and_the_other_is_named(tmp_path, caplog):
    path = tmp_path / "app.db"
    change(path, "create table page (k, body text)", "insert into page values (7, 'the number')")
    with docindex.open(path, create=True) as index:
        index.follow("page", key="k", text="body")
        assert index.text("7") == "the number"
        change(path, "insert into page values ('7', 'the text')")
        assert index.text("7") == "the number"
        assert "other rows of page have the same keys: 7" in caplog.text
        change(path, "delete from page where k = '7'")
        assert index.text("7") == "the number"
        change(path, "update page set k = '7'")
        assert index.text("7") == "the number"
        change(path, "delete from page")
        assert list(index) == []
        assert index.check() == []


def test_real_keys_are_the_same_in_every_version_of_sqlite(tmp_path):
    path = tmp_path / "app.db"
    change(path, "create table page (k real primary key, body text)")
    change(path, "insert into page values (0.1 + 0.2, 'a'), (1, 'b'), (1e300, 'c'), (-2.5, 'd')")
    with docindex.open(path, create=True) as index:
        index.follow("page", key="k", text="body")
        assert sorted(index) == ["-2.5", "0.3", "1.0", "1.0e+300"]
        with contextlib.closing(sqlite3.connect(path)) as db:
            docindex.register(db)
            db.execute("update page set body = body || ' more'")
            assert db.execute("select doc_flush()").fetchone() == (4,)
            db.commit()
        assert (len(index), index.text("0.3"), index.check()) == (4, "a more", [])


def test_what_a_cancelled_question_has_indexed_stays(tmp_path, monkeypatch):
    path = tmp_path / "app.db"
    change(path, "create table page (id integer primary key, body text)")
    change(path, *(f"insert into page values ({n}, '{text_of(n)}')" for n in range(1, 9)))
    monkeypatch.setattr(rows, "MOST_ROWS", 3)
    with docindex.open(path, create=True) as index:
        index.follow("page", key="id", text="body")
        token = docindex.CancelToken()
        sketched = []

        def write(*given, **options):
            sketched.append(given)
            if len(sketched) == 2:
                token.cancel()
            return write_documents(*given, **options)

        monkeypatch.setattr("docindex.index.following.write_documents", write)
        with pytest.raises(docindex.Cancelled), docindex.cancelling(token):
            index.search("anything at all")
        with contextlib.closing(sqlite3.connect(path)) as db:
            waiting = db.execute("select count(*) from docindex_changed").fetchone()[0]
        assert waiting in (2, 5)
        assert len(index) == 8
        assert index.check() == []


@pytest.mark.parametrize("change_", ["alter table note rename to renamed", "drop table note"])
def test_a_table_that_is_gone_is_named_and_stops_no_other_question(change_, app, caplog):
    with docindex.open(app) as index:
        index.add("mine", "a text of my own, which is not in any table of the app")
        change(app, "delete from note where id = 3", "update note set hidden = 2", change_)
        assert index.text("mine")
        with pytest.raises(docindex.OutOfDate, match=r"cannot be read .*no such table.*; unfollow it"):
            index.text("5")
        assert any("no such table" in finding for finding in index.check())
        index.unfollow('my "notes"')
        assert list(index) == ["mine"]
        assert index.check() == []
    assert "are not indexed" in caplog.text


def test_a_virtual_table_follows_a_table_until_it_is_dropped(tmp_path):
    db = apsw.Connection(str(tmp_path / "app.db"))
    docindex.register(db)
    db.execute("create table note (id integer primary key, body text)")
    db.execute("insert into note (body) values (?), (?)", (text_of(1), text_of(2)))
    db.execute("create virtual table note_index using doc_index(content='note', key=id, text=\"body\")")
    assert db.execute("select key, text from note_index").fetchall() == [("1", text_of(1)), ("2", text_of(2))]
    db.execute("insert into note_index (note_index) values ('integrity-check')")
    db.execute("insert into doc_index (key, text) values ('mine', 'a text of my own')")
    assert db.execute("select key from note_index where key = 'mine'").fetchall() == []
    assert db.execute("select key from note_index where key = '1'").fetchall() == [("1",)]
    db.execute("delete from doc_index where key = 'mine'")
    for statement in ("delete from note_index", "insert into note_index (key, text) values ('a', 'b')"):
        with pytest.raises(ValueError, match="change that one"):
            db.execute(statement)
    db.close()
    db = apsw.Connection(str(tmp_path / "app.db"))
    docindex.register(db)
    db.execute("drop trigger docindex_delete_note")
    db.execute("delete from note where id = 2")
    with pytest.raises(docindex.CorruptIndex, match="rebuild"):
        db.execute("insert into note_index (note_index) values ('integrity-check')")
    db.execute("insert into note_index (note_index) values ('rebuild')")
    assert db.execute("select key from note_index").fetchall() == [("1",)]
    db.execute("drop table note_index")
    assert db.execute("select count(*) from docindex_document").fetchall() == [(0,)]
    assert db.execute("select count(*) from sqlite_schema where type = 'trigger'").fetchall() == [(0,)]
    db.close()
