"""Show small images of picture files on a page, as data URLs.

Takes paths, and returns URLs. With Pillow, a picture is made small; without it, only a small file is shown as
it is. Only JPEG, PNG, GIF and WebP are shown, which can hold no scripts. Must never read or embed more bytes,
nor decode more pixels, than the limits below, and never fail for a damaged picture.
"""

import base64
import contextlib
import io
import os
import struct
import warnings

from docindex.folders.file_reader import NotReadable, read_bytes

_LARGEST_FILE = 20_000_000
"""Bytes of a file that Pillow reads."""

_MOST_PIXELS = 50_000_000

_MOST_UNSCALED = 4_000_000
"""Pixels of a picture that a browser makes small."""

_EMBEDDED = 24_000
"""Bytes of an image on the page."""

_SIDE = 144
"""Pixels of the longer side; a page shows half of them, so that it is sharp on a phone."""

_FORMATS = {b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n\x1a\n": "png", b"GIF8": "gif"}


def thumbnail(path: bytes) -> str:
    """The data URL of a small image; "" if the file is no such picture, or too large, or cannot be read."""
    data = _picture(path)
    if data is None:
        return ""
    kind = _kind_of(data)
    if (small := _scaled(data, kind)) is not None:
        return small
    width, height = _dimensions(data, kind)
    return _url(data, kind) if len(data) <= _EMBEDDED and 0 < width * height <= _MOST_UNSCALED else ""


def _picture(path: bytes) -> bytes | None:
    """The bytes of a picture file."""
    try:
        if os.stat(path).st_size > _LARGEST_FILE:
            return None
        return read_bytes(path, lambda head: _kind_of(head) != "")[1]
    except (NotReadable, OSError, ValueError):
        return None


def _kind_of(head: bytes) -> str:
    """The format of a picture by its first bytes; "" for any other file."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":  # songs and videos begin with RIFF, too
        return "webp"
    return next((name for start, name in _FORMATS.items() if head.startswith(start)), "")


def _scaled(data: bytes, kind: str) -> str | None:
    """The data URL that Pillow makes; "" for a picture that it cannot read, None without Pillow."""
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=[kind]) as image:
                if image.width * image.height > _MOST_PIXELS:
                    return ""
                image.draft("RGB", (_SIDE, _SIDE))
                image.thumbnail((_SIDE, _SIDE))
                small = io.BytesIO()
                image.convert("RGB").save(small, "jpeg", quality=70)
    # A damaged picture may raise nearly any error in Pillow.
    except Exception:
        return ""
    return _url(small.getvalue(), "jpeg") if small.tell() <= _EMBEDDED else ""


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
