"""Hash all k-grams of a text, or runs of any length: Karp-Rabin hashing by prefix sums.

In: symbols. Out: one hash for each k-gram or run. Must never depend on what a symbol stands for.

With B odd, ``P[i] = sum(c[j] * B^(j+1) for j < i)``, and the hash of symbols [a, b) is
``(P[b] - P[a]) * B^-a``, all modulo 2^64 on purpose. The cost of a k-gram does not depend on k, and the same
sums serve for runs of any length. Equal runs have equal hashes wherever they occur. The low bits are weak
(bit 0 is a parity), so callers should mix the hashes or use the high bits.

Modulo 2^64, some different runs of 1024 or more symbols have the same hash whatever B is (Thue-Morse words),
and the hashes of some different runs of 256 symbols can differ only in the 20 highest bits. So a k-gram of
more than 64 symbols is hashed block by block: each block of 64 symbols adds one mix to the cost.
"""

from functools import lru_cache

import numpy as np

from docindex.arrays.ranges import CHUNK, I64, U8, U64, mix, starts_of

# Odd, and 5 modulo 8, so that its powers take 2^62 values before they repeat. Otherwise arbitrary.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_BLOCK = 64


@lru_cache(maxsize=2)
def _powers(base: int, log2_length: int) -> U64:
    """The first 2^log2_length powers of a base, computed by doubling."""
    powers = np.ones(1 << log2_length, np.uint64)
    for bit in range(log2_length):
        half = 1 << bit
        np.multiply(powers[:half], np.uint64(pow(base, half, 1 << 64)), out=powers[half : 2 * half])
    powers.setflags(write=False)
    return powers


def powers(base: int, length: int) -> U64:
    """At least `length` powers of a base modulo 2^64, starting with 1; cached.

    >>> powers(3, 4)[:4].tolist()
    [1, 3, 9, 27]
    """
    return _powers(base, max(16, (length - 1).bit_length()))


def prefix_sums(symbols: U8 | U64, out: U64 | None = None) -> U64:
    """The prefix sums P of the symbols: one sum more than there are symbols.

    >>> sums = prefix_sums(np.frombuffer(b"aa", np.uint8))
    >>> len(sums), int(sums[0])
    (3, 0)
    """
    count = len(symbols)
    sums = np.empty(count + 1, np.uint64) if out is None else out[: count + 1]
    sums[0] = 0
    # Starting with B, not B^0, spreads even a single symbol over all high bits.
    np.multiply(symbols, powers(_BASE, count + 1)[1 : count + 1], out=sums[1:])
    np.cumsum(sums[1:], out=sums[1:])
    return sums


def rolling_hashes(sums: U64, k: int, out: U64 | None = None) -> U64:
    """The hashes of all k-grams, from the prefix sums: one hash for each place where a k-gram fits.

    >>> hashes = rolling_hashes(prefix_sums(np.frombuffer(b"abcabc", np.uint8)), 3)
    >>> len(hashes), len(set(hashes.tolist())), bool(hashes[0] == hashes[3])
    (4, 3, True)
    """
    count = max(0, len(sums) - k)
    hashes = np.empty(count, np.uint64) if out is None else out[:count]
    if k <= _BLOCK:
        np.subtract(sums[k:], sums[:count], out=hashes)
        hashes *= powers(_INVERSE, count)[:count]
        return hashes
    whole = mix(rolling_hashes(sums, _BLOCK))
    hashes[:] = rolling_hashes(sums, k % _BLOCK)[-count:] if k % _BLOCK else 0
    for begin in range(0, k - _BLOCK + 1, _BLOCK):
        hashes += whole[begin : begin + count]
        hashes[:] = mix(hashes)
    return hashes


def grams(symbols: U8 | U64, starts: I64, k: int) -> tuple[U64, I64]:
    """The hash of every k-gram that lies within one document, and where the hashes of each document start.

    Symbols may be bytes or 64-bit hashes of tokens. Up to k = 64 the cost does not depend on k.

    >>> hashes, starts = grams(np.frombuffer(b"abcabc", np.uint8), np.array([0, 3, 5, 6]), 2)
    >>> starts.tolist(), bool(hashes[0] == hashes[2])
    ([0, 2, 3, 3], True)
    """
    counts = np.maximum(np.diff(starts) - (k - 1), 0)
    places = max(0, len(symbols) - k + 1)
    everywhere = np.empty(places, np.uint64)
    for begin in range(0, places, CHUNK):
        end = min(begin + CHUNK, places)
        rolling_hashes(prefix_sums(symbols[begin : end + k - 1]), k, out=everywhere[begin:end])
    if len(starts) == 2:
        return everywhere, starts_of(counts)
    # At the last k-1 places of each document, k-grams cross into the next document: leave them out.
    inside = np.zeros(places + 1, np.int8)
    filled = counts > 0
    inside[starts[:-1][filled]] = 1
    inside[starts[:-1][filled] + counts[filled]] -= 1
    np.cumsum(inside, out=inside)
    # A quarter of the time of a Boolean index.
    return everywhere.take(inside[:-1].view(bool).nonzero()[0]), starts_of(counts)


def span_hashes(symbols: U8 | U64, begins: I64, ends: I64) -> U64:
    """The hash of each run of symbols; the runs must be in ascending order.

    Takes a few operations for each run, however long it is, and one pass over the symbols. Use it for runs of
    at most 128 symbols: somebody could make longer runs collide.

    >>> hashes = span_hashes(np.frombuffer(b"toandto", np.uint8), np.array([0, 2, 5]), np.array([2, 5, 7]))
    >>> len(set(hashes.tolist())), bool(hashes[0] == hashes[2])
    (2, True)
    """
    hashes = np.empty(len(begins), np.uint64)
    first = 0
    while first < len(begins):
        # Take the runs that begin within one chunk. The prefix sums reach to the end of the last of them.
        offset = begins[first]
        last = int(np.searchsorted(begins, offset + CHUNK))
        sums = prefix_sums(symbols[offset : ends[last - 1]])
        here = begins[first:last] - offset
        part = sums[ends[first:last] - offset]
        part -= sums[here]
        part *= powers(_INVERSE, CHUNK)[here]
        hashes[first:last] = part
        first = last
    return hashes
