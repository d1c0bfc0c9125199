"""A question never costs a host its locks, and a first change waits for other writers."""

import sqlite3
import time

import apsw
import pytest

import docindex
from tests.sql.locks import other_process

TEXT = "to be or not to be that is the question"


@pytest.fixture(params=["wal", "delete"])
def journal(request):
    return request.param


@pytest.fixture
def path(tmp_path, journal):
    file = str(tmp_path / "index")
    with docindex.open(file) as index:
        index.add_many([("a", TEXT), ("b", TEXT + " says Hamlet")])
    _prepare(file, journal)
    return file


def _prepare(path, journal):
    db = sqlite3.connect(path)
    assert db.execute(f"pragma journal_mode = {journal}").fetchone() == (journal,)
    db.execute("create table account (balance integer)")
    db.execute("insert into account values (0)")
    db.commit()
    db.close()


QUESTIONS = [
    "select doc_containment('to be', 'to be or not')",
    "select doc_containment(1, 2)",
    "select doc_search_json('to be or not to be that is the question')",
]


@pytest.mark.parametrize("place", ["main", "attached"])
def test_a_question_inside_a_transaction_of_sqlite3_keeps_its_lock(tmp_path, path, journal, place):
    file = path
    if place == "attached":
        file = str(tmp_path / "app")
        _prepare(file, journal)
    lost = 0
    with other_process(file) as other:
        for turn in range(100):
            db = sqlite3.connect(file, isolation_level=None)
            docindex.register(db)
            if place == "attached":
                db.execute("attach ? as idx", (path,))
            db.execute("begin immediate")
            ((balance,),) = db.execute("select balance from main.account")
            db.execute(QUESTIONS[turn % 3]).fetchall()
            lost += other.run("update account set balance = balance + 1") == "done"
            db.execute("update main.account set balance = ?", (balance + 1,))
            db.execute("commit")
            db.close()
            assert other.run("update account set balance = balance + 1") == "done"
    assert lost == 0
    db = sqlite3.connect(file)
    assert db.execute("select balance from account").fetchone() == (200,)
    db.close()
    with docindex.open(path) as index:
        assert index.check() == []


def connection_to(kind, path):
    if kind == "apsw":
        db = apsw.Connection(path)
        db.set_busy_timeout(10_000)
    else:
        db = sqlite3.connect(path, timeout=10, isolation_level=None)
    docindex.register(db)
    return db


CHANGES = [
    ("apsw", "insert into doc_index (key, text) values ('c', 'a third text')"),
    ("apsw", "update doc_index set text = 'a third text' where key = 'a'"),
    ("apsw", "delete from doc_index where key = 'a'"),
    ("apsw", "select doc_put('c', 'a third text')"),
    ("apsw", "select doc_remove('a')"),
    ("sqlite3", "select doc_put('c', 'a third text')"),
    ("sqlite3", "select doc_remove('a')"),
    ("sqlite3", "insert into note values ('c', 'a third text')"),
]


@pytest.mark.parametrize("begin", ["begin", "savepoint s", ""])
@pytest.mark.parametrize(("kind", "change"), CHANGES)
def test_the_first_change_waits_for_another_writer(path, kind, change, begin):
    db = connection_to(kind, path)
    db.execute("create table note (key, body)")
    db.execute("create trigger added after insert on note begin select doc_put(new.key, new.body); end")
    with other_process(path) as other:
        assert other.run("begin immediate") == "done"
        other.run("sleep 0.3; commit", wait=False)
        if begin:
            db.execute(begin)
        began = time.monotonic()
        db.execute(change).fetchall()
        assert time.monotonic() - began > 0.15
        assert other.answer() == "done"
        if begin:
            db.execute("commit")
    db.close()
    with docindex.open(path) as index:
        assert index.check() == []
        assert set(index) != {"a", "b"} or index.text("a") == "a third text"


