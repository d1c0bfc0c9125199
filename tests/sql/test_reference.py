"""The SQL reference in the docstring of `docindex.sql` names every function, table, column and parameter."""

import ast
import dataclasses
import inspect
import re
import sqlite3

import apsw
import pytest

import docindex
import docindex.sql
from docindex.sql.table_functions import PYTHON_NAMES, TABLES

REFERENCE = docindex.sql.__doc__

# The parameters of a table function are hidden columns of its table.
MEASURES = " ".join(field.name for field in dataclasses.fields(docindex.Measures))
TABLE_COLUMNS = {
    "doc_search": (
        f"key id score {MEASURES}",
        "query window budget min_containment min_reverse_containment min_resemblance min_shared limit where "
        "rank ignore_above exact boilerplate schema",
    ),
    "doc_similar": (f"key id {MEASURES}", "query min_resemblance limit where method boilerplate schema"),
    "doc_sources": (
        "key id added covered added_symbols basis uncovered stretches copies",
        "query limit min_share where boilerplate schema",
    ),
    "doc_near": ("key id distance", "query max_distance where schema"),
    "doc_passages": (
        "query_start query_end start end length identical query_line line query_place place is_boilerplate "
        "text",
        "a b min_length boilerplate join schema",
    ),
    "doc_regions": (
        "query_start query_end start end kind score sentences shared_words query_line line query_place place "
        "text",
        "a b boilerplate schema",
    ),
    "doc_pairs": (
        f"a b a_id b_id {MEASURES}",
        "min_resemblance min_containment where ignore_above method boilerplate min_shared between rank "
        "schema",
    ),
    "doc_containments": (
        f"a b a_id b_id {MEASURES}",
        "min_containment where ignore_above method boilerplate schema",
    ),
    "doc_clusters": (
        "cluster key id why like like_id resemblance",
        "min_resemblance linkage where ignore_above method boilerplate schema",
    ),
    "doc_fingerprints": ("hash position offset line column", "query schema"),
    "fingerprint_list": ("document position hash", "schema"),
    "doc_index": ("key id text meta added_at", ""),
}
SCALARS = {
    "doc_resemblance": "(a, b) [schema]",
    "doc_containment": "(a, b) [schema]",
    "doc_basis": "(a, b) [schema]",
    "doc_simhash": "(query) [schema]",
    "doc_distance": "(x, y)",
    "doc_sketch": "(query) [schema]",
    "doc_sketch_resemblance": "(x, y)",
    "doc_features": "(query) [schema]",
    "doc_canonical": "(query) [schema]",
    "doc_key": "(key) [schema]",
    "doc_literal": "(text)",
    "doc_text": "(id) [schema]",
    "doc_snippet": "(id, query, open, close, ellipsis, symbols) [schema]",
    "doc_highlight": "(id, query, open, close) [schema]",
    "doc_filter": "(k, s, r, x)",
    "doc_density": "(window)",
    "doc_version": "()",
    "doc_put": "(key, text, meta) [schema]",
    "doc_remove": "(key) [schema]",
    "doc_flush": "() [schema]",
    "doc_common": "(query)",
    "doc_group": "(key, text, min_resemblance)",
    "doc_sketch_union": "(sketch)",
}
FUNCTIONS = "select distinct name, narg from pragma_function_list where name like 'doc\\_%' escape '\\'"


@pytest.fixture
def db(tmp_path):
    docindex.open(tmp_path / "index").close()
    connection = apsw.Connection(str(tmp_path / "index"))
    docindex.register(connection)
    yield connection
    connection.close()


def entries(section):
    """The entries in a section of the reference: a name, its parameters, and the line after them.

    A line that ends with a comma goes on.
    """
    text = re.split(r"\n\n\n", REFERENCE.partition(f"\n{section}\n=")[2])[0]
    found = re.findall(r"^(\w+)(\([^()]*\).*|)\n    (.*(?:(?<=,)\n    .*)*)", text, re.MULTILINE)
    return [(name, call, " ".join(line.split())) for name, call, line in found]


def test_each_table_has_these_columns_and_hidden_columns(db):
    modules = {name for (name,) in db.execute("select name from pragma_module_list")}
    assert {name for name in modules if name.startswith(("doc", "fingerprint"))} == set(TABLE_COLUMNS)
    for table, names in TABLE_COLUMNS.items():
        found = db.execute("select hidden, name from pragma_table_xinfo(?)", (table,)).fetchall()
        columns, hidden = (" ".join(name for flag, name in found if flag == kind) for kind in (0, 1))
        assert (columns, hidden) == names, table


def test_the_reference_has_every_table_with_its_columns():
    found = {
        name: columns.replace("[measures]", MEASURES.replace(" ", ", "))
        for section in ("Table functions", "Tables")
        for name, _, columns in entries(section)
        if name in TABLE_COLUMNS
    }
    assert found == {table: columns.replace(" ", ", ") for table, (columns, _) in TABLE_COLUMNS.items()}


def signature(table):
    """The parameters of the Python method that a table function asks, with their names in SQL."""
    names = {python: sql for sql, python in PYTHON_NAMES.items()}
    found = inspect.signature(table.asks).parameters
    return {names.get(name, name): parameter for name, parameter in found.items() if name != "self"}


def test_a_table_function_has_the_parameters_of_the_python_method_in_their_order():
    for table in TABLES:
        # SQL has a limit of its own.
        left_out = {
            "doc_fingerprints": {"recipe"},
            "doc_pairs": {"limit"},
            "doc_containments": {"limit"},
            "doc_regions": {"min_length", "join"},  # they make no difference to regions
        }.get(table.name, set())
        names = [{"text": "query"}.get(name, name) for name in signature(table) if name not in left_out]
        assert list(table.parameters) == names


def test_the_reference_has_the_parameters_of_every_table_function_with_their_defaults():
    found = {name: call for name, call, _ in entries("Table functions") if name in TABLE_COLUMNS}
    assert found.keys() == {table.name for table in TABLES}
    for table in TABLES:
        parts = re.split(r",\s+", found[table.name][1:-1])
        for number, (parameter, written) in enumerate(zip(table.parameters, parts, strict=True)):
            if number < table.required:
                assert written == f"{parameter}*"
            else:
                name, _, value = written.partition("=")
                assert name == parameter
                default = signature(table)[name].default
                assert (None if value == "NULL" else ast.literal_eval(value)) == default


def test_the_reference_has_every_function_with_its_arguments(db):
    described = {
        name: call for section in ("Scalar functions", "Aggregates") for name, call, _ in entries(section)
    }
    assert described == SCALARS | {"doc_error": "()"}
    expected = {(f"{table.name}_json", -1) for table in TABLES}
    for name, call in SCALARS.items():
        count = len(re.findall(r"\w+", call.partition(")")[0]))
        expected |= {(name, count)} | ({(name, count + 1)} if "schema" in call else set())
    expected.add(("doc_put", 2))  # without meta
    expected |= {("doc_snippet", count) for count in range(2, 6)}
    expected.add(("doc_group", 2))
    expected |= {("doc_highlight", count) for count in (2, 3)}
    assert set(db.execute(FUNCTIONS)) == expected
    connection = sqlite3.connect(":memory:")
    docindex.register(connection)
    assert set(connection.execute(FUNCTIONS)) == expected | {("doc_error", 0)}
    connection.close()


def test_the_reference_names_every_json_function():
    for table in TABLES:
        assert f"`{table.name}_json`" in REFERENCE
