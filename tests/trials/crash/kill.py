"""``python -m tests.trials.crash.kill 10000``: kill writers 10000 times, and examine what they leave.

One to three programs change a file at the same time, each its own documents. One of them, or all of them,
are killed with SIGKILL at a random moment of a call. Afterwards every call that had returned must be there
completely. The call under way must be there completely or not at all; of `add_many`, the first commits may
be there. New programs continue with the file. Only processes are killed; `power_loss` is about the disk.
"""

import argparse
import collections
import contextlib
import itertools
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import docindex
from docindex.storage.postings.segments import all_segments
from tests.trials.crash import program
from tests.trials.crash.killed_writer import HANGS_S, Writer

VERBS = ("add", "add_many", "load", "remove", "rename", "boilerplate", "optimize", "backup", "open")
_KILLS_A_FILE = 100


def kills(folder, count, seed):
    """Kill `count` times; returns how often each thing was met. Raises `AssertionError` on a fault."""
    rng = random.Random(seed)
    met = collections.Counter()
    for number in itertools.count():
        file = KilledFile(folder / f"{number}.docindex", rng, met)
        try:
            file.live(min(count, met["kills"] + _KILLS_A_FILE))
        except AssertionError as fault:
            raise AssertionError(
                f"file {number} of seed {seed}, after {met['kills']} kills: {fault}"
            ) from fault
        for left in folder.iterdir():
            left.unlink()
        if met["kills"] >= count:
            break
    return met


class KilledFile:
    """A file, and the programs that change it and are killed."""

    def __init__(self, path, rng, met):
        self._path = path
        self._rng = rng
        self._met = met
        self._durability = rng.choice(("full", "normal"))
        self._writers = [self._writer(place, {}) for place in range(rng.randrange(1, 4))]

    def live(self, kills):
        """Kill until there were so many kills, then kill all programs. Examine the file after each kill."""
        try:
            self._one_round("open")  # The file is being made.
            while self._met["kills"] < kills - len(self._writers):
                witnessed = self._rng.random() < 0.5
                # A file that another process has open keeps its journal, and its locks outlive the kill.
                with self._opened() if witnessed else contextlib.nullcontext() as witness:
                    for _ in range(self._rng.randrange(1, 10)):
                        verb = self._rng.choice((*VERBS, *["any"] * 8 * len(VERBS)))
                        self._one_round(verb, witness)
        finally:
            self._kill(self._writers)
        self._look_at_all()

    def _one_round(self, verb, witness=None):
        """Kill one writer or all of them, look at what they left, and start them again."""
        victims = self._writers if self._rng.random() < 0.4 else [self._rng.choice(self._writers)]
        victims[0].wait_for(verb, anew=verb != "open")
        for writer in self._writers:
            writer.wait_for("open" if verb == "open" else "any", anew=False)
        # Half of the calls take less than a millisecond, some take twenty.
        time.sleep(self._rng.random() * self._rng.choice((0.0005, 0.003, 0.02)))
        self._kill(victims)
        if witness is not None:
            left = self._settled(witness, victims)
        else:
            with self._opened(readonly=verb != "open" and self._rng.random() < 0.3) as index:
                for writer in victims:
                    self._left(index, writer)
                self._check(index, 0.15)
            with self._opened() as index:
                left = self._settled(index, victims)
        for writer, state in zip(list(victims), left, strict=True):
            self._look_at_backup(writer)
            self._writers[writer.place] = self._writer(writer.place, state)

    def _kill(self, victims):
        for writer in victims:
            writer.kill()
        for writer in victims:
            writer.mourn()
            self._met["kills"] += 1
            self._met["acknowledged calls"] += len(writer.returned())
            self._met[f"kills during {writer.under_way()}"] += 1

    def _settled(self, index, victims):
        """The states that killed writers have left, and that cannot change any more.

        A commit is in the log before other processes are told of it. If a program is killed between the two,
        they do not see the commit until all of them have ended; then SQLite recovers it from the log. The
        next commit of any of them overwrites it.
        """
        for writer in victims:
            self._left(index, writer)
        index.add("witness", "was here")
        index.remove("witness")
        return [self._left(index, writer) for writer in victims]

    def _left(self, index, writer):
        """The state that a killed writer has left."""
        found = program.contents(index, writer.own)
        for state in writer.allowed():
            if program.expected(state) == found:
                return state
        wanted = writer.allowed()[-1]
        raise AssertionError(
            f"after {len(writer.returned())} calls, during {writer.under_way()}, this differs: "
            f"{program.differences(found, wanted)}"
        )

    def _check(self, index, share):
        if self._rng.random() < share:
            findings = index.check()
            assert findings == [], findings
            self._met["checks"] += 1
            with index._store.reading() as db:
                self._met["checks during a merge"] += any(s.moved is not None for s in all_segments(db))

    def _look_at_all(self):
        """Compare and check the file that nobody changes any more: as a reader, then as a writer."""
        for readonly in (True, False):
            with self._opened(readonly=readonly) as index:
                for writer in self._writers:
                    self._left(index, writer)
                self._check(index, 1.0)

    def _look_at_backup(self, writer):
        """A backup is complete or missing. If the last `backup` call has returned, it must be there."""
        if writer.backup.exists():
            if self._rng.random() < 0.3:
                with docindex.open(writer.backup, readonly=True) as index:
                    self._check(index, 1.0)
                    if writer.returned()[-1:] == [["backup"]] and writer.under_way() != "backup":
                        # The call that was killed may have committed after the backup.
                        found, wanted = program.contents(index, writer.own), writer.after_last_call()
                        assert found == program.expected(wanted), program.differences(found, wanted)
        elif writer.under_way() != "backup":
            assert ["backup"] not in writer.returned(), "the backup is missing"

    def _opened(self, **options):
        return docindex.open(self._path, durability=self._durability, timeout_s=HANGS_S, **options)

    def _writer(self, place, state):
        return Writer(self._path, place, state, self._durability, self._rng)


def _share(count, seed):
    program.shrink()  # as in the writers: parts of fingerprints have other sizes, which reading verifies
    with tempfile.TemporaryDirectory() as folder:
        return kills(Path(folder), count, seed)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.trials.crash.kill", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=10_000, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2, help="how many files at a time (default: 2)")
    options = parser.parse_args()
    begin = time.monotonic()
    share = -(-options.count // options.processes)
    seeds = range(options.seed * 1000, options.seed * 1000 + options.processes)
    met = collections.Counter()
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for some in pool.map(_share, [share] * options.processes, seeds):
            met.update(some)
    print(f"{time.monotonic() - begin:.0f} s, nothing is lost")
    for what, count in met.most_common():
        print(f"{count:8} {what}")


if __name__ == "__main__":
    main()
