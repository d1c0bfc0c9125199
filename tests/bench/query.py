"""Measure searches, compared with only reading the same blocks, and with SQL on a plain table, in one run.

Then measure:

- how much a coarse search misses
- how often the source of an excerpt is found
- how much slower a search is in an index ten times as large
- all pairs, compared with copydetect and sim_text if they are installed
"""

import contextlib
import dataclasses
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apsw
import numpy as np

import docindex
from docindex.sketching.single_text import text_fingerprints
from docindex.storage.postings.segments import all_segments, keys_with
from docindex.storage.rows.contents import as_stored, fingerprints_of
from tests.bench import corpus

QUERIES = 60
PARTS = [("all", {}), *((f"window {n}w", {"window": n * docindex.Recipe().window}) for n in (2, 4, 8))]
PARTS += [(f"budget {n}", {"budget": n}) for n in (8, 32, 128)]


def run(options):
    paths = corpus.distinct_files(options.folders, options.megabytes)
    texts = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    size = sum(map(len, texts)) / 1e6
    print(f"corpus: {len(texts):,} different files, {size:.0f} MB")
    if len(texts) < 10_000 or size < 100:
        print("(the targets are meant for 10,000 files and 100 MB or more: name more folders)")
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built(folder / "index", enumerate(texts))
        with docindex.open(folder / "index", readonly=True) as index:
            queries = [text for text in random.sample(texts, len(texts)) if 8_000 < len(text) < 12_500][
                :QUERIES
            ]
            speed(index, queries, folder)
            parts(index, queries)
            excerpts(index, texts)
            larger(index, texts, queries, folder)
            pairs(index, texts, folder)


def built(path, items):
    with docindex.open(path) as index:
        index.add_many(((f"{key:07}", text) for key, text in items), workers=2)
        index.optimize()


def median_ms(times):
    return f"{1000 * statistics.median(times):.2f} ms"


def timed(work, *arguments, **options):
    begin = time.perf_counter()
    work(*arguments, **options)
    return time.perf_counter() - begin


def speed(index, queries, folder):
    """Time the queries one by one, each side in turn, in a random order."""
    hashes = {query: as_stored(text_fingerprints(query, index.recipe)[0]) for query in queries}
    table = plain_table(index, folder / "table")

    def bare(query):
        """Fetch the blocks that have the hashes of the query, and find the hashes in them."""
        with index._store.reading() as db:
            for segment in all_segments(db):
                keys_with(db, segment, hashes[query] >> np.uint64(64 - segment.hash_bits))

    def grouped(query):
        """Find the same documents in a plain table."""
        wanted = apsw.carray((hashes[query] >> np.uint64(16)).astype(np.int64))
        table.execute(
            "select doc, count(distinct hash) from carray(?) as wanted join plain on hash = value "
            "group by doc order by 2 desc limit 20",
            (wanted,),
        ).fetchall()

    sides = {
        "bare fetch and decode": bare,
        "GROUP BY over (hash, doc, pos)": grouped,
        "search": index.search,
        "search, rank excerpt": lambda query: index.search(query, rank="excerpt"),
        "search, window 4w": lambda query: index.search(query, window=4 * index.recipe.window),
    }
    times = {name: [] for name in sides}
    for _ in range(5):
        for query in queries:
            for name, side in random.sample(list(sides.items()), len(sides)):
                times[name].append(timed(side, query))
    for name, found in times.items():
        print(f"{name:32}{median_ms(found)}")
    for a, b, target in (
        ("search, rank excerpt", "bare fetch and decode", 1.5),
        ("search, rank excerpt", "GROUP BY over (hash, doc, pos)", 2.5),
        # Likeness looks up hashes of about fifty documents, too.
        ("search", "search, rank excerpt", 2.5),
        ("search, window 4w", "search", 0.5),
    ):
        ratio = statistics.median(times[a]) / statistics.median(times[b])
        print(f"{a} / {b}: {ratio:.2f} (target {target})")


def plain_table(index, path):
    """A table with one row for each posting, filled in the order of its key."""
    db = apsw.Connection(str(path))
    db.execute(
        "create table plain (hash integer, doc integer, pos integer, primary key (hash, doc, pos)) "
        "without rowid"
    )
    hashes, contents, positions = [], [], []
    with index._store.reading() as reader:
        for (content,) in reader.execute("select id from docindex_content"):
            found, places = fingerprints_of(reader, content, index.recipe.window)
            hashes.append(found >> np.uint64(16))
            contents.append(np.full(len(found), content))
            positions.append(places)
    columns = [np.concatenate(some).astype(np.int64) for some in (hashes, contents, positions)]
    order = np.lexsort(columns[::-1])
    with db:
        for begin in range(0, len(order), 1 << 18):
            some = [column[order[begin : begin + (1 << 18)]].tolist() for column in columns]
            db.executemany("insert into plain values (?, ?, ?)", zip(*some, strict=True))
    return db


def parts(index, queries):
    """Measure how much a search by part of a query misses, and the error of estimates from that part."""
    truth = {query: {match.key: match for match in index.search(query, limit=None)} for query in queries}
    wanted = {query: {k for k, m in found.items() if m.containment >= 0.3} for query, found in truth.items()}
    own = {key: hashes_of(index.text(key), index.recipe) for keys in wanted.values() for key in keys}
    print(
        f"{'part of the query':20}{'looked up':>12}{'time':>10}{'recall at .3':>14}"
        f"{'error of an estimate':>24}"
    )
    whole_time = None
    for name, part in PARTS:
        times, found, errors, sizes = [], 0, [], []
        for query in queries:
            times.append(timed(index.search, query, **part))
            answers = {match.key: match for match in index.search(query, limit=None, **part)}
            recipe = dataclasses.replace(index.recipe, window=part.get("window", index.recipe.window))
            looked_up = hashes_of(query, recipe)[: part.get("budget")]
            sizes.append(len(looked_up))
            for key in wanted[query] & set(answers):
                found += 1
                estimate = len(np.intersect1d(looked_up, own[key])) / len(looked_up)
                errors.append(estimate - truth[query][key].containment)
                assert answers[key].containment == truth[query][key].containment
        whole_time = whole_time or statistics.median(times)
        recall = found / max(1, sum(map(len, wanted.values())))
        print(
            f"{name:20}{statistics.median(sizes):12.0f}"
            f"{statistics.median(times) / whole_time:9.2f}x{recall:14.3f}"
            f"{root_mean_square(errors):12.3f} (mean {np.mean(errors):+.3f})"
        )


