"""``python -m tests.crash.kill 300``: kill a writing program so many times, and look what it left behind.

Each time the program has a call under way, it is killed with SIGKILL at a random moment. Then every
call that had returned must be in the file, whole; of the one under way all or nothing (of
`add_many`, a number of its commits); and the file healthy. The next round goes on with that file.
Only the process is killed: what a loss of power does to the disk this cannot show.
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
    """Kill so many times; gives what was under way how often. Raises `AssertionError` at what is wrong."""
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
    """Let the program change the index for a while and kill it; gives what the index has then."""
    # Half of the time somebody has the file open meanwhile: then its locks and its journal live on.
    witness = docindex.open(path) if state and rng.random() < 0.5 else None
    command = [sys.executable, "-m", "tests.crash.program", str(path), durability, str(rng.randrange(2**32))]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        some = 0 if not path.exists() else rng.randrange(1, 60)  # a new file is hit while it is made
        wished = rng.choice(VERBS) if some else "open"
        lines = []
        while (
            sum(line[0] == "begin" for line in lines) <= some
            or lines[-1][0] != "begin"
            or lines[-1][1][0] != wished
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
        # The last of its commits that began is there or is not, all before it are.
        ends = [0, *itertools.accumulate(commits)][-2:]
        allowed = [program.after(state, under_way, end) for end in ends]
    elif under_way[0] != "open":
        allowed.append(program.after(state, under_way))
    if witness is not None:
        with witness:
            assert witness.check() == [], f"{moment}, who had it open: {witness.check()}"
            witnessed = contents(witness)
            witness.add("witness", "was here")
            witness.remove("witness")
            assert contents(witness) == witnessed, f"{moment}: who had it open cannot write"
    found = look(path, durability, rng, moment, met, made=["open"] in returned)
    assert found in [expected(one) for one in allowed], (
        f"{moment}: after {len(returned)} calls and during {under_way}, "
        f"found {short(found)}, not {short(expected(state))}"
    )
    assert witness is None or witnessed == found, f"{moment}: who had it open saw something else"
    look_at_backup(path, expected(state), returned, under_way, moment)
    return next(one for one in allowed if expected(one) == found), under_way


def look(path, durability, rng, moment, met, *, made):
    """What the file holds, which must be healthy; half of the time it is first met by one who only reads."""
    if made and rng.random() < 0.5:
        with docindex.open(path, readonly=True) as index:
            before = contents(index)
            assert index.check() == [], f"{moment}, reading only: {index.check()}"
    else:
        before = None
    with docindex.open(path, durability=durability) as index:
        assert index.check() == [], f"{moment}: {index.check()}"
        found = contents(index)
        with index._store.reading() as db:
            segments = all_segments(db)
        met["a merge half done"] += any(segment.moved is not None for segment in segments)
    assert before in (None, found), f"{moment}: a reader and a writer do not see the same"
    return found


def look_at_backup(path, held, returned, under_way, moment):
    """A backup is there whole or not at all; and there it is, if its call returned."""
    backup = Path(f"{path}.backup")
    last = next((call for call in reversed(returned) if call[0] == "backup"), None)
    if backup.exists():
        with docindex.open(backup, readonly=True) as index:
            assert index.check() == [], f"{moment}: {index.check()} in the backup"
            # (While one is made, the one before may still be there.)
            if returned[-1:] == [["backup"]] and under_way != ["backup"]:
                assert contents(index) == held, f"{moment}: the backup has something else"
    elif under_way != ["backup"]:
        assert last is None, f"{moment}: the backup is gone"


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
    print(f"{options.count} kills in {time.monotonic() - begin:.0f} s, nothing lost. Under way were:")
    for what, count in met.most_common():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
