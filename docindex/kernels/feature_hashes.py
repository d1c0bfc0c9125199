"""Compute the features (super-shingles) of documents: a few 64-bit hashes for each document.

Near-duplicates have several features in common.

In: the slots of each document. Out: one hash for each group of slots, after Broder (2000). Must never see a
text.
"""

import numpy as np

from docindex.kernels.arrays import U16, U64, mix


def features(slots: U16, k: int, s: int) -> U64:
    """One row of k features per document: feature g is a hash of slots [g*s, (g+1)*s).

    The same slots give the same features on every machine; slots beyond k*s are not read. Two groups that
    differ in exactly one slot never have the same feature, and neither do equal groups at different places.
    Any other two groups collide with probability 2^-64. Arithmetic is modulo 2^64 on purpose.

    >>> same, changed = features(np.array([[1, 2, 3, 4], [1, 2, 3, 5]], np.uint16), k=2, s=2)
    >>> (same == changed).tolist()
    [True, False]
    """
    check_groups(k, s)
    documents, width = slots.shape
    if k * s > width:
        raise ValueError(f"{k} features of {s} slots need {k * s} slots, but a document has {width}")
    groups = slots[:, : k * s].reshape(documents, k, s)
    # Every step is a bijection of the state, so that one changed slot always changes the feature. A sum of
    # mixed slots would cost the same and guarantee less. Each group starts from its own state.
    hashed = np.tile(mix(np.arange(1, k + 1, dtype=np.uint64)), (documents, 1))
    for slot in range(s):
        hashed ^= groups[:, :, slot]
        hashed = mix(hashed)
    return hashed


def check_groups(k: int, s: int) -> None:
    """Raise `ValueError` unless k and s are at least 1.

    >>> check_groups(0, 14)
    Traceback (most recent call last):
    ValueError: features need k >= 1 and s >= 1; found k=0 and s=14
    """
    if k < 1 or s < 1:
        raise ValueError(f"features need k >= 1 and s >= 1; found k={k} and s={s}")
