"""Make a small image of a picture file, in the process that extracts texts: a hostile picture may end it.

Gives one part, the image as a JPEG. No source is recognised to be a picture: only the report of copies asks
for this format, by its name. It needs Pillow.
"""

import io
import warnings

from docindex.frontends.extracted import Extracted, SourcePart
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd

SIDE = 144
"""Pixels of the longer side; a page shows half of them, so that it is sharp on a phone."""

_MOST_PIXELS = 50_000_000
_KINDS = ("JPEG", "PNG", "GIF", "WEBP")
"""None of them can hold scripts."""


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The small image; `NotExtracted` for a picture with too many pixels."""
    from PIL import Image

    small = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(data), formats=_KINDS) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise NotExtracted("too large", f"it has more than {_MOST_PIXELS:,} pixels")
            image.draft("RGB", (SIDE, SIDE))
            image.thumbnail((SIDE, SIDE))
            image.convert("RGB").save(small, "jpeg", quality=70)
    return Extracted("", parts=(SourcePart("image.jpg", small.getvalue()),))


FRONT_END = FrontEnd("picture", 1, extract, most_bytes=20_000_000, package="pillow")
