"""No library of a process loses a lock when docindex opens or closes a file, and no handle is leaked."""

import contextlib
import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

import docindex
from docindex.storage.file import descriptors, handles
from docindex.storage.file.connection import Store

# The tests are about locks that Unix drops when a file is closed.
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows drops no locks at a close")

ROOT = Path(__file__).parents[2]
IS_LOCKED = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute("begin immediate")
except sqlite3.OperationalError:
    print("locked")
"""


def is_locked(path):
    """Whether another process finds the file locked for writing."""
    command = [sys.executable, "-c", IS_LOCKED, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout == "locked\n"


def opened(path):
    """How many descriptors this process has of a file, and of the files that lie beside it."""
    names = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]  # noqa: PTH208
    return sum(name.startswith(str(path)) for name in names)


@pytest.fixture
def path(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("a", "A text that somebody will look for.")
    return tmp_path / "index"


@pytest.fixture
def app(path):
    """A connection of apsw that keeps what docindex releases from being closed."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("create table own (x)")
        yield connection


def read(path):
    with docindex.open(path, readonly=True) as index:
        assert index.search("A text that somebody will look for.")


RESTART = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0.2)
connection.execute("insert into own values (1)")
connection.commit()
print(*connection.execute("pragma wal_checkpoint(restart)").fetchone())
"""


def test_a_reader_of_sqlite3_keeps_its_lock_while_it_asks_docindex(path):
    """If the lock were lost, another process could restart the log, and the reader would see two states."""
    host = sqlite3.connect(path, isolation_level=None)
    host.execute("create table own (x)")
    docindex.register(host)
    host.execute("begin")
    assert host.execute("select count(*) from own").fetchone() == (0,)
    for _ in range(3):
        assert (
            "a" in host.execute("select doc_search_json('A text that somebody will look for.')").fetchone()[0]
        )
    command = [sys.executable, "-c", RESTART, str(path)]
    checkpoint = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert checkpoint.startswith("1 ")  # "busy": the log was not restarted
    host.execute("commit")
    host.close()


def test_no_commit_is_lost_in_a_process_that_uses_sqlite3_and_docindex():
    command = [sys.executable, "-m", "tests.trials.stress.two_libraries", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("0 of 2400 commits lost"), done


def test_a_closed_index_leaves_no_file_open_and_no_journal(path):
    first, second = docindex.open(path), docindex.open(path, readonly=True)
    first.add("b", "another text")
    assert list(second) == ["a", "b"]
    first.close()
    second.close()
    assert opened(path) == 0
    with docindex.open(path) as index:
        index.add("c", "another text")
    assert opened(path) == 0
    assert [file.name for file in path.parent.iterdir()] == ["index"]


def test_a_library_that_first_uses_the_file_while_it_is_opened_here_keeps_its_lock(path, monkeypatch):
    host = sqlite3.connect(path, isolation_level=None)
    original = handles._opened

    def at_the_last_moment(*values):
        if not host.in_transaction:
            host.execute("begin immediate")
        return original(*values)

    monkeypatch.setattr(handles, "_opened", at_the_last_moment)
    docindex.open(path, readonly=True).close()
    assert is_locked(path)
    host.execute("rollback")
    host.close()


def test_indexes_that_are_dropped_are_released_without_the_garbage_collector(path):
    held = apsw.Connection(str(path))  # else a released connection would be closed at once
    held.execute("select count(*) from docindex_document").fetchone()
    gc.disable()
    try:
        for _ in range(50):
            docindex.open(path).add("a", "some text")
            assert opened(path) < 20
    finally:
        gc.enable()
        held.close()


def test_an_index_that_is_dropped_leaves_no_file_open_and_no_journal(path):
    docindex.open(path).add("b", "another text")
    gc.collect()
    assert opened(path) == 0
    assert [file.name for file in path.parent.iterdir()] == ["index"]


def test_a_connection_that_is_used_again_is_as_new(path, app):
    store = Store(str(path), readonly=False, durability="normal", timeout_s=1)
    with store.alone() as db:
        first = db
        db.execute("begin")
        db.execute("select * from docindex_document").fetchone()
        db.execute("pragma cache_size = 7")
        db.create_scalar_function("own", lambda: 7)
    store.close()
    store = Store(str(path), readonly=False, durability="full", timeout_s=1)
    with store.alone() as db:
        assert db is first
        assert not db.in_transaction
        assert (db.pragma("cache_size"), db.pragma("synchronous")) == (-16_384, 2)
        app.execute("insert into own values (1)")
        assert db.execute("select x from own").fetchall() == [(1,)]
    store.close()


def test_a_signal_handler_may_open_and_close_an_index(path):
    """Also while the program is just opening or closing one."""
    answers, refusals = [], []

    def handle(*_):
        try:
            with docindex.open(path, readonly=True) as index:
                answers.append(list(index))
        except docindex.Busy as error:
            refusals.append(error)
        finally:  # a handler that takes long must not be interrupted by the next ones without end
            signal.setitimer(signal.ITIMER_REAL, 0.001)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    try:
        for turn in range(20_000):  # a loaded machine delivers few signals in a turn
            docindex.open(path).close()
            if turn >= 200 and len(answers) > 20:
                break
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # first: a handler would start the timer again
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    read(path)
    assert all("signal handler" in str(error) for error in refusals)
    assert answers.count(["a"]) == len(answers) > 20
    assert opened(path) == 0


@pytest.mark.parametrize("is_first", [False, True])
def test_a_connection_of_apsw_that_the_host_closed_leaves_no_file_open(path, is_first):
    """SQLite keeps its descriptor open as long as another connection of apsw has locks on the file."""
    with contextlib.ExitStack() as stack:
        if not is_first:
            index = stack.enter_context(docindex.open(path))
        hosts = [apsw.Connection(str(path)) for _ in range(2)]
        hosts.append(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY))
        if is_first:
            index = stack.enter_context(docindex.open(path))
        for host in hosts:
            assert host.execute("select key from docindex_document").fetchall() == [("a",)]
        hosts[0].close()
        hosts.append(apsw.Connection(str(path)))
        hosts[-1].execute("begin immediate")
        assert is_locked(path)
        read(path)
        index.close()
        assert is_locked(path)
        for host in hosts:
            host.close()
    read(path)
    docindex.open(path).close()
    assert opened(path) == 0
    assert [file.name for file in path.parent.iterdir()] == ["index"]


@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_connections_of_apsw_that_the_host_closes_before_the_index_leave_no_file_open(path, hosts):
    with docindex.open(path) as index:
        connections = [apsw.Connection(str(path)) for _ in range(hosts)]
        for connection in connections:
            connection.execute("select key from docindex_document").fetchall()
        for connection in connections:
            connection.close()
        with docindex.open(path):  # takes over a descriptor that SQLite keeps for the host
            index.add("b", "text")
    assert opened(path) == 0


def test_a_lock_of_sqlite3_is_kept_beside_descriptors_that_sqlite_keeps_for_the_host(path):
    with docindex.open(path):
        connections = [apsw.Connection(str(path)) for _ in range(2)]
        for connection in connections:
            connection.execute("select key from docindex_document").fetchall()
            connection.close()
        other = sqlite3.connect(path)
        other.execute("begin immediate")
    with pytest.raises(docindex.Busy, match="another SQLite library"):
        read(path)
    assert is_locked(path)
    other.close()
    read(path)
    assert opened(path) == 0


@pytest.mark.usefixtures("app")
def test_a_connection_with_something_left_is_not_used_again(path):
    for leave in ("create temp table t (x)", "attach ':memory:' as other"):
        store = Store(str(path), readonly=False, durability="full", timeout_s=1)
        with store.alone() as db:
            first = db
            db.execute(leave)
        store.close()
        store = Store(str(path), readonly=False, durability="full", timeout_s=1)
        with store.alone() as db:
            assert db is not first
        store.close()


@pytest.mark.usefixtures("app")
def test_a_guarded_connection_is_not_used_without_its_guard(path):
    with docindex.open(path, readonly=True, trusted=False) as index:
        assert list(index) == ["a"]
    with docindex.open(path) as index:
        assert index._store._writer.authorizer is None
        assert index._store._writer.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)


def test_another_library_that_closes_the_file_does_not_remove_the_log(path):
    """The last connection of sqlite3 takes itself for the last one: docindex has the same locks."""
    with docindex.open(path) as index:
        for number in range(3):
            host = sqlite3.connect(path, isolation_level=None)
            host.execute(f"create table own_{number} (x)")
            host.close()
            index.add(f"{number}", "a text")
            command = "import docindex, sys; print(*docindex.open(sys.argv[1], readonly=True))"
            done = subprocess.run([sys.executable, "-c", command, path], capture_output=True, check=True)
            assert done.stdout.decode().split() == sorted(["a", *map(str, range(number + 1))])


def test_another_library_that_opens_the_file_does_not_clear_the_index_of_the_log(path):
    with docindex.open(path) as index, index._store.writing() as db:
        db.execute("create table own (x)")
        with contextlib.closing(sqlite3.connect(path)) as host:
            assert host.execute("select key from docindex_document").fetchall() == [("a",)]
            assert is_locked(path)


AT_EXIT = """
import builtins, os, sqlite3, sys
from tests.storage.test_handles import IS_LOCKED

