"""``python -m tests.trials.crash.act_storm``: disturb and kill `act` and `undo`, and look for lost bytes.

Six storms, each of rounds with a folder of copies, hard links, copied folders and repositories:

- replacements: people change files between the plan and the act; then the act is undone.
- kills: `act` and `undo` are killed with SIGKILL at random moments and run again; then all is undone.
- writers: a program appends to files, rewrites them, replaces them as editors do, and maps them into its
  memory, and keeps them open for a while, during the act; then the act is undone.
- pairs: two acts run at once, with the same plan or with plans that contradict each other, each with a lock
  of its own, as those of two users have.
- links: folders are swapped for links to other folders, and back, during acts and undos.
- disks: the disk is unmounted during an act, is away during an undo, and comes back.

After each round every byte string that existed, or that a program wrote last to a file, must exist: in its
place, in the trash, or under the name of a kept file. What is undone must have the same bytes, names, times,
owners, modes and attributes as before, and nothing temporary stays behind.
``python -m tests.trials.crash.act_storm`` makes 3,000 rounds; the test makes a few of each storm.
"""

import argparse
import collections
import contextlib
import ctypes
import functools
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from docindex import folders
from docindex.errors import Busy
from docindex.folders.acting.acts import list_acts

HOWS = ("trash", "hardlink", "delete")
OLD_NS = 10**18
_PATIENCE_S = 600
_C = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD, _RENAME_EXCHANGE, _CLONE_NEWNS = -100, 2, 0x20000
_NO_MOUNTS = 77
"""The exit code of a child that cannot mount a file system."""
_LONGEST = 1 << 20
"""Bytes; more than any file has."""


