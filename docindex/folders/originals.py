"""Tell which of several copies looks like the original: by marks in its name, and by the folder it is in.

Takes names and keys, and returns marks such as "(1)" and places such as "Downloads". Knows the words that
file managers and browsers write in several languages. Must never open a file.
"""

import functools
import re
from typing import NamedTuple

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
