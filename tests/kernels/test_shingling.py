import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.kernels.arrays import mix, owners, ranges, starts_of
from docindex.kernels.shingling import distinct_counts, labelled_bag, shingles, token_hashes, token_spans
from tests import plain

token_lists = st.lists(st.lists(st.integers(1, 5), max_size=20), max_size=5)  # a symbol is never 0


@given(token_lists, st.integers(1, 6))
def test_shingle_hashes_are_equal_where_shingles_are_and_only_there(docs, q):
    tokens, starts = plain.batch(docs)
    hashes, shingle_starts = shingles(tokens, starts, q)
    found = {}
    for doc, own in zip(docs, plain.parted(hashes, shingle_starts), strict=True):
        expected = [tuple(doc[i : i + q]) for i in range(max(1, len(doc) - q + 1))] if doc else []
        assert len(own) == len(expected)
        for shingle, hash_ in zip(expected, own, strict=True):
            assert found.setdefault(shingle, hash_) == hash_
    assert len(set(found.values())) == len(found)


@given(token_lists, st.integers(1, 6))
def test_a_batch_has_the_shingles_its_documents_have_alone(docs, q):
    tokens, starts = plain.batch(docs)
    together = plain.parted(*shingles(tokens, starts, q))
    assert together == [shingles(*plain.batch([doc]), q)[0].tolist() for doc in docs]


@given(token_lists, st.integers(1, 4))
def test_labels_keep_a_bag_apart_from_a_set_and_count_what_it_has_in_common(docs, q):
    tokens, starts = plain.batch(docs)
    hashes, shingle_starts = shingles(tokens, starts, q)
    own = [set(bag) for bag in plain.parted(labelled_bag(hashes, shingle_starts), shingle_starts)]
    bags = [plain.shingles(doc, q, bag=True) for doc in docs]
    assert [len(bag) for bag in own] == [len(bag) for bag in bags]
    assert [[len(a & b) for a in own] for b in own] == [[len(a & b) for a in bags] for b in bags]


def test_occurrences_of_neighbouring_hashes_do_not_meet():
    hashes, starts = plain.batch([[5, 5, 5, 6, 6, 7]])
    assert len(set(labelled_bag(hashes, starts).tolist())) == 6


@given(token_lists)
def test_distinct_counts_the_different_hashes_of_each_document(docs):
    tokens, starts = plain.batch(docs)
    assert distinct_counts(mix(tokens), starts).tolist() == [len(set(doc)) for doc in docs]


@given(st.lists(st.text("ab", min_size=1, max_size=9), max_size=9), st.integers(1, 5))
def test_tokens_longer_than_the_longest_are_cut_from_their_begin(words, longest):
    symbols = np.frombuffer("".join(words).encode(), np.uint8)
    begins, ends = token_spans(
        starts_of(np.array([len(w) for w in words], np.int64))[:-1], len(symbols), longest
    )
    pieces = [word[i : i + longest] for word in words for i in range(0, len(word), longest)]
    assert [symbols[b:e].tobytes().decode() for b, e in zip(begins, ends, strict=True)] == pieces
    hashes = dict(zip(pieces, token_hashes(symbols, begins, ends).tolist(), strict=True))
    assert len(set(hashes.values())) == len(hashes)
    assert [hashes[piece] for piece in pieces] == token_hashes(symbols, begins, ends).tolist()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_ranges_and_owners_are_what_loops_would_write(pairs):
    begins, lengths = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    assert ranges(begins, lengths).tolist() == [
        i for begin, length in pairs for i in range(begin, begin + length)
    ]
    assert owners(starts_of(lengths)).tolist() == [
        i for i, (_, length) in enumerate(pairs) for _ in range(length)
    ]


def test_mixing_changes_half_of_all_bits_for_every_bit_that_changes():
    numbers = np.random.default_rng(1).integers(0, 2**64, 2000, dtype=np.uint64)
    for bit in range(64):
        changed = mix(numbers) ^ mix(numbers ^ np.uint64(1 << bit))
        assert abs(np.bitwise_count(changed).mean() - 32) < 0.5
