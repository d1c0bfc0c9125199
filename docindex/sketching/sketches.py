"""The values that sketching returns: `Sketch` of one text, `Sketches` of a batch.

A sketch holds everything that an index stores of a text: fingerprints, slots, features, simhash and samples.
These classes must never hold the text itself, nor know in which table a value is stored.
"""

import dataclasses

import numpy as np

from docindex.arrays.ranges import I64, U16, U64
from docindex.recipe import Recipe

HASH_BYTES = 6
"""An index stores the high 48 bits of each fingerprint's hash."""
HASH_SHIFT = np.uint64(64 - 8 * HASH_BYTES)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Everything that an index stores of one text, except the text itself."""

    recipe: Recipe
    symbols: int
    """The number of symbols in the text."""
    hashes: U64
    """The hash of each fingerprint, in the order of `positions`: one of 2^47 values spread over 64 bits."""
    positions: I64
    """Where the k-gram of each fingerprint begins, counted in symbols; ascending."""
    shingles: int
    """The number of different shingles. Above 2^20 it is an estimate with a standard error of about 0.1%."""
    slots: U16
    """The values of the min-hash sketch."""
    features: U64
    """The super-shingles."""
    simhash: int
    """64 bits, 0 to 2^64 - 1."""
    words_hash: bytes
    """The hash that texts share only if they have the same words; case, accents and punctuation apart."""
    min_s: U64
    """The MIN_s sample; empty unless the recipe asks for it."""
    mod_m: U64
    """The MOD_m sample; empty unless the recipe asks for it."""
    level: U64
    """The L_i sample; empty unless the recipe asks for it."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """The sketches of a batch of texts: arrays of all texts end to end, and where each text's part begins.

    ``len(batch)`` is the number of texts, and ``batch[0]`` is the `Sketch` of the first text.
    """

    recipe: Recipe
    symbols: I64
    hashes: U64
    gaps: U16
    """The distance in symbols from the previous fingerprint, or from the beginning of the text."""
    starts: I64
    """Where each text's fingerprints begin in `hashes` and `gaps`, and where the last one's end."""
    different: I64
    """The number of different hashes of each text, counting only the bits that are stored."""
    shingles: I64
    slots: U16
    features: U64
    simhashes: U64
    words_hashes: list[bytes]
    min_s: tuple[U64, I64]
    """The values of all texts end to end, and where each text's values begin; also in the next two fields."""
    mod_m: tuple[U64, I64]
    level: tuple[U64, I64]

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, number: int) -> Sketch:
        if not 0 <= number < len(self):
            raise IndexError(f"a batch of {len(self)} sketches has no number {number}")
        begin, end = self.starts[number : number + 2]

        def part(values: U64, starts: I64) -> U64:
            return values[starts[number] : starts[number + 1]]

        return Sketch(
            recipe=self.recipe,
            symbols=int(self.symbols[number]),
            hashes=self.hashes[begin:end],
            positions=np.cumsum(self.gaps[begin:end], dtype=np.int64),
            shingles=int(self.shingles[number]),
            slots=self.slots[number],
            features=self.features[number],
            simhash=int(self.simhashes[number]),
            words_hash=self.words_hashes[number],
            min_s=part(*self.min_s),
            mod_m=part(*self.mod_m),
            level=part(*self.level),
        )
