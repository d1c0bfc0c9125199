"""List the files in which two copied folders differ, as they are now.

Takes a group of copied folders, and reads files that both have at the same path. Must never change a file.
"""

import filecmp
import os
from typing import NamedTuple

from docindex.folders.planning.copy_groups import FolderGroup
from docindex.folders.walking.path_keys import key_of, path_of


class DifferingFiles(NamedTuple):
    """How the files of two folders differ. Paths are relative to the folders."""

    differing: tuple[str, ...]
    """The files that both folders have, with other bytes."""
    only_here: tuple[str, ...]
    """The files whose paths the kept folder has not."""
    only_in_kept: tuple[str, ...]
    """The files whose paths only the kept folder has."""


def differing_files(group: FolderGroup) -> DifferingFiles:
    """The files in which two copied folders differ. A file that cannot be read counts as differing.

    A file that was copied with the folder is not listed, even if its copy has another path.

    >>> import pathlib, tempfile
    >>> from docindex import folders
    >>> with tempfile.TemporaryDirectory() as home:
    ...     for name, texts in {"a": "uvwxyz1", "b": "uvwxyz2"}.items():
    ...         pathlib.Path(home, name).mkdir()
    ...         for number, text in enumerate(texts):
    ...             _ = pathlib.Path(home, name, f"{number}.txt").write_text(text * 100)
    ...     (group,) = folders.find_exact([home]).folders
    ...     differing_files(group).differing
    ('6.txt',)
    """
    here, kept = _files_below(group.folder), _files_below(group.kept)
    copied = {file.key for copies in group.copies for file in copies.files}
    both = here.keys() & kept.keys()
    return DifferingFiles(
        tuple(sorted(name for name in both if not _same(here[name], kept[name]))),
        tuple(sorted(name for name in here.keys() - both if key_of(here[name]) not in copied)),
        tuple(sorted(name for name in kept.keys() - both if key_of(kept[name]) not in copied)),
    )


def _files_below(folder: str) -> dict[str, bytes]:
    """The paths of the files below a folder, by their keys relative to it."""
    found = {}
    for above, _, names in os.walk(path_of(folder)):
        for name in names:
            path = os.path.join(above, name)
            found[key_of(path)[len(folder) :].lstrip("/")] = path
    return found


def _same(a: bytes, b: bytes) -> bool:
    try:
        return filecmp.cmp(os.fsdecode(a), os.fsdecode(b), shallow=False)
    except OSError:
        return False
