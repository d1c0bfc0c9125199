"""The protocol `SymbolReader`, which every reading of texts implements, and the `Reading` that it returns.

The rest of the package uses a reading only through this protocol. `docindex.reading.registry` returns the
object for the name that a recipe gives.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Protocol

from docindex.kernels.arrays import I64, U8, U32, Bool


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


class SymbolReader(Protocol):
    """Reduces texts to symbols of one byte each, and maps positions of symbols back to offsets."""

    longest_unit: int
    """`readings` never cuts a word or line of up to this many symbols.

    It cuts a longer one only after a multiple of this number, counted from where the word or line begins.
    """

    def read(self, texts: Sequence[str], *, lines: bool = False) -> Reading:
        """The symbols of texts, end to end; with `lines`, also where lines begin."""

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
