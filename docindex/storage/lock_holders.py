"""Find the processes that hold locks on an SQLite file in write-ahead mode, to name them in messages.

Takes the path of the file and the number of a lock; returns process ids and names. Only Linux tells them:
elsewhere no holder is found. Must never open the file: closing it would drop this process's own locks on it.
"""

import contextlib
import os
import struct
from pathlib import Path
from typing import Literal, NamedTuple

# The bytes of the shared-memory file that SQLite locks (https://sqlite.org/walformat.html).
WRITER = range(120, 121)
READERS = range(123, 128)

_HEADER_BYTES = 136


class Holder(NamedTuple):
    """A process that holds a lock."""

    process: int
    byte: int
    """The byte that is locked. Readers of one state of the file lock the same byte."""
    frames: int = 0
    """Of a reader: that state, as a number of frames of the log; 0 if that is not known."""


def lock_holders(path: str, kind: Literal["READ", "WRITE"], locks: range) -> set[Holder]:
    """The processes that hold a kind of lock on some bytes of the file's shared memory."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = Path(os.path.realpath(path) + "-shm").stat().st_ino
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        return {
            Holder(int(fields[4]), byte)
            for fields in lines
            if kind in fields and "->" not in fields and fields[5].endswith(f":{inode}")
            for byte in locks
            if int(fields[6]) <= byte <= int(fields[7])
        }
    return set()


def blocking_readers(path: str) -> set[Holder]:
    """The readers that keep the log from being copied into the file; or all readers, if that is not known."""
    holders = lock_holders(path, "READ", READERS)
    header = _shared_header(path)
    if header is None:
        return holders
    # See walIndexHdr and walCkptInfo in https://sqlite.org/walformat.html: the number of frames in the log,
    # how many are copied, and up to which frame the readers that lock each byte read.
    (frames,), (copied, *marks) = struct.unpack_from("=I", header, 16), struct.unpack_from("=6I", header, 96)
    # If all frames are copied, the readers of the first byte read from the file only.
    blocks = [copied < frames, *(copied == frames or mark < frames for mark in marks[1:])]
    slots = [(holder, holder.byte - READERS.start) for holder in holders]
    return {holder._replace(frames=marks[slot]) for holder, slot in slots if blocks[slot]}


def frames_in_log(path: str) -> int | None:
    """How many frames of a file's log hold commits; None if the system does not tell."""
    header = _shared_header(path)
    return None if header is None else int(struct.unpack_from("=I", header, 16)[0])


def _shared_header(path: str) -> bytes | None:
    """The header of the shared memory, read through the descriptor with which SQLite has it open here."""
    descriptor = open_descriptor(path + "-shm")
    if descriptor is not None:
        with contextlib.suppress(OSError):  # closed in the meantime
            header = os.pread(descriptor, _HEADER_BYTES, 0)
            return header if len(header) == _HEADER_BYTES else None
    return None


def open_descriptor(path: str) -> int | None:
    """A descriptor with which SQLite has a file open in this process; None if the system does not tell."""
    if not hasattr(os, "pread"):
        return None
    with contextlib.suppress(OSError):
        wanted = Path(os.path.realpath(path)).stat()
        for entry in Path("/dev/fd").iterdir():
            with contextlib.suppress(OSError):  # closed in the meantime
                if os.path.samestat(os.fstat(int(entry.name)), wanted):
                    return int(entry.name)
    return None


def process_name(process: int) -> str:
    """The number and the command of a process, for a message."""
    if process == os.getpid():
        return f"process {process} (this process, through another connection)"
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return f"process {process}"
    words = command.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return f"process {process} ({words[:60]})"
