"""``python -m tests.trials.crash.interrupts 5000``: interrupt an index 5000 times at any instruction.

Each round opens an index, and uses it in one thread or in three. Meanwhile `KeyboardInterrupt` arrives, as by
Control-C, often several times in a row, and a thread gets exceptions that another thread raises in it. All
tracebacks are kept, as a `Future` or a debugger keeps them. A round ends in `close`, which is interrupted
too, and must return in time. Afterwards nobody may hold a lock on the file, the file must be healthy, and
have every document whose `add` had returned.
"""

import argparse
import collections
import ctypes
import faulthandler
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import apsw

import docindex
from tests.trials.crash import program

CLOSED_IN_S = 15.0
"""How long `close` may take. It waits 5 seconds for other threads, and the machine may be busy."""
HANGS_S = 60.0
"""After this time without a finished round, the program prints what all threads do, and ends."""

_A_ROUND = 12  # interrupts
_KEYS = 8
_DELAYS_S = (0.00005, 0.0005, 0.003)
_AGAIN_S = 0.00003


class Interrupted(BaseException):
    """What one thread raises in another."""


class Interrupter:
    """Raises `KeyboardInterrupt` in the main thread at random moments, but never in the methods here."""

    def __init__(self, rng):
        self._rng = rng
        self._left = 0
        signal.signal(signal.SIGALRM, self._on_alarm)

    def call(self, function):
        """Call a function that is interrupted, perhaps repeatedly. Returns the last interrupt."""
        delay, times = self._rng.random() * self._rng.choice(_DELAYS_S), self._rng.choice((1, 1, 2, 4))
        error = None
        signal.setitimer(signal.ITIMER_REAL, delay + 1e-6)
        self._left = times
        try:
            function()
        except KeyboardInterrupt as interrupt:
            error = interrupt
        finally:
            self._left = 0
        return error

    def _on_alarm(self, _, frame):
        if self._left:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
            if frame.f_code not in (Interrupter.call.__code__, _say_nothing.__code__):
                self._left -= 1
                raise KeyboardInterrupt


def _say_nothing(_):
    """About an interrupt that arrived while Python removed an object: nobody can get it."""


class Worker(threading.Thread):
    """A thread that uses an index, and gets exceptions from the main thread."""

    def __init__(self, use, seed):
        super().__init__(daemon=True)  # a thread that hangs must not hide that it does
        self._use = use
        self._rng = random.Random(seed)
        self.stop = False
        self.raised = self.caught = 0
        self.raised_at = 0.0
        self.kept = collections.deque(maxlen=5)
        self.failure = None

    def run(self):
        while not self.stop:
            try:
                while not self.stop:
                    self._use(self.name, self._rng)
            except Interrupted as error:
                self.kept.append(error)
                self.caught += 1  # at the end: only then may the next come
            except BaseException as error:
                if not self.stop:
                    self.failure = error
                return

    def interrupt(self):
        """Raise an exception in the thread, unless the one before is still on its way."""
        if self.caught == self.raised or time.monotonic() > self.raised_at + 1:
            self.raised, self.raised_at = self.caught + 1, time.monotonic()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self.ident), ctypes.py_object(Interrupted)
            )


class Round:
    """One use of an index, which is interrupted and closed."""

    def __init__(self, path):
        self.path = path
        self.index = docindex.open(path, durability="normal")
        self.stored = {}
        """The numbers of the texts whose `add` had returned, by key."""
        self.unsure = collections.defaultdict(set)
        """Those which an interrupted call may have stored instead."""

    def use(self, name, rng):
        """Do one thing. Only the thread `name` writes keys that begin with its name."""
        index, number = self.index, rng.randrange(10**6)
        match rng.randrange(7):
            case 0 | 1 | 2:
                key = f"{name}/{rng.randrange(_KEYS)}"
                self.unsure[key].add(number)
                index.add(key, program.text_of(number)[:300], meta=number)
                self.stored[key] = number
                self.unsure[key] = set()
            case 3:
                index.search(program.text_of(number)[:200])
            case 4:
                list(index)
            case 5:
                with index._store.alone() as db:
                    db.execute("select count(*) from docindex_document").fetchall()
            case _:
                with index._store.reading() as db, index._store.reading() as other:
                    cursor = db.execute("select key from docindex_document")  # which a traceback keeps
                    other.execute("select key from docindex_document").fetchall()
                    next(cursor, None)

    def look(self):
        """Examine the file that the round has left."""
        direct = apsw.Connection(str(self.path))
        direct.execute("begin immediate")  # `BusyError` if a transaction was left open
        direct.execute("rollback")
        direct.close()
        with docindex.open(self.path) as index:
            assert index.check() == [], index.check()
            found = {key: index.meta(key) for key in index}
        for key in {*self.stored, *self.unsure}:
            allowed = {self.stored.get(key), *self.unsure[key]}
            assert found.pop(key, None) in allowed, f"{key} is not one of {allowed}"
        assert found == {}


def warm_up(path):
    """Import all that is imported late: an interrupt can leave a lock of Python's import system locked."""
    one, rng = Round(path), random.Random(1)
    for _ in range(50):
        one.use("main", rng)
    one.index.close()
    one.look()


def interrupts(folder, count, seed):
    """Interrupt `count` times; returns what happened how often. Raises `AssertionError` on a fault."""
    rng = random.Random(seed)
    interrupter, met = Interrupter(rng), collections.Counter()
    sys.unraisablehook = _say_nothing
    warm_up(folder / "warm.docindex")
    while met["KeyboardInterrupt"] + met["raised by another thread"] < count:
        faulthandler.dump_traceback_later(HANGS_S, exit=True)
        met["rounds"] += 1
        one = Round(folder / f"{met['rounds']}.docindex")
        workers = [Worker(one.use, rng.random()) for _ in range(rng.choice((0, 0, 2)))]
        for worker in workers:
            worker.start()
        kept = []
        for _ in range(_A_ROUND):
            for worker in workers:
                worker.interrupt()
            kept.append(interrupter.call(lambda one=one: [one.use("main", rng) for _ in range(20)]))
            assert [worker.failure for worker in workers if worker.failure] == []
        for worker in workers:
            worker.stop = True
        began = time.monotonic()
        kept.append(interrupter.call(one.index.close))
        one.index.close()
        took = time.monotonic() - began
        assert took < CLOSED_IN_S, f"close took {took:.1f} s"
        for worker in workers:
            worker.join(CLOSED_IN_S)
            if worker.is_alive():
                faulthandler.dump_traceback()
                raise AssertionError(f"{worker.name} hangs")
        one.look()
        met["KeyboardInterrupt"] += len([error for error in kept if error])
        met["in close"] += bool(kept[-1])
        met["raised by another thread"] += sum(worker.caught for worker in workers)
        met["the slowest close, in ms"] = max(met["the slowest close, in ms"], round(took * 1000))
    faulthandler.cancel_dump_traceback_later()
    return met


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.trials.crash.interrupts", description=__doc__)
    parser.add_argument(
        "count", nargs="?", type=int, default=5000, help="how many interrupts (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        met = interrupts(Path(folder), options.count, options.seed)
    print(f"{options.count} interrupts in {time.monotonic() - begin:.0f} s, nothing lost, nothing hangs:")
    for what, count in met.most_common():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