class World:
    """A folder with groups of copies, and a trash and journals of its own."""

    def __init__(self, folder, rng, groups):
        self.rng = rng
        self.how = rng.choice(HOWS)
        self.folder = folder
        self.root = folder / "root"
        self.journal = folder / "journal"
        for name in ("root/one", "root/two/deep", "data", "state"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        use_state(folder / "state")
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        for number in range(groups):
            data = rng.randbytes(rng.choice((1, 100, 5000, 70_000))) + b"group %d" % number
            for copy in range(rng.randrange(2, 5)):
                name = rng.choice(("", "one/", "two/", "two/deep/")) + f"{number}-{copy}"
                self.write(name, data)
                if rng.random() < 0.1:
                    (self.root / f"{name}-linked").hardlink_to(self.root / name)
        for name in ("one", "two"):
            repository = self.root / name / ".git"
            (repository / "objects").mkdir(parents=True)
            for part, data in (("HEAD", b"ref: main"), ("config", b"[core]"), ("objects/1", b"a commit")):
                self.write(f"{name}/.git/{part}", data)
        if rng.random() < 0.5:
            shutil.copytree(self.root / "one", self.root / "copy of one")

    def write(self, name, data):
        """Make a file with a random time, mode and owner."""
        path = self.root / name
        path.write_bytes(data)
        if self.how != "hardlink":  # a link does not replace a file with another mode or owner
            with contextlib.suppress(OSError):  # some temporary file systems have no attributes
                os.setxattr(path, "user.tag", self.rng.randbytes(3))
            if os.geteuid() == 0 and self.rng.random() < 0.3:
                os.chown(path, self.rng.randrange(5), self.rng.randrange(5))
            path.chmod(self.rng.choice((0o644, 0o600, 0o755)))
        os.utime(path, ns=(OLD_NS, OLD_NS + self.rng.randrange(10**12)))

    def plan(self, **options):
        """A plan to remove all copies."""
        return folders.find_exact([self.root], options=folders.WalkOptions(hidden=True), **options).plan()

    def act(self, plan, how, journal=None):
        return folders.act(plan, how, journal=journal or self.journal)

    def act_anew(self):
        """Act on a plan of the files as they are now: those that `undo` copied have other inodes."""
        self.act(folders.Plan(()), self.how)  # restores the file of an act that was interrupted
        return self.act(self.plan(), self.how)

    def undo_all(self):
        """Undo every act; returns what was left."""
        if not self.journal.exists():
            return []
        return [file for file in folders.undo("all", journal=self.journal).files if not file.is_back]

    def contents(self):
        """All byte strings: those of the folder and those in the trash."""
        return {path.read_bytes() for path in files_below(self.folder / "root", self.folder / "data")}

    def facts(self):
        """What must be the same after `undo`, by path."""
        return {path: facts_of(path) for path in files_below(self.root)}

    def check_nothing_temporary(self, left=()):
        """Only old files may stay whose paths other files have now: `undo` has named them."""
        named = " ".join(str(file.reason) for file in left)
        found = [path.name for path in self.root.rglob(".docindex-*") if path.name not in named]
        assert found == [], f"temporary files are left: {found}; undo left {left}"


def use_state(folder):
    os.environ["XDG_STATE_HOME"] = str(folder)


def files_below(*roots):
    return [path for root in roots for path in root.rglob("*") if path.is_file() and not path.is_symlink()]


def facts_of(path):
    status = path.stat()
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    return path.read_bytes(), status.st_mtime_ns, status.st_mode, status.st_uid, status.st_gid, attributes


def forked(call):
    """Run a call in a child process; returns its id."""
    sys.stdout.flush()
    with warnings.catch_warnings():
        # Newer Pythons warn if there are other threads, such as those of pytest-xdist; the child uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    code = 1
    try:
        call()
        code = 0
    except Busy:
        code = 8
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def replacements(folder, rng, count, met):
    """Change files between the plan and the act."""
    world = World(folder, rng, groups=30)
    plan, how = world.plan(), world.how
    for number in range(count):
        path = rng.choice(files_below(world.root))
        match rng.randrange(6):
            case 0:
                path.unlink()
            case 1:
                with path.open("ab") as file:
                    file.write(b"more %d" % number)
            case 2:
                path.rename(path.with_name(f"renamed {number}"))
            case 3:
                new = path.with_name(f"new {number}")
                new.write_bytes(rng.choice((path.read_bytes(), b"a new version %d" % number)))
                new.rename(path)
            case 4:
                path.unlink()
                path.symlink_to(rng.choice(files_below(world.root)))
            case _:
                status = path.stat()
                path.write_bytes(rng.randbytes(status.st_size))
                os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
        met["replacements"] += 1
    before, facts = world.contents(), world.facts()
    outcome = world.act(plan, how)
    met.update(f"{how}: {file.outcome}" for file in outcome.files)
    assert before <= world.contents(), f"{how} lost bytes"
    done = {file.key for file in outcome.files if file.outcome == "done"}
    for path, known in facts.items():
        assert str(path) in done or facts_of(path) == known, path
    assert world.undo_all() == []
    assert world.facts() == facts, f"{how} was not undone"
    world.check_nothing_temporary()


def kills(folder, rng, count, met):
    """Kill `act` and `undo` at random moments."""
    world = World(folder, rng, groups=40)
    how = world.how
    before, facts = world.contents(), world.facts()
    killed = 0
    while killed < count:
        undoes = rng.random() < 0.5
        child = forked(world.undo_all if undoes else world.act_anew)
        time.sleep(rng.random() ** 2 * 0.15)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            met["kills of undo" if undoes else "kills of act"] += 1
            killed += 1
        else:
            assert os.WEXITSTATUS(status) == 0, "a program that was to be killed failed"
            met["ended before the kill"] += 1
        lost = before - world.contents()
        assert not lost, f"a kill during {'undo' if undoes else how} lost {lost}"
    world.act_anew()
    world.check_nothing_temporary()
    left = world.undo_all()
    assert left == [], left
    assert world.facts() == facts, f"{how} was not undone after kills"
    assert {act.state for act in list_acts(world.journal)} <= {"undone"}


class Writer:
    """A program that writes to the files of a folder, and knows what it wrote last to each."""

    def __init__(self, world, rng):
        self._world = world
        self._rng = rng
        self._paths = sorted(files_below(world.root))
        self._last = {}
        self.count = 0

    def run(self, count):
        """Write `count` times; returns a descriptor of each file that it wrote to and did not replace."""
        for _ in range(count):
            path = self._rng.choice(self._paths)
            write = self._rng.choice((self._append, self._rewrite, self._replace, self._map))
            with contextlib.suppress(FileNotFoundError):  # act has removed it
                write(path, b"%d written by %d " % (self.count, os.getpid()))
                self.count += 1
            time.sleep(self._rng.random() * 0.004)
        return list(self._last.values())

    def _append(self, path, token):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:
            self._linger()
            file.write(token)
            self._linger()
            file.write(b"LATE")
            self._note(file.fileno())

    def _rewrite(self, path, token):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_TRUNC), "wb", buffering=0) as file:
            self._linger()
            file.write(token)
            self._note(file.fileno())

    def _replace(self, path, token):
        new = path.with_name(f".{path.name}.save")
        with new.open("wb") as file:
            file.write(token)
            file.flush()
            self._note(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            self._last.pop((status.st_dev, status.st_ino), None)  # the program itself replaces this one
        new.rename(path)

    def _map(self, path, token):
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            self._linger()
            size = min(len(memory), len(token))
            memory[:size] = token[:size]
            self._linger()
            memory[-1:] = b"!"
            self._note(file.fileno())

    def _linger(self):
        time.sleep(self._rng.random() * self._rng.choice((0.001, 0.01, 0.05)))

    def _note(self, written):
        """Remember an open file. The descriptor keeps its inode from being used for another file."""
        status = os.fstat(written)
        identity = status.st_dev, status.st_ino
        if identity not in self._last:
            self._last[identity] = os.open(f"/proc/self/fd/{written}", os.O_RDONLY)


def writers(folder, rng, count, met):
    """Write to files during the act."""
    world = World(folder, rng, groups=30)
    how = world.how
    originals = world.facts()
    result = folder / "written.json"
    seed = rng.random()

    def write():
        writer = Writer(world, random.Random(seed))
        last = writer.run(count)
        now = [os.pread(descriptor, _LONGEST, 0).hex() for descriptor in last]
        result.write_text(json.dumps({"count": writer.count, "files": now}))

    child = forked(write)
    outcomes = collections.Counter()
    deadline = time.monotonic() + _PATIENCE_S
    is_over = False
    while not is_over:  # once at least: on a busy machine the writer may end before this begins
        assert time.monotonic() < deadline, "the writer hangs"
        for file in world.act_anew().files:
            if file.outcome == "done" or "use by another" in (file.reason or ""):
                outcomes[f"{file.outcome} {file.reason or ''}".strip()] += 1
        if rng.random() < 0.7:  # so that the next act has something to do
            world.undo_all()
        is_over = os.waitpid(child, os.WNOHANG) != (0, 0)
    written = json.loads(result.read_text())
    found = world.contents()
    for content in map(bytes.fromhex, written["files"]):
        assert content in found, f"{how} lost {content[:80]!r}"
    met["writings"] += written["count"]
    met["files written to"] += len(written["files"])
    met.update({f"during writings: {name}": number for name, number in outcomes.items()})
    left = world.undo_all()
    back = world.contents()
    for content in map(bytes.fromhex, written["files"]):
        assert content in back, f"undo of {how} lost {content[:80]!r}"
    met["during writings: not undone"] += len(left)
    met["files not written to, the same after undo"] += sum(
        path.exists() and facts_of(path) == known for path, known in originals.items()
    )
    world.check_nothing_temporary(left)


def pairs(folder, rng, count, met):
    """Run two acts at once, again and again."""
    for number in range(count):
        here = folder / f"{number}"
        here.mkdir()
        one_pair(World(here, rng, groups=12), rng, met)


def one_pair(world, rng, met):
    """Run two acts at once, and undo both."""
    second = rng.choice(("first", "newest", "newest"))
    plans = [world.plan(keep="first"), world.plan(keep=second)]
    shares_lock, how = rng.random() < 0.3, world.how
    before, facts = world.contents(), world.facts()

    def run(place):
        if not shares_lock:
            use_state(world.folder / f"state {place}")
        world.act(plans[place], how, world.folder / f"journal {place}")

    children = [forked(functools.partial(run, place)) for place in range(2)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert set(codes) <= {0, 8}, codes
    met[f"pairs: {'one was refused' if 8 in codes else 'both ran'}"] += 1
    lost = before - world.contents()
    assert not lost, f"two acts lost {lost}"
    journals = sorted(world.folder.glob("journal *"))
    for journal in [*journals, *journals]:  # a file may be copied from one that the other act has removed
        for act in folders.acts(journal):
            folders.undo(act.number, journal=journal)
    # A link has the time of the kept file; only undoing both acts in turn, step by step, would restore it.
    compared = slice(1) if how == "hardlink" else slice(None)
    found = {path: known[compared] for path, known in world.facts().items()}
    assert found == {path: known[compared] for path, known in facts.items()}, f"{how} twice was not undone"
    world.check_nothing_temporary()


def links(folder, rng, count, met):
    """Swap folders for links to other folders during acts and undos."""
    world = World(folder, rng, groups=12)
    how, facts, before = world.how, world.facts(), world.contents()
    strange = folder / "strange"
    shutil.copytree(
        world.root, strange
    )  # the same names and bytes, so that a path that leads there finds files
    untouched = {path: (facts_of(path), path.stat().st_ino) for path in files_below(strange)}
    stop, seed = folder / "stop", rng.random()

    def swap():
        chance = random.Random(seed)
        while not stop.exists():
            path = world.root / chance.choice(("one", "two", "two/deep"))
            link = folder / "link"
            link.symlink_to(strange / path.relative_to(world.root))
            with contextlib.suppress(FileNotFoundError):  # act has removed the folder
                exchange(link, path)
                time.sleep(chance.random() * 0.002)
                exchange(link, path)
            link.unlink()
            time.sleep(chance.random() * 0.004)

    child = forked(swap)
    try:
        for _ in range(count):
            for file in world.act_anew().files:
                met[
                    f"links: {file.outcome} {'through a link' if 'link,' in (file.reason or '') else ''}"
                ] += 1
            met["links: left by undo"] += len(world.undo_all())
    finally:
        stop.touch()
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the swapper failed"
    lost = before - world.contents()
    assert not lost, f"{how} lost {lost}"
    assert {path: (facts_of(path), path.stat().st_ino) for path in files_below(strange)} == untouched, how
    world.act(folders.Plan(()), how)
    left = world.undo_all()
    assert left == [], left
    now = world.facts()
    differing = [
        (str(path), now.get(path, ())[1:], facts.get(path, ())[1:])
        for path in {*now, *facts}
        if now.get(path) != facts.get(path)
    ]
    assert not differing, (how, differing)
    world.check_nothing_temporary()


def exchange(one, other):
    """Exchange two names in one step."""
    if _C.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one))


