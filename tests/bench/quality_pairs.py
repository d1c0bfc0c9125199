"""Check that pairs are complete and exact on real texts, and measure what that costs.

Prints the number of pairs of Reuters stories at three thresholds, the recall and precision of `pairs` against
comparing every two shingle sets, and the time of `pairs` by shingles as a ratio to that by fingerprints.
"""

import itertools
import random
import time

import docindex
from docindex import Recipe
from docindex.sketching.sketcher import shingle_sets
from tests.bench import corpora

REUTERS = {0.5: 750, 0.7: 530, 0.8: 455}
"""The published numbers of pairs of stories with 20 or more runs of five words."""

SUBSET = 2000


def run():
    """Print the figures."""
    if corpora.present("reuters"):
        print("   pairs of Reuters stories (published): " + ", ".join(reuters()))
    texts = mixed_texts()
    if len(texts) < SUBSET:
        print("   too few texts to measure all pairs: get the collections of Django, manual pages and others")
        return
    size = sum(map(len, texts)) / 1e6
    print(f"   {len(texts):,} texts, {size:.0f} MB; brute force among {SUBSET:,} of them")
    with docindex.open(":memory:") as index:
        index.add_many(((f"{number:06}", text) for number, text in enumerate(texts)), workers=2)
        index.optimize()
        subset = random.Random(1).sample(range(len(texts)), SUBSET)
        truth = brute_force([texts[number] for number in subset], [f"{number:06}" for number in subset])
        keys = {f"{number:06}" for number in subset}
        for least in (0.5, 0.8):
            times = {}
            for method in ("fingerprints", "shingles"):
                times[method] = min(timed(index, least, method) for _ in range(3))
            found = {
                (pair.a, pair.b): pair.resemblance
                for pair in index.pairs(min_resemblance=least)
                if pair.a in keys and pair.b in keys
            }
            wanted = {pair: share for pair, share in truth.items() if share >= least}
            right = sum(wanted.get(pair) == share for pair, share in found.items())
            print(
                f"   resemblance >= {least}: recall {right / max(1, len(wanted)):.4f}, precision "
                f"{right / max(1, len(found)):.4f} of {len(wanted)} pairs; time / by fingerprints "
                f"{times['shingles'] / times['fingerprints']:.2f}"
            )


def reuters():
    """For each threshold, the number of pairs that are found, and the published number."""
    texts = {key: text for key, text in corpora.reuters().items() if len(words(text)) >= 24}
    with docindex.open(":memory:") as index:
        index.add_many(texts.items(), workers=2)
        for least, published in REUTERS.items():
            found = sum(1 for _ in index.pairs(min_resemblance=least))
            yield f">= {least}: {found} ({published})"


def words(text):
    """The words of a story as the published numbers count them."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).split()


def mixed_texts():
    """Different texts of several collections, up to 100 MB."""
    sources = []
    if corpora.present("pyrev"):
        sources += [corpora.pyrev()[0], corpora.pyrev(".py")[0]]
    if corpora.present("manpages"):
        sources.append(corpora.manpages()[0])
    found, size = [], 0
    for text in dict.fromkeys(itertools.chain.from_iterable(source.values() for source in sources)):
        if size < 100_000_000:
            found.append(text)
            size += len(text)
    return found


def timed(index, least, method):
    begin = time.perf_counter()
    index.pairs(min_resemblance=least, method=method)
    return time.perf_counter() - begin


def brute_force(texts, keys):
    """The resemblance of every two texts that share a shingle."""
    sets = []
    for hashes, starts in shingle_sets(texts, Recipe()):
        sets += [set(hashes[begin:end].tolist()) for begin, end in itertools.pairwise(starts.tolist())]
    found = {}
    for (key, own), (other, others) in itertools.combinations(sorted(zip(keys, sets, strict=True)), 2):
        if shared := len(own & others):
            found[key, other] = shared / (len(own) + len(others) - shared)
    return found
