"""Run readers and writers on one file, each in its own process; every answer must show one commit's state.

The documents are in groups. Each commit of a writer gives all documents of a group texts of the same version.
So a reader that sees two versions in a group has seen half a commit. The writers also add, rename and remove
single documents, and optimize.
"""

import collections
import contextlib
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import docindex
from docindex import Recipe
from docindex.storage.rows import contents, document_lookup
from tests.storage.answers import looked_up
from tests.storage.texts import prose

RECIPE = Recipe(k=12, window=8, slots=16, features=(4, 4, 2))
GROUPS, MEMBERS = 4, 6
READERS, WRITERS = 4, 2


def text_of(group, member, version):
    """The text of a document in a version. Some documents have the same text after the first words."""
    return f"version {version} of {group}/{member} " + prose(random.Random(version * 31 + member % 3), 150)


def items(group, version):
    """The documents that one commit writes."""
    return [(f"{group}/{member}", text_of(group, member, version), version) for member in range(MEMBERS)]


def write(path, seconds, number, timeout_s=10.0):
    """Commit new versions of groups, and other changes now and then; returns how often each was done."""
    rng, counts = random.Random(number), collections.Counter()
    loose = f"loose {number}"
    until = time.monotonic() + seconds
    with docindex.open(path, durability="normal", timeout_s=timeout_s) as index:
        while time.monotonic() < until:
            counts["commits"] += 1
            version = number * 1_000_000 + counts["commits"]
            choice = rng.random()
            with _busy_after(timeout_s, counts):
                if choice < 0.7:
                    index.add_many(items(rng.randrange(GROUPS), version), workers=1)
                elif choice < 0.8:
                    index.add(
                        loose, text_of("loose", 0, version), meta=version, store_text=rng.random() < 0.5
                    )
                elif choice < 0.87 and loose in index:
                    index.rename(loose, f"{loose} renamed")
                    index.remove(f"{loose} renamed")
                elif choice < 0.9:
                    index.optimize()
                    counts["optimizations"] += 1
                else:
                    index.add(f"pile {version}", prose(rng, 60))
                    counts["piled"] += 1
    return counts


def read(path, seconds, number, timeout_s=10.0):
    """Look at groups, in one transaction and through public calls; returns how often each was done."""
    rng, counts = random.Random(number), collections.Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        # The file is opened again now and then, because opening and closing clean up the journal.
        with docindex.open(path, readonly=number % 2 == 1, timeout_s=timeout_s) as index:
            for _ in range(rng.randrange(1, 60)):
                with _busy_after(timeout_s, counts):
                    look(index, rng, counts)
    return counts


def look(index, rng, counts):
    """Look at the index once. Raises `AssertionError` if it does not show one commit's state."""
    counts["looks"] += 1
    group = rng.randrange(GROUPS)
    version = _look_in_one_transaction(index, group, deep=rng.random() < 0.3)
    # The next answers show this commit or a later commit, but never half a commit.
    text = index.text(f"{group}/0")
    assert text == text_of(group, 0, int(text.split()[1])), text[:60]
    document = index[f"{group}/1"]
    assert document.characters == len(text_of(group, 1, document.meta)), document
    assert document.id > 0
    if rng.random() < 0.3:
        own = {match.key: match for match in index.search(docindex.Key(f"{group}/0"), limit=None)}
        assert (own[f"{group}/0"].containment, own[f"{group}/0"].reverse_containment) == (1.0, 1.0)
        counts["searches"] += 1
    if rng.random() < 0.03:
        pairs = [(pair.a, pair.b) for pair in index.pairs(min_resemblance=0.9)]
        assert len(pairs) == len(set(pairs))
        counts["pairs"] += 1
    if rng.random() < 0.1:
        keys = list(index)
        assert keys == sorted(set(keys)), "an iteration must give each key once, in order"
        assert {f"{group}/{member}" for group in range(GROUPS) for member in range(MEMBERS)} <= set(keys)
        stats = index.stats()
        assert stats.documents >= GROUPS * MEMBERS
        counts["iterations"] += 1
    if rng.random() < 0.03:
        assert index.check() == []
        counts["checks"] += 1
    return version


