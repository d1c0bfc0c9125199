"""Collect the documents inside a source, within limits of number and size: `PartList`."""

from docindex.frontends.extracted import SourcePart

MOST_PARTS = 100_000
MOST_PART_BYTES = 256_000_000
"""The bytes of all parts of a source together: the extractor's process holds them twice, in 2 GB."""

_LONGEST_NAME = 1000


class PartList:
    """The parts of a source so far, and how many were left out.

    >>> parts = PartList(most_bytes=5)
    >>> parts.add("a.txt", b"1234").add("b.txt", b"56").parts
    (SourcePart(name='a.txt', format=None),)
    >>> parts.warnings()
    ['1 of 2 parts were left out: they could not be read, or all parts together are too large.']
    """

    def __init__(self, most_bytes: int = MOST_PART_BYTES, most_parts: int = MOST_PARTS) -> None:
        self._left = most_bytes
        self._most_parts = most_parts
        self._parts: list[SourcePart] = []
        self._left_out = 0

    @property
    def parts(self) -> tuple[SourcePart, ...]:
        """The parts, in the order in which they were added."""
        return tuple(self._parts)

    @property
    def left(self) -> int:
        """The number of bytes that may still be added; 0 if there are too many parts."""
        return self._left if len(self._parts) < self._most_parts else 0

    def add(self, name: str, data: bytes, format_: str | None = None) -> "PartList":
        """Add a part, unless it exceeds the limits; then it is left out."""
        if len(data) > self.left or len(self._parts) >= self._most_parts:
            return self.leave_out()
        self._left -= len(data)
        self._parts.append(SourcePart(name[:_LONGEST_NAME], data, format_))
        return self

    def leave_out(self, count: int = 1) -> "PartList":
        """Count parts that are not added."""
        self._left_out += count
        return self

    def warnings(self) -> list[str]:
        """How many parts were left out, as a sentence; empty if none were."""
        if not self._left_out:
            return []
        total = len(self._parts) + self._left_out
        return [
            f"{self._left_out:,} of {total:,} parts were left out: "
            "they could not be read, or all parts together are too large."
        ]
