"""Compute min-hash sketches of documents, and estimate the resemblance of two documents from them.

In: the hashes of each document's shingles, or two sketches. Out: the slots of the sketches, or a resemblance.
Must never give different slots for the same set of shingles, whatever their order or batch.

This is fast similarity sketching (Dahlgaard, Knudsen and Thorup, 2017). In round i every shingle falls into
one of t bins with a value i + u, where u is in [0, 1). A bin keeps its smallest value. In each of the rounds
t to 2t - 1 all shingles fall into one bin, a different bin in each round, so that no bin stays empty. A large
set fills all bins in the first round, at the cost of one hash for each shingle. A small set gets the accuracy
of t independent permutations.

Measured with 128 slots (`python -m tests.bench minhash`), for sets of 10, 100, 1,000 and 100,000 shingles:
the error is 0.71, 0.77, 0.98 and 1.03 times the ideal sqrt(r(1-r)/slots), at 500, 26, 3.4 and 2.6 ns for each
shingle. One densified permutation costs 285 to 1.9 ns, but its error is 3.2 times the ideal for 10 shingles
and 1.14 times for 100. Independent permutations cost 180 to 290 ns.

A slot stores the value as a float of 12 bits, 5 of which are the exponent. They sort as the value does, so
the sketch of a union is the slot-wise minimum. Two texts without a common shingle have the same slot with a
probability of .0014, or less if their sizes differ (.18 / 2^7, as in HyperMinHash; Yu and Weber, 2017). That
is far below the standard error of an estimate, so estimates are not corrected for it. But among a million
texts of one size, a text shares each slot with 1,400 others by chance. So a search for pairs joins several
slots: see `slot_bands` and `slot_index`.

Features (super-shingles) are a few hashes of groups of slots (Broder, 2000): near-duplicates have several of
them in common.
"""

import functools
import math
from typing import Final

import numpy as np

from docindex.arrays.ranges import F64, I64, U16, U64, mix, owners

# A key holds the round in its high bits and the fraction u below: 2 * 4,096 rounds need 13 bits. The fraction
# is the lowest bits of the hash in this round, and the highest bits choose the bin.
_FRACTION_BITS = np.uint64(51)
_FRACTION = (np.uint64(1) << _FRACTION_BITS) - np.uint64(1)
# Each round multiplies all hashes by another odd number; round 0, by 1. To mix them again in each round takes
# 1.4 times as long for texts of 60 shingles, and the errors are the same.
_FACTORS = mix(np.arange(2 * 4096, dtype=np.uint64)) | np.uint64(1)
_HALF = np.uint64(32)
# How many hashes are thrown into bins at a time, so that their arrays stay in a core's cache.
_AT_ONCE = 1 << 15
# If fewer than this share of the hashes belong to documents with empty slots, the other hashes are left out.
_FEW_OPEN = 0.8
# This many distinct hashes for each bin fill all bins of a document, except with the chance count / e^12.
_FILL_ALL = 12
_DIGITS = 7
_DROPPED = np.uint64(52 - _DIGITS)  # a double has 52 digits
_LAST_DIGITS = np.uint64((1 << _DIGITS) - 1)
# The exponent of the rounds in which all shingles fall into one bin; that of an empty slot is 31.
_FORCED = 30

EMPTY_KEY: Final = np.uint64(2**64 - 1)
"""The key of a slot that no shingle fell into: only an empty document has such slots."""
EMPTY_SLOT: Final = np.uint16(2**12 - 1)
"""The stored form of `EMPTY_KEY`."""


