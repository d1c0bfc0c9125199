"""What every reading of a text can do: the protocol `SymbolReader`, and the `Reading` that it returns.

The rest of the package knows a reading only by this protocol, and gets the object from
`docindex.reading.registry` by the name that the recipe gives.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Protocol

from docindex.kernels.arrays import I64, U8, Bool


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A batch of texts as symbols."""

    symbols: U8
    starts: I64
    """Where each text begins in `symbols`, and the end."""
    words: I64
    """Where words begin in `symbols`, ascending."""
    lines: I64
    """Where lines that hold a symbol begin in `symbols`, ascending; empty unless lines were asked for."""


class SymbolReader(Protocol):
    """Reduces texts to symbols, one byte each, and leads from symbol positions back to the texts."""

    longest_unit: int
    """Symbols of a word or line that `readings` never separates, in multiples from its beginning."""

    def read(self, texts: Sequence[str], *, lines: bool = False) -> Reading:
        """The symbols of some texts, end to end; with `lines`, also where lines begin."""

    def readings(self, text: str, *, lines: bool = False) -> Iterator[Reading]:
        """The readings of a text's slices, for texts too long to be read at once."""

    def offsets(self, text: str, positions: I64) -> I64:
        """Where in the text the symbols at some ascending positions begin."""

    def ends(self, text: str, positions: I64) -> I64:
        """Where in the text the symbols at some ascending positions end."""

    def borders(self, text: str) -> Bool:
        """For each place between symbols, whether it also lies between two characters of the text."""

    def canonical(self, text: str) -> str:
        """The words of a text as they are compared, one space apart."""
