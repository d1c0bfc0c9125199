"""Measure which order of the answers of `search` puts the right documents first.

Each formula is computed from the sets of fingerprint hashes; the last two are those of `search`. (A test of
`docindex.query.search.scoring` holds the library to them.) The table in `docindex.query.search.ranking` comes
from here.
"""

import collections
import functools
import random

import numpy as np

from docindex import Recipe
from docindex.arrays.ranges import ranges
from docindex.query.search.ranking import LEAST_MEAN, SAMPLE
from docindex.sketching.single_text import text_fingerprints
from docindex.storage.rows.contents import as_stored
from tests.bench import corpora

RECIPES = (Recipe(k=25, window=26), Recipe(k=15, window=36))
EXCERPTS = 200
RELEASES = 2500  # documents of each corpus
QUERIES = 300  # pairs of each kind of pan13


class Hashes:
    """The fingerprint hashes of some texts, by text and by hash."""

    def __init__(self, texts, recipe):
        self.recipe, self.texts = recipe, texts
        self.keys = sorted(texts)
        self.place = {key: place for place, key in enumerate(self.keys)}
        self.own = [self.of(texts[key]) for key in self.keys]
        self.sizes = np.array([len(own) for own in self.own])
        together, owners = np.concatenate(self.own), np.repeat(np.arange(len(self.keys)), self.sizes)
        order = np.argsort(together, kind="stable")
        self.distinct, first = np.unique(together[order], return_index=True)
        self.starts, self.owners = np.append(first, len(order)), owners[order]
        # A hash of exact copies counts once, because an index has one content for them.
        seen = {}
        once = np.array([seen.setdefault(texts[key], key) == key for key in self.keys])
        self.having = np.add.reduceat(once[self.owners].astype(np.int64), first)
        self.own_having = [self.having[np.searchsorted(self.distinct, own)] for own in self.own]

    def of(self, text):
        return as_stored(text_fingerprints(text, self.recipe)[0])

    @functools.cache  # noqa: B019 - there are only a few of these objects
    def weights(self, power):
        """The weight of all hashes of each text."""
        return np.array([(having.astype(float) ** -power).sum() for having in self.own_having])

    def compared(self, hashes):
        """What the formulas need to know about a query and each text."""
        at = np.minimum(np.searchsorted(self.distinct, hashes), len(self.distinct) - 1)
        having = np.where(self.distinct[at] == hashes, self.having[at], 0)
        at = at[having > 0]
        counts = self.starts[at + 1] - self.starts[at]
        which = np.repeat(np.flatnonzero(having), counts)
        return Compared(self, hashes, having, self.owners[ranges(self.starts[at], counts)], which)


class Compared:
    """A query and all texts: how much they share, by different weights."""

    def __init__(self, texts, hashes, having, owners, which):
        self.texts, self.hashes, self.having = texts, hashes, np.maximum(having, 1).astype(float)
        self.owners, self.which = owners, which
        self.count = np.bincount(owners, minlength=len(texts.keys)).astype(float)
        self.sizes = texts.sizes

    def shared(self, power):
        """The weight that the query and each text share; a hash of n texts weighs n^-power."""
        return np.bincount(self.owners, (self.having**-power)[self.which], minlength=len(self.texts.keys))

    def whole(self, power):
        return (self.having**-power).sum()

    def likeness(self, power, others):
        return self.shared(power) / (self.whole(power) + others)

    def others(self, power, sample=None):
        """The weight of the hashes that a text has and the query has not; of a sample, as `search` has it."""
        if sample is None:
            return np.maximum(self.texts.weights(power) - self.shared(power), 0)
        found = np.zeros(len(self.sizes))
        for place in np.flatnonzero(self.count):
            without = ~np.isin(self.texts.own[place], self.hashes, assume_unique=True)
            having = self.texts.own_having[place][without]
            if len(having):
                mean = (having[:sample].astype(float) ** -power).mean()
                found[place] = len(having) * max(mean, LEAST_MEAN / 2**32)
        return found


# What `search` orders by stands last.
FORMULAS = {
    "number of shared hashes": lambda c: c.count,
    "resemblance, no weights": lambda c: c.count / (len(c.hashes) + c.sizes - c.count),
    "S / Q, n^-1/2": lambda c: c.shared(0.5) / c.whole(0.5),
    "S / Q, n^-1": lambda c: c.shared(1) / c.whole(1),
    "S / (Q + r), n^-1/2": lambda c: c.likeness(0.5, (c.sizes - c.count) * c.whole(0.5) / len(c.hashes)),
    "S / sqrt(Q (R + S)), n^-1/2": lambda c: c.shared(0.5) / np.sqrt(c.others(0.5) + c.shared(0.5) + 1e-9),
    "S / (Q + R), n^-1/4": lambda c: c.likeness(0.25, c.others(0.25)),
    "S / (Q + R), n^-3/4": lambda c: c.likeness(0.75, c.others(0.75)),
    "S / (Q + R), n^-1": lambda c: c.likeness(1, c.others(1)),
    "S / (Q + R), n^-1/2": lambda c: c.likeness(0.5, c.others(0.5)),
    "likeness: a sample of R": lambda c: c.likeness(0.5, c.others(0.5, SAMPLE)),
    "excerpt: S / Q, n^-2": lambda c: c.shared(2) / c.whole(2),
}


