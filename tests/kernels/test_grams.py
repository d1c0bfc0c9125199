import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels import grams as kernel
from docindex.kernels.grams import grams, powers, prefix, rolling, spans
from tests import plain

BASE = int(powers(kernel._BASE, 2)[1])
texts = st.lists(st.binary(max_size=30), max_size=5)


def hash_of(symbols):
    """The papers' sum of c_j * B^j, the first symbol lowest."""
    return sum(symbol * BASE ** (j + 1) for j, symbol in enumerate(symbols)) % 2**64


def rolled(symbols, k, base, modulus):
    """The papers' H of every k-gram, each from the one before."""
    value = sum(symbol * base ** (k - 1 - j) for j, symbol in enumerate(symbols[:k])) % modulus
    yield value
    for out, into in zip(symbols, symbols[k:], strict=False):
        value = ((value - out * base ** (k - 1)) * base + into) % modulus
        yield value


def rolled_well(symbols, k, base, modulus):
    """The papers' H', which multiplies last, so that the last symbol reaches all bits."""
    value = sum(symbol * base ** (k - j) for j, symbol in enumerate(symbols[:k])) % modulus
    yield value
    for out, into in zip(symbols, symbols[k:], strict=False):
        value = ((value - out * base**k) + into) * base % modulus
        yield value


@given(texts, st.integers(1, 40), st.sampled_from([1, 5, kernel.CHUNK]))
def test_every_kgram_of_every_document_has_the_hash_of_its_definition(docs, k, chunk):
    symbols, starts = plain.batch(docs, np.uint8)
    before, kernel.CHUNK = kernel.CHUNK, chunk
    try:
        hashes, gram_starts = grams(symbols, starts, k)
    finally:
        kernel.CHUNK = before
    assert plain.parted(hashes, gram_starts) == [
        [hash_of(doc[i : i + k]) for i in range(len(doc) - k + 1)] for doc in docs
    ]


@given(st.binary(min_size=1, max_size=200), st.data())
def test_the_prefix_sums_give_the_papers_rolling_hash_with_the_base_inverted(symbols, data):
    # H weighs the first symbol most, ours the last: with 1/B for B and a factor they are one.
    k = data.draw(st.integers(1, len(symbols)))
    inverse, modulus = pow(BASE, -1, 2**64), 2**64
    ours = rolling(prefix(np.frombuffer(symbols, np.uint8)), k).tolist()
    assert ours == [value * BASE**k % modulus for value in rolled(symbols, k, inverse, modulus)]
    assert ours == [value * BASE ** (k + 1) % modulus for value in rolled_well(symbols, k, inverse, modulus)]


@given(st.binary(min_size=1, max_size=4096 + 100))
def test_a_kgram_of_4096_symbols_costs_and_means_what_a_short_one_does(symbols):
    hashes, _ = grams(np.frombuffer(symbols, np.uint8), np.array([0, len(symbols)]), 4096)
    assert hashes.tolist() == [hash_of(symbols[i : i + 4096]) for i in range(len(symbols) - 4095)]


@given(st.binary(max_size=100), st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50)), max_size=8))
def test_a_run_of_any_length_has_the_hash_of_a_kgram_of_that_length(symbols, ranges):
    ranges = sorted((min(begin, len(symbols)), min(begin + length, len(symbols))) for begin, length in ranges)
    begins, ends = (np.array([r[i] for r in ranges], np.int64) for i in (0, 1))
    found = spans(np.frombuffer(symbols, np.uint8), begins, ends)
    assert found.tolist() == [hash_of(symbols[begin:end]) for begin, end in ranges]


def test_tokens_hash_as_symbols_do():
    tokens = np.array([2**63 + 1, 7, 2**63 + 1, 7], np.uint64)
    hashes, _ = grams(tokens, np.array([0, 4]), 2)
    assert hashes.tolist()[0] == hashes.tolist()[2] == hash_of([2**63 + 1, 7])
