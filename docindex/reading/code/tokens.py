"""Split source code into tokens: words, numbers, strings and signs, without comments.

In: the texts of a batch, or one slice of a text. Out: where each token begins and ends, its class, and its
hash. Works on whole batches: only comments and strings are found one by one. Must never depend on how the
texts were batched or cut into slices.

A word is a run of letters, digits, "_" and "$", and of characters that are not ASCII and can be seen. A dot
between two digits belongs to the word. A word that begins with a digit is a number. Each other character that
can be seen is a sign, and signs such as "+=" or "&&" belong together. A token of more than `LONGEST`
characters is cut into pieces of that length, but a string is always one token.
"""

import dataclasses

import numpy as np

from docindex.arrays.ranges import I64, U8, U64, Bool, mix, ranges, starts_of
from docindex.reading.byte_stream import codes_of_text
from docindex.reading.code_points import is_sign
from docindex.winnowing.kgrams import span_hashes

LONGEST = 256
"""Longer words are cut into pieces of this many characters."""

NAME, NUMBER, STRING = ord("n"), ord("0"), ord("s")
"""The classes of tokens that are not signs. A sign is a class of its own: its code point, or a control code
for two signs that belong together."""
IS_SIGN = np.ones(256, bool)
IS_SIGN[[NAME, NUMBER, STRING]] = False

_BLANK, _SIGN, _LETTER, _DIGIT = range(4)
_NOT_ASCII = 0x80
_TO_LOWER = np.uint8(0x20)


def _kinds_of_characters() -> U8:
    kinds = np.full(_NOT_ASCII + 1, _BLANK, np.uint8)
    kinds[0x21:0x7F] = _SIGN
    for char in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$":
        kinds[ord(char)] = _LETTER
    kinds[ord("0") : ord("9") + 1] = _DIGIT
    kinds[_NOT_ASCII] = _LETTER
    return kinds


_KINDS = _kinds_of_characters()

_OPERATORS = "== != <= >= && || ++ -- += -= *= /= %= &= |= ^= -> => :: << >> ** := .. ?? ?. <- =~ ~= ?:"


def _pairs_of_signs() -> U8:
    """For each two signs that belong together, the class of such a token, from 1 to 31."""
    pairs = np.zeros((256, 256), np.uint8)
    for number, pair in enumerate(_OPERATORS.split(), 1):
        pairs[tuple(pair.encode())] = number
    return pairs


_PAIRS = _pairs_of_signs()

_SLASH, _STAR = map(ord, "/*")
_BEGINS_COMMENT = np.zeros(_NOT_ASCII + 1, bool)
_BEGINS_COMMENT[list(b"#/-{=")] = True


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CodeTokens:
    """Tokens of one or more texts, end to end."""

    begins: I64
    """Where each token begins, in characters from the beginning of the first text."""
    ends: I64
    classes: U8
    """`NAME`, `NUMBER`, `STRING`, or the class of a sign. Keywords are names, too."""
    hashes: U64
    """The hash of each token, with its bits mixed. Equal tokens have equal hashes."""
    starts: I64
    """The number of the first token of each text, and the number of all tokens."""

    def only(self, kept: Bool, starts: I64) -> "CodeTokens":
        """Some of the tokens."""
        at = kept.nonzero()[0]
        return CodeTokens(
            self.begins.take(at), self.ends.take(at), self.classes.take(at), self.hashes.take(at), starts
        )


