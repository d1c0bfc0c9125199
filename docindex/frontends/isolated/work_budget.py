"""Bound the work for a source by its size: `WorkBudget`.

A hostile file of a kilobyte can ask for hours of work. An honest one needs 0.1 seconds of processor time to
load the libraries of its format, and 0.01 to 1.5 seconds for each of its megabytes: workbooks and PDFs take
longest. The budget allows seven times that. It counts processor time, so a busy machine exceeds no budget.
"""

import dataclasses

from docindex.frontends.failures import NotExtracted

_START_S = 0.5
_S_PER_BYTE = 10 / 1e6
_START_CHARACTERS = 1_000_000
_CHARACTERS_PER_BYTE = 200
"""Text is compressed to a fifth, repeated rows of a workbook to a hundredth."""
_START_DOCUMENTS = 5000
_BYTES_PER_DOCUMENT = 10
"""A small member of a compressed archive takes two to a hundred bytes."""

MOST_CHARACTERS = 256_000_000
"""The characters of the texts inside one source, which memory holds until they are stored."""
MOST_DOCUMENTS = 100_000


@dataclasses.dataclass(slots=True)
class WorkBudget:
    """What a source may still cost, together with the documents inside it."""

    seconds: float
    """Processor time of the process that extracts. A slow machine gets more: see `child`."""
    characters: int
    documents: int

    @classmethod
    def of_size(cls, size: int) -> "WorkBudget":
        """The budget of a source of some bytes.

        >>> WorkBudget.of_size(1_000_000)
        WorkBudget(seconds=10.5, characters=201000000, documents=100000)
        """
        return cls(
            _START_S + size * _S_PER_BYTE,
            min(MOST_CHARACTERS, _START_CHARACTERS + size * _CHARACTERS_PER_BYTE),
            min(MOST_DOCUMENTS, _START_DOCUMENTS + size // _BYTES_PER_DOCUMENT),
        )

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be read."""
        return self.seconds <= 0 or self.characters <= 0 or self.documents <= 0

    def refuse_if_spent(self) -> None:
        """Raise `NotExtracted` if nothing more may be read."""
        if self.is_spent:
            raise NotExtracted("too much work", "it takes too much work for its size")
