"""Test ``docindex sql``: its output, its shell, and that reading never writes."""

import contextlib
import csv
import io
import json
import shlex
import sqlite3
import subprocess
import sys

import apsw
import pytest

import docindex
from docindex.cli import main


@pytest.fixture
def path(tmp_path):
    file = str(tmp_path / "index.docindex")
    with docindex.open(file) as index:
        index.add("a.txt", "to be or not to be", meta={"by": "Ada"})
        index.add("b.txt", "To be, or not to be! " + "x" * 100 + "\nand more")
    return file


def run(capsys, *arguments):
    code = main(["sql", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_rows_are_aligned_for_people(path, capsys):
    sql = "select key, meta, doc_canonical(id) as text, null as gap from docindex_document order by key"
    assert run(capsys, path, sql) == (
        0,
        "key    meta          text                                                          gap\n"
        'a.txt  {"by":"Ada"}  to be or not to be\n'
        "b.txt                to be or not to be xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\n",
        "",
    )


def test_values_replace_question_marks(path, capsys):
    assert run(
        capsys, path, "select key from doc_search(?) where key = ?", "TO BE OR NOT TO BE", "a.txt"
    ) == (
        0,
        "key\na.txt\n",
        "",
    )


def test_programs_get_json_and_csv(path, capsys):
    sql = "select key, text from doc_index order by key"
    with docindex.open(path) as index:
        expected = [(key, index.text(key)) for key in index]
    code, out, _ = run(capsys, path, "--json", sql)
    assert (code, [tuple(row.values()) for row in json.loads(out)]) == (0, expected)
    code, out, _ = run(capsys, path, "--csv", sql)
    assert list(csv.reader(io.StringIO(out))) == [["key", "text"], *map(list, expected)]
    assert json.loads(run(capsys, path, "--json", "select x'0aff' as b")[1]) == [{"b": "0aff"}]
    assert run(capsys, path, "--jsonl", "select 1 as a union select 2")[1] == '{"a": 1}\n{"a": 2}\n'
    assert run(capsys, path, "--json", "select 1 where 0") == (1, "[]\n", "")


def test_nothing_found_prints_nothing(path, capsys):
    assert run(capsys, path, "select 1 where 0") == (1, "", "")


@pytest.mark.parametrize(
    "sql",
    [
        "delete from doc_index",
        "delete from docindex_document",
        "insert into doc_index (key, text) values ('x', 'y')",
        "attach ':memory:' as other",
        "pragma writable_schema = on",
        "select 1; delete from docindex_document",
        "vacuum",
    ],
)
def test_reading_cannot_write(path, capsys, sql):
    code, out, err = run(capsys, path, sql)
    assert (code, out) == (9, "")
    assert err == "docindex: only a statement that reads is accepted; use --write to let it change the file\n"
    with docindex.open(path) as index:
        assert sorted(index) == ["a.txt", "b.txt"]


def test_writing_commits_all_or_nothing(path, capsys):
    assert run(capsys, path, "--write", "delete from doc_index where key = 'a.txt'")[:2] == (
        0,
        "1 row changed\n",
    )
    code, _, err = run(
        capsys,
        path,
        "--write",
        "insert into doc_index (key, text) values ('c', 'c'); insert into nowhere values (1)",
    )
    assert (code, err.count("\n")) == (2, 1)
    assert "no such table: nowhere" in err
    code, _, err = run(capsys, path, "--write", "delete from doc_index; commit")
    assert code == 2
    assert "leave out begin, commit and rollback" in err
    with docindex.open(path) as index:
        assert list(index) == ["b.txt"]
        assert index.check() == []


def test_the_search_in_the_help_finds_a_document(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = run(capsys, "--help")[1].partition("Examples:\n")[2].replace("\\\n", " ").split("\n")[2]
    *arguments, query = shlex.split(example)[2:]
    with docindex.open("essays.docindex") as index:
        index.add("poem.txt", f"A poem begins with these lines: {query}, and goes on.")
    code, out, _ = run(capsys, *arguments, query)
    assert (code, "poem.txt" in out) == (0, True)


def test_any_sqlite_file_is_accepted(tmp_path, capsys):
    path = str(tmp_path / "app.db")
    db = apsw.Connection(path)
    db.execute("create table post (a, b); insert into post values ('One two', 'one, two')").fetchall()
    db.close()
    assert run(capsys, path, "select doc_resemblance(a, b) as r from post") == (0, "r\n1.0\n", "")
    assert run(capsys, path, "--write", "insert into post values (1, 2), (3, 4)")[:2] == (
        0,
        "2 rows changed\n",
    )


def test_each_error_is_one_sentence(tmp_path, path, capsys):
    (tmp_path / "text").write_text("not a database, but text " * 100)
    other = str(tmp_path / "other.db")
    apsw.Connection(other).execute("create table post (a)")
    for expected, arguments, message in [
        (3, (str(tmp_path / "none"), "select 1"), "does not exist, or is not a file; name an SQLite file"),
        (3, (str(tmp_path), "select 1"), "does not exist, or is not a file; name an SQLite file"),
        (4, (str(tmp_path / "text"), "select 1"), "is not an SQLite file"),
        (2, (path, "selec 1"), "does not work"),
        (2, (path, "select doc_near('a')"), "if it is a table, write: from doc_near(...)"),
        (2, (path, "select ?"), "does not work: it has 1 question mark, but got 0 values; give one for each"),
        (2, (path, "select 1; select 2"), "there is more than one statement; give one statement at a time"),
        (2, (path, ""), "the statement is empty; give one SQL statement"),
        (2, (path, "--write", " ;"), "the statement is empty; give one SQL statement"),
        (4, (other, "select * from doc_search('a')"), f"{other} is not a docindex index, and the statement"),
        (
            4,
            (other, "--write", "delete from doc_index"),
            f"{other} is not a docindex index, and the statement",
        ),
        (
            2,
            (path, "select doc_resemblance(1.5, 'x')"),
            "expected TEXT, or the INTEGER id of a document, not REAL",
        ),
        (2, (path, "select doc_resemblance(99, 'x')"), "there is no document 99"),
    ]:
        code, out, err = run(capsys, *arguments)
        assert (code, out, err.count("\n")) == (expected, "", 1), err
        assert message in err
    assert not (tmp_path / "none").exists()


def test_the_shell_has_the_functions(path):
    done = subprocess.run(
        [sys.executable, "-m", "docindex", "sql", path],
        input="select key from doc_near(doc_key('a.txt'), 0);\nselect doc_version();\n.exit\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["a.txt", docindex.__version__]
    done = subprocess.run(
        [sys.executable, "-m", "docindex", "sql", f"{path}.none"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)


def test_the_rows_of_the_shell_are_not_for_programs(path, capsys):
    code, out, err = run(capsys, path, "--json")
    assert (code, out) == (2, "")
    assert "--json prints the rows of a statement; give a STATEMENT with it" in err


def test_the_next_command_indexes_what_an_app_has_changed(tmp_path, capsys):
    app, words = str(tmp_path / "app.db"), "the hives must be closed before the first frost of the year"

    def change(statement):
        with contextlib.closing(sqlite3.connect(app)) as db:
            db.execute(statement)
            db.commit()

    change("create table note (id integer primary key, body text)")
    with docindex.open(app, create=True) as index:
        index.follow("note", key="id", text="body")
    asked = tmp_path / "asked.txt"
    asked.write_text(words)
    for number, command in enumerate(
        [
            ["search", str(asked), "--index", app],
            ["sql", app, f"select key from doc_search('{words}')"],
            ["search", str(asked), "--index", app],
        ]
    ):
        change(f"insert into note values ({number}, '{words}')")
        assert main(command) == 0
        shown = capsys.readouterr()
        assert (str(number) in shown.out, shown.err) == (True, "")
    change("delete from note")
    assert run(capsys, app, f"select key from doc_search('{words}')")[0] == 1
