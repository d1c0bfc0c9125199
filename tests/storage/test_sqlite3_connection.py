"""Statements on a connection of Python's sqlite3 are checked, planned and stopped as on one of apsw."""

import contextlib
import gc
import json
import logging
import random
import re
import sqlite3
import weakref
from pathlib import Path

import apsw
import apsw.ext
import numpy as np
import pytest

import docindex
from docindex import Recipe
from docindex.storage import statements as rows
from docindex.storage.hosts import connections
from docindex.storage.hosts.connections import Sqlite3Host
from docindex.storage.hosts.index_there import HostTransactions
from docindex.storage.postings import simhash_index
from tests.sql.locks import other_process
from tests.storage.test_plans import SMALL
from tests.storage.texts import noise, prose

RECIPE = Recipe(min_s=8, mod_m=3, level=8)

QUESTIONS = {
    "search": "select doc_search_json((select doc_canonical(7)))",
    "search by id": "select doc_search_json(7)",
    "search exactly": """select doc_search_json(7, '{"exact": 1, "where": "key > ''00003''"}')""",
    "search without common text": """select doc_search_json(7, '{"ignore_above": 30}')""",
    "similar": "select doc_similar_json(7, 0.3)",
    "similar by features": "select doc_similar_json(7, 0.3, null, null, 'features')",
    "near": "select doc_near_json(7, 5)",
    "near, and far": "select doc_near_json(7, 20)",
    "passages": "select doc_passages_json(7, 8)",
    "fingerprints": "select doc_fingerprints_json(7)",
    "measures": "select doc_containment(7, 8), doc_basis(7, 'x'), doc_simhash(7), doc_sketch(7)",
    "put": "select doc_put('new', 'a text that nobody has'), doc_put('copy', 'a text that nobody has')",
    "replace": "select doc_put('00001', 'other words than before')",
    "remove": "select doc_remove('copy'), doc_remove('00002')",
}
OF_ALL = {
    "pairs": "select doc_pairs_json(0.3)",
    "pairs by slots": "select doc_pairs_json(0.3, null, null, null, 'slots')",
    "containments": "select doc_containments_json(0.3)",
    "clusters": "select doc_clusters_json(0.3)",
}


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "index")
    with docindex.open(file, recipe=RECIPE) as index:
        texts = [(f"{n:05}", f"number {n} " + prose(random.Random(n % 90), 12)) for n in range(120)]
        index.add_many(texts, workers=1)
        index.add_many([("lost", prose(random.Random(3), 13))], store_text=False)
        index.boilerplate.add(prose(random.Random(5), 4))
    return file


@pytest.fixture
def db(path):
    connection = sqlite3.connect(path, isolation_level=None)
    docindex.register(connection)
    yield connection
    connection.close()


def message(db, sql, *bindings):
    """The message of the error that a statement raises."""
    with pytest.raises(sqlite3.OperationalError, match="user-defined"):
        db.execute(sql, bindings).fetchall()
    return db.execute("select doc_error()").fetchone()[0]


def test_the_columns_of_a_result_have_the_types_that_apsw_tells(path, db, monkeypatch):
    seen = {}
    described = connections._described

    def note(statement, names):
        seen[statement] = described(statement, names)
        return seen[statement]

    monkeypatch.setattr(rows, "_KNOWN_KINDS", {})
    monkeypatch.setattr(connections, "_described", note)
    for sql in {**QUESTIONS, **OF_ALL}.values():
        db.execute(sql).fetchall()
    db.close()
    with contextlib.closing(apsw.Connection(path)) as by_apsw:
        for statement, columns in seen.items():
            assert apsw.ext.query_info(by_apsw, statement).description == columns, statement
    typed = [kind for columns in seen.values() for _, kind in columns]
    assert {"INTEGER", "TEXT", "BLOB"} <= set(typed)
    assert len(seen) > 20


@pytest.mark.parametrize("name", [*QUESTIONS, "the same in an analyzed file"])
def test_no_statement_scans_a_table(db, name):
    if name not in QUESTIONS:
        db.execute("analyze")
    statements = []
    db.set_trace_callback(statements.append)
    for sql in QUESTIONS.values() if name not in QUESTIONS else [QUESTIONS[name]]:
        db.execute(sql).fetchall()
    db.set_trace_callback(None)
    # SQLite shows a statement inside another one as a comment.
    ours = [re.sub("^-- ", "", sql, flags=re.M) for sql in statements if re.match("-- (select|with)", sql)]
    assert len(ours) > 5
    ours.append(connections._adapted(simhash_index._SIMHASHES, "main", None))
    allowed = [*SMALL, *[small.replace(r"main\.", "") for small in SMALL], *SMALL_ON_SQLITE3]
    if name.startswith(("similar", "near", "the same")):  # a small index is read instead of looked up
        allowed += [r"SCAN (main\.)?docindex_content.*"]
    for sql in ours:
        for *_, step in explained(db, sql):
            assert not step.startswith("SCAN") or any(re.fullmatch(small, step) for small in allowed), sql


