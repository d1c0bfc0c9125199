"""A plan in, copies removed or linked out, one by one, each compared byte by byte just before.

A file is first moved aside under a name that nobody else knows: then it is certain what is removed, and the
kept one is looked at once more. Each step is one that the system does whole or not at all, and is written
down before: whatever stops this, each content that was there is still there. Must never touch a file that is
not what the plan says, nor one that is the kept file by another name; nor work beside another one.
"""

import contextlib
import dataclasses
import io
import itertools
import os
import secrets
import stat
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from docindex.folders.attributes import attributes_of, facts_of, give
from docindex.folders.file_reader import NotReadable
from docindex.folders.journal import Journal, alone
from docindex.folders.path_keys import key_of, path_of
from docindex.folders.plan import CopyGroup, PlannedFile
from docindex.folders.system import open_file, rename_no_replace
from docindex.folders.trash import is_in_trash, to_trash
from docindex.folders.undo import put, put_back

How = Literal["trash", "hardlink", "reflink", "delete"]
HOW = ("trash", "hardlink", "reflink", "delete")

_AT_ONCE = 1 << 20
# Of Linux: struct file_dedupe_range with one struct file_dedupe_range_info, and how much some take at once.
_FIDEDUPERANGE = 0xC0189436
_RANGE = struct.Struct("=QQHHIqQQiI")
_SHARED_AT_ONCE = 16 << 20
_NO_SHARING = "it cannot share its place on the disk with the copy to be kept: {}"

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """What became of one file."""

    key: str
    kept: str | None
    """The copy of it that stays."""
    outcome: Literal["done", "would be done", "left", "put back"]
    """Put back is what an earlier act was stopped at."""
    why: str | None = None
    """Why it was left as it is."""
    size: int = 0
    trashed: str | None = None
    """Where it is now, if it went to the trash."""


def act(groups: Iterable[CopyGroup], how: How, *, dry_run: bool, journal: Journal) -> Iterator[Done]:
    """Do with the copies of a plan what is wanted; with `dry_run` all but the last step.

    `BlockingIOError` if somebody is doing so already: two plans may each keep what the other removes.
    """
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(HOW)}, not {how!r}")
    with contextlib.nullcontext() if dry_run else alone():
        for key in put_back(journal):
            yield Done(key, None, "put back", "an earlier act was stopped while it had it")
        for group in groups:
            for file in group.others:
                yield _one(group, file, how, dry_run=dry_run, journal=journal)


@dataclasses.dataclass(frozen=True, slots=True)
class _Open:
    """A regular file that is open, and what the system said of it before anything was read."""

    path: bytes
    file: io.FileIO
    status: os.stat_result

    def refuse_changed(self) -> None:
        """`NotReadable` unless the path still names this file, and it is as it was."""
        self.refuse_other(self.path)

    def refuse_other(self, path: bytes) -> None:
        """`NotReadable` unless a path names this file, and it is as it was when it was opened."""
        try:
            now = os.stat(path, follow_symlinks=False)
        except OSError as error:
            raise NotReadable("it, or the copy to be kept, was moved away meanwhile") from error
        if any(getattr(now, fact) != getattr(self.status, fact) for fact in _FACTS):
            raise NotReadable("it was changed while it was compared")


_FACTS = ("st_dev", "st_ino", "st_size", "st_mtime_ns")


def _one(group: CopyGroup, file: PlannedFile, how: How, *, dry_run: bool, journal: Journal) -> Done:
    why = "no copy that is to be kept has its bytes any more"
    try:
        with _opened(file) as own:
            if own.status.st_mtime_ns != file.mtime_ns and file.mtime_ns != -1:
                raise NotReadable("it was changed since the plan was made")
            for other in group.kept:
                with contextlib.ExitStack() as stack:
                    try:
                        kept = stack.enter_context(_opened(other))
                    except (NotReadable, ValueError):
                        continue
                    if is_in_trash(kept.path):
                        continue
                    if not _same_bytes(own.file, kept.file):
                        continue
                    _refuse_same(own, kept)
                    if how == "hardlink" and (unlike := _unlike(own, kept)):
                        why = unlike
                        continue
                    own.refuse_changed()
                    kept.refuse_changed()
                    if dry_run:
                        return Done(file.key, other.key, "would be done", size=file.size)
                    return _do(group.digest, (file.key, own), (other.key, kept), how, journal)
            raise NotReadable(why)
    except (NotReadable, ValueError) as error:
        return Done(file.key, None, "left", str(error))
    except OSError as error:
        return Done(file.key, None, "left", error.strerror or str(error))


