"""Questions are answered even if hosts do unusual things with their connections and files."""

import functools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import apsw
import apsw.ext
import pytest

import docindex
from docindex import Recipe
from docindex.index.index import open_scope
from docindex.sql.fingerprint_list import fingerprint_positions
from tests.query.corpus import RECIPE, corpus

TEXTS = corpus(9)


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "index.docindex")
    with docindex.open(file, recipe=RECIPE) as index:
        index.add_many(list(TEXTS.items()), workers=1)
    return file


@pytest.fixture
def db(path):
    connection = apsw.Connection(path)
    docindex.register(connection)
    yield connection
    connection.close()


QUESTIONS = [
    "select * from doc_pairs(0.2)",
    "select * from doc_clusters(0.2)",
    "select count(*) from fingerprint_list where document = 7",
    "select key from doc_index",
    "select key from doc_search(7)",
    "select doc_resemblance(7, 8)",
]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_tables_work_after_another_connection_has_changed_the_schema(path, db, sql):
    with docindex.open(path) as index:
        expected = db.execute(sql).fetchall()
        assert index.execute(sql) == expected
        for number in range(3):
            other = sqlite3.connect(path)
            other.execute(f"create table somebody_s_{number} (x)")
            other.close()
            assert db.execute(sql).fetchall() == expected
            assert index.execute(sql) == expected


def plain(db, name, *arguments):
    """Store the rows of a table function in an ordinary table `plain`."""
    marks = ", ".join("?" * len(arguments))
    db.execute(
        f"create temp table plain as select * from {name}" + (f"({marks})" if arguments else ""), arguments
    )


@pytest.mark.parametrize(
    "condition",
    [
        "document = 7 or document = 8 and position < 9999",
        "document = 7 or hash = {hash}",
        "document in (5, 6, 7) or hash in ({hash}, 1)",
        "hash = {hash} or position = 0 and document = 9",
    ],
)
def test_a_row_that_two_terms_of_an_or_find_comes_once(db, condition):
    plain(db, "fingerprint_list")
    ((hash_,),) = db.execute("select hash from plain group by hash order by count(*) desc limit 1").fetchall()
    where = condition.format(hash=hash_)
    expected = sorted(db.execute(f"select * from plain where {where}"))
    assert sorted(db.execute(f"select * from fingerprint_list where {where}")) == expected
    assert len(expected) > 3


def test_searches_in_two_terms_of_an_or_are_both_answered(db):
    sql = "select key from doc_search where (query = ?1 and shared > 3) or (query = ?2 and shared > 3)"
    one, other = TEXTS["003"], TEXTS["007"]
    each = "select key from doc_search(?) where shared > 3"
    expected = sorted([*db.execute(each, (one,)), *db.execute(each, (other,))])
    assert sorted(db.execute(sql, (one, other))) == expected


@pytest.mark.parametrize("join", ["left", "right", "full", "inner"])
@pytest.mark.parametrize("kind", ["integer", "real", "numeric", "blob", ""])
def test_joins_of_every_kind_give_the_rows_of_a_plain_table(db, join, kind):
    plain(db, "fingerprint_list")
    db.execute(
        f"create temp table t (a {kind}); insert into t values (3), (7), (7), (10000), (null)"
    ).fetchall()
    sql = "select t.a, l.document, l.position, l.hash from t {} join {} l on l.document = t.a"
    expected = db.execute(sql.format(join, "plain")).fetchall()
    assert sorted(db.execute(sql.format(join, "fingerprint_list")), key=repr) == sorted(expected, key=repr)


def test_the_tracers_and_factories_of_a_host_do_not_change_an_answer(db, path):
    question = "select key, doc_canonical(id) from doc_search(7) order by key"
    expected = db.execute(question).fetchall()
    seen = []
    db.exec_trace = lambda _, sql, __: seen.append(sql) or True
    db.row_trace = apsw.ext.DataClassRowFactory()
    assert {row.key for row in db.execute("select key from doc_index")} == set(TEXTS)
    db.row_trace = lambda _, row: row[::-1]
    assert db.execute(question).fetchall() == [row[::-1] for row in expected]
    assert [row[0] for row in db.execute("select document from fingerprint_list where document = 7")]
    db.execute("insert into doc_index (key, text) values ('new', 'text')")
    assert all("doc_" in sql or "fingerprint_list" in sql for sql in seen)
    assert db.row_trace((), (1, 2)) == (2, 1)
    with docindex.open(path) as index:
        canonical = index.execute("select doc_canonical(7)")[0][0]
    plain = sqlite3.connect(path)
    plain.row_factory = lambda cursor, row: {
        column[0]: value for column, value in zip(cursor.description, row, strict=True)
    }
    plain.text_factory = bytes
    docindex.register(plain)
    assert plain.execute("select doc_canonical(7) as c").fetchone() == {"c": canonical.encode()}
    plain.close()


