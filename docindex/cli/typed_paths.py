"""Read the paths that a person typed or copied from docindex's output, and show keys as paths.

A path that was printed must never be read back as another path.
"""

import os
import re
from collections.abc import Container

from docindex.cli.wording import one_line
from docindex.folders.path_keys import key_of, path_of, root_of, without_link


def typed_path(name: str) -> bytes:
    r"""The absolute path that a person typed.

    A name with ``\xNN``, as docindex prints it, is read as a key if a file with that key exists. A link to a
    file is replaced by the path of that file.
    """
    escaped = re.search(r"\\x[0-9a-f]{2}", name) and os.path.lexists(path_of(name))
    path = root_of(path_of(name) if escaped else name)
    return without_link(path)


def typed_key(name: str) -> str:
    """The key of the path that a person typed."""
    return key_of(typed_path(name))


def known_name(name: str, known: Container[str]) -> str | None:
    """The name that a person typed, or the key of the path that it stands for: whichever is known."""
    if name in known:
        return name
    key = typed_key(name) if name else name
    return key if key in known else None


def display_path(key: str, below: str | None = None) -> str:
    """The path of a key for a person, on one line.

    Relative if it is below the current folder. It never looks like an option. For many keys, give the result
    of `below_current_folder` as `below`.
    """
    name = one_line(key.removeprefix(below_current_folder() if below is None else below))
    return f"./{name}" if name.startswith("-") else name


def below_current_folder() -> str:
    """What the keys of the files below the current folder begin with."""
    return key_of(root_of(b".")).rstrip("/") + "/"
