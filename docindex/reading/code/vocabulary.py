"""Look up words of source code: whose keywords they are, and which language a text is in.

In: tokens. Out: languages and symbols as arrays. The tables are made once, from those of `code_languages`.
"""

import dataclasses
import functools
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import I64, U8, U32, U64, Bool, starts_of, union
from docindex.reading.code.languages import (
    COUNTED_LINES,
    F32,
    LANGUAGES,
    LINE_ENDS,
    POINTS_OF_A_LINE,
    SAMPLE,
    best_languages,
    points_of_words,
)
from docindex.reading.code.tokens import CodeTokens, plain_tokens, visible
from docindex.reading.slicing import is_line_end

# Find what is likely to be a comment in source code whose language is not known yet.
#
# In: the code points of texts. Out: ranges of them. The words of comments must not say which language a
# program is in. A range that is no comment does no harm: a few words less are counted.

_HASH, _SLASH, _STAR, _DASH, _QUOTE, _SPACE = map(ord, '#/*-" ')


def likely_comments(codes: U8 | U64, text_starts: I64, breaks: I64) -> I64:
    r"""Where likely comments begin and end, one row for each. They may overlap. `breaks` are the line ends.

    >>> source = np.frombuffer(b"x # y\nz /* 1 */", np.uint8)
    >>> likely_comments(source, np.array([0, 15]), np.array([5])).tolist()
    [[2, 5], [8, 13]]
    """
    padded = np.concatenate([codes, np.full(2, _SPACE, codes.dtype)])
    # To look for all the signs at once, and then at the few places, takes half the time.
    wanted = codes == _HASH
    for sign in (_SLASH, _STAR, _DASH, _QUOTE):
        wanted |= codes == sign
    at = wanted.nonzero()[0]
    before, first, following, second = (padded.take(at + step) for step in (-1, 0, 1, 2))
    slashed = (first == _SLASH) & (following == _SLASH)
    dashed = (first == _DASH) & (following == _DASH) & (second <= _SPACE)
    lines = at[slashed | dashed | (first == _HASH) & (following <= _SPACE)]
    # "//*" is a comment of one line.
    blocks = at[(first == _SLASH) & (following == _STAR) & (before != _SLASH)]
    ends = at[(first == _STAR) & (following == _SLASH)]
    quotes = at[(first == _QUOTE) & (following == _QUOTE) & (second == _QUOTE)]
    return np.concatenate(
        [
            _up_to(lines, breaks, text_starts),
            _up_to(blocks, ends, text_starts),
            _triple_quoted(quotes, text_starts),
        ]
    )


def _up_to(begins: I64, ends: I64, text_starts: I64) -> I64:
    """Ranges from each begin up to the next end, or to the end of the text."""
    of_text = text_starts[np.searchsorted(text_starts, begins, "right")]
    following = np.append(ends, text_starts[-1])[np.searchsorted(ends, begins)]
    return np.stack([begins, np.minimum(following, of_text)], axis=1)


def _triple_quoted(quotes: I64, text_starts: I64) -> I64:
    """The ranges between the first and the second triple quote of a text, the third and the fourth, ..."""
    quotes = quotes[np.diff(quotes, prepend=-3) > 2]
    texts = np.searchsorted(text_starts, quotes, "right") - 1
    is_first = (np.arange(len(quotes)) - np.searchsorted(texts, texts)) % 2 == 0
    return _up_to(quotes[is_first], quotes[~is_first], text_starts)


_ARE_OF_CODE = np.zeros(256, bool)
_ARE_OF_CODE[list(b"(){}[]<>=;$|&")] = True
_ARE_OF_CODE[:0x20] = True
"""The signs that are rare in prose."""

_LINE_END_OF_CLASS = np.full(256, len(LINE_ENDS), np.uint8)
_LINE_END_OF_CLASS[list(LINE_ENDS.encode())] = range(len(LINE_ENDS))

_HAVE_LINE_END = np.array(
    [[end in language.line_ends for language in LANGUAGES] for end in LINE_ENDS], np.float32
)

_DOLLAR, _DOT = map(ord, "$.")
_POINTS_OF_A_VARIABLE = np.float32(POINTS_OF_A_LINE) * np.array(
    [language.variable_sign == "$" for language in LANGUAGES], np.float32
)

_HIGH = np.uint64(57)
_KEYS = np.uint64((1 << 18) - 1)

