"""``python -m tests.trials.crash.full_disk WAY OPERATION FOLDER``: run an operation on a full disk.

The first attempt has no free space, and each further attempt has a little more, until the operation succeeds.
Each failed attempt must raise `DiskFull` and no other error. It must change nothing, except that an operation
of several commits may leave the first of them, each complete. The index must stay healthy and readable, and
the operation must succeed once there is space.

WAY is "limit", which forbids this process to write files beyond a size, or "disk", which fills the disk that
is mounted at FOLDER.
"""

import os
import resource
import shutil
import sys
from pathlib import Path

import docindex
from tests.trials.crash import program
from tests.trials.crash.program import contents


class FileSizeLimit:
    """Limit the space by the size that files may have."""

    def __init__(self, folder):
        pass

    def leave(self, size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def release(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class SmallDisk:
    """Limit the space by filling a small disk with another file."""

    def __init__(self, folder):
        self._ballast = folder / "ballast"

    def leave(self, size):
        disk = os.statvfs(self._ballast.parent)
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_frsize - size or 1)

    def release(self):
        self._ballast.unlink(missing_ok=True)


WAYS = {"limit": FileSizeLimit, "disk": SmallDisk}
MANY = [(f"many/{number}", program.text_of(100 + number)) for number in range(12)]


def add_until(index):
    for number in range(16):
        index.add(f"one/{number:03}", program.text_of(1000 + number))


def look_at_backup(index):
    with docindex.open(f"{index.path}.backup", readonly=True) as backup:
        assert backup.check() == []
        assert contents(backup) == contents(index)


# Each operation, and by how many bytes the free space grows between attempts.
OPERATIONS = {
    "add": (lambda index: index.add("new", program.text_of(99)), 32_768),
    "add instead": (lambda index: index.add("7", program.text_of(98), meta=[1]), 32_768),
    "add one by one": (add_until, 250_000),
    "add many": (lambda index: index.add_many(MANY, workers=1), 80_000),
    "remove": (lambda index: "7" in index and index.remove("7"), 8192),
    "rename": (lambda index: "7" in index and index.rename("7", "seven"), 4096),
    "optimize": (docindex.Index.optimize, 50_000),
    "backup": (lambda index: index.backup(f"{index.path}.backup"), 50_000),
}


def build(path):
    with docindex.open(path) as index:
        for number in range(30):
            index.add(f"{number}", program.text_of(number))
        for number in range(10, 20):
            index.remove(f"{number}")


def sweep(space, folder, name):
    """Attempt an operation with more and more space; returns how many attempts failed."""
    operation, more = OPERATIONS[name]
    base, path = folder / "base", folder / "index"
    build(base)
    for times in range(200):
        for old in folder.glob("index*"):
            old.unlink()
        shutil.copy(base, path)
        with docindex.open(path) as index:
            before = contents(index)
            space.leave(times * more)
            try:
                operation(index)
            except docindex.DiskFull:
                left = sorted(path.name for path in folder.glob("index.backup*"))
                assert left == [], f"a backup that failed left {left}, which takes up room"
            else:
                space.release()
                if name == "backup":
                    look_at_backup(index)
                return times
            found = contents(index)
            assert index.check() == [], (times, index.check())
            # The commits that are there are the first ones, in their order; the failed one left nothing.
            new = [key for key in found if key not in before]
            assert {**before, **found} == found, times
            assert new == [] or (name, new) in (
                ("add one by one", [f"one/{number:03}" for number in range(len(new))]),
                ("add many", sorted(key for key, _ in MANY[: len(new)])),
            )
            space.release()
            operation(index)
            after = contents(index)
            if name == "backup":
                look_at_backup(index)
            assert index.check() == [], (times, index.check())
        with docindex.open(path) as index:
            assert contents(index) == after
            assert index.check() == []
    raise AssertionError("no amount of space is enough")


def opening(space, folder, name):
    """Open or make an index with more and more space; returns how many attempts failed."""
    base, path = folder / "base", folder / "index"
    build(base)
    failed = 0
    for times in range(200):
        for old in folder.glob("index*"):
            old.unlink()
        if name != "make":
            shutil.copy(base, path)
        space.leave(times * 4096)
        try:
            docindex.open(path, readonly=name == "open for reading").close()
        except docindex.DiskFull:
            failed += 1
            enough = False
        else:
            enough = True
        space.release()
        with docindex.open(path) as index:
            assert len(index) == (0 if name == "make" else 20)
            assert index.check() == []
        if enough:
            return failed
    raise AssertionError("no amount of space is enough")


OPENINGS = ("make", "open", "open for reading")


def main(way, name, folder):
    program.shrink()
    space = WAYS[way](Path(folder))
    failed = (opening if name in OPENINGS else sweep)(space, Path(folder), name)
    space.release()
    print(f"{way}, {name}: {failed} attempts failed for lack of space")
    if name not in OPENINGS:
        assert failed > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
