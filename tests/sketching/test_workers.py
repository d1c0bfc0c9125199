import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import docindex
from docindex import DocIndexError, Recipe
from docindex.reading import slicing
from docindex.sketching import workers
from docindex.sketching.sketcher import sketch_batches
from docindex.sketching.text_parts import parts_of
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


def test_a_worker_makes_the_sketches_that_this_process_makes():
    (expected,) = sketch_batches(TEXTS, RECIPE)
    with SketchWorkers(RECIPE, 2) as sketchers:
        found = [sketchers.submit(TEXTS, keep=bool(number % 2)) for number in range(5)]
        assert all(same(made.result().sketches, expected) for made in found)
        assert found[0].result().parts == []
        assert found[1].result().parts == [list(parts_of(text)) for text in TEXTS]


def test_workers_import_this_docindex_even_if_the_working_folder_contains_another(tmp_path, monkeypatch):
    (tmp_path / "docindex").mkdir()
    (tmp_path / "docindex" / "__init__.py").write_text("raise RuntimeError('another one')")
    monkeypatch.chdir(tmp_path)
    with SketchWorkers(RECIPE, 2) as sketchers:
        assert len(sketchers.submit(TEXTS, keep=False).result().sketches) == len(TEXTS)


def test_a_worker_that_dies_is_an_error_that_says_which_documents_are_kept(tmp_path):
    def items():
        for number in range(100):
            if number == 50:
                for process in started:
                    process.kill()
            yield str(number), f"text {number} " * 20_000

    started = []
    start = workers._start
    with pytest.MonkeyPatch.context() as patch, docindex.open(tmp_path / "index") as index:
        patch.setattr(workers, "_start", lambda *how: started.append(start(*how)) or started[-1])
        with pytest.raises(
            DocIndexError, match=r"worker process ended with code -?\d+\. Committed documents are kept"
        ):
            index.add_many(items(), workers=2)
        assert index.check() == []
        index.add("afterwards", "works")
    assert all(process.poll() is not None for process in started)


def test_no_worker_outlives_add_many(tmp_path):
    started = []
    start = workers._start
    with pytest.MonkeyPatch.context() as patch, docindex.open(tmp_path / "index") as index:
        patch.setattr(workers, "_start", lambda *how: started.append(start(*how)) or started[-1])
        index.add_many([("a", "text"), ("b", "another")], workers=2)
        with pytest.raises(ZeroDivisionError):
            index.add_many((("c", "third" * (1 // number)) for number in (1, 0)), workers=2)
    assert len(started) == 4
    assert all(process.poll() is not None for process in started)


@pytest.mark.parametrize("error", [OSError("too many processes"), KeyboardInterrupt()])
def test_no_worker_outlives_the_failed_start_of_another(monkeypatch, error):
    started = []
    start = workers._start

    def failing(*how):
        if len(started) % 2:
            started.append(None)
            raise error
        started.append(start(*how))
        return started[-1]

    monkeypatch.setattr(workers, "_start", failing)
    expected = DocIndexError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        SketchWorkers(RECIPE, 3)
    if expected is DocIndexError:
        with SketchWorkers(RECIPE, 3, optional=True) as sketchers:
            assert sketchers.alone
    processes = [process for process in started if process is not None]
    assert processes
    assert all(process.returncode is not None for process in processes)


def test_workers_start_by_themselves_when_there_is_enough_text(tmp_path, monkeypatch):
    monkeypatch.setattr("docindex.index.writer.ENOUGH_FOR_WORKERS", 1000)
    monkeypatch.setattr("docindex.index.writer.default_workers", lambda: 2)
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 500)
    started = []
    start = workers._start
    monkeypatch.setattr(workers, "_start", lambda *how: started.append(start(*how)) or started[-1])
    with docindex.open(tmp_path / "index") as index:
        index.add_many((str(number), f"some text {number} " * 20) for number in range(3))
        assert started == []
        index.add_many((str(number), f"some text {number} " * 20) for number in range(50))
        assert len(started) == 2
        assert len(index) == 50
        assert index.check() == []


def test_a_worker_that_is_not_docindex_is_an_error_and_is_ended(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('printed by something else', flush=True)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    begin = time.monotonic()
    with (
        SketchWorkers(RECIPE, 2) as sketchers,
        pytest.raises(DocIndexError, match=r"worker process ended with code -?\d+"),
    ):
        sketchers.submit(TEXTS, keep=False).result()
    assert time.monotonic() - begin < 60
    with SketchWorkers(RECIPE, 2, optional=True) as sketchers:
        assert len(sketchers.submit(TEXTS, keep=False).result().sketches) == len(TEXTS)


# Removes functions and modules that Windows or macOS lack. Python runs this first, also in workers.
LIKE_WINDOWS = """
import os, signal, sys
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
    assert not sketchers.alone
    print(len(sketchers.submit(["one text", "another"], keep=True).result().parts))
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
