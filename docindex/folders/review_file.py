"""The plan file of a review: read it, and save it whole after each decision.

Must never leave half a plan, nor overwrite a plan that another program has changed since it was read.
"""

import contextlib
import os
import secrets
from typing import Self

from docindex.errors import DiskFull, UnreadableFile, is_no_room
from docindex.folders.plan_review import PlanReview


class ReviewFile:
    """A review, and the file that it is saved in.

    >>> import pathlib, tempfile
    >>> from docindex.folders import Plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "plan.json")
    ...     _ = path.write_text(Plan(()).to_json())
    ...     file = ReviewFile.read(path)
    ...     file.save()
    ...     Plan.from_json(path.read_text()) == file.review.plan()
    True
    """

    def __init__(self, path: str, review: PlanReview, identity: tuple[int, ...]) -> None:
        self.path = path
        self.review = review
        self._known = {identity}
        """The file as this review has read or written it."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a plan. `UnreadableFile` if that fails, and `ValueError` if the file is not a plan."""
        name = os.path.realpath(path)  # saving a plan must not replace a link to it
        try:
            with open(name, "rb") as file:
                data, identity = file.read(), _identity(os.fstat(file.fileno()))
        except OSError as error:
            raise UnreadableFile(f"{name} cannot be read: {error.strerror or error}", name) from error
        return cls(name, PlanReview.from_json(data, name=os.fspath(path)), identity)

    def save(self) -> None:
        """Save the plan with the decisions so far. An interrupt leaves the old file or the new one.

        `ValueError` if another program has changed the file, `DiskFull` if there is no room for it, and
        `UnreadableFile` if it cannot be written for another reason.
        """
        try:
            self._replace()
        except OSError as error:
            if is_no_room(error):
                raise DiskFull(
                    f"the disk is full: {self.path} is as it was, without your last choice; free some space",
                    self.path,
                ) from error
            raise UnreadableFile(
                f"{self.path} cannot be written: {error.strerror or error}", self.path
            ) from error

    def _replace(self) -> None:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            status = None
        if status is not None and _identity(status) not in self._known:
            raise ValueError(f"{self.path} was changed by another program; review it again")
        part = f"{self.path}.{secrets.token_hex(4)}.part"
        mode = 0o600 if status is None else status.st_mode & 0o777
        try:
            with open(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
            ) as file:
                file.write(self.review.to_json())
                file.flush()
                os.fsync(file.fileno())
            os.chmod(part, mode)
            new = _identity(os.stat(part))
            self._known.add(new)  # before the file is replaced: an interrupt may come right after that
            os.replace(part, self.path)
            self._known = {new}
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
