import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.arrays.ranges import mix, starts_of
from docindex.shingling.shingles import distinct_counts, labelled_bag, shingles, token_hashes, token_spans
from tests import plain

token_lists = st.lists(st.lists(st.integers(1, 5), max_size=20), max_size=5)  # a symbol is never 0


@given(token_lists, st.integers(1, 6))
def test_shingle_hashes_are_equal_exactly_if_the_shingles_are(docs, q):
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
def test_a_batch_gives_each_document_the_shingles_that_it_has_alone(docs, q):
    tokens, starts = plain.batch(docs)
    together = plain.parted(*shingles(tokens, starts, q))
    assert together == [shingles(*plain.batch([doc]), q)[0].tolist() for doc in docs]


@given(token_lists, st.integers(1, 4))
def test_labelled_bags_have_as_many_hashes_in_common_as_the_bags_have_shingles(docs, q):
    tokens, starts = plain.batch(docs)
    hashes, shingle_starts = shingles(tokens, starts, q)
    own = [set(bag) for bag in plain.parted(labelled_bag(hashes, shingle_starts), shingle_starts)]
    bags = [plain.shingles(doc, q, bag=True) for doc in docs]
    assert [len(bag) for bag in own] == [len(bag) for bag in bags]
    assert [[len(a & b) for a in own] for b in own] == [[len(a & b) for a in bags] for b in bags]


def test_repeats_of_neighbouring_hashes_get_different_labels():
    hashes, starts = plain.batch([[5, 5, 5, 6, 6, 7]])
    assert len(set(labelled_bag(hashes, starts).tolist())) == 6


@given(token_lists)
def test_distinct_counts_are_the_numbers_of_distinct_hashes(docs):
    tokens, starts = plain.batch(docs)
    assert distinct_counts(mix(tokens), starts).tolist() == [len(set(doc)) for doc in docs]


@given(st.lists(st.text("ab", min_size=1, max_size=9), max_size=9), st.integers(1, 5))
def test_tokens_that_are_too_long_are_cut_from_their_start(words, longest):
    symbols = np.frombuffer("".join(words).encode(), np.uint8)
    begins, ends = token_spans(
        starts_of(np.array([len(w) for w in words], np.int64))[:-1], len(symbols), longest
    )
    pieces = [word[i : i + longest] for word in words for i in range(0, len(word), longest)]
    assert [symbols[b:e].tobytes().decode() for b, e in zip(begins, ends, strict=True)] == pieces
    hashes = dict(zip(pieces, token_hashes(symbols, begins, ends).tolist(), strict=True))
    assert len(set(hashes.values())) == len(hashes)
    assert [hashes[piece] for piece in pieces] == token_hashes(symbols, begins, ends).tolist()
