"""Tokens in, the 64-bit hashes of their shingles out.

A token is a word, a line or a letter; a shingle is q consecutive tokens of one document.
Option B of Broder 1997 takes the set of them, option A labels each with how often it has
occurred so far, which keeps a bag apart from a set. A document of fewer than q tokens has
one shingle, all of it, so that short documents can be alike, too; an empty one has none.

Must never know how a text is parted into tokens.
"""

import numpy as np

from docindex.kernels.arrays import I64, U8, U64, mix, owners, ranges, starts_of
from docindex.kernels.kgrams import grams, span_hashes

_LABEL = np.uint64(0xD1342543DE82EF95)


def token_spans(begins: I64, size: int, longest: int) -> tuple[I64, I64]:
    """Where tokens begin and end, when each reaches to the next one's begin and none is too long.

    A longer one is cut into pieces of `longest` from its begin, as Broder does.

    >>> [array.tolist() for array in token_spans(np.array([0, 2]), 9, 3)]
    [[0, 2, 5, 8], [2, 5, 8, 9]]
    """
    ends = np.append(begins, size)[1:]
    lengths = ends - begins
    if lengths.max(initial=0) > longest:
        pieces = -(-lengths // longest)
        begins = np.repeat(begins, pieces) + longest * ranges(np.zeros_like(pieces), pieces)
        ends = np.append(begins, size)[1:]
    return begins, ends


def token_hashes(symbols: U8, begins: I64, ends: I64) -> U64:
    """One mixed hash for each token, equal for equal tokens wherever they stand.

    >>> hashes = token_hashes(np.frombuffer(b"toandto", np.uint8), np.array([0, 2, 5]), np.array([2, 5, 7]))
    >>> len(set(hashes.tolist()))
    2
    """
    return mix(span_hashes(symbols, begins, ends))


def shingles(tokens: U8 | U64, starts: I64, q: int) -> tuple[U64, I64]:
    """The hashes of the shingles of each document in their order, repeats and all.

    >>> rose = np.array([7, 1, 2, 7, 1, 2, 7, 1], np.uint64)
    >>> hashes, starts = shingles(rose, np.array([0, 8]), 4)
    >>> len(hashes), len(set(hashes.tolist()))
    (5, 3)
    """
    hashes, gram_starts = grams(tokens, starts, q)
    sizes = np.diff(starts)
    short = np.flatnonzero((sizes > 0) & (sizes < q))
    if not len(short):
        return mix(hashes), gram_starts
    # The short ones' tokens hashed as one run each, and put in where their shingles would stand.
    whole = _run_hashes(tokens, starts[short], sizes[short])
    hashes = np.insert(hashes, gram_starts[short], whole)
    counts = np.diff(gram_starts)
    counts[short] = 1
    return mix(hashes), starts_of(counts)


def labelled_bag(hashes: U64, starts: I64) -> U64:
    """Option A: the hashes with their occurrence numbers mixed in.

    Each document's come in the ascending order of the plain ones. The first occurrence keeps its
    hash, so that a bag without repeats is the set.

    >>> bag = labelled_bag(np.array([5, 6, 5], np.uint64), np.array([0, 3]))
    >>> bag[[0, 2]].tolist(), len(set(bag.tolist()))
    ([5, 6], 3)
    """
    keys = _keys(hashes, starts)
    order = np.argsort(keys)
    heads = np.append(_heads(keys[order]), len(keys))
    lengths = np.diff(heads)
    occurrence = ranges(np.zeros_like(lengths), lengths).astype(np.uint64)
    ordered = hashes[order]
    return np.where(occurrence > 0, mix(ordered + occurrence * _LABEL), ordered)


def distinct_counts(hashes: U64, starts: I64) -> I64:
    """How many different hashes each document has.

    >>> distinct_counts(np.array([9, 4, 9, 4], np.uint64), np.array([0, 3, 3, 4])).tolist()
    [2, 0, 1]
    """
    # Sorted, each document still takes up the places it had.
    return np.diff(np.searchsorted(_heads(np.sort(_keys(hashes, starts))), starts))


def _keys(hashes: U64, starts: I64) -> U64:
    """Hashes that sort by document first.

    The document's number takes the place of the lowest bits. That two hashes of one document
    are alike in the others is no more likely than that two in the batch are alike in all, and
    one sort of plain numbers is ten times as fast as a sort by two columns.
    """
    bits = max(0, len(starts) - 2).bit_length()
    document = owners(starts).astype(np.uint64)
    return (hashes >> np.uint64(bits)) | (document << np.uint64(64 - bits))


def _heads(ordered: U64) -> I64:
    """The places where a run of equal numbers begins."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])


def _run_hashes(tokens: U8 | U64, begins: I64, lengths: I64) -> U64:
    """The hash of each of some non-empty runs of tokens, as `grams` gives it for the whole run."""
    own = tokens[ranges(begins, lengths)]
    starts = starts_of(lengths)
    return span_hashes(own, starts[:-1], starts[1:])
