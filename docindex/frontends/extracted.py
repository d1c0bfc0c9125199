"""The result of a front end: the text of a source, and the place of each piece of the text in the source.

`TextBuilder` collects a text piece by piece, while a front end reads its source. Offsets are code points of
the extracted text. Must never know a format.
"""

import bisect
import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple, NoReturn, Self, TypeVar, overload

from docindex.frontends.failures import NotExtracted

T = TypeVar("T")

MOST_CHARACTERS = 100_000_000
"""A source with more text is refused: as a document it would fill the memory."""

PART_MARK = "!/"
"""Stands in the key of a document inside a file, between the key of the file and the name of the part.
`docindex.folders.key_of` escapes a ``!`` at the end of a name, so the key of a path never contains this."""

_MOST_PLACES = 1_000_000
"""Each takes 170 bytes. In a source with more, a text may have the place of a piece shortly before it."""

Box = tuple[float, float, float, float]
"""Left, bottom, right and top on a page, in points."""


class Place(NamedTuple):
    """A place in a source, as people name it: "page 3", "slide 2", "Prices!A4", "message 17"."""

    name: str
    box: Box | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NamedPlaces(Sequence[Place]):
    """Places by their names, and perhaps their boxes. Each is made when somebody asks for it.

    >>> places = NamedPlaces(("page 1", "page 2"))
    >>> places[1], places == (Place("page 1"), Place("page 2"))
    (Place(name='page 2', box=None), True)
    """

    names: tuple[str, ...]
    boxes: tuple[Box | None, ...] = ()
    """Empty if no place has a box."""

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, at: int) -> Place: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Place]: ...
    def __getitem__(self, at: int | slice) -> Place | Sequence[Place]:
        if isinstance(at, slice):
            return NamedPlaces(self.names[at], self.boxes[at])
        return Place(self.names[at], self.boxes[at] if self.boxes else None)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NamedPlaces):
            return (self.names, self.boxes) == (other.names, other.boxes)
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """The places of the pieces of a text, in the order of the text.

    >>> places = Places((0, 10), (Place("page 1"), Place("page 2")))
    >>> places.at(12).name, places.between(4, 12), places.between(4, 8), Places().between(0, 1)
    ('page 2', 'page 1 to page 2', 'page 1', '')
    """

    starts: tuple[int, ...] = ()
    """Where each piece begins in the text; ascending."""
    places: Sequence[Place] = ()

    def at(self, offset: int) -> Place | None:
        """The place of a character; None before the first piece."""
        number = bisect.bisect_right(self.starts, offset) - 1
        return self.places[number] if number >= 0 else None

    def between(self, start: int, end: int) -> str:
        """The place of a range of characters, such as "page 1" or "page 1 to page 2"; "" if it is unknown."""
        first, last = self.at(start), self.at(max(start, end - 1))
        if first is None or last is None:
            return last.name if last is not None else ""
        return first.name if first.name == last.name else f"{first.name} to {last.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class SourcePart:
    """A document inside a source: a message of a mailbox, an attachment, or a file in an archive.

    `name` is its name within the source, such as "message 17". `data` are its bytes, which are a source of
    their own. `format` names the front end that must read it; None if its bytes and its name decide.
    """

    name: str
    data: bytes = dataclasses.field(repr=False)
    format: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a source.

    - `text`, `title`: the text without marks; the title, or None
    - `places`: where each piece of the text lies in the source
    - `warnings`: what could not be read, one sentence each
    - `parts`: documents inside the source, which a front end returns. `docindex.extract` leaves them out, and
      `Index.add_file` stores them under keys of their own.
    - `reading`: the name and version of the front end, such as "docx-1"
    """

    text: str
    places: Places = Places()
    title: str | None = None
    warnings: tuple[str, ...] = ()
    parts: tuple[SourcePart, ...] = ()
    reading: str = ""


def refuse_other_types(found: object) -> None:
    """`TypeError` unless what a front end has returned is an `Extracted`, in all its parts.

    >>> refuse_other_types(Extracted(b"a letter"))
    Traceback (most recent call last):
        ...
    TypeError: its front end returned a bytes where it must return a str
    """
    found = _of_type(found, Extracted)
    places = _of_type(found.places, Places)
    for text in (found.text, found.title or "", *found.warnings):
        _of_type(text, str)
    named = places.places
    names = named.names if isinstance(named, NamedPlaces) else (_of_type(each, Place).name for each in named)
    for name in names:
        _of_type(name, str)
    for part in found.parts:
        _of_type(_of_type(part, SourcePart).name, str)
        _of_type(part.data, bytes)


def _of_type(value: object, wanted: type[T]) -> T:
    if not isinstance(value, wanted):
        raise TypeError(
            f"its front end returned a {type(value).__name__} where it must return a {wanted.__name__}"
        )
    return value


def text_in(text: str | Extracted) -> str:
    """A text that may be an extracted one, as a plain string.

    >>> text_in("a letter"), text_in(Extracted("a letter"))
    ('a letter', 'a letter')
    """
    return text.text if isinstance(text, Extracted) else text


class TextBuilder:
    """Collects the text of a source.

    >>> builder = TextBuilder().begin("slide 1").add("Notes ").add("of Ada").end_line()
    >>> found = builder.begin("slide 2").add("More").extracted()
    >>> found.text.splitlines(), found.places.at(15).name
    (['Notes of Ada', 'More'], 'slide 2')
    """

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        self._most = most
        self._pieces: list[str] = []
        self._length = 0
        self._in_paragraph = False
        self._starts: list[int] = []
        self._names: list[str] = []
        self._boxes: list[Box | None] = []
        self._begun, self._step = 0, 1
        self._warnings: dict[str, None] = {}

    @property
    def length(self) -> int:
        """The number of characters so far."""
        return self._length

    def begin(self, name: str, box: Box | None = None) -> Self:
        """Begin a place. All text that is added from now on lies in it.

        Of more than a million places, every second one is left out, and so on.
        """
        self._begun += 1
        if self._begun % self._step:
            return self
        if len(self._names) == _MOST_PLACES:
            self._step *= 2
            del self._starts[1::2], self._names[1::2], self._boxes[1::2]
        if self._starts and self._starts[-1] == self._length:  # the last place is empty
            self._names[-1], self._boxes[-1] = name, box
        else:
            self._starts.append(self._length)
            self._names.append(name)
            self._boxes.append(box)
        return self

    def add(self, text: str) -> Self:
        """Add some text. `NotExtracted` if the text becomes too long."""
        if text:
            self._length += len(text)
            if self._length > self._most:
                self._refuse()
            self._pieces.append(text)
            self._in_paragraph = True
        return self

    def add_paragraph(self, place: str, text: str) -> Self:
        """Begin a place, add some text and end the paragraph, in half the time of three calls."""
        self.begin(place)
        self._length += len(text) + 2
        if self._length > self._most:
            self._refuse()
        self._pieces += (text, "\n\n")
        self._in_paragraph = False
        return self

    def add_row(self, cells: Iterable[tuple[str, str]]) -> Self:
        """Add a line of texts that are not empty, each in a place of its own, with tabs between them.

        `cells` are places and texts.
        """
        self.end_line()
        mark = ""
        for place, text in cells:
            self._length += len(mark)
            self.begin(place)
            self._length += len(text)
            self._pieces += (mark, text)
            mark = "\t"
            self._in_paragraph = True
        if self._length > self._most:
            self._refuse()
        return self

    def end_line(self) -> Self:
        """End a line, unless it is empty."""
        return self._end("\n")

    def end_paragraph(self) -> Self:
        """End a paragraph, unless it is empty."""
        return self._end("\n\n")

    def _end(self, mark: str) -> Self:
        if self._in_paragraph:
            self.add(mark)
            self._in_paragraph = False
        return self

    def _refuse(self) -> NoReturn:
        raise NotExtracted("too large", f"it has more than {self._most:,} characters of text")

    def warn(self, sentence: str) -> Self:
        """Add a sentence to the warnings, unless it is there already. It says what could not be read."""
        self._warnings[sentence] = None
        return self

    def extracted(
        self,
        title: str | None = None,
        parts: tuple[SourcePart, ...] = (),
        places: Places | None = None,
    ) -> Extracted:
        """The whole text; `places` replace those that were begun."""
        text = "".join(self._pieces)
        if places is None:
            boxes = tuple(self._boxes) if any(self._boxes) else ()
            places = Places(tuple(self._starts), NamedPlaces(tuple(self._names), boxes))
        title = " ".join(title.split()) if title else ""
        return Extracted(text, places, title or None, tuple(self._warnings), parts)