# The recipe, values that were passed in, and the list of functions.
SMALL_ON_SQLITE3 = [
    r"SCAN (main\.)?docindex_recipe",
    r"SCAN (json_each|pragma_function_list) VIRTUAL TABLE INDEX \d+:",
    r"SCAN \d+ CONSTANT ROWS?",
    r"SCAN \(?(subquery|SUBQUERY|LIST SUBQUERY|wanted).*",
]


def explained(db, sql):
    """The plan of a statement, without values for its question marks."""
    for count in range(20):
        with contextlib.suppress(sqlite3.ProgrammingError):
            return db.execute(f"explain query plan {sql}", [None] * count).fetchall()
    raise AssertionError(sql)


def test_the_factories_of_the_host_are_as_they_were_after_an_answer_and_after_an_error(db):
    def row_factory(_cursor, row):
        return {"row": row}

    db.row_factory, db.text_factory = row_factory, bytes
    assert (
        db.execute("select doc_near_json(doc_key('00007'), 0)")
        .fetchone()["row"][0]
        .startswith(b'[{"key": "00007"')
    )
    with pytest.raises(sqlite3.OperationalError):
        db.execute("select doc_simhash(9999)").fetchall()
    assert (db.row_factory, db.text_factory) == (row_factory, bytes)
    assert db.execute("select key from docindex_document where id = 1").fetchall() == [{"row": (b"00000",)}]


