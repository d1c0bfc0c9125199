"""Read the arguments of ``create virtual table note_index using doc_index(content='note', ...)``.

Takes the arguments as SQLite passes them; returns the table to follow. Must never look at a database.
"""

import re
from collections.abc import Sequence

from docindex.index.items import checked_key
from docindex.storage.tables import SourceRow

_ARGUMENT = re.compile(r"(\w+)\s*=\s*(.*)", re.DOTALL)
_QUOTES = {"'": "'", '"': '"', "`": "`", "[": "]"}
_NAMES = ("content", "key", "text", "meta", "prefix")


def followed_table(arguments: Sequence[str]) -> SourceRow:
    """The table that some arguments tell to follow; `ValueError` for other arguments.

    >>> followed_table(["content='note'", "key=id", "text='body'"])
    SourceRow(name='note', key_column='id', text_column='body', meta_column=None, prefix='')
    """
    values: dict[str, str] = {}
    for argument in arguments:
        found = _ARGUMENT.fullmatch(argument.strip())
        if found is None or found[1] not in _NAMES or found[1] in values:
            raise ValueError(f"{argument!r} is no argument; expected {', '.join(f'{n}=...' for n in _NAMES)}")
        values[found[1]] = checked_key(_unquoted(found[2]), f"the argument {found[1]}")
    for name in ("content", "key", "text"):
        if name not in values:
            raise ValueError(f"the argument {name}=... is missing; {_EXAMPLE}")
    return SourceRow(
        values["content"], values["key"], values["text"], values.get("meta"), values.get("prefix", "")
    )


_EXAMPLE = "for example, doc_index(content='note', key='id', text='body')"


def _unquoted(value: str) -> str:
    end = _QUOTES.get(value[:1])
    if end is None or len(value) < 2 or value[-1] != end:
        return value
    return value[1:-1].replace(end * 2, end)
