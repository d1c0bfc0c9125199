"""The calls that differ between operating systems: open, rename, attributes, locks, shared storage.

This is the only module of docindex that may use a name that only Linux or Unix has. Importing it and scanning
work on every system; removing files works on Linux only, see `require_linux`. Where possible the functions
take open files, because by the time of a call a path may name another file. Must never replace a file, nor
give anyone more rights to a file.
"""

import contextlib
import errno
import functools
import io
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from docindex.errors import UnsupportedPlatform
from docindex.private_files import private_opener
from docindex.storage.file.descriptors import HELD
from docindex.storage.file.safe_closing import close_descriptor, parked_descriptor

LONGEST_PATH = 1000
"""Bytes. Longer paths are opened folder by folder: Linux takes 4,096 bytes in a call, other systems fewer."""

_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOSE_ON_EXEC
BINARY_FLAG = getattr(os, "O_BINARY", 0)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | BINARY_FLAG
"""For reading a file. With these flags, opening a pipe does not wait for a writer."""


def require_linux(action: str) -> None:
    """`UnsupportedPlatform` on other systems than Linux, where no test has shown that files are safe."""
    if sys.platform != "linux":
        raise UnsupportedPlatform(
            f"{action} works on Linux only, not on {sys.platform}; a dry run shows what it would do"
        )


def is_opened_by_folders(path: bytes) -> bool:
    """Whether a path is too long for one call, and the system can open it folder by folder."""
    return len(path) >= LONGEST_PATH and os.open in os.supports_dir_fd


def open_file(path: bytes, flags: int) -> int:
    """Open a file and return its descriptor. On Unix the path may have any length."""
    flags |= _CLOSE_ON_EXEC
    if not is_opened_by_folders(path):
        return os.open(path, flags)
    at, rest = os.open(b"/", FOLDER), path.lstrip(b"/")
    try:
        while len(rest) > LONGEST_PATH:
            end = rest.rindex(b"/", 0, LONGEST_PATH)
            below = os.open(rest[:end], FOLDER, dir_fd=at)
            os.close(at)
            at, rest = below, rest[end:].lstrip(b"/")
        return os.open(rest, flags, dir_fd=at)
    finally:
        os.close(at)


_OPENAT2 = 437
"""The number of the call on every processor that Python runs on. Linux has it since 5.6."""
_RESOLVE_NO_SYMLINKS = 4
_AT_FDCWD = -100


def open_without_links(path: bytes) -> int:
    """The descriptor of a folder; `OSError` if a symbolic link is anywhere in the path.

    The path may have any length.
    """
    openat2 = _openat2()
    try:
        if openat2 is not None and len(path) < LONGEST_PATH:
            return openat2(_AT_FDCWD, path)
        return _open_by_folders(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "its path leads through a link, which is not followed") from error
        raise


def _open_by_folders(path: bytes) -> int:
    at = os.open(b"/", FOLDER)
    for name in filter(None, path.split(b"/")):
        try:
            below = os.open(name, FOLDER | NO_FOLLOW, dir_fd=at)
        except NotADirectoryError:  # the error for a link, too
            if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
            raise
        finally:
            os.close(at)  # the handlers above run first
        at = below
    return at


@functools.cache
def _openat2() -> Callable[[int, bytes], int] | None:
    """A call that opens a folder by a path without links; None if the kernel has none, or forbids it."""
    if sys.platform != "linux":
        return None
    import ctypes  # only actions need it

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    how = (ctypes.c_uint64 * 3)(FOLDER, 0, _RESOLVE_NO_SYMLINKS)  # struct open_how

    def opened(at: int, path: bytes) -> int:
        descriptor: int = syscall(_OPENAT2, at, path, how, ctypes.sizeof(how))
        if descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return descriptor

    try:
        os.close(opened(_AT_FDCWD, b"/"))
    except OSError:
        return None
    return opened


class ListedFolder(NamedTuple):
    """The names in a folder, in their order.

    ``os.stat(prefix + name, dir_fd=descriptor)`` is the status of an entry. To ask for it by its name in the
    open folder takes four fifths of the time of asking by its path.
    """

    names: list[bytes]
    prefix: bytes
    descriptor: int | None


