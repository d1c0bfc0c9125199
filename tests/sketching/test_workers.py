import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import docindex
from docindex import DocIndexError, Recipe
from docindex.reading import slicing
from docindex.sketching import workers
from docindex.sketching.sketcher import sketch_batches
from docindex.sketching.text_parts import parts_of
from docindex.sketching.worker_process import WorkerProcess
from docindex.sketching.workers import SketchWorkers

TEXTS = ["one text", "", "Größe 漢字 \ud800 lone", "word " * 500]
RECIPE = Recipe(k=5, window=4, shingle=2, min_s=8, mod_m=3, level=8)


def same(a, b):
    for field in dataclasses.fields(a):
        one, other = getattr(a, field.name), getattr(b, field.name)
        pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
        if not all(np.array_equal(x, y) for x, y in pairs):
            return False
    return True


@pytest.fixture
def started(monkeypatch):
    """The worker processes that were started, in a process that starts them with the first batch."""

    class Noted(WorkerProcess):
        def __init__(self, *how):
            super().__init__(*how)
            processes.append(self._process)

    processes = []
    monkeypatch.setattr(workers, "WorkerProcess", Noted)
    monkeypatch.setattr(workers, "_WORTHWHILE", 0)
    return processes


def by_a_helper(job):
    """The result of a job that this thread does not work on."""
    return job.future.result(timeout=60)


def test_a_helper_makes_the_sketches_that_this_process_makes():
    (expected,) = sketch_batches(TEXTS, RECIPE)
    with SketchWorkers(RECIPE, 3) as sketchers:
        sketchers.start()
        jobs = [sketchers.submit(TEXTS, keep=bool(number % 2)) for number in range(9)]
        found = [by_a_helper(job) for job in jobs]
        assert all(same(made.sketches, expected) for made in found)
        assert found[0].parts == []
        assert found[1].parts == [list(parts_of(text)) for text in TEXTS]
    assert not any(thread.name == "docindex" for thread in threading.enumerate())


def test_this_process_sketches_what_no_helper_has_begun(started):
    (expected,) = sketch_batches(TEXTS, RECIPE)
    with SketchWorkers(RECIPE, 2) as sketchers:
        jobs = [sketchers.submit(TEXTS, keep=True) for _ in range(20)]
        assert not sketchers.alone
        results = [job.result() for job in reversed(jobs)]  # done before the worker is ready, or by it
        assert all(same(made.sketches, expected) for made in results)
        assert len(started) == 1


def test_this_process_frees_the_texts_and_sketches_of_a_batch_whose_result_nobody_holds():
    with SketchWorkers(RECIPE, 1) as sketchers:
        job = sketchers.submit(TEXTS, keep=False)
        freed = weakref.ref(job)
        assert len(job.result().sketches) == len(TEXTS)
        del job
        assert freed() is None


def test_helpers_start_when_enough_text_has_come(started, monkeypatch):
    monkeypatch.setattr(workers, "_WORTHWHILE", 2 * sum(map(len, TEXTS)))
    with SketchWorkers(RECIPE, 2) as sketchers:
        sketchers.submit(TEXTS, keep=False).result()
        assert started == []
        sketchers.submit(TEXTS, keep=False)
        assert len(started) == 1


def test_this_process_does_the_work_of_a_helper_that_does_not_get_on(started):
    (expected,) = sketch_batches(TEXTS, RECIPE)
    with SketchWorkers(RECIPE, 2) as sketchers:
        sketchers.start()
        by_a_helper(sketchers.submit(TEXTS, keep=False))
        started[0].send_signal(signal.SIGSTOP)
        jobs = [sketchers.submit(TEXTS, keep=False) for _ in range(6)]
        assert all(same(job.result().sketches, expected) for job in jobs)


def test_the_same_texts_give_the_same_index_however_many_helpers_there_are(started, tmp_path):
    def rows(name, count):
        with docindex.open(tmp_path / name, recipe=RECIPE) as index:
            index.add_many(((str(n), f"some text {n % 90} " * 9) for n in range(100)), workers=count)
            assert index.check() == []
            tables = ("content", "fingerprint", "sample", "text", "posting")
            return [list(index.execute(f"select * from docindex_{table}")) for table in tables]

    expected = rows("one", 1)
    assert rows("two", 2) == expected
    assert rows("three", 3) == expected
    assert len(started) == 3


def test_workers_import_this_docindex_even_if_the_working_folder_contains_another(tmp_path, monkeypatch):
    (tmp_path / "docindex").mkdir()
    (tmp_path / "docindex" / "__init__.py").write_text("raise RuntimeError('another one')")
    monkeypatch.chdir(tmp_path)
    with SketchWorkers(RECIPE, 2) as sketchers:
        sketchers.start()
        assert len(by_a_helper(sketchers.submit(TEXTS, keep=False)).sketches) == len(TEXTS)


