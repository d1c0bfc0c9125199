"""Make the table of Unicode code points that readings use: `python3.14 -m tests.unicode_tables`.

The table is made from the Unicode 16.0.0 data of Python 3.14, and this script refuses any other version.
`folded` is the definition in plain Python. A test compares the table with it, for every code point that the
running Python knows.

A code point is one of these:

- A letter, number or picture, or a mark that carries meaning. It becomes one or more *letters*: the code
  points of its NFKD, casefolded. A letter is *narrow* (one symbol) or *wide* (two).
- A separator.
- A sign that is left out and separates nothing: accents, points, joiners, direction signs.
"""

import itertools
import sys
import unicodedata
import zlib
from pathlib import Path

import numpy as np

VERSION = "16.0.0"
FILE = Path(__file__).parents[1] / "docindex" / "reading" / "unicode-16.0.0.table"

LETTER = (1 << 21) - 1
WIDE, STARTS, ENDS = 1 << 21, 1 << 22, 1 << 23  # two symbols; a word starts before it; a word ends after it
SEPARATOR, BLANK, LEFT_OUT, INVISIBLE, VOICED, HALF_VOICED = -1, -2, -3, -4, -5, -6
SEQUENCE = -7  # the first number of a sequence; the next one is -8
_VOICING = {0x3099: VOICED, 0x309A: HALF_VOICED}


def members(*ranges):
    """All numbers of ranges, each given by its first and last number."""
    return frozenset(itertools.chain.from_iterable(range(first, last + 1) for first, last in ranges))


LEFT_OUT_MARKS = members(
    (0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F),  # accents
    (0x0483, 0x0489), (0xA66F, 0xA67D), (0xA69E, 0xA69F), (0x2DE0, 0x2DFF), (0x1E08F, 0x1E08F),  # Cyrillic
    (0x1E000, 0x1E02A), (0x2CEF, 0x2CF1),  # Glagolitic and Coptic, which are written like Cyrillic and Greek
    (0x0591, 0x05C7), (0xFB1E, 0xFB1E), (0x0816, 0x082D), (0x0859, 0x085B),  # Hebrew, Samaritan, Mandaic
    (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06ED), (0x0897, 0x08FF),  # Arabic
    (0x10EC0, 0x10EFF), (0x0711, 0x0711), (0x0730, 0x074A), (0x10F46, 0x10F50),  # Arabic, Syriac, Sogdian
    (0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x180B, 0x180F), (0x17B4, 0x17B5),  # they select or show nothing
)  # fmt: skip
"""Marks that an ordinary text of the script leaves out, or that change only the look of a letter.

Every other mark counts as a letter: vowel signs, viramas, nuktas, tones, voicing.
"""

PICTURES = members(
    (0x231A, 0x231B), (0x2328, 0x2328), (0x23CF, 0x23CF), (0x23E9, 0x23FA),  # watch, keyboard, media buttons
    (0x2400, 0x245F),  # pictures of control characters, signs of OCR
    (0x2600, 0x26FF), (0x2700, 0x275A), (0x2763, 0x2765),  # weather, chess, stars (ratings), hearts, ticks
    (0x2795, 0x2797), (0x27B0, 0x27B0), (0x27BF, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B59),  # other emoji
    (0x2E80, 0x2FFF), (0x31C0, 0x31EF), (0x4DC0, 0x4DFF), (0xA490, 0xA4CF),  # parts of ideographs, hexagrams
    (0xFD40, 0xFD4F), (0xFDCF, 0xFDCF), (0xFDFD, 0xFDFF),  # Arabic phrases as one sign
    (0x10100, 0x101FF), (0x11FC0, 0x11FFF),  # ancient measures, Phaistos disc; Tamil fractions and measures
    (0x1CF50, 0x1D35F), (0x1D800, 0x1DAAF),  # musical notation, Tai Xuan Jing; SignWriting
    (0x1F000, 0x1F64F), (0x1F680, 0x1F77F), (0x1F7E0, 0x1F7F0), (0x1F900, 0x1FAFF),  # games, emoji, alchemy
)  # fmt: skip
"""Symbols of the categories So, Sm and Sk that a reader would call a picture, or that write something.

Skin tones and regional indicators are among them. Signs that lay out or join a text stay separators, as
their ASCII relatives are: box drawing, block elements, geometric shapes (bullets), ornaments, arrows, math
operators, APL, currencies, (C) and (R), the degree sign.
"""

LETTERS_BY_MEANING = members((0x02E5, 0x02EB), (0xA700, 0xA721), (0x2801, 0x28FF), (0xE0030, 0xE007A))
"""Tone letters; Braille; the tags that tell the flag of Scotland from that of Wales."""

WIDE_LETTERS = members(
    (0x1200, 0x139F), (0x2D80, 0x2DDF), (0xAB00, 0xAB2F), (0x1E7E0, 0x1E7FF),  # Ethiopic
    (0x1400, 0x167F), (0x18B0, 0x18FF), (0x11AB0, 0x11ABF),  # Canadian syllabics
    (0x2800, 0x28FF), (0xA500, 0xA63F), (0xA6A0, 0xA6FF), (0x16800, 0x16A3F),  # Braille, Vai, Bamum
    (0x10600, 0x1077F), (0x1E800, 0x1E8DF), (0x1BC00, 0x1BCAF),  # Linear A, Mende Kikakui, Duployan
    (0x1CF00, 0x1CF4F), (0x1D165, 0x1D244), (0x1DA00, 0x1DAAF),  # marks of music and SignWriting
)  # fmt: skip
"""Scripts of more than 128 letters. With one symbol, some of their letters would read alike."""

