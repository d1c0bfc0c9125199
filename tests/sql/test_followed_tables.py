"""Virtual tables that follow a table of an app: on any database of a connection, and on many connections."""

import apsw
import pytest

import docindex

TEXT = "the hives must be closed before the first frost of the year"
FOLLOW = "using doc_index(content='note', key=id, text=body)"


def connected(path, **options):
    db = apsw.Connection(str(path), **options)
    docindex.register(db)
    return db


def make_note(db, schema="main"):
    db.execute(f"create table {schema}.note (id integer primary key, body text)")
    db.execute(f"insert into {schema}.note (body) values (?), ('main.other words')", (TEXT,))


@pytest.fixture
def app(tmp_path):
    """A file with a table, and a virtual table that follows it."""
    path = tmp_path / "app.db"
    db = connected(path)
    db.execute("pragma journal_mode = wal")
    make_note(db)
    db.execute(f"create virtual table note_index {FOLLOW}")
    assert db.execute("select count(*) from note_index").fetchall() == [(2,)]
    db.close()
    return path


def schema_of(db, schema):
    return db.execute(f"select type, name, sql from {schema}.sqlite_schema order by name").fetchall()


def test_a_table_of_an_attached_database_is_followed_inside_that_database(tmp_path):
    db = connected(tmp_path / "main.db")
    db.execute('attach ? as "the side"', (str(tmp_path / "side.db"),))
    db.execute("create table note (id integer primary key, body text)")
    make_note(db, '"the side"')
    before = schema_of(db, "main")
    db.execute(
        'create virtual table "the side".note_index '
        "using doc_index(content='note', key=id, text=body, prefix='main.')"
    )
    db.execute("insert into \"the side\".note (body) values ('a late note')")
    db.execute("insert into main.note (body) values ('not followed')")
    expected = [("main.1", TEXT), ("main.2", "main.other words"), ("main.3", "a late note")]
    assert db.execute("select key, text from note_index").fetchall() == expected
    assert db.execute("select key, text from note_index where key = 'main.2'").fetchall() == [expected[1]]
    assert db.execute("select key from doc_search(?)", (TEXT,)).fetchall() == [("main.1",)]
    db.execute('drop trigger "the side".docindex_delete_note')
    with pytest.raises(
        docindex.CorruptIndex, match=r"triggers of the table .note. are missing or changed .*; rebuild its"
    ):
        db.execute("insert into note_index (note_index) values ('integrity-check')")
    db.execute('delete from "the side".note where id = 3')
    db.execute("insert into note_index (note_index) values ('rebuild')")
    assert db.execute("select key, text from note_index").fetchall() == expected[:2]
    db.execute("insert into note_index (note_index) values ('integrity-check')")
    assert schema_of(db, "main") == before
    db.execute("drop table note_index")
    db.close()
    with docindex.open(tmp_path / "side.db") as index:
        assert (list(index), index.check()) == ([], [])


def test_two_databases_of_a_connection_follow_tables_with_the_same_name(tmp_path):
    db = connected(tmp_path / "main.db")
    db.execute("attach ? as side", (str(tmp_path / "side.db"),))
    for schema in ("main", "side"):
        make_note(db, schema)
        db.execute(f"create virtual table {schema}.{schema}_index {FOLLOW}")
    db.execute("delete from side.note where id = 1")
    db.execute("update main.note set body = 'changed' where id = 2")
    assert db.execute("select key, text from main_index").fetchall() == [("1", TEXT), ("2", "changed")]
    assert db.execute("select key, text from side_index").fetchall() == [("2", "main.other words")]
    db.close()
    for name in ("main", "side"):
        with docindex.open(tmp_path / f"{name}.db") as index:
            assert index.check() == []


