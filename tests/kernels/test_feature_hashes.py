import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from docindex.kernels.minhash import features
from tests import plain

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
