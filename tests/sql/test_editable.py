"""`doc_index`: add, change and remove documents with SQL, in the transaction of the connection."""

import random
import re
import sqlite3
import time

import apsw
import pytest

import docindex
from docindex import Text
from tests.query.corpus import RECIPE
from tests.storage.texts import noise


@pytest.fixture(params=["main", "attached", "memory"])
def place(request, tmp_path):
    """A connection, and the name of the schema of its index."""
    path = str(tmp_path / "index.docindex")
    docindex.open(path, recipe=RECIPE).close()
    if request.param == "attached":
        db, schema = apsw.Connection(":memory:"), "over there"
        db.execute('attach ? as "over there"', (path,))
        docindex.register(db)
        db.execute('create virtual table "over there".doc_index using doc_index')
    else:
        db, schema = apsw.Connection(path), "main"
    if request.param == "memory":
        source, db = db, apsw.Connection(":memory:")
        with db.backup("main", source, "main") as backup:
            backup.step()
        source.close()
    docindex.register(db)
    yield db, schema
    assert healthy(db, schema, tmp_path)
    db.close()


def healthy(db, schema, tmp_path):
    """Whether `check` finds nothing in a copy of what the connection sees."""
    copy = str(tmp_path / f"copy {random.random()}")
    with apsw.Connection(copy) as target, target.backup("main", db, schema) as backup:
        while not backup.done:
            backup.step(100)
    with docindex.open(copy) as index:
        return index.check() == []


def documents(db):
    return db.execute("select key, text, meta from doc_index order by key").fetchall()


def test_documents_are_inserted_updated_and_deleted(place):
    db, _ = place
    db.execute("insert into doc_index (key, text) values ('a', 'one text'), ('b', 'another')")
    db.execute("""insert into doc_index (key, text, meta) values ('c', 'a third', '{"by": "Ada"}')""")
    assert documents(db) == [
        ("a", "one text", None),
        ("b", "another", None),
        ("c", "a third", '{"by":"Ada"}'),
    ]
    ids = dict(db.execute("select key, id from doc_index"))
    db.execute("update doc_index set text = 'changed' where key = 'a'")
    db.execute("update doc_index set key = 'd', meta = '[1]' where key = 'b'")
    db.execute("update doc_index set meta = null where id = ?", (ids["c"],))
    assert documents(db) == [("a", "changed", None), ("c", "a third", None), ("d", "another", "[1]")]
    assert dict(db.execute("select id, key from doc_index")) == {ids["a"]: "a", ids["b"]: "d", ids["c"]: "c"}
    db.execute("update doc_index set text = text || '!', key = upper(key)")
    assert documents(db) == [("A", "changed!", None), ("C", "a third!", None), ("D", "another!", "[1]")]
    db.execute("delete from doc_index where key in ('A', 'D')")
    assert documents(db) == [("C", "a third!", None)]
    db.execute("delete from doc_index")
    assert documents(db) == []


def test_a_transaction_sees_its_own_changes_and_a_rollback_removes_them(place):
    db, _ = place
    rng = random.Random(3)
    texts = {f"{n}": noise(rng, 200) for n in range(6)}
    with db:
        db.executemany("insert into doc_index (key, text) values (?, ?)", list(texts.items())[:2])

    def found(key):
        return [row[0] for row in db.execute("select key from doc_search(?) order by key", (texts[key],))]

    db.execute("begin")
    db.execute("insert into doc_index (key, text) values ('2', ?)", (texts["2"],))
    assert found("2") == ["2"]
    db.execute("savepoint inner")
    db.execute("insert into doc_index (key, text) values ('3', ?)", (texts["3"],))
    db.execute("delete from doc_index where key = '0'")
    db.execute("update doc_index set text = ? where key = '1'", (texts["4"],))
    assert (found("3"), found("0"), found("1"), found("4")) == (["3"], [], [], ["1"])
    db.execute("rollback to inner")
    assert (found("3"), found("0"), found("1"), found("4")) == ([], ["0"], ["1"], [])
    db.execute("insert into doc_index (key, text) values ('5', ?)", (texts["5"],))
    db.execute("release inner")
    assert found("5") == ["5"]
    db.execute("rollback")
    assert [key for key, _, _ in documents(db)] == ["0", "1"]
    assert [found(key) for key in texts] == [["0"], ["1"], [], [], [], []]


