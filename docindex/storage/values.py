"""Which values SQLite takes as they are: texts that it can hold, and 64 bits as a signed integer."""


def can_be_stored(key: object) -> bool:
    """Whether a key can be in a file at all; what cannot is asked for in vain, as in a dictionary."""
    return isinstance(key, str) and "\0" not in key and encodes(key)


def encodes(text: str) -> bool:
    """Whether a text has no lone surrogates, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def signed(bits: int) -> int:
    """64 bits as SQLite stores them."""
    return bits - (1 << 64) if bits >> 63 else bits
