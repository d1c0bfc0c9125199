"""Tell when files were changed, as a file manager shows it. Must never fail for an odd time."""

import datetime as dt
import os

from docindex.folders.walking.path_keys import path_of


def local_time(mtime_ns: int) -> str:
    """A time in nanoseconds since 1970 as local date and time; "" for -1 and for times out of range.

    >>> local_time(-1), len(local_time(1_700_000_000_000_000_000)), local_time(1 << 80)
    ('', 19, '')
    """
    if mtime_ns == -1:
        return ""
    try:
        return dt.datetime.fromtimestamp(mtime_ns // 10**9).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return ""


def changed_at(key: str) -> int:
    """When a file or a folder was changed last, in nanoseconds since 1970; -1 if that cannot be read."""
    try:
        return os.stat(path_of(key)).st_mtime_ns
    except (OSError, ValueError):
        return -1
