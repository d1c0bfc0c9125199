"""Measure how much two texts share: containment both ways, resemblance, and the error of estimates.

Takes two sets of shingles, or two min-hash sketches. Must never know where a text or a sketch came from.
"""

import dataclasses
from typing import Literal

import numpy as np

from docindex.kernels import minhash
from docindex.kernels.arrays import F64, I64, U32, U64

Basis = Literal["fingerprints", "shingles", "slots"]
"""The unit in which measures are counted. Measures in slots are estimates."""


@dataclasses.dataclass(frozen=True, slots=True)
class Measures:
    """How much two texts share. The first text is the query or `a`; the second is the match or `b`."""

    containment: float
    """The share of the first text that the second also has."""
    reverse_containment: float
    """The share of the second text that the first also has."""
    resemblance: float
    """The common part of the two texts, as a share of their union."""
    shared: int
    """How many different fingerprint hashes, shingles or slots the two texts share; see `basis`."""
    basis: Basis
    """The unit of the numbers: "fingerprints", "shingles" or "slots". Numbers in slots are estimates."""
    containment_error: float = 0.0
    """The standard error of `containment`; 0 if `containment` is exact."""
    reverse_containment_error: float = 0.0
    """The standard error of `reverse_containment`; 0 if `reverse_containment` is exact."""
    resemblance_error: float = 0.0
    """The standard error of `resemblance`; 0 if `resemblance` is exact."""

    @property
    def exact(self) -> bool:
        """Whether all numbers are exact."""
        return not (self.containment_error or self.reverse_containment_error or self.resemblance_error)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class EstimatedContainments:
    """The containments of many pairs, computed from their estimated resemblances."""

    containment: F64
    reverse_containment: F64
    containment_error: F64
    reverse_containment_error: F64


def by_shingles(a: U64, b: U64, *, alike: bool) -> Measures:
    """The exact measures of two sets of shingles.

    If a set is empty, all measures are 1 or 0: `alike` says whether the two texts have the same words.
    """
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
    """Estimated measures of two sketches, given how many shingles each text has.

    If a text has no shingles, all measures are 1 or 0: `alike` says whether the two have the same words.
    """
    equal = int(np.count_nonzero(a == b))
    if not (size_a and size_b):
        share = float(alike)
        return Measures(
            containment=share, reverse_containment=share, resemblance=share, shared=equal, basis="slots"
        )
    resemblance, error = minhash.estimate_resemblance(a, b)
    estimated = estimate_containments(resemblance, error, np.asarray(size_a), np.asarray(size_b))
    return Measures(
        containment=float(estimated.containment),
        reverse_containment=float(estimated.reverse_containment),
        resemblance=float(resemblance),
        shared=equal,
        basis="slots",
        containment_error=float(estimated.containment_error),
        reverse_containment_error=float(estimated.reverse_containment_error),
        resemblance_error=float(error),
    )


def estimate_containments(resemblance: F64, error: F64, size_a: I64, size_b: I64) -> EstimatedContainments:
    """The containments of sets with these sizes, estimated from their resemblance, and the standard errors.

    Two sets A and B of resemblance r have (|A| + |B|) r / (1 + r) members in common. This number is at most
    the size of the smaller set, so a larger estimate is reduced to that size.

    >>> found = estimate_containments(*map(np.asarray, (0.5, 0.1, 10, 20)))
    >>> float(found.containment), float(found.reverse_containment), round(float(found.containment_error), 3)
    (1.0, 0.5, 0.133)
    """
    both = np.minimum(resemblance / (1 + resemblance) * (size_a + size_b), np.minimum(size_a, size_b))
    # The derivative of the number in common with respect to the resemblance.
    slope = (size_a + size_b) / (1 + resemblance) ** 2
    whole_a, whole_b = np.maximum(size_a, 1), np.maximum(size_b, 1)
    return EstimatedContainments(
        both / whole_a, both / whole_b, error * slope / whole_a, error * slope / whole_b
    )
