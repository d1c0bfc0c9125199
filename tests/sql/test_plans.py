"""Table functions work anywhere in a statement, and SQLite hands them every value that narrows a question."""

import random

import apsw
import pytest

import docindex
from docindex import Text
from tests.query.corpus import RECIPE, corpus

TEXTS = corpus(7)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with docindex.open(tmp_path_factory.mktemp("plans") / "index", recipe=RECIPE) as opened:
        opened.add_many(list(TEXTS.items()), workers=1)
        yield opened


@pytest.fixture(scope="module")
def db(index):
    connection = apsw.Connection(index.path)
    docindex.register(connection)
    connection.execute("create temp table q (name, text)")
    connection.executemany("insert into q values (?, ?)", list(queries().items()))
    yield connection
    connection.close()


def queries():
    return {"first": TEXTS["003"], "second": TEXTS["007"], "strange": "nothing of the kind", "null": None}


def found(index, name, **wanted):
    """The definition: the keys that `search` gives for one of the queries."""
    text = queries()[name]
    return [] if text is None else [m.key for m in index.search(Text(text), **wanted)]


def plan(db, sql, bindings=()):
    return [step for *_, step in db.execute(f"explain query plan {sql}", bindings)]


JOINS = {
    "correlated": "select q.name, s.key from q, doc_search(q.text) s order by q.name, s.score desc, s.key",
    "written the other way round": (
        "select q.name, s.key from doc_search(q.text) s, q order by q.name, s.score desc, s.key"
    ),
    "with document": (
        "select q.name, d.key from q, docindex_document d, doc_search(q.text) s where s.id = d.id "
        "order by q.name, s.score desc, d.key"
    ),
    "with document first": (
        "select q.name, d.key from docindex_document d join doc_search(q.text) s on s.id = d.id join q "
        "order by q.name, s.score desc, d.key"
    ),
    "inside a subquery": (
        "select name, key from (select q.name, s.* from q join doc_search(q.text) s) "
        "order by name, score desc, key"
    ),
    "inside a common table": (
        "with hit as (select q.name, s.key, s.score from q, doc_search(q.text) s) "
        "select name, key from hit order by name, score desc, key"
    ),
    "inside a materialized common table": (
        "with hit as materialized (select q.name, s.key, s.score from q, doc_search(q.text) s) "
        "select hit.name, d.key from hit join docindex_document d using (key) order by name, score "
        "desc, d.key"
    ),
    "inside a view": "select name, key from hits order by name, score desc, key",
    "by the hidden column": (
        "select q.name, s.key from q join doc_search s on s.query = q.text "
        "order by q.name, s.score desc, s.key"
    ),
    "with json": (
        "select q.name, s.value ->> 'key' as k from q, json_each(doc_search_json(q.text)) s "
        "order by q.name, s.value ->> 'score' desc, k"
    ),
}


@pytest.mark.parametrize("sql", JOINS.values(), ids=JOINS)
def test_a_search_works_anywhere_in_a_join(db, index, sql):
    db.execute("create temp view if not exists hits as select q.name, s.* from q, doc_search(q.text) s")
    # A join with a condition on the result selects from all rows; otherwise the default limit holds.
    wanted = {"limit": None} if "s.id = d.id" in sql else {}
    expected = [(name, key) for name in sorted(queries()) for key in found(index, name, **wanted)]
    assert db.execute(sql).fetchall() == expected


def test_a_left_join_keeps_rows_without_a_match(db, index):
    rows = db.execute(
        "select q.name, s.key from q left join doc_search(q.text) s order by q.name, s.score desc, s.key"
    ).fetchall()
    assert rows == [(name, key) for name in sorted(queries()) for key in (found(index, name) or [None])]
    rows = db.execute(
        "select q.name, s.key from q left join doc_search(q.text, null, null, 0.9) s on s.shared > 3 "
        "order by q.name, s.score desc, s.key"
    ).fetchall()
    assert {name for name, _ in rows} == set(queries())
    missing = db.execute(
        "select q.name from q left join doc_search(q.text) s where s.key is null order by 1"
    ).fetchall()
    assert missing == [(name,) for name in sorted(queries()) if not found(index, name)]


def test_a_search_works_in_a_subquery_for_every_row(db, index):
    first = "select key from doc_search(q.text) order by score desc, key limit 1"
    best = f"select q.name, ({first}) from q order by 1"
    assert db.execute(best).fetchall() == [
        (name, (found(index, name) or [None])[0]) for name in sorted(queries())
    ]
    some = "select name from q where exists (select 1 from doc_search(q.text)) order by 1"
    assert db.execute(some).fetchall() == [(name,) for name in sorted(queries()) if found(index, name)]
    named = "select key from docindex_document where id in (select id from doc_search(?)) order by key"
    assert db.execute(named, (TEXTS["003"],)).fetchall() == [(key,) for key in sorted(found(index, "first"))]


