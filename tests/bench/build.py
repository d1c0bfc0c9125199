"""Measure building an index, against SQLite's FTS5 and against a plain table of postings.

Of files of 12 KB, of notes and of long texts (see `tests.bench.material`). The times include all sketches and
durable commits: one at the end for FTS5, one for every 32 MB for docindex.
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
from docindex.storage.postings import segment_writer
from docindex.storage.postings.segments import NO_POSTINGS, NewPostings, Postings
from tests.bench import corpus, material

TARGETS = {"M": (0.9, 0.55), "notes": (0.5, 0.35), "large": (0.6, 0.4)}
"""The shares of FTS5's speed to reach, with two workers and in one process."""


def run(options):
    """Measure the collections that are named, or else the files of the folders that are named."""
    names = options.folders or list(material.COLLECTIONS)
    if not set(names) <= set(material.COLLECTIONS):
        paths = corpus.distinct_files(names, options.megabytes)
        given = {"files": [path.read_bytes().decode("utf-8", "replace") for path in paths]}
    else:
        given = {name: material.texts_of(name, options.megabytes) for name in names}
    for name, texts in given.items():
        compare(name, texts, options.rounds)
    texts = next(iter(given.values()))
    with tempfile.TemporaryDirectory() as folder:
        build(texts, Path(folder), workers=2)
        file_size(Path(folder) / "docindex")
        storage_alone(texts, Path(folder), sum(map(len, texts)) / 1e6)
        one_by_one(Path(folder))


def compare(collection, texts, rounds):
    """Print the speeds of all sides, and their ratios: medians of the rounds."""
    size = sum(map(len, texts)) / 1e6
    print(f"{collection}: {len(texts):,} texts, {size:.0f} MB, {1000 * size / len(texts):.1f} KB each")
    sides = {
        "docindex, 2 workers": lambda folder: build(texts, folder, workers=2),
        "docindex, one process": lambda folder: build(texts, folder, workers=1),
        "FTS5 unicode61": lambda folder: fts5(texts, folder, "unicode61"),
        "FTS5 trigram": lambda folder: fts5(texts, folder, "trigram"),
    }
    if collection in {"notes", "large"}:
        del sides["FTS5 trigram"]
    speeds, burnt = {name: [] for name in sides}, {name: [] for name in sides}
    for _ in range(rounds):
        for name, work in sides.items():
            with tempfile.TemporaryDirectory() as folder:
                begin, processor = time.perf_counter(), time.process_time()
                work(Path(folder))
                speeds[name].append(size / (time.perf_counter() - begin))
                burnt[name].append(size / (time.process_time() - processor))
    for name, found in speeds.items():
        print(f"  {name:24}{statistics.median(found):7.1f} MB/s   ({min(found):.1f} to {max(found):.1f})")
    two, one = TARGETS.get(collection, TARGETS["M"])
    for name, other, target in (
        ("docindex, 2 workers", "FTS5 unicode61", f"{two}, aim 1.0"),
        ("docindex, one process", "FTS5 unicode61", f"{one}"),
        ("docindex, 2 workers", "FTS5 trigram", "6"),
    ):
        if other in sides:
            print(f"  {name} / {other}: {ratio(speeds, name, other):.2f} (target {target})")
    alone = ratio(burnt, "docindex, one process", "FTS5 unicode61")
    print(f"  one process / FTS5 unicode61, by processor time: {alone:.2f}", flush=True)


def ratio(speeds, name, other):
    """The median of the ratios of two sides, each within one round."""
    return statistics.median(a / b for a, b in zip(speeds[name], speeds[other], strict=True))


def build(texts, folder, *, workers):
    items = ((str(number), text) for number, text in enumerate(texts))
    with docindex.open(folder / "docindex") as index:
        index.add_many(items, workers=workers, store_text=False)


def fts5(texts, folder, tokenizer):
    connection = apsw.Connection(str(folder / "fts5"))
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute(f"create virtual table texts using fts5(text, content='', tokenize='{tokenizer}')")
    connection.execute("begin")
    for text in texts:
        connection.execute("insert into texts (text) values (?)", (text,))
    connection.execute("commit")
    connection.close()


def file_size(path):
    with docindex.open(path, readonly=True) as index:
        stats = index.stats()
    forward = stats.bytes["docindex_fingerprint"] / stats.fingerprints
    inverted = stats.bytes["docindex_posting"] / stats.postings
    shares = {name: size / stats.characters for name, size in stats.bytes.items() if size > 100_000}
    print(
        f"file without texts: {stats.file_bytes / stats.characters:.3f} of the size of the text (target 0.45)"
    )
    print("  " + ", ".join(f"{name} {share:.3f}" for name, share in shares.items()))
    print(f"  a fingerprint takes {forward:.2f} bytes in the forward index")
    print(f"  a posting takes {inverted:.2f} bytes in the inverted index")
    print(f"  {stats.file_bytes / stats.fingerprints:.1f} bytes of file for each fingerprint")
    print(f"  density {stats.density:.4f}; random text would have {stats.expected_density:.4f}")


def storage_alone(texts, folder, size):
    """Write postings into segments, and the same postings into a table with a row for each posting."""
    hashes, documents, positions = [], [], []
    begin = 0
    for batch in sketch_batches(texts, docindex.Recipe()):
        hashes.append(batch.hashes)
        documents.append(np.repeat(np.arange(begin, begin + len(batch)), np.diff(batch.starts)))
        positions += [sketch.positions for sketch in batch]
        begin += len(batch)
    hashes, documents, positions = (np.concatenate(arrays) for arrays in (hashes, documents, positions))

    def blocks(connection):
        numbers, counts = np.unique(documents, return_counts=True)
        segment_writer.add_postings(
            connection, NewPostings(Postings(hashes.copy(), numbers, counts), NO_POSTINGS, NO_POSTINGS)
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
        path = folder / name.split()[0]
        docindex.open(path).close()
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            connection.execute("pragma journal_mode = wal")
            begin = time.perf_counter()
            connection.execute("begin immediate")
            work(connection)
            connection.execute("commit")
            speed = size / (time.perf_counter() - begin)
            print(f"storage alone, {name}: {speed:.0f} MB of text per second (target {target})")


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
