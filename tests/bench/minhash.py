"""Compare three ways to compute min-hash slots: error relative to the ideal, bias, and time per shingle."""

import time

import numpy as np

from docindex.arrays.ranges import mix, owners
from docindex.minhash import slots

SLOTS = 128
SIZES = (10, 100, 1000, 10_000, 100_000)


def run(options):
    print(f"{'':28}{'size':>8} {'error/ideal':>12} {'bias':>9} {'ns/shingle':>11}")
    for name, fill in (
        ("fast similarity sketching", fast),
        ("one permutation, densified", one_permutation),
        ("independent permutations", independent),
    ):
        for size in SIZES:
            error, bias = errors(fill, size, pairs=200 * options.rounds)
            print(f"{name:28}{size:8,} {error:12.2f} {bias:+9.4f} {cost(fill, size):11.1f}")
    print("target: error/ideal at most 1.10, bias under 0.005, at the lowest cost")


def errors(fill, size, pairs):
    """The greatest ratio of the error to the ideal, and the greatest bias, over several resemblances."""
    random = np.random.default_rng(size)
    ratios, biases = [], []
    for wanted in (0.1, 0.5, 0.9):
        shared = min(size - 1, round(2 * size * wanted / (1 + wanted)))
        truth = shared / (2 * size - shared)
        found = []
        # The slow scheme gets fewer pairs of the large sets, so that the run does not take days.
        for _ in range(pairs if fill is not independent else max(20, min(pairs, 2_000_000 // size))):
            a, b = (random.integers(0, 2**64, size, dtype=np.uint64) for _ in range(2))
            b[:shared] = a[:shared]
            starts = np.array([0, size])
            found.append(np.mean(fill(a, starts) == fill(b, starts)) - truth)
        ratios.append(np.sqrt(np.mean(np.square(found)) / (truth * (1 - truth) / SLOTS)))
        biases.append(np.mean(found))
    return max(ratios), max(biases, key=abs)


def cost(fill, size):
    """Nanoseconds for each shingle, in a batch of a hundred thousand shingles."""
    documents = max(1, 100_000 // size)
    hashes = np.random.default_rng(1).integers(0, 2**64, documents * size, dtype=np.uint64)
    starts = np.arange(documents + 1) * size
    fill(hashes, starts)
    begin = time.perf_counter()
    fill(hashes, starts)
    return (time.perf_counter() - begin) / len(hashes) * 1e9


def fast(hashes, starts):
    return slots.stored_slots(slots.slot_keys(hashes, starts, SLOTS))


def one_permutation(hashes, starts):
    """Each hash falls into one bin; empty bins borrow from the next full one (Shrivastava and Li, 2014)."""
    filled = np.full((len(starts) - 1, SLOTS), slots.EMPTY_KEY)
    bins = owners(starts) * SLOTS + (hashes >> np.uint64(57)).view(np.int64)
    np.minimum.at(filled.reshape(-1), bins, hashes << np.uint64(7))
    empty = filled == slots.EMPTY_KEY
    places = np.where(empty, 2 * SLOTS, np.arange(SLOTS))
    following = np.minimum.accumulate(np.hstack([places, places + SLOTS])[:, ::-1], axis=1)[:, ::-1][
        :, :SLOTS
    ]
    distance = (following - np.arange(SLOTS)).astype(np.uint64)
    return np.take_along_axis(filled, following % SLOTS, axis=1) + distance * np.uint64(0x9E3779B97F4A7C15)


def independent(hashes, starts):
    """The smallest value of each of 128 permutations, as Broder defines it."""
    filled = np.empty((len(starts) - 1, SLOTS), np.uint64)
    for slot in range(SLOTS):
        filled[:, slot] = np.minimum.reduceat(mix(hashes + np.uint64(slot + 1)), starts[:-1])
    return filled
