"""The definitions of the kernels in plain Python. Tests compare each kernel with its definition."""

import itertools
from collections import Counter

import numpy as np

from tests import unicode_tables

SHIFTS = {0x01: 15, 0x04: 66, 0x06: 77, 0x0F: 1}
SEED = 47


def batch(documents, dtype=np.uint64):
    """Documents end to end, and their starts."""
    starts = np.cumsum([0, *(len(document) for document in documents)])
    return np.array([value for document in documents for value in document], dtype), starts


def parted(values, starts):
    """The result of a batch as a list for each document."""
    return [values[begin:end].tolist() for begin, end in itertools.pairwise(starts)]


def mix(number):
    """The mixing hash of one number."""
    for shift, multiplier in (27, 0x3C79AC492BA7B653), (33, 0x1C69B3F74AC4AE35), (27, 1):
        number = (number ^ number >> shift) * multiplier % 2**64
    return number


def distance(x, y):
    """The number of bits in which two 64-bit numbers differ, signed or not."""
    return ((x ^ y) % 2**64).bit_count()


def winnow(hashes, window, *, robust):
    """Definitions 1 and 3 of the Winnowing paper. A short document keeps its smallest hash."""
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
    """Select the hashes that are 0 mod p, and the last hash of each window in which no hash is 0 mod p."""
    good = [hash_ % p == 0 for hash_ in hashes]
    return [
        i
        for i in range(len(hashes))
        if good[i] or (i >= window - 1 and not any(good[i - window + 1 : i + 1]))
    ]


def _letter_symbols(kind):
    """The symbols of a letter with its flags."""
    code = kind & unicode_tables.LETTER
    if code < 128:
        return [code]
    if not kind & unicode_tables.WIDE:
        number = mix((code >> 8) + SEED)
        shifted = code + SHIFTS.get(code >> 8, 25) * (code >> 7 & 1)
        return [128 | ((number | 1) * shifted + (number >> 8)) & 127]
    number, mixed = mix((code >> 14) + SEED), code & 16383
    for shift in (0, 20):
        mixed = (mixed * (number >> shift & 16383 | 1) + (number >> shift + 4)) & 16383
        mixed ^= mixed >> 7
    return [128 | mixed & 127, 128 | mixed >> 7]


def tokens(text):
    """The symbols of a text with the offsets of their characters, and None where a word ends."""
    found, ends = [], False
    for offset, char in enumerate(text):
        for kind in unicode_tables.folded(ord(char)):
            if kind in (unicode_tables.VOICED, unicode_tables.HALF_VOICED):
                # It belongs to the word of the kana before.
                mark = 0x3099 if kind == unicode_tables.VOICED else 0x309A
                found[len(found) - ends : len(found) - ends] = [(_letter_symbols(mark)[0], offset)]
                continue
            if kind in (unicode_tables.LEFT_OUT, unicode_tables.INVISIBLE):
                continue
            if kind < 0 or kind & unicode_tables.STARTS:
                found.append(None)
            ends = kind >= 0 and bool(kind & unicode_tables.ENDS)
            if kind >= 0:
                found += [(symbol, offset) for symbol in _letter_symbols(kind)]
            if ends:
                found.append(None)
    return found


def symbols(text):
    """The symbols of a text, and the offset of each symbol's character."""
    return [token for token in tokens(text) if token]


def word_starts(text):
    """The numbers of the symbols at which words begin."""
    found, number, before = [], 0, None
    for token in tokens(text):
        if token and not before:
            found.append(number)
        number += token is not None
        before = token
    return found


def words(text):
    """The words of an ASCII text, in lower case."""
    return "".join(char if char.isalnum() else " " for char in text.lower()).split()


def shingles(tokens, q, *, bag=False):
    """Broder's options B (a set) and A (a labelled bag). A document of fewer than q tokens is one shingle."""
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
    """Charikar's simhash, one bit at a time."""
    result = 0
    for bit in range(64):
        balance = sum(w if hash_ >> bit & 1 else -w for hash_, w in zip(hashes, weights, strict=True))
        result |= (balance > 0) << bit
    return result