def run():
    """A table for each recipe: a line for each formula, a column for each collection of texts."""
    for recipe in RECIPES:
        columns = {}
        for name, (corpus, measure) in MEASURES.items():
            if corpora.present(corpus):
                for column, values in measure(recipe).items():
                    columns[f"{name} {column}".strip()] = values
        print(f"k={recipe.k}, window={recipe.window}")
        for number, name in enumerate(columns, 1):
            print(f"  {number}: {name}")
        print(f"{'':29}{''.join(f'{number:6}' for number in range(1, len(columns) + 1))}")
        for formula in FORMULAS:
            shares = "".join(f"{np.mean(values[formula]):6.3f}" for values in columns.values())
            print(f"{formula:29}{shares}", flush=True)


def ranked(compared, excluded=None):
    """For each formula, the places of the texts that share a hash, best first, then by key."""
    for formula, score in FORMULAS.items():
        scores = np.where(compared.count > 0, score(compared), -1.0)
        if excluded is not None:
            scores[excluded] = -1.0
        order = np.argsort(-scores, kind="stable")
        yield formula, order[: np.count_nonzero(scores[order[:60]] >= 0)]


def licences(recipe):
    """The right licence of a text that somebody found: the first answer, or one of the first five."""
    texts, queries = corpora.licenses()
    hashes = Hashes(texts, recipe)
    found = {half: {first: collections.defaultdict(list) for first in (1, 5)} for half in (0, 1)}
    for name, text, key in queries:
        for formula, order in ranked(hashes.compared(hashes.of(text))):
            for first, values in found[corpora.half(name)].items():
                values[formula].append(hashes.place[key] in order[:first])
    return {f"first {first}, half {half}": found[half][first] for half in (0, 1) for first in (1, 5)}


def releases(load, first, recipe):
    """The share of the other releases of a file among the first answers."""
    texts, groups = load()
    hashes, found = Hashes(texts, recipe), {half: collections.defaultdict(list) for half in (0, 1)}
    keys = [(key, group) for group in groups for key in group]
    for key, group in random.Random(1).sample(keys, min(len(keys), RELEASES)):
        place = hashes.place[key]
        others = {hashes.place[other] for other in group} - {place}
        values = found[corpora.half(key.split("/", 1)[1])]
        for formula, order in ranked(hashes.compared(hashes.own[place]), place):
            values[formula].append(len(others & set(order[:first].tolist())) / min(len(others), first))
    return {f"first {first}, half {half}": found[half] for half in (0, 1)}


def sources(recipe):
    """The source of a text of which a part was copied or reworded, among the first 50."""
    texts, pairs = corpora.pan13()
    hashes = Hashes({key: text for key, text in texts.items() if key.startswith("src/")}, recipe)
    columns = {}
    for kind in ("verbatim", "random", "translation", "summary"):
        values = columns[kind] = collections.defaultdict(list)
        chosen = [pair for pair in pairs if pair.kind == kind and not corpora.half(pair.suspicious)]
        for pair in random.Random(2).sample(chosen, min(len(chosen), QUERIES)):
            compared = hashes.compared(hashes.of(texts[pair.suspicious]))
            for formula, order in ranked(compared):
                values[formula].append(hashes.place[pair.source] in order[:50])
    return columns


def excerpts(load, recipe):
    """A text that holds an excerpt of 500 characters, among the first ten.

    The excerpt is the query ("quoted"), or it is in the middle of another text ("inserted").
    """
    texts = load()[0]
    hashes, rng = Hashes(texts, recipe), random.Random(3)
    hosts = [key for key in hashes.keys if 5_000 < len(texts[key]) < 20_000]
    long = [key for key in hashes.keys if sum(map(str.isalnum, texts[key])) > 2_000]
    columns = {name: collections.defaultdict(list) for name in ("quoted", "inserted")}
    for _ in range(EXCERPTS):
        source, host = rng.choice(long), rng.choice(hosts)
        begin = rng.randrange(len(texts[source]) - 500)
        excerpt, middle = texts[source][begin : begin + 500], len(texts[host]) // 2
        inserted = f"{texts[host][:middle]}\n\n{excerpt}\n\n{texts[host][middle:]}"
        holding = {place for place, key in enumerate(hashes.keys) if excerpt in texts[key]}
        for name, query, excluded in (
            ("quoted", excerpt, None),
            ("inserted", inserted, hashes.place[host]),
        ):
            for formula, order in ranked(hashes.compared(hashes.of(query)), excluded):
                columns[name][formula].append(bool(holding.intersection(order[:10].tolist())))
    return columns


def django_sources():
    return corpora.pyrev(".py")


MEASURES = {
    "licences": ("licenses", licences),
    "manual pages": ("manpages", functools.partial(releases, corpora.manpages, 2)),
    "Django's documentation": ("pyrev", functools.partial(releases, corpora.pyrev, 6)),
    "Django's sources": ("pyrev", functools.partial(releases, django_sources, 6)),
    "pan13": ("pan13", sources),
    "500 characters of licences": ("licenses", functools.partial(excerpts, corpora.licenses)),
    "500 characters of manual pages": ("manpages", functools.partial(excerpts, corpora.manpages)),
    "500 characters of Django's sources": ("pyrev", functools.partial(excerpts, django_sources)),
}
"""The folder of the corpus that each measure needs, and the measure."""
