"""``python -m tests.crash.program PATH DURABILITY SEED``: change an index until this process is killed.

The program writes a line before each call and another after it has returned. So a reader of its output always
knows what the index must hold; `after` computes what a call changes. The numbers that keep merges
rare are made smaller here, so that a merge is under way nearly all the time.
"""

import itertools
import json
import os
import random
import sys
from pathlib import Path

import docindex
from docindex.index import writer as facade
from docindex.reading import slicing
from docindex.storage import batch_rows, segment_writer

COMMIT = 4_000
"""How many characters of text a commit of `add_many` has in these tests."""
BATCH = 1_000
"""How many characters of text are processed at a time in these tests."""

_WORDS = [
    f"{a}{b}{c}" for a, b, c in itertools.product(("kra", "tol", "mi", "sen"), "aeiou", ("b", "nd", "x"))
]


def text_of(number):
    """A text of up to a few thousand characters, always the same for the same number."""
    rng = random.Random(number)
    words = rng.choices(_WORDS, k=rng.randrange(20, 700)) if number % 40 else []
    return " ".join([*words, f"№ {number}"])


def shrink(setattr=setattr):  # noqa: A002 - a test passes monkeypatch's, which undoes it
    """Make the commits of `add_many` short, and make merges begin often and span many commits."""
    setattr(facade, "_COMMIT", COMMIT)
    # Texts and fingerprints take many rows.
    setattr(slicing, "PIECE_CHARACTERS", BATCH)
    setattr(batch_rows, "FINGERPRINTS_A_PART", 20)
    for name, value in (("_LEAST", 32), ("_BLOCK", 16), ("_MERGED_AT_LEAST", 64), ("_MERGED_PER_POSTING", 1)):
        assert hasattr(segment_writer, name)
        setattr(segment_writer, name, value)
    setattr(segment_writer, "MERGED_AT_A_TIME", 500)


def after(state, call, upto=None):
    """The state after a call. A state maps each key to the number of its text and its meta."""
    verb, *rest = call
    state = dict(state)
    if verb == "add":
        key, number, meta = rest
        state[key] = (number, meta)
    elif verb == "add_many":
        state.update((key, (number, meta)) for key, number, meta in rest[0][:upto])
    elif verb == "remove":
        del state[rest[0]]
    elif verb == "rename":
        state[rest[1]] = state.pop(rest[0])
    return state


def calls(rng, keys):
    """Yield calls without end that fit an index with these keys. They keep the keys at a few dozen."""
    keys = set(keys)
    while True:
        some = rng.choice(sorted(keys)) if keys else None
        verb = rng.choices(
            ("add", "replace", "copy", "remove", "rename", "add_many", "optimize", "backup"),
            (6, 4, 2, 1 + len(keys) // 8, 2, 3, 1, 1),
        )[0]
        new = f"{rng.choice('abcé')}/{rng.randrange(500)}"
        if verb in ("add", "copy") or some is None:
            keys.add(new)
            # A copy has one of a few texts, which many documents have.
            yield (
                "add",
                new,
                rng.randrange(5 if verb == "copy" else 10**6),
                rng.choice((None, [1, {"x": "ü"}])),
            )
        elif verb == "replace":
            yield "add", some, rng.randrange(10**6), None
        elif verb == "remove":
            keys.discard(some)
            yield "remove", some
        elif verb == "rename" and new not in keys:
            keys.discard(some)
            keys.add(new)
            yield "rename", some, new
        elif verb == "add_many":
            documents = [
                (f"many/{rng.randrange(60)}", rng.randrange(10**6), None) for _ in range(rng.randrange(2, 25))
            ]
            keys.update(key for key, _, _ in documents)
            yield "add_many", documents
        elif verb in ("optimize", "backup"):
            yield (verb,)


def do(index, call):
    verb, *rest = call
    match verb:
        case "add":
            key, number, meta = rest
            index.add(key, text_of(number), meta=meta, store_text=True)
        case "add_many":
            index.add_many(((key, text_of(number), meta) for key, number, meta in rest[0]), workers=1)
        case "remove":
            index.remove(*rest)
        case "rename":
            index.rename(*rest)
        case "optimize":
            index.optimize()
        case "backup":
            Path(f"{index.path}.backup").unlink(missing_ok=True)
            index.backup(f"{index.path}.backup")


def say(*what):
    os.write(1, json.dumps(what).encode() + b"\n")  # unbuffered, so that the line outlives the process


def announce_commits(say):
    """Write a line before each commit of `add_many`, with the number of documents in it."""
    commit = facade.Index._commit

    def announced(index, group, *rest):
        say("commit", len(group))
        commit(index, group, *rest)

    facade.Index._commit = announced


def main(path, durability, seed):
    shrink()
    announce_commits(say)
    say("begin", ["open"])
    with docindex.open(path, durability=durability) as index:
        say("end", ["open"])
        for call in calls(random.Random(int(seed)), index):
            say("begin", call)
            do(index, call)
            say("end", call)


if __name__ == "__main__":
    main(*sys.argv[1:])
