"""In a forked process, an inherited index refuses every call, and the parent's index is not hurt."""

import contextlib
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

import docindex
from docindex.storage.file import handles, held_files

pytestmark = [
    # Windows has no fork.
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    # Python 3.12 warns of a fork in a process with threads: these tests are about that.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
ROOT = Path(__file__).parents[2]


def in_child(function):
    """What a function returns, or the error that it raises, in a forked process. It has 20 seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        answer = AssertionError("there is no answer")
        try:
            answer = function()
        except BaseException as error:
            answer = error
        finally:
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(answer, pipe)
            os._exit(0)
    os.close(writing)
    timer = threading.Timer(20, os.kill, (child, 9))
    timer.start()
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    timer.cancel()
    os.waitpid(child, 0)
    assert answer, "the child hung or crashed"
    return pickle.loads(answer)


@pytest.fixture
def index(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("a", "A text that somebody will look for.")
        yield index
        index.add("last", "text")
        assert index.check() == []
    with docindex.open(tmp_path / "index") as index:
        assert {"a", "last"} <= set(index)
    assert not list(tmp_path.glob("index-*"))


def test_children_that_add_lose_no_document():
    """In a process of its own: a child of the tests' process inherits what other tests have left there."""
    command = [sys.executable, "-m", "tests.trials.stress.forks", "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("20 runs: ")


CALLS = [
    list,
    len,
    lambda index: "a" in index,
    lambda index: index["a"],
    lambda index: index.add("b", "text"),
    lambda index: index.add_many([("b", "text")]),
    lambda index: index.remove("a"),
    lambda index: index.rename("a", "b"),
    lambda index: index.search("A text that somebody will look for."),
    lambda index: index.pairs(min_resemblance=0.5),
    lambda index: index.execute("select 1"),
    lambda index: index.boilerplate.add("text"),
    lambda index: list(index.export()),
    lambda index: list(index.files.under("/")),
    lambda index: index.check(),
    lambda index: index.stats(),
    lambda index: index.optimize(),
    lambda index: index.backup(index.path + ".copy"),
    lambda index: index.cancel(),
    lambda index: docindex.open(index.path),
    lambda index: docindex.open(index.path, readonly=True),
]


@pytest.mark.parametrize("call", CALLS)
def test_every_call_of_an_inherited_index_refuses_with_a_sentence(index, call):
    error = in_child(lambda: call(index))
    assert type(error) is docindex.Forked, error
    assert error.path == index.path
    assert "spawn" in str(error)


def test_the_end_of_a_block_in_a_child_closes_nothing_and_hides_no_error(index):
    def leave():
        with index:
            raise KeyError("the child's own")

    error = in_child(leave)
    assert type(error) is KeyError
    assert in_child(lambda: (index.close(), index.close())) == (None, None)


def test_a_transaction_that_is_open_at_the_fork_is_not_committed_by_the_child(index):
    def fork_inside(begin):
        reading, writing = os.pipe()
        child = None
        try:
            with begin() as db:
                db.execute("select count(*) from docindex_document").fetchall()
                child = os.fork()
                if not child:
                    raise KeyError("the child's own") if begin is failing else StopIteration
        except BaseException as error:
            if child:
                raise
            os.write(writing, type(error).__name__.encode())
            os._exit(0)
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as pipe:
            return pipe.read()

    failing = index._store.writing
    assert fork_inside(failing) == b"KeyError"
    assert fork_inside(index._store.reading) in (b"StopIteration", b"RuntimeError")


def test_a_child_that_leaves_a_writing_block_gets_the_sentence(index):
    reading, writing = os.pipe()
    child = None
    try:
        with index._store.writing() as db:
            db.execute("create table own (x)")
            child = os.fork()
    except docindex.Forked:
        assert not child
        os.write(writing, b"Forked")
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"Forked"
    assert index.execute("select count(*) from own") == [(0,)]


def test_a_child_is_refused_while_another_thread_of_its_parent_had_the_locks(index):
    ready, done = threading.Event(), threading.Event()

    def hold():
        with index._store.writing(), index._store._lender._lock:
            ready.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    try:
        for call in (lambda: index.add("b", "text"), lambda: list(index), lambda: docindex.open(index.path)):
            assert type(in_child(call)) is docindex.Forked
        assert in_child(index.close) is None
    finally:
        done.set()
        thread.join()


def test_a_fork_does_not_wait_for_ever_for_an_open_that_is_under_way(index):
    with held_files.FILES.lock:
        assert type(in_child(lambda: docindex.open(index.path))) is docindex.Forked


def test_a_grandchild_is_refused_too(index):
    error = in_child(lambda: in_child(lambda: list(docindex.open(index.path))))
    assert type(error) is docindex.Forked


def test_a_parked_connection_is_not_used_in_a_child(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("a", "text")
    with (tmp_path / "index").open("rb"):  # any other descriptor: now docindex closes nothing
        docindex.open(tmp_path / "index").close()
        assert type(in_child(lambda: docindex.open(tmp_path / "index"))) is docindex.Forked
        docindex.open(tmp_path / "index").close()
    docindex.open(tmp_path / "index").close()
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    in_child(lambda: docindex.open(tmp_path / "index").add("b", "text"))
    with docindex.open(tmp_path / "index") as index:
        assert list(index) == ["a", "b"]


@pytest.mark.usefixtures("index")
def test_a_child_uses_other_files_as_any_process_does(tmp_path):
    def work():
        with docindex.open(tmp_path / "other") as other:
            other.add("b", "text", meta=1)
            other.add_many([("c", "text " * 100), ("d", "text")], workers=2)
        with docindex.open(tmp_path / "other") as other:
            assert (list(other), other.check()) == (["b", "c", "d"], [])
        return sorted(path.name for path in tmp_path.glob("other*"))

    assert in_child(work) == ["other"]


def test_an_index_in_memory_is_a_copy_in_a_child():
    with docindex.open(":memory:") as index:
        index.add("a", "text")
        assert in_child(lambda: (index.add("b", "text"), list(index))) == (None, ["a", "b"])
        assert list(index) == ["a"]


def test_a_registered_connection_of_the_host_refuses_in_a_child(index):
    path = index.path + "-of-the-host"
    index.backup(path)
    with contextlib.closing(apsw.Connection(path)) as host:
        docindex.register(host)
        ask = "select doc_containment('a text', id) from docindex_document"
        expected = host.execute(ask).fetchall()
        assert type(in_child(lambda: host.execute(ask).fetchall())) is docindex.Forked
        assert type(in_child(lambda: docindex.open(path))) is docindex.Forked
        assert host.execute(ask).fetchall() == expected
    Path(path).unlink()


def test_a_child_that_ends_as_a_program_does_not_hurt_its_parent(tmp_path):
    """The interpreter of the child frees everything at its end, also the inherited connections."""
    program = """
import gc, os, sys, docindex
index = docindex.open(sys.argv[1])
index.add("a", "text")
with index._store.writing() as db:
    db.execute("create table own (x)")
    child = os.fork()
    if not child:
        index = db = None
        gc.collect()
        sys.exit()
    os.waitpid(child, 0)
    db.execute("insert into own values (1)")
del db
assert index.execute("select x from own") == [(1,)]
index.add("b", "text")
index.close()
with docindex.open(sys.argv[1]) as index:
    assert list(index) == ["a", "b"] and index.check() == []
print(*os.listdir(os.path.dirname(sys.argv[1])))
"""
    (tmp_path / "folder").mkdir()
    command = [sys.executable, "-c", program, str(tmp_path / "folder" / "index")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("index\n", 0), done.stderr


def search(path):
    with docindex.open(path, readonly=True) as index:
        return list(index)


def test_a_spawned_child_uses_the_file_while_the_parent_has_it_open(index):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(search, (index.path,)) == ["a"]


def test_nothing_of_a_child_is_closed_by_the_collector(index):
    def collect():
        nonlocal index
        number = len(apsw.connections())
        index = None
        gc.collect()
        return len(apsw.connections()) == number

    assert in_child(collect)


def test_a_child_in_a_transaction_of_its_parent_rolls_nothing_back(tmp_path):
    with docindex.open(tmp_path / "index", durability="normal") as index:
        with index._store.writing() as db:
            db.execute("pragma cache_size = 1")
            db.execute("create table own (x)")
            # More than the cache holds, so that SQLite writes to the log that both processes share.
            db.executemany("insert into own values (zeroblob(?))", [(9000,)] * 300)

            def forget():
                index.close()
                handles.drop([db])
                handles.release(db)
                gc.collect()
                return db.in_transaction

            assert in_child(forget)
            db.execute("insert into own values (1)")
        assert index.execute("select count(*) from own where x = zeroblob(9000)") == [(300,)]
    with docindex.open(tmp_path / "index") as index:
        assert index.check() == []
