"""Hold what the stages of a question for pairs need to know, and say how many values pairs must share.

A text is looked for by *values*: its shingles, or bands of its slots. It is compared by its *set*: its
shingles, or its slots. Must never know about Spark.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal, get_args

from docindex.kernels.arrays import I64
from docindex.kernels.slot_bands import Bands
from docindex.query.joined_pairs import Threshold
from docindex.query.pair_needs import rounded_up
from docindex.recipe import Recipe

FrameMethod = Literal["shingles", "bands", "slots"]
"""How pairs are found in a DataFrame of sketches, and how they are counted."""
FRAME_METHODS: Sequence[FrameMethod] = get_args(FrameMethod)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairQuestion:
    """Which pairs are wanted, and how they are found. Travels to the workers."""

    recipe: Recipe
    threshold: Threshold
    method: FrameMethod
    buckets: int
    """In how many buckets the values and the nodes are."""
    rows: int
    """How many documents there are."""
    bands: Bands | None = None
    """The bands of the slots; None if texts are looked for by their shingles."""
    min_shared: int = 0
    is_between: bool = False
    """Whether only pairs of two frames are wanted."""
    is_directed: bool = False
    """Whether a pair is wanted in each direction in which its containment reaches the threshold."""

    def needs(self, sizes: I64) -> tuple[I64, I64]:
        """How many values a text of each size shares with a larger partner, and with a smaller one."""
        ones, least = sizes * 0 + 1, self.threshold.least
        if self.bands is not None:
            return ones * self.bands.shared, ones * self.bands.shared
        if self.threshold.measure == "containment":
            return (ones * rounded_up(least * sizes)).clip(1), ones
        half = least / (1 + least)
        return rounded_up(2 * half * sizes).clip(1), rounded_up(least * sizes).clip(1)

    def least_sizes(self, sizes: I64) -> I64:
        """The size of the smallest partner that a text of each size can have."""
        if self.method == "slots" or self.threshold.measure == "containment":
            return sizes * 0
        return rounded_up(self.threshold.least * sizes)