class LastFolder:
    """Opens one folder after another, and keeps the last folder open.

    If the next folder lies in it, the system need not walk the whole path again: otherwise the time of a walk
    would grow with the square of the depth.
    """

    def __init__(self) -> None:
        self._path = b""
        self._descriptor: int | None = None

    def open(self, folder: bytes) -> int:
        """The descriptor of a folder, which is closed by the next call or by `close`."""
        above, name = os.path.split(folder)
        if self._descriptor is not None and above == self._path:
            descriptor = os.open(name, FOLDER, dir_fd=self._descriptor)
        else:
            descriptor = open_file(folder, FOLDER)
        self.close()
        self._path, self._descriptor = folder, descriptor
        return descriptor

    def list(self, folder: bytes) -> ListedFolder:
        """The names in a folder, which stays open until the next call or until `close`."""
        if os.stat not in os.supports_dir_fd:
            return ListedFolder(sorted(os.listdir(folder)), os.path.join(folder, b""), None)
        if is_opened_by_folders(folder):
            descriptor = self.open(folder)
            names = [os.fsencode(name) for name in os.listdir(descriptor)]
        else:  # names as bytes, which a descriptor does not give
            names, descriptor = os.listdir(folder), self.open(folder)
        return ListedFolder(sorted(names), b"", descriptor)

    def close(self) -> None:
        """Close the last folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def opened_descriptor(path: bytes, flags: int) -> int:
    """A descriptor of a file, at its beginning; `safe_closing.close_descriptor` must close it."""
    if not HELD and len(path) < LONGEST_PATH:  # most files
        return os.open(path, flags | _CLOSE_ON_EXEC)
    descriptor = parked_descriptor(path, follow_symlinks=not flags & NO_FOLLOW)
    return open_file(path, flags) if descriptor is None else descriptor


@contextlib.contextmanager
def opened_for_reading(path: bytes, flags: int) -> Iterator[io.FileIO]:
    """A file, for reading from its beginning to its end.

    If this process has the file open elsewhere, for example as a database that an app uses, the descriptor is
    not closed at the end but used for the next reading: closing it would drop the app's locks.
    """
    descriptor = opened_descriptor(path, flags)
    try:
        yield io.FileIO(descriptor, closefd=False)
    finally:
        close_descriptor(descriptor)


def ask_ahead(descriptor: int) -> None:
    """Let the system begin to read a file. Does nothing on a system that cannot."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)


def blocks_read() -> int:
    """How many blocks this process has read from disks; always 0 on a system that does not tell."""
    try:
        import resource  # Unix only
    except ModuleNotFoundError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock


def data_ranges(descriptor: int) -> Iterator[tuple[int, int]]:
    """Where each piece of an open file begins and ends that is not a hole."""
    size, end = os.fstat(descriptor).st_size, 0
    while end < size:
        try:
            begin = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # the rest is a hole
                return
            raise
        end = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, end


def allocated_bytes(status: os.stat_result) -> int:
    """The bytes that a file takes, at most its size. A file with holes takes less, as a compressed one may.

    Not the whole blocks of a small file: they depend on the file system, and so would the order of groups.
    """
    blocks = getattr(status, "st_blocks", None)  # Windows has none
    return status.st_size if blocks is None else min(status.st_size, int(blocks) * 512)


def extended_attributes(descriptor: int) -> dict[str, bytes]:
    """The extended attributes of a file, including access control lists; empty if the system has none."""
    try:
        return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    except (OSError, AttributeError):
        return {}


class FileFacts(NamedTuple):
    """The time, the mode, the owner and the extended attributes of a file."""

    mtime_ns: int
    mode: int
    """The permission bits, without the type of the file."""
    user: int
    group: int
    attributes: tuple[tuple[str, bytes], ...]
    """The names and the values of the extended attributes."""


