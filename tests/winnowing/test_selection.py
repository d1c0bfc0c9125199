import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docindex.winnowing import selection as kernel
from docindex.winnowing.kgrams import grams
from docindex.winnowing.other_selections import winnow
from docindex.winnowing.selection import HASH_BITS, NO_CARRY, select_fingerprints
from tests import plain

# Mostly few distinct hashes, so that there are many ties.
documents = st.lists(
    st.lists(st.integers(0, 3), max_size=40) | st.lists(st.integers(0, 2**HASH_BITS - 1), max_size=40),
    max_size=5,
)


windows = st.integers(1, 12) | st.just(65_535)


@given(documents, windows, st.booleans(), st.sampled_from([1, 3, 16, kernel.CHUNK]))
@example([[9, 9, 1, 1, 5, 0]], 3, True, kernel.CHUNK)  # a smaller hash just within reach ends the run of 1s
def test_winnowing_equals_its_definition_in_every_document_of_a_batch(docs, window, robust, chunk):
    hashes, starts = plain.batch(docs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "CHUNK", chunk)
        places = winnow(hashes, starts, window, robust=robust)
    expected = [
        int(begin) + place
        for begin, document in zip(starts, docs, strict=False)
        for place in plain.winnow(document, window, robust=robust)
    ]
    assert places.tolist() == expected


symbol_runs = st.text("ab", max_size=80) | st.text("abcdefgh", max_size=80) | st.just("a" * 80)


@given(st.lists(symbol_runs, max_size=4), st.integers(1, 6), st.integers(1, 9), st.booleans())
def test_fingerprints_are_the_winnowed_high_bits_of_the_kgram_hashes(texts, k, window, robust):
    symbols, starts = plain.batch([text.encode() for text in texts], np.uint8)
    positions, hashes, _ = select_fingerprints(symbols, starts, k, window, robust=robust)
    all_hashes, hash_starts = grams(symbols, starts, k)
    order = all_hashes >> np.uint64(64 - HASH_BITS)
    places = winnow(order, hash_starts, window, robust=robust)
    document = np.searchsorted(hash_starts, places, "right") - 1
    assert hashes.tolist() == order[places].tolist()
    assert positions.tolist() == (places - hash_starts[document] + starts[document]).tolist()


@given(
    symbol_runs, st.lists(st.integers(0, 80), max_size=9), st.integers(1, 5), st.integers(1, 9), st.booleans()
)
def test_a_document_in_parts_has_the_fingerprints_of_the_whole(text, cuts, k, window, robust):
    symbols = np.frombuffer(text.encode(), np.uint8)
    found, carry, begin = [], NO_CARRY, 0
    for cut in [*sorted(cuts), len(symbols)]:
        end = min(cut, len(symbols))
        part = symbols[begin:end]
        closed = cut == len(symbols)
        positions, hashes, carry = select_fingerprints(
            part, np.array([0, len(part)]), k, window, robust=robust, carry=carry, closed=False
        )
        found += zip((positions + begin).tolist(), hashes.tolist(), strict=True)
        again = max(begin, end - (k + window - 2))
        carry, begin = carry.moved(again - begin), again
        if closed:
            break
    rest = symbols[begin:]
    positions, hashes, _ = select_fingerprints(
        rest, np.array([0, len(rest)]), k, window, robust=robust, carry=carry
    )
    found += zip((positions + begin).tolist(), hashes.tolist(), strict=True)
    positions, hashes, _ = select_fingerprints(symbols, np.array([0, len(symbols)]), k, window, robust=robust)
    assert found == list(zip(positions.tolist(), hashes.tolist(), strict=True))


@given(documents, windows, st.integers(0, 40))
def test_a_greater_window_selects_a_subset_of_the_hashes_and_with_the_rightmost_rule_of_the_places(
    docs, window, more
):
    hashes, starts = plain.batch(docs)
    wider = min(window + more, 65_535)
    for robust in (False, True):
        narrow, wide = (winnow(hashes, starts, w, robust=robust) for w in (window, wider))
        for begin, end in itertools.pairwise(starts):
            of_narrow = set(hashes[narrow[(narrow >= begin) & (narrow < end)]].tolist())
            of_wide = set(hashes[wide[(wide >= begin) & (wide < end)]].tolist())
            assert of_wide <= of_narrow
        assert robust or set(wide.tolist()) <= set(narrow.tolist())


@given(documents, st.integers(1, 9))
def test_robust_winnowing_selects_a_subset_of_what_the_rightmost_rule_selects(docs, window):
    hashes, starts = plain.batch(docs)
    robust, rightmost = (set(winnow(hashes, starts, window, robust=rule).tolist()) for rule in (True, False))
    assert robust <= rightmost


def test_one_repeated_symbol_gives_one_fingerprint_for_each_window_in_bounded_time():
    symbols = np.full(10_000_000, ord("0"), np.uint8)
    positions, _, _ = select_fingerprints(symbols, np.array([0, len(symbols)]), 25, 26)
    assert len(positions) == pytest.approx(len(symbols) / 26, abs=2)
