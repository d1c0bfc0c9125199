"""``python -m tests.trials.stress.lost_writes 100000``: count commits that were acknowledged and are lost.

One file is an index, and holds tables of a host. Processes of five kinds (`host_processes`) write to it
through `sqlite3`, apsw and docindex, in threads and in children of forks. Many of them are killed. Each
commit that returned must be in the file exactly once: its row of the log, its increment of a counter, its
document. A commit that had not returned may be there if its process was killed. The documents that functions
and triggers have stored or removed are there exactly if the log says so. "torn" counts what README warns of:
reading transactions of `sqlite3`, in a process that also opens the index, that saw more than one commit.
"""

import argparse
import collections
import contextlib
import os
import random
import re
import selectors
import sqlite3
import tempfile
import time
from pathlib import Path

import docindex
from tests import fork_server
from tests.trials.stress import host_processes

PROCESSES = 6
REQUESTS = 60
_QUIET_S = 120  # without a line for so long, all processes hang


class Run:
    """The processes of one run, and what they said."""

    def __init__(self, path, seed, kinds=host_processes.KINDS, processes=PROCESSES):
        self.path = str(path)
        self.rng = random.Random(seed)
        self.kinds = kinds
        self.processes = self._wanted = processes
        self.counts = collections.Counter()
        self.faults = collections.Counter()
        self.returned = {"log": set(), "document": set()}
        self.last = {}
        self.killed = set()
        self._first = {}  # of the faults that differ only in numbers
        self._processes = {}
        self._names = 0
        self._reader, self._writer = fork_server.pipe()

    def until(self, commits, kills_every):
        """Let processes work until so many commits have returned; kill one every `kills_every` or so."""
        make(self.path)
        kill_at = kills_every
        try:
            for words in self._lines():
                self._hear(words)
                if self.counts["commits"] >= commits:
                    self._kill_all()  # The lines that were written before are still read.
                elif self.counts["commits"] >= kill_at and self._processes:
                    kill_at = self.counts["commits"] + self.rng.randrange(1, 2 * kills_every)
                    time.sleep(self.rng.random() * 0.01)
                    self._kill(self.rng.choice(sorted(self._processes)))
                    # A file that one process uses is opened, closed and recovered far more often.
                    self._wanted = self.rng.randint(1, self.processes)
        finally:
            self._kill_all()

    def _hear(self, words):
        verb, actor, *rest = words
        if verb == "commit":
            self.counts["commits"] += 1
            number, *kinds = rest
            self.last[actor] = int(number)
            for kind in kinds:
                self.returned[kind].add((actor, int(number)))
            return
        self.counts[verb] += 1
        if verb == "error":
            fault = " ".join(words[1:])[:250]
            first = self._first.setdefault(re.sub("[0-9]+", "", fault), fault)
            self.faults[first] += 1

    def _lines(self):
        """The lines of all processes, as words. Starts processes in the place of those that ended."""
        rest, descriptor = b"", self._reader.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            heard = time.monotonic()
            while True:
                if not self._writer.closed:
                    self._replace_ended()
                if not selector.select(0.5):
                    assert time.monotonic() < heard + _QUIET_S, f"no process does anything: {self.counts}"
                    continue
                heard = time.monotonic()
                received = os.read(descriptor, 65_536)
                if not received:
                    return
                *lines, rest = (rest + received).split(b"\n")
                yield from (line.decode().split(" ") for line in lines)

    def _replace_ended(self):
        for name, process in list(self._processes.items()):
            if not process.is_alive():
                if process.exitcode:
                    self.faults[f"a process ended with {process.exitcode}"] += 1
                del self._processes[name]
        while len(self._processes) < self._wanted:
            self._names += 1
            kind = self.kinds[self._names % len(self.kinds)]
            name = f"{kind.__name__}-{self._names}"
            requests = self.rng.randrange(REQUESTS // 2, REQUESTS * 2)
            arguments = (kind, self._writer, self.path, name, requests)
            self._processes[name] = fork_server.start(*arguments)
            self.counts["processes"] += 1

    def _kill_all(self):
        for name in sorted(self._processes):
            self._kill(name)
        self._writer.close()

    def _kill(self, name):
        process = self._processes.pop(name)
        process.kill()
        process.join()
        self.killed.add(name)
        self.counts["kills"] += 1


def make(path):
    with docindex.open(path) as index:
        index.add_many((f"{number}", host_processes.text_of(f"{number}")) for number in range(20))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(host_processes.SCHEMA)
        connection.executemany(
            "insert into counter values (?, 0)", [(n,) for n in range(host_processes.COUNTERS)]
        )
        connection.commit()


def verify(run):
    """The faults of a run: what is lost, written twice, or there without reason; and what processes said."""
    faults = [f"{count} times: {fault}" for fault, count in run.faults.most_common(20)]
    for part in (_of_host, _of_index):
        try:
            faults += part(run)
        except (docindex.DocIndexError, sqlite3.Error) as error:
            faults.append(f"the file cannot be read: {error!r}")
    return faults


def _of_host(run):
    """Faults in the tables of the host."""
    with contextlib.closing(sqlite3.connect(run.path)) as connection:
        log = connection.execute("select actor, number, counter, n from log not indexed").fetchall()
        counters = dict(connection.execute("select id, n from counter where n > 0"))
    yield from _differences(run, "log", [(actor, number) for actor, number, _, _ in log])
    overwritten = len(log) - len({(counter, n) for _, _, counter, n in log})
    if overwritten:
        yield f"{overwritten} of {len(log)} increments were overwritten by another"
    logged = dict(collections.Counter(counter for _, _, counter, _ in log))
    if counters != logged:
        yield f"the counters are {counters}, but the log has {logged}"


def _of_index(run):
    """Faults in the index."""
    with docindex.open(run.path) as index:
        yield from (f"check: {finding}" for finding in index.check()[:20])
        documents = {key: index.text(key) for key in index}
    added = [key.split("/") for key in documents if "/" in key]
    yield from _differences(run, "document", [(actor, int(number)) for actor, number in added])
    yield from _of_changes(run, {key: text for key, text in documents.items() if ":" in key})
    for key, text in documents.items():
        if text != host_processes.text_of(key.removeprefix("note:")):
            yield f"the text of {key} is wrong"


def _of_changes(run, documents):
    """Faults in the documents that hosts have stored or removed in the transactions of their log."""
    with contextlib.closing(sqlite3.connect(run.path)) as connection:
        changes = connection.execute("select put, removed from log not indexed").fetchall()
        notes = dict(connection.execute("select 'note:' || id, body from note"))
    put, removed = ({key for key in keys if key is not None} for keys in zip(*changes, strict=True))
    run.counts.update({"documents put": len(put), "documents removed": len(removed)})
    if lost := put - removed - documents.keys():
        yield f"{len(lost)} of {len(put)} documents of transactions are lost: {sorted(lost)[:5]}"
    if there := documents.keys() & removed:
        yield f"{len(there)} of {len(removed)} documents are there, but were removed: {sorted(there)[:5]}"
    if more := documents.keys() - put:
        yield f"{len(more)} documents are there without a transaction: {sorted(more)[:5]}"
    if notes != {key: text for key, text in documents.items() if key.startswith("note:")}:
        yield "the documents that triggers have stored are not those of the rows"


def _differences(run, kind, commits):
    """How the commits in the file differ from those that returned."""
    returned, found = run.returned[kind], set(commits)
    if lost := returned - found:
        yield f"{len(lost)} of {len(returned)} commits are not in the {kind}: {sorted(lost)[:5]}"
    if len(commits) > len(found):
        yield f"{len(commits) - len(found)} commits are in the {kind} twice"
    for commit in found - returned:
        if not _may_be(run, commit):
            yield f"{kind} {commit} was not committed"


def _may_be(run, commit):
    """Whether a commit that did not return may be there: it was under way when its process was killed."""
    actor, number = commit
    return actor.split(".")[0] in run.killed and number > run.last.get(actor, 0)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.trials.stress.lost_writes", description=__doc__)
    parser.add_argument("commits", nargs="?", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kills-every", type=int, default=200, metavar="COMMITS", help="default: %(default)s"
    )
    parser.add_argument(
        "--only", choices=[kind.__name__ for kind in host_processes.KINDS], nargs="*", default=()
    )
    parser.add_argument("--processes", type=int, default=PROCESSES, help="at a time (default: %(default)s)")
    options = parser.parse_args()
    kinds = [kind for kind in host_processes.KINDS if not options.only or kind.__name__ in options.only]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder) / "host.db", options.seed, kinds, options.processes)
        run.until(options.commits, options.kills_every)
        seconds = time.monotonic() - begin
        faults = verify(run)
    print(f"{seconds:.0f} s:", *(f"{count} {what}," for what, count in run.counts.most_common()))
    print(*faults or ["nothing is lost"], sep="\n")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