def test_boilerplate_comes_from_the_file_that_is_attached_now(tmp_path):
    a, b = TEXTS["003"], TEXTS["003"] + " and more of it"
    for name, template in (("one", a), ("two", TEXTS["007"])):
        with docindex.open(tmp_path / name, recipe=RECIPE) as index:
            index.boilerplate.add(template)
    db = apsw.Connection(":memory:")
    docindex.register(db)
    file = str(tmp_path / "used")
    found = []
    for name in ("one", "two"):
        shutil.copy(tmp_path / name, file)
        db.execute("attach ? as x", (file,))
        found.append(db.execute("select doc_resemblance(?, ?, 'x')", (a, b)).fetchall()[0][0])
        db.execute("detach x")
    assert found[0] < 0.5 < found[1]
    db.close()


def test_a_renamed_file_is_not_mistaken_for_the_new_file_under_its_old_name(tmp_path):
    old, new = tmp_path / "a.db", tmp_path / "b.db"
    with docindex.open(old) as index:
        index.add("first", "to be or not to be")
    question = "select doc_near_json('to be or not to be', 20)"
    s = sqlite3.connect(old)
    docindex.register(s)
    assert "first" in s.execute(question).fetchone()[0]
    s.close()
    for end in ("", "-wal", "-shm"):
        if os.path.exists(f"{old}{end}"):
            os.rename(f"{old}{end}", f"{new}{end}")
    with docindex.open(old) as index:
        index.add("another", "to be or not to be")
    found = []

    def ask():
        own = sqlite3.connect(new)
        docindex.register(own)
        found.extend("first" in own.execute(question).fetchone()[0] for _ in range(5))
        own.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


def test_a_file_in_a_folder_that_cannot_be_written_is_read(path):
    docindex.resemblance("é", "É")  # loads a codec of Python, which perhaps only root may read
    folder = tempfile.mkdtemp()
    copy = shutil.copy(path, folder)
    os.chmod(copy, 0o644)
    os.chmod(folder, 0o555)
    as_root = os.geteuid() == 0
    if as_root:
        os.seteuid(65534)  # because root may write everywhere
    try:
        s = sqlite3.connect(f"file:{copy}?immutable=1", uri=True)
        docindex.register(s)
        question = "select doc_resemblance(7, 7), doc_resemblance('one', 'ONE')"
        assert s.execute(question).fetchone() == (1.0, 1.0)
        s.close()
    finally:
        if as_root:
            os.seteuid(0)
        os.chmod(folder, 0o755)
        shutil.rmtree(folder)


def test_a_file_that_is_locked_or_is_not_a_database_does_not_stop_register(tmp_path):
    (tmp_path / "text").write_text("not a database, but text " * 100)
    s = sqlite3.connect(tmp_path / "text")
    docindex.register(s)
    with pytest.raises(sqlite3.DatabaseError, match="file is not a database"):
        s.execute("select * from t")
    s.close()
    writer = sqlite3.connect(tmp_path / "other", isolation_level=None)
    writer.execute("create table t (x)")
    writer.execute("begin exclusive")
    s = sqlite3.connect(tmp_path / "other", timeout=0)
    docindex.register(s)
    with pytest.raises(sqlite3.OperationalError, match="user-defined"):
        s.execute("select doc_resemblance('one', 'ONE')")  # is this an index, and which recipe does it have?
    assert "is being written by another process" in s.execute("select doc_error()").fetchone()[0]
    writer.execute("rollback")
    assert s.execute("select doc_resemblance('one', 'ONE')").fetchone() == (1.0,)
    s.close()
    writer.close()


def test_an_index_can_be_closed_while_a_statement_reads_it(path):
    index = docindex.open(path)
    db = apsw.Connection(":memory:")
    docindex.register(db, index)
    cursor = db.execute("select document from fingerprint_list")
    next(cursor)
    positions = fingerprint_positions(functools.partial(open_scope, index))
    next(positions)
    closing = threading.Thread(target=index.close)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
    db.close()


def test_an_index_with_a_newer_schema_does_not_hide_the_others(path, tmp_path):
    docindex.open(tmp_path / "newer").close()
    with apsw.Connection(str(tmp_path / "newer")) as newer:
        newer.execute("update docindex_recipe set schema = 99")
    newer.close()
    db = apsw.Connection(":memory:")
    docindex.register(db)
    db.execute("attach ? as newer", (str(tmp_path / "newer"),))
    assert db.execute("select doc_resemblance('a', 'A')").fetchall() == [(1.0,)]
    with pytest.raises(docindex.SchemaTooNew):
        db.execute("select doc_canonical(1)").fetchall()
    db.execute("attach ? as good", (path,))
    assert db.execute("select count(*) from fingerprint_list where document = 7").fetchall()[0][0]
    with pytest.raises(docindex.SchemaTooNew):
        db.execute("select doc_canonical(1, 'newer')").fetchall()
    db.close()


