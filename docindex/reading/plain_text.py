"""The reading "text/2": reduce plain text in any script to symbols, words and lines.

In: texts. Out: a `Reading`; for one text, also the offsets of symbols.

A symbol is one byte. An ASCII letter becomes its lower-case letter, and an ASCII digit stays as it is. Every
other code point is normalized (NFKD) and casefolded, so "É" reads as "e", and the composed and decomposed
forms of a text read the same. Of the result, these count:

- Letters and numbers.
- Marks that carry meaning: vowel signs and viramas of Indic scripts, tones, the voicing that makes か が.
  Accents of Latin, Greek and Cyrillic, and points of Hebrew and Arabic, do not count.
- Pictures: emoji, Braille, stars, chess pieces, musical notation.

A letter that is not ASCII becomes one byte from 0x80 to 0xFF; a picture, or a letter of a script with more
than 128 letters, becomes two (see `docindex.reading.symbol_bytes`).

Words end at separators. Accents, joiners and direction signs are not separators: they do not split a word. In
scripts that are written without spaces, each letter is a word by itself, and so is each picture.

The tables are the library's own (see `docindex.reading.unicode_table`), so that a text reads the same under
every Python. The order of marks that carry meaning matters: a text that is not in one of Unicode's normal
forms may read differently from its normal form.

Offsets take eight bytes for each symbol, so they must never be computed for more than one document at a
time. They are needed only when a person wants to see a passage.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from docindex.arrays.ranges import I64, U8, U32, Bool, starts_of
from docindex.cancellation import checkpoint
from docindex.reading import slicing
from docindex.reading.byte_stream import byte_stream, codes_of_text, voiced
from docindex.reading.code_points import END, JOINT, counts_of, folded_letters, is_sign, is_solid, letters
from docindex.reading.protocol import Reading, check_positions, joined_readings
from docindex.reading.slicing import codes_of, is_line_end, slices
from docindex.reading.symbol_bytes import are_symbols, folded

# Write a text in its canonical form: only its words, without case, accents or punctuation.
#
# In: a text. Out: its words, separated by single spaces, for a person to read. A text and its canonical form
# must always have the same symbols and the same words.


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


_LONGEST_UNIT = 128


# ASCII texts become bytes separately from other texts if the groups have this many characters on average:
# this saves a nanosecond per character, and each further group costs 30 microseconds.
_WORTH_A_GROUP = 8192

# A stream with many ideographs, of four bytes each, is read in parts of this size, which stay in the cache:
# this saves a quarter of the time. Other streams would lose 5%.
_PART = 1 << 18


class PlainText:
    """The reading "text/2": letters, digits and pictures of any script."""

    longest_unit = _LONGEST_UNIT

    def read(self, texts: Sequence[str], *, lines: bool = False) -> Reading:
        """The symbols of texts, end to end, and where texts and words begin.

        With `lines`, also where lines begin; this takes a third longer.

        >>> reading = PlainText().read(["Ada's Éclair", "", "2 ﬁelds"])
        >>> reading.symbols.tobytes(), reading.starts.tolist(), reading.words.tolist()
        (b'adaseclair2fields', [0, 10, 10, 17], [0, 3, 4, 10, 11])
        """
        groups = [(plain, list(group)) for plain, group in itertools.groupby(texts, str.isascii)]
        if len(groups) > 1 and sum(map(len, texts)) < _WORTH_A_GROUP * len(groups):
            groups = [(False, list(texts))]
        streams = [(_ascii_stream if plain else _any_stream)(group) for plain, group in groups]
        ends = starts_of(np.array([len(stream) + 1 for stream, _ in streams], np.int64))
        begins = [own + end for (_, own), end in zip(streams, ends[:-1], strict=True)]
        stream, text_begins = (
            b"\n".join(stream for stream, _ in streams),
            np.concatenate([*begins, ends[-1:]]),
        )
        if len(stream) <= max(_PART, 1.25 * sum(map(len, texts))):
            return _read_bytes(stream, text_begins, lines)
        return _read_in_parts(stream, text_begins, lines)

    def symbols(self, text: str) -> U8:
        """The symbols of one text, which is short enough to be read at once.

        Words are not looked for, which takes half the time of `read`.

        >>> PlainText().symbols("Ada's Éclair").tobytes()
        b'adaseclair'
        """
        codes = np.frombuffer(voiced(byte_stream(text)), np.uint8)
        kept = np.empty(len(codes), bool)
        lower = folded(codes, kept)
        return lower.take(kept.nonzero()[0])

    def readings(self, text: str, *, lines: bool = False) -> Iterator[Reading]:
        """The readings of one text slice by slice, for texts too long to be read at once.

        Each reading ends where a word ends, or where a line ends if `lines` is true. So the slices together
        have the symbols, words and lines of the whole text. A word or line longer than `longest_unit` symbols
        may be cut after a multiple of that number.

        >>> [(part.symbols.tobytes(), part.words.tolist()) for part in PlainText().readings("a short text")]
        [(b'ashorttext', [0, 1, 6])]
        """
        rest, continues = b"", False
        for begin in range(0, max(1, len(text)), slicing.PIECE_CHARACTERS):
            checkpoint()
            stream = voiced(rest + byte_stream(text[begin : begin + slicing.PIECE_CHARACTERS]))
            found = _read_bytes(stream, np.array([0, len(stream)]), lines)
            units, size = (found.lines if lines else found.words), len(found.symbols)
            if begin + slicing.PIECE_CHARACTERS >= len(text):
                yield dataclasses.replace(found, continues=continues)
                return
            # The last word or line may go on in the next slice.
            last = int(units[-1]) if size else 0
            end = last + max(0, size - last - 1) // _LONGEST_UNIT * _LONGEST_UNIT
            rest = _from_symbol(stream, size - end) if size else b""
            words, line_begins = (
                array[: np.searchsorted(array, end)] for array in (found.words, found.lines)
            )
            yield Reading(found.symbols[:end], np.array([0, end]), words, line_begins, continues)
            continues = end > last if end else continues

    def offsets(self, text: str, positions: I64) -> I64:
        """The offsets in the text at which the symbols at ascending positions begin.

        `IndexError` if the text has no symbol at one of the positions.

        >>> PlainText().offsets("A b, ﬁ", np.array([0, 1, 2, 3])).tolist()
        [0, 2, 5, 5]
        """
        found = [np.empty(0, np.int64)]
        read_so_far = 0
        for begin in range(0, len(text), slicing.PIECE_CHARACTERS):
            checkpoint()
            origins = _origins(text[begin : begin + slicing.PIECE_CHARACTERS])
            first, last = np.searchsorted(positions, [read_so_far, read_so_far + len(origins)])
            found.append(origins[positions[first:last] - read_so_far] + begin)
            read_so_far += len(origins)
        check_positions(positions, read_so_far)
        return np.concatenate(found)

    def ends(self, text: str, positions: I64) -> I64:
        r"""The offsets in the text at which the symbols at ascending positions end.

        Marks that follow a character belong to it. `IndexError` if the text has no symbol at a position.

        >>> PlainText().ends("cafe\u0301, ﬁ", np.array([2, 3, 4])).tolist()
        [3, 5, 8]
        """
        if text.isascii():
            return self.offsets(text, positions) + 1
        found = np.empty(len(positions), np.int64)
        known = done = read_so_far = 0
        for begin in range(0, len(text), slicing.PIECE_CHARACTERS):
            checkpoint()
            codes = codes_of_text(text[begin : begin + slicing.PIECE_CHARACTERS])
            solid = np.flatnonzero(is_solid(codes))
            if not len(solid):
                continue
            # This slice may begin with marks that belong to the last symbol before it.
            found[known:done] = begin + solid[0]
            before = read_so_far + starts_of(counts_of(codes[solid]).astype(np.int64))
            first, done = np.searchsorted(positions, before[[0, -1]])
            following = np.searchsorted(before[:-1], positions[first:done], "right")
            found[first:done] = begin + np.append(solid, 0)[following]
            known = first + np.searchsorted(following, len(solid))
            read_so_far = before[-1]
        found[known:done] = len(text)
        check_positions(positions, read_so_far)
        return found

    def borders(self, text: str) -> Bool:
        """For each position between symbols, whether it lies between two characters of the text.

        The first position is before the first symbol, the last one after the last symbol.

        >>> PlainText().borders("a ﬁn").tolist()
        [True, True, False, True, True]
        """
        found = []
        for piece in slicing.slices(text):
            counts = counts_of(codes_of_text(piece))
            begins = starts_of(counts[counts > 0].astype(np.int64))
            found.append(np.zeros(begins[-1], bool))
            found[-1][begins[:-1]] = True
        return np.concatenate([*found, np.ones(1, bool)])

    def canonical(self, text: str) -> str:
        """The words of a text as they are compared, separated by single spaces."""
        return canonical(text)

    def letters(self, texts: Sequence[str]) -> tuple[U32, I64]:
        """The folded letters of texts that are not ASCII, and where the letters of each text begin.

        >>> found, starts = PlainText().letters(["Ada", "Ж ﬁ é ж"])
        >>> "".join(map(chr, found)), starts.tolist()
        ('жж', [0, 0, 2])
        """
        sizes = np.array([0 if text.isascii() else len(text) for text in texts], np.int64)
        codes = codes_of_text("".join(itertools.compress(texts, sizes.tolist())))
        odd = (codes > 0x7F).nonzero()[0]
        letters, letter_starts = folded_letters(codes.take(odd))
        return letters, letter_starts[np.searchsorted(odd, starts_of(sizes))]

    def signs(self, text: str) -> U32:
        """The code points of a text that are neither white space nor invisible.

        >>> "".join(map(chr, PlainText().signs(" -- *")))
        '--*'
        """
        codes = codes_of(text)
        return codes[is_sign(codes)]


def _from_symbol(stream: bytes, count: int) -> bytes:
    """The stream from the last `count` symbols on, with at most one byte after the last symbol."""
    size = 2 * count + 64
    while True:
        # Look at the end only: the last word or line is short in most streams.
        tail = stream[-size:]
        symbols = np.flatnonzero(are_symbols(np.frombuffer(tail, np.uint8)))
        if len(symbols) >= count or len(tail) == len(stream):
            break
        size *= 8
    end = int(symbols[-1]) + 1
    rest, after = tail[int(symbols[-count]) : end], tail[end:]
    if len(after) > 1:
        after = b"\n" if b"\n" in after or b"\r" in after else b" "
    return rest + after


def _ascii_stream(texts: list[str]) -> tuple[bytes, I64]:
    """The stream of ASCII texts, joined by a separator, and where each of them begins."""
    begins = starts_of(np.array([len(text) + 1 for text in texts], np.int64))
    return "\n".join(texts).encode("ascii"), begins[:-1]


def _any_stream(texts: list[str]) -> tuple[bytes, I64]:
    """The same for any texts."""
    joint = chr(JOINT)
    source = joint.join(texts)
    if source.count(joint) >= len(texts):
        source = joint.join(text.replace(joint, " ") for text in texts)
    stream = voiced(byte_stream(source))
    joints = np.flatnonzero(np.frombuffer(stream, np.uint8) == JOINT)
    return stream, np.concatenate([[0], joints + 1])


def _read_in_parts(stream: bytes, begins: I64, with_lines: bool) -> Reading:
    cuts = np.unique(np.searchsorted(begins, [*range(0, len(stream), _PART), len(stream) + 1])).tolist()
    return joined_readings(
        [
            _read_bytes(stream[begins[a] : begins[b] - 1], begins[a : b + 1] - begins[a], with_lines)
            for a, b in itertools.pairwise(cuts)
        ]
    )


def _read_bytes(source: bytes, text_begins: I64, with_lines: bool) -> Reading:
    """The reading of a byte stream: the streams of texts, joined by a separator.

    `text_begins` has the offset of each text, and one more at the end.
    """
    codes = np.frombuffer(source, np.uint8)
    padded = np.zeros(len(source) + 2, bool)
    kept = padded[1:-1]
    lower = folded(codes, kept)
    edges = (padded[1:] != padded[:-1]).nonzero()[0]
    begins = edges[::2]
    words = starts_of(edges[1::2] - begins)

    def symbols_before(offsets: I64) -> I64:
        # This is exact, because every offset lies outside words or where a word begins.
        before: I64 = words[np.searchsorted(begins, offsets)]
        return before

    lines = words[:0]
    if with_lines:
        breaks = np.flatnonzero(is_line_end(codes))
        lines = _line_starts(symbols_before(np.sort(np.concatenate([breaks, text_begins]))), words[-1])
    return Reading(
        # A quarter of the time of `lower[kept]`, and a third of that of `bytes.translate`.
        symbols=lower.take(kept.nonzero()[0]),
        starts=symbols_before(text_begins),
        words=words[:-1],
        lines=lines,
    )


def _line_starts(candidates: I64, size: np.int64) -> I64:
    """The ascending candidates without duplicates and without `size`: lines that contain a symbol."""
    return candidates[np.diff(candidates, append=size) > 0]


def _origins(text: str) -> I64:
    """For each symbol, the offset of its character."""
    if text.isascii():
        return np.flatnonzero(are_symbols(np.frombuffer(text.encode("ascii"), np.uint8)))
    return np.repeat(np.arange(len(text)), counts_of(codes_of_text(text)))
