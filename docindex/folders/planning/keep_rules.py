"""The rules that choose which of several copies is kept, and say why.

Takes candidates, which are files or folders, and returns the best one with a reason such as "not in
Downloads". Must never look at the files themselves.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from docindex.folders.walking.path_keys import is_under

# Tell which of several copies looks like the original: by marks in its name, and by the folder it is in.
#
# Takes names and keys, and returns marks such as "(1)" and places such as "Downloads". Knows the words that
# file managers and browsers write in several languages. Must never open a file.

_COPY = (
    "copy|copies|kopie|kopi|kopia|kopija|kopio|copie|copia|cópia|còpia|másolat|kopya|"
    "копия|копія|αντίγραφο|副本|拷贝|複製|コピー|사본"
)
_MARKS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?P<mark>(?:{_COPY})(?: ?\(?\d{{1,3}}\)?)? (?:of|von|van|de|di|do|da|av|af|z|из)) ",
        rf"[\s_.(\[-](?P<mark>(?:{_COPY})(?:[\s_-]*\(?\d{{1,3}}\)?)?)[)\]]?$",
        r"\S\s?(?P<mark>\(\d{1,2}\))$",
    )
]
_EXTENSION = re.compile(r"(?:\.tar)?\.[A-Za-z][A-Za-z0-9]{0,7}$|\.7z$|\.mp[34]$")
_SPARE_ENDINGS = ("bak", "old", "orig", "backup", "sik")
_SPARE = re.compile(rf"(?P<mark>~|\.(?:{'|'.join(_SPARE_ENDINGS)}))$", re.IGNORECASE)

_DESKTOP, _DOWNLOADS, _BACKUP, _TRASH = 2, 3, 4, 8
_PLACES = {
    **dict.fromkeys(("desktop", "schreibtisch", "bureau", "escritorio", "scrivania", "bureaublad"), _DESKTOP),
    **dict.fromkeys(("downloads", "download", "téléchargements", "descargas", "scaricati"), _DOWNLOADS),
    **dict.fromkeys(("transferências", "pobrane", "загрузки", "下载", "ダウンロード"), _DOWNLOADS),
    **dict.fromkeys(("old", "alt", "vieux", "viejo", "vecchio", ".snapshots", "time machine"), _BACKUP),
    **dict.fromkeys(("trash", ".trash", ".trashes", "$recycle.bin", "papierkorb", "corbeille"), _TRASH),
    **dict.fromkeys(("papelera", "cestino", "lost+found", "tmp", "temp"), _TRASH),
}
_BACKUPS = re.compile(
    r"(?:^|[\s_.-])(?:backups?|bak|sicherung(?:en)?|sauvegardes?|respaldos?|resguardo|archivage)(?:$|[\s_.-])"
    r"|^\.trash-\d+$",
    re.IGNORECASE,
)


class CopySigns(NamedTuple):
    """The signs that a file, or a folder, is a copy. Fewer signs look more like the original."""

    marks: tuple[str, ...]
    """The marks in its names, such as "(1)"."""
    places: tuple[str, ...]
    """The folders it is in that hold copies, such as "Downloads"."""
    weight: int
    """How much the places tell; 0 without a place."""


@functools.lru_cache(maxsize=512)  # the rules ask several times about the files of a group
def copy_signs(key: str) -> CopySigns:
    """The signs in the key of a file or a folder that it is a copy.

    >>> copy_signs("/home/ada/Downloads/letter (1).txt")
    CopySigns(marks=('(1)',), places=('Downloads',), weight=3)
    """
    above, _, name = key.rpartition("/")
    signs = _signs_of_folders(above)
    mark = mark_in(name)
    return signs._replace(marks=(*signs.marks, mark)) if mark else signs


def mark_in(name: str) -> str:
    """The mark in a name that says that it is a copy; empty without one.

    >>> mark_in("Letter - Kopie (2).txt"), mark_in("Copy of Letter.txt"), mark_in("Letter (2019).txt")
    ('Kopie (2)', 'Copy of', '')
    """
    stem, _, ending = name.rpartition(".")
    is_plain = stem.isalnum() and ending.isalpha() and ending.isascii() and len(ending) <= 8
    if is_plain and ending.lower() not in _SPARE_ENDINGS:
        return ""  # many names: to ask the patterns below takes twice as long
    if found := _SPARE.search(name):
        return found["mark"]
    stem = _EXTENSION.sub("", name)
    if stem.isalnum():  # each mark has a space, a bracket or another sign
        return ""
    for pattern in _MARKS:
        if found := pattern.search(stem):
            return found["mark"]
    return ""


@functools.lru_cache(maxsize=512)
def _signs_of_folders(path: str) -> CopySigns:
    """The signs in the names of folders."""
    names = path.split("/")
    places = tuple(name for name in names if _weight_of(name))
    return CopySigns(tuple(filter(None, map(_mark_of, names))), places, sum(map(_weight_of, places)))


@functools.lru_cache(maxsize=4096)
def _mark_of(folder: str) -> str:
    return mark_in(folder)


@functools.lru_cache(maxsize=4096)
def _weight_of(folder: str) -> int:
    return _PLACES.get(folder.casefold()) or (_BACKUP if _BACKUPS.search(folder) else 0)


KeepRule = Literal["original", "newest", "oldest", "shortest-path", "first"]
"""The rule that chooses the file to keep. Original: the file that looks least like a copy. A mark such as
"(1)", "copy" or "Kopie von" in a name decides first, then a folder such as Downloads, Desktop, a backup or
the trash; then the oldest file is kept, then the one with the shortest path. First: the first path
alphabetically, which also decides ties."""

# File systems on memory cards round times down to even seconds: such a copy is no older than its original.
_SAME_AGE_NS = 2_000_000_000


class Candidate(NamedTuple):
    """A file or a folder that may be kept."""

    key: str
    mtime_ns: int
    files: int = 1
    """The number of files in a folder."""


_Reason = Callable[[Candidate, Candidate], str]
"""Why the first candidate is kept and not the second."""


class _Rule(NamedTuple):
    """A rule: the candidate with the smallest values is kept."""

    values: Callable[[Candidate], tuple[Any, ...]]
    """In one call: it takes half the time of a function for each value."""
    reasons: tuple[_Reason, ...]
    """The reason for each value, if that is the first that differs."""


def _because_of_mark(kept: Candidate, other: Candidate) -> str:
    mark = _more(copy_signs(other.key).marks, copy_signs(kept.key).marks)
    return f'no "{mark}" in its name' if mark else "fewer marks of a copy in its name"


def _because_of_place(kept: Candidate, other: Candidate) -> str:
    place = _more(copy_signs(other.key).places, copy_signs(kept.key).places)
    return f"not in {place}" if place else "in a folder that looks less like a backup"


def _more(signs: Sequence[str], own: Sequence[str]) -> str:
    """The last sign that is there more often than in `own`; empty without such a sign."""
    return next((sign for sign in reversed(signs) if signs.count(sign) > own.count(sign)), "")


def _said(reason: str) -> Callable[[Candidate, Candidate], str]:
    return lambda _kept, _other: reason


def _by_signs(file: Candidate) -> tuple[Any, ...]:
    signs, age = copy_signs(file.key), file.mtime_ns // _SAME_AGE_NS
    return len(signs.marks), signs.weight, -file.files, age, len(file.key), file.key


_SHORTEST, _FIRST = _said("the shortest path"), _said("the first path")
_RULES = {
    "original": _Rule(
        _by_signs,
        (
            _because_of_mark,
            _because_of_place,
            _said("it has more files"),
            _said("the oldest"),
            _SHORTEST,
            _FIRST,
        ),
    ),
    "newest": _Rule(lambda file: (-file.mtime_ns, file.key), (_said("the newest"), _FIRST)),
    "oldest": _Rule(lambda file: (file.mtime_ns, file.key), (_said("the oldest"), _FIRST)),
    "shortest-path": _Rule(lambda file: (len(file.key), file.key), (_SHORTEST, _FIRST)),
    "first": _Rule(lambda file: (file.key,), (_FIRST,)),
}
KEEP = tuple(_RULES)
"""Every value of `KeepRule`."""


def check_keep(keep: str) -> None:
    """`ValueError` unless this is a `KeepRule`."""
    if keep not in _RULES:
        raise ValueError(f"keep must be one of {', '.join(KEEP)}, not {keep!r}")


class KeepPolicy(NamedTuple):
    """How to choose the files to keep."""

    keep: KeepRule = "first"
    reference: Sequence[str] = ()
    """Folders, by their keys, whose files are always kept."""
    isolate: Sequence[str] = ()
    """Folders, by their keys. Files in one of them do not count as copies of each other."""
    prefer: Sequence[str] = ()
    """Folders, by their keys, whose files are kept rather than others; the first folder most."""
    other_disks: bool = False
    """Whether a file may go that is on another disk than the kept file."""

    def best(self, candidates: Sequence[Candidate]) -> tuple[Candidate, str]:
        """The candidate to keep, and why it is kept and not the next best; "" if there is no other."""
        ordered = sorted([(self.order(each), each) for each in candidates])
        own, first = ordered[0]
        if len(ordered) > 1:
            other, second = ordered[1]
            reasons = _RULES[self.keep].reasons
            if self.prefer:
                reasons = (_said("in a preferred folder"), *reasons)
            for reason, value, next_value in zip(reasons, own, other, strict=True):
                if value != next_value:
                    return first, reason(first, second)
        return first, ""

    def order(self, candidate: Candidate) -> tuple[Any, ...]:
        """The values of all criteria. The candidate with the smallest order is kept."""
        values = _RULES[self.keep].values(candidate)
        return (self._preference(candidate), *values) if self.prefer else values

    def _preference(self, file: Candidate) -> int:
        places = enumerate(self.prefer)
        return next((number for number, folder in places if is_under(file.key, folder)), len(self.prefer))