import docindex
index = docindex.open(sys.argv[1], readonly=True)
list(index)
host = sqlite3.connect(sys.argv[1], isolation_level=None)
host.execute("begin immediate")

class Late:
    def __init__(self, host):
        self.host = host
        self.ask = f"{sys.executable} -c '{IS_LOCKED}' {sys.argv[1]}"
    def __del__(self, system=os.system):
        system(self.ask)

builtins.late = Late(host)  # it is freed after all modules
"""


def test_locks_of_the_host_are_kept_while_the_interpreter_ends(path):
    command = [sys.executable, "-c", AT_EXIT, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("locked\n", "")


def test_a_process_that_cannot_list_its_descriptors_closes_nothing(path, monkeypatch):
    monkeypatch.setattr(descriptors, "_FOLDERS", ())
    read(path)
    count = opened(path)
    assert count
    read(path)
    assert opened(path) == count
    monkeypatch.undo()
    read(path)
    assert opened(path) == 0


def test_a_file_closed_by_such_a_process_has_every_commit_without_its_log(tmp_path, monkeypatch):
    monkeypatch.setattr(descriptors, "_FOLDERS", ())
    with docindex.open(tmp_path / "index") as index:
        index.add("a", "a text of some words that is kept")
    shutil.copy(tmp_path / "index", tmp_path / "copy")
    monkeypatch.undo()
    with docindex.open(tmp_path / "copy", readonly=True) as copy:
        assert list(copy) == ["a"]


def test_a_file_whose_journal_is_left_from_a_crash_opens_at_once(path):
    """As after a crash while the file became one in write-ahead mode."""
    journal = f"{path}-journal"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("pragma journal_mode = delete")
        db.execute("pragma synchronous = off")
        db.execute("begin")
        db.execute("create table theirs (a)")
        db.execute("pragma cache_size = 0")
        db.execute("insert into theirs values (zeroblob(1000000))")
        left = Path(journal).read_bytes()
        db.execute("commit")
        db.execute("pragma journal_mode = wal")
    Path(journal).write_bytes(left)
    with docindex.open(path, timeout_s=0.1) as index:
        assert index.check() == []
    assert not Path(journal).exists()


def test_an_index_is_made_beside_a_connection_of_apsw_that_keeps_its_locks(tmp_path):
    path = tmp_path / "app.db"
    with contextlib.closing(apsw.Connection(str(path))) as app:
        app.execute("create table note (id integer primary key, body text)")
        assert app.execute("pragma journal_mode").fetchall() == [("delete",)]
        with docindex.open(path, create=True) as index:
            index.follow("note", key="id", text="body")
        app.execute("begin immediate")
        app.execute("insert into note values (1, 'A text that somebody will look for.')")
        with docindex.open(path, readonly=True) as index:
            assert list(index) == []
        assert is_locked(path)
        app.execute("commit")
        with docindex.open(path) as index:
            assert list(index) == ["1"]
            assert index.check() == []


def test_a_file_with_a_rollback_journal_is_refused_only_if_another_library_has_it_open(tmp_path):
    path = tmp_path / "app.db"
    with contextlib.closing(apsw.Connection(str(path))) as app, contextlib.closing(sqlite3.connect(path)):
        app.execute("create table note (id integer primary key, body text)")
        with pytest.raises(docindex.Busy, match="through another SQLite library"):
            docindex.open(path, create=True)


def test_a_connection_of_the_host_that_is_busy_in_another_thread_keeps_its_locks(path):
    begun, done = threading.Event(), threading.Event()

    def wait():
        begun.set()
        done.wait(30)

    index = docindex.open(path)
    with contextlib.closing(apsw.Connection(str(path))) as app:
        app.create_scalar_function("wait", wait)
        app.execute("begin immediate")
        busy = threading.Thread(target=lambda: app.execute("select wait()").fetchall())
        busy.start()
        begun.wait(30)
        index.close()  # nobody can ask now which file the connection uses
        try:
            assert is_locked(path)
        finally:
            done.set()
            busy.join()
        app.execute("rollback")


def test_an_attached_database_of_the_host_keeps_its_locks(path):
    index = docindex.open(path)
    with contextlib.closing(apsw.Connection(str(path))):
        assert len(index) == 1
    with contextlib.closing(apsw.Connection(":memory:")) as app:
        app.execute("attach ? as theirs", (str(path),))  # takes over the descriptor of the closed connection
        app.execute("begin immediate")
        app.execute("create table theirs.own (x)")
        index.close()
        assert is_locked(path)
        app.execute("rollback")