def test_texts_are_sorted_as_the_database_sorts_them():
    db = apsw.Connection(":memory:")
    db.execute("pragma encoding = 'UTF-16le'")
    with docindex.open(":memory:", recipe=Recipe(k=3, window=2)) as index:
        for key in ("a", "é", "｡z", "𐀀a"):
            index.add(key, "the same text")
        docindex.register(db, index)
        found = db.execute("select key from doc_search('the same text') order by score desc, key").fetchall()
        db.execute("create table plain as select * from doc_search('the same text')")
        assert found == db.execute("select key from plain order by score desc, key").fetchall()
    db.close()


def test_constraints_of_a_host_refuse_whole_documents(db, path):
    db.execute("pragma foreign_keys = on")
    db.execute("create table precious (x)")
    db.execute("create table tag (document integer references docindex_document (id))")
    ((number,),) = db.execute("select id from docindex_document where key = '003'").fetchall()
    db.execute("insert into tag values (?)", (number,))
    db.execute("begin")
    db.execute("insert into precious values (1)")
    with pytest.raises(docindex.Refused, match="FOREIGN KEY"):
        db.execute("delete from doc_index where key = '003'")
    assert db.in_transaction  # there was nothing to undo
    db.execute("commit")
    assert db.execute("select * from precious").fetchall() == [(1,)]

    for rule in ("raise(abort, 'no')", "raise(ignore)", "raise(fail, 'no')", "raise(rollback, 'no')"):
        db.execute(
            "create trigger rule before insert on docindex_document when new.key like 'bad%' begin select "
            f"{rule}; end"
        )
        for how in ("", "or fail", "or ignore", "or abort", "or replace", "or rollback"):
            sql = f"insert {how} into doc_index (key, text) values ('good', ?), ('bad', ?)"
            with pytest.raises((docindex.Refused, apsw.Error)):
                db.execute(sql, (TEXTS["003"] + "!", TEXTS["007"] + " and so on and on and on"))
            with docindex.open(path) as index:
                assert index.check() == [], (rule, how)
                assert not {"good", "bad"} & set(index)
        db.execute("drop trigger rule")


def test_an_update_of_a_key_follows_the_conflict_clause(db):
    taken = (
        "update {} doc_index set meta = '7', key = case key when '003' then '000' else key end "
        "where key in ('002', '003')"
    )
    with pytest.raises(apsw.ConstraintError, match="a document '000' already exists"):
        db.execute(taken.format(""))
    metas = "select key, meta from doc_index where key in ('000', '002', '003') order by key"
    assert db.execute(metas).fetchall() == [("000", None), ("002", None), ("003", None)]
    db.execute(taken.format("or ignore"))
    assert db.execute(metas).fetchall() == [("000", None), ("002", "7"), ("003", None)]
    db.execute(taken.format("or replace"))
    assert db.execute(metas).fetchall() == [("000", "7"), ("002", "7")]
    assert db.execute("select text from doc_index where key = '000'").fetchall() == [(TEXTS["003"],)]


def test_a_condition_on_an_infinite_number_is_answered(db):
    for sql, count in [("distance <= 9e999", 1), ("distance <= -9e999", 0), ("distance < 9e999", 1)]:
        assert len(db.execute(f"select * from doc_near(doc_key('007'), 0) where {sql}").fetchall()) >= count
    assert db.execute("select * from doc_near(doc_key('007'), 0) where distance <= -9e999").fetchall() == []


def test_a_huge_filter_is_refused_at_once(db):
    began = time.monotonic()
    with pytest.raises(ValueError, match="doc_filter: expected k, s and r of at most 4,096"):
        db.execute("select doc_filter(1000000000, 1000000000, 1, 0.5)")
    db.execute("select doc_filter(4096, 4096, 4096, 0.5)").fetchall()
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("way", ["sql", "execute"])
def test_control_c_ends_a_long_question(path, way):
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
    if way == "sql":
        program = (
            "import sys; from docindex.cli import main; print('ready', flush=True)\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        command = [sys.executable, "-c", program, "sql", path, endless]
    else:
        program = (
            "import docindex, sys; index = docindex.open(sys.argv[1]); print('ready', flush=True)\n"
            "try: index.execute(sys.argv[2])\n"
            "except KeyboardInterrupt: sys.exit(130)"
        )
        command = [sys.executable, "-c", program, path, endless]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    process.stdout.close()