def _do(
    digest: str, going: tuple[str, _Open], staying: tuple[str, _Open], how: How, journal: Journal
) -> Done:
    (key, own), (kept_key, kept) = going, staying
    status, step = own.status, secrets.token_hex(8)
    if how == "reflink":
        _share(own, kept)
        return Done(key, kept_key, "done", size=status.st_size)
    aside = os.path.join(os.path.dirname(own.path), b".docindex-" + step.encode())
    facts = facts_of(own.file.fileno())
    journal.write(begun=how, step=step, key=key, kept=kept_key, digest=digest, aside=key_of(aside), **facts)
    trashed, removed = None, False
    try:
        if how != "trash":
            os.fsync(kept.file.fileno())  # a copy that somebody made a moment ago may be in memory only
        os.rename(own.path, aside)
        own.refuse_other(aside)
        # Also where two paths lead to one file and the system does not say so: then this one is gone by now.
        kept.refuse_changed()
        if how == "trash":
            trashed = key_of(to_trash(aside, own.path))
        else:
            if how == "hardlink":
                _link(own.path, aside, kept)
                kept.refuse_changed()
            os.unlink(aside)
            removed = True
            kept.refuse_changed()
    except BaseException as error:
        with contextlib.suppress(OSError, NotReadable):  # then it stays aside, for `undo`
            if removed:
                # It has no name any more: the kept one was changed in the very same moment.
                _write_again(own, aside, facts)
            if os.path.lexists(aside):
                put(aside, own.path, kept.path)
            if how != "trash" or _names(own.path, status):
                journal.write(undone=step)
        if isinstance(error, Exception) and os.path.lexists(aside):  # who interrupts wants an end
            where = f"there is another file of its name by now; it is {key_of(aside)}, for docindex undo"
            raise NotReadable(where) from error
        raise
    # What is done is done, if the disk has room for this line or not: `undo` finds out by itself.
    with contextlib.suppress(OSError):
        journal.write(done=how, step=step, trashed=trashed)
    return Done(key, kept_key, "done", size=status.st_size, trashed=trashed)


def _link(path: bytes, aside: bytes, kept: _Open) -> None:
    """A link to the kept file where a file was that lies aside now."""
    new = aside + b".new"
    try:
        os.link(kept.path, new, follow_symlinks=False)
        kept.refuse_other(new)
        rename_no_replace(new, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def _names(path: bytes, status: os.stat_result) -> bool:
    return os.path.lexists(path) and os.path.samestat(os.lstat(path), status)


def _write_again(own: _Open, path: bytes, facts: dict[str, Any]) -> None:
    """An open file that has no name, under a name; whole or not at all."""
    part = path + b".copy"
    own.file.seek(0)
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as again:
            for piece in _pieces(own.file):
                again.write(piece)
            again.flush()
            give(again.fileno(), facts)
            os.fsync(again.fileno())
        rename_no_replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


@contextlib.contextmanager
def _opened(file: PlannedFile) -> Iterator[_Open]:
    """A regular file of the planned size; `NotReadable` if there is none."""
    path = path_of(file.key)
    try:
        descriptor = open_file(path, _FLAGS)
    except OSError as error:
        raise NotReadable(error.strerror or str(error)) from error
    with io.FileIO(descriptor) as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotReadable("it is no regular file any more")
        if status.st_size != file.size:
            raise NotReadable("it was changed since the plan was made")
        yield _Open(path, opened, status)


def _same_bytes(a: io.FileIO, b: io.FileIO) -> bool:
    a.seek(0)
    b.seek(0)
    return all(own == other for own, other in itertools.zip_longest(_pieces(a), _pieces(b)))


def _pieces(file: io.FileIO) -> Iterator[bytes]:
    while piece := file.read(_AT_ONCE):
        # A raw read may give less than was asked for, and the two files differently much.
        while len(piece) < _AT_ONCE and (more := file.read(_AT_ONCE - len(piece))):
            piece += more
        yield piece


def _refuse_same(a: _Open, b: _Open) -> None:
    same = (a.status.st_dev, a.status.st_ino) == (b.status.st_dev, b.status.st_ino)
    # A file system over another one shows a file of that as one of its own, but with the same times: also
    # that of the last change to its names, which nobody can set.
    twice = (a.status.st_mtime_ns, a.status.st_ctime_ns) == (b.status.st_mtime_ns, b.status.st_ctime_ns)
    if same or (twice and a.status.st_dev != b.status.st_dev):
        raise NotReadable("it is the same file as the one to be kept, by another name")


def _unlike(own: _Open, kept: _Open) -> str | None:
    """Why a link to the kept file cannot stand for a file; None if it can."""
    if own.status.st_dev != kept.status.st_dev:
        return "it is on another file system than the copy to be kept"
    facts = [(one.status.st_mode, one.status.st_uid, one.status.st_gid) for one in (own, kept)]
    attributes = [attributes_of(one.file.fileno()) for one in (own, kept)]
    # Other people could read, change or run it than may now.
    if facts[0] != facts[1] or attributes[0] != attributes[1]:
        return "it has another owner, mode or other attributes than the copy to be kept"
    return None


def _share(own: _Open, kept: _Open) -> None:
    """Let a file use the room of the kept one: the system compares the bytes itself, and changes none."""
    import fcntl  # there is none on Windows, which has no such files either

    with io.FileIO(open_file(own.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))) as file:
        if not os.path.samestat(os.fstat(file.fileno()), own.status):
            raise NotReadable("it was changed while it was compared")
        for start in range(0, own.status.st_size, _SHARED_AT_ONCE):
            length = min(_SHARED_AT_ONCE, own.status.st_size - start)
            resolve = _RANGE.pack(start, length, 1, 0, 0, file.fileno(), start, 0, 0, 0)
            try:
                answer = fcntl.ioctl(kept.file.fileno(), _FIDEDUPERANGE, resolve)
            except OSError as error:
                raise NotReadable(_NO_SHARING.format(error.strerror)) from error
            *_, shared, status, _ = _RANGE.unpack(answer)
            if status < 0:
                raise NotReadable(_NO_SHARING.format(os.strerror(-status)))
            if status or shared != length:
                raise NotReadable("it was changed while it was compared")
