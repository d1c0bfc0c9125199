import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from docindex.arrays.ranges import mix
from docindex.minhash.feature_filter import acceptance
from docindex.minhash.slots import (
    EMPTY_KEY,
    EMPTY_SLOT,
    MISSED,
    estimate_resemblance,
    features,
    fewest_equal_slots,
    slot_keys,
    stored_slots,
)
from tests import plain

hash_lists = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=12), max_size=4)


def plain_keys(hashes, count):
    """Fast similarity sketching, one hash at a time: each bin keeps the least value thrown into it."""
    filled = [int(EMPTY_KEY)] * count
    for number in range(2 * count):
        if int(EMPTY_KEY) not in filled or not hashes:
            break
        factor = int(mix(np.array([number], np.uint64))[0]) | 1
        for hash_ in hashes:
            fallen = hash_ * factor % 2**64
            place = (fallen >> 32) * count >> 32 if number < count else number - count
            filled[place] = min(filled[place], number << 51 | fallen % 2**51)
    return filled


@given(hash_lists, st.sampled_from([1, 2, 7, 16]))
def test_slots_equal_their_definition_for_every_document_of_a_batch(docs, count):
    assert slot_keys(*plain.batch(docs), count).tolist() == [plain_keys(doc, count) for doc in docs]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.lists(st.integers(0, 2**64 - 1), max_size=30))
def test_the_stored_sketch_of_a_union_is_the_slotwise_minimum(a, b):
    of_a, of_b, of_both = (stored_slots(slot_keys(*plain.batch([doc]), 32)) for doc in (a, b, a + b))
    assert np.minimum(of_a, of_b).tolist() == of_both.tolist()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30), st.randoms())
def test_neither_order_nor_repeats_change_a_sketch(doc, random):
    shuffled = doc * 2
    random.shuffle(shuffled)
    assert slot_keys(*plain.batch([doc]), 64).tolist() == slot_keys(*plain.batch([shuffled]), 64).tolist()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), st.integers(40, 80))
def test_many_repeats_of_few_hashes_give_the_sketch_of_the_few(few, times):
    many = slot_keys(*plain.batch([few, few * times, [7]]), 16)
    assert many.tolist() == slot_keys(*plain.batch([few, few, [7]]), 16).tolist()


def plain_slot(key, count):
    """A key as a float of 12 bits: 5 of the exponent, 7 digits after the first 1."""
    number, fraction = key >> 51, key & 2**51 - 1
    if key == int(EMPTY_KEY):
        return int(EMPTY_SLOT)
    if number >= count:
        return 30 << 7 | fraction >> 44
    lowest = 30 - (count - 1).bit_length()  # the exponent 0 stands for 2 to the power of -lowest
    value = Fraction(key >> 11, 2**40) + Fraction(1, 2**lowest)
    exponent = next(power for power in range(31) if value < Fraction(2) ** (power + 1 - lowest))
    return exponent << 7 | int((value / Fraction(2) ** (exponent - lowest) - 1) * 128)


@given(st.sampled_from([1, 2, 7, 100, 128, 4096]), st.data())
def test_stored_slots_equal_their_definition_and_sort_as_the_keys_do(count, data):
    some = (1 << 64) - 1, count << 51, 1 << 51, 1 << 34, 1 << 14
    keys = data.draw(st.lists(st.one_of(st.integers(0, most) for most in some), min_size=1))
    assume(max(keys) >> 51 < 2 * count or max(keys) == int(EMPTY_KEY))
    rows = np.repeat(np.array(sorted(keys), np.uint64)[:, None], count, axis=1)
    slots = stored_slots(rows)[:, 0].tolist()
    assert slots == [plain_slot(key, count) for key in sorted(keys)]
    assert slots == sorted(slots)


@pytest.mark.parametrize("slots", [16, 128])
@pytest.mark.parametrize("size", [1, 2, 5, 20, 100, 1000])
def test_texts_without_a_common_shingle_have_hardly_any_equal_slots(slots, size):
    pairs = 20_000 // size + 500
    hashes = np.random.default_rng(size).integers(0, 2**64, 2 * pairs * size, dtype=np.uint64)
    rows = stored_slots(slot_keys(hashes, np.arange(2 * pairs + 1) * size, slots))
    assert np.mean(rows[:pairs] == rows[pairs:]) < 0.0025  # .0014, and .0019 for a single shingle


