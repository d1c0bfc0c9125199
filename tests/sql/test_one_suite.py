"""Python, SQL on apsw and SQL on sqlite3 give the same answer to every question."""

import dataclasses
import itertools
import json
import sqlite3

import apsw
import numpy as np
import pytest

import docindex
from docindex import Id, Text
from docindex.index.index import open_scope
from docindex.sql.table_functions import MEASURES, TABLES
from tests.query import reworded
from tests.query.corpus import RECIPE, corpus

TEXTS = corpus(5)
KEYS = ["000", "007", "empty", "SHORT", next(key for key in TEXTS if key.startswith("copy of"))]
COLUMNS = {table.name: table.columns for table in TABLES}
QUERIES = [TEXTS["003"], TEXTS["007"].upper() + " and so on", "nothing of the kind", ""]


class Ways:
    """An index, and two connections to its file."""

    def __init__(self, index, by_apsw, by_sqlite3):
        self.index = index
        self.by_apsw = by_apsw
        self.by_sqlite3 = by_sqlite3

    def id(self, key):
        return self.index[key].id

    def scalar(self, sql, *bindings):
        """The single value that a statement gives, the same on both connections and from `execute`."""
        ((found,),) = self.by_apsw.execute(sql, bindings).fetchall()
        assert self.by_sqlite3.execute(sql, bindings).fetchall() == [(found,)]
        assert self.index.execute(sql, bindings) == [(found,)]
        return found

    def rows(self, name, *arguments):
        """The rows of a table function as dictionaries, the same in SQL, in JSON and from `execute`."""
        marks = ", ".join("?" * len(arguments))
        cursor = self.by_apsw.execute(f"select * from {name}({marks})", arguments)
        columns = COLUMNS[name]
        found = [dict(zip(columns, row, strict=True)) for row in cursor]
        as_json = f"select {name}_json({marks})"
        ((of_apsw,),) = self.by_apsw.execute(as_json, arguments).fetchall()
        ((of_sqlite3,),) = self.by_sqlite3.execute(as_json, arguments).fetchall()
        assert json.loads(of_apsw) == json.loads(of_sqlite3) == found
        assert self.index.execute(as_json, arguments) == [(of_apsw,)]
        return found


KINDS = ["plain", "boilerplate", "texts not kept", "given", "attached", "merged", "uncommitted"]


