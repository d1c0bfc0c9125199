"""Show small images of picture files on a page, as data URLs.

Takes paths, and returns URLs. With Pillow, a picture is made small, in the process that extracts texts;
without it, only a small file is shown as it is. Only JPEG, PNG, GIF and WebP are shown, which can hold no
scripts. Must never read or embed more bytes than the limits below, decode a picture in this process, or fail
for a damaged one.
"""

import base64
import contextlib
import os
import struct

from docindex.folders.walking.file_reader import NotReadable, read_bytes
from docindex.frontends.failures import NotExtracted
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.picture import FRONT_END

_MOST_UNSCALED = 4_000_000
"""Pixels of a picture that a browser makes small."""

_EMBEDDED = 24_000
"""Bytes of an image on the page."""

_FORMATS = {b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n\x1a\n": "png", b"GIF8": "gif"}


def thumbnail(path: bytes, extractor: Extractor) -> str:
    """The data URL of a small image; "" if the file is no such picture, or too large, or cannot be read."""
    data = _picture(path)
    if data is None:
        return ""
    kind = _kind_of(data)
    if (small := _scaled(data, extractor)) is not None:
        return small
    width, height = _dimensions(data, kind)
    return _url(data, kind) if len(data) <= _EMBEDDED and 0 < width * height <= _MOST_UNSCALED else ""


def _picture(path: bytes) -> bytes | None:
    """The bytes of a picture file."""
    try:
        if os.stat(path).st_size > FRONT_END.most_bytes:
            return None
        return read_bytes(path, lambda head: _kind_of(head) != "")[1]
    except (NotReadable, OSError, ValueError):
        return None


def _kind_of(head: bytes) -> str:
    """The format of a picture by its first bytes; "" for any other file."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":  # songs and videos begin with RIFF, too
        return "webp"
    return next((name for start, name in _FORMATS.items() if head.startswith(start)), "")


def _scaled(data: bytes, extractor: Extractor) -> str | None:
    """The data URL that Pillow makes; "" for a picture that it cannot read, None without Pillow."""
    try:
        (small,) = extractor.extract(Source(data, format=FRONT_END.name)).parts
    except NotExtracted as error:
        return None if error.reason == "not installed" else ""
    return _url(small.data, "jpeg") if len(small.data) <= _EMBEDDED else ""


def _dimensions(data: bytes, kind: str) -> tuple[int, int]:
    """The width and the height that the header of a picture names; zeros if it names none."""
    with contextlib.suppress(struct.error):
        if kind == "png":
            return struct.unpack_from(">II", data, 16)
        if kind == "gif":
            return struct.unpack_from("<HH", data, 6)
        if kind == "jpeg":
            return _jpeg_dimensions(data)
    return 0, 0


def _jpeg_dimensions(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        marker, code, length = struct.unpack_from(">BBH", data, at)
        if marker != 0xFF or length < 2:
            return 0, 0
        if 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length


def _url(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
