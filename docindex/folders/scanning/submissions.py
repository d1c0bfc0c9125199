"""Read the programs that the members of a class handed in: one document for each submission.

In: a folder. Each folder in it is a submission, with all source files below; each source file directly in it
is a submission, too. Out: their texts, with the file and the line of each line as its place. Must never
change a file.

A submission is one document, because a copy may be spread over other files than the original. The files whose
suffix has the most text come first, because the beginning tells the language; then by their paths.
"""

import collections
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from docindex.folders.scanning.file_content import read_file
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.walk import Skipped, WalkOptions, walk_files
from docindex.frontends.extracted import Extracted, Place, Places

SOURCE_SUFFIXES = frozenset(
    """.py .pyw .c .h .cc .cpp .cxx .hpp .hh .hxx .ino .java .cs .js .mjs .cjs .jsx .ts .tsx .go .rs .kt .kts
    .swift .php .rb .pl .pm .sh .bash .sql .r .lua .hs .scala .sc .css .scss""".split()  # noqa: SIM905
)
"""The suffixes of files that are source code, in lower case."""

NO_SOURCE_CODE = "no source code"
"""The reason for which files are left out that have none of these suffixes."""

_BETWEEN = "\n\n"
"""What stands between two files of a submission."""

_LINE_END = re.compile(r"\r\n?|\n")


class SubmittedFile(NamedTuple):
    """A source file of a submission."""

    name: str
    """Its path below the folder of the submission."""
    text: str


class Submission(NamedTuple):
    """What one member of a class handed in."""

    key: str
    """The key of its folder, or of its only file."""
    extracted: Extracted
    """The texts of its files, one after another, with the places of their lines."""


def submissions(folder: bytes, skipped: Skipped) -> Iterator[Submission]:
    """The submissions in a folder, ordered by their keys. Counts the files that are left out in `skipped`.

    A folder without source code is a failure. `OSError` if the folder cannot be read.
    """
    prefix = os.path.join(folder, b"")
    found: dict[bytes, list[bytes]] = collections.defaultdict(list)
    for file in walk_files(folder, WalkOptions(ignore=False), skipped):
        name = file.path.removeprefix(prefix).split(os.fsencode(os.sep))[0]
        if os.path.splitext(os.fsdecode(file.path))[1].lower() in SOURCE_SUFFIXES:
            found[name].append(file.path)
        else:
            skipped.counts[NO_SOURCE_CODE] += 1
    with os.scandir(folder) as entries:
        folders = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    for name in folders:
        if name not in found and not name.startswith(b"."):
            skipped.fail(os.path.join(folder, name), "it has no source code")
    for name, paths in sorted(found.items()):
        own = os.path.join(folder, name)
        files = [file for path in paths for file in _read(path, own, skipped)]
        if files:
            yield Submission(key_of(own), joined_files(files))


def joined_files(files: list[SubmittedFile]) -> Extracted:
    r"""The texts of files as one text, with the file and the number of each line as its place.

    >>> joined = joined_files([SubmittedFile("b.py", "x\n"), SubmittedFile("a.py", "y\nz")])
    >>> joined.text, joined.places.at(joined.text.index("z")).name
    ('y\nz\n\nx\n', 'a.py line 2')
    """
    sizes: collections.Counter[str] = collections.Counter()
    for file in files:
        sizes[_suffix(file)] += len(file.text)
    ordered = sorted(files, key=lambda file: (-sizes[_suffix(file)], _suffix(file), file.name))
    starts: list[int] = []
    places: list[Place] = []
    begin = 0
    for file in ordered:
        line_starts = [0, *(found.end() for found in _LINE_END.finditer(file.text))]
        starts += (begin + start for start in line_starts)
        places += (Place(f"{file.name} line {number}") for number in range(1, len(line_starts) + 1))
        begin += len(file.text) + len(_BETWEEN)
    return Extracted(_BETWEEN.join(file.text for file in ordered), Places(tuple(starts), tuple(places)))


def _suffix(file: SubmittedFile) -> str:
    return os.path.splitext(file.name)[1].lower()


def _read(path: bytes, submission: bytes, skipped: Skipped) -> Iterator[SubmittedFile]:
    """The text of a file, if it has one."""
    try:
        text = read_file(path).text
    except NotReadable as error:
        skipped.fail(path, str(error))
        return
    if text is None:
        skipped.fail(path, "it is not text in an encoding that is known")
        return
    below = path.removeprefix(os.path.join(submission, b"")) if path != submission else os.path.basename(path)
    yield SubmittedFile(os.fsdecode(below).replace(os.sep, "/"), text)
