"""A file that another SQLite library of the process uses is refused before any harm, in both orders."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

import docindex
from docindex import folders
from docindex.storage.file import descriptors, handles, held_files
from tests.storage.test_handles import is_locked, opened

# On Windows, each handle has locks of its own.
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows drops no locks at a close")

ROOT = Path(__file__).parents[2]
TEXT = "A text that somebody copies again and again, until everybody knows it."
REFUSED = r"another SQLite library.*call docindex\.register\(connection\).*a file of its own"
HOST = """
import contextlib, docindex, sqlite3, sys, threading, time

path, order, text = sys.argv[1:]
acknowledged, others, refusals, tries, done = [], [], [], [], threading.Event()
index = docindex.open(path) if order == "index first" else None

def write():
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as host:
        number = -1
        while number < 149 or len(tries) < 20:  # the other thread may be slow on a busy machine
            number += 1
            host.execute("insert into note (body) values (?)", (f"{text} {number}",))
            acknowledged.append(number)
            time.sleep(0.001)
            if number == 2:
                begun.set()
        done.set()

begun = threading.Event()
writing = threading.Thread(target=write)
writing.start()
if order == "host first":
    begun.wait(60)
while not done.is_set():
    tries.append(0)
    try:
        index = index or docindex.open(path)
        index.search(text)
    except docindex.Busy as error:
        refusals.append(error)
    except Exception as error:
        others.append(error)
