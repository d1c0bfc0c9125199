"""Compare SQL with plain Python functions, with `Index.search`, and `doc_group` with a self-join."""

import functools
import itertools
import random
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import apsw
import numpy as np

import docindex
from tests.bench.corpus import distinct_files

ROWS = 100_000
QUERIES = 100
LIMIT = 20
PARAGRAPHS = 1_400
JOINED = 60  # a self-join of all paragraphs would take minutes
MASK = (1 << 64) - 1

PAIRS = {
    "doc_distance": "bare_distance(a, b)",
    "doc_sketch_resemblance": "bare_resemblance(x, y)",
}


def bare_distance(a, b):
    return ((a ^ b) & MASK).bit_count()


def bare_resemblance(x, y):
    a, b = np.frombuffer(x, "<u2"), np.frombuffer(y, "<u2")
    return int(np.count_nonzero(a == b)) / len(a)


def run(options):
    print(f"{'':46}{'ours':>9}{'bare':>9}   ratio")
    for kind in ("apsw", "sqlite3"):
        connection = filled(kind)
        for name, bare in PAIRS.items():
            ours = bare.replace(bare.partition("(")[0], name)
            statements = [f"select sum({call}) from pair" for call in (ours, bare)]
            sides = [functools.partial(done, connection, sql) for sql in statements]
            took = alternately(sides, 2 * options.rounds + 1)
            report(f"{name}, {ROWS:,} rows on {kind}", took, 1000, "ms", 1.5)
        connection.close()
    groups(options)
    searches(options)


def done(connection, sql):
    connection.execute(sql).fetchall()


def filled(kind):
    rng = random.Random(1)
    rows = [
        (rng.getrandbits(63), rng.getrandbits(63), rng.randbytes(512), rng.randbytes(512))
        for _ in range(ROWS)
    ]
    if kind == "apsw":
        connection = apsw.Connection(":memory:")
        connection.create_scalar_function("bare_distance", bare_distance, 2, deterministic=True)
        connection.create_scalar_function("bare_resemblance", bare_resemblance, 2, deterministic=True)
    else:
        connection = sqlite3.connect(":memory:")
        connection.create_function("bare_distance", 2, bare_distance, deterministic=True)
        connection.create_function("bare_resemblance", 2, bare_resemblance, deterministic=True)
    docindex.register(connection)
    connection.execute("create table pair (a, b, x, y)")
    connection.executemany("insert into pair values (?, ?, ?, ?)", rows)
    return connection


def groups(options):
    """Find similar paragraphs: all of them with doc_group, and a few of them with a self-join."""
    texts = (file.read_bytes().decode("utf-8", "replace") for file in distinct_files(options.folders, 4))
    long = (part for text in texts for part in text.split("\n\n") if 300 < len(part) < 3000)
    rows = list(enumerate(itertools.islice(long, PARAGRAPHS)))
    statements = [
        "select doc_group(id, body) from note",
        "select count(*) from note as a, note as b where a.id < b.id and b.id < "
        f"{JOINED} and doc_resemblance(a.body, b.body) >= 0.8",
    ]
    for library in (apsw, sqlite3):
        connection = library.Connection(":memory:")
        docindex.register(connection)
        connection.execute("create table note (id integer primary key, body)")
        connection.executemany("insert into note values (?, ?)", rows)
        sides = [functools.partial(done, connection, sql) for sql in statements]
        took = alternately(sides, 2 * options.rounds + 1)
        name = f"doc_group of {len(rows):,} / join of {JOINED}, {library.__name__}"
        report(name, took, 1000, "ms", 1.0)
        connection.close()


def searches(options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        with docindex.open(path, durability="normal") as index:
            index.add_many(
                (str(file), file.read_bytes().decode("utf-8", "replace"))
                for file in distinct_files(options.folders, options.megabytes)
            )
            index.optimize()
            connection = apsw.Connection(str(path))
            docindex.register(connection)
            keys = random.Random(1).sample(list(index), QUERIES)
            queries = [docindex.Text(index.text(key)[:10_000]) for key in keys]
            sql = "select * from doc_search(?) limit ?"
            sides = {
                "from SQL on apsw": lambda q: connection.execute(sql, (str(q), LIMIT)).fetchall(),
                "from Index.execute": lambda q: index.execute(sql, (str(q), LIMIT)),
            }
            for name, side in sides.items():
                took = alternately(
                    [
                        lambda side=side: [side(query) for query in queries],
                        lambda: [index.search(query, limit=LIMIT) for query in queries],
                    ],
                    2 * options.rounds + 1,
                )
                report(f"doc_search {name} / Index.search", took, 1000 / QUERIES, "ms", 1.2)
            connection.close()


def alternately(sides, rounds):
    """The seconds that each side took in each round. The first round warms up and is not counted."""
    took = [[] for _ in sides]
    for number in range(rounds + 1):
        for seconds, side in zip(took, sides, strict=True):
            begin = time.perf_counter()
            side()
            if number:
                seconds.append(time.perf_counter() - begin)
    return took


def report(what, took, scale, unit, target):
    ours, bare = (statistics.median(seconds) * scale for seconds in took)
    ratio = statistics.median(a / b for a, b in zip(*took, strict=True))
    print(f"{what:46}{ours:7.2f}{unit}{bare:7.2f}{unit}{ratio:8.2f}   (target {target})")
