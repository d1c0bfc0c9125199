"""A small corpus whose documents copy from each other, and the plain definition of a search in it."""

import functools
import math
import random

import docindex
from docindex import Recipe
from tests import plain
from tests.storage.texts import prose

RECIPE = Recipe(k=8, window=6, shingle=3, slots=64, features=(4, 4, 2))


def corpus(seed, size=40):
    """Texts by key: some share passages, some are copies, some are empty or too short for a fingerprint."""
    rng = random.Random(seed)
    texts = {"empty": "", "marks": " ... !", "short": "abc", "SHORT": "A b-c"}
    passages = [prose(rng, rng.randint(3, 40)) for _ in range(10)]
    for number in range(size):
        parts = [prose(rng, rng.randint(0, 30)), *rng.sample(passages, rng.randint(0, 3))]
        rng.shuffle(parts)
        texts[f"{number:03}"] = " ".join(parts)
    for number in rng.sample(range(size), 5):
        texts[f"copy of {number:03}"] = texts[f"{number:03}"]
        texts[f"like {number:03}"] = texts[f"{number:03}"].upper().replace(" ", "\r\n")
    return texts


def words(text):
    """What decides whether texts have the same words. The signs count in a text without words."""
    return plain.words(text) or [char for char in text if not char.isspace()]


@functools.cache
def hashes_of(text, recipe=RECIPE):
    """The set of the fingerprint hashes of a text, as an index stores them."""
    return frozenset(hash_ >> 16 for hash_ in docindex.fingerprints(text, recipe).hashes.tolist())


def search(texts, query, *, ignored=frozenset(), ignore_above=None, rank="likeness", part=None):
    """The definition: shared, both containments, resemblance and score of each match, by key.

    `part` gives the hashes of the query that are looked up, of those that count; None for all.
    """
    sets = {key: hashes_of(text) - ignored for key, text in texts.items()}
    having = {}
    for own in {texts[key]: own for key, own in sets.items()}.values():  # exact copies count once
        for hash_ in own:
            having[hash_] = having.get(hash_, 0) + 1
    common = {hash_ for hash_, count in having.items() if ignore_above and count > ignore_above}
    wanted = hashes_of(query) - ignored - common
    looked_up = wanted if part is None else part(wanted)

    def weight(hashes):
        if rank == "excerpt":
            return sum((1 << 32) // having.get(hash_, 1) ** 2 for hash_ in hashes)
        return sum(int((1 << 32) / math.sqrt(having.get(hash_, 1))) for hash_ in hashes)

    found = {}
    for key, own in sets.items():
        own = own - common
        shared, others = wanted & own, sorted(own - wanted)
        if shared & looked_up:
            rest = 0.0
            if others and rank == "likeness":
                mean = max(weight(others[:12]) / len(others[:12]), (1 << 32) / 8)
                rest = len(looked_up) / len(wanted) * (len(others) * mean)
            found[key] = (
                len(shared),
                len(shared) / len(wanted),
                len(shared) / len(own),
                len(shared) / len(wanted | own),
                weight(shared & looked_up) / (weight(looked_up) + rest),
            )
    return found


def shares(match):
    """The numbers of a match in the order in which `search` above gives them."""
    return match.shared, match.containment, match.reverse_containment, match.resemblance, match.score
