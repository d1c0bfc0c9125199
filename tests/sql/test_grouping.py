"""doc_group finds the groups that doc_clusters would find, among the rows of any statement."""

import json
import random
import sqlite3
import threading

import apsw
import pytest

import docindex
from tests.query.corpus import RECIPE, corpus
from tests.sql.test_register import failure, one

TEXTS = list(corpus(9).values())


@pytest.fixture(params=["apsw", "sqlite3"])
def db(request):
    connection = (apsw if request.param == "apsw" else sqlite3).Connection(":memory:")
    docindex.register(connection)
    connection.execute("create table note (id integer primary key, body text)")
    connection.executemany("insert into note (body) values (?)", [(text,) for text in TEXTS])
    yield connection
    connection.close()


def grouped(db, arguments="id, body", rest="from note"):
    return json.loads(one(db, f"select doc_group({arguments}) {rest}"))


def clusters_of(texts, least, recipe=None, boilerplate=()):
    """The definition: the clusters of an index of these rows."""
    with docindex.open(":memory:", recipe=recipe) as index:
        for template in boilerplate:
            index.boilerplate.add(template)
        index.add_many((f"{number:05}", text) for number, text in enumerate(texts, 1))
        return [
            {"cluster": number, "key": int(member.key), "why": member.why,
             "like": member.like and int(member.like), "resemblance": member.resemblance}
            for number, cluster in enumerate(index.clusters(least), 1)
            for member in cluster.members
        ]  # fmt: skip


def test_the_groups_are_the_clusters_of_an_index_of_the_rows(db):
    assert grouped(db) == clusters_of(TEXTS, 0.8)
    for least in (0.2, 0.5):
        assert grouped(db, f"id, body, {least}") == clusters_of(TEXTS, least)
    assert len({row["cluster"] for row in grouped(db, "id, body, 0.2")}) > 3


def test_two_rows_are_in_a_group_if_their_exact_resemblance_reaches_the_minimum(db):
    groups = {row["key"]: row["cluster"] for row in grouped(db, "id, body, 0.5")}
    pairs = (
        "select a.id, b.id from note a, note b where a.id < b.id and doc_resemblance(a.body, b.body) >= 0.5"
    )
    linked = db.execute(pairs).fetchall()
    assert linked
    assert all(groups[a] == groups[b] for a, b in linked)
    assert set(groups) == {row for pair in linked for row in pair}


def test_the_recipe_and_the_boilerplate_of_an_index_count(tmp_path):
    template = TEXTS[3][:200]
    with docindex.open(tmp_path / "index", recipe=RECIPE) as index:
        index.boilerplate.add(template)
    connection = sqlite3.connect(tmp_path / "index")
    docindex.register(connection)
    sql = "select doc_group(key + 1, value, 0.3) from json_each(?)"
    found = json.loads(one(connection, sql, json.dumps(TEXTS)))
    assert found == clusters_of(TEXTS, 0.3, RECIPE, [template]) != clusters_of(TEXTS, 0.3)
    assert connection.execute("select count(*) from docindex_document").fetchone() == (0,)
    connection.close()


def test_each_group_of_rows_is_a_question_of_its_own(db):
    rows = db.execute("select id % 2, doc_group(id, body, 0.2) from note group by 1 order by 1").fetchall()
    odd = [text if number % 2 else None for number, text in enumerate(TEXTS, 1)]
    assert len(rows) == 2
    db.executemany("update note set body = ? where id = ?", [(text, n) for n, text in enumerate(odd, 1)])
    assert json.loads(rows[1][1]) == grouped(db, "id, body, 0.2")  # a text that is NULL is ignored


def test_keys_are_any_values_and_need_not_be_unique(db):
    rest = "from (values ('a', 'one text'), ('a', 'One text!'), (1.5, 'one text'), (null, 'other'))"
    found = grouped(db, "column1, column2", rest)
    assert [(row["key"], row["why"]) for row in found] == [
        ("a", "first"), (1.5, "exact copy"), ("a", "same words"),
    ]  # fmt: skip
    assert one(db, "select doc_group(1, null)") is None
    assert one(db, "select doc_group(id, body) from note where 0") is None
    assert grouped(db, "id, doc_literal(body)") == grouped(db)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("id, 7", "text must be TEXT, not INTEGER"),
        ("id, x'00'", "expected TEXT, or the INTEGER id of a document, not BLOB"),
        ("x'00', body", "key must be INTEGER, REAL or TEXT, not BLOB"),
        ("id, body, 0", "min_resemblance must be a number above 0 and up to 1, not 0"),
        ("id, body, 1.0 / id", "min_resemblance must be the same for all rows, not 1.0 and 0.5"),
    ],
)
def test_errors_say_what_is_wrong(db, arguments, message):
    assert failure(db, f"select doc_group({arguments}) from note") == f"doc_group: {message}"


def test_a_large_question_can_be_stopped():
    rng = random.Random(4)
    words = ["".join(rng.choices("abcdefgh", k=6)) for _ in range(4000)]
    texts = json.dumps([" ".join(rng.choices(words, k=900)) for _ in range(3000)])
    limited = sqlite3.connect(":memory:")
    docindex.register(limited, limit_s=0.3)
    assert "0.3 s" in failure(limited, "select doc_group(key, value, 0.1) from json_each(?)", texts)
    limited.close()
    connection = apsw.Connection(":memory:")
    docindex.register(connection)
    timer = threading.Timer(0.5, connection.interrupt)
    timer.start()
    with pytest.raises(apsw.InterruptError):
        connection.execute("select doc_group(key, value, 0.1) from json_each(?)", (texts,)).fetchall()
    timer.join()
    connection.close()