def test_a_worker_that_dies_is_an_error_that_says_which_documents_are_kept(tmp_path, started):
    def items():
        for number in range(100):
            if number == 50:
                while any(not helper._is_ready for helper in ready):
                    time.sleep(0.01)
                for process in started:
                    process.kill()
                    process.wait()
            yield str(number), f"text {number} " * 20_000

    ready = []
    start = SketchWorkers.start
    with pytest.MonkeyPatch.context() as patch, docindex.open(tmp_path / "index") as index:
        patch.setattr(SketchWorkers, "start", lambda self: (start(self), ready.extend(self._helpers)))
        with pytest.raises(
            DocIndexError, match=r"worker process ended with code -?\d+\. Committed documents are kept"
        ):
            index.add_many(items(), workers=2)
        assert index.check() == []
        index.add("afterwards", "works")
    assert len(started) == 1
    assert all(process.poll() is not None for process in started)


def test_no_worker_outlives_add_many(tmp_path, started):
    with docindex.open(tmp_path / "index") as index:
        index.add_many([("a", "text"), ("b", "another")], workers=2)
        with pytest.raises(ZeroDivisionError):
            index.add_many(
                ((str(number), "third" * (1_000_000 // (20 - number))) for number in range(21)), workers=3
            )
    assert len(started) == 3
    assert all(process.poll() is not None for process in started)


@pytest.mark.parametrize("error", [OSError("too many processes"), KeyboardInterrupt()])
def test_no_worker_outlives_the_failed_start_of_another(started, monkeypatch, caplog, error):
    noted = workers.WorkerProcess

    def failing(*how):
        if started:
            raise error
        return noted(*how)

    monkeypatch.setattr(workers, "WorkerProcess", failing)
    with SketchWorkers(RECIPE, 3) as sketchers:
        if isinstance(error, OSError):
            sketchers.start()
            assert "too many processes; the work is done in this process" in caplog.text
            assert len(sketchers.submit(TEXTS, keep=False).result().sketches) == len(TEXTS)
        else:
            with pytest.raises(KeyboardInterrupt):
                sketchers.start()
        assert sketchers.alone
    assert len(started) == 1
    assert started[0].returncode is not None


def test_workers_start_by_themselves_when_there_is_enough_text(tmp_path, started, monkeypatch):
    monkeypatch.setattr("docindex.index.adding.default_workers", lambda: 2)
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 500)
    monkeypatch.setattr(workers, "_WORTHWHILE", 10_000)
    with docindex.open(tmp_path / "index") as index:
        index.add_many((str(number), f"some text {number} " * 20) for number in range(3))
        assert started == []
        index.add_many((str(number), f"some text {number} " * 20) for number in range(50))
        assert len(started) == 1
        assert len(index) == 50
        assert index.check() == []


def test_a_worker_that_is_not_docindex_is_ended_and_its_work_is_done_here(tmp_path, monkeypatch, caplog):
    (tmp_path / "sitecustomize.py").write_text("print('printed by something else', flush=True)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    begin = time.monotonic()
    with SketchWorkers(RECIPE, 2) as sketchers:
        sketchers.start()
        (thread,) = sketchers._threads
        thread.join()
        assert "did not start as one; the work is done in this process" in caplog.text
        assert len(sketchers.submit(TEXTS, keep=False).result().sketches) == len(TEXTS)
    assert time.monotonic() - begin < 60


# Removes functions and modules that Windows or macOS lack. Python runs this first, also in workers.
LIKE_WINDOWS = """
import os, signal, subprocess, sys
subprocess.Popen.kill = lambda self: self.send_signal(9)  # on Windows it does not use signal.SIGKILL
import platformdirs  # it chooses a module for the system when it is imported, so import it before the removal
for name in ("environb", "fork", "getuid", "geteuid", "pread", "pwrite", "sched_getaffinity",
             "register_at_fork", "O_NOFOLLOW", "O_DIRECTORY", "copy_file_range", "sendfile", "statvfs"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
"""


def test_workers_need_nothing_that_only_linux_has(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(LIKE_WINDOWS)
    program = """
from docindex import Recipe
from docindex.sketching.workers import SketchWorkers
with SketchWorkers(Recipe(), 2) as sketchers:
    sketchers.start()
    print(len(sketchers.submit(["one text", "another"], keep=True).future.result().parts))
"""
    search_path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": search_path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("2\n", "")
