"""Show keys as paths. A path that was printed must never be read back as another path."""

import os
import re

from docindex.folders.walking.path_keys import key_of, path_of, root_of
from docindex.shown.wording import one_line

_ESCAPED_MARK = re.compile(r"\\x21(?=/|\Z)")


def display_path(key: str, below: str | None = None) -> str:
    """The path of a key for a person, on one line.

    Relative if it is below the current folder. It never looks like an option. For many keys, give the result
    of `below_current_folder` as `below`. A ``!`` that the key escapes is shown, unless the path would look
    like a document inside a file that exists.
    """
    below = below_current_folder() if below is None else below
    if "\\x21" in key:
        key, below = _as_named(key), _as_named(below)
    name = one_line(key.removeprefix(below))
    return f"./{name}" if name.startswith("-") else name


def _as_named(key: str) -> str:
    def mark(found: re.Match[str]) -> str:
        is_file = os.path.isfile(path_of(key[: found.start()]))  # noqa: PTH113 - pathlib loads slowly
        return found[0] if is_file else "!"

    return _ESCAPED_MARK.sub(mark, key)


def report_name(name: str) -> str:
    r"""A key, or a part of one, for a page that is only read.

    >>> report_name("Oliver\\x21/a.txt")
    'Oliver!/a.txt'
    """
    return one_line(_ESCAPED_MARK.sub("!", name))


def below_current_folder() -> str:
    """What the keys of the files below the current folder begin with."""
    return key_of(root_of(b".")).rstrip("/") + "/"
