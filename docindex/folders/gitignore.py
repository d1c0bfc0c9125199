"""Decide which paths a walk leaves out: by the caller's patterns and by the ``.gitignore`` files it meets.

Must never stop a walk: an unreadable ``.gitignore`` has no rules, and a line that is not a valid pattern is
ignored.
"""

import fnmatch
import importlib.util
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from docindex.folders.file_reader import NotReadable, beginning_of

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern
elif importlib.util.find_spec("pathspec") is None:
    raise ModuleNotFoundError(
        "docindex.folders needs pathspec 1.0 or later; in a checkout, install it with pip install '.[cli]'",
        name="pathspec",
    )

IGNORE_FILE = b".gitignore"


class IgnoreRules:
    """The rules below one root."""

    def __init__(self, root: bytes, exclude: Sequence[str]) -> None:
        self._root = root
        self._exclude = [os.fsencode(pattern) for pattern in exclude]
        self._patterns: dict[bytes, list[GitIgnoreSpecPattern]] = {}
        self.exist = bool(exclude)
        """Whether a path may be refused."""

    def read(self, folder: bytes) -> None:
        """Add the rules of the ``.gitignore`` in a folder."""
        try:
            lines = beginning_of(os.path.join(folder, IGNORE_FILE)).decode("utf-8-sig", "surrogateescape")
        except NotReadable:
            return
        # The last pattern that matches a path decides.
        self._patterns[folder] = list(_patterns(lines))[::-1]
        self.exist = True

    def refused(self, path: bytes, *, is_folder: bool) -> str | None:
        """The reason to leave a path out ("excluded" or "ignored"), or None."""
        if not self.exist:
            return None
        name, below = os.path.basename(path), path[len(self._root) :].lstrip(b"/")
        if any(fnmatch.fnmatchcase(text, pattern) for pattern in self._exclude for text in (name, below)):
            return "excluded"
        folder = os.path.dirname(path)
        while self._patterns and len(folder) >= len(self._root):
            # The rules of the nearest folder come first.
            inside = os.fsdecode(path[len(folder) :]).lstrip("/") + ("/" if is_folder else "")
            for pattern in self._patterns.get(folder, ()):
                if _matches(pattern, inside):
                    return "ignored" if pattern.include else None
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return None


def _matches(pattern: "GitIgnoreSpecPattern", inside: str) -> bool:
    """Whether a pattern matches this entry itself, not only a folder above it."""
    found = pattern.regex.finditer(inside) if pattern.regex else ()
    return any(match.groupdict().get("ps_d") is None or match.end("ps_d") == len(inside) for match in found)


def _patterns(lines: str) -> "Iterator[GitIgnoreSpecPattern]":
    # Imported for the first .gitignore: that takes as long as a walk of some thousand files.
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    for line in lines.split("\n"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # from `re`, about a possible nested set
                pattern = GitIgnoreSpecPattern(line.removesuffix("\r"))
        except (ValueError, re.error):
            continue
        if pattern.include is not None:
            yield pattern
