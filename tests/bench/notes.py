"""Index 5,000 notes of an app in every way, beside `add_many` and FTS5."""

import contextlib
import itertools
import random
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import apsw

import docindex

NOTES = 5_000
WORDS = 20_000
TRIGGER = """
create trigger t after insert on note begin select doc_put(cast(new.id as text), new.body); end
"""
FTS = """
create virtual table f using fts5(body, content='note', content_rowid='id');
create trigger t after insert on note begin insert into f(rowid, body) values (new.id, new.body); end
"""


def notes(rng):
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(WORDS)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, WORDS + 1)))
    return [" ".join(rng.choices(words, cum_weights=weights, k=rng.randint(60, 200))) for _ in range(NOTES)]


def run(options):
    texts = notes(random.Random(1))
    ways = {
        "add_many": add_many,
        "add_from, on sqlite3": add_from,
        "insert into doc_index select": inserted,
        "doc_put by trigger, on apsw": lambda *given: by_trigger(apsw.Connection, *given),
        "doc_put by trigger, on sqlite3": lambda *given: by_trigger(connected, *given),
        "a followed table": followed,
        "FTS5 by trigger": fts,
    }
    took = {name: [] for name in ways}
    sizes = {}
    for _ in range(options.rounds):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "app.db")
                began = time.perf_counter()
                way(path, texts)
                took[name].append(time.perf_counter() - began)
                sizes[name] = path.stat().st_size
    medians = {name: statistics.median(seconds) for name, seconds in took.items()}
    print(f"{NOTES:,} notes, {sum(map(len, texts)) / 1e6:.1f} MB{'':12}seconds   / add_many   / FTS5")
    for name, seconds in medians.items():
        shares = seconds / medians["add_many"], seconds / medians["FTS5 by trigger"]
        goal = "   (2, 3)" if "trigger" in name or "select" in name else ""
        print(f"{name:34}{seconds:8.2f}{shares[0]:13.2f}{shares[1]:9.2f}{goal}")
    characters = sum(map(len, texts))
    share = (sizes["a followed table"] - characters) / sizes["add_many"]
    print(f"the index of a followed table, as a share of a file that keeps the texts: {share:.2f} (0.55)")


def connected(path):
    return sqlite3.connect(path, isolation_level=None)


def add_many(path, texts):
    with docindex.open(path) as index:
        index.add_many(((str(number), text) for number, text in enumerate(texts)), workers=1)


def filled(db, texts):
    db.execute("begin")
    db.executemany("insert into note (body) values (?)", [(text,) for text in texts])
    db.execute("commit")


def add_from(path, texts):
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute("create table note (id integer primary key, body text)")
        filled(db, texts)
        with docindex.open(path) as index:
            index.add_from(db, "select id, body from note")


def inserted(path, texts):
    docindex.open(path).close()
    with contextlib.closing(apsw.Connection(str(path))) as db:
        docindex.register(db)
        db.execute("create temp table note (id integer primary key, body text)")
        filled(db, texts)
        db.execute("insert into doc_index (key, text) select cast(id as text), body from note")


def by_trigger(connect, path, texts):
    docindex.open(path).close()
    with contextlib.closing(connect(str(path))) as db:
        docindex.register(db)
        db.execute("create table note (id integer primary key, body text)")
        db.execute(TRIGGER)
        filled(db, texts)
        ((count,),) = db.execute("select doc_flush()").fetchall()
        assert count == NOTES


def followed(path, texts):
    with contextlib.closing(connected(path)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("create table note (id integer primary key, body text)")
    with docindex.open(path, create=True) as index:
        index.follow("note", key="id", text="body")
        with contextlib.closing(connected(path)) as db:
            filled(db, texts)
        assert len(index) == NOTES


def fts(path, texts):
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.pragma("journal_mode", "wal")
        db.execute("create table note (id integer primary key, body text)")
        db.execute(FTS)
        filled(db, texts)
