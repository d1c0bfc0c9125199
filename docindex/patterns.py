"""Compile regular expressions that have possessive groups, also on Python 3.11.0 to 3.11.4.

There, such a group goes on behind what its last round read, although that round failed (CPython's issue
106052). So the groups become atomic ones, which match the same. Newer Pythons get the patterns as they are,
because a long match of an atomic group takes a hundred bytes of memory for each round.
"""

import re
import sys

_IS_MENDED = sys.version_info >= (3, 11, 5)
# A sign with a backslash, a class of characters, or a parenthesis with a possessive repeat.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\(|\)(?P<repeat>[*+?](?=\+))?", re.DOTALL)


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A compiled pattern; a possessive repeat may stand behind any of its groups."""
    return re.compile(pattern if _IS_MENDED else with_atomic_groups(pattern), flags)


def compiled_bytes(pattern: bytes, flags: int = 0) -> re.Pattern[bytes]:
    """A compiled pattern for bytes, as `compiled` makes it."""
    return re.compile(
        pattern if _IS_MENDED else with_atomic_groups(pattern.decode("latin-1")).encode("latin-1"), flags
    )


def with_atomic_groups(pattern: str) -> str:
    """The same pattern with atomic groups in place of possessive ones.

    >>> with_atomic_groups(r"(?:[^)]++|[)](?!>))*+(a)?+")
    '(?>(?:[^)]++|[)](?!>))*)(?>(a)?)'
    """
    pieces: list[str] = []
    opened: list[int] = []
    end = 0
    for token in _TOKEN.finditer(pattern):
        pieces.append(pattern[end : token.start()])
        end = token.end()
        if token[0] == "(":
            opened.append(len(pieces))
        elif token[0].startswith(")"):
            begin = opened.pop()
            if token["repeat"]:
                pieces[begin] = "(?>" + pieces[begin]
                pieces.append(f"){token['repeat']})")
                end += 1
                continue
        pieces.append(token[0])
    return "".join(pieces) + pattern[end:]
