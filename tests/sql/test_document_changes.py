"""`doc_put` and `doc_remove` change documents on both libraries, completely or not at all."""

import contextlib
import json
import random
import sqlite3

import apsw
import pytest

import docindex
from docindex.cli import main
from tests.query.corpus import RECIPE, corpus
from tests.storage.texts import prose

TEXTS = dict(list(corpus(5).items())[:12])
SLIPS = (apsw.Error, docindex.DocIndexError, ValueError, TypeError, sqlite3.Error)


@pytest.fixture(params=["apsw", "sqlite3"])
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "index")
    docindex.open(file, recipe=RECIPE).close()
    return file


def connection_to(kind, path):
    db = apsw.Connection(path) if kind == "apsw" else sqlite3.connect(path, isolation_level=None)
    docindex.register(db)
    return db


@pytest.fixture
def db(kind, path):
    connection = connection_to(kind, path)
    yield connection
    connection.close()


def one(db, sql, *bindings):
    ((found,),) = db.execute(sql, bindings).fetchall()
    return found


def failure(db, sql, *bindings):
    """The message of the error that a statement raises."""
    with pytest.raises(SLIPS) as raised:
        db.execute(sql, bindings).fetchall()
    return str(raised.value) if isinstance(db, apsw.Connection) else one(db, "select doc_error()")


def sound(path, db=None):
    """The keys and texts of an index without damage.

    The connection is closed first: two copies of SQLite in a process do not see each other's locks.
    """
    if db is not None:
        db.close()
    with docindex.open(path) as index:
        assert index.check() == []
        return {key: index.text(key) for key in index}


def test_documents_are_put_and_removed_like_with_the_methods_of_an_index(db, path):
    for number, (key, text) in enumerate(TEXTS.items(), 1):
        assert one(db, "select doc_put(?, ?, ?)", key, text, '{"n": 1}') == number
    first, second, *_ = TEXTS
    assert one(db, "select doc_put(?, 'another text')", first) == 1
    assert one(db, "select doc_remove(?)", second) == 1
    assert one(db, "select doc_remove(?)", second) == 0
    assert not db.in_transaction
    expected = {**TEXTS, first: "another text"}
    del expected[second]
    assert sound(path, db) == expected
    with docindex.open(path) as index, docindex.open(":memory:", recipe=RECIPE) as other:
        assert index[first].meta == {"n": 1}
        assert index[list(TEXTS)[2]].meta == {"n": 1}
        other.add_many(list(expected.items()), workers=1)
        for text in TEXTS.values():
            found = [(match.key, match.score) for match in index.search(docindex.Text(text))]
            assert found == [(match.key, match.score) for match in other.search(docindex.Text(text))]


@pytest.mark.parametrize("way", ["alone", "in a transaction", "by a trigger"])
def test_a_document_keeps_its_meta_unless_the_statement_names_meta(db, path, way):
    db.execute("create table note (body)")
    if way == "by a trigger":
        db.execute("create trigger t after insert on note begin select doc_put('a', new.body); end")
    put = "insert into note values (?)" if way == "by a trigger" else "select doc_put('a', ?)"

    def meta():
        return one(db, "select meta from docindex_document where key = 'a'")

    db.execute("select doc_put('a', 'a text', '{\"n\":1}')").fetchall()
    if way == "in a transaction":
        db.execute("begin")
    db.execute(put, ("another text",)).fetchall()
    db.execute("select doc_flush()").fetchall()
    assert meta() == '{"n":1}'
    db.execute("select doc_put('a', 'a text', '{\"n\":2}')").fetchall()
    db.execute(put, ("a third text",)).fetchall()  # if that is queued, it keeps what is queued
    db.execute("select doc_flush()").fetchall()
    assert meta() == '{"n":2}'
    db.execute("select doc_put('a', 'a text', null)").fetchall()
    db.execute(put, ("another text",)).fetchall()
    db.execute("select doc_flush()").fetchall()
    assert meta() is None
    if db.in_transaction:
        db.execute("commit")
    assert sound(path, db) == {"a": "another text"}


