"""Measure the answers of the library itself, with its default recipe and ranks, beside the targets.

Each line names a collection, the share of right answers and the target. Every text counts, because nothing is
chosen here.
"""

import contextlib
import random

import numpy as np

import docindex
from docindex import Text
from tests.bench import corpora

SAMPLED = 1500  # queries of each collection
EXCERPTS = 300


def run():
    """Print a line for each question."""
    for corpus, measure in (
        ("pan13", pan13_sources),
        ("licenses", licences),
        ("manpages", manual_pages),
        ("pyrev", revisions),
        ("pyrev", excerpts),
        ("books", parts_of_books),
    ):
        if corpora.present(corpus):
            for name, shares, target in measure():
                print(f"   {name:54}{np.mean(shares):6.3f} (target {target})", flush=True)


@contextlib.contextmanager
def indexed(texts):
    with docindex.open(":memory:") as index:
        index.add_many(texts.items(), workers=2)
        index.optimize()
        yield index


def found(index, query, limit, **options):
    return [match.key for match in index.search(query, limit=limit, **options)]


def pan13_sources():
    """Whether the source of a suspicious text is among the first 50 answers."""
    texts, pairs = corpora.pan13()
    targets = {"verbatim": 0.99, "random": 0.88, "translation": 0.83, "summary": 0.45}
    with indexed({key: text for key, text in texts.items() if key.startswith("src/")}) as index:
        for kind, target in targets.items():
            of_kind = [pair for pair in pairs if pair.kind == kind]
            chosen = random.Random(2).sample(of_kind, min(len(of_kind), SAMPLED))
            shares = [pair.source in found(index, Text(texts[pair.suspicious]), 50) for pair in chosen]
            yield f"pan13: source of a {kind} copy among the first 50", shares, target


def parts_of_books():
    """Whether a part of a book and the whole book, in any edition, are a pair of `containments`."""
    texts, _, parts = corpora.books()
    with indexed(texts) as index:
        pairs = {(pair.a, pair.b) for pair in index.containments()}
    yield "books: part and whole by containments", [pair in pairs for pair in parts], 1


def licences():
    """Whether the licence of a text is the first answer, or among the first five."""
    texts, queries = corpora.licenses()
    with indexed(texts) as index:
        answers = [(key, found(index, Text(text), 5)) for _, text, key in queries]
    for first, target in ((1, 0.68), (5, 0.93)):
        shares = [key in keys[:first] for key, keys in answers]
        yield f"licences: the right one among the first {first}", shares, target


def releases(load, first):
    """For some files, the share of their other releases among the first answers."""
    texts, groups = load()
    keys = [(key, group) for group in groups for key in group]
    with indexed(texts) as index:
        for key, group in random.Random(1).sample(keys, min(len(keys), SAMPLED)):
            others = set(group) - {key}
            answers = [other for other in found(index, docindex.Key(key), first + 1) if other != key][:first]
            yield len(others & set(answers)) / min(len(others), first)


def manual_pages():
    yield "manual pages: other releases among the first 2", [*releases(corpora.manpages, 2)], 0.98


def revisions():
    for suffix, name, target in ((".txt", "documentation", 0.989), (".py", "sources", 0.937)):
        shares = [*releases(lambda suffix=suffix: corpora.pyrev(suffix), 6)]
        yield f"Django's {name}: other releases among the first 6", shares, target


def excerpts():
    """Whether a text that holds 500 characters of the query is among the first ten."""
    texts = corpora.pyrev()[0]
    rng, quoted, inserted = random.Random(3), [], []
    long = [key for key, text in texts.items() if 5_000 < len(text) < 20_000]
    with indexed(texts) as index:
        for _ in range(EXCERPTS):
            source, host = rng.sample(long, 2)
            begin, middle = rng.randrange(len(texts[source]) - 500), len(texts[host]) // 2
            excerpt = texts[source][begin : begin + 500]
            holding = {key for key in long if excerpt in texts[key]} - {host}
            around = f"{texts[host][:middle]}\n\n{excerpt}\n\n{texts[host][middle:]}"
            quoted.append(bool(holding.intersection(found(index, Text(excerpt), 10, rank="excerpt"))))
            answers = found(index, Text(around), 10, rank="excerpt", where=("key <> ?", (host,)))
            inserted.append(bool(holding.intersection(answers)))
    yield "500 characters of Django's documentation alone", quoted, 0.98
    yield "500 characters inside another text", inserted, 0.98