writing.join()
print(len(acknowledged), bool(refusals), others)
"""


@pytest.fixture
def path(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("a", TEXT)
    return tmp_path / "index"


@contextlib.contextmanager
def using(path, *statements, uri=""):
    """A connection of sqlite3 that has read the file."""
    connection = sqlite3.connect(f"file:{path}{uri}" if uri else path, isolation_level=None, uri=bool(uri))
    with contextlib.closing(connection):
        for statement in (*statements, "select count(*) from docindex_document"):
            connection.execute(statement).fetchall()
        yield connection


@pytest.mark.parametrize("order", ["host first", "index first"])
@pytest.mark.parametrize("turn", range(3))
def test_no_acknowledged_commit_of_a_host_is_lost_beside_searches_of_a_following_index(tmp_path, order, turn):  # noqa: ARG001 - the harm comes in most runs, not in each
    path = tmp_path / "notes.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as host:
        host.execute("pragma journal_mode = wal")
        host.execute("create table note (id integer primary key, body text)")
    with docindex.open(path, create=True) as index:
        index.follow("note", key="id", text="body")
    command = [sys.executable, "-c", HOST, str(path), order, TEXT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    commits, _, rest = done.stdout.partition(" ")
    assert (rest, done.stderr) == ("True []\n", "")
    with contextlib.closing(sqlite3.connect(path)) as after:
        assert after.execute("select count(*) from note").fetchone() == (int(commits),)
        assert after.execute("pragma integrity_check").fetchall() == [("ok",)]
    with docindex.open(path) as index:
        assert len(index) == int(commits) >= 150
        assert index.check() == []


@pytest.mark.parametrize("mode", ["wal", "delete"])
@pytest.mark.parametrize("options", [{}, {"readonly": True}, {"trusted": False}, {"create": True}], ids=str)
def test_an_open_is_refused_and_the_host_keeps_its_lock(path, mode, options):
    with using(path, f"pragma journal_mode = {mode}", "begin immediate") as host:
        for _ in range(20):
            with pytest.raises(docindex.Busy, match=REFUSED):
                docindex.open(path, **options)
        assert is_locked(path)
        assert opened(path) < 10
        host.execute("commit")
    docindex.open(path, **options).close()
    assert opened(path) == 0


USES = {
    "search": lambda index: index.search(TEXT),
    "key": lambda index: index["a"],
    "add": lambda index: index.add("b", TEXT),
    "optimize": lambda index: index.optimize(),
    "follow": lambda index: index.follow("note", key="id", text="body"),
    "close": lambda index: index.close(),
}


@pytest.mark.parametrize("is_used_before", [False, True])
@pytest.mark.parametrize("use", USES)
def test_the_next_use_is_refused_until_the_host_closes_its_connection(path, use, is_used_before):
    with docindex.open(path) as index:
        with index._store.writing() as db:
            db.execute("create table note (id integer primary key, body text)")
        for _ in range(2):
            if is_used_before:
                assert [match.key for match in index.search(TEXT)] == ["a"]
            with using(path, "begin immediate") as host:
                if use != "close":
                    with pytest.raises(docindex.Busy, match=REFUSED):
                        USES[use](index)
                    assert is_locked(path)
                host.execute("commit")
            assert [match.key for match in index.search(TEXT)] == ["a"]
        with using(path, "begin immediate"):
            index.close()
            assert is_locked(path)
    with docindex.open(path) as index:
        assert index.check() == []


def test_a_reading_index_of_a_file_with_a_rollback_journal_is_refused_at_its_next_use(path):
    with contextlib.closing(sqlite3.connect(path)) as host:
        host.execute("pragma journal_mode = delete")
    with docindex.open(path, readonly=True) as index:
        assert list(index) == ["a"]
        with using(path, "begin immediate"), path.open("rb"):
            with pytest.raises(docindex.Busy, match=REFUSED):
                index.search(TEXT)
            assert is_locked(path)
        with path.open("rb"):  # somebody copies it
            assert list(index) == ["a"]


def test_a_change_is_undone_if_the_host_came_during_its_transaction(path):
    with docindex.open(path) as index:
        with contextlib.ExitStack() as stack:

            def change():
                with index._store.writing() as db:
                    db.execute("create table half (x)")
                    stack.enter_context(using(path))

            with pytest.raises(docindex.Busy, match=REFUSED):
                change()
        assert index.check() == []
        with index._store.reading() as db:
            assert not db.execute("select 1 from main.sqlite_schema where name = 'half'").fetchall()


@pytest.mark.parametrize("kind", ["uri", "attached", "registered", "another thread"])
def test_every_kind_of_connection_of_another_library_is_found(path, kind):
    with contextlib.ExitStack() as stack:
        if kind == "uri":
            stack.enter_context(using(path, uri="?mode=ro"))
        elif kind == "attached":
            host = stack.enter_context(contextlib.closing(sqlite3.connect(":memory:")))
            host.execute("attach ? as other", (str(path),))
        elif kind == "registered":
            host = stack.enter_context(using(path))
            docindex.register(host)
        else:
            done, begun = threading.Event(), threading.Event()

            def hold():
                with using(path):
                    begun.set()
                    done.wait(60)

            thread = threading.Thread(target=hold)
            thread.start()
            begun.wait(60)
            stack.callback(thread.join)
            stack.callback(done.set)
        with pytest.raises(docindex.Busy, match=REFUSED):
            docindex.open(path)
        if kind == "registered":
            assert host.execute("select doc_put('b', 'another text of some words')").fetchone() == (2,)
    with docindex.open(path) as index:
        assert index.check() == []


def test_a_file_is_open_to_a_library_that_uses_other_files_or_other_processes(path, tmp_path):
    with docindex.open(path) as index, contextlib.closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("create table own (x)")
        memory = sqlite3.connect(":memory:")
        memory.execute("create table own (x)")
        program = (
            "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
            "print(*db.execute('pragma user_version')); sys.stdout.flush(); sys.stdin.read()"
        )
        command = [sys.executable, "-c", program, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline()
            index.add("b", TEXT)
            docindex.open(path, readonly=True).close()
            process.stdin.close()
        memory.close()
        assert len(index.search(TEXT)) == 2


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_connections_of_apsw_are_no_other_library(path, mode):
    """Also those that are busy in another thread, attach the file, or were closed before."""
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute(f"pragma journal_mode = {mode}").fetchall()
    closed, app, memory = (apsw.Connection(name) for name in (str(path), str(path), ":memory:"))
    memory.execute("attach ? as other", (str(path),))
    for db in (closed, app, memory):
        db.execute("select count(*) from docindex_document").fetchall()
    if mode == "wal":
        closed.close()
    with docindex.open(path) as index:
        begun, done = threading.Event(), threading.Event()

        def wait():
            begun.set()
            done.wait(60)

        app.create_scalar_function("wait", wait)
        busy = threading.Thread(target=lambda: app.execute("select wait()").fetchall())
        busy.start()
        begun.wait(60)
        index.add("b", TEXT)
        with docindex.open(path) as second:
            assert len(second.search(TEXT)) == 2
        done.set()
        busy.join()
        memory.close()
        assert len(index.search(TEXT)) == 2
    for db in (app, closed):
        db.close()


def test_a_child_of_a_fork_is_refused_a_file_that_its_parent_had_open_in_sqlite3(path):
    with using(path):
        child = os.fork()
        if not child:
            try:
                docindex.open(path)
            except docindex.Busy:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    child = os.fork()
    if not child:
        try:
            with docindex.open(path) as index, using(path):
                index.search(TEXT)
        except docindex.Busy:
            os._exit(8)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8


def test_a_host_that_closes_as_many_files_as_it_opens_is_noticed_too(path, monkeypatch):
    monkeypatch.setattr(handles, "open_count", lambda: 0)  # as on systems that do not tell their number
    with docindex.open(path) as index:
        index.search(TEXT)
        with using(path):
            threading.Event().wait(0.02)
            with pytest.raises(docindex.Busy, match=REFUSED):
                index.search(TEXT)
        index.search(TEXT)
        with using(path), pytest.raises(docindex.Busy, match=REFUSED):
            index.add("b", TEXT)  # a change always looks


def test_a_system_without_locks_of_open_files_refuses_too(path, monkeypatch):
    monkeypatch.setattr(held_files, "CAN_LOCK", False)
    with using(path, "begin immediate"):
        with pytest.raises(docindex.Busy, match=REFUSED):
            docindex.open(path)
        assert is_locked(path)
    docindex.open(path).close()
    assert opened(path) == 0


def test_a_process_that_cannot_list_its_descriptors_opens_the_file(path, monkeypatch):
    monkeypatch.setattr(descriptors, "_FOLDERS", ())
    with docindex.open(path) as index:
        assert len(index.search(TEXT)) == 1


def test_a_scan_may_read_the_index_that_it_writes(path):
    (path.parent / "a.txt").write_text("some text that is read")
    with docindex.open(path) as index, contextlib.ExitStack() as stack:
        for file in path.parent.iterdir():
            stack.enter_context(file.open("rb"))
        folders.scan(index, [path.parent])
        assert len(index.search(TEXT)) == 1