def test_one_statement_can_hold_several_searches(db, index):
    both = "select a.key from doc_search(?1) a join doc_search(?2) b on a.id = b.id order by a.key"
    expected = sorted(set(found(index, "first", limit=None)) & set(found(index, "second", limit=None)))
    assert db.execute(both, (TEXTS["003"], TEXTS["007"])).fetchall() == [(key,) for key in expected]
    either = "select distinct key from doc_search where query in (?1, ?2) order by key"
    expected = sorted(set(found(index, "first", limit=None)) | set(found(index, "second", limit=None)))
    assert db.execute(either, (TEXTS["003"], TEXTS["007"])).fetchall() == [(key,) for key in expected]
    either = either.replace("query in (?1, ?2)", "query = ?1 or query = ?2")
    assert db.execute(either, (TEXTS["003"], TEXTS["007"])).fetchall() == [(key,) for key in expected]


@pytest.mark.parametrize(
    "condition",
    [
        "containment >= 0.3", "containment > 0.3", "0.3 < containment", "containment between 0.2 and 0.6",
        "containment >= '0.3'", "containment >= 2", "containment > -1", "containment >= null",
        "resemblance > 0.1", "shared >= 5", "key like '00%'",
    ],
)  # fmt: skip
@pytest.mark.parametrize("tail", ["", "limit 3", "limit 3 offset 2", "limit 0", "limit -1"])
@pytest.mark.parametrize("order", ["", "order by score desc, key", "order by key", "order by score"])
def test_conditions_orders_and_limits_work_as_on_a_plain_table(db, condition, tail, order):
    everything = (
        """(select * from doc_search(?) where "limit" = -1 order by random())"""
        if order
        else """(select * from doc_search(?) where "limit" = -1)"""
    )
    order = order if "key" in order or not order else f"{order}, key"
    bindings = (TEXTS["003"],)
    expected = db.execute(
        f"with plain as materialized (select * from {everything}) "
        f"select * from plain where {condition} {order} {tail}",
        bindings,
    ).fetchall()
    assert db.execute(
        f"select * from doc_search(?) where {condition} {order} {tail}", bindings
    ).fetchall() == (expected)


def test_a_required_null_gives_no_rows_and_an_optional_null_the_default(db, index):
    for call in ["doc_search(null)", "doc_similar(null)", "doc_near(null)", "doc_passages(1, null)",
                 "doc_passages(null, 1)", "doc_fingerprints(null)"]:  # fmt: skip
        assert db.execute(f"select * from {call}").fetchall() == []
    assert db.execute("select key from doc_near(doc_key('007'), null)").fetchall() == [
        (n.key,) for n in index.near("007")
    ]


def test_sqlite_chooses_these_plans(db):
    scan_q, correlated = plan(db, JOINS["correlated"])[:2]
    assert (scan_q, correlated) == ("SCAN q", "SCAN s VIRTUAL TABLE INDEX 0:query")
    assert plan(db, JOINS["written the other way round"])[:2] == [scan_q, correlated]
    assert plan(db, "select * from doc_search('x') s join docindex_document d on d.id = s.id") == [
        "SCAN s VIRTUAL TABLE INDEX 2:query",
        "SEARCH d USING INTEGER PRIMARY KEY (rowid=?)",
    ]
    assert plan(db, "select * from docindex_document d join doc_search('x', 30) s using (key)") == [
        "SCAN s VIRTUAL TABLE INDEX 2:query,window",
        "SEARCH d USING INDEX sqlite_autoindex_docindex_document_1 (key=?)",
    ]
    assert plan(db, "select * from doc_search('x') where containment > 0.5 order by score desc") == [
        "SCAN doc_search VIRTUAL TABLE INDEX 2:containment>=,query",  # and SQLite sorts nothing
    ]
    assert plan(db, "select * from doc_search('x') order by score desc limit 5") == [
        "SCAN doc_search VIRTUAL TABLE INDEX 0:query,LIMIT",
    ]
    # With another condition, an offset or another order, SQLite must see all rows.
    for rest in ["where shared > 2 limit 5", "limit 5 offset 1", "order by key limit 5"]:
        assert "LIMIT" not in plan(db, f"select * from doc_search('x') {rest}")[0]
    assert plan(db, "select * from doc_near('x', 9) where distance < 4 order by distance") == [
        "SCAN doc_near VIRTUAL TABLE INDEX 1:distance<=,query,max_distance",
    ]
    for sql in ["doc_pairs", "doc_pairs(0.4)"]:
        steps = plan(db, f"select * from {sql} where resemblance >= 0.3 and resemblance < 0.9")
        assert ":resemblance>=" in steps[0]
    either = plan(db, "select * from doc_pairs where resemblance >= 0.3 or shared > 9 or a = 'x'")
    assert either == ["SCAN doc_pairs VIRTUAL TABLE INDEX 0:"]  # otherwise each part would be a question
    for other in [
        "json_each('[1]') o on p.a = o.value",
        "q o on p.a = o.name",
        "docindex_document o on p.a = o.key",
    ]:
        for sql in [f"doc_pairs p join {other}", f"doc_pairs(0.5) p join {other}"]:
            assert plan(db, f"select * from {sql}")[0].startswith("SCAN p ")
    assert plan(db, "select * from doc_pairs(0.9) p join docindex_document d on d.key = p.a") == [
        "SCAN p VIRTUAL TABLE INDEX 0:min_resemblance",
        "SEARCH d USING INDEX sqlite_autoindex_docindex_document_1 (key=?)",
    ]


