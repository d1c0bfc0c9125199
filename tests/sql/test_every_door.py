"""One statement, one answer: on apsw and sqlite3, by execute and the command, in Datasette and sqlite-utils.

Tables are compared with the JSON functions that take their place where there are no virtual tables.
"""

import asyncio
import contextlib
import io
import json
import sqlite3

import apsw
import pytest
import sqlite_utils
from datasette.app import Datasette

import docindex
from docindex.cli import main
from docindex.sql.table_functions import TABLES
from tests.query import reworded
from tests.sql import readme_statements

TEXT = "It is a truth universally acknowledged, that a single man in possession of a good fortune"
OTHER = "must be in want of a wife, however little known the feelings or views of such a man may be"
SUSPECT = "They say it is a truth, universally acknowledged, that a single man in possession of much, too"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("doors") / "essays.db")
    with docindex.open(path) as index:
        index.add("ada.txt", TEXT, meta={"by": "Ada"})
        index.add_many([("bob.txt", f"{TEXT} {OTHER}"), ("copy.txt", TEXT.upper())])
        index.add("not kept", f"{OTHER} {TEXT}", store_text=False)
        index.boilerplate.add("however little known the feelings or views of such a man", name="line")
    return path


def by_library(library):
    def ask(path, sql, values):
        connection = library.Connection(path)
        docindex.register(connection)
        with contextlib.closing(connection):
            return [tuple(row) for row in connection.execute(sql, values)]

    return ask


def by_execute(path, sql, values):
    with docindex.open(path, readonly=True) as index:
        return list(index.execute(sql, values))


def by_command(path, sql, values):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(["sql", "--json", path, sql, *values])
    return [tuple(row.values()) for row in json.loads(out.getvalue())]


def by_datasette(path, sql, values):
    for number, _ in enumerate(values):
        sql = sql.replace("?", f":v{number}", 1)
    bindings = {f"v{number}": value for number, value in enumerate(values)}

    async def fetched():
        client = Datasette([path]).client
        return await client.get("/essays.json", params={"sql": sql, "_shape": "arrays", **bindings})

    answer = asyncio.run(fetched()).json()
    assert answer["ok"], answer
    return [tuple(row) for row in answer["rows"]]


def by_sqlite_utils(path, sql, values):
    database = sqlite_utils.Database(path)
    with contextlib.closing(database.conn):
        return [tuple(row) for row in database.execute(sql, values)]


DOORS = {
    "sqlite3": by_library(sqlite3),
    "execute": by_execute,
    "command": by_command,
    "Datasette": by_datasette,
    "sqlite-utils": by_sqlite_utils,
}

STATEMENTS = [
    (
        "select key, round(doc_resemblance(id, ?), 3), doc_basis(id, 1) from docindex_document order by key",
        [SUSPECT],
    ),
    ("select doc_containment(doc_key('ada.txt'), doc_key('bob.txt')), doc_simhash(?)", [TEXT]),
    ("select doc_resemblance(doc_literal('ada.txt'), ?), doc_key('not kept')", ["Ada, txt"]),
    ("select key, doc_snippet(id, ?, '<b>', '</b>', '~', 50) from docindex_document order by key", [SUSPECT]),
    ("select key, doc_highlight(id, ?), doc_text(id) from docindex_document order by key", [SUSPECT]),
    ("select doc_distance(doc_simhash(1), doc_simhash(2)), doc_features(1), doc_canonical(3)", []),
    ("select doc_sketch_resemblance(doc_sketch(1), doc_sketch(2)), doc_filter(6, 14, 2, 0.95)", []),
    ("select doc_common(id) from docindex_document where id < 4", []),
    ("select doc_group(id, doc_text(id), 0.3) from docindex_document", []),
    (
        "select value ->> 'key', value ->> 'id', value ->> 'containment' from json_each(doc_search_json(?)) "
        "where value ->> 'containment' > 0.1",
        [SUSPECT],
    ),
    (
        "select p.value ->> 'a', p.value ->> 'b', s.value ->> 'text' "
        "from json_each(doc_pairs_json(0.3)) as p, "
        "json_each(doc_passages_json(p.value ->> 'a_id', p.value ->> 'b_id')) as s "
        "where 'not kept' not in (p.value ->> 'a', p.value ->> 'b') order by 1, 2, 3",
        [],
    ),
    ("select doc_regions_json(?, ?)", [reworded.A, reworded.B]),
    *[
        (f"select {table.name}_json({', '.join(['1', '2'][: table.required])})", [])
        for table in TABLES
        if table.name not in ("doc_passages", "doc_regions")
    ],
]


@pytest.mark.parametrize("door", DOORS)
def test_every_statement_gives_the_rows_that_it_gives_on_apsw(door, path):
    on_apsw, ask = by_library(apsw), DOORS[door]
    for sql, values in STATEMENTS:
        expected = on_apsw(path, sql, values)
        assert ask(path, sql, values) == expected, sql
        assert expected
        assert any(value not in (None, "[]") for row in expected for value in row), sql


@pytest.mark.parametrize("door", ["execute", "command"])
def test_tables_give_the_rows_of_the_json_functions(door, path):
    ask = DOORS[door]
    for table in TABLES:
        if table.name in ("doc_passages", "doc_regions"):
            continue
        arguments = ", ".join(["1", "2"][: table.required])
        columns = ", ".join(f'"{column}"' for column in table.columns)
        found = ask(path, f"select {columns} from {table.name}({arguments})", [])
        ((expected,),) = ask(path, f"select {table.name}_json({arguments})", [])
        assert found == [tuple(row.values()) for row in json.loads(expected)]


def test_the_readme_shows_statements_that_ask_in_each_way():
    shown = list(readme_statements.shown())
    for part in ("join docindex_document", "doc_pairs(", "resemblance >=", "distance <=", "ignore_above ="):
        assert any(part in sql for sql in shown), part


@pytest.mark.parametrize("sql", list(readme_statements.shown()))
def test_every_statement_of_the_readme_gives_one_answer_through_all_doors(sql, path):
    values = [TEXT] * sql.count("?")
    expected = by_library(apsw)(path, sql, values)
    assert expected
    for door in ("execute", "command"):
        assert DOORS[door](path, sql, values) == expected, door
    for door, ask in DOORS.items():
        assert ask(path, readme_statements.without_tables(sql), values) == expected, door