def visible(text: str) -> U8 | U64:
    """The code points of a text, with characters outside ASCII that nobody sees replaced by spaces."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    codes = codes_of_text(text)
    found = codes.astype(np.uint64)
    odd = (codes >= _NOT_ASCII).nonzero()[0]
    found[odd[~is_sign(codes[odd])]] = ord(" ")
    return found


def folded_case(codes: U8 | U64) -> U8 | U64:
    """The code points with ASCII letters in lower case.

    >>> folded_case(visible("Ab[")).tobytes()
    b'ab['
    """
    capital = (codes >= ord("A")) & (codes <= ord("Z"))
    return np.where(capital, codes | _TO_LOWER, codes)


def plain_tokens(codes: U8 | U64, text_starts: I64, *, after_digit: bool = False) -> CodeTokens:
    r"""The tokens of texts as if comments and strings were code. The texts must be separated by blanks.

    `after_digit` says that there is a digit before the code points.

    >>> found = plain_tokens(visible("x1 += 2.5;"), np.array([0, 10]))
    >>> found.classes.tobytes(), found.begins.tolist()
    (b'n\t0;', [0, 3, 6, 9])
    """
    small = np.minimum(codes, _NOT_ASCII).astype(np.uint8, copy=False)
    kinds = _KINDS.take(small)
    in_word = kinds >= _LETTER
    dots = (small[1:-1] == ord(".")).nonzero()[0] + 1
    dots = dots[(kinds[dots - 1] == _DIGIT) & (kinds[dots + 1] == _DIGIT)]
    if after_digit and small[0] == ord(".") and kinds[1:2] == _DIGIT:
        dots = np.append(0, dots)
    in_word[dots] = True
    # Whether a character belongs to the token of the character before it; the last one stands for the end.
    joint = np.zeros(len(codes) + 1, bool)
    np.logical_and(in_word[1:], in_word[:-1], out=joint[1:-1])
    signs = kinds == _SIGN
    second = (signs[1:] & signs[:-1]).nonzero()[0] + 1
    joint[second] = _PAIRS[small[second - 1], small[second]] > 0
    solid = kinds != _BLANK
    begins, ends = _cut((solid & ~joint[:-1]).nonzero()[0], (solid & ~joint[1:]).nonzero()[0] + 1)
    hashes = mix(span_hashes(codes, begins, ends))
    classes = small.take(begins)
    pairs = (~in_word.take(begins) & (ends - begins > 1)).nonzero()[0]
    classes[pairs] = _PAIRS[classes[pairs], small[begins[pairs] + 1]]
    words = in_word.take(begins).nonzero()[0]
    # A piece of a long number may begin with a dot.
    classes[words] = np.where(kinds.take(begins[words]) == _LETTER, NAME, NUMBER)
    return CodeTokens(begins, ends, classes, hashes, np.searchsorted(begins, text_starts))


def _cut(begins: I64, ends: I64) -> tuple[I64, I64]:
    """Ranges with those of more than `LONGEST` cut into pieces."""
    lengths = ends - begins
    if lengths.max(initial=0) <= LONGEST:
        return begins, ends
    counts = (lengths + LONGEST - 1) // LONGEST
    pieces = ranges(np.zeros_like(counts), counts) * LONGEST + np.repeat(begins, counts)
    return pieces, np.minimum(pieces + LONGEST, np.repeat(ends, counts))


def are_strings(codes: U8 | U64, spans: I64) -> Bool:
    """Whether ranges of code are strings, not comments.

    >>> are_strings(visible("'a' # b"), np.array([[0, 3], [4, 7]])).tolist()
    [True, False]
    """
    first, second = (codes.take(spans[:, 0] + at, mode="clip") for at in (0, 1))
    # A literal of JavaScript begins with a slash, too: /[a-z]/
    comments = _BEGINS_COMMENT[np.minimum(first, _NOT_ASCII)]
    strings: Bool = ~comments | ((first == _SLASH) & (second != _SLASH) & (second != _STAR))
    return strings


def without_comments(tokens: CodeTokens, spans: I64, are_strings: Bool, strings: U64) -> CodeTokens:
    """The tokens of code: those in a comment are left out, and those in a string become one.

    `spans` has a row for each comment and string: where it begins and ends. `strings` has a hash for each.
    """
    first, behind = (np.searchsorted(tokens.begins, edges) for edges in spans.T)
    filled = behind > first
    change = np.zeros(len(tokens.begins) + 1, np.int8)
    change[first[filled]] += 1
    change[behind[filled]] -= 1
    kept = np.cumsum(change[:-1], dtype=np.int8) == 0
    opened = (filled & are_strings).nonzero()[0]
    at = first[opened]
    kept[at] = True
    classes, ends, hashes = tokens.classes.copy(), tokens.ends.copy(), tokens.hashes.copy()
    classes[at], ends[at], hashes[at] = STRING, spans[opened, 1], strings[opened]
    starts = starts_of(kept.astype(np.int64))[tokens.starts]
    return CodeTokens(tokens.begins, ends, classes, hashes, starts).only(kept, starts)
