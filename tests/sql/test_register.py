"""Functions on any connection: their arguments, their error messages, and how they find an index."""

import contextlib
import gc
import json
import logging
import random
import sqlite3
import threading
import weakref

import apsw
import pytest

import docindex
from tests.storage.texts import noise

WINDOW = docindex.Recipe().window


def connected(kind, path=":memory:"):
    connection = apsw.Connection(str(path)) if kind == "apsw" else sqlite3.connect(path)
    # The last connection that closes a file cleans up its journal, and may have to wait for that.
    connection.execute("pragma busy_timeout = 10000")
    docindex.register(connection)
    return connection


@contextlib.contextmanager
def opened(kind, path=":memory:"):
    connection = connected(kind, path)
    try:
        yield connection
    finally:
        connection.close()


@pytest.fixture(params=["apsw", "sqlite3"])
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "index.docindex"
    with docindex.open(file) as index:
        index.add_many([("a", "to be or not to be that is the question"), ("b", "to be or not to be")])
    return file


def one(connection, sql, *bindings):
    ((found,),) = connection.execute(sql, bindings).fetchall()
    return found


def failure(connection, sql, *bindings):
    """The message of the error that a statement raises."""
    if isinstance(connection, apsw.Connection):
        with pytest.raises(Exception, match=r".") as caught:
            connection.execute(sql, bindings).fetchall()
        return str(caught.value)
    with pytest.raises(sqlite3.OperationalError, match="user-defined"):
        connection.execute(sql, bindings).fetchall()
    return one(connection, "select doc_error()")


def test_functions_about_texts_need_no_index(kind):
    with opened(kind) as db:
        db.execute("create table post (a, b)")
        db.execute("insert into post values ('To be, or not to be!', 'to be or not to be'), ('x', null)")
        assert db.execute("select doc_resemblance(a, b), doc_containment(b, a) from post").fetchall() == [
            (1.0, 1.0),
            (None, None),
        ]
        assert one(db, "select doc_simhash('one two')") == one(db, "select doc_simhash('One, two')")
        assert one(db, "select count(doc_sketch(a)) from post") == 2
        assert one(db, "select doc_common(a) from post") == 0.0
        assert len(json.loads(one(db, "select doc_features('one two three four five')"))) == 6
        assert "INTEGER id" in failure(db, "select doc_resemblance(1.5, 'x')")
        message = failure(db, "select doc_containment('x', 1)")
        assert message == (
            "no database of this connection (main) is a docindex index; "
            "attach one, or give one to docindex.register"
        )


