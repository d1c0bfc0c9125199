import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.ranges import mix
from docindex.winnowing import kgrams as kernel
from docindex.winnowing.kgrams import grams, powers, prefix_sums, rolling_hashes, span_hashes
from tests import plain

BASE = int(powers(kernel._BASE, 2)[1])
texts = st.lists(st.binary(max_size=30), max_size=5)


def hash_of(symbols):
    """The sum of c_j * B^(j+1), as in the papers, but the first symbol has the lowest power."""
    return sum(symbol * BASE ** (j + 1) for j, symbol in enumerate(symbols)) % 2**64


def hash_of_any(symbols):
    """The same for more than 64 symbols: first the remainder, then block by block, mixed after each block."""
    if len(symbols) <= 64:
        return hash_of(symbols)
    whole = len(symbols) // 64 * 64
    state = hash_of(symbols[whole:])
    for begin in range(0, whole, 64):
        state = mixed(state + mixed(hash_of(symbols[begin : begin + 64])))
    return state


def mixed(number):
    return int(mix(np.array([number % 2**64], np.uint64))[0])


def rolled(symbols, k, base, modulus):
    """The papers' H of every k-gram, each computed from the k-gram before."""
    value = sum(symbol * base ** (k - 1 - j) for j, symbol in enumerate(symbols[:k])) % modulus
    yield value
    for out, into in zip(symbols, symbols[k:], strict=False):
        value = ((value - out * base ** (k - 1)) * base + into) % modulus
        yield value


def rolled_well(symbols, k, base, modulus):
    """The papers' H', which multiplies last, so that the last symbol affects all bits."""
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
        [hash_of_any(doc[i : i + k]) for i in range(len(doc) - k + 1)] for doc in docs
    ]


@given(st.binary(min_size=1, max_size=200), st.data())
def test_the_prefix_sums_give_the_rolling_hash_of_the_papers_with_the_inverse_base(symbols, data):
    # In H the first symbol has the highest power; here the last symbol has it. With 1/B for B and a factor,
    # both hashes are equal.
    k = data.draw(st.integers(1, min(64, len(symbols))))
    inverse, modulus = pow(BASE, -1, 2**64), 2**64
    ours = rolling_hashes(prefix_sums(np.frombuffer(symbols, np.uint8)), k).tolist()
    assert ours == [value * BASE**k % modulus for value in rolled(symbols, k, inverse, modulus)]
    assert ours == [value * BASE ** (k + 1) % modulus for value in rolled_well(symbols, k, inverse, modulus)]


@given(st.binary(min_size=1, max_size=300) | st.binary(min_size=4096, max_size=4200))
def test_a_kgram_of_more_than_64_symbols_is_hashed_block_by_block(symbols):
    for k in (65, 128, 200, 4096):
        hashes, _ = grams(np.frombuffer(symbols, np.uint8), np.array([0, len(symbols)]), k)
        places = range(len(symbols) - k + 1)
        assert hashes[::50].tolist() == [hash_of_any(symbols[i : i + k]) for i in places[::50]]


def test_thue_morse_words_do_not_collide():
    word = bytes(97 + number.bit_count() % 2 for number in range(4096))
    other = word.translate(bytes.maketrans(b"ab", b"ba"))
    for k in (64, 256, 1024, 4096):
        one, two = (
            grams(np.frombuffer(text[:k], np.uint8), np.array([0, k]), k)[0][0] for text in (word, other)
        )
        assert (int(one) ^ int(two)) >> 27


@given(st.binary(max_size=100), st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50)), max_size=8))
def test_a_run_of_any_length_has_the_hash_of_a_kgram_of_that_length(symbols, ranges):
    ranges = sorted((min(begin, len(symbols)), min(begin + length, len(symbols))) for begin, length in ranges)
    begins, ends = (np.array([r[i] for r in ranges], np.int64) for i in (0, 1))
    found = span_hashes(np.frombuffer(symbols, np.uint8), begins, ends)
    assert found.tolist() == [hash_of(symbols[begin:end]) for begin, end in ranges]


def test_tokens_are_hashed_as_symbols_are():
    tokens = np.array([2**63 + 1, 7, 2**63 + 1, 7], np.uint64)
    hashes, _ = grams(tokens, np.array([0, 4]), 2)
    assert hashes.tolist()[0] == hashes.tolist()[2] == hash_of([2**63 + 1, 7])
