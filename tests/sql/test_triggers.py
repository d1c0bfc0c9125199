"""Triggers of a host's own table keep an index up to date, through commits and rollbacks."""

import random

import apsw
import pytest

import docindex
from tests.query.corpus import RECIPE
from tests.storage.texts import prose

MAIN = """
create table note (id integer primary key, body text not null);
create trigger note_added after insert on note begin
    insert into doc_index (key, text) values ('note/' || new.id, new.body);
end;
create trigger note_changed after update on note begin
    update doc_index set key = 'note/' || new.id, text = new.body where key = 'note/' || old.id;
end;
create trigger note_removed after delete on note begin
    delete from doc_index where key = 'note/' || old.id;
end;
"""
TEMP = MAIN.replace("create trigger", "create temp trigger").replace("doc_index", "indexed_note")


@pytest.mark.parametrize("where", ["the same file", "an attached file"])
@pytest.mark.parametrize("seed", range(4))
def test_the_index_always_has_the_rows_of_the_table(tmp_path, where, seed):
    rng = random.Random(seed)
    path = str(tmp_path / "index")
    docindex.open(path, recipe=RECIPE).close()
    db = apsw.Connection(path if where == "the same file" else str(tmp_path / "app"))
    if where == "an attached file":
        db.execute("attach ? as idx", (path,))
    docindex.register(db)
    if where == "the same file":
        db.execute(MAIN).fetchall()
    else:
        db.execute("create virtual table idx.indexed_note using doc_index")
        db.execute(TEMP).fetchall()
    of_index = "doc_index" if where == "the same file" else "indexed_note"
    savepoints = 0
    for _ in range(150):
        match rng.randrange(10):
            case 0 if not db.in_transaction:
                db.execute("begin")
            case 1 if db.in_transaction:
                db.execute(rng.choice(["commit", "rollback"]))
                savepoints = 0
            case 2 if db.in_transaction and savepoints:
                db.execute(f"{rng.choice(['release', 'rollback to'])} s")
                savepoints = 0
            case 3 if db.in_transaction:
                db.execute("savepoint s")
                savepoints += 1
            case 4 | 5:
                rows = [(prose(rng, rng.randint(0, 20)),) for _ in range(rng.randint(1, 3))]
                db.executemany("insert into note (body) values (?)", rows)
            case 6:
                db.execute("update note set body = ? where id % 3 = ?", (prose(rng, 9), rng.randrange(3)))
            case 7:
                db.execute("delete from note where id % 7 = ?", (rng.randrange(7),))
            case 8:
                db.execute("update or ignore note set id = id + 100 where id % 5 = ?", (rng.randrange(5),))
            case 9:
                with pytest.raises(apsw.ConstraintError):  # the first row is undone together with the second
                    db.execute("insert into note (body) values ('one'), (null)")
        expected = db.execute("select 'note/' || id, body from note order by 1").fetchall()
        assert db.execute(f"select key, text from {of_index} order by 1").fetchall() == expected
    if db.in_transaction:
        db.execute("rollback")
    expected = dict(db.execute("select 'note/' || id, body from note"))
    db.close()
    with docindex.open(path) as index:
        assert {key: index.text(key) for key in index} == expected
        assert index.check() == []


def test_without_docindex_the_table_can_be_read_and_refuses_changes(tmp_path):
    path = str(tmp_path / "index")
    docindex.open(path).close()
    with apsw.Connection(path) as db:
        docindex.register(db)
        db.execute(MAIN + "insert into note values (1, 'one')").fetchall()
    db.close()
    db = apsw.Connection(path)
    assert db.execute("select * from note").fetchall() == [(1, "one")]
    with pytest.raises(apsw.SQLError, match=r"no such table: main\.doc_index"):
        db.execute("insert into note values (2, 'two')")
    assert db.execute("select * from note").fetchall() == [(1, "one")]
    db.close()
    with docindex.open(path) as index:  # it is still an index
        index.add("mine", "text")
        assert sorted(index) == ["mine", "note/1"]
        assert index.check() == []
