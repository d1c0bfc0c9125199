"""Write a text in its canonical form: only its words, without case, accents or punctuation.

In: a text. Out: its words, separated by single spaces, for a person to read. A text and its canonical form
must always have the same symbols and the same words. (Exceptions are 454 signs such as "㋀", which are part
of a word but are spelled with ideographs: their canonical form has the same symbols, but other words.)
"""

from docindex.reading.code_points import letters, separates, stands_alone


def canonical(text: str) -> str:
    r"""The words of a text as they are compared: without case, accents or punctuation, and one space apart.

    >>> canonical("Ada's Éclair,\n 2 ﬁelds")
    'ada s eclair 2 fields'
    """
    # Even a long text has few different characters, so a table of them costs little.
    table = {ord(char): _written(char) for char in set(text)}
    return " ".join(text.translate(table).split())


def _written(char: str) -> str:
    kept = letters(char)
    if not kept:
        return " " if separates(char) else ""
    return f" {kept} " if stands_alone(char) else kept
