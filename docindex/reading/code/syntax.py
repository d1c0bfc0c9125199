"""Find the comments and the strings of source code.

In: a text and the name of a syntax. Out: the ranges of comments and strings, in characters. Must never take
more than linear time, whatever the text is: no pattern can fail after it has read more than a few characters.

A string that nobody closes is read as code, up to the end of its line, or of the text if a string may have
several lines: so an apostrophe too many hides nothing. A comment that nobody closes goes on to the end of the
text.
"""

import re
from collections.abc import Iterator

from docindex.patterns import compiled

Span = tuple[int, int]
"""Where a comment or string begins and ends."""

_LINE = r"[^\n\r]*"
_ESCAPED = r"\\(?:\r\n|.)"
# An unnamed group marks a match that is neither a comment nor a string, but is read as code.
_NOT_CLOSED = "()"
_NESTED_LEVELS = 3


def _quoted(quote: str, *, lines: bool = False) -> str:
    """A string in quotes, with escapes; with `lines`, it may have several lines."""
    ends = "" if lines else r"\n\r"
    return rf"{quote}(?:[^{quote}\\{ends}]++|{_ESCAPED})*+(?:{quote}|{_NOT_CLOSED})"


def _triple(quote: str) -> str:
    """A string of several lines in triple quotes."""
    return rf"{quote * 3}(?:[^{quote}\\]++|{_ESCAPED}|{quote}(?!{quote * 2}))*+(?:{quote * 3}|{_NOT_CLOSED})"


def _nested(begin: str, end: str) -> str:
    """A comment that may contain comments. Each mark is a list of two signs."""
    (first, second), (last, behind) = begin.split(), end.split()
    found = rf"{first}{second}(?:[^{last}]++|{last}(?!{behind}))*+(?:{last}{behind})?"
    for _ in range(_NESTED_LEVELS):
        inside = rf"[^{first}{last}]++|{last}(?!{behind})|{first}(?!{second})|{found}"
        found = rf"{first}{second}(?:{inside})*+(?:{last}{behind})?"
    return found


_STARRED = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_SLASHES = rf"//{_LINE}|{_STARRED}"
_NESTED_SLASHES = rf"//{_LINE}|" + _nested(r"/ \*", r"\* /")
_NESTED_BRACES = _nested(r"\{ -", r"- \}")
_DOUBLE, _SINGLE, _COMMAND = map(_quoted, "\"'`")
_DOUBLE_OF_LINES, _TEMPLATE = _quoted('"', lines=True), _quoted("`", lines=True)
_TRIPLE_DOUBLE, _TRIPLE_SINGLE = _triple('"'), _triple("'")
_SHORT = rf"{_DOUBLE}|{_SINGLE}"
_CHARACTER = r"'(?:[^'\\\n\r]|\\[^\n\r][^'\n\r]{0,9})'"
# The end of a raw string of C++, Rust or R is named where the string begins.
_RAW_OF_C = (
    r"R(?:(?<!\wR)|(?<=\b[LuU]R)|(?<=\bu8R))"
    rf"\"(?P<raw>[^\s()\\\"]{{0,16}})\(.*?(?:\)(?P=raw)\"|\Z{_NOT_CLOSED})"
)
_RAW_OF_RUST = rf"r(?:(?<!\wr)|(?<=\b[bc]r))(?P<hashes>\#{{0,16}})\".*?(?:\"(?P=hashes)|\Z{_NOT_CLOSED})"
_RAW_OF_R = rf"[rR](?<!\w[rR])[\"'](?P<dashes>-{{0,16}})\(.*?(?:\)(?P=dashes)[\"']|\Z{_NOT_CLOSED})"
_VERBATIM = rf"@\$?\"(?:[^\"]++|\"\")*+(?:\"|{_NOT_CLOSED})"
# Digits of C++ are separated by apostrophes. The literals of JavaScript are told from divisions by the sign
# before them.
_NO_SEPARATOR = rf"'(?<![0-9A-F]'){_SINGLE[1:]}"
_PATTERN = (
    r"/(?:(?<=[(,=:\[!&|?{;]/)|(?<=[(,=:\[!&|?{;] /)|(?<=return /))(?![*/])"
    rf"(?:[^/\\\[\n\r]++|\\[^\n\r]|\[(?:[^\]\\\n\r]++|\\[^\n\r])*+\]?)*+(?:/[a-z]*+|{_NOT_CLOSED})"
)
_HASH_OF_SCRIPTS = rf"\#(?<![^\s;,}})\]>\"'`]\#){_LINE}"
_SIGN_OF_HASKELL = r"[!#$%&*+./<=>?@\\^|~:-]"
_IN_PHP = r"(?:[^\n\r?]++|\?(?!>))*+"

