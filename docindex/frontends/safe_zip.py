"""Read the members of a zip file that may be hostile: `ZipSource`.

In: the bytes of a zip file. Out: names, and the bytes of members. Bounded: the number of members, and the
bytes of all members that are read. A file whose members overlap is refused. Must never write a file, and
never trust a size that the zip file states.
"""

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator

from docindex.frontends.failures import NotExtracted

MOST_MEMBERS = 100_000
MOST_BYTES = 256_000_000
"""The bytes that all members together may have, when they are inflated."""

_PIECE = 1 << 16


def opened_zip(data: bytes) -> zipfile.ZipFile:
    """A zip file; `NotExtracted` if the bytes are not a zip file, or if members overlap."""
    try:
        opened = zipfile.ZipFile(io.BytesIO(data))
    # zipfile raises NotImplementedError for versions of the format that it does not know.
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
        raise NotExtracted("damaged", f"it is damaged or incomplete: {error}") from error
    if sum(info.compress_size for info in opened.infolist()) > len(data):
        raise NotExtracted("damaged", "it is damaged: its members overlap")
    return opened


class ZipSource:
    """The members of a zip file."""

    def __init__(self, data: bytes) -> None:
        """`NotExtracted` if the bytes are no zip file, or have too many members."""
        self._left = MOST_BYTES
        self._zip = opened_zip(data)
        infos = self._zip.infolist()
        if len(infos) > MOST_MEMBERS:
            raise NotExtracted(
                "too large", f"it has {len(infos):,} members; at most {MOST_MEMBERS:,} are read"
            )
        self._infos = {info.filename: info for info in infos if info.filename and not info.is_dir()}
        self.names = list(self._infos)
        """The names of the members that are files, in their order."""
        self._read: set[str] = set()

    def read(self, name: str) -> bytes:
        """The bytes of a member; `NotExtracted` if there is no such member, or it cannot be read."""
        self._read.add(name)
        info = self._infos.get(name)
        if info is None:
            raise NotExtracted("damaged", f"its member {name!r} is missing")
        if info.flag_bits & 1:
            raise NotExtracted("encrypted", "it needs a password")
        pieces = []
        try:
            with self._zip.open(info) as file:
                while piece := file.read(_PIECE):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise NotExtracted(
                            "too large", f"its members have more than {MOST_BYTES // 1_000_000} MB together"
                        )
                    pieces.append(piece)
        except NotExtracted:
            raise
        except (
            zipfile.BadZipFile,
            ValueError,  # a negative offset
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,  # a compression that zipfile does not know
        ) as error:
            raise NotExtracted("damaged", f"its member {name!r} cannot be read: {error}") from error
        return b"".join(pieces)

    def unread(self, names: Iterable[str]) -> Iterator[str]:
        """Those of some members that were not read yet, each once: thousands of sheets may name one part."""
        return (name for name in names if name not in self._read)

    def read_if_there(self, name: str) -> bytes | None:
        """The bytes of a member, or None if there is no such member."""
        return self.read(name) if name in self._infos else None