def test_a_change_belongs_to_the_transaction_of_the_host(db, path):
    db.execute("begin")
    db.execute("select doc_put('a', 'to be or not to be')").fetchall()
    assert one(db, "select doc_canonical(1)") == "to be or not to be"
    assert json.loads(one(db, "select doc_near_json('to be or not to be')"))[0]["key"] == "a"
    db.execute("savepoint s")
    db.execute("select doc_put('a', 'another text'), doc_put('b', 'a text')").fetchall()
    db.execute("rollback to s")
    assert one(db, "select count(*) from docindex_document") == 1
    db.execute("rollback")
    assert "there is no document 1" in failure(db, "select doc_canonical(1)")
    assert sound(path, db) == {}


def test_a_statement_with_many_changes_makes_all_of_them(db, path):
    db.execute("create table note (key, body)")
    for row in TEXTS.items():
        db.execute("insert into note values (?, ?)", row)
    assert one(db, "select count(doc_put(key, body)) from note") == len(TEXTS)
    assert one(db, "select count(*) from docindex_document, note using (key)") == len(TEXTS)
    # The changes are of the table that the statement reads.
    assert one(db, "select sum(doc_remove(key)) from docindex_document where id > 3") == len(TEXTS) - 3
    assert sound(path, db) == dict(list(TEXTS.items())[:3])


