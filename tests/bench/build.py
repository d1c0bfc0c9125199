"""Measure building an index from files, against SQLite's FTS5 and against a plain table of postings.

The times include reading the files, all sketches, and durable commits: one at the end for FTS5, one for every
32 MB for docindex.
"""

import contextlib
import statistics
import tempfile
import time
from pathlib import Path

import apsw
import numpy as np

import docindex
from docindex.sketching.sketcher import sketch_batches
from docindex.storage import segment_writer
from docindex.storage.content_writer import NO_POSTINGS, NewPostings, Postings
from tests.bench import corpus


def run(options):
    paths = corpus.distinct_files(options.folders, options.megabytes)
    size = sum(path.stat().st_size for path in paths) / 1e6
    print(f"corpus: {len(paths):,} different files, {size:.0f} MB, {1000 * size / len(paths):.1f} KB each")
    sides = {
        "docindex, 2 workers": lambda folder: build(paths, folder, workers=2),
        "docindex, one process": lambda folder: build(paths, folder, workers=1),
        "FTS5 unicode61": lambda folder: fts5(paths, folder, "unicode61"),
        "FTS5 trigram": lambda folder: fts5(paths, folder, "trigram"),
    }
    speeds = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, work in sides.items():
            with tempfile.TemporaryDirectory() as folder:
                begin = time.perf_counter()
                work(Path(folder))
                speeds[name].append(size / (time.perf_counter() - begin))
    for name, found in speeds.items():
        print(f"{name:24}{statistics.median(found):7.1f} MB/s   ({min(found):.1f} to {max(found):.1f})")
    for name, other, target in (
        ("docindex, 2 workers", "FTS5 unicode61", "0.7, aim 1.0"),
        ("docindex, 2 workers", "FTS5 trigram", "6"),
        ("docindex, one process", "FTS5 unicode61", "0.4"),
    ):
        ratio = statistics.median(a / b for a, b in zip(speeds[name], speeds[other], strict=True))
        print(f"{name} / {other}: {ratio:.2f} (target {target})")
    with tempfile.TemporaryDirectory() as folder:
        build(paths, Path(folder), workers=2)
        file_size(Path(folder) / "docindex")
        storage_alone(paths, Path(folder), size)
        one_by_one(Path(folder))


def read(path):
    return path.read_bytes().decode("utf-8", "replace")


def build(paths, folder, *, workers):
    with docindex.open(folder / "docindex") as index:
        index.add_many(((str(path), read(path)) for path in paths), workers=workers, store_text=False)


def fts5(paths, folder, tokenizer):
    connection = apsw.Connection(str(folder / "fts5"))
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute(f"create virtual table texts using fts5(text, content='', tokenize='{tokenizer}')")
    connection.execute("begin")
    for path in paths:
        connection.execute("insert into texts (text) values (?)", (read(path),))
    connection.execute("commit")
    connection.close()


def file_size(path):
    with docindex.open(path, readonly=True) as index:
        stats = index.stats()
    forward = stats.bytes["fingerprint"] / stats.fingerprints
    inverted = stats.bytes["posting"] / stats.postings
    shares = {name: size / stats.characters for name, size in stats.bytes.items() if size > 100_000}
    print(
        f"file without texts: {stats.file_bytes / stats.characters:.3f} of the size of the text (target 0.45)"
    )
    print("  " + ", ".join(f"{name} {share:.3f}" for name, share in shares.items()))
    print(f"  a fingerprint takes {forward:.2f} bytes in the forward index")
    print(f"  a posting takes {inverted:.2f} bytes in the inverted index")
    print(f"  {stats.file_bytes / stats.fingerprints:.1f} bytes of file for each fingerprint")
    print(f"  density {stats.density:.4f}; random text would have {stats.expected_density:.4f}")


def storage_alone(paths, folder, size):
    """Write postings into segments, and the same postings into a table with a row for each posting."""
    hashes, documents, positions = [], [], []
    texts = [read(path) for path in paths]
    begin = 0
    for batch in sketch_batches(texts, docindex.Recipe()):
        hashes.append(batch.hashes)
        documents.append(np.repeat(np.arange(begin, begin + len(batch)), np.diff(batch.starts)))
        positions += [sketch.positions for sketch in batch]
        begin += len(batch)
    hashes, documents, positions = (np.concatenate(arrays) for arrays in (hashes, documents, positions))

    def blocks(connection):
        connection.execute(SEGMENTS)
        numbers, counts = np.unique(documents, return_counts=True)
        segment_writer.add_postings(
            connection, NewPostings(Postings(hashes.copy(), numbers, counts), NO_POSTINGS)
        )

    def table(connection):
        connection.execute(
            "create table t (hash, document, position, primary key (hash, document, position)) without rowid"
        )
        order = np.argsort(hashes)
        columns = (array[order].view(np.int64).tolist() for array in (hashes, documents, positions))
        connection.executemany("insert or ignore into t values (?, ?, ?)", zip(*columns, strict=True))

    for name, work, target in (
        ("blocks", blocks, "150"),
        ("a row for each posting", table, "less than blocks"),
    ):
        with contextlib.closing(apsw.Connection(str(folder / name.split()[0]))) as connection:
            connection.execute("pragma journal_mode = wal")
            begin = time.perf_counter()
            connection.execute("begin immediate")
            work(connection)
            connection.execute("commit")
            speed = size / (time.perf_counter() - begin)
            print(f"storage alone, {name}: {speed:.0f} MB of text per second (target {target})")


SEGMENTS = """
create table segment (
    id integer primary key autoincrement, first, last, hash_bits, block_bits, postings, target, moved
);
create table posting (id integer primary key, keys);
create table dead (content integer primary key, segment);
"""


def one_by_one(folder):
    """Add documents of 10 KB, with a commit for each document."""
    random = np.random.default_rng(1)
    words = np.array([f"w{number:x}" for number in range(50_000)])
    took = []
    with docindex.open(folder / "one-by-one", durability="normal") as index:
        for number in range(10_000):
            text = " ".join(random.choice(words, 1800).tolist())[:10_000]
            begin = time.perf_counter()
            index.add(str(number), text)
            took.append(time.perf_counter() - begin)
        print(f"single documents of 10 KB: {len(took) / sum(took):.0f} per second (target 200)")
        early, late = statistics.median(took[50:150]), statistics.median(took[-100:])
        print(
            f"  the 10,000th takes {late / early:.2f} times as long as the 100th (target 2; medians of 100)"
        )
        in_order = sorted(took)
        print(
            f"  median {1000 * statistics.median(took):.2f} ms, 99% under {1000 * in_order[9900]:.2f} ms, "
            f"longest {1000 * in_order[-1]:.1f} ms; {index.stats().segments} segments"
        )
