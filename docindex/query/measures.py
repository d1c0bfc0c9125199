"""Two sets of shingles, or two sketches, in; how much they share out, as numbers that say how sure they are.

Must never know where a text or a sketch came from.
"""

import dataclasses
from typing import Literal

import numpy as np

from docindex.kernels import minhash
from docindex.kernels.arrays import U32, U64

Basis = Literal["fingerprints", "shingles", "slots"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """How much two texts share: of what was asked with, and of what was found or compared with it."""

    containment: float
    """The share of the first one that the second has, too."""
    reverse_containment: float
    """The share of the second one that the first has, too."""
    resemblance: float
    """What both have, as a share of what either has."""
    shared: int
    """How many different fingerprints, shingles or slots (see `basis`) both have."""
    basis: Basis
    """What the numbers are counted in; those by slots are estimates."""
    containment_error: float = 0.0
    """The standard error of `containment`; 0 where it is exact. So are the next two."""
    reverse_containment_error: float = 0.0
    resemblance_error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the numbers are exact."""
        return not (self.containment_error or self.reverse_containment_error or self.resemblance_error)


def by_shingles(a: U64, b: U64, *, alike: bool) -> Measures:
    """The exact numbers of two sets of shingles; where one is empty, all or nothing is shared."""
    if not (len(a) and len(b)):
        share = float(alike)
        return Measures(
            containment=share, reverse_containment=share, resemblance=share, shared=0, basis="shingles"
        )
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return Measures(
        containment=shared / len(a),
        reverse_containment=shared / len(b),
        resemblance=shared / (len(a) + len(b) - shared),
        shared=shared,
        basis="shingles",
    )


def by_slots(a: U32, b: U32, size_a: int, size_b: int, *, alike: bool) -> Measures:
    """Estimates from two sketches and the sizes of the sets that they stand for.

    Of resemblance r, (|A| + |B|) r / (1 + r) are shared. What cannot be is cut off: a large set is not
    contained in a small one.
    """
    estimated, error = map(float, minhash.estimate_resemblance(a, b))
    if not (size_a and size_b):
        share = float(alike)
        return Measures(
            containment=share, reverse_containment=share, resemblance=share, shared=len(a), basis="slots"
        )
    both = (size_a + size_b) * estimated / (1 + estimated)
    slope = (size_a + size_b) / (1 + estimated) ** 2
    return Measures(
        containment=min(1.0, both / size_a),
        reverse_containment=min(1.0, both / size_b),
        resemblance=estimated,
        shared=int(np.count_nonzero(a == b)),
        basis="slots",
        containment_error=error * slope / size_a,
        reverse_containment_error=error * slope / size_b,
        resemblance_error=error,
    )
