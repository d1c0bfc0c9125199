"""List the files in tar archives as parts, also compressed ones. Only used if archives are asked for.

A part has the path of its member as its name. Links and devices are skipped; what exceeds the limits is left
out with a warning. A name is only a name: nothing is ever written. The archive is read as a stream, once.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zlib

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.part_list import MOST_PART_BYTES, MOST_PARTS, PartList

_MOST_WORK = 2 * MOST_PART_BYTES
"""The bytes that are decompressed, also for members that are left out."""

_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"
_BLOCK = 512
_MOST_DICTIONARY = 1 << 28
_BEGINNINGS = {_GZIP: 1 << 12, _BZIP2: 1 << 20, _XZ: 1 << 20}
"""How many bytes of a compressed file give its first block; bzip2 compresses 900,000 bytes at once."""

_CUT = "The archive is too large: its end was left out."
_DAMAGE = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RecursionError)
"""What the standard library raises for damaged archives; a recursion for each header of a long name."""


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The members of a tar archive."""
    stream = _BoundedStream(_opened(data), _MOST_WORK)
    builder, parts = TextBuilder(), PartList()
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for number, member in enumerate(archive):
                if not parts.left or number == MOST_PARTS:
                    builder.warn(_CUT)
                    break
                _add_member(parts, archive, member)
    except _DAMAGE as error:
        if not parts.parts:
            raise _refusal(stream, error) from error
        count = len(parts.parts)
        builder.warn(_CUT if stream.is_full else f"The archive is damaged after the file number {count:,}.")
    for sentence in parts.warnings():
        builder.warn(sentence)
    return builder.extracted(parts=parts.parts)


def _refusal(stream: "_BoundedStream", error: Exception) -> NotExtracted:
    if stream.is_full:
        return NotExtracted("too large", f"it has more than {_MOST_WORK // 1_000_000} MB, decompressed")
    return NotExtracted("damaged", f"it is damaged or incomplete: {error}")


def _add_member(parts: PartList, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    if not member.isreg():
        return
    # A sparse file is mostly NULs, so it is no text. It may be larger than the archive, and have a long map.
    if member.size > parts.left or member.issparse():
        parts.leave_out()
        return
    file = archive.extractfile(member)
    if file is not None:
        parts.add(member.name, file.read())


class _BoundedStream(io.BufferedIOBase):
    """A stream that ends after some bytes. To read behind its end is an error: a header of 512 bytes can make
    tarfile skip a terabyte, in pieces of ten kilobytes that are empty.
    """

    def __init__(self, stream: io.BufferedIOBase, most: int) -> None:
        self._stream = stream
        self._left = most
        self._has_ended = False

    @property
    def is_full(self) -> bool:
        """Whether it ended because of the limit."""
        return self._left <= 0

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes."""
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        if self._has_ended:
            raise EOFError("unexpected end of data")
        found = self._stream.read(wanted)
        self._has_ended = not found
        self._left -= len(found)
        return found


def _opened(data: bytes) -> io.BufferedIOBase:
    """The archive, decompressed while it is read."""
    source = io.BytesIO(data)
    if data.startswith(_GZIP):
        return gzip.GzipFile(fileobj=source)
    if data.startswith(_BZIP2):
        return bz2.BZ2File(source)
    if data.startswith(_XZ):
        return lzma.LZMAFile(source)
    return source


def _is_tar(data: bytes) -> bool:
    """Whether the data, or what it decompresses to, begins with the header of a tar archive."""
    try:
        tarfile.TarInfo.frombuf(_first_block(data), "utf-8", "surrogateescape")
    except (*_DAMAGE, MemoryError):
        return False
    return True


def _first_block(data: bytes) -> bytes:
    magic = next((magic for magic in _BEGINNINGS if data.startswith(magic)), b"")
    head = data[: _BEGINNINGS.get(magic, _BLOCK)]
    if magic == _GZIP:
        return zlib.decompressobj(wbits=31).decompress(head, _BLOCK)
    if magic == _BZIP2:
        return bz2.BZ2Decompressor().decompress(head, _BLOCK)
    if magic == _XZ:
        return lzma.LZMADecompressor(memlimit=_MOST_DICTIONARY).decompress(head, _BLOCK)
    return head


FRONT_END = FrontEnd(
    "tar",
    1,
    extract,
    (_GZIP, _BZIP2.lower(), _XZ.lower()),
    _is_tar,
    frozenset({".tar", ".tgz", ".tbz2", ".txz", ".gz", ".bz2", ".xz"}),
    frozenset({"application/x-tar"}),
)
