"""``python -m tests.crash.kill 300``: kill a writing program 300 times, and examine the file that it leaves.

The program is killed with SIGKILL at a random moment of a call. Afterwards the file must be healthy, and
every call that had returned must be there completely. The call under way must be there completely or not at
all; of `add_many`, the first commits may be there. The next round continues with that file. Only the process
is killed, so this does not show what a loss of power does to the disk.
"""

import argparse
import collections
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import docindex
from docindex.storage.segments import all_segments
from tests.crash import program

ROOT = Path(__file__).parents[2]
VERBS = ("add", "add_many", "remove", "rename", "optimize", "backup")
_ROUNDS_A_FILE = 25


def kills(folder, count, seed):
    """Kill `count` times; returns how often each call was under way. Raises `AssertionError` on a fault."""
    rng = random.Random(seed)
    met = collections.Counter()
    state = {}
    for number in range(count):
        durability = ("full", "normal")[number % 2]
        path = folder / f"{number // _ROUNDS_A_FILE}.docindex"
        if number % _ROUNDS_A_FILE == 0:
            state = {}
        moment = f"kill {number} of seed {seed} on {path}, {durability}"
        state, call = one_kill(path, durability, state, rng, moment, met)
        met[call[0]] += 1
    return met


def one_kill(path, durability, state, rng, moment, met):
    """Let the program change the index, and kill it; returns the new state and the call under way."""
    # Half of the time this process has the file open, so that locks and the journal outlive the kill.
    witness = docindex.open(path) if state and rng.random() < 0.5 else None
    command = [sys.executable, "-m", "tests.crash.program", str(path), durability, str(rng.randrange(2**32))]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        some = 0 if not path.exists() else rng.randrange(1, 60)  # a new file is killed while it is being made
        wanted_verb = rng.choice(VERBS) if some else "open"
        lines = []
        while (
            sum(line[0] == "begin" for line in lines) <= some
            or lines[-1][0] != "begin"
            or lines[-1][1][0] != wanted_verb
        ):
            line = process.stdout.readline()
            assert line, f"{moment}: the program ended by itself after {lines[-1:]}"
            lines.append(json.loads(line))
        # Half of the calls take less than a millisecond, some take twenty.
        time.sleep(rng.random() * rng.choice((0.0005, 0.003, 0.02)))
        process.kill()
        lines += map(json.loads, process.stdout.read().splitlines())
    returned = [call for word, call in lines if word == "end"]
    last = max(place for place, line in enumerate(lines) if line[0] == "begin")
    commits = [size for word, size in lines[last + 1 :] if word == "commit"]
    under_way = lines[last][1] if lines[-1][0] != "end" else ["nothing"]
    for call in returned:
        state = program.after(state, call)
    allowed = [state]
    if under_way[0] == "add_many":
        # The last commit that began may or may not be there. All commits before it must be.
        ends = [0, *itertools.accumulate(commits)][-2:]
        allowed = [program.after(state, under_way, end) for end in ends]
    elif under_way[0] != "open":
        allowed.append(program.after(state, under_way))
    if witness is not None:
        with witness:
            assert witness.check() == [], f"{moment}, seen by a connection that was open: {witness.check()}"
            witnessed = contents(witness)
            witness.add("witness", "was here")
            witness.remove("witness")
            assert contents(witness) == witnessed, f"{moment}: a connection that was open cannot write"
    found = look(path, durability, rng, moment, met, made=["open"] in returned)
    assert found in [expected(one) for one in allowed], (
        f"{moment}: after {len(returned)} calls and during {under_way}, "
        f"found {short(found)}, not {short(expected(state))}"
    )
    assert witness is None or witnessed == found, f"{moment}: a connection that was open saw something else"
    look_at_backup(path, expected(state), returned, under_way, moment)
    return next(one for one in allowed if expected(one) == found), under_way


def look(path, durability, rng, moment, met, *, made):
    """Check the file and return what it holds. Half of the time, a reader opens it first."""
    if made and rng.random() < 0.5:
        with docindex.open(path, readonly=True) as index:
            before = contents(index)
            assert index.check() == [], f"{moment}, opened for reading only: {index.check()}"
    else:
        before = None
    with docindex.open(path, durability=durability) as index:
        assert index.check() == [], f"{moment}: {index.check()}"
        found = contents(index)
        with index._store.reading() as db:
            segments = all_segments(db)
        met["a merge under way"] += any(segment.moved is not None for segment in segments)
    assert before in (None, found), f"{moment}: a reader and a writer see different states"
    return found


def look_at_backup(path, held, returned, under_way, moment):
    """A backup is complete or missing. If the last `backup` call has returned, it must be there."""
    backup = Path(f"{path}.backup")
    last = next((call for call in reversed(returned) if call[0] == "backup"), None)
    if backup.exists():
        with docindex.open(backup, readonly=True) as index:
            assert index.check() == [], f"{moment}: {index.check()} in the backup"
            # (While a backup is being made, the file may be the one before.)
            if returned[-1:] == [["backup"]] and under_way != ["backup"]:
                assert contents(index) == held, f"{moment}: the backup holds something else"
    elif under_way != ["backup"]:
        assert last is None, f"{moment}: the backup is missing"


def contents(index):
    return {key: (index.text(key), index.meta(key)) for key in index}


def expected(state):
    return {key: (program.text_of(number), meta) for key, (number, meta) in state.items()}


def short(state):
    return {key: (text if text is None else text[-12:], meta) for key, (text, meta) in sorted(state.items())}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.crash.kill", description=__doc__)
    parser.add_argument(
        "count", nargs="?", type=int, default=300, help="how many kills (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        met = kills(Path(folder), options.count, options.seed)
    print(f"{options.count} kills in {time.monotonic() - begin:.0f} s, nothing lost. These were under way:")
    for what, count in met.most_common():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