I16: TypeAlias = NDArray[np.int16]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The words that mean something in a language."""

    hashes: U64
    shift: np.uint64
    """The key of a hash is 18 bits of it, from this one on. No two words have the same key."""
    numbers: I16
    """For each key, the number of the word that has it, or 0."""
    symbols: U8
    """The symbol of each word as a keyword."""
    languages: U32
    """For each word, the languages that have it as a keyword: bit n stands for language n."""
    points: F32
    """For each word, the points that it gives to each language."""

    def find(self, hashes: U64) -> tuple[I64, I64]:
        """Which of some hashes are those of words, and the numbers of these words."""
        numbers = self.numbers.take((hashes >> self.shift) & _KEYS)
        found = (self.hashes.take(numbers) == hashes).nonzero()[0]
        return found, numbers.take(found)


def hashed_symbols(hashes: U64) -> U8:
    """A symbol from 0x80 to 0xFF for each hash of a token."""
    return (hashes >> _HIGH).astype(np.uint8) | np.uint8(0x80)


@functools.cache
def vocabulary() -> Vocabulary:
    """The words of all languages."""
    points = points_of_words()
    words = sorted(points.keys() | {word for language in LANGUAGES for word in language.keywords})
    hashes = plain_tokens(visible(" ".join(words)), np.zeros(2, np.int64)).hashes
    languages = [
        sum(1 << number for number, language in enumerate(LANGUAGES) if word in language.keywords)
        for word in words
    ]
    table = np.zeros((len(words), len(LANGUAGES)), np.float32)
    for row, word in enumerate(words):
        for number, some in points.get(word, {}).items():
            table[row, number] = some
    shift = next(
        shift for shift in map(np.uint64, range(46)) if len(union((hashes >> shift) & _KEYS)) == len(words)
    )
    numbers = np.zeros(int(_KEYS) + 1, np.int16)
    numbers[(hashes >> shift) & _KEYS] = np.arange(len(words))
    symbols = _different_symbols(hashed_symbols(hashes).tolist(), languages)
    return Vocabulary(hashes, shift, numbers, symbols, np.array(languages, np.uint32), table)


def _different_symbols(wanted: list[int], languages: list[int]) -> U8:
    """A symbol for each keyword, such that no two keywords of one language share a symbol."""
    taken = [0] * 0x80
    found = []
    for symbol, own in zip(wanted, languages, strict=True):
        while taken[symbol & 0x7F] & own:
            symbol += 1
        taken[symbol & 0x7F] |= own
        found.append(symbol & 0x7F | 0x80)
    return np.array(found, np.uint8)


def languages_of(codes: U8 | U64, tokens: CodeTokens, text_starts: I64) -> I64:
    """The number of the language of each text, by the different words at its beginning and its line ends.

    `text_starts` says where each text begins among the characters.
    """
    words = vocabulary()
    begins = tokens.starts[:-1]
    ends = np.searchsorted(tokens.ends, np.minimum(text_starts[:-1] + SAMPLE, text_starts[1:]))
    breaks = is_line_end(codes).nonzero()[0]
    counts = ~_inside(tokens.begins, likely_comments(codes, text_starts, breaks))
    where, numbers = words.find(tokens.hashes)
    owners = np.searchsorted(begins, where, "right") - 1
    early = (where < ends[owners]) & counts[where]
    having = np.zeros((len(begins), len(words.hashes)), np.float32)
    having[owners[early], numbers[early]] = 1
    points = having @ words.points
    of_code = _ARE_OF_CODE.take(tokens.classes)
    dots = (tokens.classes[:-1] == _DOT).nonzero()[0]
    of_code[dots] = tokens.begins[dots + 1] == tokens.ends[dots]
    signs = starts_of((of_code & counts).astype(np.int64))
    sizes = starts_of(counts.astype(np.int64))
    shares = (signs[ends] - signs[begins]) / np.maximum(sizes[ends] - sizes[begins], 1)
    ending = _lines_ending_in_signs(tokens, counts.nonzero()[0], breaks, text_starts)
    points += ending @ _HAVE_LINE_END * np.float32(POINTS_OF_A_LINE)
    dollars = (codes == _DOLLAR).nonzero()[0]
    variables = np.searchsorted(tokens.begins, dollars)
    # A dollar sign inside a word begins no variable. One at the very end may have no token after it.
    begun = variables < len(tokens.begins)
    variables, dollars = variables[begun], dollars[begun]
    begun = (tokens.begins[variables] == dollars) & (tokens.ends[variables] > dollars + 1)
    variables = variables[begun & counts[variables]]
    found = np.diff(np.searchsorted(variables, np.stack([begins, ends])), axis=0)[0]
    points += np.minimum(found, COUNTED_LINES)[:, None] * _POINTS_OF_A_VARIABLE
    return best_languages(points, shares)


def _inside(places: I64, spans: I64) -> Bool:
    """Whether each of the ascending places lies in one of the spans."""
    opened, closed = (
        np.bincount(np.searchsorted(places, edges), minlength=len(places) + 1) for edges in spans.T
    )
    inside: Bool = np.cumsum(opened[:-1] - closed[:-1]) > 0
    return inside


def _lines_ending_in_signs(tokens: CodeTokens, counted: I64, breaks: I64, text_starts: I64) -> F32:
    """For each text and each of `LINE_ENDS`, how many lines end so; at most `COUNTED_LINES`.

    Only some tokens are counted: a comment at the end of a line does not matter.
    """
    signs = _LINE_END_OF_CLASS.take(tokens.classes.take(counted))
    at = (signs < len(LINE_ENDS)).nonzero()[0]
    begins, signs = tokens.begins.take(counted.take(at)), signs.take(at).astype(np.int64)
    following = tokens.begins.take(counted.take(at + 1, mode="clip"))
    following[at == len(counted) - 1] = text_starts[-1]
    ends = np.append(breaks, text_starts[-1])[np.searchsorted(breaks, begins)]
    owners = np.searchsorted(text_starts, begins, "right") - 1
    last = (ends <= following) & (ends - text_starts[owners] < SAMPLE)
    texts = len(text_starts) - 1
    found = np.bincount(owners[last] * len(LINE_ENDS) + signs[last], minlength=texts * len(LINE_ENDS))
    return np.minimum(found, COUNTED_LINES).reshape(texts, len(LINE_ENDS)).astype(np.float32)
