"""Decode the bytes of a plain text file: UTF-8, UTF-16, the encodings of many scripts, or one that is forced.

In: the bytes of a file or a pipe. Out: the text, the name of its encoding, and whether that encoding is
only a guess; or None for bytes that are not text. Every command reads text through this module, so that
all of them give the same text for the same file. Must never open a file, nor give a text in an encoding that
is only one of several that fit.
"""

import codecs
import dataclasses
import re

from docindex.frontends.encodings.detection import detect, read_strictly

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: ("utf-8-sig", "utf-8"),
    codecs.BOM_UTF32_LE: ("utf-32", "utf-32"),  # begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: ("utf-32", "utf-32"),
    codecs.BOM_UTF16_LE: ("utf-16", "utf-16"),
    codecs.BOM_UTF16_BE: ("utf-16", "utf-16"),
}
"""For each byte order mark: the codec that removes the mark, and the name of the encoding."""

# Control characters that text files do not contain. Tabs, line ends, form feeds and escape sequences do occur
# in old text files.
_CONTROLS = bytes(set(range(32)) - {9, 10, 12, 13, 27})
_OTHERS = bytes(sorted(set(range(256)) - set(_CONTROLS)))
_CONTROL = re.compile(f"[{re.escape(_CONTROLS.decode())}]")

_ESCAPE = b"\x1b"
_JAPANESE_ESCAPES = (b"\x1b$B", b"\x1b$@")
"""The sequences that begin Japanese in ISO-2022-JP, all of whose bytes are ASCII."""

_NOT_ASCII = bytes(range(128, 256))

_FEW_ERRORS = 20
"""A text is UTF-8 with errors if it has this many characters outside ASCII for each error: for example a
change log with one line in another encoding, or a file that was cut off inside a character."""


class UndetectedEncoding(ValueError):
    """The bytes seem to be text, but its encoding cannot be detected."""


@dataclasses.dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and the encoding it was decoded from."""

    text: str
    encoding: str
    """Python's name of the encoding; `decode` accepts it as `encoding`."""
    guessed: bool
    """True if nothing in the bytes confirms the encoding, and the caller did not force it."""


def decode(data: bytes, encoding: str | None = None) -> Decoded | None:
    """The text of some bytes, or None if they are not text.

    Without `encoding`: UTF-8 with or without a byte order mark, UTF-16 and UTF-32 with one, otherwise the
    encoding that `encodings.detection` finds, as a guess. Bytes with control characters that text files do
    not contain are not text. `UndetectedEncoding` if no encoding is likely enough.

    With `encoding`: that encoding, strictly, without a leading byte order mark. Bytes that decode to a NUL
    are not text: a scan with a forced encoding must still skip images and programs. `ValueError` if Python
    does not know the encoding, or the bytes are not valid in it.

    >>> decode("Größe".encode())
    Decoded(text='Größe', encoding='utf-8', guessed=False)
    >>> decode("Größe".encode("latin-1"))
    Decoded(text='Größe', encoding='windows-1252', guessed=True)
    >>> decode("Größe".encode("cp850"), "cp850").text
    'Größe'
    >>> decode("Größe".encode("cp850"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    docindex.frontends.encodings.text.UndetectedEncoding: the bytes are not UTF-8, ...
    >>> decode(b"PNG" + bytes(9)) is None
    True
    """
    if encoding is not None:
        return _decode_forced(data, encoding)
    for mark, (codec, name) in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            try:
                text = data.decode(codec)
            except UnicodeDecodeError:
                continue
            return None if _CONTROL.search(text) else Decoded(text, name, guessed=False)
    if _has_control(data):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_detected(data)
    return _decode_escaped(data) or Decoded(text, "utf-8", guessed=False)


def _has_control(data: bytes) -> bool:
    """Whether some bytes have a control character. A regular expression takes five times as long."""
    return bool(data.translate(None, _OTHERS))


def looks_binary(head: bytes, encoding: str | None = None) -> bool:
    """Whether the first bytes of a file show that `decode` will find no text in it.

    The caller need not read the rest of such a file. `ValueError` if Python does not know the encoding.

    >>> looks_binary(b"PNG" + bytes(9)), looks_binary("plain".encode("utf-16"))
    (True, False)
    >>> looks_binary("plain".encode("utf-16-le")), looks_binary("plain".encode("utf-16-le"), "utf-16-le")
    (True, False)
    """
    if b"\0" not in head:
        return False
    if encoding is None:
        return not head.startswith(tuple(_BYTE_ORDER_MARKS))
    check_encoding(encoding)
    return b"\0" not in "a".encode(encoding)  # UTF-16 and UTF-32 write ASCII letters with NUL bytes


def check_encoding(encoding: str) -> None:
    """Raise `ValueError` unless Python knows a text encoding of this name.

    >>> check_encoding("utf-9")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: unknown encoding 'utf-9'; expected a text encoding that Python knows, ...
    """
    try:
        codecs.lookup(encoding)
        "a".encode(encoding)  # codecs.lookup also accepts codecs that do not encode text, such as "hex"
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"unknown encoding {encoding!r}; expected a text encoding that Python knows, "
            "for example utf-8, utf-16, cp1252 or shift_jis"
        ) from error


def _decode_forced(data: bytes, encoding: str) -> Decoded | None:
    check_encoding(encoding)
    name = codecs.lookup(encoding).name
    try:
        text = data.decode(name)
    except UnicodeError as error:
        raise ValueError(
            f"the bytes are not valid {name} ({error}); "
            "give the encoding that they were written in, or give no encoding to detect it"
        ) from error
    return None if "\0" in text else Decoded(text.removeprefix("\ufeff"), name, guessed=False)


def _decode_escaped(data: bytes) -> Decoded | None:
    """Japanese in ISO-2022-JP; None for any other text."""
    # One byte is found ten times as fast as two longer sequences, and most texts do not have it.
    if _ESCAPE not in data or not any(escape in data for escape in _JAPANESE_ESCAPES):
        return None
    try:
        return Decoded(data.decode("iso2022_jp"), "iso2022_jp", guessed=True)
    except UnicodeDecodeError:  # the escape sequences of a terminal
        return None


def _decode_detected(data: bytes) -> Decoded:
    """Text that is not UTF-8, or is UTF-8 with few errors."""
    text = data.decode("utf-8", "replace")
    errors = text.count("\ufffd")
    if _FEW_ERRORS * errors <= len(text) - len(data.translate(None, _NOT_ASCII)) - errors:
        return Decoded(text, "utf-8", guessed=True)
    found = detect(data)
    read = None if found is None else read_strictly(data, found)
    if found is None or read is None:
        raise UndetectedEncoding(
            "the bytes are not UTF-8, and no other encoding is certain enough; "
            "give the encoding that they were written in"
        )
    return Decoded(read, found, guessed=True)
