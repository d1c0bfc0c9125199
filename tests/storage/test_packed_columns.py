"""The packed columns of a file equal their plain definitions, lose nothing, and tell damage."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import docindex
from docindex.arrays.ranges import mix, starts_of, unmix
from docindex.sketching.sketcher import sketch_batches
from docindex.storage.postings.fingerprint_bytes import (
    fingerprint_bytes,
    fingerprints_in,
    hashes_in,
    low_bits,
)
from docindex.storage.rows.batch_rows import only
from docindex.storage.rows.slot_bytes import bytes_of_slots, slot_bytes, slots_in

windows = st.sampled_from([1, 2, 3, 36, 255, 256, 65_535])


@st.composite
def rows_of_fingerprints(draw):
    """A window, and rows of (selected hash, gap)."""
    window = draw(windows)
    selected = st.integers(0, 2**47 - 1) | st.integers(0, 2**42)
    return window, draw(st.lists(st.lists(st.tuples(selected, st.integers(0, window)), max_size=9)))


def plain_bytes(row, window):
    """The definition, from schema/0001_first.sql."""
    low = 48 - window.bit_length()
    numbers = b"".join((gap << low | hash_ % 2**low).to_bytes(6, "little") for hash_, gap in row)
    bits = "".join("0" * (hash_ >> low) + "1" for hash_, _ in row)
    return numbers, int(bits[::-1] or "0", 2).to_bytes(-(-len(bits) // 8), "little")


def packed(rows, window):
    flat = [pair for row in rows for pair in row]
    hashes = mix(np.array([hash_ for hash_, _ in flat], np.uint64))
    gaps = np.array([gap for _, gap in flat], np.uint16)
    borders = starts_of(np.array([len(row) for row in rows], np.int64))
    return hashes, gaps, fingerprint_bytes(hashes, gaps, borders, window)


@given(rows_of_fingerprints())
def test_the_bytes_of_fingerprints_are_as_the_schema_file_specifies(case):
    window, rows = case
    _, _, (numbers, highs) = packed(rows, window)
    assert list(zip(numbers, highs, strict=True)) == [plain_bytes(row, window) for row in rows]


@given(rows_of_fingerprints())
def test_fingerprints_that_are_read_have_the_bits_and_gaps_that_were_written(case):
    window, rows = case
    hashes, gaps, (numbers, highs) = packed(rows, window)
    assert hashes_in(numbers, highs, window).tolist() == [hash_ >> 16 << 16 for hash_ in hashes.tolist()]
    again, read = fingerprints_in(numbers, highs, window)
    assert (again.tolist(), read.tolist()) == (hashes_in(numbers, highs, window).tolist(), gaps.tolist())


@pytest.mark.parametrize(
    ("numbers", "highs"),
    [
        ([b"123456"], [b""]),
        ([b"123456"], [b"\x03"]),
        ([b""], [b"\x01"]),
        ([b"1234567"], [b"\x01"]),
        ([b"123456", b"123456"], [b"\x03", b"\x00"]),
        ([b"123456", b"123456"], [b"\x00", b"\x03"]),
    ],
)
def test_bytes_that_no_writer_makes_are_refused(numbers, highs):
    with pytest.raises(ValueError, match="a row does not have"):
        hashes_in(numbers, highs, 36)


def test_a_hash_that_winnowing_does_not_select_is_refused():
    with pytest.raises(ValueError, match="not one that winnowing selects"):
        fingerprint_bytes(mix(np.array([1 << 47], np.uint64)), np.array([1], np.uint16), np.array([0, 1]), 36)


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_unmix_gives_back_what_was_mixed(numbers):
    array = np.array(numbers, np.uint64)
    assert unmix(mix(array)).tolist() == mix(unmix(array)).tolist() == numbers


def test_a_fingerprint_of_prose_takes_less_than_51_bits():
    sketch = docindex.sketch(" ".join(f"word{number * number}" for number in range(5000)))
    gaps = np.diff(sketch.positions, prepend=0).astype(np.uint16)
    borders = np.array([0, len(gaps)])
    numbers, highs = fingerprint_bytes(sketch.hashes, gaps, borders, sketch.recipe.window)
    assert low_bits(sketch.recipe.window) == 42
    assert 8 * (len(numbers[0]) + len(highs[0])) < 51 * len(gaps)


@given(st.integers(1, 5), st.data())
def test_slots_that_are_read_are_those_that_were_written(count, data):
    row = st.lists(st.integers(0, 2**12 - 1), min_size=count, max_size=count)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    written = slot_bytes(np.array(rows, np.uint16))
    half = (count + 1) // 2
    assert written == b"".join(
        bytes(slot % 256 for slot in row)
        + bytes(
            (first >> 8) + (second >> 8 << 4)
            for first, second in itertools.zip_longest(row[:half], row[half:], fillvalue=0)
        )
        for row in rows
    )
    size = bytes_of_slots(count)
    cut = [written[begin : begin + size] for begin in range(0, len(written), size)]
    assert slots_in(cut, count).tolist() == rows
    assert slots_in([*cut, b"1" * (size + 1)], count) is None


def test_some_sketches_of_a_batch_are_the_same_sketches():
    recipe = docindex.Recipe(min_s=8, mod_m=3, level=8)
    texts = [f"a text about number {number} " * (1 + number) for number in range(6)] + [""]
    (batch,) = sketch_batches(texts, recipe)
    some = only(batch, np.array([5, 0, 6]))
    assert len(some) == 3
    for place, number in enumerate((5, 0, 6)):
        for name in ("hashes", "positions", "slots", "features", "min_s", "mod_m", "level"):
            assert getattr(some[place], name).tolist() == getattr(batch[number], name).tolist(), name
        for name in ("symbols", "shingles", "simhash", "words_hash"):
            assert getattr(some[place], name) == getattr(batch[number], name), name
