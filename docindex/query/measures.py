"""Measure how much two texts share: containment both ways, resemblance, and the error of estimates.

Takes two sets of shingles, or two sketches. Resemblance and containment are shares of shingles; where only
sketches are known, they are estimated. Must never know where a text or a sketch came from.
"""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import F64, I64, U64, Bool
from docindex.errors import CorruptIndex
from docindex.minhash import slots as minhash
from docindex.recipe import Recipe

Basis = Literal["shingles", "slots", "fingerprints", "samples"]
"""How measures were obtained: by counting shingles, which is exact, or as estimates by one of the others."""

# The standard error of a share of fingerprints, as an estimate of the share of shingles, has two parts. The
# first is a fraction of the standard deviation of one yes or no, because an edit destroys fewer or more
# fingerprints than shingles. The second is one fingerprint, because the ends of a copy may have it or not.
# Calibrated on 4,000 random pairs of texts (pieces, blocks, phrases, shuffled parts, words replaced with
# probability .01 to .3) with k = 12 to 20 and t = 41 to 50: the estimate is off by more than 3 errors for 0.0
# to 0.1% of them. With .15 and 1 it is 0.2%, with .25 and .5 it is 1.1%. For k = 25 it is 0.6%, and for
# k = 40 it is 11%: such long k-grams miss reworded text that shingles of five words still find.
_EDIT_ERROR = 0.25
_END_ERROR = 1.0
# The errors that `unit_errors` adds where a k-gram is more than `_LONG` times as long as a shingle, or less
# than `_SHORT` times. Calibrated with `python -m tests.trials.oracle`.
_LONG, _LONG_ERROR = 1.1, 0.2
_SHORT, _SHORT_ERROR = 0.5, 0.15
_MOST_ERROR = 0.35

Ignoring = Literal["nothing", "boilerplate", "common text"]
"""The text that a question ignores. "common text" is what too many texts have."""

_IGNORING_ERRORS = {"nothing": 0.0, "boilerplate": 0.1, "common text": 0.25}


@dataclasses.dataclass(frozen=True, slots=True)
class Measures:
    """How much two texts share. The first text is the query or `a`; the second is the match or `b`.

    - `containment`: the different shared shingles, as a share of those of the first text
    - `reverse_containment`: the same as a share of those of the second text
    - `resemblance`: the same as a share of those of the two texts together
    - `shared`: how many different things the texts share; `basis` names the things
    - `basis`: how the numbers were obtained. "shingles": counted, and exact. The others are estimates: by
      "fingerprints", equal "slots", or "samples" (MOD_m or L_i, if the recipe has `mod_m` or `level`)
    - `containment_error`, `reverse_containment_error`, `resemblance_error`: standard errors; 0 if exact
    """

    containment: float
    """The different shingles of the first text that the second also has, as a share of the first's."""
    reverse_containment: float
    """The different shingles of the second text that the first also has, as a share of the second's."""
    resemblance: float
    """The different shared shingles, as a share of the different shingles of the two texts together."""
    shared: int
    """How many different shingles, fingerprint hashes, slots or samples the two texts share; see `basis`."""
    basis: Basis
    """How the numbers were obtained. "shingles": counted, and exact. The others are estimates with standard
    errors: shares of the "fingerprints", equal "slots" of the min-hash sketches, or Broder's "samples" MOD_m
    and L_i, which recipes with `mod_m` or `level` store."""
    containment_error: float = 0.0
    """The standard error of `containment`; 0 if `containment` is exact."""
    reverse_containment_error: float = 0.0
    """The standard error of `reverse_containment`; 0 if `reverse_containment` is exact."""
    resemblance_error: float = 0.0
    """The standard error of `resemblance`; 0 if `resemblance` is exact."""

    @property
    def exact(self) -> bool:
        """Whether all numbers are exact."""
        return self.basis == "shingles"

    def _shown(self) -> str:
        """The numbers as the short `repr` of a subclass shows them."""
        shares = {name: round(getattr(self, name), 3) for name in _SHARES}
        shown = "".join(f", {name}={share}" for name, share in shares.items())
        return f"{shown}, shared={self.shared}, basis={self.basis!r}"


