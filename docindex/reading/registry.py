"""Look up a reading by the name that a recipe gives it: `symbol_reader("text/2")`."""

import functools

from docindex.reading.plain_text import PlainText
from docindex.reading.protocol import SymbolReader

_NAMES_OF_CODE = {"code-names/1": True, "code-raw/1": False}
"""The readings of source code, and whether each one reads names."""


@functools.cache
def symbol_reader(name: str) -> SymbolReader:
    """The object that reads texts in the way that a recipe's `reading` names.

    >>> symbol_reader("text/2").read(["Ada's Éclair"]).symbols.tobytes()
    b'adaseclair'
    """
    if name == "text/2":
        return PlainText()
    names = _NAMES_OF_CODE[name]
    # Its tables take 5 ms, which each worker process would spend on texts that are not code.
    from docindex.reading.code.source_code import SourceCode

    return SourceCode(names=names)
