from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.ranges import I64, U64, starts_of
from docindex.shingling.samples import coarsen, l_i, min_s, mod_m, sample_levels
from tests import plain

hashes = st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 1))


documents = st.lists(hashes, max_size=40)


batches = st.lists(documents, max_size=6)


def batch_of(batch: list[list[int]]) -> tuple[U64, I64]:
    together = [number for document in batch for number in document]
    return np.array(together, np.uint64), starts_of(np.array([len(document) for document in batch], np.int64))


def parted(values: U64, starts: I64) -> list[list[int]]:
    assert values.dtype == np.uint64
    return [values[begin:end].tolist() for begin, end in pairwise(starts)]


def samplers(s: int) -> list[Callable[[U64, I64], tuple[U64, I64]]]:
    return [
        lambda hashes, starts: min_s(hashes, starts, s),
        lambda hashes, starts: mod_m(hashes, starts, s),
        lambda hashes, starts: l_i(hashes, starts, s)[:2],
    ]


def plain_permuted(document: list[int]) -> set[int]:
    """The set of a document's permuted hashes."""
    return {plain.mix((number + 0x9E3779B97F4A7C15) % 2**64) for number in document}


def plain_min_s(document: list[int], s: int) -> list[int]:
    return sorted(plain_permuted(document))[:s]


def plain_mod_m(document: list[int], m: int) -> list[int]:
    return sorted(number for number in plain_permuted(document) if number % m == 0)


def plain_level(size: int, greatest: int) -> int:
    i = 0
    while size / 2**i > greatest:
        i += 1
    return i


@given(batches, st.integers(1, 50))
def test_min_s_is_each_documents_s_smallest_distinct_permuted_hashes(batch, s):
    assert parted(*min_s(*batch_of(batch), s)) == [plain_min_s(document, s) for document in batch]


@given(batches, st.one_of(st.integers(1, 8), st.integers(1, 2**64 - 1)))
def test_mod_m_is_each_documents_distinct_permuted_hashes_divisible_by_m(batch, m):
    assert parted(*mod_m(*batch_of(batch), m)) == [plain_mod_m(document, m) for document in batch]


@given(batches, st.integers(1, 12))
def test_l_i_is_mod_m_with_each_documents_own_power_of_two(batch, greatest):
    values, starts, found = l_i(*batch_of(batch), greatest)
    expected = [plain_level(len(set(document)), greatest) for document in batch]
    assert found.tolist() == expected
    assert parted(values, starts) == [
        plain_mod_m(document, 2**i) for document, i in zip(batch, expected, strict=True)
    ]


@given(batches, st.integers(1, 20))
def test_a_batch_gives_each_document_the_sample_that_it_has_alone(batch, s):
    for sampled in samplers(s):
        alone = [sampled(*batch_of([document]))[0].tolist() for document in batch]
        assert parted(*sampled(*batch_of(batch))) == alone


@given(documents, st.integers(1, 20), st.randoms())
def test_a_sample_does_not_depend_on_order_or_repeats(document, s, random):
    shuffled = document + random.choices(document, k=5) if document else []
    random.shuffle(shuffled)
    for sampled in samplers(s):
        assert parted(*sampled(*batch_of([document]))) == parted(*sampled(*batch_of([shuffled])))


def test_samples_that_files_contain_never_change():
    values, _ = min_s(np.arange(100, dtype=np.uint64), np.array([0, 100]), 3)
    assert values.tolist() == [109866740517162654, 192748537051019237, 269846318473259682]


def test_the_hash_0_is_an_ordinary_hash():
    batch = np.array([0], np.uint64), np.array([0, 1])
    assert mod_m(*batch, 2**40)[0].tolist() == []
    assert min_s(*batch, 1)[0].tolist() != [0]


@given(documents, st.integers(0, 4), st.integers(0, 4))
def test_a_coarsened_sample_equals_the_sample_with_the_greater_modulus(document, i, more):
    fine, _ = mod_m(*batch_of([document]), 2**i)
    coarse, _ = mod_m(*batch_of([document]), 2 ** (i + more))
    assert np.array_equal(coarsen(fine, i + more), coarse)


@given(documents, st.integers(1, 20), st.integers(0, 20))
def test_a_larger_min_s_starts_with_the_smaller_one(document, s, more):
    larger, _ = min_s(*batch_of([document]), s + more)
    assert np.array_equal(larger[:s], min_s(*batch_of([document]), s)[0])


@given(st.lists(st.integers(0, 2**50)), st.integers(1, 1000))
def test_a_level_is_the_first_at_which_the_expected_sample_is_small_enough(sizes, greatest):
    found = sample_levels(np.array(sizes, np.int64), greatest)
    assert found.tolist() == [next(i for i in range(64) if size <= greatest << i) for size in sizes]


def test_an_impossible_sample_is_refused():
    batch = batch_of([[1, 2, 3]])
    for refused, message in (
        (lambda: min_s(*batch, 0), "s must be at least 1; found s=0"),
        (lambda: mod_m(*batch, 0), "the modulus must be from 1 to 2\\^64 - 1; found 0"),
        (lambda: mod_m(*batch, 2**64), "the modulus must be from 1"),
        (lambda: l_i(*batch, 0), "greatest size of a sample must be at least 1; found 0"),
        (lambda: coarsen(batch[0], 64), "the level must be from 0 to 63; found 64"),
    ):
        with pytest.raises(ValueError, match=message):
            refused()
