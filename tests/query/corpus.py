"""A small corpus whose documents copy from each other, and the definitions of what is asked about it."""

import random
from fractions import Fraction

import docindex
from docindex import Recipe
from tests.storage.texts import prose

RECIPE = Recipe(k=8, window=6, shingle=3, slots=64, features=(4, 4, 2))


def corpus(seed, size=40):
    """Texts by key: some share passages, some are copies, some too short for a fingerprint, some empty."""
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


def hashes_of(text, recipe=RECIPE):
    """The set of a text's fingerprints as an index keeps them."""
    return {hash_ >> 16 for hash_ in docindex.fingerprints(text, recipe).hashes.tolist()}


def search(texts, query, *, ignored=frozenset(), ignore_above=None):
    """The definition: for each key its shared, containment, contained, resemblance and score."""
    sets = {key: hashes_of(text) - ignored for key, text in texts.items()}
    having = {}
    for own in {texts[key]: own for key, own in sets.items()}.values():  # exact copies count once
        for hash_ in own:
            having[hash_] = having.get(hash_, 0) + 1
    common = {hash_ for hash_, count in having.items() if ignore_above and count > ignore_above}
    wanted = hashes_of(query) - ignored - common
    found = {}
    for key, own in sets.items():
        own = own - common
        shared = wanted & own
        if shared:
            score = sum((1 << 32) // having[hash_] for hash_ in shared)
            found[key] = (
                len(shared),
                len(shared) / len(wanted),
                len(shared) / len(own),
                len(shared) / len(wanted | own),
                score / (1 << 32),
            )
    return found


def shares(match):
    """What `search` above gives of a match."""
    return match.shared, match.containment, match.reverse_containment, match.resemblance, match.score


def fraction(a, b):
    """An exact quotient."""
    return Fraction(a, b) if b else Fraction(0)
