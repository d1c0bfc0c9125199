"""Real text that every machine with Python has: its library, other Pythons beside it, documentation."""

import sys
import sysconfig
from pathlib import Path

KINDS = {".py", ".pyi", ".txt", ".rst", ".md", ".html", ".c", ".h"}


def texts(folders, megabytes):
    """Texts until there are so many megabytes of them; the same files again when there are too few."""
    roots = [Path(folder) for folder in folders] or default_roots()
    files = [
        path for root in roots for path in sorted(root.rglob("*")) if path.suffix in KINDS and path.is_file()
    ]
    found, size, repeats = [], 0, -1
    while size < megabytes * 1_000_000:
        repeats += 1
        for path in files:
            # newline="" keeps line ends as they are: the C program gets the same text.
            text = path.read_bytes().decode("utf-8", "replace")
            found.append(text)
            size += len(text)
            if size >= megabytes * 1_000_000:
                break
        if not size:
            sys.exit(f"no text files in {', '.join(map(str, roots))}")
    again = f", the same {repeats + 1} times over" if repeats else ""
    print(f"corpus: {len(found):,} files, {size / 1e6:.0f} MB of text{again}")
    return found


def default_roots():
    """This Python's folders, other Pythons beside it, and documentation where systems put it."""
    here = Path(sysconfig.get_path("stdlib"))
    beside = sorted(here.parent.parent.parent.glob("*/lib/python3*"))
    return list(dict.fromkeys([here, *beside, *Path("/usr/share/doc").glob("python3*")]))
