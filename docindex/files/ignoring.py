"""Rules of what to leave out: patterns of the caller's, and ``.gitignore`` files where they lie.

Must never stop a walk: a file of rules that cannot be read has none.
"""

import contextlib
import fnmatch
import os
from collections.abc import Sequence

from pathspec import GitIgnoreSpec

IGNORING = b".gitignore"


class Rules:
    """What is left out below one root."""

    def __init__(self, root: bytes, exclude: Sequence[str], *, ignore: bool) -> None:
        self._root = root
        self._exclude = [os.fsencode(pattern) for pattern in exclude]
        self._ignore = ignore
        self._of: dict[bytes, GitIgnoreSpec] = {}

    def read(self, folder: bytes) -> None:
        """Take in the file of rules that lies in a folder."""
        with contextlib.suppress(OSError, ValueError), open(os.path.join(folder, IGNORING), "rb") as file:
            lines = file.read().decode("utf-8", "surrogateescape").splitlines()
            self._of[folder] = GitIgnoreSpec.from_lines(lines)

    def refused(self, path: bytes, *, is_folder: bool) -> str | None:
        """Why a path is left out, or None."""
        name, below = os.path.basename(path), path[len(self._root) :].lstrip(b"/")
        if any(fnmatch.fnmatchcase(some, pattern) for pattern in self._exclude for some in (name, below)):
            return "excluded"
        folder = os.path.dirname(path)
        while self._of and len(folder) >= len(self._root):
            # The rules nearest to it come first; within a file the last one that says anything.
            rules = self._of.get(folder)
            if rules is not None:
                inside = os.fsdecode(path[len(folder) :]).lstrip("/") + ("/" if is_folder else "")
                verdict = rules.check_file(inside).include
                if verdict is not None:
                    return "ignored" if verdict else None
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return None
