"""Read the paths that a person typed or copied from docindex's output.

A path that was printed must never be read back as another path.
"""

import os
import re
from collections.abc import Container, Iterator

from docindex.folders.walking.path_keys import key_of, path_of, root_of, without_link


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
