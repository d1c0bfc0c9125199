"""The write-ahead log is bounded while readers overlap; long readers are named, then changes refused."""

import contextlib
import logging
import os
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest

import docindex
from docindex.storage.file import write_ahead_log
from docindex.storage.postings import segment_writer
from tests.storage.texts import prose

BOUND = 1 << 20
ROW = 50_000  # bytes; a commit of one row writes eight pages or so
# Elsewhere a message says "another process", because the system does not tell which.
LINUX = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux names the holders of locks")


@pytest.fixture(autouse=True)
def bound(monkeypatch):
    monkeypatch.setattr(write_ahead_log, "BOUND", BOUND)
    monkeypatch.setattr(write_ahead_log, "_ATTEMPT_S", 0.1)
    return BOUND


@pytest.fixture
def path(tmp_path):
    """An index, in a file with a table of its host."""
    path = tmp_path / "index"
    with opened(path) as index, index._store.writing() as db:
        db.execute("create table host (data)")
    return path


def opened(path, **options):
    return docindex.open(path, durability="normal", **{"timeout_s": 0.3, **options})


def log_size(path):
    return Path(f"{path}-wal").stat().st_size


def commit(index):
    with index._store.writing() as db:
        db.execute("insert into host values (zeroblob(?))", (ROW,))


def commit_until_refused(index):
    """Commit until `Busy`. Returns the error, how many commits succeeded, and the seconds of the slowest."""
    slowest = 0.0
    for number in range(1000):
        began = time.monotonic()
        try:
            commit(index)
        except docindex.Busy as busy:
            return busy, number, slowest
        slowest = max(slowest, time.monotonic() - began)
    raise AssertionError("never refused")


def rows_of(index):
    return index.execute("select count(*) from host")[0][0]


