"""Check whether SQLite can store a text, and write names and 64 bits as SQLite expects them."""


def can_be_stored(key: object) -> bool:
    """Whether a value can be a key: a text that SQLite can store, without NUL and lone surrogates."""
    return isinstance(key, str) and "\0" not in key and encodes(key)


def encodes(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def quoted(name: str) -> str:
    """A name in quotes, for a statement.

    >>> quoted('the "new" one')
    '"the ""new"" one"'
    """
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def text_literal(text: str) -> str:
    """A text as a literal, for a statement that can have no bindings.

    >>> text_literal("it's")
    "'it''s'"
    """
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def signed(bits: int) -> int:
    """The signed integer that SQLite stores for 64 bits."""
    return bits - (1 << 64) if bits >> 63 else bits