@pytest.mark.parametrize("change", ["select doc_put('c', 'x')", "select doc_remove('a', 'idx')"])
def test_a_change_on_sqlite3_reads_only_from_the_database_that_it_changes(tmp_path, change):
    # Otherwise the host's own first change of another database would not wait.
    docindex.open(tmp_path / "index").close()
    app = str(tmp_path / "app")
    _prepare(app, "wal")
    db = connection_to("sqlite3", app)
    db.execute("attach ? as idx", (str(tmp_path / "index"),))
    with other_process(app) as other:
        assert other.run("begin immediate") == "done"
        db.execute("begin")
        db.execute(change).fetchall()
        other.run("sleep 0.2; commit", wait=False)
        db.execute("insert into main.account values (7)")
        db.execute("commit")
        assert other.answer() == "done"
    db.close()


def test_a_change_that_waits_too_long_says_so(path):
    db = sqlite3.connect(path, timeout=0.1, isolation_level=None)
    docindex.register(db)
    with other_process(path) as other:
        assert other.run("begin immediate") == "done"
        with pytest.raises(sqlite3.OperationalError, match="user-defined"):
            db.execute("select doc_put('c', 'a third text')")
        ((message,),) = db.execute("select doc_error()").fetchall()
        assert "which did not finish within 0.1 s" in message
        assert not db.in_transaction
        other.run("rollback")
    assert db.execute("select doc_put('c', 'a third text')").fetchone() == (3,)
    db.close()


@pytest.mark.parametrize("kind", ["apsw", "sqlite3"])
def test_a_change_that_cannot_be_committed_leaves_nothing_behind(tmp_path, kind):
    path = str(tmp_path / "index")
    docindex.open(path).close()
    _prepare(path, "delete")
    db = connection_to(kind, path)
    db.execute("pragma busy_timeout = 50").fetchall()
    with other_process(path) as other:
        assert other.run("begin; select * from account") == "done"  # in this mode, a reader delays a commit
        with pytest.raises((apsw.BusyError, sqlite3.OperationalError)):
            db.execute("select doc_put('c', 'a third text')").fetchall()
        assert not db.in_transaction
        assert other.run("commit") == "done"
    assert db.execute("select count(*) from docindex_document").fetchall() == [(0,)]
    assert db.execute("select doc_put('c', 'a third text')").fetchall() == [(1,)]
    db.close()
    with docindex.open(path) as index:
        assert index.check() == []
        assert list(index) == ["c"]


@pytest.mark.parametrize("place", ["main", "attached"])
@pytest.mark.parametrize("change", ["select doc_put('c', 'a third text')", "select doc_containment(1, 2)"])
@pytest.mark.parametrize("kind", ["apsw", "sqlite3"])
def test_a_transaction_that_began_as_a_reader_says_why_it_cannot_write(tmp_path, kind, change, place):
    path = str(tmp_path / "index")
    with docindex.open(path) as index:
        index.add_many([("a", TEXT), ("b", TEXT + " says Hamlet")])
    _prepare(path, "wal")
    db = connection_to(kind, path if place == "main" else ":memory:")
    if place == "attached":
        db.execute("attach ? as side", (path,))
    with other_process(path) as other:
        # A question indexes it first.
        other.run("insert into docindex_pending (key, id, text) values ('d', 4, 'a fourth text')")
        db.execute("begin")
        db.execute("select * from account").fetchall()
        assert other.run("insert into account values (5)") == "done"
    reason = _error_of(db, change)
    assert "the transaction began as a reader, and others have written to the file since" in reason
    assert "begin immediate" in reason
    assert "written by" not in reason
    db.execute("rollback")
    db.execute("begin immediate")
    db.execute(change).fetchall()
    db.execute("commit")
    db.close()
    with docindex.open(path) as index:
        assert "d" in index
        assert index.check() == []


def _error_of(db, statement):
    """The message of the error of a statement; sqlite3 tells it in `doc_error`."""
    if isinstance(db, sqlite3.Connection):
        with pytest.raises(sqlite3.OperationalError, match="user-defined"):
            db.execute(statement).fetchall()
        return db.execute("select doc_error()").fetchone()[0]
    with pytest.raises(apsw.BusyError) as raised:
        db.execute(statement).fetchall()
    return str(raised.value)
