"""Read XML that may be hostile: call functions for its elements and texts.

In: the bytes of a document. Out: calls. Entities that the document declares are refused, and external ones
are never loaded; the depth of elements is bounded. Names are given without their namespace. Must never build
a tree.
"""

from collections.abc import Callable
from xml.parsers import expat

from docindex.frontends.failures import NotExtracted

DEEPEST = 1000
"""How deep elements may be nested. Real documents stay below 100."""

Attributes = dict[str, str]
StartHandler = Callable[[str, Attributes], None]
EndHandler = Callable[[str], None]
TextHandler = Callable[[str], None]


def read_xml(data: bytes, start: StartHandler, end: EndHandler, text: TextHandler) -> None:
    """Call functions for the start and the end of each element, and for the texts between them.

    `start` gets the local name and the attributes, which have local names, too; of two attributes with one
    local name it gets the one with a namespace. `NotExtracted` for bytes that are not well-formed XML; what
    was read until then was given to the functions.

    >>> names = []
    >>> data = b"<w:p xmlns:w='x'>one &amp; two</w:p>"
    >>> read_xml(data, lambda name, _: names.append(name), id, names.append)
    >>> names
    ['p', 'one & two']
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    depth = 0
    local = _LocalNames()

    def started(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise NotExtracted("damaged", f"its XML is nested more than {DEEPEST:,} levels deep")
        for key in attributes:
            if " " in key:
                attributes = local.attributes(attributes)
                break
        start(local[name], attributes)

    def ended(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(local[name])

    def declared(name: str, *_: object) -> None:
        raise NotExtracted("damaged", f"its XML declares the entity {name!r}, which docindex does not allow")

    parser.StartElementHandler = started
    parser.EndElementHandler = ended
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = declared
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, NotExtracted):
            raise
        raise NotExtracted("damaged", f"its XML is not well-formed: {error}") from error


class _LocalNames(dict[str, str]):
    """The names without their namespaces; looked up, because cutting each name takes twice as long."""

    def __missing__(self, name: str) -> str:
        local = self[name] = name.rpartition(" ")[2]
        return local

    def attributes(self, attributes: Attributes) -> Attributes:
        found = {self[key]: value for key, value in attributes.items()}
        if len(found) < len(attributes):
            found.update({self[key]: attributes[key] for key in attributes if " " in key})
        return found