def _look_in_one_transaction(index, group, *, deep):
    with index._store.reading() as db:
        documents = [document_lookup.get(db, f"{group}/{member}") for member in range(MEMBERS)]
        versions = {document.meta for document in documents}
        assert len(versions) == 1, f"half a commit: {versions}"
        (version,) = versions
        for member, document in enumerate(documents):
            assert contents.text_of(db, document.content) == text_of(group, member, version)
        if not deep:
            return version
        # The inverted index shows the same commit: each document is found by all its fingerprints.
        for document in documents:
            hashes, _ = contents.fingerprints_of(db, document.content, index.recipe.window)
            hashes = np.unique(hashes)
            places, found = looked_up(db, hashes)
            mine = places[found == document.content]
            assert mine.tolist() == list(range(len(hashes))), "a fingerprint is not in the inverted index"
        existing = {content for (content,) in db.execute("select id from docindex_content")}
        dead = {content for (content,) in db.execute("select content from docindex_dead")}
        assert set(found.tolist()) <= existing | dead
    return version


@contextlib.contextmanager
def _busy_after(timeout_s, counts):
    began = time.monotonic()
    try:
        yield
    except docindex.Busy:
        waited = time.monotonic() - began
        assert waited >= 0.9 * timeout_s, f"`Busy` after {waited:.2f} s, before the time-out"
        counts["busy"] += 1


def run(folder, seconds, *, timeout_s=10.0):
    """Run all processes for some seconds; returns how often each thing was done. Raises for any fault."""
    path = str(Path(folder) / "index")
    with docindex.open(path, recipe=RECIPE) as index:
        index.add_many([item for group in range(GROUPS) for item in items(group, 0)], workers=1)
    command = (
        "import sys, json\nfrom tests.trials.stress import program\n"
        "print(json.dumps(program.{}({!r}, {}, {}, {})))"
    )
    roles = [("write", number) for number in range(1, WRITERS + 1)]
    roles += [("read", number) for number in range(READERS)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", command.format(role, path, seconds, number, timeout_s)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for role, number in roles
    ]
    counts, errors = collections.Counter(), []
    for (role, number), process in zip(roles, processes, strict=True):
        try:
            out, error = process.communicate(timeout=seconds + 60)
        except subprocess.TimeoutExpired:
            process.kill()
            out, error = process.communicate()
            error = f"no end within a minute after its time\n{error}"
        if process.returncode or error:
            errors.append(f"{role} {number} ended with {process.returncode}: {error}")
        else:
            counts.update(json.loads(out))
    assert not errors, "\n".join(errors)
    with docindex.open(path) as index:
        assert index.check() == []
        for group in range(GROUPS):
            _look_in_one_transaction(index, group, deep=True)
        index.optimize()
        assert index.check() == []
        assert index.stats().dead == 0
    assert [entry.name for entry in Path(folder).iterdir()] == ["index"]
    return counts


def threads(index, seconds, least=4):
    """Use one `Index` in two writing and three reading threads; returns how often each thing was done.

    They work for some seconds, and for as long as it takes to commit and to look `least` times.
    """
    counts, errors = collections.Counter(), []
    index.add_many([item for group in range(GROUPS) for item in items(group, 0)], workers=1)
    until = time.monotonic() + seconds

    def is_enough():
        return time.monotonic() > until and min(counts["commits"], counts["looks"]) >= least

    def guarded(work):
        try:
            while not (is_enough() or errors):
                work()
        except BaseException as error:
            errors.append(error)

    def writer(number):
        rng = random.Random(number)

        def work():
            counts["commits"] += 1
            version = number * 1_000_000 + counts["commits"]
            if rng.random() < 0.9:
                index.add_many(items(rng.randrange(GROUPS), version), workers=1)
            elif rng.random() < 0.5:
                index.optimize()
            else:
                index.add(f"loose {number}", str(version))
                index.remove(f"loose {number}")

        return work

    def reader(number):
        rng = random.Random(number)
        return lambda: look(index, rng, counts)

    workers = [
        threading.Thread(target=guarded, args=(make(number),))
        for make, number in [(writer, 1), (writer, 2), (reader, 3), (reader, 4), (reader, 5)]
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    assert index.check() == []
    return counts
