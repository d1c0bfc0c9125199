"""The reading "text/1": reduce plain text in any script to symbols, words and lines.

In: texts. Out: a `Reading`; for one text, also the offsets of symbols.

A symbol is one byte. An ASCII letter becomes its lower-case letter, and an ASCII digit stays as it is. Every
other code point is normalized (NFKD) and casefolded, and only letters and numbers of the result are kept:
ASCII characters stay as they are, and any other character becomes ``0x80 | (code & 0x7f)``. An ideograph
becomes two symbols, because it carries more information than a letter. So "É" reads as "e", and the composed
and decomposed forms of a text read the same.

Words end at separators. Marks, joiners and direction signs are not separators: they do not split a word. In
scripts that are written without spaces, each letter is a word by itself.

Code points that Python's Unicode tables do not know are separators. A text in letters newer than these
tables therefore reads differently under a newer Python.

Offsets take eight bytes for each symbol, so they must never be computed for more than one document at a
time. They are needed only when a person wants to see a passage.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from docindex.kernels.arrays import I64, U8, Bool, starts_of
from docindex.reading import slicing
from docindex.reading.canonical_text import canonical
from docindex.reading.code_points import (
    ALONE,
    COUNT,
    FIRST,
    SEPARATES,
    UNCOMMON,
    counts_of,
    entries_of,
    spelled,
)
from docindex.reading.protocol import Reading
from docindex.reading.slicing import codes_of, is_line_end

_LONGEST_UNIT = 128

_NO_POSITIONS = np.empty(0, np.int64)

# ASCII texts are read separately from other texts if the groups have this many characters on average: the
# byte-only path saves 7 ns per character, and each further call costs 60 microseconds.
_WORTH_A_GROUP = 8192

# `_context` searches this many characters first. The last letter of a slice is nearly always among them.
_TAIL = 1024


class PlainText:
    """The reading "text/1": letters and digits of any script."""

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
        parts = [(_read_ascii if plain else _read_any)(group, lines) for plain, group in groups]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def readings(self, text: str, *, lines: bool = False) -> Iterator[Reading]:
        """The readings of one text slice by slice, for texts too long to be read at once.

        Each reading ends where a word ends, or where a line ends if `lines` is true. So the slices together
        have the symbols, words and lines of the whole text. A word or line longer than `longest_unit` symbols
        may be cut after a multiple of that number.

        >>> [(part.symbols.tobytes(), part.words.tolist()) for part in PlainText().readings("a short text")]
        [(b'ashorttext', [0, 1, 6])]
        """
        before = ""
        # The last word or line so far, which may go on in the next slice.
        rest = Reading(np.empty(0, np.uint8), _NO_POSITIONS, _NO_POSITIONS, _NO_POSITIONS)
        for begin in range(0, max(1, len(text)), slicing.PIECE_CHARACTERS):
            piece = text[begin : begin + slicing.PIECE_CHARACTERS]
            # Read the slice together with the end of the slice before, to see whether a word goes on.
            known = len(self.read([before]).symbols)
            new = self.read([before + piece], lines=lines)
            symbols = np.concatenate([rest.symbols, new.symbols[known:]])
            words = _continued(rest.words, new.words, known, len(rest.symbols), len(symbols))
            line_begins = _continued(rest.lines, new.lines, known, len(rest.symbols), len(symbols) * lines)
            before = _context(before + piece)

            units = line_begins if lines else words
            end = len(symbols)
            if begin + slicing.PIECE_CHARACTERS < len(text) and end:
                end = int(units[-1]) + (end - int(units[-1])) // _LONGEST_UNIT * _LONGEST_UNIT
            last_word, last_line = np.searchsorted(words, end), np.searchsorted(line_begins, end)
            yield Reading(symbols[:end], np.array([0, end]), words[:last_word], line_begins[:last_line])
            words, line_begins = words[last_word:] - end, line_begins[last_line:] - end
            rest = Reading(symbols[end:], _NO_POSITIONS, words, line_begins)

    def offsets(self, text: str, positions: I64) -> I64:
        """The offsets in the text at which the symbols at ascending positions begin.

        `IndexError` if the text has no symbol at one of the positions.

        >>> PlainText().offsets("A b, ﬁ", np.array([0, 1, 2, 3])).tolist()
        [0, 2, 5, 5]
        """
        found = [np.empty(0, np.int64)]
        read_so_far = 0
        for begin in range(0, len(text), slicing.PIECE_CHARACTERS):
            origins = _origins(text[begin : begin + slicing.PIECE_CHARACTERS])
            first, last = np.searchsorted(positions, [read_so_far, read_so_far + len(origins)])
            found.append(origins[positions[first:last] - read_so_far] + begin)
            read_so_far += len(origins)
        _check_positions(positions, read_so_far)
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
            entries = entries_of(codes_of(text[begin : begin + slicing.PIECE_CHARACTERS]))
            solid = np.flatnonzero(entries & (COUNT | SEPARATES))
            if not len(solid):
                continue
            # This slice may begin with marks that belong to the last symbol before it.
            found[known:done] = begin + solid[0]
            before = read_so_far + starts_of(counts_of(entries[solid]).astype(np.int64))
            first, done = np.searchsorted(positions, before[[0, -1]])
            following = np.searchsorted(before[:-1], positions[first:done], "right")
            found[first:done] = begin + np.append(solid, 0)[following]
            known = first + np.searchsorted(following, len(solid))
            read_so_far = before[-1]
        found[known:done] = len(text)
        _check_positions(positions, read_so_far)
        return found

    def borders(self, text: str) -> Bool:
        """For each position between symbols, whether it lies between two characters of the text.

        The first position is before the first symbol, the last one after the last symbol.

        >>> PlainText().borders("a ﬁn").tolist()
        [True, True, False, True, True]
        """
        found = []
        for piece in slicing.slices(text):
            counts = counts_of(entries_of(codes_of(piece)))
            begins = starts_of(counts[counts > 0].astype(np.int64))
            found.append(np.zeros(begins[-1], bool))
            found[-1][begins[:-1]] = True
        return np.concatenate([*found, np.ones(1, bool)])

    def canonical(self, text: str) -> str:
        """The words of a text as they are compared, separated by single spaces."""
        return canonical(text)


def _check_positions(positions: I64, size: int) -> None:
    """Raise `IndexError` unless all of the ascending positions are from 0 to `size` - 1."""
    if len(positions) and not 0 <= positions[0] <= positions[-1] < size:
        raise IndexError(
            f"the text has {size} symbols; found positions from {positions[0]} to {positions[-1]}"
        )


def _continued(rest: I64, new: I64, known: int, rest_size: int, size: int) -> I64:
    """Where words or lines begin in the `rest_size` symbols left from the slice before and the new symbols.

    The first `known` symbols that `new` counts were read before. If there is a symbol, a unit always begins
    at 0.
    """
    begins = np.concatenate([rest, new[np.searchsorted(new, known) :] - known + rest_size])
    return begins if not size or (len(begins) and begins[0] == 0) else np.append(0, begins)


def _context(text: str) -> str:
    """The last character with a symbol, and a separator or line feed if one followed it.

    If the next slice is read after these, its words and lines begin where they do in the whole text.
    """
    near = text[-_TAIL:]
    entries = entries_of(codes_of(near))
    if not (entries & COUNT).any():
        near = text
        entries = entries_of(codes_of(near))
    with_symbols = np.flatnonzero(entries & COUNT)
    if not len(with_symbols):
        return ""
    last = int(with_symbols[-1])
    following = near[last + 1 :]
    if "\n" in following or "\r" in following:
        return near[last] + "\n"
    return near[last] + (" " if (entries[last + 1 :] & SEPARATES).any() else "")


def _joined(readings: list[Reading]) -> Reading:
    """The readings of several batches as one reading."""
    shifts = starts_of(np.array([len(reading.symbols) for reading in readings], np.int64))

    def all_of(name: str, end: int | None = None) -> I64:
        arrays = [
            getattr(reading, name)[:end] + shift for reading, shift in zip(readings, shifts, strict=False)
        ]
        return np.concatenate(arrays) if arrays else np.empty(0, np.int64)

    return Reading(
        symbols=np.concatenate([np.empty(0, np.uint8), *(reading.symbols for reading in readings)]),
        starts=np.append(all_of("starts", -1), shifts[-1]),
        words=all_of("words"),
        lines=all_of("lines"),
    )


# Tables of `bytes.translate` for the byte-only path. Bytes of 0x80 and more are symbols already.
_KEPT = bytes(code for code in range(256) if code >= 0x80 or chr(code).isalnum())
_LOWER = bytes(range(256)).lower()
_DROPPED = bytes(set(range(256)) - set(_KEPT))
_IS_KEPT = bytes(code in _KEPT for code in range(256))


def _read_ascii(texts: list[str], with_lines: bool) -> Reading:
    return _read_bytes("\n".join(texts).encode("ascii"), texts, with_lines)


def _read_bytes(source: bytes, texts: list[str], with_lines: bool) -> Reading:
    """The reading of texts if each character has become one byte: a letter, digit, symbol or separator.

    `source` is the texts joined by a separator.
    """
    kept = np.zeros(len(source) + 2, bool)
    kept[1:-1] = np.frombuffer(source.translate(_IS_KEPT), bool)
    edges = np.flatnonzero(kept[1:] != kept[:-1])
    begins, ends = edges[::2], edges[1::2]
    words = starts_of(ends - begins)

    def symbols_before(offsets: I64) -> I64:
        # This is exact, because every offset lies outside words or where a word begins.
        before: I64 = words[np.searchsorted(begins, offsets)]
        return before

    text_begins = starts_of(np.array([len(text) + 1 for text in texts], np.int64))
    breaks = _breaks(np.frombuffer(source, np.uint8)) if with_lines else None
    return Reading(
        symbols=np.frombuffer(source.translate(_LOWER, _DROPPED), np.uint8),
        starts=symbols_before(text_begins),
        words=words[:-1],
        lines=words[:0] if breaks is None else _line_starts(symbols_before(np.append(0, breaks)), words[-1]),
    )


def _read_any(texts: list[str], with_lines: bool) -> Reading:
    codes = codes_of("\n".join(texts))
    entries = entries_of(codes)
    kinds = int(np.bitwise_or.reduce(entries, initial=0))
    if not (with_lines or kinds & UNCOMMON) and (entries & (COUNT | SEPARATES)).all():
        # Each letter has one symbol and there are no marks, as in most European texts. This takes half as
        # long as the general path below.
        source = np.where(entries & SEPARATES, ord(" "), entries & FIRST).astype(np.uint8).tobytes()
        return _read_bytes(source, texts, with_lines)
    counts = counts_of(entries)
    symbols_before = starts_of(counts.astype(np.int64))
    text_begins = starts_of(np.array([len(text) + 1 for text in texts], np.int64))
    text_begins[-1] -= 1
    breaks = _breaks(codes) if with_lines else None

    # Marks, joiners and direction signs have no symbol and do not separate words: ignore them.
    solid = np.flatnonzero(entries & (COUNT | SEPARATES))
    spells = counts[solid] > 0
    alone = (entries[solid] & ALONE) > 0
    begins_word = spells.copy()
    begins_word[1:] &= ~spells[:-1] | alone[1:] | alone[:-1]
    return Reading(
        symbols=spelled(codes, entries, counts, symbols_before),
        starts=symbols_before[text_begins],
        words=symbols_before[solid[begins_word]],
        lines=symbols_before[:0]
        if breaks is None
        else _line_starts(symbols_before[np.append(0, breaks + 1)], symbols_before[-1]),
    )


def _breaks(codes: U8 | NDArray[np.uint32]) -> I64:
    """The offsets of the characters that end a line."""
    return np.flatnonzero(is_line_end(codes))


def _line_starts(candidates: I64, size: np.int64) -> I64:
    """The ascending candidates without duplicates and without `size`: lines that contain a symbol."""
    return candidates[np.diff(candidates, append=size) > 0]


def _origins(text: str) -> I64:
    """For each symbol, the offset of its character."""
    if text.isascii():
        return np.flatnonzero(np.frombuffer(text.encode("ascii").translate(_IS_KEPT), bool))
    return np.repeat(np.arange(len(text)), counts_of(entries_of(codes_of(text))))
