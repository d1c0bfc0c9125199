"""Where the caller gives no limit or threshold, Python, SQL and the commands take the same one."""

import inspect
import json
import sqlite3

import apsw
import click
import pytest

import docindex
from docindex import Id
from docindex.cli.command_list import docindex as program
from docindex.sql.table_functions import TABLES
from tests.query import reworded
from tests.query.corpus import RECIPE

COMMON = "all of these documents have these words in common, and each of them has one word of its own"
NEAR_MISS = "some of the words that all of these documents have in common stand here in another order"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with docindex.open(tmp_path_factory.mktemp("defaults") / "index", recipe=RECIPE) as index:
        index.add("reworded", f"{COMMON}. {reworded.A}")
        index.add("original", f"{COMMON}. {reworded.B}")
        index.add_many(
            (f"{n:02}", f"{COMMON}: {'x' * (n + 1)} " + " ".join("ab"[n % 2] * 9)) for n in range(30)
        )
        index.add("half", f"{COMMON} {NEAR_MISS}")
        index.add("part", COMMON)
        yield index


def asked_about(table):
    """The ids of documents that a question is about."""
    return [1, 2] if table.name == "doc_regions" else [3, 4][: table.required]


def answers_of_python(index, table):
    """The rows of a method that is called without any optional argument."""
    found = table.asks(index, *map(Id, asked_about(table)))
    if table.name == "doc_clusters":
        return [member.key for cluster in found for member in cluster.members]
    if table.name == "doc_passages":
        return [(passage.start, passage.end) for passage in found.passages]
    if table.name == "doc_regions":
        return [(region.start, region.end) for region in found.regions]
    return [(row.a, row.b) if table.name in ("doc_pairs", "doc_containments") else row.key for row in found]


def answers_of_sql(table, rows):
    ranges = ("start", "end")
    names = {
        "doc_passages": ranges,
        "doc_regions": ranges,
        "doc_pairs": ("a", "b"),
        "doc_containments": ("a", "b"),
    }
    columns = names.get(table.name, ("key",))
    found = [tuple(row[name] for name in columns) for row in rows]
    return found if len(columns) > 1 else [key for (key,) in found]


@pytest.mark.parametrize("table", [t for t in TABLES if t.name != "doc_fingerprints"], ids=lambda t: t.name)
def test_every_question_has_the_same_defaults_in_python_and_in_sql(index, table):
    expected = answers_of_python(index, table)
    arguments = ", ".join(map(str, asked_about(table)))
    for library in (apsw, sqlite3):
        connection = library.Connection(index.path)
        docindex.register(connection)
        ((rows,),) = connection.execute(f"select {table.name}_json({arguments})").fetchall()
        assert answers_of_sql(table, json.loads(rows)) == expected
        connection.close()
    found = index.execute(f"select * from {table.name}({arguments})")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found]
    assert answers_of_sql(table, rows) == expected
    assert expected


DIFFERENT = {
    ("pairs", "limit"),  # in Python a caller takes as many as he likes
    ("pairs", "ignore_above"),
    ("pairs", "min_resemblance"),  # None, so that --min-containment can be given instead
    ("search", "min_resemblance"),
    ("pairs", "boilerplate"),  # the command takes files of template code
}


@pytest.mark.parametrize("name", ["search", "similar", "pairs"])
def test_the_commands_have_the_same_defaults(name):
    command = program.get_command(click.Context(program), name)
    context = click.Context(command)
    options = [option for option in command.params if isinstance(option, click.Option)]
    given = {option.name: option.get_default(context) for option in options}
    defaults = {
        name: value if isinstance(value, (int, float, str)) else None for name, value in given.items()
    }
    method = inspect.signature(getattr(docindex.Index, name)).parameters
    both = {(name, option) for option in defaults if option in method} - DIFFERENT
    assert both
    for _, option in both:
        assert defaults[option] == method[option].default, option


def test_the_limit_of_a_statement_replaces_that_of_a_search(index):
    documents = len(index)

    def count(rest, columns="key"):
        return len(index.execute(f"select {columns} from doc_search(?1) {rest}", [COMMON]))

    assert count("") == count("order by score desc") == 20
    assert index.execute("select count(*) from doc_search(?)", [COMMON]) == [(20,)]
    assert count("limit 25") == count("order by score desc limit 25") == 25
    assert count("limit 5") == 5
    assert count("limit 40") == count("limit -1") == count('where "limit" = -1') == documents
    assert count("limit 25 offset 3") == 25
    assert count("limit 100 offset 3") == documents - 3
    assert count('where "limit" = 3') == count('where "limit" = 3 limit 5') == 3
    assert count('where "limit" = 5 limit 3') == count('where "limit" = -1 limit 3') == 3
    with pytest.raises(ValueError, match="limit must be a whole number of 1 or more"):
        count('where "limit" = 0')


@pytest.mark.parametrize(
    "rest",
    [
        *("where containment > 0", "where key < 'z'", "where key like '%'", "order by key", "order by score"),
        *(
            "as s join docindex_document as d on d.id = s.id",
            "as s join docindex_document as d on d.id = s.id limit 100",
        ),
        "order by containment desc limit 100",
    ],
)
def test_a_statement_that_selects_or_sorts_gets_all_answers_of_a_search(index, rest):
    assert len(index.execute(f"select 1 from doc_search(?) {rest}", [COMMON])) == len(index)
