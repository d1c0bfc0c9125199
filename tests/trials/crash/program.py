"""Change an index until this process is killed: `main`, which other processes start.

The program writes a line before each call and another after it has returned. So a reader of its output always
knows what the index must hold: `history` computes the states from the lines. The numbers that keep merges
rare are made smaller here, so that a merge is under way nearly all the time. Several such programs can use
one file, because each changes only keys and templates that begin with a word of its own.
"""

import functools
import itertools
import json
import os
import random
from pathlib import Path

import docindex
from docindex.index import adding
from docindex.reading import slicing
from docindex.storage.postings import segment_writer
from docindex.storage.rows import batch_rows

COMMIT = 4_000
"""How many characters of text a commit of `add_many` has in these tests."""
BATCH = 1_000
"""How many characters of text are processed at a time in these tests."""

_WORDS = [
    f"{a}{b}{c}" for a, b, c in itertools.product(("kra", "tol", "mi", "sen"), "aeiou", ("b", "nd", "x"))
]


SEVERAL_COMMITS = ("add_many", "load")
"""The calls that announce each of their commits."""


@functools.lru_cache(10_000)
def text_of(number):
    """A text of up to a few thousand characters, always the same for the same number."""
    rng = random.Random(number)
    words = rng.choices(_WORDS, k=rng.randrange(20, 700)) if number % 40 else []
    return " ".join([*words, f"№ {number}"])


def shrink(setattr=setattr):  # noqa: A002 - a test passes monkeypatch's, which undoes it
    """Make the commits of `add_many` short, and make merges begin often and span many commits."""
    setattr(adding, "_COMMIT", COMMIT)
    # Texts and fingerprints take many rows.
    setattr(slicing, "PIECE_CHARACTERS", BATCH)
    setattr(batch_rows, "FINGERPRINTS_A_PART", 20)
    for name, value in (("_LEAST", 32), ("_BLOCK", 16), ("_MERGED_AT_LEAST", 64), ("_MERGED_PER_POSTING", 1)):
        assert hasattr(segment_writer, name)
        setattr(segment_writer, name, value)
    setattr(segment_writer, "MERGED_AT_A_TIME", 500)


def after(state, call, upto=None):
    """The state after a call. It maps each key and name of a template to the number of a text, and a meta."""
    verb, *rest = call
    state = dict(state)
    if verb == "add":
        key, number, meta = rest
        state[key] = (number, meta)
    elif verb in SEVERAL_COMMITS:
        state.update((key, (number, meta)) for key, number, meta in rest[0][:upto])
    elif verb == "boilerplate":
        state[rest[0]] = (rest[1], None)
    elif verb in ("remove", "no boilerplate"):
        del state[rest[0]]
    elif verb == "rename":
        state[rest[1]] = state.pop(rest[0])
    return state


def history(state, lines):
    """The states after each commit that lines announce, and the place of the last one that has returned.

    >>> lines = [("begin", ("add", "a", 1, None)), ("end", ("add", "a", 1, None)), ("begin", ("remove", "a"))]
    >>> history({}, lines)
    ([{}, {'a': (1, None)}, {}], 1)
    """
    states, returned, call, documents = [state], 0, ["nothing"], 0
    before = state
    for word, value in lines:
        if word == "begin":
            call, before, documents = value, states[-1], 0
            if call[0] not in SEVERAL_COMMITS:
                states.append(after(before, call))
        elif word == "commit" and call[0] in SEVERAL_COMMITS:
            # The line is written before this commit, and after the commit before it has returned.
            returned = len(states) - 1
            documents += value
            states.append(after(before, call, documents))
        elif word == "end":
            returned = len(states) - 1
    return states, returned


def calls(rng, state, own=""):
    """Yield calls without end that fit an index in this state. They keep the keys at a few dozen."""
    names = {name for name in state if name.startswith(f"{own}template")}
    keys = set(state) - names
    while True:
        some = rng.choice(sorted(keys)) if keys else None
        verb = rng.choices(
            (
                "add",
                "replace",
                "copy",
                "remove",
                "rename",
                "add_many",
                "load",
                "optimize",
                "backup",
                "boilerplate",
            ),
            (6, 4, 2, 1 + len(keys) // 8, 2, 2, 1, 1, 1, 1),
        )[0]
        new = f"{own}{rng.choice('abcé')}/{rng.randrange(500)}"
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
        elif verb in SEVERAL_COMMITS:
            documents = [
                (f"{own}many/{rng.randrange(60)}", rng.randrange(10**6), None)
                for _ in range(rng.randrange(2, 25))
            ]
            keys.update(key for key, _, _ in documents)
            yield verb, documents
        elif verb == "boilerplate":
            name = f"{own}template {rng.randrange(5)}"
            # A text that is a template already would only get another name.
            yield ("no boilerplate", name) if name in names else ("boilerplate", name, rng.randrange(10**6))
            names ^= {name}
        elif verb in ("optimize", "backup"):
            yield (verb,)


def do(index, call, backup=None):
    verb, *rest = call
    match verb:
        case "add":
            key, number, meta = rest
            index.add(key, text_of(number), meta=meta, store_text=True)
        case "add_many":
            index.add_many(((key, text_of(number), meta) for key, number, meta in rest[0]), workers=1)
        case "load":
            index.load(
                json.dumps({"key": key, "text": text_of(number), "meta": meta})
                for key, number, meta in rest[0]
            )
        case "boilerplate":
            index.boilerplate.add(text_of(rest[1]), name=rest[0])
        case "no boilerplate":
            index.boilerplate.remove(*rest)
        case "remove":
            index.remove(*rest)
        case "rename":
            index.rename(*rest)
        case "optimize":
            index.optimize()
        case "backup":
            Path(backup).unlink(missing_ok=True)
            index.backup(backup)


def contents(index, own=""):
    """What the index holds: the text and meta of each key, and of each template, that begins with `own`."""
    documents = {key: (index.text(key), index.meta(key)) for key in index if key.startswith(own)}
    return documents | {t.name: (t.text, None) for t in index.boilerplate if t.name.startswith(own)}


def expected(state):
    """What the index holds in a state."""
    return {key: (text_of(number), meta) for key, (number, meta) in state.items()}


def differences(found, state):
    """What differs between the contents of an index and a state: what was found, and what was expected."""
    wanted = expected(state)
    names = sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))
    return {name: [_short(place.get(name)) for place in (found, wanted)] for name in names}


def _short(value):
    return value and (value[0] and value[0][-12:], value[1])


def announce_commits(say):
    """Write a line before each commit of `add_many`, with the number of documents in it."""
    commit = adding.Target.commit

    def announced(target, group):
        say("commit", len(group))
        commit(target, group)

    adding.Target.commit = announced


def main(descriptor, path, durability, seed, own):
    """Change what begins with `own`. The lines go to a file descriptor."""

    def say(*what):  # unbuffered, so that the line outlives the process
        os.write(descriptor, json.dumps(what).encode() + b"\n")

    shrink()
    announce_commits(say)
    say("begin", ["open"])
    with docindex.open(path, durability=durability, timeout_s=60) as index:
        say("end", ["open"])
        state = {*index, *(template.name for template in index.boilerplate)}
        for call in calls(random.Random(seed), {name for name in state if name.startswith(own)}, own):
            say("begin", call)
            do(index, call, f"{path}.{own.strip()}.backup")
            say("end", call)
