"""Decide which paths a walk leaves out: by the caller's patterns and by the ``.gitignore`` files it meets.

The lines of a ``.gitignore`` mean what they mean to Git on Linux. Must never stop a walk: an unreadable file
has no rules, a pattern that is not valid matches nothing, and no pattern takes long: a file of m bytes and a
name of n bytes take m * n / 64 steps at most.
"""

import codecs
import fnmatch
import os
import re
from collections.abc import Iterable, Sequence

from docindex.folders.walking.file_reader import BEGINNING, NotReadable, beginning_of

IGNORE_FILE = b".gitignore"


class IgnoreRules:
    """The rules below one root, for a walk that goes depth first."""

    def __init__(self, root: bytes, exclude: Sequence[str]) -> None:
        self._root = root
        self._exclude = [os.fsencode(pattern) for pattern in exclude]
        self._files: dict[bytes, IgnoreFile] = {}
        self._folder: bytes | None = None
        self._begun: list[tuple[IgnoreFile, int]] = []
        """The rules for the entries of this folder, nearest first, and their states in front of a name."""
        self.exist = bool(exclude)
        """Whether a path may be refused."""

    def read(self, folder: bytes) -> None:
        """Add the rules of the ``.gitignore`` in a folder, and forget those of folders that were left."""
        try:
            data = beginning_of(os.path.join(folder, IGNORE_FILE))
        except NotReadable:
            return
        if len(data) == BEGINNING:  # the last line may be cut
            data = data[: data.rfind(b"\n") + 1]
        inside = folder.rstrip(b"/") + b"/"
        self._files = {base: file for base, file in self._files.items() if inside.startswith(base)}
        self._files[inside] = IgnoreFile(data)
        self._folder = None
        self.exist = True

    def refused(self, path: bytes, *, is_folder: bool) -> str | None:
        """The reason to leave a path out ("excluded" or "ignored"), or None."""
        folder, _, name = path.rpartition(b"/")
        if self._exclude:
            below = path[len(self._root) :].lstrip(b"/")
            if any(fnmatch.fnmatchcase(text, pattern) for pattern in self._exclude for text in (name, below)):
                return "excluded"
        if folder != self._folder:
            inside, self._folder = folder + b"/", folder
            self._begun = [
                (file, file.state_after(inside[len(base) :], file.start))
                for base, file in reversed(self._files.items())
                if inside.startswith(base)
            ]
        for file, state in self._begun:
            is_ignored = file.is_ignored(file.state_after(name, state), is_folder=is_folder)
            if is_ignored is not None:
                return "ignored" if is_ignored else None
        return None


class IgnoreFile:
    """The rules of one ``.gitignore`` as one automaton, whose states are the bits of an integer.

    A pattern of n tokens has n + 1 neighbouring states: how many of its tokens were read. Each byte of a path
    moves on the states that may read it by one, and the states of stars also stay.

    >>> rules = IgnoreFile(b"*.log")
    >>> rules.is_ignored(rules.state_after(b"build/a.log", rules.start), is_folder=False)
    True
    """

    def __init__(self, data: bytes) -> None:
        read_by: list[bytes] = []  # the bytes that each state may read
        marked: dict[str, list[int]] = {_STAR: [], _ANYTHING: [], _FOLDERS: []}
        starts, ends, file_ends, kept_ends = [], [], [], []
        for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
            rule = _without_trailing_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
            pattern = rule.removeprefix(b"!")
            if not pattern or line.startswith(b"#"):
                continue
            try:
                tokens = _tokens(pattern.removesuffix(b"/"))
            except (LookupError, ValueError):
                continue
            starts.append(len(read_by))
            for token in tokens:
                if isinstance(token, bytes):
                    read_by.append(token)
                    continue
                marked[token].append(len(read_by))
                if token is _FOLDERS:
                    read_by.append(b"/")
            ends.append(len(read_by))
            if not pattern.endswith(b"/"):
                file_ends.append(len(read_by))
            if rule.startswith(b"!"):
                kept_ends.append(len(read_by))
            read_by.append(b"")
        size = len(read_by)
        self._ends, self._file_ends, self._kept_ends = (
            _bits(places, size) for places in (ends, file_ends, kept_ends)
        )
        skips = _bits(marked[_FOLDERS], size)
        everywhere = _bits(marked[_ANYTHING], size) | skips
        in_names = _bits(marked[_STAR], size) | everywhere
        self._steps = [
            (moving, everywhere if byte == ord("/") else in_names, skips & moving << 1)
            for byte, moving in enumerate(_moving(read_by))
        ]
        first = _bits(starts, size)
        self.start = first | (first & skips) << 1
        """The states in front of a path."""

    def state_after(self, text: bytes, state: int) -> int:
        """The states after some bytes of a path."""
        steps = self._steps
        for byte in text:
            moving, staying, skips = steps[byte]
            moved = (state & moving) << 1
            if skips:
                moved |= (moved & skips) << 1
            state = moved | state & staying
        return state

    def is_ignored(self, state: int, *, is_folder: bool) -> bool | None:
        """Whether the path that was read is ignored; None if no pattern matches it. The last one decides."""
        last = (state & (self._ends if is_folder else self._file_ends)).bit_length() - 1
        return None if last < 0 else not self._kept_ends >> last & 1