TEXT_OR_ID = "expected TEXT, or the INTEGER id of a document, not"
SKETCHES = "expected a BLOB from doc_sketch,"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("doc_resemblance(x'00', 'x')", f"{TEXT_OR_ID} BLOB"),
        ("doc_containment('x', 1.0)", f"{TEXT_OR_ID} REAL"),
        ("doc_simhash(x'00')", f"{TEXT_OR_ID} BLOB"),
        ("doc_sketch(1.5)", f"{TEXT_OR_ID} REAL"),
        ("doc_features(1.5)", f"{TEXT_OR_ID} REAL"),
        ("doc_canonical(x'00')", f"{TEXT_OR_ID} BLOB"),
        ("doc_common(1.5)", f"{TEXT_OR_ID} REAL"),
        ("doc_simhash(99)", "there is no document 99"),
        ("doc_resemblance('x', -9223372036854775808)", "there is no document -9223372036854775808"),
        ("doc_canonical(99)", "there is no document 99"),
        ("doc_simhash('x', 1)", "expected the name of a schema as TEXT, not INTEGER"),
        ("doc_distance('x', 1)", "expected INTEGER simhash values, not TEXT"),
        ("doc_distance(1, 2.5)", "expected INTEGER simhash values, not REAL"),
        ("doc_sketch_resemblance('x', x'00')", f"{SKETCHES} not TEXT"),
        ("doc_sketch_resemblance(x'00', x'00')", f"{SKETCHES} not a BLOB of 1 bytes"),
        ("doc_sketch_resemblance(x'', x'')", f"{SKETCHES} not a BLOB of 0 bytes"),
        (
            "doc_sketch_resemblance(x'00000000', x'0000000000000000')",
            "expected sketches of the same recipe, not of 2 and 4 slots",
        ),
        ("doc_sketch_union('x')", f"{SKETCHES} not TEXT"),
        (
            "doc_filter(6, 14, 'x', 0.5)",
            "expected INTEGER k, s and r and a number, not INTEGER, INTEGER, TEXT, REAL",
        ),
        ("doc_filter(6, 14, 2, 1.5)", "resemblance must be from 0 to 1; found 1.5"),
        ("doc_density(0)", "expected a window of 1 or more, not 0"),
        ("doc_density('x')", "expected a window as INTEGER, not TEXT"),
        (
            "doc_search_json()",
            "expected 1 to 14 arguments (query, window, budget, min_containment, min_reverse_containment, "
            "min_resemblance, min_shared, limit, where, rank, ignore_above, exact, boilerplate, schema), "
            "not 0",
        ),
        (
            "doc_search_json('x', 3)",
            f"window=3 is smaller than the window of the index, {WINDOW}; search with {WINDOW} or more, "
            "or make an index with a smaller window",
        ),
        ("doc_search_json('x', 'y')", "window must be a whole number, not 'y'"),
        ("doc_similar_json('x', 2)", "min_resemblance must be a number above 0 and up to 1, not 2"),
        ("doc_near_json('x', 64)", "max_distance must be a whole number from 0 to 63, not 64"),
        (
            "doc_pairs_json(0.5, 0.5)",
            "give either min_resemblance or min_containment, not min_resemblance=0.5 and min_containment=0.5",
        ),
        ("doc_clusters_json(0.5, 'x')", "linkage must be one of connected, greedy, complete, not 'x'"),
        ("doc_passages_json(1, 99)", "there is no document 99"),
        ("doc_near_json('x', 1, 2)", "where must be a condition as TEXT, not INTEGER"),
        (
            "doc_similar_json('x', 0.5, null, null, null, 'footer')",
            "boilerplate must be 1, 0 or a JSON array of template names, not 'footer'",
        ),
        (
            "doc_similar_json('x', 0.5, null, null, null, 2)",
            "boilerplate must be 1, 0 or a JSON array of template names, not 2",
        ),
        (
            """doc_similar_json('x', 0.5, null, null, null, '["footer", 1]')""",
            """boilerplate must be 1, 0 or a JSON array of template names, not '["footer", 1]'""",
        ),
        (
            """doc_similar_json('x', 0.5, null, null, null, '["footer"]')""",
            "there is no template 'footer'; index.boilerplate lists the templates",
        ),
    ],
)
def test_an_error_names_the_function_and_what_was_found(kind, path, call, message, caplog):
    name = call.partition("(")[0]
    with opened(kind, path) as db, caplog.at_level(logging.ERROR, "docindex"):
        assert failure(db, f"select {call}") == f"{name}: {message}"
        if kind == "sqlite3":  # which does not pass the message on
            assert caplog.messages == [f"{name}: {message}"]
        elif name.endswith("_json") and "()" not in call:
            table = name.removesuffix("_json")
            assert failure(db, f"select * from {call.replace(name, table)}") == f"{table}: {message}"


def test_wrong_options_in_json_are_named(kind, path):
    with opened(kind, path) as db:
        assert failure(db, """select doc_near_json('x', '{"distance": 1}')""") == (
            "doc_near_json: there is no parameter 'distance'; the parameters are max_distance, where, schema"
        )
        assert failure(db, "select doc_near_json('x', '{')").startswith(
            "doc_near_json: expected a JSON object of parameters, not '{' (Expecting property name"
        )


def test_a_schema_that_is_not_an_index_is_named(kind, path):
    with opened(kind, path) as db:
        assert failure(db, "select doc_simhash('x', 'there')") == (
            "'there' is not a docindex index among the databases of this connection (main); "
            "attach it under this name first"
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "doc_search",
            "doc_search needs query: doc_search(query, window, budget, min_containment, "
            "min_reverse_containment, min_resemblance, min_shared, limit, where, rank, ignore_above, exact, "
            "boilerplate)",
        ),
        ("doc_passages", "doc_passages needs a and b: doc_passages(a, b, min_length, boilerplate, join)"),
        ("doc_passages(1)", "doc_passages needs b: doc_passages(a, b, min_length, boilerplate, join)"),
    ],
)
def test_a_table_function_says_what_it_needs(path, call, message):
    with opened("apsw", path) as db:
        assert failure(db, f"select * from {call}") == message