def test_a_key_belongs_to_one_document(place):
    db, _ = place
    db.execute("insert into doc_index (key, text) values ('a', 'one'), ('b', 'two')")
    for sql in [
        "insert into doc_index (key, text) values ('a', 'x')",
        "insert into doc_index (key, text) values ('c', 'x'), ('a', 'x')",
        "update doc_index set key = 'a' where key = 'b'",
    ]:
        with pytest.raises(apsw.ConstraintError, match="a document 'a' already exists"):
            db.execute(sql)
    assert documents(db) == [("a", "one", None), ("b", "two", None)]
    db.execute("insert or ignore into doc_index (key, text) values ('a', 'x'), ('c', 'three')")
    assert documents(db) == [("a", "one", None), ("b", "two", None), ("c", "three", None)]
    db.execute("insert or replace into doc_index (key, text) values ('a', 'x')")
    assert documents(db)[0] == ("a", "x", None)


def test_added_at_is_the_time_of_the_present_text_in_a_form_that_sqlite_reads(place):
    db, _ = place

    def seconds():
        ((text, value),) = db.execute(
            "select added_at, unixepoch(added_at, 'subsec') from doc_index where key = 'a'"
        )
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text)
        return value

    before = time.time()
    db.execute("insert into doc_index (key, text) values ('a', 'one text')")
    first = seconds()
    assert before - 0.002 <= first <= time.time() + 0.002
    db.execute("""update doc_index set meta = '1' where key = 'a'""")
    assert seconds() == first
    time.sleep(0.002)
    db.execute("update doc_index set text = 'another' where key = 'a'")
    assert seconds() > first
    with pytest.raises(ValueError, match="only key, text and meta can be changed"):
        db.execute("update doc_index set added_at = '2026-11-19' where key = 'a'")


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("insert into doc_index (key, text) values (7, 'x')", TypeError, "key must be TEXT, not INTEGER"),
        ("insert into doc_index (key, text) values ('x', null)", TypeError, "text must be TEXT, not NULL"),
        ("insert into doc_index (key, text) values ('x', x'00')", TypeError, "text must be TEXT, not BLOB"),
        ("insert into doc_index (key, text, meta) values ('x', 'x', 'x')", ValueError, "meta must be JSON"),
        ("insert into doc_index (key, text, meta) values ('x', 'x', 1)", TypeError, "meta must be TEXT"),
        (
            "insert into doc_index (key, text, id) values ('x', 'x', 9)",
            ValueError,
            "the index sets id, rowid and added_at",
        ),
        (
            "insert into doc_index (rowid, key, text) values (9, 'x', 'x')",
            ValueError,
            "the index sets id, rowid and added_at",
        ),
        ("insert into doc_index (key, text) values ('a' || char(0), 'x')", ValueError, "without NUL"),
        ("update doc_index set id = 9", ValueError, "only key, text and meta"),
        ("update doc_index set rowid = 9", ValueError, "only key, text and meta"),
        ("update doc_index set text = null", TypeError, "text must be TEXT, not NULL"),
    ],
)
def test_a_refused_statement_changes_nothing_and_says_why(place, sql, error, message):
    db, _ = place
    db.execute("insert into doc_index (key, text) values ('a', 'one')")
    for within in (False, True):
        if within:
            db.execute("begin")
            db.execute("insert into doc_index (key, text) values ('b', 'two')")
        with pytest.raises(error, match=message):
            db.execute(sql)
    db.execute("commit")  # a refused statement does not undo the ones before it
    assert [key for key, _, _ in documents(db)] == ["a", "b"]


