"""Read source code slice by slice, in bounded memory.

In: one text. Out: the tokens of each slice, and their symbols, which do not depend on where slices end. A
comment or string may go on through many slices.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from docindex.checkpoints import checkpoint
from docindex.kernels.arrays import I64, U8, U64, Bool
from docindex.reading import slicing
from docindex.reading.code_languages import LANGUAGES, SAMPLE
from docindex.reading.code_symbols import string_hashes, symbols_and_hashes
from docindex.reading.code_syntax import Span, comments_and_strings
from docindex.reading.code_tokens import (
    CodeTokens,
    are_strings,
    folded_case,
    plain_tokens,
    visible,
    without_comments,
)
from docindex.reading.code_vocabulary import languages_of

PART_CHARACTERS = 1 << 17
"""So many characters are read at a time: their arrays stay in a core's cache.

With 2^20, reading takes up to twice as long while other programs work; with 2^16, always a tenth longer.
"""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CodeSlice:
    """The tokens of a slice."""

    begins: I64
    """Where each token begins in the text."""
    ends: I64
    classes: U8
    symbols: U8
    hashes: U64
    begins_line: Bool
    """Whether a token is the first one of its line."""
    is_last: bool


def code_slices(text: str, *, names: bool) -> Iterator[CodeSlice]:
    """The slices of a text, each of about `PART_CHARACTERS` characters.

    >>> [part.symbols.tobytes() for part in code_slices("x = f(1) + 2; y = [x]", names=False)][0][1:2]
    b'='
    """
    language = language_of(text)
    searched = comments_and_strings(text, LANGUAGES[language].syntax)
    found = next(searched, None)
    held: list[tuple[Span, int]] = []
    begin = line = 0
    last_line = -1
    while True:
        checkpoint()
        end = min(begin + PART_CHARACTERS, len(text))
        piece = text[begin:end]
        codes = visible(piece)
        if LANGUAGES[language].folds_case:
            codes = folded_case(codes)
        after_digit = begin > 0 and text[begin - 1] in "0123456789"
        tokens = plain_tokens(codes, np.array([0, len(codes)]), after_digit=after_digit)
        if end < len(text):
            tokens, size = _closed(tokens, len(codes))
            end = begin + size
        while found is not None and found[0] < end:
            held += zip([found], string_hashes(text, [found], language, names=names), strict=True)
            found = next(searched, None)
        spans = np.array([span for span, _ in held], np.int64).reshape(-1, 2) - begin
        # A string that began in an earlier slice was a token there.
        opened = spans[:, 0] >= 0
        opened[opened] = are_strings(codes, spans[opened])
        tokens = without_comments(tokens, spans, opened, np.array([hash_ for _, hash_ in held], np.uint64))
        symbols, hashes = symbols_and_hashes(tokens, np.array([language]), names=names)
        breaks = slicing.is_line_end(codes[: end - begin]).nonzero()[0]
        lines = line + np.searchsorted(breaks, tokens.begins)
        yield CodeSlice(
            tokens.begins + begin,
            tokens.ends + begin,
            tokens.classes,
            symbols,
            hashes,
            np.diff(lines, prepend=last_line) > 0,
            end == len(text),
        )
        if end == len(text):
            return
        held = [(span, hash_) for span, hash_ in held if span[1] > end]
        line, last_line, begin = line + len(breaks), int(lines[-1]) if len(lines) else last_line, end


def language_of(text: str) -> int:
    r"""The number of the language that a text is in.

    >>> LANGUAGES[language_of("def ada(self):\n    return None")].name
    'Python'
    >>> LANGUAGES[language_of("To be, or not to be, that is the question.")].name
    ''
    """
    codes = visible(text[:SAMPLE])
    starts = np.array([0, len(codes) + 1])
    return int(languages_of(codes, plain_tokens(codes, starts), starts)[0])


def _closed(tokens: CodeTokens, size: int) -> tuple[CodeTokens, int]:
    """The tokens of a slice that the next slice cannot change, and how many characters they take.

    The last word may go on in the next slice, and a dot behind a digit may belong to a number.
    """
    if not len(tokens.begins) or tokens.ends[-1] < size:
        return tokens, size
    count = len(tokens.begins) - 1
    if count and tokens.ends[count - 1] == tokens.begins[count]:
        count -= 1
    starts = np.array([0, count])
    return tokens.only(np.arange(len(tokens.begins)) < count, starts), int(tokens.begins[count])
