"""Weigh fingerprint hashes by how rare they are, and score documents by the weights they share with a query.

In: how many contents have each hash; sums of weights. Out: weights and scores. Weights are whole numbers, so
that a sum is the same in any order. Must never read the index.

A hash that n contents have weighs n^-1/2 for "likeness", and n^-2 for "excerpt". S is the weight that the
query and a document share, Q is the weight of the query, and R that of the hashes that only the document has:

    likeness: S / (Q + R)
    excerpt: S / Q

If only a part of the query's hashes is looked up, S and Q are sums over that part, and R is multiplied by the
share of the hashes that are looked up.

Printed by tests/bench/quality_ranking.py for the half of the texts that chose nothing, with k=25 and
window=26, which were the default when the formulas were chosen: the right licence of a text is the first
answer, or among the first five, of 2,289; the share of a manual page's other releases among the first two,
and of a Django source's among the first six. Then 500 characters of a text are the whole query (licences), or
are inserted into another text (manual pages, Django): a text that holds them is among the first ten.

    formula, weight            licences     manuals  Django   quoted   inserted
    S / (Q + R), n^-1/2        .682 .929    .989     .933     .935     .895 .875
    likeness: a sample of R    .685 .928    .988     .933     .920     .890 .875
    S / (Q + R), n^-1/4        .664 .919    .976     .927     .910     .655 .810
    S / (Q + R), n^-3/4        .647 .928    .993     .941     .940     .935 .915
    S / (Q + R), n^-1          .643 .910    .993     .942     .945     .975 .955
    S / sqrt(Q (S + R))        .655 .922    .989     .933     .950     .855 .880
    S / (Q + r)                .611 .883    .984     .933     .935     .895 .865
    unweighted resemblance     .621 .900    .887     .916     .885     .510 .750
    excerpt: S / Q, n^-2       .426 .628    .992     .942     .980     .990 .970
    S / Q, n^-1                .442 .662    .993     .946     .980     .970 .955
    S / Q, n^-1/2              .460 .681    .989     .936     .980     .915 .895
    number of shared hashes    .463 .682    .884     .914     .980     .590 .785

(r is the number of the document's other hashes, times the mean weight of the query's.) No formula serves both
kinds of queries: those that identify licences lose excerpts. Likeness is the default because it gains more
where it wins. On the PAN 2013 corpus, all formulas find the same sources among the first fifty answers.
"""

import numpy as np

from docindex.arrays.ranges import F64, I64
from docindex.query.search.options import Rank

_ONE = 1 << 32
"""The weight of a hash that one content has."""

SAMPLE = 12
"""R is estimated from this many of the document's other hashes, the smallest ones.

To look up all of them would read most of a small index. With 8, 12, 16 and all hashes, the first licence is
right in .673, .675, .675 and .671 of the searches, and one of the first five in .927, .931, .931 and .932.
"""

LEAST_MEAN = _ONE // 8
"""The hashes of R weigh at least this on average: if their mean is lower, it is taken to be this.

So the size of a document limits its score. To find the best 20 licences, hashes of 53 documents
are looked up instead of 121. The answers are as good: .671 and .932 instead of .673 and .932 (see `SAMPLE`).
With 1/4 they are worse: .653 and .910.
"""


def weights_of(having: I64, rank: Rank) -> I64:
    """The weight of a hash, for each number of contents that have it. A hash of no content weighs 2^32 too.

    >>> (weights_of(np.array([0, 1, 4]), "likeness") / 2**32).tolist()
    [1.0, 1.0, 0.5]
    >>> (weights_of(np.array([0, 1, 4]), "excerpt") / 2**32).tolist()
    [1.0, 1.0, 0.0625]
    """
    having = np.maximum(having, 1)
    if rank == "excerpt":
        weights: I64 = np.maximum(_ONE // (having * having), 1)  # a shared hash always counts
        return weights
    # Square root and division are rounded correctly on every machine, so the result is the same everywhere.
    return (_ONE / np.sqrt(having)).astype(np.int64)


def scores_of(shared: I64 | F64, query: int, others: F64) -> F64:
    """The scores of documents that share these weights with a query; `others` is R, or 0.

    >>> scores_of(np.array([2, 2]), 4, np.array([0.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    return shared / (query + others)
