"""Write groups as a table with a row for each file, and read it back as a plan after a person edited it.

The table is CSV, for a spreadsheet program. Only `keep` is meant to be edited, and rows may be removed or
sorted: `size`, `date` and `why` are for the person, because programs rewrite numbers and dates. `check` holds
what `act` needs to know. In a file, a cell that a spreadsheet would take for a formula begins with an
apostrophe. Must never return a plan that removes the last file of a group.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from docindex.folders.copy_groups import CopyGroup, FolderGroup, PlannedFile, listed_keys
from docindex.folders.file_lists import FileList
from docindex.folders.found_groups import LikeFile, LikenessGroup
from docindex.folders.local_times import local_time
from docindex.folders.path_keys import is_under, key_of, path_of
from docindex.folders.plan import Plan

_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")
"""How a cell begins that a spreadsheet may run; apostrophes before it were added."""

_UNSEEN = {code: f"\\x{code:02x}" for code in (*range(32), 127)}
"""Control characters as keys may write them, so that each row of the table is one line."""

_FILE_CHECK = r"c:([0-9a-f]{32}):(\d+):(-?\d+):(\d+):(\d+)(?::(.+))?"
"""The digest, size, time, device and inode of a file, and its key without links if that is another one."""

_IN_FOLDER = "file in folder"
_KEEP = {
    "true",
    "wahr",
    "vrai",
    "verdadero",
    "vero",
    "verdadeiro",
    "waar",
    "sant",
    "1",
    "x",
    "yes",
    "ja",
    "keep",
}
_REMOVE = {"false", "falsch", "faux", "falso", "onwaar", "falskt", "0", "", "no", "nein"}
_COLUMNS = ("group", "kind", "keep", "size", "date", "path", "why", "check")
_READ = ("group", "kind", "keep", "path", "check")


def plan_rows(
    groups: Iterable[FolderGroup | CopyGroup | LikenessGroup], lists: Iterable[FileList] = ()
) -> Iterator[dict[str, Any]]:
    """A row for each file of some groups and lists, which are numbered.

    A plan can be read from those of copied folders and exact copies. A copied folder has rows for both
    folders, and then for the files that are in both.
    """
    for number, group in enumerate((*groups, *lists), 1):
        if isinstance(group, FolderGroup):
            yield from _folder_rows(number, group)
        elif isinstance(group, CopyGroup):
            for file in group.files:
                why = group.remark(file) or (group.reason if file.keep else "")
                yield _file_row(number, "exact", file, group.digest, why)
        elif isinstance(group, FileList):
            for listed in group.files:
                why = "" if listed.target is None else f"a link to {listed.target}"
                yield _row(number, group.kind, listed.key, listed.size, why=_cell(why))
        else:
            for like in group.files:
                yield _like_row(number, group.kind, like)


def read_plan(text: bytes, *, name: str = "this") -> Plan:
    """Read a plan from JSON, or from a table, whose first line names its columns."""
    header = text.partition(b"\n")[0].replace(b"\0", b"").lower()  # a table may be in UTF-16
    # If one of these names was changed, the error can still name the column.
    is_table = b"{" not in header and sum(name in header for name in (b"group", b"keep", b"path")) > 1
    return plan_of_table(text, name=name) if is_table else Plan.from_json(text, name=name)


def plan_of_table(text: bytes, *, name: str = "this") -> Plan:
    """Read a plan from the table that `plan_rows` describes. Errors call it by its `name`.

    Commas, semicolons and tabs may separate the cells; `keep` may be in several languages. Rows of similar
    texts are passed over. `ValueError` if the table is not a plan, or if it keeps no file of a group.
    """
    try:
        return _plan(list(_table(text)))
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{name} is not a table that dups --csv wrote: {error}") from error


class _Entry(NamedTuple):
    """A row of a table that was read."""

    line: int
    group: str
    kind: str
    keep: bool
    key: str
    check: tuple[str, ...]


def _row(number: int, kind: str, key: str, size: int, **others: str) -> dict[str, Any]:
    """A row; `others` are the other columns, which are empty if they are not given."""
    cells = {"group": number, "kind": kind, "size": size, "path": _cell(key), **others}
    return {name: cells.get(name, "") for name in _COLUMNS}


def _file_row(number: int, kind: str, file: PlannedFile, digest: str, why: str = "") -> dict[str, Any]:
    facts = [digest, file.size, file.mtime_ns, file.device, file.inode, file.real.translate(_UNSEEN)]
    check = "c:" + ":".join(map(str, facts)).removesuffix(":")
    cells = {"keep": _written(file.keep), "date": local_time(file.mtime_ns), "why": _cell(why)}
    return _row(number, kind, file.key, file.size, **cells, check=check)


def _folder_rows(number: int, group: FolderGroup) -> Iterator[dict[str, Any]]:
    check = f"f:{group.differing}:{group.only_here}:{group.only_in_kept}"
    kept = {"keep": "true", "why": _cell(group.reason), "check": check}
    yield _row(number, "folder", group.kept, group.size, **kept)
    facts = {"keep": _written(group.keep), "why": _cell(group.remark), "check": check}
    yield _row(number, "folder", group.folder, group.size, **facts)
    # A file may be the kept one of several copies.
    files = {file.key: (file, copies.digest) for copies in group.copies for file in copies.files}
    for file, digest in files.values():
        yield _file_row(number, _IN_FOLDER, file, digest)


def _like_row(number: int, kind: str, file: LikeFile) -> dict[str, Any]:
    share = f"{file.share:.2f} of it is in" if kind == "contained" else f"resemblance {file.share:.2f} to"
    why = f"{share} {file.like}" if file.like else ""
    return _row(number, kind, file.key, file.size, why=_cell(why))


def _written(keep: bool) -> str:
    return "true" if keep else "false"


def _cell(text: str) -> str:
    """A text on one line."""
    return text.translate(_UNSEEN)


def guarded(text: str) -> str:
    """A text as a cell that no spreadsheet program takes for a formula.

    >>> guarded("=1+1"), guarded("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def _text_of(cell: str) -> str:
    """The text of a cell that `guarded` returned."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _table(text: bytes) -> Iterator[_Entry]:
    """The rows that are part of a plan."""
    lines = io.StringIO(_decoded(text), newline="")
    header = lines.readline()
    names = next(csv.reader([header], delimiter=(delimiter := _delimiter(header))))
    places = {name.strip().casefold(): place for place, name in enumerate(names)}
    if missing := [name for name in _READ if name not in places]:
        raise ValueError(f"it has no column {missing[0]!r}; its first line must name the columns")
    for count, cells in enumerate(csv.reader(lines, delimiter=delimiter), 2):
        if not any(cells):
            continue
        if len(cells) <= max(places[name] for name in _READ):
            raise ValueError(f"row {count} has {len(cells)} cells, and the first line has {len(names)}")
        group, kind, keep, path, check = (cells[places[name]].strip() for name in _READ)
        path = cells[places["path"]]
        if check:
            key = key_of(path_of(_text_of(path)))
            yield _Entry(count, group, kind, _kept(keep, count), key, _checked(check, kind, count))
        elif kind in ("exact", "folder", _IN_FOLDER):
            raise ValueError(f"row {count} has nothing in the column 'check'; do not change that column")


def _decoded(text: bytes) -> str:
    encoding = "utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return text.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError("it is not in UTF-8; save it as CSV in UTF-8") from error


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)


def _kept(cell: str, count: int) -> bool:
    word = cell.strip(" '=()").casefold()
    if word not in _KEEP | _REMOVE:
        raise ValueError(f"'keep' in row {count} must be true or false, not {cell[:60]!r}")
    return word in _KEEP


def _checked(check: str, kind: str, count: int) -> tuple[str, ...]:
    pattern = r"f:(\d+):(\d+):(\d+)" if kind == "folder" else _FILE_CHECK
    found = re.fullmatch(pattern, check)
    if kind not in ("exact", "folder", _IN_FOLDER) or not found:
        raise ValueError(f"'kind' or 'check' in row {count} was changed; change only 'keep'")
    return found.groups(default="")


def _plan(entries: Iterable[_Entry]) -> Plan:
    groups: dict[tuple[str, str], dict[str, _Entry]] = {}
    of_folders: dict[str, list[_Entry]] = {}
    for entry in entries:
        if entry.kind == "folder":
            of_folders.setdefault(entry.group, []).append(entry)
            continue
        files = groups.setdefault((entry.group, entry.check[0]), {})
        if entry.key in files:
            raise ValueError(f"row {entry.line} names a file that row {files[entry.key].line} names, too")
        files[entry.key] = entry
    for (group, _), files in groups.items():
        if not any(file.keep for file in files.values()):
            raise ValueError(
                f'group {group} keeps no file; set "keep" to true for at least one of '
                f"{listed_keys(sorted(files))}, or remove the group"
            )
    pairs = {group: pair for group, rows in of_folders.items() if (pair := _folder_pair(rows))}
    return _plan_of(groups, pairs)


def _folder_pair(rows: list[_Entry]) -> tuple[_Entry, _Entry] | None:
    """The kept folder and the other folder of a group; None if a row of them was removed."""
    if len(rows) > 2:
        raise ValueError(f"group {rows[0].group} has more than two folders")
    if len(rows) < 2:
        return None
    kept, other = sorted(rows, key=lambda row: not row.keep)
    if not kept.keep:
        raise ValueError(f"group {kept.group} keeps neither folder; keep one of them, or remove the group")
    return kept, other


def _plan_of(
    groups: Mapping[tuple[str, str], Mapping[str, _Entry]], pairs: Mapping[str, tuple[_Entry, _Entry]]
) -> Plan:
    single: list[CopyGroup] = []
    copied: dict[str, list[CopyGroup]] = {}
    for (group, digest), entries in groups.items():
        kept = [_planned(entry) for entry in entries.values() if entry.keep]
        others = [_planned(entry) for entry in entries.values() if not entry.keep]
        pair = pairs.get(group)
        if pair and any(
            is_under(file.key, pair[0].key) and not is_under(file.key, pair[1].key) for file in others
        ):
            raise ValueError(
                f"group {group} keeps {pair[0].key!r}, but not the files in it; change their 'keep', too"
            )
        inside = [file for file in others if pair and is_under(file.key, pair[1].key)]
        outside = [file for file in others if file not in inside]
        copied.setdefault(group, []).extend(_group(kept, [file], digest) for file in inside)
        if outside and not (pair and pair[1].keep):
            single.append(_group(kept, outside, digest))
    folders = []
    for group, (first, other) in pairs.items():
        differing, only_here, only_in_kept = map(int, other.check)
        if copies := tuple(copied.get(group, ())):
            facts = (differing, only_here, only_in_kept)
            folders.append(FolderGroup(other.key, first.key, copies, *facts, "", other.keep))
    return Plan(tuple(single), tuple(folders))


def _planned(entry: _Entry) -> PlannedFile:
    _, *numbers, real = entry.check
    size, mtime_ns, device, inode = map(int, numbers)
    return PlannedFile(entry.key, entry.keep, size, mtime_ns, device, inode, key_of(path_of(real)))


def _group(kept: list[PlannedFile], others: list[PlannedFile], digest: str) -> CopyGroup:
    return CopyGroup((*kept, *others), digest, sum(file.size for file in others))
