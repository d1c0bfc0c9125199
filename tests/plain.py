"""The definitions, in plain Python: what each kernel is held against."""

import itertools
import unicodedata
from collections import Counter

import numpy as np


def batch(documents, dtype=np.uint64):
    """Documents end to end, and their starts."""
    starts = np.cumsum([0, *(len(document) for document in documents)])
    return np.array([value for document in documents for value in document], dtype), starts


def parted(values, starts):
    """A batch's result, a list for each document."""
    return [values[begin:end].tolist() for begin, end in itertools.pairwise(starts)]


def winnow(hashes, window, *, robust):
    """Definitions 1 and 3 of the Winnowing paper; a short document keeps its smallest."""
    if not hashes:
        return []
    selected = []
    for begin in range(max(1, len(hashes) - window + 1)):
        inside = hashes[begin : begin + window]
        smallest = min(inside)
        held = selected[-1] if selected else -1
        if robust and held >= begin and hashes[held] == smallest:
            continue
        place = begin + max(i for i, hash_ in enumerate(inside) if hash_ == smallest)
        if place != held:
            selected.append(place)
    return selected


def safe_mod_p(hashes, p, window):
    """Good hashes are 0 mod p; bad ones have no good one among them and the window - 1 before."""
    good = [hash_ % p == 0 for hash_ in hashes]
    return [
        i
        for i in range(len(hashes))
        if good[i] or (i >= window - 1 and not any(good[i - window + 1 : i + 1]))
    ]


def symbols(text):
    """DESIGN's reading, a character at a time, and for each symbol the offset it came from."""
    found = []
    for offset, char in enumerate(text):
        for letter in unicodedata.normalize("NFKD", char).casefold():
            if unicodedata.category(letter)[0] in "LN":
                code = ord(letter)
                found.append((code if code < 128 else 128 | code & 127, offset))
                if unicodedata.name(letter, "").startswith("CJK UNIFIED"):
                    found.append((128 | code >> 7 & 127, offset))
    return found


def words(text):
    """ASCII text's words, as lower-case strings."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).split()


def shingles(tokens, q, *, bag=False):
    """Broder's options B (set) and A (labelled); a document shorter than q is one shingle."""
    tokens = list(tokens)
    found = [tuple(tokens[i : i + q]) for i in range(max(1, len(tokens) - q + 1))] if tokens else []
    if not bag:
        return set(found)
    seen = Counter()
    labelled = set()
    for shingle in found:
        seen[shingle] += 1
        labelled.add((shingle, seen[shingle]))
    return labelled


def simhash(hashes, weights):
    """Charikar's simhash, a bit at a time."""
    result = 0
    for bit in range(64):
        balance = sum(w if hash_ >> bit & 1 else -w for hash_, w in zip(hashes, weights, strict=True))
        result |= (balance > 0) << bit
    return result
