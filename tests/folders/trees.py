"""Folders with copies for the tests of plans, `act` and `undo`."""

import os
from pathlib import Path

import docindex
from docindex.folders.acting.acts import chosen_steps
from docindex.folders.acting.journal import Journal
from docindex.folders.acting.restore import undo_steps
from docindex.folders.finding.exact_copies import find_copies, known_files
from docindex.folders.planning.keep_rules import KeepPolicy
from docindex.folders.planning.kept_files import KeepChoice, plan_groups
from docindex.folders.planning.plan import Plan
from docindex.folders.scanning.scanner import scan
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.walk import Skipped, WalkOptions

NAMES = [b"a", b"b.txt", b"caf\xe9", rb"\x41", b"new\nline", b"<script>", b"-rf", "größe".encode()]


def tree(rng, root):
    """Make random folders with copies, hard links, symbolic links, texts and binary files."""
    contents = [rng.randbytes(rng.choice([1, 20, 5000, 40_000])) for _ in range(4)]
    contents += [b"a text of words " * rng.randint(1, 2000) for _ in range(3)]
    # These have equal ends, or equal bytes except at the start.
    contents += [contents[0] + bytes(30_000), rng.randbytes(1) + bytes(30_000), b""]
    folders = [
        root,
        os.path.join(root, b"one"),
        os.path.join(root, b"two"),
        os.path.join(root, b"two", b"deep"),
    ]
    paths = []
    for number in range(rng.randint(2, 25)):
        folder = rng.choice(folders)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, rng.choice(NAMES) + b"%d" % number)
        if paths and rng.random() < 0.2:
            os.link(rng.choice(paths), path)
        elif paths and rng.random() < 0.1:
            os.symlink(rng.choice(paths), path)
            continue
        else:
            with open(path, "wb") as file:
                file.write(rng.choice(contents))
            os.utime(path, ns=(10**18, 10**18 + rng.randrange(5)))
        paths.append(path)
    return paths


def contents_of(root):
    """The bytes of each regular file, by path."""
    return {
        os.path.join(folder, name): Path(os.fsdecode(os.path.join(folder, name))).read_bytes()
        for folder, _, names in os.walk(root)
        for name in names
        if not os.path.islink(os.path.join(folder, name))
    }


def planned(root, **options):
    with docindex.open(":memory:") as index:
        scan(index, [root], options=WalkOptions(hidden=True, ignore=False), workers=1)
        copies = find_copies(index, known_files(index, [key_of(root)]), Skipped())
        return plan_groups(copies, KeepChoice(KeepPolicy(**options)))


def to_json(groups):
    return Plan(tuple(groups)).to_json()


def from_json(text):
    return list(Plan.from_json(text).groups)


def undo(path, *, dry_run, act="all"):
    """Undo the steps of a journal and return what became of each file."""
    with Journal(None if dry_run else path) as journal:
        return list(undo_steps(chosen_steps(path, act, None), journal, dry_run=dry_run))


def copied(root, *names, content=b"the same"):
    """Make files with the same bytes."""
    for name in names:
        with open(os.path.join(root, name), "wb") as file:
            file.write(content)
        os.utime(os.path.join(root, name), ns=(10**18, 10**18))
