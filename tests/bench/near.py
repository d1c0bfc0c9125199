"""Measure simhash look-ups, one at a time and a million at once, compared with scans, in one run.

Also measure the cost of the bands in the inverted index. Half a million simhash values are random. Each of
another half million differs in up to ten bits from one of them.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import docindex
from docindex.storage import tallies
from docindex.storage.postings import segment_writer, simhash_index
from docindex.storage.postings.segments import NO_POSTINGS, NewPostings, Postings

COUNT = 1_000_000
ROWS_PER_COMMIT = 5000
LOOKED_UP = 1000


def run(options):
    simhashes = families(np.random.default_rng(1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        fill(path, simhashes)
        with docindex.open(path, readonly=True) as index, index._store.reading() as db:
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


def fill(path, simhashes):
    """Insert rows of `content` as long as real ones, and their bands; print what each of them costs."""
    random, rows_took, bands_took = np.random.default_rng(2), 0.0, 0.0
    with docindex.open(path, durability="normal") as index:
        for begin in range(0, COUNT, ROWS_PER_COMMIT):
            some = simhashes[begin : begin + ROWS_PER_COMMIT]
            contents = np.arange(begin + 1, begin + 1 + len(some))
            rows = [
                (content, data[:16], data[16:32], simhash, data[32:])
                for content, simhash in zip(contents.tolist(), some.view(np.int64).tolist(), strict=True)
                for data in (random.bytes(224),)
            ]
            start = time.process_time()
            with index._store.writing() as db:
                db.executemany(
                    "insert into docindex_content (id, symbols, shingles, kept, hashes, hash, words_hash, "
                    "characters, fingerprints, simhash, slots, sum) "
                    "values (?, 470, 90, 0, 0, ?, ?, 570, 0, ?, ?, -1 << 62)",
                    rows,
                )
            middle = time.process_time()
            with index._store.writing() as db:
                bands = simhash_index.bands_of(some)
                postings = Postings(bands.ravel(), contents, np.full(len(contents), bands.shape[1]))
                segment_writer.add_postings(db, NewPostings(NO_POSTINGS, NO_POSTINGS, postings))
                tallies.note(db, "content", added=[0] * len(contents))
            rows_took += middle - start
            bands_took += time.process_time() - middle
        with index._store.reading() as db:
            ((size,),) = db.execute("select sum(pgsize) from dbstat where name = 'docindex_posting'")
    print(
        f"bands: {size / COUNT:.1f} bytes and {1e6 * bands_took / COUNT:.1f} us for each content; its row "
        f"takes {1e6 * rows_took / COUNT:.1f} us ({ROWS_PER_COMMIT:,} for each commit)"
    )


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
        is_lookup = simhash_index._min_contents(1, distance) <= COUNT
        values = len(simhash_index._flips(distance).numbers) if is_lookup else "all"
        print(
            f"{distance:8} {values:>7} {found / rounds:8.1f} "
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
    print(f"  all read: {by_index:.0f} ms, {by_index / ours:,.0f} times")
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