@pytest.mark.parametrize("broken", ["main", "side"])
def test_an_integrity_check_reads_only_the_database_of_its_table(broken, tmp_path):
    db = connected(tmp_path / "main.db")
    db.execute("attach ? as side", (str(tmp_path / "side.db"),))
    make_note(db, "side")
    db.execute(f"create virtual table side.note_index {FOLLOW}")
    db.execute(f"create table {broken}.parent (id integer primary key)")
    db.execute(f"create table {broken}.child (parent references parent)")
    db.execute(f"insert into {broken}.child values (5)")  # foreign keys are off
    check = "insert into note_index (note_index) values ('integrity-check')"
    if broken == "side":
        with pytest.raises(docindex.CorruptIndex, match="row 1 of child refers to a row of parent"):
            db.execute(check)
    else:
        db.execute(check)
    db.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"create virtual table temp.t {FOLLOW}", "doc_index: a table in temp cannot follow a table"),
        (f"create virtual table side.t {FOLLOW}", "doc_index: there is no table 'note' in .*side"),
        ("create virtual table t using doc_index(content=no, key=id, text=body)", "there is no table 'no'"),
        ("create virtual table t using doc_index(content=seen, key=id, text=body)", "'seen' is a view"),
        ("create virtual table t using doc_index(content=doc_index, key=id, text=body)", "no table 'doc_ind"),
    ],
)
def test_a_refused_table_makes_no_index(statement, message, tmp_path):
    db = connected(tmp_path / "main.db")
    db.execute("attach ? as side", (str(tmp_path / "side.db"),))
    make_note(db)
    db.execute("create view seen as select * from note")
    before = schema_of(db, "main"), schema_of(db, "side"), schema_of(db, "temp")
    db.execute("begin")
    with pytest.raises(ValueError, match=message):
        db.execute(statement)
    db.execute("commit")
    assert (schema_of(db, "main"), schema_of(db, "side"), schema_of(db, "temp")) == before
    db.close()


def test_a_virtual_table_follows_a_table_in_any_spelling(tmp_path):
    db = connected(tmp_path / "main.db")
    make_note(db)
    db.execute("create virtual table t using doc_index(content=NOTE, key=ID, text=Body)")
    assert db.execute("select key from t where key = '2'").fetchall() == [("2",)]
    assert db.execute("select key from t").fetchall() == [("1",), ("2",)]
    db.execute("drop table t")
    assert db.execute("select count(*) from sqlite_schema where type = 'trigger'").fetchall() == [(0,)]
    db.close()


WRITES = {apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE, apsw.SQLITE_CREATE_TRIGGER}


@pytest.mark.parametrize("begin", [None, "begin", "begin immediate"])
@pytest.mark.parametrize("readonly", [False, True])
def test_a_question_to_a_followed_table_never_writes(app, begin, readonly):
    if readonly and begin == "begin immediate":
        pytest.skip("SQLite refuses it")
    db = connected(app, **({"flags": apsw.SQLITE_OPEN_READONLY} if readonly else {}))
    writes = []

    def note(action, table, *_):
        if action in WRITES and not str(table).startswith("sqlite_"):
            writes.append(table)
        return apsw.SQLITE_OK

    db.authorizer = note
    if begin:
        db.execute(begin)
    assert db.execute("select key from note_index").fetchall() == [("1",), ("2",)]
    assert db.execute("select text from note_index where key = '1'").fetchall() == [(TEXT,)]
    assert (writes, db.total_changes()) == ([], 0)
    if not readonly and begin != "begin":
        db.execute("create table another (a)")
        other = connected(app)
        if begin is None:
            other.execute("create table one_more (a)")
        del writes[:]
        assert db.execute("select key from note_index").fetchall() == [("1",), ("2",)]
        assert writes == []
        other.close()
    db.close()


def test_a_table_that_sqlite_meets_while_another_statement_writes_is_not_followed_again(app):
    db = connected(app)
    db.execute("create table another (a)")
    inserting = db.execute("insert into another values (1), (2) returning a")
    assert next(inserting) == (1,)
    before = db.total_changes()
    assert db.execute("select key from note_index").fetchall() == [("1",), ("2",)]
    assert db.total_changes() == before
    assert inserting.fetchall() == [(2,)]
    db.close()


@pytest.mark.parametrize("begin", ["begin", "begin immediate"])
def test_a_table_that_was_unfollowed_is_not_followed_again_by_a_question(app, begin):
    with docindex.open(app) as index:
        index.unfollow("note")
    db = connected(app)
    db.execute(begin)
    db.execute("update note set body = 'changed' where id = 1")  # a transaction that writes
    with pytest.raises(ValueError, match="does not follow a table 'note'"):
        db.execute("select * from note_index").fetchall()
    db.execute("commit")
    assert db.execute("select count(*) from docindex_source").fetchall() == [(0,)]
    assert db.execute("select count(*) from sqlite_schema where type = 'trigger'").fetchall() == [(0,)]
    db.execute("drop table note_index")
    db.execute(f"create virtual table note_index {FOLLOW}")
    assert db.execute("select text from note_index where key = '1'").fetchall() == [("changed",)]
    db.close()


def test_a_second_virtual_table_for_the_same_rows_needs_the_same_arguments(app):
    db = connected(app)
    db.execute(f"create virtual table again {FOLLOW}")
    assert db.execute("select key from again").fetchall() == [("1",), ("2",)]
    with pytest.raises(ValueError, match="followed already, with the columns"):
        db.execute("create virtual table other using doc_index(content=note, key=id, text=id)")
    db.close()