def test_null_gives_null(kind, path):
    with opened(kind, path) as db:
        for call in [
            "doc_resemblance(null, 'x')", "doc_containment('x', null)", "doc_simhash(null)",
            "doc_sketch(null)", "doc_features(null)", "doc_canonical(null)", "doc_distance(null, 'x')",
            "doc_distance(1, null)",
            "doc_sketch_resemblance(null, 'x')", "doc_filter(6, 14, 2, null)", "doc_filter('x', 14, 2, null)",
            "doc_density(null)",
        ]:  # fmt: skip
            assert one(db, f"select {call}") is None, call
        assert one(db, "select doc_search_json(null)") == "[]"


def test_distances_are_those_of_64_bits(kind):
    with opened(kind) as db:
        assert one(db, "select doc_distance(-1, 0)") == 64
        assert one(db, "select doc_distance(-9223372036854775808, 9223372036854775807)") == 64
        assert one(db, "select doc_distance(5, 6)") == 2


def test_functions_can_be_used_in_an_index_on_an_expression(kind):
    with opened(kind) as db:  # which accepts only deterministic functions
        db.execute("create table post (body)")
        db.execute("create index of_canonical on post (doc_canonical(body))")
        db.execute("insert into post values ('One, two'), ('ONE TWO'), ('three')")
        plan = db.execute(
            "explain query plan select body from post where doc_canonical(body) = 'one two'"
        ).fetchall()
        assert "USING INDEX of_canonical" in plan[0][-1]
        assert len(db.execute("select body from post where doc_canonical(body) = 'one two'").fetchall()) == 2


def test_functions_can_be_used_in_the_schema_of_an_untrusted_file(path):
    with opened("apsw", path) as db:
        db.execute(
            "create view seen as "
            "select d.key, doc_canonical(id) c from docindex_document d, doc_near(doc_key('a'), 0) using (id)"
        )
        db.execute("pragma trusted_schema = off")
        assert db.execute("select key from seen").fetchall() == [("a",)]
        db.execute("create table note (body)")
        db.execute(
            "create trigger t after insert on note begin "
            "insert into doc_index (key, text) values ('n', new.body); end"
        )
        with pytest.raises(apsw.SQLError, match='unsafe use of virtual table "doc_index"'):
            db.execute("insert into note values ('x')")


def test_an_attached_index_is_found_by_the_name_of_its_schema(kind, path, tmp_path):
    with docindex.open(tmp_path / "other", recipe=docindex.Recipe(k=5, window=4)) as other:
        other.add("c", "to be or not to be")
    db = connected(kind)
    db.execute("attach ? as first", (str(path),))
    db.execute("attach ? as second", (str(tmp_path / "other"),))
    assert one(db, "select doc_canonical(1)") == "to be or not to be that is the question"
    assert one(db, "select doc_canonical(1, 'second')") == "to be or not to be"
    assert one(db, "select doc_resemblance(1, 1, 'second')") == 1.0
    found = json.loads(one(db, """select doc_search_json('to be or not to be', '{"schema": "second"}')"""))
    assert [row["key"] for row in found] == ["c"]
    found = json.loads(one(db, "select doc_search_json('to be or not to be')"))
    assert [row["key"] for row in found] == ["b"]
    if kind == "apsw":
        sql = "select key from doc_search('to be or not to be') where schema = ?"
        assert db.execute(sql, ("second",)).fetchall() == [("c",)]
        assert db.execute(sql, ("first",)).fetchall() == [("b",)]
        both = "select key from doc_search('to be or not to be') where schema in ('first', 'second')"
        assert sorted(db.execute(both)) == [("b",), ("c",)]
        lists = "select count(*) from fingerprint_list where schema = ?"
        assert one(db, lists, "first") < one(db, lists, "second")
        of_all = "select s.key from (values ('first'), ('second')) v join doc_search('to be or not to be') s "
        assert sorted(db.execute(of_all + "on s.schema = v.column1")) == [("b",), ("c",)]
    db.execute("detach second")
    assert "'second' is not a docindex index" in failure(db, "select doc_canonical(1, 'second')")
    db.execute("attach ? as second", (str(path),))  # another file under the same name
    assert one(db, "select doc_canonical(1, 'second')") == "to be or not to be that is the question"
    db.close()