@pytest.fixture(scope="module", params=KINDS)
def ways(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ways")
    path = str(folder / "index.docindex")
    with docindex.open(path, recipe=RECIPE) as index:
        kept = request.param != "texts not kept"
        items = list(TEXTS.items())
        index.add_many(items[:30], workers=1, store_text=kept)
        index.add_many(items[30:], workers=1, store_text=kept)
        if request.param == "boilerplate":
            index.boilerplate.add(TEXTS["003"][:200])
        if request.param == "merged":
            index.remove("001")
            index.optimize()
        by_apsw, by_sqlite3 = (
            connected(library, request.param, folder, index) for library in (apsw, sqlite3)
        )
        yield Ways(index, by_apsw, by_sqlite3)
        by_apsw.close()
        by_sqlite3.close()


def connected(library, kind, folder, index):
    """A connection of one of the libraries that gives the same answers as an index."""
    path = index.path
    if kind == "uncommitted":
        path = str(folder / library.__name__)
        docindex.open(path, recipe=RECIPE).close()
    elif library is sqlite3 and kind != "given":  # in one process, two libraries cannot use one file
        path = str(folder / "copy")
        index.backup(path)
    connection = library.Connection(":memory:" if kind in ("given", "attached") else path)
    if kind == "attached":
        connection.execute("create temp table docindex_document (other)")  # a table of the host
        connection.execute("create table docindex_content (other)")
        connection.execute('attach ? as "an \'odd""name"', (path,))
    docindex.register(connection, index if kind == "given" else None)
    if kind == "uncommitted":
        connection.execute("begin")
        for item in TEXTS.items():
            connection.execute("select doc_put(?, ?)", item).fetchall()
    return connection


def measures(found):
    return {name: getattr(found, name) for name in MEASURES}


def plain(query):
    """A query without its class of docindex, which a connection could not bind."""
    return int(query) if isinstance(query, Id) else str(query)


def kept(ways):
    return ways.index.text("000") is not None


def test_resemblance_and_containment_of_texts_and_documents(ways):
    for a in KEYS:
        for b in KEYS:
            found = ways.index.measures(Id(ways.id(a)), Id(ways.id(b)))
            whole = ways.index.compare(a, b)
            assert (found.resemblance, found.containment) == (whole.resemblance, whole.containment)
            pair = (ways.id(a), ways.id(b))
            assert ways.scalar("select doc_resemblance(?, ?)", *pair) == found.resemblance
            assert ways.scalar("select doc_containment(?, ?)", *pair) == found.containment
            assert ways.scalar("select doc_basis(?, ?)", *pair) == found.basis
        for query in QUERIES:
            found = ways.index.compare(Text(query), a)
            assert ways.scalar("select doc_containment(?, ?)", query, ways.id(a)) == found.containment
            assert ways.scalar("select doc_resemblance(?, ?)", ways.id(a), query) == found.resemblance
    for query in QUERIES:
        found = ways.index.compare(Text(QUERIES[0]), Text(query))
        assert ways.scalar("select doc_containment(?, ?)", QUERIES[0], query) == found.containment


def test_sketches_of_texts_and_documents(ways):
    for key in KEYS:
        number, text = ways.id(key), TEXTS[key]
        sketch = docindex.sketch(text, RECIPE)
        simhash = sketch.simhash - (1 << 64) * (sketch.simhash >> 63)
        features = sketch.features.view(np.int64).tolist()
        for what in (number, text):
            assert ways.scalar("select doc_simhash(?)", what) == simhash
            assert ways.scalar("select doc_sketch(?)", what) == sketch.slots.astype("<u2").tobytes()
            assert json.loads(ways.scalar("select doc_features(?)", what)) == features
        other = docindex.sketch(QUERIES[0], RECIPE)
        estimate = float(np.mean(sketch.slots == other.slots))
        sql = "select doc_sketch_resemblance(doc_sketch(?), doc_sketch(?))"
        assert ways.scalar(sql, number, QUERIES[0]) == pytest.approx(estimate)
        sql = "select doc_distance(doc_simhash(?), doc_simhash(?))"
        assert ways.scalar(sql, number, QUERIES[0]) == docindex.distance(sketch.simhash, other.simhash)


def test_search(ways):
    for query in QUERIES:
        for arguments, options in [
            ((), {}),
            ((12,), {"window": 12}),
            ((None, 3), {"budget": 3}),
            ((None, None, 0.3), {"min_containment": 0.3}),
            ((12, None, None, None, None, None, 4), {"window": 12, "limit": 4}),
            ((None, None, None, None, 0.05, 2, 9, "key < '03'"),
             {"min_shared": 2, "min_resemblance": 0.05, "limit": 9, "where": "key < '03'"}),
            ((None, None, None, 0.3, None, None, None, None, "excerpt", 2, 1, 0),
             {"min_reverse_containment": 0.3, "rank": "excerpt", "ignore_above": 2, "exact": True,
              "boilerplate": False}),
        ]:  # fmt: skip
            expected = [
                {"key": match.key, "id": match.id, "score": match.score, **measures(match)}
                for match in ways.index.search(Text(query), **options)
            ]
            assert ways.rows("doc_search", query, *arguments) == expected
    by_id = ways.rows("doc_search", ways.id("003"))
    assert [row["key"] for row in by_id] == [m.key for m in ways.index.search("003")]


def test_similar(ways):
    for query in [*(Id(ways.id(key)) for key in KEYS), *map(Text, QUERIES[:2])]:
        for least in (0.8, 0.2):
            found = ways.rows("doc_similar", plain(query), least)
            expected = ways.index.similar(query, least)
            assert found == [{"key": match.key, "id": match.id, **measures(match)} for match in expected]
            assert found == ways.rows("doc_similar", plain(query)) or least != 0.8


def test_options_in_json(ways):
    options = {"min_resemblance": 0.2, "where": "key like 'main.%' or key < '02'", "boilerplate": False}
    expected = [match.key for match in ways.index.similar("007", **options)]
    assert len(expected) > 1
    found = json.loads(ways.scalar("select doc_similar_json(doc_key('007'), ?)", json.dumps(options)))
    assert [row["key"] for row in found] == expected
    by_name = "select key from doc_similar(doc_key('007'), 0.2) where \"where\" = ? and boilerplate = 0"
    assert [key for (key,) in ways.by_apsw.execute(by_name, (options["where"],))] == expected
    found = json.loads(ways.scalar("select doc_pairs_json(?)", '{"min_resemblance": 0.4, "method": "slots"}'))
    expected = ways.index.pairs(min_resemblance=0.4, method="slots")
    assert [(row["a"], row["b"], row["basis"]) for row in found] == [(p.a, p.b, p.basis) for p in expected]


def test_every_question_takes_a_condition(ways):
    where = "key < '03' and meta is null"
    for name, expected, arguments in [
        ("doc_near", ways.index.near("007", 30, where=where), (ways.id("007"), 30, where)),
        ("doc_pairs", ways.index.pairs(min_resemblance=0.1, where=where), (0.1, None, where)),
        ("doc_containments", ways.index.containments(0.3, where=where), (0.3, where)),
    ]:
        first = COLUMNS[name][0]
        found = [row[first] for row in ways.rows(name, *arguments)]
        assert found == [getattr(row, first) for row in expected]
        assert found
    clusters = ways.index.clusters(0.3, where=where, ignore_above=20, boilerplate=False)
    found = ways.rows("doc_clusters", 0.3, None, where, 20, None, 0)
    assert [row["key"] for row in found] == [key for cluster in clusters for key in cluster.keys]


def test_near(ways):
    for query in [*(Id(ways.id(key)) for key in KEYS), *map(Text, QUERIES[:2])]:
        for distance in (5, 20):
            expected = ways.index.near(query, distance)
            found = ways.rows("doc_near", plain(query), distance)
            assert [tuple(row.values()) for row in found] == [(n.key, n.id, n.distance) for n in expected]
            assert found == ways.rows("doc_near", plain(query)) or distance != 5


def test_passages(ways):
    if not kept(ways):
        with pytest.raises(docindex.TextNotKept, match=r"^doc_passages: the text of document \d+ \('00"):
            ways.rows("doc_passages", ways.id("000"), ways.id("007"))
        return
    for a, b in [("003", "007"), ("000", "000"), ("empty", "000")]:
        for min_length, boilerplate, arguments in itertools.product(
            (None, 1, 20),
            (None, 0),
            [(ways.id(a), ways.id(b)), (TEXTS[a], ways.id(b)), (TEXTS[a], TEXTS[b])],
        ):
            expected = ways.index.compare(
                a, b, min_length=min_length, boilerplate=boilerplate is None
            ).passages
            found = ways.rows("doc_passages", *arguments, min_length, boilerplate)
            assert [tuple(row.values()) for row in found] == [
                (p.query_start, p.query_end, p.start, p.end, p.length, p.identical, p.query_line, p.line,
                 p.query_place, p.place, p.boilerplate, TEXTS[a][p.query_start : p.query_end])
                for p in expected
            ]  # fmt: skip
    marked = [row["is_boilerplate"] for row in ways.rows("doc_passages", ways.id("003"), ways.id("003"))]
    assert marked == [0]
    if len(ways.index.boilerplate):
        (template,) = ways.index.boilerplate
        (row,) = ways.rows("doc_passages", template.text, ways.id("003"))
        assert (row["is_boilerplate"], type(row["is_boilerplate"])) == (1, int)
        (row,) = ways.rows("doc_passages", template.text, ways.id("003"), None, "[]")
        assert row["is_boilerplate"] == 0


def test_regions(ways):
    if not kept(ways):
        with pytest.raises(docindex.TextNotKept, match=r"^doc_regions: the text of document \d+ \('00"):
            ways.rows("doc_regions", ways.id("000"), ways.id("007"))
        return
    for a, b, arguments in [
        (reworded.A, reworded.B, (reworded.A, reworded.B)),
        ("003", "007", (ways.id("003"), ways.id("007"))),
        ("000", "000", (ways.id("000"), TEXTS["000"], 0)),
    ]:
        expected = ways.index.compare(a, b, boilerplate=len(arguments) == 2).regions
        assert ways.rows("doc_regions", *arguments) == [
            {**dataclasses.asdict(region), "text": TEXTS.get(a, a)[region.query_start : region.query_end]}
            for region in expected
        ]
        assert expected or a != reworded.A


def test_pairs_and_clusters(ways):
    for least in (0.3, 0.8):
        expected = ways.index.pairs(min_resemblance=least)
        assert ways.rows("doc_pairs", least) == [
            {"a": p.a, "b": p.b, "a_id": ways.id(p.a), "b_id": ways.id(p.b), **measures(p)} for p in expected
        ]
        expected = ways.index.pairs(min_containment=least)
        assert [(row["a"], row["b"]) for row in ways.rows("doc_pairs", None, least)] == [
            (p.a, p.b) for p in expected
        ]
        expected = ways.index.containments(least)
        assert ways.rows("doc_containments", least) == [
            {"a": p.a, "b": p.b, "a_id": ways.id(p.a), "b_id": ways.id(p.b), **measures(p)} for p in expected
        ]
        clusters = ways.index.clusters(least)
        assert [tuple(row.values()) for row in ways.rows("doc_clusters", least)] == [
            (
                number,
                member.key,
                ways.id(member.key),
                member.why,
                member.like,
                member.like and ways.id(member.like),
                member.resemblance,
            )
            for number, cluster in enumerate(clusters, 1)
            for member in cluster.members
        ]
    assert ways.rows("doc_pairs") == ways.rows("doc_pairs", 0.5)
    assert ways.rows("doc_clusters") == ways.rows("doc_clusters", 0.8)


def test_fingerprints(ways):
    expected = docindex.fingerprints(TEXTS["007"], RECIPE)
    found = ways.rows("doc_fingerprints", TEXTS["007"])
    assert [(row["hash"] << 16, row["position"], row["offset"]) for row in found] == [
        (hash_ >> 16 << 16, position, offset)
        for hash_, position, offset in zip(
            expected.hashes.tolist(), expected.positions.tolist(), expected.offsets.tolist(), strict=True
        )
    ]
    if kept(ways):
        assert ways.rows("doc_fingerprints", ways.id("007")) == found


def test_the_shingles_that_all_texts_share(ways):
    some = [TEXTS["003"], TEXTS["007"], TEXTS["003"]]
    for pair in [some[:2], some[1:]]:
        sql = "select doc_common(value) from json_each(?)"
        resemblance = ways.index.measures(*map(Text, pair)).resemblance
        assert ways.scalar(sql, json.dumps(pair)) == resemblance
    with open_scope(ways.index) as scope:
        sets = [set(scope.shingles_of(text).tolist()) for text in some]
    shared = len(set.intersection(*sets)) / len(set.union(*sets))
    assert ways.scalar("select doc_common(value) from json_each(?)", json.dumps(some)) == shared
    assert ways.scalar("select doc_common(value) from json_each('[]')") is None
    assert ways.scalar("select doc_common(value) from json_each('[null]')") is None


def test_texts_that_are_all_boilerplate_share_everything_only_if_they_are_alike():
    with docindex.open(":memory:") as index:
        for template in ("to be or not to be", "all the world is a stage"):
            index.boilerplate.add(template)
        for other in ("To be, or not to be!", "all the world is a stage"):
            texts = ["to be or not to be", other]
            ((shared,),) = index.execute("select doc_common(value) from json_each(?)", [json.dumps(texts)])
            assert [(shared,)] == index.execute("select doc_resemblance(?, ?)", texts)


def test_the_union_of_sketches_is_the_sketch_of_the_union(ways):
    union = "select doc_sketch_union(doc_sketch(value)) from json_each(?)"
    texts = ["a b c d", "c d e f"]
    assert ways.scalar(union, json.dumps(texts)) == (
        np.minimum(*(docindex.sketch(text, RECIPE).slots for text in texts)).astype("<u2").tobytes()
    )
    assert ways.scalar(union, "[]") is None
    one = ways.scalar("select doc_sketch(?)", texts[0])
    assert ways.scalar("select doc_sketch_resemblance(?, ?)", ways.scalar(union, '["a b c d"]'), one) == 1


def test_numbers_of_the_papers(ways):
    assert ways.scalar("select doc_filter(6, 14, 2, 0.909)") == pytest.approx(0.5, abs=0.01)
    assert ways.scalar("select doc_density(26)") == 2 / 27
    assert ways.scalar("select doc_version()") == docindex.__version__
    assert ways.scalar("select doc_canonical(?)", "Ada's  Éclair, 2 ﬁelds!") == "ada s eclair 2 fields"
