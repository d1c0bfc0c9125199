r"""Paths in, keys out, and back: a key is text, a path on Unix any bytes but NUL.

Bytes that are no UTF-8 become ``\xNN``, and the backslash of a name that looks like that becomes ``\x5c``: so
two paths never have one key, and what was printed can be read again.
"""

import os
import re
from collections.abc import Iterable

_LOOKS_ESCAPED = re.compile(rb"\\(?=x[0-9a-f]{2})")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


def key_of(path: bytes) -> str:
    r"""The key of a path.

    >>> key_of(b"/home/ada/caf\xc3\xa9"), key_of(b"/home/ada/caf\xe9"), key_of(rb"/a\x41")
    ('/home/ada/café', '/home/ada/caf\\xe9', '/a\\x5cx41')
    """
    # As bytes: what is broken must be escaped after what is whole.
    literal = _LOOKS_ESCAPED.sub(rb"\\x5c", path) if b"\\x" in path else path
    return literal.decode("utf-8", "backslashreplace")


def path_of(key: str) -> bytes:
    r"""The opposite.

    >>> path_of(key_of(b"/home/ada/caf\xe9")), path_of(key_of(rb"/a\x41"))
    (b'/home/ada/caf\xe9', b'/a\\x41')
    """
    whole = key.encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), whole)


def root_of(path: str | bytes | os.PathLike[str]) -> bytes:
    """A path as a person wrote it, absolute, without going through links."""
    if not path:
        raise ValueError("a path is empty; name a file or a folder, or . for this one")
    absolute = os.path.abspath(os.fsencode(path))
    return absolute[1:] if absolute.startswith(b"//") else absolute


def under(roots: Iterable[str]) -> tuple[str, list[str]]:
    """The condition in SQL that a document's key is that of one of some roots, or of what is below."""
    conditions, bindings = [], []
    for root in roots:
        below = root if root.endswith("/") else f"{root}/"
        conditions.append("key = ? or (key >= ? and key < ?)")
        bindings += [root, below, f"{below[:-1]}0"]
    return " or ".join(conditions) or "1", bindings