def disks(folder, rng, count, met):
    """Unmount the disk during an act, undo while it is away, and mount it again."""
    for number in range(count):
        here = folder / f"{number}"
        for name in ("disk", "root"):
            (here / name).mkdir(parents=True)
        seen = here / "met.json"
        child = forked(functools.partial(one_disk, here, random.Random(rng.random()), seen))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, _NO_MOUNTS), "a disk that went away did harm, see above"
        if code == _NO_MOUNTS:
            met["disks: skipped, because no file system can be mounted here"] += 1
        else:
            met.update(json.loads(seen.read_text()))


def one_disk(here, rng, seen):
    """In a namespace of its own: mount a disk, act, and let the disk go away and come back."""
    if (
        _C.unshare(_CLONE_NEWNS)
        or not mounted("--make-rprivate", "/")
        or not mounted("-t", "tmpfs", "none", here / "disk")
    ):
        os._exit(_NO_MOUNTS)
    root = here / "root"
    assert mounted("--bind", here / "disk", root)
    world = World(here, rng, groups=12)
    how, facts, before = world.how, world.facts(), world.contents()
    plan = world.plan()
    child = forked(lambda: world.act(plan, how))
    time.sleep(rng.random() * 0.3)
    subprocess.run(["umount", "--lazy", root], check=True)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    left = world.undo_all()
    assert {file.reason for file in left} <= {
        "its disk is not mounted, or another one is mounted at its path"
    }, left
    assert list(root.iterdir()) == [], "something was written into the mount point"
    assert mounted("--bind", here / "disk", root)
    lost = before - world.contents()
    assert not lost, f"{how} lost {lost}"
    world.act(folders.Plan(()), how)
    again = world.undo_all()
    assert again == [], again
    assert world.facts() == facts, f"{how} was not undone after the disk came back"
    world.check_nothing_temporary()
    seen.write_text(
        json.dumps({"disks: went away": 1, "disks: files left by undo, and restored later": len(left)})
    )


