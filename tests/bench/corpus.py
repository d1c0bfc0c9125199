"""Collect real text that every machine with Python has: Python's library, other Pythons, documentation."""

import hashlib
import sys
import sysconfig
from pathlib import Path

KINDS = {".py", ".pyi", ".txt", ".rst", ".md", ".html", ".c", ".h"}


def texts(folders, megabytes):
    """Texts of this many megabytes in total; the files are repeated if there are too few."""
    files = all_files(folders)
    found, size, repeats = [], 0, -1
    while size < megabytes * 1_000_000:
        repeats += 1
        for path in files:
            # Decoding the bytes keeps line ends as they are, so that the C program gets the same text.
            text = path.read_bytes().decode("utf-8", "replace")
            found.append(text)
            size += len(text)
            if size >= megabytes * 1_000_000:
                break
    again = f", each file up to {repeats + 1} times" if repeats else ""
    print(f"corpus: {len(found):,} files, {size / 1e6:.0f} MB of text{again}")
    return found


def distinct_files(folders, megabytes):
    """Files with different contents, up to this many megabytes in total."""
    found, size = {}, 0
    for path in all_files(folders):
        data = path.read_bytes()
        if found.setdefault(hashlib.sha256(data).digest(), path) is path:
            size += len(data)
        if size >= megabytes * 1_000_000:
            break
    return list(found.values())


def all_files(folders):
    """The text files in the folders; by default Python's own, without installed packages."""
    roots = [Path(folder) for folder in folders] or default_roots()
    files = [
        path for root in roots for path in sorted(root.rglob("*")) if path.suffix in KINDS and path.is_file()
    ]
    files = [path for path in files if path.stat().st_size and (folders or "site-packages" not in path.parts)]
    if not files:
        sys.exit(f"no text files in {', '.join(map(str, roots))}")
    return files


def default_roots():
    """The folders of this Python, of other Pythons next to it, and of installed documentation of Python."""
    here = Path(sysconfig.get_path("stdlib"))
    others = sorted(here.parent.parent.parent.glob("*/lib/python3*"))
    return list(dict.fromkeys([here, *others, *Path("/usr/share/doc").glob("python3*")]))