def slot_keys(hashes: U64, starts: I64, count: int) -> U64:
    """The exact values of each document's slots as 64-bit numbers: an array of documents x count.

    The hashes must be mixed; repeats change nothing. For a document that comes in parts, take the
    `np.minimum` of the keys of its parts.

    >>> whole = slot_keys(np.array([3, 5], np.uint64), np.array([0, 2]), 16)
    >>> parts = slot_keys(np.array([3, 5], np.uint64), np.array([0, 1, 2]), 16)
    >>> bool((whole[0] == np.minimum(parts[0], parts[1])).all())
    True
    """
    filled = np.full((len(starts) - 1, count), EMPTY_KEY)
    document, sizes, begin = owners(starts), np.diff(starts), 0
    while begin < 2 * count and len(hashes):
        # Rounds that are not needed change nothing, and looking for empty slots costs as much as a round of a
        # small document. So look less and less often.
        end = min(begin + 1 + begin // 2, 2 * count)
        _throw(filled.reshape(-1), hashes, document * count, count, range(begin, end))
        begin = end
        empty = (filled.reshape(-1) == EMPTY_KEY).nonzero()[0]
        unfinished = np.zeros(len(filled), bool)
        unfinished[empty // count] = True
        sizes *= unfinished
        repeats = (sizes * begin > _FILL_ALL * count).any()
        if repeats or sizes.sum() < _FEW_OPEN * len(hashes):
            left = unfinished.take(document).nonzero()[0]
            hashes, document = _without_repeats(hashes.take(left), document.take(left), begin, count)
            sizes = np.bincount(document, minlength=len(sizes))
    return filled


def _without_repeats(hashes: U64, document: I64, rounds: int, count: int) -> tuple[U64, I64]:
    """The hashes and their documents, without repeats in those documents that probably have many.

    A document is suspected if as many distinct hashes would have filled all slots by now.
    """
    sizes = np.bincount(document)
    suspect = (sizes * rounds > _FILL_ALL * count)[document]
    if not suspect.any():
        return hashes, document
    order = np.argsort(hashes[suspect], kind="stable")  # stable: each document's equal hashes stay together
    repeating, owner = hashes[suspect][order], document[suspect][order]
    first = np.append(True, (repeating[1:] != repeating[:-1]) | (owner[1:] != owner[:-1]))
    return np.concatenate([hashes[~suspect], repeating[first]]), np.concatenate(
        [document[~suspect], owner[first]]
    )


def _throw(filled: U64, hashes: U64, first_bins: I64, count: int, rounds: range) -> None:
    """Throw each hash into a bin of its document in each of the rounds; bins keep their least value.

    `filled` has the bins of all documents, and `first_bins` has the first bin of each hash's document.
    """
    length = max(1, min(_AT_ONCE, len(hashes)))
    at_once = max(1, _AT_ONCE // length)
    spare = [np.empty((at_once, length), np.uint64) for _ in range(2)]
    for first in range(rounds.start, rounds.stop, at_once):
        numbers = np.arange(first, min(first + at_once, rounds.stop), dtype=np.uint64)[:, None]
        factors = _FACTORS[first : first + len(numbers), None]
        late = max(0, count - first)
        for begin in range(0, len(hashes), length):
            some = hashes[begin : begin + length]
            values, bins = (array[: len(numbers), : len(some)] for array in spare)
            np.multiply(some, factors, out=values)
            _bins(values, count, bins)
            bins[late:] = numbers[late:] - np.uint64(count)
            bins += first_bins[begin : begin + length].view(np.uint64)
            values &= _FRACTION
            values |= numbers << _FRACTION_BITS
            np.minimum.at(filled, bins.reshape(-1).view(np.int64), values.reshape(-1))


def _bins(values: U64, count: int, bins: U64) -> None:
    """Write the bin of each value, which its highest bits choose among `count` bins."""
    if count.bit_count() == 1:  # the same in one step
        np.right_shift(values, np.uint64(65 - count.bit_length()), out=bins)
        return
    np.right_shift(values, _HALF, out=bins)
    bins *= np.uint64(count)
    bins >>= _HALF


def stored_slots(keys: U64) -> U16:
    """The stored form of keys: 12 bits that sort as the keys of one slot do. The last axis has all slots.

    A key of the rounds 0 to t - 1 becomes a float with 5 bits of exponent and 7 digits after the first 1. Its
    exponent is at most 29. Numbers that are too small for the exponent 0 have fewer digits, but these are in
    texts with more than 2^29 shingles. In the later rounds a slot has only one value of i. So the exponent is
    30, and the digits are those of u.

    >>> stored_slots(np.array([[0, 1 << 50, 1 << 51, 3 << 51]], np.uint64)).tolist()
    [[0, 3456, 3584, 3776]]
    """
    count = np.shape(keys)[-1]
    lowest = _FORCED - (count - 1).bit_length()
    # A double holds 53 bits exactly, so nothing is rounded. The power of two with the exponent 0 is added: it
    # leaves larger numbers nearly as they are, and smaller ones in their order.
    least = np.uint64(1 << 40 - lowest)
    values = ((keys >> np.uint64(11)) + least).astype(np.float64).view(np.uint64)
    slots = (values >> _DROPPED) - np.uint64(1063 - lowest << _DIGITS)
    forced = np.uint64(_FORCED << _DIGITS) | keys >> _FRACTION_BITS - np.uint64(_DIGITS) & _LAST_DIGITS
    slots = np.where(keys < np.uint64(count << int(_FRACTION_BITS)), slots, forced).astype(np.uint16)
    return np.where(keys == EMPTY_KEY, EMPTY_SLOT, slots)


MISSED: Final = 1e-9
"""The probability with which a pair may have fewer equal slots than `fewest_equal_slots` says."""


@functools.cache
def fewest_equal_slots(slots: int, resemblance: float) -> int:
    """How many equal slots a pair of at least this resemblance has, except with the probability `MISSED`.

    The number of equal slots is taken as binomial. In simulations of 60,000 pairs of 20 to 3,000 shingles its
    variance was .50 to .98 of that, and both tails were lighter. At a resemblance below .15, the result is 0
    for 128 slots: such a pair may have no equal slot.

    >>> [fewest_equal_slots(128, resemblance) for resemblance in (0.1, 0.2, 0.5, 0.8, 1.0)]
    [0, 3, 31, 73, 128]
    """
    if resemblance >= 1:
        return slots
    hit, miss = math.log(resemblance), math.log1p(-resemblance)
    fewer = 0.0
    for equal in range(slots + 1):
        ways = math.lgamma(slots + 1) - math.lgamma(equal + 1) - math.lgamma(slots - equal + 1)
        fewer += math.exp(ways + equal * hit + (slots - equal) * miss)
        if fewer > MISSED:
            return equal
    return slots


def estimate_resemblance(a: U16, b: U16) -> tuple[F64, F64]:
    """The estimated resemblance of each pair of sketches along the last axis, and its standard error.

    The estimate is the share of equal slots. The error is that of a binomial distribution
    with two hits and two misses added, so that it is not 0 when all slots agree. The resemblance of two empty
    documents is 1.

    >>> a, b = np.array([[1, 2, 3, 4], [1, 2, 3, 5]], np.uint16)
    >>> resemblance, error = estimate_resemblance(a, b)
    >>> float(resemblance), round(float(error), 2)
    (0.75, 0.17)
    """
    count = np.shape(a)[-1]
    equal = np.count_nonzero(np.equal(a, b), axis=-1)
    likely = (equal + 2) / (count + 4)
    return np.asarray(equal / count), np.sqrt(likely * (1 - likely) / (count + 4))


def features(slots: U16, k: int, s: int) -> U64:
    """One row of k features per document: feature g is a hash of slots [g*s, (g+1)*s).

    The same slots give the same features on every machine; slots beyond k*s are not read. Two groups that
    differ in exactly one slot never have the same feature, and neither do equal groups at different places.
    Any other two groups collide with probability 2^-64. Arithmetic is modulo 2^64 on purpose.

    >>> same, changed = features(np.array([[1, 2, 3, 4], [1, 2, 3, 5]], np.uint16), k=2, s=2)
    >>> (same == changed).tolist()
    [True, False]
    """
    check_groups(k, s)
    documents, width = slots.shape
    if k * s > width:
        raise ValueError(f"{k} features of {s} slots need {k * s} slots, but a document has {width}")
    groups = slots[:, : k * s].reshape(documents, k, s)
    # Every step is a bijection of the state, so that one changed slot always changes the feature. A sum of
    # mixed slots would cost the same and guarantee less. Each group starts from its own state.
    hashed = np.tile(mix(np.arange(1, k + 1, dtype=np.uint64)), (documents, 1))
    for slot in range(s):
        hashed ^= groups[:, :, slot]
        hashed = mix(hashed)
    return hashed


def check_groups(k: int, s: int) -> None:
    """Raise `ValueError` unless k and s are at least 1.

    >>> check_groups(0, 14)
    Traceback (most recent call last):
    ValueError: features need k >= 1 and s >= 1; found k=0 and s=14
    """
    if k < 1 or s < 1:
        raise ValueError(f"features need k >= 1 and s >= 1; found k={k} and s={s}")