@contextlib.contextmanager
def overlapping_readers(path, pause_s=0.002):
    """Two threads that read in turns. Each ends a transaction only when the other has begun the next one."""
    begun, stop, errors = [threading.Semaphore(1), threading.Semaphore(0)], threading.Event(), []

    def read(me):
        try:
            with opened(path, readonly=True) as index:
                while not stop.is_set():
                    with index._store.reading():
                        begun[1 - me].release()
                        time.sleep(pause_s)
                        begun[me].acquire(timeout=20)
        except BaseException as error:
            errors.append(error)
        finally:
            begun[1 - me].release()

    threads = [threading.Thread(target=read, args=(me,)) for me in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors, errors


@pytest.mark.parametrize("bounded", [True, False])
def test_the_log_stays_within_twice_its_bound_while_readers_overlap(path, bounded, monkeypatch, caplog):
    if not bounded:  # this shows that the readers are such that SQLite alone would let the log grow
        monkeypatch.setattr(write_ahead_log, "BOUND", 1 << 60)
    monkeypatch.setattr(write_ahead_log, "_ATTEMPT_S", 20)  # on a busy machine, short readers may take long
    greatest = 0
    with opened(path, timeout_s=30) as index:
        with overlapping_readers(path):
            for _ in range(400):
                commit(index)
                greatest = max(greatest, log_size(path))
        assert rows_of(index) == 400
        assert index.check() == []
    if bounded:
        assert greatest < 2 * BOUND
        assert not caplog.records, "short readers are not worth a warning"
    else:
        assert greatest > 15 * BOUND


def test_writers_in_two_processes_keep_to_the_bound_together(path):
    code = (
        "import sys, docindex; from tests.storage import test_write_ahead_log as tests; "
        "from docindex.storage.file import write_ahead_log; write_ahead_log.BOUND = tests.BOUND\n"
        "with tests.opened(sys.argv[1], timeout_s=60) as index:\n"
        "    for _ in range(150): tests.commit(index)"
    )
    greatest = 0
    with overlapping_readers(path), opened(path, timeout_s=60) as index:
        with subprocess.Popen([sys.executable, "-c", code, str(path)]) as process:
            while process.poll() is None:
                commit(index)
                greatest = max(greatest, log_size(path))
        assert process.returncode == 0
        assert rows_of(index) > 150
    assert BOUND // 2 < greatest < 2 * BOUND


def test_a_long_reader_is_named_once_and_then_changes_are_refused(path, caplog):
    with opened(path) as index:
        index.add("kept", "The Analytical Engine weaves algebraical patterns")
        with index._store.reading():
            busy, commits, slowest = commit_until_refused(index)
            assert BOUND < log_size(path) < 2 * BOUND
            assert commits > 20
            assert slowest < 2, "commits below twice the bound wait for a moment only"
            with pytest.raises(docindex.Busy):
                index.add("new", "Nothing in here is like the other")
            with pytest.raises(docindex.Busy):
                index.remove("kept")
            assert list(index) == ["kept"]
            assert rows_of(index) == commits
            assert log_size(path) < 2 * BOUND
        (warning,) = caplog.records
        assert (warning.name, warning.levelno) == ("docindex", logging.WARNING)
        for message in (str(busy), warning.getMessage()):
            assert re.search(r"this process, through a question that has been open for \d+ s", message)
            assert str(path) in message
        assert busy.path == str(path)
        index.add("new", "Nothing in here is like the other")  # the reader has ended
        for _ in range(50):
            commit(index)
        assert log_size(path) < 2 * BOUND
        assert len(caplog.records) == 1
        assert index.check() == []


def test_each_long_reader_is_named(path, caplog):
    with opened(path) as index, index._store.reading():
        for _ in range(25):
            commit(index)
        with index._store.reading():
            commit_until_refused(index)
    messages = [record.getMessage() for record in caplog.records]
    assert [message.count("through a question") for message in messages] == [1, 1]


@LINUX
def test_a_long_reader_in_another_process_is_named(path):
    code = (
        "import sys, docindex\n"
        "with docindex.open(sys.argv[1], readonly=True) as index, index._store.reading() as db:\n"
        "    print('reads', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with (
        opened(path) as index,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout.readline() == "reads\n"
        busy, _, _ = commit_until_refused(index)
        process.communicate("")
        assert f"process {process.pid} ({sys.executable}"[:50] in str(busy)
        commit(index)


@LINUX
def test_a_long_reader_through_another_index_object_is_named(path):
    with opened(path) as index, opened(path, readonly=True) as other, other._store.reading():
        busy, _, _ = commit_until_refused(index)
    assert f"process {os.getpid()} (this process, through another connection)" in str(busy)


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_cancel_and_close_end_the_wait_for_readers(path, end):
    index, errors = opened(path), []
    with opened(path, readonly=True) as other, other._store.reading():
        with opened(path) as filler:
            commit_until_refused(filler)
        store = index._store
        store.waiting.timeout_s = 60

        def add():
            try:
                index.add("new", "Nothing in here is like the other")
            except Exception as error:
                errors.append(error)

        writer = threading.Thread(target=add)
        writer.start()
        time.sleep(0.5)
        getattr(index, end)()
        writer.join(10)
        assert not writer.is_alive()
    index.close()
    (error,) = errors
    assert isinstance(error, docindex.Cancelled) if end == "cancel" else "is closed" in str(error)


@pytest.mark.parametrize("timeout_s", [0, 0.5])
def test_the_waits_of_one_call_together_last_no_longer_than_the_timeout(path, timeout_s):
    with opened(path) as index, index._store.reading():
        commit_until_refused(index)
        index._store.waiting.timeout_s = timeout_s
        began = time.monotonic()
        with pytest.raises(docindex.Busy, match="End long questions"):
            commit(index)
        assert time.monotonic() - began < timeout_s + 0.4


def test_a_transaction_that_tells_its_size_is_refused_before_the_log_is_full(path):
    with opened(path) as index, index._store.reading():
        for _ in range(10):
            commit(index)
        with (
            pytest.raises(docindex.Busy, match="write-ahead log has"),
            index._store.writing(log_bytes=2 * BOUND),
        ):
            raise AssertionError("the transaction began")
        commit(index)


def test_a_transaction_larger_than_the_log_may_be_is_made_when_nobody_reads(path):
    with opened(path) as index:
        commit(index)
        with index._store.writing(log_bytes=3 * BOUND) as db:
            db.execute("insert into host values (zeroblob(?))", (3 * BOUND,))
        commit(index)
        commit(index)
        assert log_size(path) <= BOUND, "the file is shortened again"


def test_an_index_that_is_open_for_reading_only_never_writes_the_log_into_the_file(path):
    with opened(path) as index, opened(path, readonly=True) as reader:
        for _ in range(10):
            commit(index)
        before = path.read_bytes()
        for _ in range(3):
            assert rows_of(reader) == 10
        assert path.read_bytes() == before
        assert log_size(path) > 10 * ROW


def test_a_change_waits_while_another_process_writes_the_header_of_the_log(path):
    """SQLite answers a question about the size of the log with `BusyError` then, and does not wait."""
    with opened(path, timeout_s=5) as index, contextlib.closing(apsw.Connection(str(path))) as other:
        commit(index)
        other.execute("begin immediate")
        # Not opened for this test: to close it would drop the locks of SQLite.
        header = index._store._writer.held.guard.index
        whole = os.pread(header, 48, 0)
        os.pwrite(header, bytes([whole[8] ^ 1]), 8)  # the first of two copies, which must be equal

        def finish():
            os.pwrite(header, whole, 0)
            other.execute("rollback")

        timer = threading.Timer(0.2, finish)
        timer.start()
        commit(index)
        timer.join()
        assert index.check() == []


def test_a_file_without_write_ahead_log_has_none_to_bound(tmp_path):
    store = docindex.storage.file.connection.Store(
        str(tmp_path / "file"), readonly=False, durability="full", timeout_s=0
    )
    with contextlib.closing(store), store.writing(log_bytes=100 * BOUND) as db:
        db.execute("create table host (data)")
        assert db.pragma("journal_mode") == "delete"


def test_optimizing_a_large_file_keeps_the_log_within_twice_its_bound(path):
    rng = random.Random(0)
    texts = [(f"{number}", prose(rng, 1000)) for number in range(600)]
    with opened(path, timeout_s=30) as index:
        index.add_many(texts, workers=1)
        for number in range(250):
            index.remove(f"{number}")
        before, greatest, done = index.stats(), 0, threading.Event()
        assert before.file_bytes - before.bytes["free"] > 3 * BOUND

        def watch():
            nonlocal greatest
            while not done.wait(0.001):
                greatest = max(greatest, log_size(path))

        watcher = threading.Thread(target=watch)
        watcher.start()
        with overlapping_readers(path):
            index.optimize()
        done.set()
        watcher.join()
        index.optimize()  # nobody reads, so that the log is emptied
        after = index.stats()
        assert after.bytes["free"] == 0
        assert after.file_bytes < 0.75 * before.file_bytes
        assert path.stat().st_size == after.file_bytes == sum(after.bytes.values())
        assert index.check() == []
    assert 0 < greatest < 2 * BOUND


def test_a_large_commit_leaves_merging_to_further_commits(path, monkeypatch):
    texts = [(f"{number}", prose(random.Random(number), 300)) for number in range(120)]
    budgets, merge = [], segment_writer.merge_postings
    monkeypatch.setattr(segment_writer, "_LEAST", 32)
    monkeypatch.setattr(segment_writer, "_MERGED_AT_LEAST", 64)
    monkeypatch.setattr(
        segment_writer, "merge_postings", lambda db, budget: budgets.append(budget) or merge(db, budget)
    )
    segments = []
    for most in (1 << 30, 500):
        monkeypatch.setattr(segment_writer, "MERGED_AT_A_TIME", most)
        budgets.clear()
        with docindex.open(f"{path} {most}", durability="normal") as index:
            for begin in range(0, 120, 10):
                index.add_many(texts[begin : begin + 10], workers=1)
            segments.append(index.stats().segments)
            assert index.check() == []
    assert max(budgets) == 500
    assert len(budgets) > 20
    assert segments[0] == segments[1] < 6


@LINUX
def test_only_the_long_reader_is_named_among_short_ones(path, caplog):
    with opened(path) as index, index._store.reading(), overlapping_readers(path):
        busy, _, _ = commit_until_refused(index)
        for message in (str(busy), *(record.getMessage() for record in caplog.records)):
            assert "through a question" in message
            assert "through another connection" not in message


@LINUX
def test_short_readers_in_another_process_are_not_named(path, caplog):
    code = (
        "import sys\nfrom tests.storage.test_write_ahead_log import overlapping_readers\n"
        "with overlapping_readers(sys.argv[1]): print('reads', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with (
        opened(path, readonly=True) as other,
        other._store.reading(),
        opened(path) as index,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout.readline() == "reads\n"
        busy, _, _ = commit_until_refused(index)
        process.communicate("")
    for message in (str(busy), *(record.getMessage() for record in caplog.records)):
        assert "through another connection" in message
        assert str(process.pid) not in message