def test_an_empty_document_resembles_empty_documents_only():
    empty, other = stored_slots(slot_keys(*plain.batch([[], [5]]), 16))
    assert set(empty.tolist()) == {int(EMPTY_SLOT)}
    assert EMPTY_SLOT not in other
    assert estimate_resemblance(empty, empty)[0] == 1.0
    assert estimate_resemblance(empty, other)[0] == 0.0


def pairs_of_sets(random, size, shared, pairs):
    """Sketches of pairs of random sets that have equal sizes and `shared` common members."""
    a, b = (random.integers(0, 2**64, (pairs, size), dtype=np.uint64) for _ in range(2))
    b[:, :shared] = a[:, :shared]
    starts = np.arange(pairs + 1) * size
    return (stored_slots(slot_keys(sets.ravel(), starts, 128)) for sets in (a, b))


# With 1,000 pairs the root mean square error is known to 3% and the bias to 0.0014 in the worst case. So the
# promised 10% and 0.005 do not fail by chance.
@pytest.mark.parametrize("size", [10, 100, 1000, 10_000, 100_000])
@pytest.mark.parametrize("wanted", [0.1, 0.35, 0.6, 0.95])
def test_the_error_is_within_a_tenth_of_the_ideal_and_there_is_no_bias(size, wanted):
    random = np.random.default_rng(size)
    shared = min(size - 1, round(2 * size * wanted / (1 + wanted)))
    resemblance = shared / (2 * size - shared)
    pairs, errors = 1000, []
    at_once = max(1, 500_000 // size)
    for begin in range(0, pairs, at_once):
        a, b = pairs_of_sets(random, size, shared, min(at_once, pairs - begin))
        errors.append(estimate_resemblance(a, b)[0] - resemblance)
    error = np.concatenate(errors)
    ideal = np.sqrt(resemblance * (1 - resemblance) / 128)
    assert np.sqrt(np.mean(error**2)) < 1.1 * ideal
    assert abs(error.mean()) < 0.005


def test_the_standard_error_covers_the_truth_in_19_of_20_cases():
    random = np.random.default_rng(5)
    for wanted in (0.02, 0.3, 0.7, 0.98):
        shared = round(2000 * wanted / (1 + wanted))
        a, b = pairs_of_sets(random, 1000, shared, 1000)
        found, error = estimate_resemblance(a, b)
        assert np.mean(abs(found - shared / (2000 - shared)) <= 1.96 * error) > 0.93


@pytest.mark.parametrize("size", [200, 5000])
@pytest.mark.parametrize("wanted", [0.8, 0.9, 0.95, 0.98])
def test_real_sketches_pass_the_filter_as_often_as_its_curve_says(size, wanted):
    random = np.random.default_rng(size)
    shared = round(2 * size * wanted / (1 + wanted))
    a, b = pairs_of_sets(random, size, shared, 1500)
    alike = np.count_nonzero(features(a, 6, 14) == features(b, 6, 14), axis=1) >= 2
    expected = acceptance(6, 14, 2, shared / (2 * size - shared))
    deviation = np.sqrt(expected * (1 - expected) / len(alike))
    assert abs(alike.mean() - expected) < 4 * deviation + 0.02


@pytest.mark.parametrize("slots", [1, 32, 128, 400])
@pytest.mark.parametrize("resemblance", ["1/100", "1/5", "1/2", "4/5", "99/100"])
def test_a_pair_has_fewer_equal_slots_with_the_stated_probability(slots, resemblance):
    share = Fraction(resemblance)

    def fewer_than(equal):
        ways = (math.comb(slots, n) * share**n * (1 - share) ** (slots - n) for n in range(equal))
        return float(sum(ways))

    fewest = fewest_equal_slots(slots, float(share))
    assert fewer_than(fewest) <= MISSED < fewer_than(fewest + 1)


@pytest.mark.parametrize("size", [20, 150, 1500])
def test_equal_slots_vary_no_more_than_a_binomial_number(size):
    rng = random.Random(size)
    slots, trials, shared = 128, 400, size // 2
    counts = []
    for _ in range(trials):
        both = [rng.getrandbits(64) for _ in range(size)]
        own, other = (
            both[: shared + (size - shared) // 2],
            both[:shared] + both[shared + (size - shared) // 2 :],
        )
        keys = [
            slot_keys(np.array(some, np.uint64), np.array([0, len(some)]), slots) for some in (own, other)
        ]
        counts.append(np.count_nonzero(keys[0] == keys[1]))
    share = shared / size
    # The variance of 400 counts is known to 7%.
    assert np.var(counts) < 1.2 * slots * share * (1 - share)
    assert min(counts) > fewest_equal_slots(slots, share)


shapes = st.tuples(st.integers(1, 5), st.integers(1, 5))


slot_rows = hnp.arrays(np.uint16, st.tuples(st.integers(0, 4), st.integers(25, 30)))


def plain_feature(slots: list[int], group: int, s: int) -> int:
    hashed = plain.mix(group + 1)
    for slot in slots[group * s : (group + 1) * s]:
        hashed = plain.mix(hashed ^ slot)
    return hashed


@given(slot_rows, shapes)
def test_a_feature_is_the_hash_of_its_group_of_slots_and_the_number_of_the_group(rows, shape):
    k, s = shape
    expected = [[plain_feature(row, group, s) for group in range(k)] for row in rows.tolist()]
    found = features(rows, k, s)
    assert found.tolist() == expected
    assert found.dtype == np.uint64
    assert found.shape == (len(rows), k)


@given(slot_rows, shapes)
def test_a_batch_gives_each_document_the_features_that_it_has_alone(rows, shape):
    together = features(rows, *shape)
    for row, found in zip(rows, together, strict=True):
        assert np.array_equal(features(row[np.newaxis], *shape)[0], found)


@given(slot_rows, shapes)
def test_features_do_not_depend_on_the_byte_order_or_the_layout_of_the_slots(rows, shape):
    expected = features(rows, *shape)
    assert np.array_equal(features(rows.astype(">u4"), *shape), expected)
    assert np.array_equal(features(rows.astype("<u4"), *shape), expected)
    assert np.array_equal(features(np.asfortranarray(rows), *shape), expected)


def test_features_that_files_contain_never_change():
    slots = np.arange(6, dtype=np.uint16)[np.newaxis]
    assert features(slots, 2, 3).tolist() == [[6012304641945066921, 17990778764338000193]]


@given(st.integers(0, 2**16 - 1), shapes)
def test_equal_groups_at_different_places_never_make_equal_features(slot, shape):
    k, s = shape
    row = features(np.full((1, k * s), slot, np.uint16), k, s)[0]
    assert len(set(row.tolist())) == k


@given(slot_rows.filter(len), shapes, st.data())
def test_one_changed_slot_always_changes_its_feature_and_no_other(rows, shape, data):
    k, s = shape
    place = data.draw(st.integers(0, k * s - 1))
    changed = rows.copy()
    changed[:, place] ^= np.uint16(data.draw(st.integers(1, 2**16 - 1)))
    differs = features(rows, k, s) != features(changed, k, s)
    assert np.all(differs == (np.arange(k) == place // s))


@pytest.mark.parametrize("place", [0, 6, 13])
def test_every_bit_of_a_slot_reaches_every_bit_of_its_feature(place):
    rows = np.tile(np.arange(512, dtype=np.uint16)[:, np.newaxis], 14)
    before = features(rows, 1, 14)
    for bit in range(16):
        changed = rows.copy()
        changed[:, place] ^= np.uint16(1 << bit)
        flipped = (before ^ features(changed, 1, 14)) >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        # For 512 fair coins the standard deviation of the share is 0.022; the limit is five of them.
        assert np.all(np.abs(flipped.mean(axis=0) - 0.5) < 0.11)


def test_features_that_need_more_slots_than_a_document_has_are_refused():
    with pytest.raises(ValueError, match="6 features of 14 slots need 84 slots, but a document has 83"):
        features(np.zeros((1, 83), np.uint16), 6, 14)
    with pytest.raises(ValueError, match="k=0 and s=14"):
        features(np.zeros((1, 83), np.uint16), 0, 14)
