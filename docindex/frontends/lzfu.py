"""Decompress RTF as Outlook compresses it (LZFu, MS-OXRTFCP)."""

import struct

from docindex.frontends.failures import NotExtracted

_DICTIONARY = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_WINDOW = 4096
_COMPRESSED, _PLAIN = 0x75465A4C, 0x414C454D


def decompressed_rtf(data: bytes) -> bytes:
    r"""The RTF in the property of a message; `NotExtracted` if it holds no RTF.

    >>> head = bytes.fromhex("2d0000002b0000004c5a4675f1c5c7a7")
    >>> body = bytes.fromhex("03000a007263706731323542320af32068656c090020627705b06c647d0a800fa0")
    >>> decompressed_rtf(head + body)
    b'{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n'
    """
    if len(data) < 16:
        raise NotExtracted("damaged", "its compressed RTF is too short")
    size, _, kind, _ = struct.unpack_from("<4I", data)
    if kind == _PLAIN:
        return data[16:]
    if kind != _COMPRESSED:
        raise NotExtracted("damaged", "its RTF is compressed in an unknown way")
    return _inflated(data[16 : size + 4])


def _inflated(data: bytes) -> bytes:
    """Bytes and references to a window, eight of them after each byte of flags."""
    found = bytearray(_DICTIONARY)
    position = 0
    while position < len(data):
        flags = data[position]
        position += 1
        for bit in range(8):
            if not flags >> bit & 1:
                found += data[position : position + 1]
                position += 1
                continue
            if position + 2 > len(data):
                return bytes(found[len(_DICTIONARY) :])
            reference = data[position] << 8 | data[position + 1]
            position += 2
            distance = (len(found) - (reference >> 4)) % _WINDOW
            if distance == 0:  # a reference to the place of writing is the end
                return bytes(found[len(_DICTIONARY) :])
            _copy(found, distance, (reference & 15) + 2)
    return bytes(found[len(_DICTIONARY) :])


def _copy(found: bytearray, distance: int, count: int) -> None:
    """Append bytes that stand some bytes before the end; they may overlap what is appended."""
    if distance > len(found):
        raise NotExtracted("damaged", "its compressed RTF refers to bytes before its beginning")
    for _ in range(count):
        found.append(found[-distance])
