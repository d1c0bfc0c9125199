import itertools
import operator
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from docindex.winnowing import common_runs as kernel
from docindex.winnowing.common_runs import maximal_runs, merged_ranges
from docindex.winnowing.kgrams import grams
from docindex.winnowing.selection import HASH_BITS
from tests import plain

EXAMPLES = 400


def maximal(a, b):
    """All maximal common runs of two texts: the stretches of equal symbols on each diagonal."""
    found = []
    for diagonal in range(-len(a), len(b)):
        i = max(0, -diagonal)
        for equal, stretch in itertools.groupby(map(operator.eq, a[i:], b[i + diagonal :])):
            length = len(list(stretch))
            if equal:
                found.append((i, i + diagonal, length))
            i += length
    return found


def selected(text, k, window):
    """The places where the rightmost rule selects a k-gram, each with the hash of the k-gram."""
    hashes, _ = grams(np.frombuffer(text, np.uint8), np.array([0, len(text)]), k)
    hashes = (hashes >> np.uint64(64 - HASH_BITS)).tolist()
    return [(place, hashes[place]) for place in plain.winnow(hashes, window, robust=False)]


def seeds(a, b, k, window):
    """The pairs of selected places that have the same k-gram, each with the hash of the k-gram."""
    of_a, of_b = selected(a, k, window), selected(b, k, window)
    return [(p, q, hash_) for p, hash_ in of_a for q, _ in of_b if a[p : p + k] == b[q : q + k]]


def seeds_in(run, seeds, k):
    """Where the seeds inside a run begin in the first text."""
    i, j, length = run
    return [p for p, q, _ in seeds if q - p == j - i and i <= p and p + k <= i + length]


def definition(a, b, k, window):
    """The maximal runs that contain a seed."""
    diagonals = {}
    for p, q, hash_ in seeds(a, b, k, window):
        diagonals.setdefault(q - p, []).append((p, q, hash_))
    return sorted(run for run in maximal(a, b) if seeds_in(run, diagonals.get(run[1] - run[0], []), k))