def hashes_of(text, recipe):
    return as_stored(text_fingerprints(text, recipe)[0])


def root_mean_square(values):
    return np.sqrt(np.mean(np.square(values)))


def excerpts(index, texts):
    """Copy 500 characters of one document into another; measure if the source and passage are found."""
    rng = random.Random(3)
    hosts = [text for text in texts if 5_000 < len(text) < 20_000]
    sources = [number for number, text in enumerate(texts) if sum(map(str.isalnum, text)) > 2_000]
    among_ten, marked = {"excerpt": 0, "likeness": 0}, 0
    for _ in range(100):
        number, host = rng.choice(sources), rng.choice(hosts)
        begin = rng.randrange(len(texts[number]) - 500)
        excerpt = texts[number][begin : begin + 500]
        middle = len(host) // 2
        query = f"{host[:middle]}\n\n{excerpt}\n\n{host[middle:]}"
        for rank in among_ten:
            matches = index.search(
                docindex.Text(query),
                limit=10,
                where=("key <> ?", (f"{texts.index(host):07}",)),
                rank=rank,
            )
            # Another file that has the excerpt is just as good a source.
            holding = [match for match in matches if excerpt in texts[int(match.key)]]
            among_ten[rank] += bool(holding) or any(match.key == f"{number:07}" for match in matches)
            if rank == "excerpt":
                marked += any(is_marked(match, excerpt, middle + 2) for match in holding)
    print(
        f"excerpts of 500 characters: source among the first ten {among_ten['excerpt']} of 100 (target 97), "
        f"by likeness {among_ten['likeness']}; a passage covers the whole excerpt {marked} of 100"
    )


def is_marked(match, excerpt, at):
    """Whether a passage covers an excerpt from its first letter or digit to its last."""
    letters = [at + place for place, char in enumerate(excerpt) if char.isalnum()]
    return any(
        passage.query_start <= letters[0] and passage.query_end >= letters[-1] + 1
        for passage in match.passages()
    )


def larger(index, texts, queries, folder):
    """Time searches among ten times as many documents: nine copies of each, with some words changed."""
    rng = random.Random(4)

    def changed(text):
        words = text.split(" ")
        for _ in range(max(1, len(words) // 60)):
            words[rng.randrange(len(words))] = f"changed{rng.random()}"
        return " ".join(words)

    def items():
        for number, text in enumerate(texts):
            yield number, text
            for copy in range(1, 10):
                yield copy * len(texts) + number, changed(text)

    with docindex.open(folder / "large") as large:
        large.add_many(((f"{key:07}", text) for key, text in items()), workers=2, store_text=False)
        large.optimize()
        times = {small: [] for small in (True, False)}
        for _ in range(3):
            for query in queries:
                times[True].append(timed(index.search, query))
                times[False].append(timed(large.search, query))
    ratio = statistics.median(times[False]) / statistics.median(times[True])
    print(f"search among {10 * len(texts):,} documents / among {len(texts):,}: {ratio:.2f} (target 1.6)")


def pairs(index, texts, folder):
    """Time all pairs, compared with two programs that compare all texts with all others."""
    begin = time.perf_counter()
    found = list(index.pairs(min_resemblance=0.5))
    ours = time.perf_counter() - begin
    print(f"all pairs of {len(texts):,} documents: {ours:.1f} s, {len(found):,} pairs")
    sampled = folder / "sampled"
    sampled.mkdir()
    sample = random.Random(5).sample(range(len(texts)), min(1000, len(texts)))
    for number in sample:
        (sampled / f"{number:07}.txt").write_text(texts[number], "utf-8", "surrogatepass", newline="")
    with contextlib.suppress(ImportError):
        import copydetect

        detector = copydetect.CopyDetector(
            test_dirs=[str(sampled)],
            extensions=["txt"],
            noise_t=docindex.Recipe().k,
            guarantee_t=docindex.Recipe().guarantee,
            silent=True,
            disable_filtering=True,
        )
        theirs = timed(detector.run) * (len(texts) / len(sample)) ** 2
        print(
            f"copydetect: {theirs:.0f} s (from {len(sample):,} documents); "
            f"ours / theirs: {ours / theirs:.4f} (target 0.02)"
        )
    if shutil.which("sim_text"):
        everything = folder / "everything"
        everything.mkdir()
        for number, text in enumerate(texts):
            (everything / f"{number:07}.txt").write_text(text, "utf-8", "surrogatepass", newline="")
        names = "\n".join(str(path) for path in sorted(everything.iterdir()))
        begin = time.perf_counter()
        subprocess.run(
            ["sim_text", "-p", "-a", "-i"],
            input=names + "\n",
            text=True,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        theirs = time.perf_counter() - begin
        print(f"sim_text -p -a: {theirs:.1f} s; ours / theirs: {ours / theirs:.2f} (target 1.0)")
    else:
        print("sim_text is not installed (Debian package: similarity-tester)", file=sys.stderr)
