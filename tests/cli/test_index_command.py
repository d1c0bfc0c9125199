"""Test ``docindex index``: a table of an app becomes a part of the index, and commands see its changes."""

import contextlib
import json
import sqlite3

import pytest

from docindex.cli import main

WORDS = "the hives must be closed before the first frost of the year because bees do not like the cold"


@pytest.fixture
def app(tmp_path):
    path = str(tmp_path / "app.db")
    change(path, "create table note (id integer primary key, body text)")
    change(path, f"insert into note values (1, '{WORDS}'), (2, 'something else'), (3, null)")
    return path


def change(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()


def run(capsys, *arguments):
    code = main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_table_is_followed_and_counted_without_the_other_documents(app, capsys):
    assert run(capsys, "index", app, "note", "--text", "body")[:2] == (0, "indexed: 2 documents\n")
    change(app, "create table task (id integer primary key, body text)")
    change(app, "insert into task values (1, 'a task')")
    code, out, _ = run(capsys, "index", app, "task", "--text", "body", "--prefix", "task/", "--json")
    assert (code, json.loads(out)) == (0, {"table": "task", "documents": 1})


def test_the_next_command_indexes_what_the_app_has_changed(app, capsys, tmp_path):
    run(capsys, "index", app, "note", "--text", "body")
    asked = tmp_path / "asked.txt"
    asked.write_text(WORDS)
    for number, command in enumerate(
        [
            ["search", str(asked), "--index", app],
            ["sql", app, f"select key from doc_search('{WORDS}')"],
            ["pairs", "--index", app],
        ],
        4,
    ):
        change(app, f"insert into note values ({number}, '{WORDS}')")
        code, out, err = run(capsys, *command)
        assert (code, err) == (0, "")
        assert str(number) in out
    change(app, "delete from note")
    assert run(capsys, "sql", app, f"select key from doc_search('{WORDS}')")[0] == 1
    assert run(capsys, "check", "--index", app)[0] == 0


def test_the_same_command_again_indexes_all_rows_again(app, capsys):
    run(capsys, "index", app, "note", "--text", "body")
    change(app, "drop trigger docindex_insert_note")
    change(app, "insert into note values (9, 'behind its back')")
    assert run(capsys, "check", "--index", app)[0] == 6
    assert run(capsys, "index", app, "note", "--text", "body")[1] == "indexed: 3 documents\n"
    assert run(capsys, "check", "--index", app)[0] == 0


def test_unfollow_removes_the_documents_of_the_table(app, capsys):
    run(capsys, "index", app, "note", "--text", "body")
    assert run(capsys, "index", app, "note", "--unfollow")[:2] == (0, "no longer followed: note\n")
    assert "documents     0 (" in run(capsys, "info", "--index", app)[1]
    code, _, err = run(capsys, "index", app, "note", "--unfollow")
    assert code != 0
    assert "does not follow a table 'note'; it follows no table" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --text COLUMN, the column with the texts, or --unfollow"),
        (["--text", "nothing"], "no column 'nothing'; it has 'id', 'body'"),
        (["--text", "body", "--key", "body"], "two rows of the table 'note' have the key"),
    ],
)
def test_a_table_that_cannot_be_followed_is_refused(arguments, message, app, capsys):
    change(app, "insert into note values (4, 'something else')")
    code, out, err = run(capsys, "index", app, "note", *arguments)
    assert (code in (2, 3, 4, 5), out) == (True, "")
    assert message in err
