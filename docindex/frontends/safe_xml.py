"""Read XML that may be hostile: call functions for its elements and texts.

In: the bytes of a document. Out: calls. Declarations inside the document (a DTD) are refused, and external
ones are never loaded: an entity, or an attribute with a default, can make a kilobyte into gigabytes. The
depth of elements and the length of namespaces are bounded. Names are given without their namespace. Must
never build a tree.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar
from xml.parsers import expat

from docindex.frontends.failures import NotExtracted

DEEPEST = 1000
"""How deep elements may be nested. Real documents stay below 100."""

LONGEST_NAMESPACE = 1000
"""Characters. expat copies the namespace for each element; real ones stay below 200."""

T = TypeVar("T")

OTHERS = "*"
"""Stands for the names of all other elements."""

_MOST_SETS = 1000

Attributes = dict[str, str]
StartHandler = Callable[[Attributes], object]
StartHandlers = Mapping[str, StartHandler]
EndHandlers = Mapping[str, Callable[[], object]]
TextHandler = Callable[[str], object]

_NOTHING: EndHandlers = {}


def read_xml(
    data: bytes, starts: StartHandlers, ends: EndHandlers = _NOTHING, text: TextHandler | None = None
) -> None:
    """Call functions for the start and the end of elements, and for the texts between them.

    `starts` and `ends` have the functions by the local names of the elements, and may have one with the name
    `OTHERS` for all others; without it they are passed over, which takes a third of the time. A function for
    a start gets the attributes, which have local names, too; of two attributes with one local name it gets
    the one with a namespace. `NotExtracted` for bytes that are not well-formed XML; what was read until then
    was given to the functions.

    >>> found = []
    >>> data = b"<w:p xmlns:w='x'>one &amp; <w:i>two</w:i></w:p>"
    >>> read_xml(data, {"p": found.append}, {"p": lambda: found.append("end")}, found.append)
    >>> found
    [{}, 'one & ', 'two', 'end']
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    depth = 0
    of_start, of_end = _ByName(starts), _ByName(ends)
    local = _LocalNames()

    def started(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise NotExtracted("damaged", f"its XML is nested more than {DEEPEST:,} levels deep")
        if handler := of_start[name]:
            if attributes and (keys := local[tuple(attributes)]):
                attributes = dict(zip(keys, attributes.values(), strict=True))
            handler(attributes)

    def ended(name: str) -> None:
        nonlocal depth
        depth -= 1
        if handler := of_end[name]:
            handler()

    def began_doctype(_name: str, _system: object, _public: object, has_declarations: int) -> None:
        if has_declarations:
            raise NotExtracted("damaged", "its XML contains a DTD, which docindex does not read")

    def declared_namespace(_: object, name: str | None) -> None:
        if name and len(name) > LONGEST_NAMESPACE:
            raise NotExtracted(
                "damaged", f"its XML has a namespace of more than {LONGEST_NAMESPACE:,} characters"
            )

    parser.StartElementHandler = started
    parser.EndElementHandler = ended
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = began_doctype
    parser.StartNamespaceDeclHandler = declared_namespace
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, NotExtracted):
            raise
        raise NotExtracted("damaged", f"its XML is not well-formed: {error}") from error


class _ByName(dict[str, T | None]):
    """The functions by the names with their namespaces; looked up, because cutting each name takes longer."""

    def __init__(self, handlers: Mapping[str, T]) -> None:
        self._handlers = handlers

    def __missing__(self, name: str) -> T | None:
        handlers = self._handlers
        found = handlers.get(name.rpartition(" ")[2], handlers.get(OTHERS))
        self[name] = found
        return found


class _LocalNames(dict[tuple[str, ...], tuple[str, ...]]):
    """For the names of the attributes of an element, the keys that they get; empty for the same ones."""

    def __missing__(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(self) > _MOST_SETS:
            self.clear()
        # Of names with one local name the last is kept, after a stable sort that puts namespaces last.
        kept = {name.rpartition(" ")[2]: name for name in sorted(names, key=lambda name: " " in name)}
        local = ((name.rpartition(" ")[2], name) for name in names)
        keys = tuple(key if kept[key] == name else f" {name}" for key, name in local)
        self[names] = keys = () if keys == names else keys
        return keys


class TextInside:
    """Collects the text inside some elements. `start`, `end` and `text` are its functions for `read_xml`.

    >>> inside = TextInside()
    >>> read_xml(b"<a>1<t>2</t>3</a>", {"t": inside.start}, {"t": inside.end}, inside.text)
    >>> inside.take()
    '2'
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_inside = False

    def start(self, _: Attributes) -> None:
        """An element begins whose text is wanted."""
        self._is_inside = True

    def end(self) -> None:
        """Such an element ends."""
        self._is_inside = False

    def text(self, text: str) -> None:
        """Text between two tags."""
        if self._is_inside:
            self._pieces.append(text)

    def take(self) -> str:
        """The text since the last call."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text
