r"""Convert file paths to document keys and back. A key is text; a path on Unix is any bytes except NUL.

Bytes that are not UTF-8 become ``\xNN``, and a backslash that already looks like the start of ``\xNN``
becomes ``\x5c``. So two paths never have the same key, and a printed key can be read back. A ``!`` at the end
of a name becomes ``\x21``: then no path has the key of a document inside a file, such as ``a.zip!/b.txt``. On
Windows a key has forward slashes. Must never open or change a file.
"""

import os
import re
from collections.abc import Iterable

from docindex.errors import UnreadableFile

_LOOKS_ESCAPED = rb"\\(?=x[0-9a-f]{2})"
_ESCAPED = rb"\\x([0-9a-f]{2})"
_ENDS_AS_FILE = rb"!(?=/|\Z)"  # as the key of a file does before the name of a document inside it

Root = str | bytes | os.PathLike[str]
"""A path as a caller gives it. In public calls a leading ``~`` stands for the home folder."""


def key_of(path: bytes) -> str:
    r"""The key of a path.

    >>> key_of(b"/home/ada/caf\xc3\xa9"), key_of(b"/home/ada/caf\xe9"), key_of(rb"/a\x41")
    ('/home/ada/café', '/home/ada/caf\\xe9', '/a\\x5cx41')
    >>> key_of(b"/Wow!.txt"), key_of(b"/a.zip!/b.txt")
    ('/Wow!.txt', '/a.zip\\x21/b.txt')
    """
    # Escape the backslashes of the path first, because decoding adds escapes of its own.
    literal = re.sub(_LOOKS_ESCAPED, rb"\\x5c", path) if b"\\x" in path else path
    if b"!" in literal:
        literal = re.sub(_ENDS_AS_FILE, rb"\\x21", literal)
    return literal.decode("utf-8", "backslashreplace")


def path_of(key: str) -> bytes:
    r"""The path of a key: the inverse of `key_of`.

    >>> path_of(key_of(b"/home/ada/caf\xe9")), path_of(key_of(rb"/a\x41"))
    (b'/home/ada/caf\xe9', b'/a\\x41')
    """
    literal = key.encode("utf-8", "surrogateescape")
    if b"\\x" not in literal:
        return literal
    return re.sub(_ESCAPED, lambda found: bytes([int(found[1], 16)]), literal)


def root_of(path: Root) -> bytes:
    """The absolute form of a path. Keeps symbolic links, and does not expand ``~``."""
    if not path:
        raise ValueError("a path is empty; name a file or a folder, or . for the current folder")
    absolute = with_slashes(os.path.abspath(os.fsencode(path)))
    return absolute[1:] if absolute.startswith(b"//") and os.sep == "/" else absolute


def roots_of(roots: Iterable[Root]) -> list[bytes]:
    """The absolute form of each root, without duplicates.

    Expands ``~``. A symbolic link to a file is replaced by the path of that file.
    `TypeError` for a single path instead of a list.

    >>> roots_of(["/home/ada", b"/home/ada/", "/home/ada/letters"])
    [b'/home/ada', b'/home/ada/letters']
    """
    if isinstance(roots, (str, bytes, os.PathLike)):
        raise TypeError(f"roots must be a list of paths, not the single path {roots!r}; put it in a list")
    if not isinstance(roots, Iterable):
        raise TypeError(f"roots must be a list of paths, not {roots!r}")
    paths = [root_of(os.path.expanduser(os.fsencode(_checked(root)))) for root in roots]
    return list(dict.fromkeys(without_link(path) for path in paths))


def reference_roots(roots: Iterable[Root]) -> list[bytes]:
    """The result of `roots_of`; `UnreadableFile` for a folder that does not exist.

    A mistyped folder would protect nothing.
    """
    paths = roots_of(roots)
    for path in paths:
        if not os.path.lexists(path):
            key = key_of(path)
            raise UnreadableFile(
                f"the reference folder {key} does not exist; name it correctly, or mount its disk", key
            )
    return paths


def is_under(key: str, root: str) -> bool:
    """Whether a key is the root or below it.

    >>> is_under("/a/b", "/a"), is_under("/ab", "/a"), is_under("/a", "/")
    (True, False, True)
    """
    return key == root or key.startswith(root if root.endswith("/") else f"{root}/")


def with_slashes(path: bytes) -> bytes:
    """A path with forward slashes. This changes the path on Windows only."""
    return path if os.sep == "/" else path.replace(os.fsencode(os.sep), b"/")


def _checked(root: Root) -> Root:
    if not isinstance(root, (str, bytes, os.PathLike)):
        raise TypeError(f"a path must be str, bytes or os.PathLike, not {root!r}")
    return root


def without_link(path: bytes) -> bytes:
    """The path of the file that a symbolic link leads to; another path as it is."""
    if os.path.islink(path) and os.path.isfile(path):
        return with_slashes(os.path.realpath(path))
    return path