def aligned(a, b, k, window, **settings_):
    """The result of the kernel with changed constants."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings_.items():
            patch.setattr(kernel, name, value)
        i, j, length = maximal_runs(np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8), k, window)
    return list(zip(i.tolist(), j.tolist(), length.tolist(), strict=True))


@st.composite
def texts(draw):
    """Two texts made of common pieces, so that runs overlap, repeat and touch the ends."""
    alphabet = draw(st.sampled_from([b"a", b"ab", b"abc", bytes(range(97, 123))]))
    piece = st.lists(st.sampled_from(alphabet), max_size=20).map(bytes)
    periodic = st.builds(
        lambda unit, times: unit * times, piece.map(lambda unit: unit[:7]), st.integers(0, 8)
    )
    pieces = draw(st.lists(piece | periodic, min_size=1, max_size=5))
    text = st.lists(st.sampled_from(pieces) | piece.map(lambda own: own[:3]), max_size=6).map(b"".join)
    return draw(text), draw(text)


small = st.fixed_dictionaries(
    {
        "_SLICE": st.sampled_from([1, 7, 1 << 20]),
        "_BATCH": st.sampled_from([1, 5, 1 << 18]),
        "_REACH": st.sampled_from([0, 9, 256]),
        "_WIDTH": st.sampled_from([1, 3, 32]),
        "_AT_ONCE": st.sampled_from([32, 1 << 18]),
    }
)


@given(texts(), st.integers(1, 6), st.integers(1, 8), small)
@example((b"a" * 80, b"a" * 60), 3, 4, {})
@example((b"abcabcabcabcabcab", b"xbcabcabcabcabcay"), 4, 3, {})
@settings(max_examples=EXAMPLES)
def test_the_result_is_all_maximal_runs_with_a_seed_and_so_all_that_are_long_enough(pair, k, window, sizes):
    found = aligned(*pair, k, window, MAX_SEEDS=10**9, **sizes)
    assert found == definition(*pair, k, window)
    assert set(found) >= {run for run in maximal(*pair) if run[2] >= k + window - 1}


@given(
    texts(),
    st.integers(1, 6),
    st.integers(1, 8),
    small,
    st.sampled_from([0, 3, 7]),
    st.sampled_from([0, 9, 10**9]),
)
@settings(max_examples=EXAMPLES)
def test_equal_hashes_are_not_trusted_but_symbols_are_compared(pair, k, window, sizes, bits, most):
    select = kernel.select_fingerprints

    def poor(*args, **kwargs):
        positions, hashes, carry = select(*args, **kwargs)
        return positions, hashes & np.uint64(bits), carry

    found = aligned(*pair, k, window, select_fingerprints=poor, MAX_SEEDS=most, SEEDS_PER_HASH=0, **sizes)
    every = definition(*pair, k, window)
    assert found == (every if most == 10**9 else sorted(set(found) & set(every)))


def followed(a, b, k, window, most, dense=1 << 14):
    """The seeds of the rarest hashes up to the limit, without hashes that fill stretches."""
    found = seeds(a, b, k, window)
    places = [Counter(hash_ for _, hash_ in selected(text, k, window)) for text in (a, b)]
    total, kept = 0, set()
    for pairs, hash_ in sorted((pairs, hash_) for hash_, pairs in Counter(seed[2] for seed in found).items()):
        if max(count[hash_] for count in places) <= dense:
            total += pairs
            if total <= most:
                kept.add(hash_)
    return [seed for seed in found if seed[2] in kept]


def certain(run, kept, k, reach):
    """Whether a run has a followed seed, and no stretch of more than `reach` symbols without one."""
    i, _, length = run
    places = sorted(seeds_in(run, kept, k))
    return bool(places) and max(np.diff([i, *places, i + length])) <= reach


@given(texts(), st.integers(1, 6), st.integers(1, 8), small, st.sampled_from([0, 1, 10, 60, 300]))
@example((b"a" * 200, b"b" + b"a" * 30 + b"b" + b"a" * 90), 3, 2, {"_REACH": 0}, 0)
@example((b"a" * 80 + b"cmnop" + b"a" * 60, b"a" * 80 + b"dmnop" + b"a" * 60), 3, 2, {"_REACH": 0}, 10)
@settings(max_examples=EXAMPLES)
def test_with_too_many_seeds_runs_are_maximal_and_rare_runs_complete_and_all_seeds_covered(
    pair, k, window, sizes, most
):
    a, b = pair
    found = aligned(a, b, k, window, MAX_SEEDS=most, SEEDS_PER_HASH=0, **sizes)
    every = definition(a, b, k, window)
    assert found == sorted(set(found) & set(every))
    for p, q, _ in seeds(a, b, k, window):
        assert any(i <= p and p + k <= i + length for i, _, length in found)
        assert any(j <= q and q + k <= j + length for _, j, length in found)
    kept = followed(a, b, k, window, most)
    reach = max(k + window, sizes.get("_REACH", 256))
    assert set(found) >= {run for run in every if certain(run, kept, k, reach)}


@given(texts(), st.integers(1, 6), st.integers(1, 8), st.integers(1, 20), st.sampled_from([0, 10, 10**9]))
@example((b"abc" * 60, b"abc" * 60), 13, 3, 5, 10**9)  # on diagonal 9 the kept places are 27 symbols apart
@settings(max_examples=EXAMPLES)
def test_all_symbols_of_a_hash_that_fills_a_stretch_are_covered_though_only_some_places_are_kept(
    pair, k, window, dense, most
):
    a, b = pair
    found = aligned(a, b, k, window, MAX_SEEDS=most, SEEDS_PER_HASH=0, _DENSE=dense, _REACH=0)
    every = definition(a, b, k, window)
    assert found == sorted(set(found) & set(every))
    covered, covered_in_b = (
        {n for run in found for n in range(run[side], run[side] + run[2])} for side in (0, 1)
    )
    for p, q, _ in seeds(a, b, k, window):
        assert covered >= set(range(p, p + k))
        assert covered_in_b >= set(range(q, q + k))
    kept = followed(a, b, k, window, most, dense)
    assert set(found) >= {run for run in every if certain(run, kept, k, k + window)}


def random_text(seed, length):
    return np.random.default_rng(seed).integers(97, 123, length).astype(np.uint8).tobytes()


def test_two_periodic_texts_give_one_run_and_not_millions():
    for unit in (b"a", random_text(7, 7), random_text(60, 60)):
        text = unit * (100_000 // len(unit))
        assert aligned(text, text, 25, 26) == [(0, 0, len(text))]


def test_a_stretch_of_one_symbol_is_found_in_bounded_memory():
    text = b"a" * 3_000_000
    kernel.maximal_runs(*(2 * [np.frombuffer(b"a", np.uint8)]), 25, 26)
    tracemalloc.start()
    found = aligned(text, text, 25, 26)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [(0, 0, len(text))]
    assert peak < 40 * len(text)


def test_every_copy_of_a_sentence_that_both_texts_repeat_is_covered_by_a_bounded_number_of_runs():
    sentence, times = random_text(0, 60), 3000
    a, b = (
        b"".join(random_text(times * side + number, 40) + sentence for number in range(times))
        for side in (1, 2)
    )
    found = np.array(aligned(a, b, 25, 26))
    places = np.arange(40, len(a), 100)
    for begins in (found[:, 0], found[:, 1]):
        order = np.argsort(begins)
        reached = np.maximum.accumulate((begins + found[:, 2])[order])
        assert (reached[np.searchsorted(begins[order], places, "right") - 1] >= places + 60).all()
    assert len(found) <= kernel.MAX_SEEDS + 2 * times


def test_many_short_runs_in_any_order_are_all_found():
    pieces = [random_text(number, 60) for number in range(2000)]
    a, b = (
        b"".join(random_text(10_000 * side + number, 40) + pieces[number] for number in order)
        for side, order in ((1, range(2000)), (2, np.random.default_rng(0).permutation(2000)))
    )
    found = aligned(a, b, 25, 26)
    assert [i // 100 for i, _, _ in found] == list(range(2000))
    assert all(a[i : i + length] == b[j : j + length] and length >= 60 for i, j, length in found)


def test_texts_of_2_to_the_31_symbols_are_refused():
    endless = np.broadcast_to(np.uint8(0), 1 << 31)
    with pytest.raises(ValueError, match="fewer than 2\\^31"):
        maximal_runs(endless, endless[:9], 5, 4)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=12))
def test_merged_ranges_contain_the_same_numbers_and_do_not_touch(pairs):
    begins, lengths = np.array(pairs, np.int64).reshape(-1, 2).T
    first, last = (array.tolist() for array in merged_ranges(begins, begins + lengths))
    inside = sorted({number for begin, length in pairs for number in range(begin, begin + length)})
    assert [number for begin, end in zip(first, last, strict=True) for number in range(begin, end)] == inside
    assert all(end < begin for end, begin in zip(last[:-1], first[1:], strict=True))
