from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.arrays import I64, U64, starts_of
from docindex.kernels.samples import coarsen, l_i, min_s, mod_m, sample_levels
from docindex.kernels.study.sample_estimators import (
    containment_of_mod_m,
    probability_within,
    resemblance_of_min_s,
    resemblance_of_mod_m,
)

hashes = st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 1))
documents = st.lists(hashes, max_size=40)
batches = st.lists(documents, max_size=6)
samples = st.sets(st.integers(0, 40), max_size=25)


def laid_out(batch: list[list[int]]) -> tuple[U64, I64]:
    together = [number for document in batch for number in document]
    return np.array(together, np.uint64), starts_of(np.array([len(document) for document in batch], np.int64))


def taken_apart(values: U64, starts: I64) -> list[list[int]]:
    assert values.dtype == np.uint64
    return [values[begin:end].tolist() for begin, end in pairwise(starts)]


def ascending(numbers: Iterable[int]) -> U64:
    return np.array(sorted(numbers), np.uint64)


def samplers(s: int) -> list[Callable[[U64, I64], tuple[U64, I64]]]:
    return [
        lambda hashes, starts: min_s(hashes, starts, s),
        lambda hashes, starts: mod_m(hashes, starts, s),
        lambda hashes, starts: l_i(hashes, starts, s)[:2],
    ]


def plain_permuted(document: list[int]) -> set[int]:
    """The permuted hashes of a document, a set."""
    permuted = set()
    for number in document:
        number = (number + 0x9E3779B97F4A7C15) % 2**64
        for shift, multiplier in (27, 0x3C79AC492BA7B653), (33, 0x1C69B3F74AC4AE35), (27, 1):
            number = (number ^ number >> shift) * multiplier % 2**64
        permuted.add(number)
    return permuted


def plain_min_s(document: list[int], s: int) -> list[int]:
    return sorted(plain_permuted(document))[:s]


def plain_mod_m(document: list[int], m: int) -> list[int]:
    return sorted(number for number in plain_permuted(document) if number % m == 0)


def plain_level(size: int, greatest: int) -> int:
    i = 0
    while size / 2**i > greatest:
        i += 1
    return i


def plain_within(s: int, r: Fraction, epsilon: Fraction) -> float:
    low, high = s * (r - epsilon), s * (r + epsilon)
    return float(sum(comb(s, k) * r**k * (1 - r) ** (s - k) for k in range(s + 1) if low <= k <= high))


@given(batches, st.integers(1, 50))
def test_min_s_is_each_documents_s_smallest_distinct_permuted_hashes(batch, s):
    assert taken_apart(*min_s(*laid_out(batch), s)) == [plain_min_s(document, s) for document in batch]


@given(batches, st.one_of(st.integers(1, 8), st.integers(1, 2**64 - 1)))
def test_mod_m_is_each_documents_distinct_permuted_hashes_divisible_by_m(batch, m):
    assert taken_apart(*mod_m(*laid_out(batch), m)) == [plain_mod_m(document, m) for document in batch]


@given(batches, st.integers(1, 12))
def test_l_i_is_mod_m_with_each_documents_own_power_of_two(batch, greatest):
    values, starts, found = l_i(*laid_out(batch), greatest)
    expected = [plain_level(len(set(document)), greatest) for document in batch]
    assert found.tolist() == expected
    assert taken_apart(values, starts) == [
        plain_mod_m(document, 2**i) for document, i in zip(batch, expected, strict=True)
    ]


@given(batches, st.integers(1, 20))
def test_a_batch_gives_exactly_what_its_documents_give_alone(batch, s):
    for sampled in samplers(s):
        alone = [sampled(*laid_out([document]))[0].tolist() for document in batch]
        assert taken_apart(*sampled(*laid_out(batch))) == alone


@given(documents, st.integers(1, 20), st.randoms())
def test_a_sample_does_not_depend_on_order_or_repeats(document, s, random):
    shuffled = document + random.choices(document, k=5) if document else []
    random.shuffle(shuffled)
    for sampled in samplers(s):
        assert taken_apart(*sampled(*laid_out([document]))) == taken_apart(*sampled(*laid_out([shuffled])))


def test_samples_that_lie_in_files_never_change():
    values, _ = min_s(np.arange(100, dtype=np.uint64), np.array([0, 100]), 3)
    assert values.tolist() == [109866740517162654, 192748537051019237, 269846318473259682]


def test_the_hash_0_is_an_ordinary_hash():
    batch = np.array([0], np.uint64), np.array([0, 1])
    assert mod_m(*batch, 2**40)[0].tolist() == []
    assert min_s(*batch, 1)[0].tolist() != [0]


@given(documents, st.integers(0, 4), st.integers(0, 4))
def test_a_coarsened_sample_is_the_one_of_the_greater_modulus(document, i, more):
    fine, _ = mod_m(*laid_out([document]), 2**i)
    coarse, _ = mod_m(*laid_out([document]), 2 ** (i + more))
    assert np.array_equal(coarsen(fine, i + more), coarse)