_SHARES = ("containment", "reverse_containment", "resemblance")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ShareColumns:
    """The measures of many pairs, as columns. No answer has an impossible share: that would be damage."""

    containment: F64
    reverse_containment: F64
    resemblance: F64
    containment_error: F64
    reverse_containment_error: F64
    resemblance_error: F64

    def __post_init__(self) -> None:
        shares = np.concatenate(self.shares)
        if not (shares.min(initial=0.0) >= 0.0 and shares.max(initial=1.0) <= 1.0):  # also if one is NaN
            raise CorruptIndex(
                "a share of text is not between 0 and 1: the index is damaged; check() lists all damage", ""
            )

    def with_wholes(self, same: Bool) -> "ShareColumns":
        """The same columns, but with measures of 1 and errors of 0 where `same` is true."""
        return ShareColumns(
            *(np.where(same, 1.0, shares) for shares in self.shares),
            *(np.where(same, 0.0, errors) for errors in self.errors),
        )

    @property
    def shares(self) -> tuple[F64, F64, F64]:
        """The columns of the measures."""
        return self.containment, self.reverse_containment, self.resemblance

    @property
    def errors(self) -> tuple[F64, F64, F64]:
        """The columns of the standard errors."""
        return self.containment_error, self.reverse_containment_error, self.resemblance_error

    @property
    def error_of_containments(self) -> F64:
        """The sum of the standard errors of both containments: of two estimates, the lower one is better."""
        return self.containment_error + self.reverse_containment_error


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


def same_words(shingles: int) -> Measures:
    """The measures of two texts with the same words; `shingles` is how many shingles each of them has."""
    return Measures(
        containment=1.0, reverse_containment=1.0, resemblance=1.0, shared=shingles, basis="shingles"
    )


def measures_of(shares: ShareColumns, shared: I64, bases: Iterable[Basis]) -> list[Measures]:
    """The measures of each pair, given the columns, how many things the pair shares, and the basis."""
    columns = map(np.ndarray.tolist, (*shares.shares, shared))
    return list(map(Measures, *columns, bases, *map(np.ndarray.tolist, shares.errors)))


def shares_of_sets(shared: I64, size_a: I64, size_b: I64, unit_errors: F64 | None = None) -> ShareColumns:
    """The shares that pairs of sets have in common, given their sizes.

    The shares are exact if the sets are shingles. With `unit_errors`, the sets are fingerprint hashes, and
    the shares are estimates of those of shingles.

    >>> found = shares_of_sets(*map(np.array, ([1], [4], [2])))
    >>> [column.tolist() for column in found.shares]
    [[0.25], [0.5], [0.2]]
    """
    # One array of three rows: for few pairs, each call of numpy costs more than the arithmetic.
    wholes = np.array([size_a, size_b, size_a + size_b - shared])
    shares = quotients(shared, wholes)
    if unit_errors is None:
        return ShareColumns(*shares, *np.zeros_like(shares))
    return ShareColumns(*shares, *_error_of_fingerprints(shared, wholes, unit_errors))


def shares_of_samples(shared: I64, size_a: I64, size_b: I64) -> ShareColumns:
    """The measures of pairs of texts, given the sizes of samples of their shingles with the same modulus.

    An empty sample says nothing about its text, so the errors are infinite.

    >>> found = shares_of_samples(*map(np.array, ([1, 0], [2, 0], [2, 5])))
    >>> found.containment.tolist(), np.isinf(found.containment_error).tolist()
    ([0.5, 0.0], [False, True])
    """
    wholes = np.array([size_a, size_b, size_a + size_b - shared])
    empty = (size_a == 0) | (size_b == 0)
    errors = np.where(empty, np.inf, _error_of_sample(shared, wholes))
    return ShareColumns(*shares_of_sets(shared, size_a, size_b).shares, *errors)


