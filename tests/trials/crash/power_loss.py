"""``python -m tests.trials.crash.power_loss 3000``: cut the power 3000 times, and examine what is left.

A seeded program changes an index while a VFS records what SQLite does to the files. A loss is simulated at a
random moment of the recording: of the writes since the last sync of each file, some are dropped, torn at
sectors, replaced by garbage, or kept although earlier ones are dropped. The files are then opened normally.
Every commit that had returned must be there, whole, and nothing of a later one but the one under way. With
``durability="normal"`` the commits since the last sync may be missing, but only the last of them. The next
recording begins with the files that a loss has left.
"""

import argparse
import collections
import contextlib
import itertools
import random
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import apsw

import docindex
from docindex.index.adding import Target
from tests.trials.crash import program
from tests.trials.crash.recording_vfs import Disk, RecordingVFS

_CALLS = 30
_LOSSES = 25
"""How many losses are simulated in one recording."""
WEAKENED = ("no", "syncs are ignored", "synchronous is off")
"""What a test does to see that losses are found."""


def losses(folder, count, seed, weakened="no"):
    """Simulate losses; returns how often each thing was met, and the faults."""
    rng = random.Random(seed)
    met, faults = collections.Counter(), []
    files, state = {}, {}
    for number in itertools.count():
        if number % 10 == 0:
            files, state = {}, {}
        durability = ("full", "normal")[number % 3 == 2]
        operations = recorded(folder / f"work {number}", files, state, rng, durability, weakened)
        survivors = []
        for moment, left in cut(operations, Disk(files), min(_LOSSES, count - met["losses"]), rng):
            met["losses"] += 1
            met["losses with a log"] += bool(left.get("index-wal"))
            states = allowed(state, operations[:moment], durability)
            try:
                survivors.append((left, survivor(folder / f"after {met['losses']}", left, states)))
                met["losses that undid the call under way"] += (
                    len(states) > 1 and survivors[-1][1] == states[0]
                )
            except AssertionError as fault:
                faults.append(f"{moment} of {len(operations)} in recording {number}, {durability}: {fault}")
        if met["losses"] == count:
            break
        files, state = rng.choice(survivors or [({}, {})])
    return met, faults


def cut(operations, disk, count, rng):
    """Yield random moments, each with what a loss at this moment leaves on the disk."""
    done = 0
    for moment in sorted(rng.randrange(len(operations) + 1) for _ in range(count)):
        for operation in operations[done:moment]:
            if operation[0] != "line":
                disk.do(operation)
        done = moment
        yield moment, disk.after_loss(rng)


def recorded(folder, files, state, rng, durability, weakened):
    """What SQLite does to the files during some calls, with the lines of the program in between."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    operations = []
    vfs = RecordingVFS("recording", operations, files)

    def say(*line):
        operations.append(("line", line))

    with contextlib.ExitStack() as undo:
        undo.callback(vfs.unregister)
        undo.callback(apsw.set_default_vfs, apsw.vfs_names()[0])
        undo.callback(setattr, Target, "commit", Target.commit)
        apsw.set_default_vfs(vfs.name)
        program.announce_commits(say)
        _work(folder / "index", state, rng, durability, weakened, say)
    shutil.rmtree(folder)
    if weakened == "syncs are ignored":
        return [operation for operation in operations if operation[0] != "sync"]
    return operations


def _work(path, state, rng, durability, weakened, say):
    """Make some calls. The index is closed and opened again now and then, and others read from it."""
    calls = (call for call in program.calls(rng, state) if call[0] != "backup")
    left = _CALLS
    while left > 0:
        say("begin", ("open",))
        with docindex.open(path, durability=durability) as index:
            say("end", ("open",))
            if weakened == "synchronous is off":
                index._store._writer.execute("pragma synchronous = off")
            # The log cannot be restarted while somebody reads from it.
            with index._store.reading() if rng.random() < 0.3 else contextlib.nullcontext() as reader:
                if reader is not None:
                    reader.execute("select count(*) from docindex_document").fetchall()
                for call in itertools.islice(calls, rng.randrange(1, 15)):
                    say("begin", call)
                    program.do(index, call)
                    say("end", call)
                    left -= 1
                    if rng.random() < 0.1:
                        checkpoint(index, rng.choice(("passive", "full", "restart", "truncate")))


def checkpoint(index, kind):
    with index._store.alone() as db:
        db.set_busy_timeout(1)
        db.execute(f"pragma wal_checkpoint({kind})").fetchall()


def allowed(state, operations, durability):
    """The states that may be left after these operations."""
    lines = [rest[0] for what, *rest in operations if what == "line"]
    states, returned = program.history(state, lines)
    if durability == "normal":
        synced = [place for place, operation in enumerate(operations) if operation == ("sync", "index-wal")]
        before = operations[: synced[-1] if synced else 0]
        _, returned = program.history(state, [rest[0] for what, *rest in before if what == "line"])
    return states[returned:]


def survivor(path, left, states):
    """Open the files that a loss has left; returns the state that they hold, which is one of these states."""
    path.mkdir()
    for name, data in left.items():
        (path / name).write_bytes(data)
    try:
        with docindex.open(path / "index") as index:
            found = program.contents(index)
            findings = index.check()
            assert not findings, findings
            index.add("afterwards", "one more")
            index.remove("afterwards")
            assert program.contents(index) == found, "a change afterwards changes more"
    except Exception as error:  # Damage shows itself by many errors.
        raise AssertionError(repr(error)) from error
    finally:
        shutil.rmtree(path)
    for state in states:
        if program.expected(state) == found:
            return state
    raise AssertionError(
        f"{len(states)} states are allowed; this differs: {program.differences(found, states[-1])}"
    )


def _share(count, seed):
    program.shrink()
    with tempfile.TemporaryDirectory() as folder:
        return losses(Path(folder), count, seed)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.trials.crash.power_loss", description=__doc__)
    parser.add_argument(
        "count", nargs="?", type=int, default=3000, help="how many losses (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2, help="default: %(default)s")
    options = parser.parse_args()
    begin = time.monotonic()
    share = -(-options.count // options.processes)
    seeds = range(options.seed * 1000, options.seed * 1000 + options.processes)
    met, faults = collections.Counter(), []
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        for some, more in pool.map(_share, [share] * options.processes, seeds):
            met.update(some)
            faults += more
    print(f"{time.monotonic() - begin:.0f} s:", *(f"{count} {what}," for what, count in met.items()))
    print(*faults or ["nothing is lost"], sep="\n")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
