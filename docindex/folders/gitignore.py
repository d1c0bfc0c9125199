"""Rules of what to leave out: patterns of the caller's, and ``.gitignore`` files where they lie.

Must never stop a walk: a file of rules that cannot be read has none, and a line that is no pattern says none.
"""

import fnmatch
import os
import re
import warnings
from collections.abc import Iterator, Sequence

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from docindex.folders.file_reader import NotReadable, beginning_of

IGNORING = b".gitignore"


class Rules:
    """What is left out below one root."""

    def __init__(self, root: bytes, exclude: Sequence[str]) -> None:
        self._root = root
        self._exclude = [os.fsencode(pattern) for pattern in exclude]
        self._of: dict[bytes, list[GitIgnoreSpecPattern]] = {}

    def read(self, folder: bytes) -> None:
        """Take in the file of rules that lies in a folder."""
        try:
            lines = beginning_of(os.path.join(folder, IGNORING)).decode("utf-8-sig", "surrogateescape")
        except NotReadable:
            return
        # The last line that says anything about a path decides.
        self._of[folder] = list(_patterns(lines))[::-1]

    def refused(self, path: bytes, *, is_folder: bool) -> str | None:
        """Why a path is left out, or None."""
        if not self._exclude and not self._of:
            return None
        name, below = os.path.basename(path), path[len(self._root) :].lstrip(b"/")
        if any(fnmatch.fnmatchcase(some, pattern) for pattern in self._exclude for some in (name, below)):
            return "excluded"
        folder = os.path.dirname(path)
        while self._of and len(folder) >= len(self._root):
            # The rules nearest to it come first.
            inside = os.fsdecode(path[len(folder) :]).lstrip("/") + ("/" if is_folder else "")
            for pattern in self._of.get(folder, ()):
                if _matches(pattern, inside):
                    return "ignored" if pattern.include else None
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return None


def _matches(pattern: GitIgnoreSpecPattern, inside: str) -> bool:
    """Whether a pattern is about this very entry, and not only about a folder that it lies in."""
    found = pattern.regex.finditer(inside) if pattern.regex else ()
    return any(one.groupdict().get("ps_d") is None or one.end("ps_d") == len(inside) for one in found)


def _patterns(lines: str) -> Iterator[GitIgnoreSpecPattern]:
    for line in lines.split("\n"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of `re`, on what looks like a set in a set
                pattern = GitIgnoreSpecPattern(line.removesuffix("\r"))
        except (ValueError, re.error):
            continue
        if pattern.include is not None:
            yield pattern
