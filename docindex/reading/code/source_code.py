"""The readings "code-names/1" and "code-raw/1": reduce source code to one symbol for each token.

In: texts. Out: a `Reading`; for one text, also the offsets of symbols.

Comments and the space between tokens do not count. Each token is one symbol and one word:

- A sign, such as "+" or "(", is its ASCII code in both readings.
- In "code-raw/1", a word, number or string is a byte from 0x80 to 0xFF, by a hash.
- In "code-names/1", all names are one symbol, all numbers a second one, and all strings a third. A keyword is
  a byte from 0x80 to 0xFF that no other keyword of its language has.

So "code-names/1" finds copies whose names were changed, and "code-raw/1" tells programs apart that do the
same thing in the same way. A text in no language, and a style sheet, is read raw by both.

A text in an index has no file name, so its language is told by the words at its beginning (see
`code_vocabulary`). Two tokens may share a symbol by chance; `Reading.word_hashes` tells them apart.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import xxhash

from docindex.arrays.ranges import I64, U8, U32, U64, Bool, mix, starts_of
from docindex.cancellation import checkpoint
from docindex.reading import slicing
from docindex.reading.code.languages import LANGUAGES, SAMPLE, hashed_symbols, languages_of, vocabulary
from docindex.reading.code.syntax import Span, comments_and_strings
from docindex.reading.code.tokens import (
    IS_SIGN,
    LONGEST,
    NAME,
    NUMBER,
    STRING,
    CodeTokens,
    are_strings,
    folded_case,
    plain_tokens,
    visible,
    without_comments,
)
from docindex.reading.code_points import is_sign
from docindex.reading.protocol import Reading, check_positions, joined_readings
from docindex.reading.slicing import codes_of, is_line_end

# Give each token of source code its symbol and its hash, in the form "names" or "raw".
#
# In: tokens, and the languages of their texts. Out: one byte and one hash for each token. Must never depend
# on which other texts are in a batch.

ALIKE = {NAME: "name", NUMBER: "0", STRING: '""'}
"""The classes whose tokens are alike in the form "names", and how such a token is shown."""

HASH_OF_CLASS = mix(np.arange(256, dtype=np.uint64) + np.uint64(256))
"""The hash of all tokens of a class that are alike."""

_IS_RAW = np.array([not language.keywords for language in LANGUAGES])


def string_hashes(text: str, spans: Sequence[Span], language: int, *, names: bool) -> Iterable[int]:
    """A hash for each comment and string of a text; 0 for all if it does not matter which string it is."""
    if names and not _IS_RAW[language]:
        return itertools.repeat(0, len(spans))
    return [
        xxhash.xxh3_64_intdigest(text[begin:end].encode("utf-8", "surrogatepass")) for begin, end in spans
    ]


def symbols_and_hashes(tokens: CodeTokens, languages: I64, *, names: bool) -> tuple[U8, U64]:
    """The symbol and the hash of each token, given the number of the language of each text.

    With `names`, keywords and signs keep their identity, and so do all tokens of a text in no language.
    """
    classes = tokens.classes
    alike = ~IS_SIGN.take(classes)
    symbols = np.where(alike, hashed_symbols(tokens.hashes), classes)
    if not names:
        return symbols, tokens.hashes
    counts = np.diff(tokens.starts)
    alike &= np.repeat(~_IS_RAW[languages], counts)
    words = vocabulary()
    where, numbers = words.find(tokens.hashes)
    own = np.repeat(languages, counts)[where].astype(np.uint32)
    are_keywords = ((words.languages[numbers] >> own) & 1 == 1) & (classes[where] == NAME)
    keywords = where[are_keywords]
    symbols[keywords] = words.symbols[numbers[are_keywords]]
    alike[keywords] = False
    at = alike.nonzero()[0]
    hashes = tokens.hashes.copy()
    symbols[at] = classes[at]
    hashes[at] = HASH_OF_CLASS[classes[at]]
    return symbols, hashes


# Read source code slice by slice, in bounded memory.
#
# In: one text. Out: the tokens of each slice, and their symbols, which do not depend on where slices end. A
# comment or string may go on through many slices.

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


_FOLDS_CASE = np.array([language.folds_case for language in LANGUAGES])


class SourceCode:
    """A reading of source code."""

    longest_unit = LONGEST

    def __init__(self, *, names: bool) -> None:
        """With `names`, all names are alike, all numbers, and all strings; otherwise they differ."""
        self._names = names

    def read(self, texts: Sequence[str], *, lines: bool = False) -> Reading:
        """The symbols of texts, end to end, and where texts, words and lines begin.

        >>> found = SourceCode(names=True).read(["static int x = f(1);", "static int  right=g( 2 ); // ok"])
        >>> bool((found.symbols[:9] == found.symbols[9:]).all()), found.starts.tolist()
        (True, [0, 9, 18])
        """
        parts = [self._read_part(part, lines) for part in _parts(texts)]
        return joined_readings(parts) if parts else self._read_part([], lines)

    def symbols(self, text: str) -> U8:
        """The symbols of one text, which is short enough to be read at once.

        >>> SourceCode(names=False).symbols("(- + -)").tobytes()
        b'(-+-)'
        """
        return self.read([text]).symbols

    def _read_part(self, texts: Sequence[str], lines: bool) -> Reading:
        """The reading of short texts, or of one long text."""
        if len(texts) == 1 and len(texts[0]) > PART_CHARACTERS:
            return _whole(list(self.readings(texts[0], lines=lines)))
        codes = visible("\n".join([*texts, ""]))
        text_starts = starts_of(np.array([len(text) + 1 for text in texts], np.int64))
        tokens = plain_tokens(codes, text_starts)
        languages = languages_of(codes, tokens, text_starts)
        if _FOLDS_CASE[languages].any():
            folding = np.repeat(_FOLDS_CASE[languages], np.diff(text_starts))
            tokens = plain_tokens(np.where(folding, folded_case(codes), codes), text_starts)
        spans, strings = self._comments_and_strings(texts, text_starts, languages)
        tokens = without_comments(tokens, spans, are_strings(codes, spans), strings)
        symbols, hashes = symbols_and_hashes(tokens, languages, names=self._names)
        line_starts = tokens.starts[:0]
        if lines:
            before = np.searchsorted(is_line_end(codes).nonzero()[0], tokens.begins)
            line_starts = np.diff(before, prepend=-1).nonzero()[0]
        return Reading(symbols, tokens.starts, np.arange(len(symbols)), line_starts, word_hashes=hashes)

    def _comments_and_strings(
        self, texts: Sequence[str], text_starts: I64, languages: I64
    ) -> tuple[I64, U64]:
        """Where comments and strings begin and end, and their hashes."""
        edges: list[int] = []
        counts: list[int] = []
        hashes: list[int] = []
        for text, language in zip(texts, languages.tolist(), strict=True):
            spans = list(comments_and_strings(text, LANGUAGES[language].syntax))
            edges += itertools.chain.from_iterable(spans)
            counts.append(len(spans))
            hashes += string_hashes(text, spans, language, names=self._names)
        found = np.array(edges, np.int64).reshape(-1, 2)
        found += np.repeat(text_starts[:-1], counts)[:, None]
        return found, np.array(hashes, np.uint64)

    def readings(self, text: str, *, lines: bool = False) -> Iterator[Reading]:
        """The readings of one text slice by slice, for texts too long to be read at once.

        >>> [part.symbols.tobytes() for part in SourceCode(names=False).readings("(- + -)")]
        [b'(-+-)']
        """
        symbols, hashes, begins_line = np.empty(0, np.uint8), np.empty(0, np.uint64), np.empty(0, bool)
        continues = False
        for part in code_slices(text, names=self._names):
            symbols, hashes = np.concatenate([symbols, part.symbols]), np.concatenate([hashes, part.hashes])
            begins_line = np.concatenate([begins_line, part.begins_line])
            end = len(symbols)
            if continues:
                begins_line[:1] = True
            line_starts = begins_line.nonzero()[0] if lines else np.empty(0, np.int64)
            if lines and end and not part.is_last:
                # The last line may go on in the next slice.
                last = int(line_starts[-1]) if len(line_starts) else 0
                end = last + (end - last - 1) // LONGEST * LONGEST
            yield Reading(
                symbols[:end],
                np.array([0, end]),
                np.arange(end),
                line_starts[line_starts < end],
                continues,
                hashes[:end],
            )
            symbols, hashes, begins_line = symbols[end:], hashes[end:], begins_line[end:]
            continues = lines and bool(len(symbols)) and not begins_line[0] if end else continues

    def offsets(self, text: str, positions: I64) -> I64:
        r"""The offsets in the text at which the symbols at ascending positions begin.

        >>> SourceCode(names=True).offsets("static int x = // ok\n  f();", np.array([2, 3, 4])).tolist()
        [11, 13, 23]
        """
        return self._edges(text, positions, lambda part: part.begins)

    def ends(self, text: str, positions: I64) -> I64:
        """The offsets in the text at which the symbols at ascending positions end.

        >>> SourceCode(names=True).ends("static x = f('a b');", np.array([0, 5])).tolist()
        [6, 18]
        """
        return self._edges(text, positions, lambda part: part.ends)

    def borders(self, text: str) -> Bool:
        """True for each position between symbols: each token is one symbol."""
        return np.ones(1 + sum(len(part.symbols) for part in code_slices(text, names=self._names)), bool)

    def canonical(self, text: str) -> str:
        """The tokens of a text as they are compared, separated by single spaces.

        >>> SourceCode(names=True).canonical("static float area(float r) { return 3.14 * r; } // of a circle")
        'static float name ( float name ) { return 0 * name ; }'
        """
        written: list[str] = []
        for part in code_slices(text, names=self._names):
            alike = part.hashes == HASH_OF_CLASS[part.classes]
            for begin, end, token_class, is_alike in zip(
                part.begins.tolist(), part.ends.tolist(), part.classes.tolist(), alike.tolist(), strict=True
            ):
                written.append(ALIKE[token_class] if is_alike else text[begin:end])
        return " ".join(written)

    def letters(self, texts: Sequence[str]) -> tuple[U32, I64]:
        """No letters, because `Reading.word_hashes` tells words apart."""
        return np.empty(0, np.uint32), np.zeros(len(texts) + 1, np.int64)

    def signs(self, text: str) -> U32:
        """The code points of a text that are neither white space nor invisible, with those of comments."""
        codes = codes_of(text)
        return codes[is_sign(codes)]

    def _edges(self, text: str, positions: I64, side: Callable[[CodeSlice], I64]) -> I64:
        """One side of the tokens at ascending positions."""
        found = [np.empty(0, np.int64)]
        read_so_far = 0
        for part in code_slices(text, names=self._names):
            first, last = np.searchsorted(positions, [read_so_far, read_so_far + len(part.symbols)])
            found.append(side(part)[positions[first:last] - read_so_far])
            read_so_far += len(part.symbols)
        check_positions(positions, read_so_far)
        return np.concatenate(found)


def _whole(slices: list[Reading]) -> Reading:
    """The reading of a text that was read in slices."""
    joined = joined_readings(
        [dataclasses.replace(part, lines=part.lines[int(part.continues) :]) for part in slices]
    )
    return dataclasses.replace(joined, starts=joined.starts[[0, -1]])


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in lists of about `PART_CHARACTERS` characters; each longer text is alone."""
    part: list[str] = []
    size = 0
    for text in texts:
        if part and size + len(text) > PART_CHARACTERS:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part
