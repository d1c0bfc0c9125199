"""List the files in zip archives as parts. Only used if archives are asked for.

A part has the path of its member as its name. Members that are encrypted, damaged or too large are left out
with a warning. A name is only a name: nothing is ever written.
"""

import zipfile
import zlib
from lzma import LZMAError

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.part_list import MOST_PART_BYTES, PartList
from docindex.frontends.safe_zip import opened_zip

_SIGNATURES = (b"pk\x03\x04", b"pk\x05\x06")
_MOST_WORK = 2 * MOST_PART_BYTES
"""The bytes that are inflated, also in vain for members that are left out."""

_DAMAGE = (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, RuntimeError, ValueError)
"""What the standard library raises for members that are damaged or compressed in an unknown way."""


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The members of a zip archive."""
    archive = opened_zip(data)
    parts, encrypted, work = PartList(), 0, 0
    for info in archive.infolist():
        if info.is_dir() or _is_link(info):
            continue
        if info.flag_bits & 1:
            encrypted += 1
        elif info.file_size > parts.left or work > _MOST_WORK:
            parts.leave_out()
        else:
            work += _add_member(parts, archive, info)
    if encrypted and not parts.parts:
        raise NotExtracted("encrypted", "its members need a password")
    builder = TextBuilder()
    if encrypted:
        builder.warn(f"{encrypted:,} members need a password.")
    for sentence in parts.warnings():
        builder.warn(sentence)
    return builder.extracted(parts=parts.parts)


def _add_member(parts: PartList, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Add a member; returns the number of bytes that were inflated for it."""
    try:
        with archive.open(info) as file:
            data = file.read(parts.left + 1)
    except _DAMAGE:
        parts.leave_out()
        return info.file_size
    parts.add(info.filename, data)
    return len(data)


def _is_link(info: zipfile.ZipInfo) -> bool:
    return info.external_attr >> 28 == 0xA  # S_IFLNK, in archives that were made on Unix


FRONT_END = FrontEnd(
    "zip",
    1,
    extract,
    _SIGNATURES,
    lambda data: data[:4].lower() in _SIGNATURES,
    frozenset({".zip"}),
    frozenset({"application/zip", "application/x-zip-compressed"}),
)
