"""Plain text in, a `Reading` out: symbols, and where words and lines begin among them.

A symbol is one byte. ASCII letters stand for themselves in lower case, digits as they are.
Any other code point is taken through NFKD and casefold, and of the result only letters and
numbers are kept: what is ASCII then stands for itself, what is not becomes
``0x80 | (code & 0x7f)``; an ideograph becomes two symbols, for it says more than a letter.
So "É" is "e", and a text composed or decomposed reads the same.

A word is what stands between separators. Marks, joiners and direction signs are no
separators: they do not split a word. Letters of scripts written without spaces are words
by themselves.

Code points that Python's Unicode tables do not know yet are separators; texts in letters newer than
those tables read differently under a newer Python.

Must never be asked for more than one document's offsets at a time: those cost eight bytes a
symbol, and only a person who wants to see a passage needs them.
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

# Symbols of a unit that are never parted from each other, in multiples from its begin.
_WHOLE = 128

_NOWHERE = np.empty(0, np.int64)

# Characters a group of texts must have to be read apart from the others: the byte-only path saves
# 7 ns a character, and a reading costs 60 microseconds.
_WORTH_A_GROUP = 8192

# How far from its end a slice is first searched for the last character that counts.
_NEAR = 1024


class PlainText:
    """The reading "text/1": letters and digits of any script."""

    longest_unit = _WHOLE

    def read(self, texts: Sequence[str], *, lines: bool = False) -> Reading:
        """The symbols of some texts, end to end; lines cost a third more.

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
        """The readings of a text's slices, one after the other, for texts too long to be read at once.

        Each ends with a word, or with a line if lines are asked for, so that they read as the whole does.
        A word or line longer than `longest_unit` symbols may be parted after a multiple of so many.

        >>> [(part.symbols.tobytes(), part.words.tolist()) for part in PlainText().readings("a short text")]
        [(b'ashorttext', [0, 1, 6])]
        """
        before = ""
        rest = Reading(np.empty(0, np.uint8), _NOWHERE, _NOWHERE, _NOWHERE)  # begun, but perhaps not complete
        for begin in range(0, max(1, len(text)), slicing.PIECE_CHARACTERS):
            piece = text[begin : begin + slicing.PIECE_CHARACTERS]
            # Read behind the last character that counts and what parts it from the slice, if anything.
            known = len(self.read([before]).symbols)
            new = self.read([before + piece], lines=lines)
            symbols = np.concatenate([rest.symbols, new.symbols[known:]])
            words = _continued(rest.words, new.words, known, len(rest.symbols), len(symbols))
            line_begins = _continued(rest.lines, new.lines, known, len(rest.symbols), len(symbols) * lines)
            before = _ending(before + piece)

            units = line_begins if lines else words
            end = len(symbols)
            if begin + slicing.PIECE_CHARACTERS < len(text) and end:
                end = int(units[-1]) + (end - int(units[-1])) // _WHOLE * _WHOLE
            last_word, last_line = np.searchsorted(words, end), np.searchsorted(line_begins, end)
            yield Reading(symbols[:end], np.array([0, end]), words[:last_word], line_begins[:last_line])
            rest = Reading(symbols[end:], _NOWHERE, words[last_word:] - end, line_begins[last_line:] - end)

    def offsets(self, text: str, positions: I64) -> I64:
        """Where in the original text the symbols at some ascending positions stand.

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
        r"""Where the characters of the symbols at some ascending positions end, and the marks behind them.

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
            found[known:done] = begin + solid[0]  # whose marks may go on from the slice before
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
        """For each place between symbols, the begin and the end among them, whether no character spans it.

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
        """The words of a text as they are compared, one space apart."""
        return canonical(text)


def _check_positions(positions: I64, size: int) -> None:
    """That symbols stand at some ascending positions of a text of so many."""
    if len(positions) and not 0 <= positions[0] <= positions[-1] < size:
        raise IndexError(f"the text has {size} symbols; there is none at {positions[0]} or {positions[-1]}")


def _continued(rest: I64, new: I64, known: int, rest_size: int, size: int) -> I64:
    """Where units begin in what is left and what is new, of which some was known; the first always at 0."""
    begins = np.concatenate([rest, new[np.searchsorted(new, known) :] - known + rest_size])
    return begins if not size or (len(begins) and begins[0] == 0) else np.append(0, begins)


def _ending(text: str) -> str:
    """The last character that counts, and one that parts words or lines if there was one behind it."""
    near = text[-_NEAR:]
    entries = entries_of(codes_of(near))
    if not (entries & COUNT).any():
        near = text
        entries = entries_of(codes_of(near))
    counting = np.flatnonzero(entries & COUNT)
    if not len(counting):
        return ""
    last = int(counting[-1])
    behind = near[last + 1 :]
    if "\n" in behind or "\r" in behind:
        return near[last] + "\n"
    return near[last] + (" " if (entries[last + 1 :] & SEPARATES).any() else "")


def _joined(readings: list[Reading]) -> Reading:
    """Several batches as one."""
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


# The byte-only path: what `bytes.translate` needs to know of ASCII, and of symbols that stand for more.
_KEPT = bytes(code for code in range(256) if code >= 0x80 or chr(code).isalnum())
_LOWER = bytes(range(256)).lower()
_DROPPED = bytes(set(range(256)) - set(_KEPT))
_IS_KEPT = bytes(code in _KEPT for code in range(256))


def _read_ascii(texts: list[str], with_lines: bool) -> Reading:
    return _read_bytes("\n".join(texts).encode("ascii"), texts, with_lines)


def _read_bytes(source: bytes, texts: list[str], with_lines: bool) -> Reading:
    """The reading of texts whose characters are one byte each: letters, digits, symbols or separators."""
    kept = np.zeros(len(source) + 2, bool)
    kept[1:-1] = np.frombuffer(source.translate(_IS_KEPT), bool)
    edges = np.flatnonzero(kept[1:] != kept[:-1])
    begins, ends = edges[::2], edges[1::2]
    words = starts_of(ends - begins)

    def symbols_before(places: I64) -> I64:
        # Exact because every place asked about stands outside words or where one begins.
        before: I64 = words[np.searchsorted(begins, places)]
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
        # One symbol for each letter and no marks, as most of Europe writes: half the cost of what follows.
        source = np.where(entries & SEPARATES, ord(" "), entries & FIRST).astype(np.uint8).tobytes()
        return _read_bytes(source, texts, with_lines)
    counts = counts_of(entries)
    symbols_before = starts_of(counts.astype(np.int64))
    text_begins = starts_of(np.array([len(text) + 1 for text in texts], np.int64))
    text_begins[-1] -= 1
    breaks = _breaks(codes) if with_lines else None

    solid = np.flatnonzero(entries & (COUNT | SEPARATES))  # what neither spells nor separates is not there
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
    """Where the characters that end a line stand."""
    return np.flatnonzero(is_line_end(codes))


def _line_starts(candidates: I64, size: np.int64) -> I64:
    """The ascending candidates without repeats and without the end: lines that hold a symbol."""
    return candidates[(np.diff(candidates, append=size) > 0)]


def _origins(text: str) -> I64:
    """For each symbol, the offset of the character it came from."""
    if text.isascii():
        return np.flatnonzero(np.frombuffer(text.encode("ascii").translate(_IS_KEPT), bool))
    return np.repeat(np.arange(len(text)), counts_of(entries_of(codes_of(text))))
