"""The tables of an app that an index follows: their names, their columns, and the triggers on them."""

import contextlib
import sqlite3

import apsw
import pytest

import docindex

BODY = "The hives must be closed before the first frost of the year."


def app_with(path, *statements):
    """A database of an app, made by these statements. Returns its path."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("pragma journal_mode = wal")
        for statement in statements:
            db.execute(statement)
    return path


def change(path, *statements):
    app_with(path, *statements)


def triggers(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        found = db.execute("select name, tbl_name, sql from sqlite_schema where type = 'trigger'")
        return sorted(found.fetchall())


@pytest.fixture
def app(tmp_path):
    """A database with a table that is followed, and indexed."""
    path = app_with(
        tmp_path / "app.db",
        "create table note (id integer primary key, body text)",
        f"insert into note (body) values ('{BODY}'), ('The car needs new tyres.')",
    )
    with docindex.open(path, create=True) as index:
        index.follow("note", key="id", text="body")
        index.flush()
    return path


def follow_again(index):
    index.follow("note", key="id", text="body")


def follow_again_in_another_spelling(index):
    index.follow("NOTE", key="ID", text="Body")


def rebuild(index):
    index.rebuild("note")


MENDING = pytest.mark.parametrize("mend", [follow_again, follow_again_in_another_spelling, rebuild])
# https://sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes"
TWELVE_STEPS = (
    "begin",
    "create table new_note (id integer primary key, body text not null, author text)",
    "insert into new_note (id, body) select id, body from note",
    "drop table note",
    "alter table new_note rename to note",
    "commit",
)


@MENDING
@pytest.mark.parametrize(
    "losing",
    [
        TWELVE_STEPS,
        ("drop trigger docindex_update_note",),
        (
            "drop trigger docindex_insert_note",
            "create trigger docindex_insert_note after insert on note begin select 1; end",
        ),
        ("alter table note rename to old", "create table note as select * from old"),
    ],
)
def test_lost_triggers_are_named_by_check_and_made_again(app, losing, mend):
    before = triggers(app)
    change(app, *losing)
    change(
        app,
        "update note set body = 'other words of the first note' where id = 1",
        "insert into note (id, body) values (7, 'a late note')",
    )
    with docindex.open(app) as index:
        (finding,) = [finding for finding in index.check() if "are missing or changed" in finding]
        assert "rebuild its documents" in finding
        mend(index)
        assert {key: index.text(key) for key in index} == {
            "1": "other words of the first note",
            "2": "The car needs new tyres.",
            "7": "a late note",
        }
        assert index.check() == []
        change(app, "delete from note where id = 2", "update note set body = 'changed' where id = 7")
        assert (list(index), index.text("7")) == (["1", "7"], "changed")
        assert index.check() == []
    assert triggers(app) == before


def test_following_a_table_again_queues_nothing_while_its_triggers_are_there(app):
    with docindex.open(app) as index:
        follow_again(index)
        follow_again_in_another_spelling(index)
    with contextlib.closing(sqlite3.connect(app)) as db:
        assert db.execute("select count(*) from docindex_pending").fetchone() == (0,)


def test_a_rebuild_of_a_table_that_is_gone_says_what_to_do(app):
    change(app, "alter table note rename column body to words")
    with docindex.open(app) as index:
        with pytest.raises(docindex.OutOfDate, match=r"no such column.*unfollow it"):
            index.rebuild("note")
        with pytest.raises(ValueError, match="no column 'body'; it has 'id', 'words'"):
            follow_again(index)
        change(app, "drop table note")
        with pytest.raises(docindex.OutOfDate, match=r"no such table.*unfollow it"):
            index.rebuild("note")
        assert any("no such table" in finding for finding in index.check())


def test_a_table_that_is_gone_does_not_keep_check_from_the_others(app):
    change(app, "create table task (id integer primary key, body text)", "insert into task values (1, 'x')")
    with docindex.open(app) as index:
        index.follow("task", key="id", text="body", prefix="task ")
        index.flush()
        change(app, "drop table note", "drop trigger docindex_insert_task")
        findings = " ".join(index.check())
        assert "'note', which the index follows, cannot be read" in findings
        assert "triggers of the table 'task' are missing or changed (insert)" in findings


def test_a_table_that_became_a_view_is_named(app):
    change(app, "alter table note rename to old", "create view note as select * from old")
    with docindex.open(app) as index:
        assert any("are missing or changed" in finding for finding in index.check())
        with pytest.raises(ValueError, match="'note' is a view"):
            index.rebuild("note")
        index.unfollow("note")
        assert index.check() == []
    assert triggers(app) == []


@pytest.mark.parametrize("method", ["rebuild", "unfollow"])
def test_a_followed_table_is_named_in_any_case(app, method):
    with docindex.open(app) as index:
        getattr(index, method)("Note")
        assert list(index) == ([] if method == "unfollow" else ["1", "2"])
        assert index.check() == []


def test_names_are_read_as_sqlite_reads_them(tmp_path):
    path = app_with(
        tmp_path / "app.db",
        'create table "Äpfel Note" (Id text primary key, "Der Text" text, Meta) without rowid',
        f"insert into \"Äpfel Note\" values ('a', '{BODY}', 'm')",
    )
    with docindex.open(path, create=True) as index:
        with pytest.raises(ValueError, match="there is no table 'äpfel note'"):  # SQLite folds ASCII only
            index.follow("äpfel note", key="id", text="der text")
        index.follow("ÄPFEL NOTE", key="ID", text="der text", meta="META")
        assert (index.text("a"), index.meta("a")) == (BODY, "m")
        change(
            path,
            "insert into \"Äpfel Note\" values ('b', 'another note', null)",
            "update \"Äpfel Note\" set id = 'c' where id = 'a'",
            "update \"Äpfel Note\" set meta = 'n' where id = 'c'",
        )
        assert [(key, index.text(key), index.meta(key)) for key in index] == [
            ("b", "another note", None),
            ("c", BODY, "n"),
        ]
        change(path, "delete from \"Äpfel Note\" where id = 'b'")
        assert list(index) == ["c"]
        assert index.check() == []


@pytest.mark.parametrize("kind", ["virtual", "stored"])
def test_generated_columns_are_followed(kind, tmp_path):
    path = app_with(
        tmp_path / "app.db",
        "create table note (number integer primary key, title text, body text, "
        f"name text generated always as ('n' || number) {kind}, "
        f"whole text generated always as (title || ': ' || body) {kind})",
        "insert into note (title, body) values ('Bees', 'close the hives'), ('Car', 'new tyres')",
    )
    with docindex.open(path, create=True) as index:
        index.follow("note", key="name", text="whole")
        assert {key: index.text(key) for key in index} == {
            "n1": "Bees: close the hives",
            "n2": "Car: new tyres",
        }
        change(
            path,
            "update note set title = 'Hives' where number = 1",
            "update note set number = 8 where number = 2",
            "insert into note (title, body) values ('Late', 'a note')",
        )
        assert {key: index.text(key) for key in index} == {
            "n1": "Hives: close the hives",
            "n8": "Car: new tyres",
            "n9": "Late: a note",
        }
        change(path, "delete from note where number = 1")
        assert sorted(index) == ["n8", "n9"]
        assert index.check() == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("create view other as select * from note", "'other' is a view, whose changes no trigger notices"),
        ("create virtual table other using fts5 (id, body)", "'other' is a virtual table"),
    ],
)
def test_a_table_without_triggers_is_refused_in_one_sentence(statement, message, app):
    change(app, statement)
    with docindex.open(app) as index:
        with pytest.raises(ValueError, match=message):
            index.follow("Other", key="id", text="body")
        assert list(index) == ["1", "2"]
        assert index.check() == []


def test_an_untrusted_index_refuses_to_follow_in_one_sentence(app):
    change(app, "create table task (id integer primary key, body text)")
    before = triggers(app)
    with docindex.open(app, trusted=False) as index:
        with pytest.raises(docindex.Refused, match="open it with trusted=True"):
            index.follow("task", key="id", text="body", prefix="task ")
        with pytest.raises(docindex.Refused, match="open it with trusted=True"):
            index.unfollow("note")
        with pytest.raises(ValueError, match="no table 'nothing'"):
            index.follow("nothing", key="id", text="body")
        index.rebuild("note")
        assert list(index) == ["1", "2"]
        assert index.check() == []
    assert triggers(app) == before


def by_last_letter(a, b):
    return (a[-1:] > b[-1:]) - (a[-1:] < b[-1:])


def connected(path):
    """A connection of the app, which has the collation that its table uses."""
    db = apsw.Connection(str(path))
    db.create_collation("by_last_letter", by_last_letter)
    docindex.register(db)
    return db


def test_a_table_with_a_collation_of_the_app_is_indexed_on_connections_of_the_app(tmp_path):
    path = tmp_path / "app.db"
    db = connected(path)
    db.execute("pragma journal_mode = wal")
    db.execute("create table note (id text primary key collate by_last_letter, body text)")
    db.execute("insert into note values ('a1', 'the first note'), ('a2', 'the second note')")
    db.execute("create virtual table note_index using doc_index(content=note, key=id, text=body)")
    db.execute("insert into doc_index (key, text) values ('mine', 'a text of my own')")
    assert db.execute("select key from note_index order by key").fetchall() == [("a1",), ("a2",)]
    with docindex.open(path) as index:
        assert "mine" in index
        db.execute("update note set body = 'changed' where id = 'a1'")
        db.execute("delete from note where id = 'a2'")
        with pytest.raises(docindex.Refused, match=r"no such collation.*use one of the app"):
            index.text("mine")
        assert db.execute("select count(*) from docindex_changed").fetchall() == [(2,)]  # nothing is lost
        with pytest.raises(docindex.Refused, match="no such collation"):
            index.rebuild("note")
    assert db.execute("select key, text from note_index").fetchall() == [("a1", "changed")]
    db.close()


@pytest.mark.parametrize("door", ["index", "virtual table"])
def test_a_table_that_nobody_can_read_any_more_can_be_unfollowed(tmp_path, door):
    path = tmp_path / "app.db"
    db = connected(path)
    db.execute("pragma journal_mode = wal")
    db.execute("create table note (id text primary key collate by_last_letter, body text)")
    db.execute("insert into note values ('a1', 'the first note'), ('a2', 'the second note')")
    db.execute("create virtual table note_index using doc_index(content=note, key=id, text=body)")
    db.execute("insert into doc_index (key, text) values ('mine', 'a text of my own')")
    db.execute("update note set body = 'changed' where id = 'a1'")
    db.close()
    if door == "index":
        with docindex.open(path) as index:
            index.unfollow("note")
    else:
        other = apsw.Connection(str(path))
        docindex.register(other)
        with pytest.raises(docindex.Refused, match="no such collation"):
            other.execute("select * from note_index").fetchall()
        other.execute("drop table note_index")
        other.close()
    with docindex.open(path) as index:
        assert list(index) == ["mine"]
        assert index.check() == []


@pytest.mark.parametrize(
    "table",
    [
        "create table task (id text primary key collate by_last_letter, body text)",
        "create table task (id text primary key collate by_last_letter, body text) without rowid",
    ],
)
def test_a_table_that_the_index_cannot_read_is_not_followed(table, app):
    change_with = connected(app)
    change_with.execute(table)
    change_with.close()
    with docindex.open(app) as index:
        with pytest.raises(
            docindex.Refused, match=r"'task' cannot be read on this connection \(no such coll"
        ):
            index.follow("task", key="id", text="body", prefix="task ")
        assert list(index) == ["1", "2"]
    assert [table for _, table, _ in triggers(app)] == ["note"] * 3


def test_an_index_of_the_app_with_its_own_collation_disturbs_no_question(app):
    db = connected(app)
    db.execute("create index by_letter on note (body collate by_last_letter)")
    db.execute("create index by_key on note (id collate by_last_letter)")
    db.execute("insert into note (body) values ('a late note')")
    db.close()
    with docindex.open(app) as index:
        assert index.text("3") == "a late note"
        index.rebuild("note")
        assert list(index) == ["1", "2", "3"]
        assert index.check() == []
