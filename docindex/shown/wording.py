"""Write sizes, shares, counts and names for a person to read.

Takes values, and returns text. Must never let a name move the cursor, look like several names, or look like
another name.
"""

import time


def size(count: int) -> str:
    """A number of bytes with a unit.

    >>> size(999), size(1000), size(123_456_789), size(999_999)
    ('999 B', '1.0 kB', '123.5 MB', '1.0 MB')
    """
    if count < 1000:
        return f"{count} B"
    amount = count / 1000
    for unit in ("kB", "MB", "GB", "TB"):
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} PB"


def percent(share: float) -> str:
    """A share in percent. Only a share of exactly 1 is 100%, and only a share of exactly 0 is 0%.

    >>> percent(1.0), percent(0.9996), percent(0.86), percent(0.002)
    ('100%', '99%', '86%', '<1%')
    """
    return "<1%" if 0 < share < 0.005 else f"{share if share == 1 else min(share, 0.99):.0%}"


def share_in_percent(part: float, *, exact: bool) -> str:
    """A share in percent; "about" marks an estimate.

    >>> share_in_percent(0.86, exact=True), share_in_percent(0.86, exact=False)
    ('86%', 'about 86%')
    """
    return percent(part) if exact else f"about {percent(part)}"


def several(count: int, noun: str) -> str:
    """A count with its noun, in the singular or the plural.

    >>> several(1, "file"), several(2000, "file"), several(2, "copy")
    ('1 file', '2,000 files', '2 copies')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def local_time(time_ns: int) -> str:
    """A time in nanoseconds since 1970 as local date and time; "" for -1 and for times out of range.

    >>> local_time(-1), len(local_time(1_700_000_000_000_000_000)), local_time(1 << 90)
    ('', 16, '')
    """
    try:
        return "" if time_ns == -1 else time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns // 10**9))
    except (OverflowError, OSError, ValueError):
        return ""


def one_line(name: str) -> str:
    r"""A name with control and invisible characters escaped as bytes, the way keys are written.

    >>> one_line("a\nb"), one_line("c\u202egpj")
    ('a\\x0ab', 'c\\xe2\\x80\\xaegpj')
    """
    return name if name.isprintable() else name.translate(_UNSEEN)


def _as_bytes(code: int) -> str:
    return "".join(f"\\x{byte:02x}" for byte in chr(code).encode())


# Characters that change the direction of a line, or end it.
_REORDERING = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_OBEYED = (*range(10), *range(11, 32), *range(127, 160), *_REORDERING)
CONTROLS = {code: _as_bytes(code) for code in _OBEYED}
"""For `str.translate`: escapes the characters that a terminal obeys, except the line feed."""

# Characters that make one name look like another name.
_HIDDEN = (0xAD, 0x180E, *range(0x200B, 0x200E), *range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC))
_UNSEEN = CONTROLS | {code: _as_bytes(code) for code in (10, *_HIDDEN, *range(0xE0000, 0xE0080))}
