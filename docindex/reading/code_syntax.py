"""Find the comments and the strings of source code.

In: a text and the name of a syntax. Out: the ranges of comments and strings, in characters. Must never take
more than linear time, whatever the text is: no pattern can fail after it has begun to match.

Strings in quotes end where their line ends, if not before: so one apostrophe too many spoils one line only.
Comments and strings of several lines that nobody closes go on to the end of the text.
"""

import re
from collections.abc import Iterator

Span = tuple[int, int]
"""Where a comment or string begins and ends."""

_LINE = r"[^\n]*"
_STARRED = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_SLASHES = rf"//{_LINE}|{_STARRED}"
_DOUBLE = r"\"(?:[^\"\\\n]++|\\.)*+\"?"
_SHORT = rf"{_DOUBLE}|'(?:[^'\\\n]++|\\.)*+'?"
_TRIPLE = r"\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?"
_TRIPLE_SINGLE = _TRIPLE.replace(r"\"", "'")
_BACKTICKS = r"`(?:[^`\\]++|\\.)*+`?"
_COMMAND = r"`(?:[^`\\\n]++|\\.)*+`?"
_CHARACTER = r"'(?:[^'\\\n]|\\[^\n][^'\n]{0,9})'"
# The end of a raw string of C++ or Rust is named where the string begins.
_RAW = r"R(?<!\wR)\"(?P<raw>[^\s()\\\"]{0,16})\(.*?(?:\)(?P=raw)\"|\Z)"
_HASHED = r"r(?<!\wr)(?P<hashes>#{1,16})\".*?(?:\"(?P=hashes)|\Z)"

_SPAN = re.Match.span

# Every alternative begins with a literal character. So the search skips other characters, which takes a
# quarter of the time.
_SYNTAXES = {
    name: re.compile(pattern, re.DOTALL)
    for name, pattern in {
        "braces": rf"{_SLASHES}|{_RAW}|{_TRIPLE}|@\"(?:[^\"]++|\"\")*+\"?|{_SHORT}|{_BACKTICKS}",
        "rust": rf"{_SLASHES}|{_HASHED}|\"(?:[^\"\\]++|\\.)*+\"?|{_CHARACTER}",
        "php": rf"{_SLASHES}|\#(?!\[){_LINE}|{_SHORT}|{_COMMAND}",
        "css": rf"{_STARRED}|{_SHORT}",
        "hash": rf"\#(?<![$&{{\w]\#){_LINE}|{_TRIPLE}|{_TRIPLE_SINGLE}|{_SHORT}|{_COMMAND}"
        r"|=(?<=\n=)[a-z]\w.*?(?:\n=(?:end|cut)\b[^\n]*|\Z)",
        "sql": rf"--{_LINE}|{_STARRED}|{_SHORT}|{_COMMAND}",
        "lua": rf"--\[(?P<note>={{0,16}})\[.*?(?:\](?P=note)\]|\Z)|--{_LINE}|{_SHORT}"
        r"|\[(?P<long>={0,16})\[.*?(?:\](?P=long)\]|\Z)",
        "haskell": rf"\{{-.*?(?:-\}}|\Z)|--{_LINE}|{_DOUBLE}|'(?<!\w'){_CHARACTER[1:]}",
    }.items()
}

COMMENT_SIGNS = "/#-{="
"""Comments begin with one of these characters; strings never do."""


def comments_and_strings(text: str, syntax: str) -> Iterator[Span]:
    """Where comments and strings begin and end, ascending. They never overlap.

    The syntax "words" has neither.

    >>> list(comments_and_strings("x = 'a' # b", "hash"))
    [(4, 7), (8, 11)]
    """
    pattern = _SYNTAXES.get(syntax)
    return map(_SPAN, pattern.finditer(text)) if pattern else iter(())
