"""Hash the shingles of documents: every q consecutive tokens become one 64-bit hash.

In: tokens (words, lines or letters), or the ranges of symbols that they cover. Out: hashes. Must never know
how a text is split into tokens.

A document with fewer than q tokens has one shingle, which is the whole document: so short documents can
resemble each other too. An empty document has no shingle. Option B of Broder (1997) takes the set of the
shingles. Option A labels each shingle with the number of times it has occurred so far, and so counts repeats.
"""

import numpy as np

from docindex.arrays.ranges import I64, U8, U64, are_first, mix, owners, ranges, starts_of
from docindex.winnowing.kgrams import grams, span_hashes

_LABEL = np.uint64(0xD1342543DE82EF95)  # odd, so that all labels differ


def token_spans(begins: I64, size: int, longest: int) -> tuple[I64, I64]:
    """Where tokens begin and end, if each token reaches to the start of the next token.

    A token of more than `longest` symbols is cut into pieces of that length from its start, as Broder does.

    >>> [array.tolist() for array in token_spans(np.array([0, 2]), 9, 3)]
    [[0, 2, 5, 8], [2, 5, 8, 9]]
    """
    ends = np.append(begins, size)[1:]
    lengths = ends - begins
    if lengths.max(initial=0) > longest:
        long = (lengths > longest).nonzero()[0]
        more = (lengths[long] - 1) // longest  # how many further pieces begin in each
        cuts = np.repeat(begins[long], more) + longest * ranges(np.ones_like(more), more)
        begins = np.insert(begins, np.repeat(long + 1, more), cuts)
        ends = np.append(begins, size)[1:]
    return begins, ends


def token_hashes(symbols: U8, begins: I64, ends: I64) -> U64:
    """One mixed hash for each token; equal tokens have equal hashes, wherever they occur.

    >>> hashes = token_hashes(np.frombuffer(b"toandto", np.uint8), np.array([0, 2, 5]), np.array([2, 5, 7]))
    >>> len(set(hashes.tolist()))
    2
    """
    return mix(span_hashes(symbols, begins, ends))


def shingles(tokens: U8 | U64, starts: I64, q: int) -> tuple[U64, I64]:
    """The hashes of the shingles of each document, in order and with repeats, and where each document starts.

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
    # Hash the tokens of each short document as one run, and insert the hash where its shingles would be.
    whole = _run_hashes(tokens, starts[short], sizes[short])
    hashes = np.insert(hashes, gram_starts[short], whole)
    counts = np.diff(gram_starts)
    counts[short] = 1
    return mix(hashes), starts_of(counts)


def labelled_bag(hashes: U64, starts: I64) -> U64:
    """Option A: the hashes of each document, changed so that repeats of a hash become different hashes.

    Within each document, the results are in the ascending order of the original hashes. The first occurrence
    keeps its hash, so that a bag without repeats equals the set.

    >>> bag = labelled_bag(np.array([5, 6, 5], np.uint64), np.array([0, 3]))
    >>> bag[[0, 2]].tolist(), len(set(bag.tolist()))
    ([5, 6], 3)
    """
    keys = _keys(hashes, starts)
    order = np.argsort(keys)
    heads = np.append(are_first(keys[order]).nonzero()[0], len(keys))
    lengths = np.diff(heads)
    occurrence = ranges(np.zeros_like(lengths), lengths).astype(np.uint64)
    ordered = hashes[order]
    return np.where(occurrence > 0, mix(ordered + occurrence * _LABEL), ordered)


def distinct_counts(hashes: U64, starts: I64) -> I64:
    """The number of distinct hashes of each document.

    >>> distinct_counts(np.array([9, 4, 9, 4], np.uint64), np.array([0, 3, 3, 4])).tolist()
    [2, 0, 1]
    """
    keys = _keys(hashes, starts)
    keys.sort()
    return np.diff(np.searchsorted(are_first(keys).nonzero()[0], starts))


def _keys(hashes: U64, starts: I64) -> U64:
    """Keys that sort by document first, then by hash.

    The number of the document takes the highest bits. To make room for it, the lowest bits of the hash are
    dropped. Two different hashes of one document get equal keys no more often than two hashes of the whole
    batch are equal by chance. One sort of plain numbers is ten times as fast as a sort by two columns.
    """
    bits = max(0, len(starts) - 2).bit_length()
    document = owners(starts).astype(np.uint64)
    return (hashes >> np.uint64(bits)) | (document << np.uint64(64 - bits))


def _run_hashes(tokens: U8 | U64, begins: I64, lengths: I64) -> U64:
    """The hash of each run of tokens, as `grams` would hash the whole run. No run may be empty."""
    own = tokens[ranges(begins, lengths)]
    starts = starts_of(lengths)
    return span_hashes(own, starts[:-1], starts[1:])