def test_a_change_that_fails_halfway_leaves_nothing_behind(place, monkeypatch):
    db, _ = place
    db.execute("insert into doc_index (key, text) values ('a', 'one')")
    from docindex.storage.postings import segment_writer

    def broken(*_):
        raise MemoryError("no memory")

    monkeypatch.setattr(segment_writer, "add_postings", broken)
    with pytest.raises(MemoryError):
        db.execute("insert into doc_index (key, text) values ('b', 'two')")
    db.execute("begin")
    db.execute("delete from doc_index")
    db.execute("insert into doc_index (key, text) values ('b', 'two')")
    with pytest.raises(MemoryError):
        db.execute("commit")
    assert not db.in_transaction  # all of it is undone; otherwise half of a document would stay
    assert documents(db) == [("a", "one", None)]


def test_documents_are_looked_up_by_key_and_id(place):
    db, _ = place
    db.executemany("insert into doc_index (key, text) values (?, 'x')", [(f"{n}",) for n in range(5)])
    for condition, taken in [
        ("key = '3'", "key"),
        ("id = 3", "id"),
        ("rowid = 3", "id"),
        ("text = 'x'", ""),
    ]:
        (step,) = [
            row[-1] for row in db.execute(f"explain query plan select * from doc_index where {condition}")
        ]
        assert step == f"SCAN doc_index VIRTUAL TABLE INDEX 0:{taken}"
    ((number, row),) = db.execute("select id, rowid from doc_index where key = '3'").fetchall()
    for value in (number, float(number)):
        assert db.execute("select key from doc_index where id = ?", (value,)).fetchall() == [("3",)]
    assert db.execute("select key from doc_index where rowid = ?", (row,)).fetchall() == [("3",)]
    for unknown in (0, 99, -1, 1.5, "3", None, 1 << 62, -(1 << 63)):
        assert db.execute("select key from doc_index where id = ?", (unknown,)).fetchall() == []
        assert db.execute("select key from doc_index where rowid = ?", (unknown,)).fetchall() == []
    assert db.execute("select key from doc_index where key = 3").fetchall() == []
    assert len(db.execute("select * from doc_index i join docindex_document d using (id)").fetchall()) == 5


def test_a_scan_reads_every_document(place):
    db, _ = place
    with db:
        db.executemany(
            "insert into doc_index (key, text) values (?, 'x')", [(f"{n:05}",) for n in range(2500)]
        )
    assert [key for (key,) in db.execute("select key from doc_index")] == [f"{n:05}" for n in range(2500)]
    db.execute("delete from doc_index where cast(key as integer) % 2")
    assert db.execute("select count(*) from doc_index").fetchall() == [(1250,)]


def test_two_indexes_on_one_connection_are_told_apart(tmp_path):
    db = apsw.Connection(":memory:")
    docindex.register(db)
    for name in ("one", "two"):
        docindex.open(tmp_path / name, recipe=RECIPE).close()
        db.execute(f"attach ? as {name}", (str(tmp_path / name),))
        db.execute(f"create virtual table {name}.in_{name} using doc_index")
    db.execute("insert into in_one (key, text) values ('a', 'in the first')")
    db.execute("insert into in_two (key, text) values ('a', 'in the second'), ('b', 'only here')")
    of_two = "select key, text from in_two order by key"
    assert db.execute(of_two).fetchall() == [("a", "in the second"), ("b", "only here")]
    both = "select x.text, y.text from in_one x join in_two y using (key)"
    assert db.execute(both).fetchall() == [("in the first", "in the second")]
    db.execute("begin")
    db.execute("update in_two set text = upper(text)")
    db.execute("delete from in_one")
    assert db.execute(of_two).fetchall() == [("a", "IN THE SECOND"), ("b", "ONLY HERE")]
    db.execute("rollback")
    assert db.execute(of_two).fetchall() == [("a", "in the second"), ("b", "only here")]
    assert db.execute("select key, text from in_one").fetchall() == [("a", "in the first")]
    canonical = "select doc_canonical(1), doc_canonical(1, 'two')"
    assert db.execute(canonical).fetchall() == [("in the first", "in the second")]
    db.close()


