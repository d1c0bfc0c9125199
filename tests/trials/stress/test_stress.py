"""The stress program for a few seconds. Run it for longer with ``python -m tests.trials.stress 30``."""

import collections
import random
import threading
import time

import pytest

import docindex
from docindex import Recipe
from tests.storage.texts import prose
from tests.trials.stress import log_growth, program


def test_readers_and_writers_in_many_processes_see_only_whole_commits(tmp_path):
    counts = collections.Counter()
    while counts["commits"] <= 20 or counts["looks"] <= 50:  # once, unless the machine is busy
        folder = tmp_path / f"{counts['commits']} {counts['looks']}"
        folder.mkdir()
        counts.update(program.run(folder, 3.0))


@pytest.mark.parametrize("path", ["index", ":memory:"])
def test_threads_that_share_an_index_see_only_whole_commits(path, tmp_path):
    where = path if path == ":memory:" else tmp_path / path
    with docindex.open(where, recipe=program.RECIPE, durability="normal") as index:
        program.threads(index, 1.0)


def test_a_reading_thread_does_not_wait_for_a_writing_one(tmp_path):
    """A user interface can list documents while another thread fills the index."""
    texts = [prose(random.Random(seed), 4000) for seed in range(60)]
    with docindex.open(tmp_path / "index", recipe=Recipe(), durability="normal") as index:
        index.add("first", texts[0])
        filling = threading.Thread(
            target=lambda: [
                index.add_many([(f"{n}/{m}", f"{n} {text}") for m, text in enumerate(texts)], workers=1)
                for n in range(4)
            ]
        )
        filling.start()
        waits = []
        while filling.is_alive():
            began = time.monotonic()
            assert index["first"].key == "first"
            assert len(index) % 60 == 1  # whole commits
            waits.append(time.monotonic() - began)
        filling.join()
        assert len(index) == 241
    assert len(waits) > 20
    # The reader waits for Python's own lock only, never for the writer's transaction.
    assert sorted(waits)[len(waits) // 2] < 0.1


def test_threads_write_to_an_index_one_after_the_other(tmp_path):
    with docindex.open(tmp_path / "index", durability="normal") as index:
        threads = [
            threading.Thread(target=lambda n=n: [index.add(f"{n} {m}", f"text {n} {m}") for m in range(20)])
            for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(index) == 120
        assert index.check() == []


def test_closing_an_index_in_one_thread_does_no_harm_to_the_others(tmp_path):
    """The other threads get the error of a closed index, or `Cancelled`. No thread hangs or crashes."""
    for turn in range(10):
        index = docindex.open(tmp_path / "index", recipe=program.RECIPE, durability="normal")
        errors = []

        def work(read, index=index, errors=errors):
            try:
                for n in range(10_000):
                    list(index) if read else index.add(f"{n % 7}", f"text {n} " * 20)
            except Exception as raised:
                errors.append(raised)

        threads = [threading.Thread(target=work, args=(read,)) for read in (True, True, False)]
        for thread in threads:
            thread.start()
        time.sleep(0.01 * turn)
        index.close()
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        assert len(errors) == 3
        for error in errors:
            assert isinstance(error, docindex.Cancelled) or "is closed" in str(error), repr(error)
    with docindex.open(tmp_path / "index") as index:
        assert index.check() == []


def test_the_write_ahead_log_stays_within_twice_its_bound_under_readers_and_writers(tmp_path):
    met = collections.Counter()
    while met["commit"] <= 5 or met["searches"] <= 5:  # once, unless the machine is busy
        folder = tmp_path / f"{met['commit']} {met['searches']}"
        folder.mkdir()
        counts, share = log_growth.run(folder, 3.0, bound=8 << 20, long=False)
        assert share < 2
        met.update(counts)
