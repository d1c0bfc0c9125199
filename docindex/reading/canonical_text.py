"""Write a text in its canonical form: only its words, without case, accents or punctuation.

In: a text. Out: its words, separated by single spaces, for a person to read. A text and its canonical form
must always have the same symbols and the same words.
"""

from docindex.reading.code_points import END, letters
from docindex.reading.slicing import slices


def canonical(text: str) -> str:
    r"""The words of a text as they are compared: without case, accents or punctuation, and one space apart.

    >>> canonical("Ada's Éclair,\n 2 ﬁelds")
    'ada s eclair 2 fields'
    """
    # Even a long text has few different characters, so a table of them costs little.
    table: dict[int, str] = {}
    parts, rest = [], ""
    for piece in slices(text):
        table |= {ord(char): letters(char) for char in set(piece) if ord(char) not in table}
        written = rest + piece.translate(table)
        end = written.rfind(" ") if piece is not text else len(written)
        parts.append(_separated(written[: max(end, 0)]))
        rest = written[max(end, 0) :]
    parts.append(_separated(rest))
    return " ".join(filter(None, parts))


def _separated(written: str) -> str:
    """The words of a part of a text, one space apart."""
    for mark in "\u3099\u309a":  # a voicing mark belongs to the kana before it
        written = written.replace(f"{END}{mark}", f"{mark}{END}")
    return " ".join(written.replace(END, " ").split())
