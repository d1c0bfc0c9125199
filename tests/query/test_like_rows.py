import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docindex.query.regions import regions as kernel
from docindex.query.regions.regions import like_rows

ROWS = st.lists(st.lists(st.integers(0, 6), max_size=6), max_size=6)


def laid_out(rows):
    words = np.array([word for row in rows for word in row], np.uint64)
    return words, np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def defined(a, b, least, common):
    """The cosine of each pair that is alike."""
    rows_with = Counter(word for row in a + b for word in set(row))
    weight = {word: math.log(1 + len(a + b) / count) for word, count in rows_with.items()}
    found = {}
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            x, y = ({w: n * weight[w] for w, n in Counter(row).items()} for row in (one, other))
            shared = {w for w in x.keys() & y.keys() if rows_with[w] <= common}
            if shared:
                cosine = sum(x[w] * y[w] for w in shared) / (
                    math.hypot(*x.values()) * math.hypot(*y.values())
                )
                if min(cosine, 2 * len(shared) / (len(x) + len(y))) >= least:
                    found[i, j] = cosine
    return found


def found_by_kernel(a, b, least, common):
    i, j, cosine = like_rows(laid_out(a), laid_out(b), least=least, common=common, checkpoint=lambda: None)
    assert list(zip(i, j, strict=True)) == sorted(zip(i, j, strict=True))
    return dict(zip(zip(i.tolist(), j.tolist(), strict=True), cosine.tolist(), strict=True))


@given(ROWS, ROWS, st.sampled_from([0.123, 0.333, 0.777]), st.integers(1, 9))
def test_pairs_are_alike_by_the_definition(a, b, least, common):
    found, expected = found_by_kernel(a, b, least, common), defined(a, b, least, common)
    assert found.keys() == expected.keys()
    assert all(math.isclose(found[pair], cosine) for pair, cosine in expected.items())


@given(ROWS, ROWS)
def test_the_size_of_blocks_and_tables_changes_nothing(a, b):
    expected = found_by_kernel(a, b, 0.3, 9)
    for products, cells in ((1, 1 << 22), (5, 1), (1 << 20, 1)):
        kernel._PRODUCTS, kernel._CELLS = products, cells
        try:
            found = found_by_kernel(a, b, 0.3, 9)
        finally:
            kernel._PRODUCTS, kernel._CELLS = 1 << 20, 1 << 22
        assert found.keys() == expected.keys()
        assert all(math.isclose(found[pair], expected[pair]) for pair in found)
