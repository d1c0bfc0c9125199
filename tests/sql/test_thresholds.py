"""A condition on a result column is the threshold: statements give the rows that a plain table would give.

The plain tables hold the answers of Python with the widest thresholds.
"""

import random

import apsw
import pytest

import docindex
from docindex import Text
from docindex.sql.table_functions import ANY_SHARE, MEASURES, TABLES
from tests.query.corpus import RECIPE, corpus

TEXTS = corpus(11)
QUERY = TEXTS["003"] + " " + TEXTS["007"]
NUMBERS = {
    "doc_search": ("containment", "reverse_containment", "resemblance", "shared"),
    "doc_similar": ("containment", "reverse_containment", "resemblance", "shared"),
    "doc_near": ("distance",),
    "doc_pairs": ("containment", "reverse_containment", "resemblance", "shared"),
    "doc_containments": ("containment", "reverse_containment", "resemblance", "shared"),
}
ARGUMENTS = {"doc_search": "(?1)", "doc_similar": "(?1)", "doc_near": "(?1)"}
DEFAULTS = {
    "doc_similar": "resemblance >= 0.8",
    "doc_near": "distance <= 5",
    "doc_pairs": "resemblance >= 0.5",
    "doc_containments": "containment >= 0.8",
}


@pytest.fixture(scope="module", params=["kept", "not kept"])
def db(request):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(list(TEXTS.items()), workers=1, store_text=request.param == "kept")
        connection = apsw.Connection(":memory:")
        docindex.register(connection, index)
        tables = {
            "doc_search": index.search(Text(QUERY), limit=None),
            "doc_similar": index.similar(Text(QUERY), ANY_SHARE),
            "doc_near": index.near(Text(QUERY), 63),
            "doc_pairs": index.pairs(min_resemblance=ANY_SHARE),
            "doc_containments": index.containments(ANY_SHARE),
        }
        if request.param == "not kept":
            # Then the numbers of a pair are by slots or by fingerprints, as the threshold needs.
            del tables["doc_pairs"]
        for table, rows in tables.items():
            columns = names_of(table)
            connection.execute(f"create table plain_{table} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            values = [[getattr(row, name) for name in columns] for row in rows]
            connection.executemany(f"insert into plain_{table} values ({marks})", values)
        connection.execute("create table wish (least)")
        connection.execute("insert into wish values (0.3), (0.62), (null), ('0.4'), (-1), (7), (x'30')")
        yield connection
        connection.close()


def names_of(table):
    first = ("a", "b", "a_id", "b_id") if table in ("doc_pairs", "doc_containments") else ("key", "id")
    if table == "doc_near":
        return (*first, "distance")
    return (*first, "score", *MEASURES) if table == "doc_search" else (*first, *MEASURES)


def has_plain(db, table):
    return bool(db.execute("select 1 from sqlite_schema where name = ?", (f"plain_{table}",)).fetchall())


def answers(db, table, rest, before="", rows="t.*"):
    """The rows of a statement about a table function, and of the same statement about the plain table."""
    if not has_plain(db, table):
        pytest.skip("the numbers of its rows depend on the threshold")
    found = []
    for of in (table + ARGUMENTS.get(table, ""), f"plain_{table}"):
        sql = f"select {rows} from {before} {of} as t {rest}"
        found.append(sorted(db.execute(sql, (QUERY,) if "?1" in sql else ()), key=repr))
    return found


def comparison(rng, db, table):
    """A random condition that compares one of the numbers."""
    if not has_plain(db, table):
        pytest.skip("the numbers of its rows depend on the threshold")
    column = rng.choice(NUMBERS[table])
    ((known,),) = db.execute(f"select {column} from plain_{table} order by random() limit 1")
    some = [known, known, round(rng.random(), 2), rng.randint(0, 30), -1, 0, 0.0, 2, 1e300, -1e300]
    value = rng.choice([*map(repr, some), "'0.5'", "null", "x'30'", f"{known!r} + 0"])
    other = rng.choice(some[:3])
    return rng.choice(
        [
            *(f"{column} {sign} {value}" for sign in (">=", ">", "<=", "<", "=", "<>", "is")),
            f"{value} <= {column}",
            f"{column} between {value} and {other!r}",
            f"{column} in ({value}, {other!r})",
            f"{column} >= {value} and {column} > {other!r}",
            f"{column} > (select {value})",
        ]
    )


@pytest.mark.parametrize("table", NUMBERS)
@pytest.mark.parametrize("seed", range(30))
def test_a_statement_with_a_comparison_gives_the_rows_of_a_plain_table(db, table, seed):
    rng = random.Random(f"{table} {seed}")
    conditions = [comparison(rng, db, table) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        conditions.append(f"{names_of(table)[0]} > '00{rng.randint(0, 9)}'")
    tail = rng.choice(["", "", "order by 1, 2", f"order by t.{NUMBERS[table][0]} desc, 1, 2 limit 5"])
    found, expected = answers(db, table, f"where {' and '.join(conditions)} {tail}")
    assert found == expected, conditions


@pytest.mark.parametrize("table", NUMBERS)
def test_a_limit_can_come_from_another_table_in_any_order_of_the_join(db, table):
    sign = "<=" if table == "doc_near" else ">="
    for column in NUMBERS[table]:
        for rest in [
            f"where t.{column} {sign} wish.least",
            f"where t.{column} > (select min(least) from wish)",
        ]:
            for before in ("wish,", "wish cross join"):
                found, expected = answers(db, table, rest, before, "*")
                assert found == expected, (rest, before)
        rest = f"left join wish on t.{column} = least where t.{column} {sign} 0.3"
        found, expected = answers(db, table, rest)
        assert found == expected
        found, expected = answers(db, table, f"on t.{column} {sign} wish.least", "wish left join", "*")
        assert found == expected


@pytest.mark.parametrize("table", DEFAULTS)
def test_without_a_comparison_the_default_is_the_threshold(db, table):
    first = names_of(table)[0]
    default = DEFAULTS[table]
    if not has_plain(db, table):
        pytest.skip("the numbers of its rows depend on the threshold")
    ((everything,),) = db.execute(f"select count(*) from plain_{table}")
    for condition in ["1", f"{first} > '005'", f"{first} <> 'x'"]:
        found = answers(db, table, f"where {condition}")[0]
        assert found == answers(db, table, f"where {condition} and {default}")[1]
        assert len(found) < everything


@pytest.mark.parametrize("table", DEFAULTS)
def test_an_or_selects_from_the_rows_of_the_default_or_of_an_argument(db, table):
    number, first = NUMBERS[table][0], names_of(table)[0]
    for either in [f"{number} >= 0 or {number} < 0", f"{number} > 0.1 or {first} = '003'"]:
        found, expected = answers(db, table, f"where ({either}) and {first} > '001'")
        kept = answers(db, table, f"where ({either}) and {first} > '001' and {DEFAULTS[table]}")[1]
        assert found == kept != expected
    if table == "doc_pairs":
        found = db.execute("select * from doc_pairs(0.1) where resemblance >= 0.3 or shared > 9").fetchall()
        wanted = "resemblance >= 0.1 and (resemblance >= 0.3 or shared > 9)"
        assert sorted(found) == sorted(db.execute(f"select * from plain_doc_pairs where {wanted}"))


def test_an_argument_is_the_threshold_and_conditions_select_from_its_rows(db):
    for call, condition, plain in [
        ("doc_similar(?1, 0.5)", "resemblance >= 0.2", "resemblance >= 0.5"),
        ("doc_similar(?1, 0.2)", "resemblance >= 0.5", "resemblance >= 0.5"),
        ("doc_similar(?1, 0.5)", "containment < 0.9", "resemblance >= 0.5 and containment < 0.9"),
        ("doc_near(?1, 20)", "distance <= 25", "distance <= 20"),
        ("doc_near(?1, 30)", "distance < 25.5", "distance <= 25"),
        ("doc_near(?1, 30)", "distance < 0", "0"),
        ("doc_search(?1, null, null, 0.3)", "containment >= 0.1", "containment >= 0.3"),
        ("doc_pairs(0.4)", "resemblance >= 0.2 and a < '02'", "resemblance >= 0.4 and a < '02'"),
        ("doc_pairs(0.4)", "containment >= 0.9", "resemblance >= 0.4 and containment >= 0.9"),
        (
            "doc_pairs(null, 0.4)",
            "resemblance >= 0.1",
            "max(containment, reverse_containment) >= 0.4 and resemblance >= 0.1",
        ),
        ("doc_containments(0.4)", "containment > 0.2", "containment >= 0.4"),
    ]:
        table = call.partition("(")[0]
        if not has_plain(db, table):
            continue
        bindings = (QUERY,) if "?1" in call else ()
        found = db.execute(f"select * from {call} where {condition}", bindings).fetchall()
        expected = db.execute(f"select * from plain_{table} where {plain}").fetchall()
        assert sorted(found, key=repr) == sorted(expected, key=repr), call


def test_clusters_are_those_of_the_argument_the_limit_or_the_default(db):
    of_call = "select * from doc_clusters({}) where {}"

    def clusters(threshold, condition="1"):
        return db.execute(of_call.format(threshold, condition)).fetchall()

    different = [clusters(threshold) for threshold in (0.2, 0.5, 0.8)]
    assert len({str(rows) for rows in different}) == 3
    assert clusters("", "resemblance >= 0.2") == clusters(0.2)
    assert clusters("", "resemblance < 0.9") == [row for row in clusters(0.8) if row[-1] < 0.9]
    assert clusters(0.2, "resemblance >= 0.5") == [row for row in clusters(0.2) if row[-1] >= 0.5]
    joined = "select t.* from doc_clusters t join (values (0.2)) v on t.resemblance >= v.column1"
    assert db.execute(joined).fetchall() == clusters(0.2)


@pytest.mark.parametrize(
    ("arguments", "condition", "lengths"),
    [
        ("?1, ?2", "1", [13, 40]),  # the guarantee of the recipe is 13
        ("?1, ?2", "length >= 12", [12, 13, 40]),
        ("?1, ?2", "length < 13", [12]),
        ("?1, ?2", "length > 12.5", [13, 40]),
        ("?1, ?2", "length >= 41", []),
        ("?1, ?2, 1", "1", [12, 13, 40]),
        ("?1, ?2, 13", "length >= 12", [13, 40]),
        ("?1, ?2, 12", "length > 13", [40]),
    ],
)
def test_the_limit_of_a_length_is_the_minimum_length_of_passages(arguments, condition, lengths):
    runs = "abcdefghijkl", "mnopqrstuvwxy", "thequickbrownfoxjumpsoverthelazydogsback"
    texts = [
        " ".join(f"{mark} {run}" for run, mark in zip(runs, marks, strict=True)) for marks in ("123", "456")
    ]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        sql = f"select length from doc_passages({arguments}) where {condition} order by length"
        assert index.execute(sql, texts) == [(length,) for length in lengths]


def test_pairs_are_joined_by_the_measure_that_has_the_limit():
    (pairs,) = [table for table in TABLES if table.name == "doc_pairs"]
    for given, threshold in [
        ({"containment>=": 0.5}, {"min_containment": 0.5}),
        ({"reverse_containment>=": 0.5}, {"min_containment": 0.5}),
        ({"containment>=": 0.5, "resemblance>=": 0.3}, {"min_resemblance": 0.3}),
        ({"min_containment": 0.2, "resemblance>=": 0.3}, {}),
        ({"resemblance>=": "0.3"}, {"min_resemblance": ANY_SHARE}),
        ({"resemblance>=": 7}, {"min_resemblance": 1.0}),
        ({}, {"min_resemblance": ANY_SHARE}),
    ]:
        assert pairs.thresholds(given, compared=True) == threshold
    assert pairs.thresholds({}, compared=False) == {}
