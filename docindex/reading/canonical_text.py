"""Write a text in its canonical form: only its words, without case, accents or punctuation.

In: a text. Out: its words, separated by single spaces, for a person to read. A text and its canonical form
must always have the same symbols and the same words.
"""

from docindex.reading.code_points import END, letters


def canonical(text: str) -> str:
    r"""The words of a text as they are compared: without case, accents or punctuation, and one space apart.

    >>> canonical("Ada's Éclair,\n 2 ﬁelds")
    'ada s eclair 2 fields'
    """
    # Even a long text has few different characters, so a table of them costs little.
    written = text.translate({ord(char): letters(char) for char in set(text)})
    for mark in "\u3099\u309a":  # a voicing mark belongs to the kana before it
        written = written.replace(f"{END}{mark}", f"{mark}{END}")
    return " ".join(written.replace(END, " ").split())