LISTED = {
    "document = 5": "document",
    "hash = 7": "hash",
    "document = 5 and hash = 7": "document,hash",
    "document in (3, 4)": "document",
    "hash in (3, 4)": "hash",
    "position = 4": "",
    "document > 5": "",
}


@pytest.mark.parametrize(("condition", "taken"), LISTED.items())
def test_fingerprints_are_looked_up_by_document_and_by_hash(db, condition, taken):
    (step,) = plan(db, f"select * from fingerprint_list where {condition}")
    assert step == f"SCAN fingerprint_list VIRTUAL TABLE INDEX 0:{taken}"


def test_joins_of_fingerprints_look_up_and_never_scan(db):
    for sql in [
        "select * from doc_fingerprints('x') f join fingerprint_list l on l.hash = f.hash",
        "select * from fingerprint_list l join doc_fingerprints('x') f using (hash)",
    ]:
        assert plan(db, sql) == [
            "SCAN f VIRTUAL TABLE INDEX 0:query",
            "SCAN l VIRTUAL TABLE INDEX 0:hash",
        ]
    of_some = plan(
        db,
        "select count(*) from fingerprint_list l join docindex_document d on d.id = l.document where "
        "d.key = 'x'",
    )
    assert of_some == [
        "SEARCH d USING COVERING INDEX sqlite_autoindex_docindex_document_1 (key=?)",
        "SCAN l VIRTUAL TABLE INDEX 0:document",
    ]
    twice = plan(
        db,
        "select * from fingerprint_list a join fingerprint_list b using (hash) where a.document = 3",
    )
    assert twice == ["SCAN a VIRTUAL TABLE INDEX 0:document", "SCAN b VIRTUAL TABLE INDEX 0:hash"]


def test_the_list_has_the_fingerprints_of_all_texts(db, index):
    expected = []
    for key, text in TEXTS.items():
        of_text = docindex.fingerprints(text, RECIPE)
        expected += [
            (index[key].id, position, hash_ >> 16)
            for position, hash_ in zip(of_text.positions.tolist(), of_text.hashes.tolist(), strict=True)
        ]
    expected.sort()
    assert db.execute("select document, position, hash from fingerprint_list").fetchall() == expected
    rng = random.Random(1)
    for document, _, hash_ in rng.sample(expected, 20):
        for sql, kept in [
            ("document = ?1", lambda row, d=document: row[0] == d),
            ("hash = ?2", lambda row, h=hash_: row[2] == h),
            ("document = ?1 and hash = ?2", lambda row, d=document, h=hash_: (row[0], row[2]) == (d, h)),
            ("hash = ?2 + 0.0", lambda row, h=hash_: row[2] == h),
            ("document = cast(?1 as text)", lambda _: False),
        ]:
            rows = db.execute(
                f"select document, position, hash from fingerprint_list where {sql} and ?1 and ?2",
                (document, hash_),
            ).fetchall()
            assert rows == [row for row in expected if kept(row)]
    for strange in [-1, 1 << 48, (1 << 63) - 1, -(1 << 63), 1.5, 1e300, float("inf"), None, "x", b"x"]:
        for column in ("document", "hash"):
            sql = f"select * from fingerprint_list where {column} = ?"
            assert db.execute(sql, (strange,)).fetchall() == []
