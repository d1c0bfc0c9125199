"""Look up a reading by the name that a recipe gives it: `symbol_reader("text/2")`."""

from docindex.reading.plain_text import PlainText
from docindex.reading.protocol import SymbolReader
from docindex.reading.source_code import SourceCode

_READERS: dict[str, SymbolReader] = {
    "text/2": PlainText(),
    "code-names/1": SourceCode(names=True),
    "code-raw/1": SourceCode(names=False),
}


def symbol_reader(name: str) -> SymbolReader:
    """The object that reads texts in the way that a recipe's `reading` names.

    >>> symbol_reader("text/2").read(["Ada's Éclair"]).symbols.tobytes()
    b'adaseclair'
    """
    return _READERS[name]
