"""Measure merging shards, loading sketches and exporting them, against sketching the same texts again.

Processor time in one process, because sketching also uses other processes. The sides take turns.
"""

import importlib
import statistics
import tempfile
import time
from pathlib import Path

import docindex
from tests.bench import corpus, material

SHARDS = 4


def run(options):
    """Measure the collections that are named, or else the files of the folders that are named."""
    names = options.folders or ["M", "notes"]
    if not set(names) <= set(material.COLLECTIONS):
        paths = corpus.distinct_files(names, options.megabytes)
        given = {"files": [path.read_bytes().decode("utf-8", "replace") for path in paths]}
    else:
        given = {name: material.texts_of(name, options.megabytes) for name in names}
    importlib.import_module("docindex.sketching.sketch_tables")  # pyarrow takes a while
    for name, texts in given.items():
        size = sum(map(len, texts)) / 1e6
        print(f"{name}: {len(texts):,} texts, {size:.0f} MB, {1000 * size / len(texts):.1f} KB each")
        items = [(f"text {number:07}", text) for number, text in enumerate(texts)]
        for keep in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                compare(items, Path(folder), options.rounds, keep=keep)


def compare(items, folder, rounds, *, keep):
    """Print how much faster each way is than adding the texts: medians of the rounds."""
    paths = [folder / f"shard {number}" for number in range(SHARDS)]
    for number, path in enumerate(paths):
        added(items[number::SHARDS], path, keep=keep)
    added(items, folder / "one", keep=keep)
    took = {"add_many": [], "merge": [], "export_sketches": [], "load_sketches": []}
    for number in range(rounds):
        took["add_many"].append(timed(added, items, folder / f"added {number}", keep=keep))
        took["merge"].append(timed(docindex.merge, paths, folder / f"merged {number}"))
        with docindex.open(folder / "one", readonly=True) as one:
            took["export_sketches"].append(timed(list, one.export_sketches()))
            table = one.export_sketches().read_all()
        with docindex.open(folder / f"loaded {number}") as loaded:
            took["load_sketches"].append(timed(loaded.load_sketches, table))
    seconds = {name: statistics.median(each) for name, each in took.items()}
    kind = "texts kept" if keep else "no texts"
    for name, each in seconds.items():
        print(f"  {kind:10}  {name:16} {seconds['add_many'] / each:5.2f} times as fast")


def added(items, path, *, keep):
    with docindex.open(path) as index:
        index.add_many(items, workers=1, store_text=keep)


def timed(work, *arguments, **options):
    """The processor time of a call, in seconds."""
    begin = time.process_time()
    work(*arguments, **options)
    return time.process_time() - begin
