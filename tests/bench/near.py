"""Measure simhash look-ups, one at a time and a million at once, compared with scans, in one run.

Also measure the cost of the SQL indexes. Half a million simhash values are random. Each of another half
million differs in up to ten bits from one of them.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import docindex
from docindex.storage import simhash_index

COUNT = 1_000_000
ROWS_PER_COMMIT = 5000
LOOKED_UP = 1000
INDEXES = ("docindex_content_simhash", "docindex_content_simhash_22", "docindex_content_simhash_43")


def run(options):
    simhashes = families(np.random.default_rng(1))
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / name for name in ("without", "with")}
        filling = {name: fill(path, simhashes, indexes=name == "with") for name, path in paths.items()}
        building(paths, filling, options.rounds)
        with docindex.open(paths["with"], readonly=True) as index, index._store.reading() as db:
            one(db, simhashes)
            scans(db, simhashes, options.rounds)
            many(db, simhashes, options.rounds)


def families(random):
    simhashes = random.integers(0, 2**64, COUNT, np.uint64)
    copies = COUNT // 2
    apart = random.integers(0, 11, copies)
    simhashes[copies:] = simhashes[random.integers(0, copies, copies)]
    for flipped in range(10):
        bits = np.uint64(1) << random.integers(0, 64, copies, np.uint64)
        simhashes[copies:] ^= np.where(flipped < apart, bits, np.uint64(0))
    return random.permutation(simhashes)


def fill(path, simhashes, *, indexes):
    """Insert rows of `content` as long as real ones; return the seconds of processor time for all of them."""
    random, took = np.random.default_rng(2), 0.0
    with docindex.open(path, durability="normal") as index:
        if not indexes:
            with index._store.writing() as db:
                for name in INDEXES:
                    db.execute(f"drop index {name}")
        for begin in range(0, COUNT, ROWS_PER_COMMIT):
            rows = [
                (data[:16], data[16:32], simhash, data[32:])
                for simhash in simhashes[begin : begin + ROWS_PER_COMMIT].view(np.int64).tolist()
                for data in (random.bytes(544),)
            ]
            start = time.process_time()
            with index._store.writing() as db:
                db.executemany(
                    "insert into docindex_content (hash, reading, words_hash, characters, symbols, shingles, "
                    "fingerprints, hashes, simhash, slots, parts, sum) "
                    "values (?, 'text 1', ?, 1500, 1200, 250, 0, 0, ?, ?, 1, -1 << 62)",
                    rows,
                )
            took += time.process_time() - start
    return took


def building(paths, filling, rounds):
    """Measure how much the indexes add to the file, and to the processor time of adding documents.

    (Elapsed time would depend on the disk, and on other programs.)
    """
    with docindex.open(paths["with"], readonly=True) as index, index._store.reading() as db:
        sizes = dict(db.execute("select name, sum(pgsize) from dbstat group by name"))
    content = sum(
        sizes[name]
        for name in ("docindex_content", "docindex_content_words", "sqlite_autoindex_docindex_content_1")
    )
    share = sum(sizes[name] for name in INDEXES)
    print(f"indexes: {share / COUNT:.1f} of the {(content + share) / COUNT:.0f} bytes of a content")
    slower = 1e6 * (filling["with"] - filling["without"]) / COUNT
    print(
        f"rows of `content` alone, {ROWS_PER_COMMIT:,} for each commit: "
        f"{1e6 * filling['without'] / COUNT:.0f} us each, and {slower:.0f} us for the indexes"
    )
    words = [f"w{number:x}" for number in range(50_000)]
    random = np.random.default_rng(3)
    documents = 20_000
    many, single = {name: [] for name in paths}, {name: [] for name in paths}
    for turn in range(rounds):
        texts = [" ".join([words[n] for n in random.integers(0, 50_000, 250)]) for _ in range(documents)]
        for name, path in paths.items():
            with docindex.open(path) as index:
                start = time.process_time()
                items = ((f"{turn} {number}", text) for number, text in enumerate(texts))
                index.add_many(items, workers=1, store_text=False)
                many[name].append((time.process_time() - start) / documents)
                for number, text in enumerate(texts[:200]):
                    start = time.process_time()
                    index.add(f"{turn} single {number}", f"{number} {text}", store_text=False)
                    single[name].append(time.process_time() - start)
    for what, took in ((f"{documents:,} documents of 1.5 KB added at once", many), ("one by one", single)):
        a, b = (1e6 * np.median(took[name]) for name in ("without", "with"))
        print(f"  {what}: {b:,.0f} us each, {b / a:.2f} times the time without the indexes")


def one(db, simhashes):
    """Time one look-up at a time, for values that are in the index."""
    random = np.random.default_rng(4)
    print(f"one look-up among {COUNT:,} contents (target: 2 ms at distance 3)")
    print(f"{'distance':>8} {'values':>7} {'found':>8} {'median ms':>10} {'p99 ms':>8}")
    for distance in (*range(9), 12, 16, 24, 63):
        took, found, rounds = [], 0, LOOKED_UP if distance < 9 else 5
        for query in random.choice(simhashes, rounds).tolist():
            start = time.perf_counter()
            _, contents, _ = simhash_index.near_simhashes(db, [query], distance)
            took.append(1000 * (time.perf_counter() - start))
            found += len(contents)
        values = sum(
            len(simhash_index._flips(width, most))
            for (_, width), most in zip(
                simhash_index._BLOCKS, simhash_index._most_flips(distance), strict=True
            )
            if most >= 0 and simhash_index._min_contents(1, distance) <= COUNT
        )
        print(
            f"{distance:8} {values or 'all':>7} {found / rounds:8.1f} "
            f"{np.median(took):10.3f} {np.percentile(took, 99):8.3f}"
        )


def scans(db, simhashes, rounds):
    """Time look-ups at distance 3, compared with scans of all values."""
    queries = np.random.default_rng(5).choice(simhashes, 20 * rounds).tolist()

    def median(work):
        took = []
        for query in queries:
            start = time.perf_counter()
            work(query)
            took.append(1000 * (time.perf_counter() - start))
        return np.median(took)

    def scan(query):
        return np.flatnonzero(np.bitwise_count(simhashes ^ np.uint64(query)) <= 3)

    def select(query):
        rows = db.execute("select id, simhash from docindex_content not indexed").fetchall()
        return [number for number, simhash in rows if (simhash % (1 << 64) ^ query).bit_count() <= 3]

    ours = median(lambda query: simhash_index.near_simhashes(db, [query], 3))
    print(f"at distance 3, compared with scans: {ours:.3f} ms")
    in_memory = median(scan)
    print(f"  numpy, all held in memory: {in_memory:.3f} ms, {in_memory / ours:.1f} times as long")
    del queries[3:]
    by_index = median(lambda query: list(simhash_index._by_scan(db, np.array([query], np.uint64), 3, COUNT)))
    print(f"  all read from the smallest index: {by_index:.0f} ms, {by_index / ours:,.0f} times")
    by_rows = median(select)
    print(
        f"  `select id, simhash from docindex_content`, in Python: {by_rows:.0f} ms, "
        f"{by_rows / ours:,.0f} times"
    )


def many(db, simhashes, rounds):
    """Time a million look-ups at once."""
    random = np.random.default_rng(6)
    queries = random.permutation(simhashes)
    print(f"{COUNT:,} look-ups at a time, reading included (target: 10 s at distance 3)")
    for distance in range(7):
        took = []
        for _ in range(rounds):
            start = time.perf_counter()
            places, _, _ = simhash_index.near_simhashes(db, queries, distance)
            took.append(time.perf_counter() - start)
        design = simhash_index._cheapest_design(COUNT, COUNT, distance)
        print(f"{distance:8} {len(places):10,} found in {np.median(took):6.2f} s, {design.tables:2} tables")
    some = queries[:200]
    start = time.perf_counter()
    for query in some:
        np.flatnonzero(np.bitwise_count(simhashes ^ query) <= 3)
    scan = (time.perf_counter() - start) * COUNT / len(some)
    print(f"  numpy, a scan for each look-up, estimated from {len(some)} scans: {scan:.0f} s")
    for number in (1000, 10_000, 100_000):
        start = time.perf_counter()
        simhash_index.near_simhashes(db, queries[:number], 3)
        print(f"  {number:,} at distance 3: {time.perf_counter() - start:.3f} s")
