"""Paths of any length in, descriptors out."""

import os

LONGEST = 1000
"""Longer paths are opened piece by piece: the system takes 4,096 bytes at a time, less on some."""

FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_file(path: bytes, flags: int) -> int:
    """A descriptor for a path of any length."""
    flags |= getattr(os, "O_CLOEXEC", 0)
    if len(path) < LONGEST:
        return os.open(path, flags)
    *folders, name = path.split(b"/")
    at = os.open(b"/", FOLDER)
    try:
        while folders:
            step = [folders.pop(0)]
            while folders and sum(map(len, step)) < LONGEST // 2:
                step.append(folders.pop(0))
            below = os.open(b"/".join(filter(None, step)) or b".", FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, flags, dir_fd=at)
    finally:
        os.close(at)
