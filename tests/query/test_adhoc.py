"""A statement that a caller passes to `execute` can read the index, and can never write to it."""

import re

import pytest

import docindex


@pytest.fixture(params=["memory", "file", "readonly"])
def index(request, tmp_path):
    path = ":memory:" if request.param == "memory" else tmp_path / "index"
    opened = docindex.open(path)
    opened.add_many([("a", "one text", {"by": "Ada"}), ("b", "another text", None)])
    if request.param == "readonly":
        opened.close()
        opened = docindex.open(path, readonly=True)
    with opened:
        yield opened
        assert list(opened) == ["a", "b"]


def test_rows_are_tuples_and_have_the_names_of_their_columns(index):
    found = index.execute("select key, meta ->> 'by' as author from docindex_document order by key")
    assert found == [("a", "Ada"), ("b", None)]
    assert found.columns == ("key", "author")
    assert index.execute("select key from docindex_document where key = ?", ["b"]) == [("b",)]
    assert index.execute("select key from docindex_document where key = :key", {"key": "b"}) == [("b",)]
    assert index.execute("with n(x) as (values (1), (2)) select sum(x) from n") == [(3,)]
    assert index.execute("select 1 where 0") == []
    assert index.execute("pragma table_info(docindex_document)")[0][1] == "id"


@pytest.mark.parametrize(
    "statement",
    [
        "delete from docindex_document",
        "update docindex_document set key = 'c'",
        "insert into docindex_dead values (1, 1)",
        "drop table docindex_document",
        "create table mine (x)",
        "create temp table mine (x)",
        "pragma user_version = 7",
        "pragma writable_schema = on",
        "pragma query_only = off",
        "pragma journal_mode = delete",
        "attach ':memory:' as other",
        "vacuum",
        "vacuum into '/tmp/never-made-by-docindex'",
        "begin",
        "commit",
        "savepoint s",
        "reindex",
        "analyze",
        "select 1; delete from docindex_document",
    ],
)
def test_a_statement_that_would_write_is_refused(index, statement):
    with pytest.raises(docindex.ReadOnly, match="only a statement that reads is accepted"):
        index.execute(statement)
    assert index.execute("select count(*) from docindex_document") == [(2,)]
    assert index.check() == []


@pytest.mark.parametrize(
    ("sql", "bindings"),
    [
        ("selec 1", ()),
        ("select nothing from docindex_document", ()),
        ("select ?", ()),
        ("select 1", (1,)),
        ("select :a", {}),
        ("select load_extension('x')", ()),
    ],
)
def test_wrong_sql_or_bindings_are_a_value_error(index, sql, bindings):
    with pytest.raises(ValueError, match="does not work"):
        index.execute(sql, bindings)


def test_the_message_says_what_is_wrong_with_a_statement_or_its_values(index):
    for sql, bindings, message in [
        ("select 1; select 2", (), "there is more than one statement; give one statement at a time"),
        (" ;\n", (), "the statement is empty; give one SQL statement"),
        ("select ?, ?", (1,), "it has 2 question marks, but got 1 value; give one for each"),
        ("select 1", (1, 2), "it has 0 question marks, but got 2 values; give one for each"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            index.execute(sql, bindings)
    with pytest.raises(ValueError, match="it has 1 question mark, but got 0 values"):
        index.search("a text", where="key = ?")
    with pytest.raises(TypeError, match="a statement must be SQL as a str, not 5"):
        index.execute(5)
