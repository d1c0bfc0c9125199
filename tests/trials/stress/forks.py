"""``python -m tests.trials.stress.forks 1000``: fork eight processes that add to the index, 1000 times.

The parent has the index open at the forks, and closes it before it waits for its children. Each child must
get its sentence, or its document must be there.
"""

import collections
import faulthandler
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import docindex

CHILDREN = 8


def add(path, number, answers):
    faulthandler.dump_traceback_later(50, exit=True)  # a child that hangs says where
    try:
        with docindex.open(path) as index:
            index.add(f"child {number}", f"the text of child {number}")
        answers.put((f"child {number}", "added"))
    except docindex.DocIndexError as error:
        answers.put((f"child {number}", type(error).__name__))
    faulthandler.cancel_dump_traceback_later()


def run(path, *, is_busy=False):
    """Returns how often each answer came. `is_busy`: another thread of the parent adds during the forks."""
    forking = multiprocessing.get_context("fork")
    answers = forking.SimpleQueue()
    expected, done = {"parent"}, threading.Event()

    def work(index):
        while not done.is_set():
            index.add(f"own {len(expected)}", "a text")
            expected.add(f"own {len(expected)}")

    faulthandler.register(signal.SIGUSR1)  # so that a child that hangs can say where
    gc.collect()
    gc.freeze()  # a child must not finalize what others of this process have left: SQLite's locks may be held
    with docindex.open(path) as index:
        index.add("parent", "the text of the parent")
        worker = threading.Thread(target=work, args=(index,))
        if is_busy:
            worker.start()
        children = [forking.Process(target=add, args=(path, n, answers)) for n in range(CHILDREN)]
        for child in children:
            child.start()
        done.set()
        if is_busy:
            worker.join()
    gc.unfreeze()
    for child in children:
        child.join(60)
        if child.exitcode is None:
            os.kill(child.pid, signal.SIGUSR1)
            child.join(1)
            child.kill()
        assert child.exitcode == 0, child
    counts = collections.Counter()
    for _ in children:
        key, answer = answers.get()
        counts[answer] += 1
        if answer == "added":
            expected.add(key)
    with docindex.open(path) as index:
        assert set(index) == expected, set(index) ^ expected
        assert index.check() == []
    assert set(counts) <= {"added", "Forked"}, counts
    return counts


def main(times):
    counts = collections.Counter()
    for number in range(times):
        with tempfile.TemporaryDirectory() as folder:
            counts += run(str(Path(folder) / "index"), is_busy=number % 2 == 1)
            assert [path.name for path in Path(folder).iterdir()] == ["index"]
    print(f"{times} runs:", ", ".join(f"{count} {answer}" for answer, count in counts.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