def test_an_index_given_to_register_answers_on_any_connection(kind):
    with docindex.open(":memory:") as index:
        index.add("a", "one two three four five six")
        connection = apsw.Connection(":memory:") if kind == "apsw" else sqlite3.connect(":memory:")
        docindex.register(connection, index)
        connection.execute("create table post (id, body)")
        connection.execute("insert into post values (1, 'ONE two three four five six')")
        assert one(connection, "select doc_resemblance(body, 1) from post") == 1.0
        index.add("b", "one two three four five six seven eight")
        assert "given to register" in failure(connection, "select doc_canonical(1, 'main')")
        assert json.loads(one(connection, "select doc_near_json(doc_key('b'))"))[0]["key"] == "b"
        connection.close()


def test_connections_and_indexes_of_other_kinds_are_refused(path):
    with pytest.raises(TypeError, match=r"an apsw\.Connection or a sqlite3\.Connection, not str"):
        docindex.register(str(path))
    with pytest.raises(TypeError, match=r"an index that docindex\.open returned, or None"):
        docindex.register(apsw.Connection(":memory:"), str(path))
    with pytest.raises(ValueError, match="limit_s and most_text_bytes are for connections of sqlite3"):
        docindex.register(apsw.Connection(":memory:"), limit_s=1)


def test_a_file_with_a_newer_schema_is_named(kind, path):
    db = apsw.Connection(str(path))
    db.execute("update docindex_recipe set schema = 99")
    db.close()
    db = connected(kind, path)
    assert "has schema 99" in failure(db, "select doc_canonical(1)")
    db.close()


def test_a_connection_is_closed_when_nobody_refers_to_it(path):
    db = connected("apsw", path)
    db.execute("select * from doc_search('x')").fetchall()
    gone = weakref.ref(db)
    del db
    gc.collect()
    assert gone() is None


def test_functions_on_sqlite3_see_what_another_connection_has_committed(path):
    db = connected("sqlite3", path)
    with docindex.open(path) as index:
        index.add("c", "a third one")
        assert one(db, "select doc_canonical(3)") == "a third one"
    db.close()


def test_a_question_that_takes_too_long_is_cancelled(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        rng = random.Random(1)
        index.add_many([(f"{n}", noise(rng, 3000)) for n in range(300)])
    db = sqlite3.connect(tmp_path / "index")
    docindex.register(db, limit_s=0.0)
    assert "was not answered within 0 s" in failure(db, "select doc_pairs_json(0.1)")
    docindex.register(db, limit_s=60.0)
    assert one(db, "select doc_pairs_json(0.9)") == "[]"
    db.close()


def test_an_interrupt_of_the_connection_stops_a_question(path):
    db = connected("apsw", path)
    db.set_progress_handler(lambda: True, 50)
    with pytest.raises(apsw.InterruptError):
        db.execute("select * from doc_pairs(0.1)").fetchall()
    db.set_progress_handler(None)
    assert db.execute("select a, b from doc_pairs(0.1)").fetchall() in ([("a", "b")], [])
    db.close()


def test_threads_ask_at_the_same_time_each_on_its_own_connection(path, kind):
    wrong = []

    def ask():
        db = connected(kind, path)
        for _ in range(50):
            if one(db, "select doc_canonical(2)") != "to be or not to be":
                wrong.append("text")
            if json.loads(one(db, "select doc_near_json(doc_key('a'))"))[0]["key"] != "a":
                wrong.append("near")
        db.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_execute_has_the_functions_and_still_cannot_write(path):
    for options in ({}, {"readonly": True}):
        with docindex.open(path, **options) as index:
            assert index.execute("select key from doc_near(doc_key('a'), 0)") == [("a",)]
            assert index.execute("select text from doc_index where key = 'b'") == [("to be or not to be",)]
            for sql in [
                "insert into doc_index (key, text) values ('x', 'x')",
                "delete from doc_index",
                "update doc_index set text = 'x'",
            ]:
                with pytest.raises(docindex.ReadOnly):
                    index.execute(sql)
            assert len(index) == 2


@pytest.mark.parametrize("call", ["doc_canonical(1)", "doc_common(1)", "doc_passages_json(1, 1)"])
def test_an_error_about_a_text_that_is_not_kept_names_the_function_and_the_document(call):
    name = call.partition("(")[0]
    with docindex.open(":memory:") as index:
        index.add("lost", "some words that are not kept", store_text=False)
        with pytest.raises(docindex.TextNotKept) as raised:
            index.execute(f"select {call}")
    assert str(raised.value) == (
        f"{name}: the text of document 1 ('lost') was not kept; add it again with store_text=True"
    )
