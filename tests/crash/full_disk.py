"""``python -m tests.crash.full_disk WAY OPERATION FOLDER``: what an operation does when room ends.

Begins with no room at all and gives a little more each time, until the operation succeeds. Each time
before that it must raise `DiskFull` and nothing else, change nothing (of several commits: leave some,
whole), leave the index healthy and readable, and succeed when there is room again.

Ways: "limit" forbids this process to write files beyond a size, "disk" fills the disk that FOLDER is.
"""

import os
import resource
import shutil
import sys
from pathlib import Path

import docindex
from tests.crash import program
from tests.crash.kill import contents


class Limit:
    """Room as the size that files may have."""

    def __init__(self, folder):
        pass

    def leave(self, size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def give_back(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Disk:
    """Room as what is free on a small disk."""

    def __init__(self, folder):
        self._ballast = folder / "ballast"

    def leave(self, size):
        disk = os.statvfs(self._ballast.parent)
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_frsize - size or 1)

    def give_back(self):
        self._ballast.unlink(missing_ok=True)


WAYS = {"limit": Limit, "disk": Disk}
MANY = [(f"many/{number}", program.text_of(100 + number)) for number in range(12)]


def add_until(index):
    for number in range(40):
        index.add(f"one/{number:03}", program.text_of(1000 + number))


def look_at_backup(index):
    with docindex.open(f"{index.path}.backup", readonly=True) as backup:
        assert backup.check() == []
        assert contents(backup) == contents(index)


# What is done, and by how many bytes the room grows each time.
OPERATIONS = {
    "add": (lambda index: index.add("new", program.text_of(99)), 32_768),
    "add instead": (lambda index: index.add("7", program.text_of(98), meta=[1]), 32_768),
    "add one by one": (add_until, 400_000),
    "add many": (lambda index: index.add_many(MANY, workers=1), 80_000),
    "remove": (lambda index: "7" in index and index.remove("7"), 8192),
    "rename": (lambda index: "7" in index and index.rename("7", "seven"), 4096),
    "optimize": (docindex.Index.optimize, 80_000),
    "backup": (lambda index: index.backup(f"{index.path}.backup"), 50_000),
}


def build(path):
    with docindex.open(path) as index:
        for number in range(60):
            index.add(f"{number}", program.text_of(number))
        for number in range(20, 40):
            index.remove(f"{number}")


def sweep(room, folder, name):
    """Do an operation with more and more room; gives how often there was too little."""
    operation, more = OPERATIONS[name]
    base, path = folder / "base", folder / "index"
    build(base)
    for times in range(200):
        for old in folder.glob("index*"):
            old.unlink()
        shutil.copy(base, path)
        with docindex.open(path) as index:
            before = contents(index)
            room.leave(times * more)
            try:
                operation(index)
            except docindex.DiskFull:
                left = sorted(path.name for path in folder.glob("index.backup*"))
                assert left == [], f"a backup that failed left {left}, which takes up room"
            else:
                room.give_back()
                if name == "backup":
                    look_at_backup(index)
                return times
            found = contents(index)
            assert index.check() == [], (times, index.check())
            # Several commits keep the order they were made in; one that failed left nothing.
            new = [key for key in found if key not in before]
            assert {**before, **found} == found, times
            assert new == [] or (name, new) in (
                ("add one by one", [f"one/{number:03}" for number in range(len(new))]),
                ("add many", sorted(key for key, _ in MANY[: len(new)])),
            )
            room.give_back()
            operation(index)
            after = contents(index)
            if name == "backup":
                look_at_backup(index)
            assert index.check() == [], (times, index.check())
        with docindex.open(path) as index:
            assert contents(index) == after
            assert index.check() == []
    raise AssertionError("no room is enough")


def opening(room, folder, name):
    """Open an index, or make one, with more and more room; gives how often there was too little."""
    base, path = folder / "base", folder / "index"
    build(base)
    missed = 0
    for times in range(200):
        for old in folder.glob("index*"):
            old.unlink()
        if name != "make":
            shutil.copy(base, path)
        room.leave(times * 4096)
        try:
            docindex.open(path, readonly=name == "open for reading").close()
        except docindex.DiskFull:
            missed += 1
            enough = False
        else:
            enough = True
        room.give_back()
        with docindex.open(path) as index:
            assert len(index) == (0 if name == "make" else 40)
            assert index.check() == []
        if enough:
            return missed
    raise AssertionError("no room is enough")


OPENINGS = ("make", "open", "open for reading")


def main(way, name, folder):
    program.shrink()
    room = WAYS[way](Path(folder))
    done = (opening if name in OPENINGS else sweep)(room, Path(folder), name)
    room.give_back()
    print(f"{way}, {name}: no room {done} times")
    if name not in OPENINGS:
        assert done > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