DAMAGES = {
    "a text that is not UTF-8": "update docindex_document set key = cast(x'30ff' as text) where id = 7",
    "a wrong type": "update docindex_content set slots = 5 where id = 7",
    "a recipe that is not UTF-8": "update docindex_recipe set json = cast(x'ff' as text)",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_called_damage(path, damage):
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("pragma writable_schema = on")
        # The tables are STRICT, which only the schema says.
        other.execute("update sqlite_schema set sql = replace(sql, ') strict', ')') where type = 'table'")
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute(DAMAGES[damage])
    with contextlib.closing(sqlite3.connect(path)) as db:
        docindex.register(db)
        for question in ("select doc_similar_json(8, 0.01)", "select doc_near_json(8, 63), doc_sketch(7)"):
            assert re.search("is damaged|damaged;", message(db, question))
        assert db.execute("select count(*) from docindex_document").fetchone() == (121,)
    with contextlib.closing(apsw.Connection(path)) as db:
        docindex.register(db)
        with pytest.raises(docindex.CorruptIndex):
            db.execute("select doc_similar_json(8, 0.01)").fetchall()


def test_the_errors_of_sqlite_are_those_of_apsw():
    for name, kind in {
        "SQLITE_CORRUPT": apsw.CorruptError,
        "SQLITE_BUSY": apsw.BusyError,
        "SQLITE_BUSY_SNAPSHOT": apsw.BusyError,
        "SQLITE_CONSTRAINT_UNIQUE": apsw.ConstraintError,
        "SQLITE_READONLY_DBMOVED": apsw.ReadOnlyError,
        "SQLITE_INTERRUPT": apsw.InterruptError,
        "SQLITE_IOERR_READ": apsw.IOError,
        "SQLITE_FULL": apsw.FullError,
        "SQLITE_NOTADB": apsw.NotADBError,
        "SQLITE_AUTH": apsw.AuthError,
        "SQLITE_ERROR": apsw.SQLError,
    }.items():
        error = sqlite3.OperationalError("the message")
        error.sqlite_errorcode = getattr(apsw, name)
        found = connections.as_apsw(error)
        assert type(found) is kind
        assert str(found) == "the message"
    without_code = sqlite3.ProgrammingError("Cannot operate on a closed database.")
    assert connections.as_apsw(without_code) is without_code


def test_a_progress_handler_and_an_interrupt_of_the_host_stop_a_question(db):
    for interrupt in (lambda: 1, lambda: db.interrupt()):
        db.set_progress_handler(interrupt, 200)
        assert message(db, "select doc_pairs_json(0.1)").startswith(
            "the question was interrupted by interrupt"
        )
        db.set_progress_handler(None, 0)
        assert json.loads(db.execute("select doc_near_json(7, 0)").fetchone()[0])[0]["id"] == 7


def test_a_statement_that_an_error_stopped_holds_no_lock(tmp_path):
    path = str(tmp_path / "index")
    with docindex.open(path) as index:
        index.add_many([(f"{n}", noise(random.Random(n), 900)) for n in range(400)])
    db = sqlite3.connect(path, isolation_level=None)
    docindex.register(db, limit_s=0.0)
    errors = []
    with contextlib.ExitStack() as stack:
        stack.callback(logging.getLogger("docindex").handlers.clear)
        handler = logging.Handler()
        handler.emit = errors.append  # keeps the error, its traceback, and what its frames hold
        logging.getLogger("docindex").addHandler(handler)
        for _ in range(3):
            assert "was not answered within 0 s" in message(db, "select doc_pairs_json(0.1)")
            docindex.register(db, limit_s=0.0)  # SQLite refuses this while a statement runs
    assert len(errors) == 3
    db.close()


def test_a_condition_cannot_call_a_function_that_the_host_replaced(db):
    called = []
    db.create_function("lower", 1, lambda text: called.append(text) or "00007")
    db.create_function("private", 1, lambda text: called.append(text) or 1)
    condition = """select doc_near_json(7, 63, ?)"""
    for where in ("lower(key) = '00007'", "private(key)", "doc_canonical(key) = '00007'"):
        assert "the condition" in message(db, condition, where)
    assert called == []
    found = json.loads(db.execute(condition, ("upper(key) = '00007'",)).fetchone()[0])
    assert [row["key"] for row in found] == ["00007"]


def test_the_authorizer_of_the_host_is_asked_and_stays(db):
    asked = []

    def authorizer(_action, *names):
        asked.append(names)
        return sqlite3.SQLITE_DENY if names[0] == "docindex_content" else sqlite3.SQLITE_OK

    db.set_authorizer(authorizer)
    db.execute("select doc_near_json(doc_key('00007'), 0, 'id < 100') where 0").fetchall()
    assert "prohibited" in message(db, "select doc_near_json(doc_key('00007'), 0, 'id < 100')")
    assert ("docindex_document", "key", "main", None) in asked
    with pytest.raises(sqlite3.DatabaseError, match="prohibited"):
        db.execute("select id from docindex_content").fetchall()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_connection_is_closed_when_nobody_refers_to_it(path):
    class Connection(sqlite3.Connection):
        pass

    before = handles_of(path)
    for kind in (Connection, sqlite3.Connection):
        db = sqlite3.connect(path, factory=kind)
        docindex.register(db)
        db.execute("select doc_search_json(7)").fetchall()
        gone = weakref.ref(db) if kind is Connection else None
        assert handles_of(path) == before + 1
        del db
        gc.collect()
        assert gone is None or gone() is None
        assert handles_of(path) == before


def handles_of(path):
    """How many open files of this process are the file."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += str(link.readlink()) == path
    return found


def test_docindex_opens_no_file(path):
    before = handles_of(path)  # an index that was open before may have left a handle
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        docindex.register(db)
        for sql in {**QUESTIONS, **OF_ALL}.values():
            db.execute(sql).fetchall()
            assert handles_of(path) == before + 1


COUNT = "select count(*) from main.docindex_document"


def test_all_statements_of_a_question_see_the_same_state(path, db):
    transactions = HostTransactions(Sqlite3Host(db), "main")
    with other_process(path) as other:
        with transactions.reading() as reading:
            before = rows.value(reading, COUNT)
            assert other.run("delete from docindex_document where id > 100") == "done"
            assert rows.value(reading, COUNT) == before
        with transactions.reading() as reading:
            assert rows.value(reading, COUNT) == 100


def test_an_index_in_memory_is_answered(path):
    with (
        contextlib.closing(sqlite3.connect(path)) as file,
        contextlib.closing(sqlite3.connect(":memory:")) as db,
    ):
        file.backup(db)
        docindex.register(db)
        docindex.register(file)
        for sql in {**QUESTIONS, **OF_ALL}.values():
            assert db.execute(sql).fetchall() == file.execute(sql).fetchall()


def test_integers_of_64_bits_texts_and_blobs_are_bound_as_arrays(db):
    running = connections.RunningStatements(lambda: None)
    adapted = connections.Sqlite3Connection(db, running, "main")
    for values in (
        np.array([-(1 << 63), -1, 0, 7, (1 << 63) - 1]),
        ("a", "it's", "carray(?)", "\x00", "é" * 100),
        (b"", b"\x00\xff", b"main."),
    ):
        sql = "select value, 'main. carray(?)' from carray(?) as wanted where value is not ?"
        found = adapted.execute(sql, (adapted.array(values), None)).fetchall()
        assert found == [(value, "main. carray(?)") for value in list(values)]


def test_a_condition_may_use_json_functions_on_every_library(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add_many((f"{n}", f"one text that all documents have, and {n}", {"n": n}) for n in range(9))
    sql = "select json_array_length(doc_near_json('one text that all documents have', 63, ?))"
    for library in (sqlite3, apsw):
        connect = getattr(library, "connect", None) or library.Connection
        with contextlib.closing(connect(str(tmp_path / "index"))) as connection:
            docindex.register(connection)
            for condition in ("meta ->> 'n' > 3", "json_extract(meta, '$.n') > 3"):
                assert connection.execute(sql, (condition,)).fetchone() == (5,)