def test_a_database_that_is_not_an_index_has_no_doc_index(tmp_path):
    db = apsw.Connection(str(tmp_path / "app"))
    docindex.register(db)
    for sql in ["select * from doc_index", "create virtual table t using doc_index",
                "create virtual table temp.t using doc_index"]:  # fmt: skip
        with pytest.raises(docindex.NotAnIndex, match="is not a docindex index; for an attached index, run"):
            db.execute(sql)
    db.close()


def test_a_file_with_a_table_of_doc_index_is_an_ordinary_index(tmp_path):
    path = str(tmp_path / "index")
    docindex.open(path).close()
    db = apsw.Connection(":memory:")
    docindex.register(db)
    db.execute("attach ? as idx", (path,))
    db.execute("create virtual table idx.mine using doc_index")
    db.execute("insert into mine (key, text) values ('a', 'one')")
    db.close()
    for trusted in (True, False):
        with docindex.open(path, trusted=trusted) as index:
            index.add("b", "two")
            assert index.check() == []
            index.optimize()
            assert index.stats().documents == 2
            assert index.execute("select key, text from mine order by key") == [("a", "one"), ("b", "two")]
    plain = sqlite3.connect(path)  # any SQLite tool can open it
    assert plain.execute("select key from docindex_document order by key").fetchall() == [("a",), ("b",)]
    assert plain.execute("pragma integrity_check").fetchall() == [("ok",)]
    plain.close()


def test_a_text_that_is_not_stored_is_null_and_stays_null_after_an_update(tmp_path):
    path = str(tmp_path / "index")
    with docindex.open(path) as index:
        index.add("a", "one text", store_text=False)
    db = apsw.Connection(path)
    docindex.register(db)
    assert documents(db) == [("a", None, None)]
    db.execute("update doc_index set key = 'b', meta = '1'")
    assert documents(db) == [("b", None, "1")]
    db.close()


def test_other_connections_see_a_change_after_its_commit(tmp_path):
    path = str(tmp_path / "index")
    with docindex.open(path) as index:
        db = apsw.Connection(path)
        docindex.register(db)
        db.execute("begin")
        db.execute("insert into doc_index (key, text) values ('a', 'one two three four five six')")
        assert list(index) == []
        db.execute("commit")
        assert [match.key for match in index.search(Text("one two three four five six"))] == ["a"]
        db.close()
        assert index.check() == []


def test_doc_index_does_not_exist_where_an_index_was_given(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        db = apsw.Connection(":memory:")
        docindex.register(db, index)
        with pytest.raises(apsw.SQLError, match="no such table: doc_index"):
            db.execute("select * from doc_index")
        db.close()


@pytest.mark.parametrize("within", [False, True])
def test_an_interrupted_change_is_made_completely_or_not_at_all(place, tmp_path, within):
    db, schema = place
    rng = random.Random(2)
    db.executemany(
        "insert into doc_index (key, text) values (?, ?)", [(f"{n}", noise(rng, 300)) for n in range(9)]
    )
    statements = [
        (
            "insert into doc_index (key, text) values ('new', ?), ('newer', ?)",
            [noise(rng, 900), noise(rng, 900)],
        ),
        ("update doc_index set text = text || ?, key = key || '!'", [noise(rng, 300)]),
        ("delete from doc_index", []),
    ]
    for sql, bindings in statements:
        steps = 1
        before = documents(db)
        while True:
            if within:
                db.execute("begin")
                db.execute("insert into doc_index (key, text) values ('early', 'bird')")
            countdown = iter([False] * steps)
            db.set_progress_handler(lambda left=countdown: next(left, True), 1)
            try:
                db.execute(sql, bindings)
                interrupted = False
            except apsw.InterruptError:
                interrupted = True
            finally:
                db.set_progress_handler(None)
            if within:
                # If SQLite cannot undo the statement alone, the whole transaction is undone.
                left = documents(db)
                early = sorted([*before, ("early", "bird", None)])
                assert not interrupted or left in (before, early)
                db.execute("rollback" if db.in_transaction else "begin; rollback")
            elif interrupted:
                assert documents(db) == before
            else:
                assert documents(db) != before
            if not interrupted:
                break
            steps = steps * 3 // 2 + 1
        assert healthy(db, schema, tmp_path)
    if not within:
        assert documents(db) == []
