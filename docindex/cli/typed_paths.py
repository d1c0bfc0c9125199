"""Read the paths that a person typed or copied from docindex's output, and show keys as paths.

A path that was printed must never be read back as another path.
"""

import os
import re
from collections.abc import Container, Iterator

from docindex.cli.wording import one_line
from docindex.folders.path_keys import key_of, path_of, root_of, without_link

_ESCAPED_MARK = re.compile(r"\\x21(?=/|\Z)")


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
    """The key that a person means by a name: a key, a path, or a document inside a file; None if unknown."""
    return next((key for key in _keys_meant(name) if key in known), None)


def _keys_meant(name: str) -> Iterator[str]:
    from docindex.frontends.extracted import PART_MARK  # a search for exact copies needs no front ends

    yield name
    if name:
        yield typed_key(name)
    for file, part in typed_parts(name):
        for each in names_of_part(part):
            yield f"{typed_key(file)}{PART_MARK}{each}"


def typed_parts(name: str) -> Iterator[tuple[str, str]]:
    """The files, and the names of documents inside them, that a name such as a.zip!/b.txt may stand for.

    >>> list(typed_parts("a.zip!/b.txt")), list(typed_parts("mail.mbox!message 2"))
    ([('a.zip', 'b.txt')], [('mail.mbox', 'message 2')])
    """
    for found in re.finditer("!/?", name):
        file, part = name[: found.start()], name[found.end() :]
        if part and file.rpartition("/")[2]:
            yield file, part


def names_of_part(part: str) -> list[str]:
    r"""The names of documents inside a file that a person may mean. Output has some bytes as ``\xNN``.

    >>> names_of_part("two\\x0alines")
    ['two\\x0alines', 'two\nlines']
    """
    written = part.encode("utf-8", "surrogateescape")
    shown = re.sub(rb"\\x([0-9a-f]{2})", lambda byte: bytes.fromhex(byte[1].decode()), written)
    names = (part, shown.decode("utf-8", "surrogateescape"))
    return list(dict.fromkeys(name for each in names for name in (each, marked(each))))


def marked(part: str) -> str:
    """The name of a document inside a document inside a file, with the mark that docindex puts between them.

    >>> marked("mail.mbox!message 2"), marked("mail.mbox!/message 2")
    ('mail.mbox!/message 2', 'mail.mbox!/message 2')
    """
    return re.sub("!/?", "!/", part)


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