# Every alternative begins with a literal character. So the search skips other characters, which takes a
# quarter of the time.
_SYNTAXES = {
    name: compiled(pattern, re.DOTALL)
    for name, pattern in {
        "braces": rf"{_SLASHES}|{_RAW_OF_C}|{_TRIPLE_DOUBLE}|{_VERBATIM}|{_DOUBLE}|{_NO_SEPARATOR}",
        "nested": rf"{_NESTED_SLASHES}|{_TRIPLE_DOUBLE}|{_SHORT}|{_COMMAND}",
        "script": rf"{_SLASHES}|{_PATTERN}|{_SHORT}|{_TEMPLATE}",
        "go": rf"{_SLASHES}|{_SHORT}|`[^`]*+(?:`|{_NOT_CLOSED})",
        "rust": rf"{_NESTED_SLASHES}|{_RAW_OF_RUST}|{_DOUBLE_OF_LINES}|{_CHARACTER}",
        "php": rf"//{_IN_PHP}|{_STARRED}|\#(?!\[){_IN_PHP}|{_SHORT}|{_COMMAND}",
        "css": rf"{_STARRED}|{_SHORT}",
        "python": rf"\#{_LINE}|{_TRIPLE_DOUBLE}|{_TRIPLE_SINGLE}|{_SHORT}",
        "ruby": rf"{_HASH_OF_SCRIPTS}|{_SHORT}|{_COMMAND}|\\.{_NOT_CLOSED}"
        r"|=(?<![^\n\r]=)begin\b.*?(?:[\n\r]=end\b[^\n\r]*|\Z)",
        "perl": rf"{_HASH_OF_SCRIPTS}|{_SHORT}|{_COMMAND}|\\.{_NOT_CLOSED}"
        r"|=(?<![^\n\r]=)[a-z]\w.*?(?:[\n\r]=cut\b[^\n\r]*|\Z)",
        "shell": rf"\#(?<![^\s;&|()]\#){_LINE}|{_DOUBLE}|\\.{_NOT_CLOSED}"
        rf"|'(?:(?<=\$')(?:[^'\\\n\r]++|{_ESCAPED})*+|[^'\n\r]*+)(?:'|{_NOT_CLOSED})",
        "r": rf"\#{_LINE}|{_RAW_OF_R}|{_SHORT}|{_COMMAND}",
        "sql": rf"--{_LINE}|{_STARRED}|{_SHORT}|{_COMMAND}",
        "lua": rf"--\[(?P<note>={{0,16}})\[.*?(?:\](?P=note)\]|\Z)|--{_LINE}|{_SHORT}"
        rf"|\[(?P<long>={{0,16}})\[.*?(?:\](?P=long)\]|\Z{_NOT_CLOSED})",
        "haskell": rf"{_NESTED_BRACES}|-(?<!{_SIGN_OF_HASKELL}-)-++(?!{_SIGN_OF_HASKELL}){_LINE}"
        rf"|{_DOUBLE}|'(?<!\w'){_CHARACTER[1:]}",
    }.items()
}


def comments_and_strings(text: str, syntax: str) -> Iterator[Span]:
    """Where comments and strings begin and end, ascending. They never overlap.

    The syntax "words" has neither.

    >>> list(comments_and_strings("x = 'a' # b", "python"))
    [(4, 7), (8, 11)]
    """
    pattern = _SYNTAXES.get(syntax)
    if pattern is None:
        return iter(())
    return (found.span() for found in pattern.finditer(text) if found.lastindex is None or found.lastgroup)
