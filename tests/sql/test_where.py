"""A condition that a statement passes to a table function can read documents, and do nothing else."""

import apsw
import pytest

import docindex

TEXT = "to be or not to be that is the question"


@pytest.fixture
def db(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add_many([("main.py", TEXT), ("it's", TEXT), ("c", TEXT, {"by": "Ada"})])
    connection = apsw.Connection(str(tmp_path / "index"))
    docindex.register(connection)
    connection.execute("create table secret (word); insert into secret values ('c')").fetchall()
    yield connection
    connection.close()


def found(db, condition, schema=None):
    sql = "select key from doc_near(?1, null, ?2, ?3) order by key"
    return [key for (key,) in db.execute(sql, (TEXT, condition, schema))]


CONDITIONS = {
    "key = 'c'": ["c"],
    "key = 'main.py'": ["main.py"],
    "document.key = 'main.py'": ["main.py"],
    "key in ('c', 'x')": ["c"],
    "meta ->> 'by' = 'Ada'": ["c"],
    "upper(key) like 'M%' or id = 3 -- both": ["c", "main.py"],
    "key glob '*.py'": ["main.py"],
    "0": [],
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_chooses_documents_in_any_schema(db, condition):
    assert found(db, condition) == CONDITIONS[condition]
    other = apsw.Connection(":memory:")
    other.execute("create table docindex_document (id, key, meta)")  # a table of the host
    other.execute("attach ? as other", (db.filename,))
    docindex.register(other)
    assert found(other, condition, "other") == CONDITIONS[condition]
    assert found(other, condition) == CONDITIONS[condition]
    other.close()


def test_format_puts_a_value_into_a_condition(db):
    for key in ("main.py", "it's", "c", "'"):
        sql = "select key from doc_near(?) where \"where\" = format('key = %Q', ?)"
        assert db.execute(sql, (TEXT, key)).fetchall() == [(key,)] * (key != "'")


@pytest.mark.parametrize(
    "condition",
    [
        "key in secret",
        "key in (select word from secret)",
        "exists (select 1)",
        "key in json_each('[1]')",
        "harmful(key)",
        "load_extension(key)",
        "doc_index",
        "1) or (1",
        "1; drop table secret",
        "key = 'a' union select 1",
        "",
        "(",
    ],
)
def test_any_other_condition_is_refused_before_it_runs(db, condition):
    called = []
    db.create_scalar_function("harmful", lambda key: called.append(key) or 1, 1)
    before = db.authorizer
    with pytest.raises(ValueError, match=r"^doc_near: the condition .* does not work"):
        found(db, condition)
    assert db.authorizer is before
    assert called == []


def test_functions_that_are_innocuous_can_be_used(db):
    db.create_scalar_function("plain", lambda key: key[0], 1, flags=apsw.SQLITE_INNOCUOUS)
    assert found(db, "plain(key) = 'm'") == ["main.py"]
    assert found(db, "doc_canonical(doc_literal(key)) = 'main py'") == ["main.py"]


def test_a_view_of_an_untrusted_file_cannot_reach_the_functions_of_the_host(db):
    called = []
    db.create_scalar_function("harmful", lambda: called.append(1) or 1, 0)
    db.create_scalar_function("private", lambda: called.append(1) or 1, 0, flags=apsw.SQLITE_DIRECTONLY)
    for name in ("harmful()", "private()"):
        db.execute(f"create view v as select key from doc_near('x', 63, '{name}')")
        db.execute("pragma trusted_schema = off")
        with pytest.raises(ValueError, match="not authorized to use function"):
            db.execute("select * from v").fetchall()
        db.execute("drop view v")
    assert called == []


def test_the_authorizer_of_the_host_is_kept(db):
    asked = []

    def authorizer(*arguments):
        asked.append(arguments)
        return apsw.SQLITE_OK

    db.authorizer = authorizer
    assert found(db, "key = 'c'") == ["c"]
    assert db.authorizer is authorizer
    assert asked