MISTAKES = [
    ("doc_put(null, 'x')", "doc_put: key must be TEXT, not NULL"),
    ("doc_put('a', null)", "doc_put: text must be TEXT, not NULL"),
    ("doc_put(7, 'x')", "doc_put: key must be TEXT, not INTEGER"),
    ("doc_put('a', x'00')", "doc_put: text must be TEXT, not BLOB"),
    ("doc_put('a', 'x', 7)", "doc_put: meta must be TEXT, not INTEGER"),
    ("doc_put('a', 'x', '{')", "doc_put: meta must be JSON, not '{'"),
    ("doc_put('a', 'x', null, 7)", "doc_put: expected the name of a schema as TEXT, not INTEGER"),
    ("doc_put('a', 'x', null, 'no')", "'no' is not a docindex index among the databases"),
    ("doc_put('a' || char(0), 'x')", "doc_put: a key must be text without NUL"),
    ("doc_remove(null)", "doc_remove: key must be TEXT, not NULL"),
    ("doc_remove(1)", "doc_remove: key must be TEXT, not INTEGER"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_a_mistake_is_named_and_changes_nothing(db, path, call, message):
    assert failure(db, f"select {call}").startswith(message)
    assert not db.in_transaction
    assert sound(path, db) == {}


def test_without_an_index_a_change_says_so(kind, tmp_path):
    db = connection_to(kind, str(tmp_path / "app"))
    assert "no database of this connection (main) is a docindex index" in failure(
        db, "select doc_put('a', 'b')"
    )
    assert not db.in_transaction
    db.close()
    with docindex.open(tmp_path / "index") as index:
        db = apsw.Connection(":memory:") if kind == "apsw" else sqlite3.connect(":memory:")
        docindex.register(db, index)
        assert "its methods add and remove" in failure(db, "select doc_put('a', 'b')")
        assert len(index) == 0
        db.close()


def test_a_change_finds_an_attached_index_and_the_one_that_is_named(kind, path, tmp_path):
    other = str(tmp_path / "other")
    docindex.open(other).close()
    db = connection_to(kind, str(tmp_path / "app"))
    db.execute("create table docindex_document (other)")
    db.execute("attach ? as first", (path,))
    db.execute("attach ? as 'the \"second\"'", (other,))
    db.execute("select doc_put('a', 'x'), doc_put('b', 'y', null, 'the \"second\"')").fetchall()
    db.execute("detach first")
    db.execute("select doc_put('c', 'z')").fetchall()
    db.close()
    assert sound(path) == {"a": "x"}
    assert sound(other) == {"b": "y", "c": "z"}


def test_a_file_that_cannot_be_written_is_named(kind, path):
    uri = f"file:{path}?mode=ro"
    if kind == "apsw":
        db = apsw.Connection(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    else:
        db = sqlite3.connect(uri, uri=True)
    docindex.register(db)
    message = failure(db, "select doc_put('a', 'b')")
    assert "readonly" in message if kind == "apsw" else "cannot be written" in message
    db.close()
    assert sound(path) == {}


TRIGGERS = """
create table note (id integer primary key, body text);
create trigger note_added after insert on note begin
    select doc_put('note/' || new.id, new.body);
end;
create trigger note_changed after update on note begin
    select doc_remove('note/' || old.id) where old.id <> new.id;
    select doc_put('note/' || new.id, new.body);
end;
create trigger note_removed after delete on note begin
    select doc_remove('note/' || old.id);
end;
"""


def with_triggers(kind, path, place, tmp_path):
    """A connection with a table whose rows are indexed in the same file, or in an attached one."""
    db = connection_to(kind, path if place == "main" else str(tmp_path / "app"))
    if place == "attached":
        db.execute("attach ? as idx", (path,))
    for trigger in TRIGGERS.split("end;"):
        if trigger.strip().startswith("create table"):
            table, _, trigger = trigger.partition(";")
            db.execute(table)
        if trigger.strip():
            db.execute(f"{trigger} end")
    return db


@pytest.mark.parametrize("place", ["main", "attached"])
@pytest.mark.parametrize("seed", range(4))
def test_triggers_keep_the_index_up_to_date(kind, path, tmp_path, place, seed):
    rng = random.Random(seed)
    db = with_triggers(kind, path, place, tmp_path)
    for _ in range(120):
        match rng.randrange(8):
            case 0:
                db.execute(rng.choice(["commit", "rollback"]) if db.in_transaction else "begin")
            case 1 if db.in_transaction:
                db.execute("savepoint s")
                db.execute("insert into note (body) values ('soon gone')")
                db.execute("rollback to s")
            case 2:
                db.execute("delete from note where id = (select min(id) from note)")
            case 3:
                db.execute("update note set id = id + 1000, body = body || '!' where id % 3 = 0")
            case _:
                db.execute("insert into note (body) values (?), (?)", (prose(rng, 9), prose(rng, 3)))
    if db.in_transaction:
        db.execute("commit")
    notes = dict(db.execute("select 'note/' || id, body from note").fetchall())
    db.close()
    assert sound(path) == notes


def test_python_s_own_transactions_hold_the_changes_of_triggers(path, tmp_path):
    db = with_triggers("sqlite3", path, "main", tmp_path)
    db.isolation_level = "deferred"
    with db:
        db.execute("insert into note values (1, 'kept')")
    with contextlib.suppress(ZeroDivisionError), db:
        db.execute("insert into note values (2, 'not kept')")
        raise ZeroDivisionError
    db.executescript("insert into note values (3, 'a script')")
    assert not db.in_transaction
    db.close()
    assert sound(path) == {"note/1": "kept", "note/3": "a script"}


@pytest.mark.parametrize("place", ["main", "attached"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_change_that_fails_in_a_trigger_leaves_nothing_behind(kind, path, tmp_path, place, inside):
    with contextlib.closing(apsw.Connection(path)) as ruler:
        ruler.execute(
            "create trigger rule before insert on docindex_document when new.key = 'note/3' "
            "begin select raise(abort, 'not three'); end"
        )
    db = with_triggers(kind, path, place, tmp_path)
    db.execute("insert into note values (1, 'the first')")
    if inside:
        db.execute("begin")
    message = failure(db, "insert into note values (2, 'the second'), (3, 'the third')")
    assert "not three" in message
    assert not db.in_transaction
    assert db.execute("select * from note").fetchall() == [(1, "the first")]
    db.close()
    assert sound(path) == {"note/1": "the first"}


def test_a_change_that_fails_outside_a_transaction_leaves_nothing_behind(db, path):
    db.execute(
        "create trigger rule before insert on docindex_document when new.key like 'bad%' "
        "begin select raise(abort, 'not bad'); end"
    )
    assert "not bad" in failure(db, "select doc_put('bad', ?)", TEXTS["003"])
    assert not db.in_transaction
    db.execute("begin")
    db.execute("select doc_put('good', 'a good text')").fetchall()
    assert "not bad" in failure(db, "select doc_put('bad', ?)", TEXTS["003"])
    assert db.in_transaction  # only the change itself was undone
    db.execute("commit")
    assert sound(path, db) == {"good": "a good text"}


def test_only_a_trusted_schema_can_change_documents(db, path):
    db.execute("create table note (body)")
    db.execute("create trigger t after insert on note begin select doc_put('n', new.body); end")
    db.execute("pragma trusted_schema = off")
    with pytest.raises((apsw.SQLError, sqlite3.OperationalError), match=r"unsafe use of doc_put\(\)"):
        db.execute("insert into note values ('x')")
    db.execute("pragma trusted_schema = on")
    db.execute("insert into note values ('x')")
    db.execute("create view v as select doc_remove('n')")
    db.execute("pragma trusted_schema = off")
    with pytest.raises((apsw.SQLError, sqlite3.OperationalError), match=r"unsafe use of doc_remove\(\)"):
        db.execute("select * from v").fetchall()
    assert sound(path, db) == {"n": "x"}


def test_statements_that_only_read_cannot_change_documents(path, capsys):
    for options in ({}, {"readonly": True}, {"trusted": False}):
        with docindex.open(path, **options) as index:
            for call in ("doc_put('a', 'b')", "doc_remove('a')"):
                with pytest.raises(docindex.ReadOnly):
                    index.execute(f"select {call}")
    with docindex.open(":memory:") as index, pytest.raises(docindex.ReadOnly):
        index.execute("select doc_put('a', 'b')")
    assert main(["sql", path, "select doc_put('a', 'b')"]) != 0
    assert "use --write to let it change the file" in capsys.readouterr().err
    assert sound(path) == {}
    assert main(["sql", "--write", path, "select doc_put('a', 'b')"]) == 0
    assert sound(path) == {"a": "b"}


def test_an_open_statement_of_the_host_does_not_disturb_a_change(db, path):
    db.execute("create table note (body)")
    db.execute("insert into note values ('one'), ('two'), ('three')")
    reading = db.execute("select body from note")
    next(reading)
    assert one(db, "select doc_put('a', 'x')") == 1
    assert len(reading.fetchall()) == 2
    writing = db.execute("insert into note values ('four'), ('five') returning body")
    next(writing)
    assert one(db, "select doc_put('b', 'y')") == 2
    writing.fetchall()
    assert not db.in_transaction
    assert sound(path, db) == {"a": "x", "b": "y"}


def test_an_interrupted_change_leaves_nothing_behind(kind, path):
    for steps in (30, 100, 300, 600, 1000, 2000):
        db = connection_to(kind, path)
        calls = iter(range(10**6))
        db.set_progress_handler(lambda calls=calls, steps=steps: next(calls) == steps // 20, 20)
        try:
            db.execute("select doc_put('a', ?)", (TEXTS["003"],)).fetchall()
        except SLIPS:
            assert not db.in_transaction
        db.set_progress_handler(None, 0)
        db.close()
        assert sound(path) in ({}, {"a": TEXTS["003"]})
        with docindex.open(path) as index:
            for key in list(index):
                index.remove(key)


@pytest.mark.parametrize("inside", [False, True])
def test_an_interrupt_before_any_statement_of_a_change_leaves_nothing_behind(kind, path, inside):
    number, stored = 0, False
    while not stored:
        number += 1
        db = connection_to(kind, path)
        if inside:
            db.execute("begin")
            db.execute("create table if not exists note (body)")
        steps = iter(range(1000))

        def interrupt(*_, db=db, steps=steps, number=number):
            if next(steps) == number:
                db.interrupt()  # until the statement of the host ends, also ROLLBACK is refused

        if kind == "apsw":
            db.trace_v2(apsw.SQLITE_TRACE_STMT, interrupt)
        else:
            db.set_trace_callback(interrupt)
        with contextlib.suppress(*SLIPS):
            db.execute("select doc_put('a', ?)", (TEXTS["003"],)).fetchall()
            stored = True
        if kind == "apsw":
            db.trace_v2(0)
        else:
            db.set_trace_callback(None)
        if db.in_transaction:
            db.execute("commit")
        db.close()
        assert sound(path) == ({"a": TEXTS["003"]} if stored else {}), number
    assert number > (5 if inside else 20)  # inside a transaction, the document is queued
