"""Values in, what a person reads out; and what a person wrote, or copied from there, read again.

Must never let a name move the cursor, look like several, or be read as another one.
"""

import os
import re
from pathlib import Path

from docindex.folders.path_keys import key_of, path_of, root_of


def size(count: int) -> str:
    """A number of bytes as people write it.

    >>> size(999), size(1000), size(123_456_789), size(999_999)
    ('999 B', '1.0 kB', '123.5 MB', '1.0 MB')
    """
    amount, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while amount >= 999.95 and len(units) > 1:
        amount /= 1000
        del units[0]
    return f"{count} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def percent(share: float) -> str:
    """A share; what is not all is never shown as all.

    >>> percent(1.0), percent(0.9996), percent(0.86)
    ('100%', '99%', '86%')
    """
    return f"{share if share == 1 else min(share, 0.99):.0%}"


def several(count: int, what: str) -> str:
    """A number of things.

    >>> several(1, "file"), several(2000, "file"), several(2, "copy")
    ('1 file', '2,000 files', '2 copies')
    """
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def shown(key: str) -> str:
    """A path as people know it: below the folder they are in without that folder's own path."""
    here = key_of(root_of(".")).rstrip("/") + "/"
    name = one_line(key.removeprefix(here))
    return f"./{name}" if name.startswith("-") else name  # or it would be read as an option


def one_line(name: str) -> str:
    r"""A name without what is not seen or changes what is: as bytes, the way keys are written.

    >>> one_line("a\nb"), one_line("c\u202egpj")
    ('a\\x0ab', 'c\\xe2\\x80\\xaegpj')
    """
    return name.translate(_UNSEEN)


def given(name: str) -> bytes:
    r"""The path that a person wrote, or that we printed: as a key, if there is something of that name."""
    escaped = re.search(r"\\x[0-9a-f]{2}", name) and os.path.lexists(path_of(name))
    path = root_of(path_of(name) if escaped else name)
    # Of a link to a file the file itself is meant.
    link = Path(os.fsdecode(path))
    return os.fsencode(link.resolve()) if link.is_symlink() and link.is_file() else path


def _as_bytes(code: int) -> str:
    return "".join(f"\\x{byte:02x}" for byte in chr(code).encode())


# What a terminal obeys; and what makes one name look like several, or like another one.
CONTROLS = {code: _as_bytes(code) for code in (*range(10), *range(11, 32), *range(127, 160))}
_HIDDEN = (0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_UNSEEN = CONTROLS | {code: _as_bytes(code) for code in (10, *_HIDDEN)}
