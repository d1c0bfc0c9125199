"""The protocol `SymbolReader`, which every reading of texts implements, and the `Reading` that it returns.

The rest of the package uses a reading only through this protocol. `docindex.reading.registry` returns the
object for the name that a recipe gives.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from docindex.arrays.ranges import I64, U8, U32, U64, Bool, starts_of


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The symbols of a batch of texts, and where texts, words and lines begin among them."""

    symbols: U8
    """The symbols of all texts, end to end."""
    starts: I64
    """Where each text begins in `symbols`, and where the last one ends."""
    words: I64
    """Where words begin in `symbols`, ascending."""
    lines: I64
    """Where lines that contain a symbol begin in `symbols`, ascending; empty unless lines were asked for."""
    continues: bool = False
    """Whether the first word (or line) goes on from the slice before."""
    word_hashes: U64 | None = None
    """The hash of each word, with its bits mixed, if symbols do not tell words apart; else None."""


class SymbolReader(Protocol):
    """Reduces texts to symbols of one byte each, and maps positions of symbols back to offsets."""

    longest_unit: int
    """`readings` never cuts a word or line of up to this many symbols.

    It cuts a longer one only after a multiple of this number, counted from where the word or line begins.
    """

    def read(self, texts: Sequence[str], *, lines: bool = False) -> Reading:
        """The symbols of texts, end to end; with `lines`, also where lines begin."""

    def symbols(self, text: str) -> U8:
        """The symbols of one text, which is short enough to be read at once."""

    def readings(self, text: str, *, lines: bool = False) -> Iterator[Reading]:
        """The readings of one text slice by slice, for texts too long to be read at once."""

    def offsets(self, text: str, positions: I64) -> I64:
        """The offsets in the text at which the symbols at ascending positions begin."""

    def ends(self, text: str, positions: I64) -> I64:
        """The offsets in the text at which the symbols at ascending positions end."""

    def borders(self, text: str) -> Bool:
        """For each position between symbols, whether it lies between two characters of the text.

        The first position is before the first symbol, and the last position is after the last symbol. False
        means that the symbols on both sides come from one character.
        """

    def canonical(self, text: str) -> str:
        """The words of a text as they are compared, separated by single spaces."""

    def letters(self, texts: Sequence[str]) -> tuple[U32, I64]:
        """The folded letters of texts that are not ASCII, and where the letters of each text begin.

        Together with the symbols and the lengths of the words they tell any two texts with different words
        apart: two letters may share a symbol.
        """

    def signs(self, text: str) -> U32:
        """The code points of a text that are neither white space nor invisible."""


def check_positions(positions: I64, size: int) -> None:
    """Raise `IndexError` unless all of the ascending positions are from 0 to `size` - 1.

    >>> check_positions(np.array([2]), 2)
    Traceback (most recent call last):
    IndexError: the text has 2 symbols; found positions from 2 to 2
    """
    if len(positions) and not 0 <= positions[0] <= positions[-1] < size:
        raise IndexError(
            f"the text has {size} symbols; found positions from {positions[0]} to {positions[-1]}"
        )


def joined_readings(readings: Sequence[Reading]) -> Reading:
    """The readings of several batches as one reading.

    >>> one = Reading(np.zeros(2, np.uint8), np.array([0, 2]), np.array([0]), np.array([0]))
    >>> joined_readings([one, one]).starts.tolist()
    [0, 2, 4]
    """
    shifts = starts_of(np.array([len(reading.symbols) for reading in readings], np.int64))

    def all_of(name: str, end: int | None = None) -> I64:
        arrays = [
            getattr(reading, name)[:end] + shift for reading, shift in zip(readings, shifts, strict=False)
        ]
        return np.concatenate(arrays) if arrays else np.empty(0, np.int64)

    hashes = [reading.word_hashes for reading in readings if reading.word_hashes is not None]
    return Reading(
        symbols=np.concatenate([np.empty(0, np.uint8), *(reading.symbols for reading in readings)]),
        starts=np.append(all_of("starts", -1), shifts[-1]),
        words=all_of("words"),
        lines=all_of("lines"),
        word_hashes=np.concatenate(hashes) if hashes else None,
    )