def mounted(*arguments):
    return not subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode


STORMS = {
    "replacements": (replacements, 25),
    "kills": (kills, 10),
    "writers": (writers, 50),
    "pairs": (pairs, 1),
    "links": (links, 3),
    "disks": (disks, 1),
}
"""Each storm, and how many of its events one round has."""


def storm(name, count, seed):
    """Make `count` events of a storm; returns how often each thing was met. `AssertionError` for a fault."""
    met = collections.Counter()
    run, per_round = STORMS[name]
    for number in range(-(-count // per_round)):
        rng = random.Random(f"{name} {seed} {number}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(Path(folder), rng, min(per_round, count), met)
            except AssertionError as fault:
                raise AssertionError(f"round {number} of {name}, seed {seed}: {fault}") from fault
    return met


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.trials.crash.act_storm", description=__doc__)
    parser.add_argument("--storm", choices=STORMS, help="only this one")
    parser.add_argument(
        "--rounds", type=int, default=3000, help="of all storms together (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wanted = [options.storm] if options.storm else list(STORMS)
    for name in wanted:
        began = time.monotonic()
        met = storm(name, -(-options.rounds // len(wanted)) * STORMS[name][1], options.seed)
        print(f"{name}: nothing is lost ({time.monotonic() - began:.0f} s)")
        for what, count in sorted(met.items()):
            print(f"{count:8,} {what}")


if __name__ == "__main__":
    main()