@given(documents, st.integers(1, 20), st.integers(0, 20))
def test_a_larger_min_s_begins_with_the_smaller(document, s, more):
    larger, _ = min_s(*laid_out([document]), s + more)
    assert np.array_equal(larger[:s], min_s(*laid_out([document]), s)[0])


@given(st.lists(st.integers(0, 2**50)), st.integers(1, 1000))
def test_a_level_is_the_first_at_which_the_expected_sample_is_small_enough(sizes, greatest):
    found = sample_levels(np.array(sizes, np.int64), greatest)
    assert found.tolist() == [next(i for i in range(64) if size <= greatest << i) for size in sizes]


@given(samples, samples, st.integers(1, 30))
def test_resemblance_of_min_s_is_that_of_the_s_smallest_of_both(a, b, s):
    smallest = set(sorted(a | b)[:s]) if max(len(a), len(b)) >= s else a | b
    expected = len(smallest & a & b) / len(smallest) if smallest else 1.0
    first, second = ascending(sorted(a)[:s]), ascending(sorted(b)[:s])
    assert resemblance_of_min_s(first, second, s).value == expected
    assert resemblance_of_min_s(ascending(a), ascending(b), s) == resemblance_of_min_s(second, first, s)


@given(samples, samples)
def test_resemblance_of_mod_m_is_that_of_the_samples(a, b):
    expected = len(a & b) / len(a | b) if a | b else 1.0
    assert resemblance_of_mod_m(ascending(a), ascending(b)).value == expected


@given(samples.filter(len), samples)
def test_containment_of_mod_m_is_that_of_the_samples(a, b):
    assert containment_of_mod_m(ascending(a), ascending(b)).value == len(a & b) / len(a)


@given(samples, st.integers(1, 30))
def test_a_document_compared_with_itself_is_1_also_when_its_sample_is_empty(a, s):
    sample = ascending(a)
    assert resemblance_of_min_s(sample[:s], sample[:s], s).value == 1.0
    assert resemblance_of_mod_m(sample, sample).value == 1.0
    assert containment_of_mod_m(sample, sample).value == 1.0


def test_an_empty_sample_is_no_evidence_of_a_copy():
    nothing, something = ascending([]), ascending([4, 8])
    assert resemblance_of_min_s(nothing, something, 2).value == 0.0
    assert resemblance_of_mod_m(nothing, something).value == 0.0
    assert containment_of_mod_m(nothing, something).value == 0.0
    assert containment_of_mod_m(something, nothing).value == 0.0


@given(samples, samples)
def test_an_error_is_0_exactly_when_both_sets_were_seen_whole(a, b):
    first, second = ascending(a), ascending(b)
    for s in range(1, 30):
        whole = len(a) < s and len(b) < s
        assert (resemblance_of_min_s(first[:s], second[:s], s).error == 0) == whole
    for estimate in (resemblance_of_mod_m, containment_of_mod_m):
        assert estimate(first, second, m=1).error == 0
        assert 0 < estimate(first, second, m=2).error < estimate(first, second).error


@given(st.integers(1, 60), st.integers(0, 100), st.integers(0, 100))
def test_within_is_the_binomial_sum_with_both_ends(s, r, epsilon):
    expected = plain_within(s, Fraction(r, 100), Fraction(epsilon, 100))
    assert probability_within(s, r / 100, epsilon / 100) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("s", "r", "epsilon"),
    [(100, 0.7, 0.1), (100, 0.57, 0.01), (10, 0.1, 0.2), (1000, 0.29, 0.28), (100, 0.04, 0.03)],
)
def test_within_counts_ends_that_doubles_miss(s, r, epsilon):
    expected = plain_within(s, Fraction(str(r)), Fraction(str(epsilon)))
    assert probability_within(s, r, epsilon) == pytest.approx(expected, rel=1e-11)


def test_within_is_1_when_nothing_can_be_further_off():
    assert probability_within(5000, 0.3, 0.7) == pytest.approx(1, rel=1e-11)
    assert probability_within(100, 0.0, 0.0) == probability_within(100, 1.0, 0.0) == 1.0


def test_within_is_0_when_no_estimate_can_come_that_near():
    assert probability_within(10, 0.55, 0.04) == 0.0


def test_samples_that_cannot_be_get_a_clear_error():
    batch = laid_out([[1, 2, 3]])
    for refused, message in (
        (lambda: min_s(*batch, 0), "s=0"),
        (lambda: mod_m(*batch, 0), "a modulus lies between 1 and 2\\^64, this is 0"),
        (lambda: mod_m(*batch, 2**64), "a modulus lies between"),
        (lambda: l_i(*batch, 0), "room for at least one value"),
        (lambda: coarsen(batch[0], 64), "a level lies between 0 and 63, this is 64"),
        (lambda: resemblance_of_min_s(batch[0], batch[0], 0), "s=0"),
        (lambda: probability_within(0, 0.5, 0.1), "s=0"),
        (lambda: probability_within(1, 1.5, 0.1), "r=1.5"),
        (lambda: probability_within(1, 0.5, -0.1), "epsilon=-0.1"),
    ):
        with pytest.raises(ValueError, match=message):
            refused()
