"""Plain text in, what counts of it out, as text that a person can read.

Must never say anything else than `text.read`: a text and its canonical form have the same symbols, and the
same words. (But for 454 signs as "㋀": such a one is part of a word, but spelled with ideographs.)
"""

from docindex.reading.code_points import letters, separates, stands_alone


def canonical(text: str) -> str:
    r"""The words of a text as they are compared: without case, accents or punctuation, one space apart.

    >>> canonical("Ada's Éclair,\n 2 ﬁelds")
    'ada s eclair 2 fields'
    """
    # A text has few different characters, however long it is.
    table = {ord(char): _written(char) for char in set(text)}
    return " ".join(text.translate(table).split())


def _written(char: str) -> str:
    kept = letters(char)
    if not kept:
        return " " if separates(char) else ""
    return f" {kept} " if stands_alone(char) else kept