def file_facts(descriptor: int) -> FileFacts:
    """The time, the mode, the owner and the extended attributes of an open file."""
    status = os.fstat(descriptor)
    return FileFacts(
        mtime_ns=status.st_mtime_ns,
        mode=stat.S_IMODE(status.st_mode),
        user=status.st_uid,
        group=status.st_gid,
        attributes=tuple(extended_attributes(descriptor).items()),
    )


def apply_facts(descriptor: int, facts: FileFacts) -> None:
    """Give these facts to a new file, as far as the user is allowed to."""
    mode, owner, status = facts.mode, (facts.user, facts.group), os.fstat(descriptor)
    if owner != (status.st_uid, status.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, *owner)
    for name, value in facts.attributes:
        with contextlib.suppress(OSError):  # only the kernel can set some attributes
            os.setxattr(descriptor, name, value)
    status = os.fstat(descriptor)
    if owner != (status.st_uid, status.st_gid):
        mode &= 0o777  # a set-user-ID program of another user must not become one of this user
    os.fchmod(descriptor, mode)
    os.utime(descriptor, ns=(facts.mtime_ns, facts.mtime_ns))


@contextlib.contextmanager
def exclusive_lock(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a file and hold the lock; `BlockingIOError` if another process holds it."""
    import fcntl  # Unix only

    with open(path, "a", encoding="utf-8", opener=private_opener) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


_PATIENCE_S = 10


def lock_folder(descriptor: int) -> None:
    """Lock an open folder, until it is closed or unlocked; wait for at most ten seconds.

    `BlockingIOError` if another process holds the lock longer. Does nothing where folders cannot be locked.
    """
    import fcntl  # Unix only

    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > end:
                reason = "another docindex act or undo is working in its folder"
                raise BlockingIOError(error.errno, reason) from error
        except OSError:  # for example on a network file system
            return None
        time.sleep(0.001)


def unlock_folder(descriptor: int) -> None:
    """Unlock a folder that may be locked."""
    import fcntl  # Unix only

    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def file_system_id(descriptor: int) -> int:
    """The number that the system derives from the file system of an open file; 0 if it does not tell."""
    return os.fstatvfs(descriptor).f_fsid


def take_lease(descriptor: int) -> None:
    """Keep every other program from opening a file for writing, until the lease ends.

    The program that tries waits, up to 45 seconds, and `lease_holds` is False from then on. `BlockingIOError`
    if some program, this one included, has the file open for writing, or has mapped it into its memory for
    writing. Another `OSError` if the system cannot tell: it gives a lease to the owner of a file only, and
    many network file systems have no leases. The file must be open for reading only.
    """
    try:
        import fcntl  # Unix only
        import signal  # only actions need it

        # The signal for a lease that is to end would terminate this process; this one is ignored.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except (ModuleNotFoundError, AttributeError) as error:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error


def lease_holds(descriptor: int) -> bool:
    """Whether no program has tried to open the file for writing since `take_lease`."""
    import fcntl  # Unix only

    return fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def end_lease(descriptor: int) -> None:
    """End a lease: a program that waits for the file goes on."""
    import fcntl  # Unix only

    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def user_number() -> int:
    """The number of the user who runs this."""
    return os.getuid()


# From Linux's <linux/fs.h>: struct file_dedupe_range with one struct file_dedupe_range_info.
_FIDEDUPERANGE = 0xC0189436
_RANGE = "=QQHHIqQQiI"
_SHARED_AT_ONCE = 16 << 20
"""Bytes per call. Some file systems refuse more."""


def share_storage(kept: int, other: int, size: int) -> bool:
    """Let two open files with the same bytes share their storage; False if their bytes differ.

    The kernel compares the bytes itself and changes no byte. `OSError` if the file system cannot share.
    """
    import fcntl  # Unix only

    for start in range(0, size, _SHARED_AT_ONCE):
        length = min(_SHARED_AT_ONCE, size - start)
        request = struct.pack(_RANGE, start, length, 1, 0, 0, other, start, 0, 0, 0)
        *_, shared, status, _ = struct.unpack(_RANGE, fcntl.ioctl(kept, _FIDEDUPERANGE, request))
        if status < 0:
            raise OSError(-status, os.strerror(-status))
        if status or shared != length:
            return False
    return True
