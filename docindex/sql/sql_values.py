"""Check and convert the values that SQL passes to a function or a table.

TEXT is a text, and so is the BLOB that `doc_literal` makes of it; an INTEGER is the id of a document.
Anything else is a `TypeError` that names the function and the type. Must never read an index.
"""

import datetime as dt
import re

from docindex.errors import TextNotKept
from docindex.query.resolve import Id, Text

Value = None | int | float | str | bytes
"""A value that SQLite can pass to a function, or get from a function."""

_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB", type(None): "NULL"}


# A BLOB, because SQLite passes it on as it is, through views, tables and every library.
_LITERAL = b"docindex text\0"

_SURROGATES = re.compile("[\ud800-\udfff]")


def writable(text: str) -> str:
    r"""A text that SQLite can pass on: each lone surrogate becomes U+FFFD, so that all offsets stay the same.

    >>> writable("a\ud800b") == "a\ufffdb"
    True
    """
    return _SURROGATES.sub("\ufffd", text)


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def as_time(microseconds: int) -> str:
    """A time since 1970 as text in UTC, which SQLite's date functions read. The text sorts as the time does.

    >>> as_time(1_763_550_857_123_456)
    '2025-11-19T11:14:17.123456Z'
    """
    time = _EPOCH + dt.timedelta(microseconds=microseconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def type_name(value: Value) -> str:
    """The name of the type of a value in SQL."""
    return _TYPES.get(type(value), type(value).__name__)


class errors_from:  # noqa: N801 - it is used like a function; a class is entered four times as fast as a generator
    """A context that puts the name of an SQL function in front of the messages of a caller's errors."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, KeyError):
            # The name of a template gets a sentence; the id of a document is the number alone.
            found = error.args[0] if error.args else error
            reason = found if isinstance(found, str) else f"there is no document {found}"
            raise ValueError(f"{self._name}: {reason}") from error
        if isinstance(error, TextNotKept) and not str(error).startswith("doc_"):
            raise TextNotKept(f"{self._name}: {error}", error.path) from error
        if type(error) in (TypeError, ValueError) and not str(error).startswith("doc_"):
            raise type(error)(f"{self._name}: {error}") from error  # type: ignore[misc]


def literal(value: Value) -> Value:
    """TEXT as a value that means this text, even if it is also the key of a document.

    >>> text_or_id(literal("ada.txt"))
    Text('ada.txt')
    """
    return _LITERAL + as_text("text", value).encode()


def text_or_id(value: Value) -> Text | Id:
    """TEXT as a text, an INTEGER as the id of a document; `TypeError` for any other value."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, int):
        return Id(value)
    if isinstance(value, bytes) and value.startswith(_LITERAL):
        return Text(value[len(_LITERAL) :].decode())
    raise TypeError(f"expected TEXT, or the INTEGER id of a document, not {type_name(value)}")


def as_text(name: str, value: Value) -> str:
    """A value as a text; `TypeError` for a value of another type."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be TEXT, not {type_name(value)}")
    return value


def schema_name(value: Value) -> str | None:
    """The name of a schema; None for NULL, which means the first database that is an index."""
    if not (value is None or isinstance(value, str)):
        raise TypeError(f"expected the name of a schema as TEXT, not {type_name(value)}")
    return value


def as_integer(value: Value) -> int | None:
    """The 64-bit integer that equals a value in SQL, or None if there is no such integer."""
    if not isinstance(value, (int, float)) or not -(1 << 63) <= value < 1 << 63 or value != int(value):
        return None
    return int(value)