IDEOGRAPHS = members(
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF), (0x20000, 0x3FFFD), (0xA000, 0xA48F), (0x16FE0, 0x18DFF),  # CJK, Yi, Tangut
    (0x1B100, 0x1B2FF), (0x10000, 0x100FF), (0x12000, 0x1254F),  # Nushu, Linear B, cuneiform
    (0x13000, 0x143FF), (0x14400, 0x1467F),  # hieroglyphs
)  # fmt: skip
"""Scripts of more than 128 letters without spaces: wide, and each is a word by itself."""

UNSPACED = members(
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x3098), (0x309B, 0x309F),
    (0xA9E0, 0xA9FF), (0xAA60, 0xAADF), (0x1950, 0x19DF), (0x1A20, 0x1AAF),
    (0x1B00, 0x1B7F), (0xA980, 0xA9DF),
)  # fmt: skip
"""Thai, Lao, Myanmar, Khmer, Hiragana, Tai, Balinese and Javanese, which have no spaces between words: each
letter and each sign is a word by itself. A run of Katakana is usually one word.
"""

_ZERO_WIDTH_SPACE = 0x200B
"""Unicode calls it a format character, but people type it to separate words."""

_NEVER_LETTERS = members((0xFDD0, 0xFDEF), (0xFFF0, 0xFFFF), (0x1FBCB, 0x1FBEF), (0x1F650, 0x1F67F))
_INVISIBLE = members((0xE0000, 0xE0FFF), (0x2065, 0x2065))


def is_known(code):
    """Whether this Python's Unicode data has the code point."""
    return unicodedata.category(chr(code)) != "Cn"


def _kind(code):
    """What one code point without decomposition is: a letter with its flags, or a kind below 0."""
    category = unicodedata.category(chr(code))
    if code in _VOICING:
        return _VOICING[code]
    if code in PICTURES and category in {"So", "Sm", "Sk", "Cn"}:
        return code | WIDE | STARTS | ENDS
    if category == "Cn":
        return _unknown(code)
    if (
        category[0] in "LN"
        or code in LETTERS_BY_MEANING
        or (category[0] == "M" and code not in LEFT_OUT_MARKS)
    ):
        wide = code in WIDE_LETTERS or code in IDEOGRAPHS
        alone = code in UNSPACED or code in IDEOGRAPHS
        return code | wide * WIDE | alone * (STARTS | ENDS)
    if category[0] == "M":
        return INVISIBLE if code in _INVISIBLE or 0xFE00 <= code <= 0xFE0F else LEFT_OUT
    if category == "Cf" and code != _ZERO_WIDTH_SPACE:
        return INVISIBLE
    return BLANK if category in {"Zs", "Zl", "Zp", "Cc"} or code == 0x2800 else SEPARATOR


def _unknown(code):
    """A code point that Unicode has not assigned yet will be a letter or an ideograph, or is no character."""
    if code in _INVISIBLE:
        return INVISIBLE
    if code in _NEVER_LETTERS or code & 0xFFFE == 0xFFFE or code in members((0xFE00, 0xFEFF)):
        return SEPARATOR
    return code | WIDE | (STARTS | ENDS if code in IDEOGRAPHS else 0)


def folded(code):
    """The letters of a code point with their flags, and the separators between them."""
    char, before = chr(code), ""
    while char != before:
        before, char = char, unicodedata.normalize("NFKD", char).casefold()
    found = [_kind(ord(part)) for part in char]
    if len(found) == 1:
        return tuple(found)
    kept = [SEPARATOR if kind == BLANK else kind for kind in found if kind not in (LEFT_OUT, INVISIBLE)]
    return _voiced(kept) or (LEFT_OUT,)


def _voiced(kinds):
    """The kinds with each voicing mark as a part of its kana's word."""
    done = []
    for kind in kinds:
        if kind not in (VOICED, HALF_VOICED):
            done.append(kind)
            continue
        ends = done[-1] & ENDS if done and done[-1] > 0 else 0
        if ends:
            done[-1] -= ends
        done.append((0x3099 if kind == VOICED else 0x309A) | ends)
    return tuple(done)


def table():
    """The table as the bytes of its file."""
    values, sequences = np.zeros(0x110000, "<i4"), {}
    for code in range(0x110000):
        found = folded(code)
        if len(found) > 1:
            values[code] = SEQUENCE - sequences.setdefault(found, len(sequences))
        else:
            values[code] = found[0]
    # Letters are written as differences from the code point, so that many pages are equal.
    letters = values >= 0
    values[letters] = (values - np.arange(0x110000))[letters] % (1 << 24)
    pages, index = np.unique(values.reshape(-1, 256), axis=0, return_inverse=True)
    items = [kind for found in sequences for kind in found]
    numbers = [
        [len(pages), len(sequences), len(items)],
        index.reshape(-1),
        pages.reshape(-1),
        [len(found) for found in sequences],
        items,
    ]
    packed = np.concatenate([np.asarray(part, "<i4") for part in numbers])
    # Differences of neighbours take 23 KB when compressed, the numbers themselves 58 KB.
    return f"Unicode {VERSION}\n".encode() + zlib.compress(
        np.diff(packed, prepend=0).astype("<i4").tobytes(), 9
    )


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"this needs Unicode {VERSION}, as Python 3.14 has it; found {unicodedata.unidata_version}")
    FILE.write_bytes(table())
    print(FILE, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