_STAR = "any bytes of a name"
_ANYTHING = "any bytes"
_FOLDERS = "any folders, each with its slash, or nothing"

_ALL = bytes(range(256))
_NO_SLASH = _ALL.translate(None, b"/")
_WILDCARD, _END = re.compile(rb"[*?[\\]"), re.compile(rb"\\?/|\Z")
_LETTERS, _DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"
_PRINTED = bytes(range(0x21, 0x7F))
# As Git has them: bytes above 127 are in none of them, and a form feed is no space.
_CLASSES = {
    b"alnum": _LETTERS + _LETTERS.lower() + _DIGITS,
    b"alpha": _LETTERS + _LETTERS.lower(),
    b"blank": b" \t",
    b"cntrl": bytes([*range(1, 0x20), 0x7F]),
    b"digit": _DIGITS,
    b"graph": _PRINTED,
    b"lower": _LETTERS.lower(),
    b"print": b" " + _PRINTED,
    b"punct": _PRINTED.translate(None, _LETTERS + _LETTERS.lower() + _DIGITS),
    b"space": b" \t\n\r",
    b"upper": _LETTERS,
    b"xdigit": _DIGITS + b"ABCDEFabcdef",
}


def _without_trailing_spaces(line: bytes) -> bytes:
    """The line without the spaces at its end, but with one behind a backslash that is not itself escaped."""
    kept = line.rstrip(b" ")
    is_escaped = (len(kept) - len(kept.rstrip(b"\\"))) % 2 == 1
    return line[: len(kept) + is_escaped]


def _tokens(pattern: bytes) -> list[bytes | str]:
    """The bytes that each place of a pattern may stand for, and marks for its stars.

    `LookupError` or `ValueError` if the pattern ends within a class or behind a backslash, or if it names an
    unknown class.
    """
    is_path = b"/" in pattern
    tokens: list[bytes | str] = [] if is_path else [_FOLDERS]
    pattern = pattern.removeprefix(b"/")
    at, wildcard = 0, _WILDCARD.search(pattern)
    while at < len(pattern):
        begin, sign, at = at, pattern[at : at + 1], at + 1
        if sign == b"*":
            while pattern[at : at + 1] == b"*":
                at += 1
            # Git compares the bytes in front of the first wildcard by themselves: there, a** is like a/**.
            begins = (wildcard and wildcard.start() == begin) or pattern[begin - 1] == ord("/")
            if not (is_path and at - begin > 1 and begins and _END.match(pattern, at)):
                tokens.append(_STAR)
            elif pattern[at : at + 1] != b"/":
                tokens.append(_ANYTHING)
            else:
                at += 1
                if tokens[-1:] != [_FOLDERS]:
                    tokens.append(_FOLDERS)
        elif sign == b"?":
            tokens.append(_NO_SLASH)
        elif sign == b"[":
            members, at = _class(pattern, at)
            tokens.append(members)
        else:
            at += sign == b"\\"
            tokens.append(bytes([pattern[at - 1]]))
    return tokens


def _class(pattern: bytes, at: int) -> tuple[bytes, int]:
    """The bytes that the class behind a bracket may stand for, and its end."""
    is_negated = pattern[at] in b"!^"
    first = at = at + is_negated
    members: set[int] = set()
    before = close = 0  # the byte that a range may begin with, and the next bracket that closes
    while pattern[at] != ord("]") or at == first:
        if pattern.startswith(b"[:", at) and close < at + 2:
            close = pattern.index(b"]", at + 2)
        if pattern[at] == ord("-") and before and pattern[at + 1] != ord("]"):
            at += 1 + (pattern[at + 1] == ord("\\"))
            members.update(range(before, pattern[at] + 1))
            before = 0
        elif pattern.startswith(b"[:", at) and close > at + 2 and pattern[close - 1] == ord(":"):
            members.update(_CLASSES[pattern[at + 2 : close - 1]])
            before, at = 0, close
        else:
            at += pattern[at] == ord("\\")
            before = pattern[at]
            members.add(before)
        at += 1
    found = bytes(members - {ord("/")})
    return _NO_SLASH.translate(None, found) if is_negated else found, at + 1


def _moving(read_by: Sequence[bytes]) -> list[int]:
    """For each byte, the states that may read it."""
    size = len(read_by) // 8 + 1
    most, others = bytearray(size), [bytearray(size) for _ in range(256)]
    for state, members in enumerate(read_by):
        place, bit = state >> 3, 1 << (state & 7)
        if len(members) > 128:  # all bytes, except for the fewer others
            most[place] |= bit
            members = _ALL.translate(None, members)
        for byte in members:
            others[byte][place] |= bit
    for_most = int.from_bytes(most, "little")
    return [int.from_bytes(row, "little") ^ for_most for row in others]


def _bits(places: Iterable[int], size: int) -> int:
    """The integer with bits at some places, all below the size."""
    row = bytearray(size // 8 + 1)
    for place in places:
        row[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(row, "little")