def unit_errors(symbols: I64, shingles: I64, recipe: Recipe, ignoring: Ignoring = "nothing") -> F64:
    """How far shares of fingerprints may be from shares of shingles because the units differ.

    A k-gram that is longer than a shingle misses reworded text, and one that is much shorter finds common
    parts of words. Hashes and shingles of boilerplate, or that too many texts have, do not correspond either.
    `symbols` and `shingles` are the numbers of symbols and shingles of texts.

    >>> unit_errors(np.array([500, 100]), np.array([100, 100]), Recipe()).round(2).tolist()
    [0.0, 0.35]
    """
    lengths = recipe.shingle * np.maximum(symbols, 1) / np.maximum(shingles, 1)
    times = recipe.k / lengths
    least = _MOST_ERROR if recipe.token == "line" or recipe.shingle == 1 else _IGNORING_ERRORS[ignoring]
    errors: F64 = np.clip(
        np.maximum(_LONG_ERROR * (times - _LONG), _SHORT_ERROR * (_SHORT / times - 1)), least, _MOST_ERROR
    )
    return errors


def shares_of_slots(equal: I64, slots: int, size_a: I64, size_b: I64) -> ShareColumns:
    """The measures of pairs with some equal slots, given the number of slots and of shingles of each text.

    Two sets A and B of resemblance r have (|A| + |B|) r / (1 + r) members in common. This number is at most
    the size of the smaller set, so a larger estimate is reduced to that size.

    >>> found = shares_of_slots(np.array([64]), 128, np.array([10]), np.array([20]))
    >>> [column.tolist() for column in found.shares]
    [[1.0], [0.5], [0.5]]
    """
    estimates, errors = _estimates_by_equal_slots(slots)
    resemblance, error = estimates[equal], errors[equal]
    both = np.minimum(resemblance / (1 + resemblance) * (size_a + size_b), np.minimum(size_a, size_b))
    # The derivative of the number in common with respect to the resemblance.
    slope = (size_a + size_b) / (1 + resemblance) ** 2
    whole_a, whole_b = np.maximum(size_a, 1), np.maximum(size_b, 1)
    return ShareColumns(
        both / whole_a, both / whole_b, resemblance, error * slope / whole_a, error * slope / whole_b, error
    )


def quotients(part: I64 | F64, whole: I64) -> F64:
    """The quotients of two arrays; 0 where the divisor is 0.

    >>> quotients(np.array([1, 0]), np.array([4, 0])).tolist()
    [0.25, 0.0]
    """
    return np.divide(part, whole, out=np.zeros(whole.shape), where=whole > 0)


def _error_of_fingerprints(shared: I64, whole: I64, unit_errors: F64) -> F64:
    likely = (shared + 1) / (whole + 2)
    edits, ends = _EDIT_ERROR**2 * likely * (1 - likely), (_END_ERROR / (whole + 2)) ** 2
    errors: F64 = np.sqrt(edits + ends + unit_errors**2)
    return errors


def _error_of_sample(shared: I64, whole: I64) -> F64:
    """The standard error of a share in a random sample, with two hits and two misses added.

    The shift that they cause is added too, so that three errors reach as far as they do from the shifted
    share. Without it, 1 to 12% of the shares in samples of 1 to 15 lie outside; with it, at most 0.2%.
    """
    likely = (shared + 2) / (whole + 4)
    errors: F64 = np.sqrt(likely * (1 - likely) / (whole + 4)) + abs(likely - quotients(shared, whole)) / 3
    return errors


@functools.cache
def _estimates_by_equal_slots(slots: int) -> tuple[F64, F64]:
    """The estimated resemblance and its standard error, for each number of equal slots."""
    ones = np.ones((slots + 1, slots), np.uint16)
    return minhash.estimate_resemblance(np.tri(slots + 1, slots, -1, dtype=np.uint16), ones)


# The product of a share and a size is rounded, and may be too large. So candidates need this fraction less,
# and then their exact numbers decide.
_ROUNDING = 1e-9


def rounded_up(numbers: NDArray[np.floating] | float) -> I64:
    """The numbers rounded up to whole numbers, after a reduction by the fraction `_ROUNDING`."""
    return np.ceil(np.asarray(numbers) * (1 - _ROUNDING)).astype(np.int64)
